//! What a question asks for, read off its words.

use std::collections::HashSet;

use super::lexicon::{is_auxiliary, is_person_noun, is_settlement};
use super::token::{Token, tokens};

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Person,
    Place,
    Date,
    Year,
    Time,
    Count,
    Money,
    Duration,
    Measure,
    Percent,
    Frequency,
    Reason,
    YesNo,
    Choice,
    Name,
    /// Anything that a few words can name.
    Phrase,
    /// A manner or an explanation: only a whole sentence can give it.
    Sentence,
}

/// Which side of the verb the answer stands on, when the question says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// "Who built it?": before the verb, or behind "by".
    Subject,
    /// "What did she build?": behind the verb.
    Object,
    Unknown,
}

/// More terms than this do not make a question clearer; a bit mask holds them.
const MAX_TERMS: usize = 64;

/// A question taken apart.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) kind: Kind,
    pub(super) role: Role,
    /// Distinct content terms in order.
    pub(super) terms: Vec<String>,
    /// Terms of the noun that is asked for: "how many *blocks*".
    pub(super) head: Vec<String>,
    /// The term of the main verb, where it is known.
    pub(super) verb: Option<String>,
    /// All words, to keep the answer from repeating the question.
    pub(super) words: HashSet<String>,
    /// The two options of a choice, as text.
    pub(super) options: Vec<String>,
}

impl Question {
    /// Takes a question apart; `None` when it has no words.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let words = tokens(text);
        if words.is_empty() {
            return None;
        }
        let asked = asked(&words);
        let (kind, role, head_range) = classify(&words, asked);
        let head: Vec<String> = words[head_range.clone()]
            .iter()
            .filter(|word| !word.function)
            .map(|word| word.term.clone())
            .collect();
        let mut terms: Vec<String> = Vec::new();
        for word in words.iter().filter(|word| !word.function) {
            for part in word.term.split('-').filter(|part| !part.is_empty()) {
                if terms.len() < MAX_TERMS && !terms.iter().any(|known| known == part) {
                    terms.push(part.to_owned());
                }
            }
        }
        let options = if kind == Kind::Choice {
            options(text, &words)
        } else {
            Vec::new()
        };
        Some(Self {
            kind,
            role,
            verb: main_verb(&words, asked, role, head_range.end),
            head,
            terms,
            words: words.iter().map(|word| word.term.clone()).collect(),
            options,
        })
    }
}

/// Where the question word stands, if there is one.
fn asked(words: &[Token]) -> Option<usize> {
    words.iter().position(|word| {
        matches!(
            word.lower.as_str(),
            "who" | "whom" | "whose" | "where" | "when" | "why" | "how" | "what" | "which"
        )
    })
}

fn classify(words: &[Token], asked: Option<usize>) -> (Kind, Role, std::ops::Range<usize>) {
    let has_or = words.iter().any(|word| word.lower == "or");
    if is_auxiliary(&words[0].lower) {
        let kind = if has_or { Kind::Choice } else { Kind::YesNo };
        return (kind, Role::Unknown, 0..0);
    }
    let Some(at) = asked else {
        return (Kind::Phrase, Role::Unknown, 0..0);
    };
    let next = words.get(at + 1).map_or("", |word| word.lower.as_str());
    let role = role(words, at);
    if offers_choice(words) {
        return (Kind::Choice, role, 0..0);
    }
    match words[at].lower.as_str() {
        "who" | "whom" | "whose" => (Kind::Person, role, 0..0),
        "where" => (Kind::Place, Role::Unknown, 0..0),
        "when" => (Kind::Date, Role::Unknown, 0..0),
        "why" => (Kind::Reason, Role::Unknown, 0..0),
        "how" => {
            let head = content_run(words, at + 2);
            (how(words, next, &head), Role::Unknown, head)
        }
        _ => {
            let head = what_head(words, at);
            let kind = words[head.clone()]
                .iter()
                .find_map(|word| head_kind(&word.lower))
                .unwrap_or(Kind::Phrase);
            (kind, role, head)
        }
    }
}

/// Whether the question ends in two options: "Which is older, the bridge or the tower?"
fn offers_choice(words: &[Token]) -> bool {
    let Some(or) = words.iter().rposition(|word| word.lower == "or") else {
        return false;
    };
    let n_after = words.len() - or - 1;
    let listed = words[..or]
        .iter()
        .rev()
        .take(6)
        .any(|word| word.after_break);
    listed && (1..=5).contains(&n_after)
}

/// The kind behind "how".
fn how(words: &[Token], next: &str, head: &std::ops::Range<usize>) -> Kind {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.lower.as_str()));
    match next {
        "many" => Kind::Count,
        "much" if has(&["weigh", "weighs", "weighed", "weight"]) => Kind::Measure,
        "much" if has(&["percent", "percentage", "share"]) => Kind::Percent,
        "much" if has(&["time"]) => Kind::Duration,
        "much" if head.is_empty() => Kind::Money,
        "much" if has(&["money", "cost", "pay", "paid", "worth", "spend", "spent"]) => Kind::Money,
        "much" => Kind::Measure,
        "long" | "old" => Kind::Duration,
        "far" | "tall" | "high" | "wide" | "deep" | "heavy" | "big" | "large" | "fast"
        | "thick" | "hot" | "cold" | "broad" | "strong" | "thin" | "small" => Kind::Measure,
        "often" | "frequently" => Kind::Frequency,
        _ => Kind::Sentence,
    }
}

/// What the noun behind "what" or "which" says about the answer.
fn head_kind(word: &str) -> Option<Kind> {
    Some(match word.strip_suffix('s').unwrap_or(word) {
        "year" | "decade" | "century" => Kind::Year,
        "date" | "day" | "month" | "season" => Kind::Date,
        "time" | "hour" => Kind::Time,
        "place" | "location" => Kind::Place,
        "cost" | "price" | "fee" | "budget" | "salary" | "fine" | "wage" | "rent" | "toll" => {
            Kind::Money
        }
        "amount" | "sum" => Kind::Money,
        "number" | "population" => Kind::Count,
        "percentage" | "percent" | "proportion" => Kind::Percent,
        "height" | "length" | "weight" | "depth" | "width" | "distance" | "speed" | "diameter"
        | "temperature" => Kind::Measure,
        "duration" | "age" => Kind::Duration,
        "reason" | "cause" => Kind::Reason,
        "name" | "title" | "nickname" => Kind::Name,
        other if is_settlement(other) => Kind::Place,
        other if is_person_noun(other) => Kind::Person,
        _ => return None,
    })
}

/// The noun behind "what": directly, or behind a form of be and an article.
fn what_head(words: &[Token], at: usize) -> std::ops::Range<usize> {
    let direct = content_run(words, at + 1);
    if !direct.is_empty() {
        let starts_with_verb = role(words, at) == Role::Subject
            && direct.len() == 1
            && head_kind(&words[direct.start].lower).is_none();
        return if starts_with_verb { 0..0 } else { direct };
    }
    let Some(copula) = words.get(at + 1).filter(|word| is_auxiliary(&word.lower)) else {
        return 0..0;
    };
    let is_be = matches!(copula.lower.as_str(), "is" | "are" | "was" | "were");
    match words.get(at + 2).map(|word| word.lower.as_str()) {
        Some("the" | "a" | "an" | "his" | "her" | "its" | "their") if is_be => {
            content_run(words, at + 3)
        }
        _ => 0..0,
    }
}

/// The run of content words from `at` on.
fn content_run(words: &[Token], at: usize) -> std::ops::Range<usize> {
    let length = words
        .iter()
        .skip(at)
        .take(4)
        .take_while(|word| !word.function && !is_auxiliary(&word.lower))
        .count();
    at.min(words.len())..(at + length).min(words.len())
}

/// The side of the verb on which the answer stands.
fn role(words: &[Token], at: usize) -> Role {
    let asks_object = words[at + 1..]
        .iter()
        .any(|word| matches!(word.lower.as_str(), "did" | "do" | "does"));
    let is_be = words
        .get(at + 1)
        .is_some_and(|word| matches!(word.lower.as_str(), "is" | "are" | "was" | "were"));
    let then_article = words
        .get(at + 2)
        .is_some_and(|word| matches!(word.lower.as_str(), "the" | "a" | "an" | "his" | "her"));
    if asks_object {
        Role::Object
    } else if is_be && then_article {
        // "What is the name of …": no verb to stand beside.
        Role::Unknown
    } else {
        Role::Subject
    }
}

/// The content word that is most likely the verb: behind "did X", or first behind "who".
fn main_verb(words: &[Token], asked: Option<usize>, role: Role, head_end: usize) -> Option<String> {
    let from = asked? + 1;
    let mut rest = words.iter().enumerate().skip(from.max(head_end));
    match role {
        // "What did Ann Bell charge for …": the first small content word behind the name.
        Role::Object => rest
            .skip_while(|(_, word)| !matches!(word.lower.as_str(), "did" | "do" | "does"))
            .find(|(at, word)| {
                let follows_article = matches!(
                    words[at - 1].lower.as_str(),
                    "the" | "a" | "an" | "of" | "his" | "her" | "its" | "their" | "in" | "for"
                );
                !word.function && !word.capital && !word.digits && !follows_article
            }),
        _ => rest.find(|(_, word)| !word.function && !word.capital),
    }
    .map(|(_, word)| word.term.clone())
}

/// The two sides of "or": from the last comma, verb or "or" up to the end.
fn options(text: &str, words: &[Token]) -> Vec<String> {
    let Some(or) = words.iter().position(|word| word.lower == "or") else {
        return Vec::new();
    };
    let after_end = words[or + 1..]
        .iter()
        .skip(1)
        .position(|word| word.after_break || is_auxiliary(&word.lower))
        .map_or(words.len(), |length| or + 2 + length);
    let n_after = after_end.saturating_sub(or + 1);
    let mut before_start = or;
    while before_start > 0 && or - before_start < n_after.max(1) {
        before_start -= 1;
        if words[before_start].after_break {
            break;
        }
    }
    let slice = |range: std::ops::Range<usize>| {
        let range = &words[range];
        match (range.first(), range.last()) {
            (Some(first), Some(last)) => text[first.start..last.end].to_owned(),
            _ => String::new(),
        }
    };
    [slice(before_start..or), slice(or + 1..after_end)]
        .into_iter()
        .filter(|option| !option.is_empty())
        .collect()
}
