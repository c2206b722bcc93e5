//! Which of two answers a judge prefers.

use serde_json::Value;

use super::token::{Token, tokens};
use super::{json, spoken};

/// What a judge prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preference {
    /// The answer that it was shown first: `m`, `A`, `1`.
    First,
    /// The answer that it was shown second: `M`, `B`, `2`.
    Second,
    /// Neither.
    Tie,
}

impl Preference {
    /// The same judgement with the answers in the other order.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
            Self::Tie => Self::Tie,
        }
    }

    /// What the answer that was shown first gets: 1, 0.5 or 0.
    pub fn value(self) -> f64 {
        match self {
            Self::First => 1.0,
            Self::Tie => 0.5,
            Self::Second => 0.0,
        }
    }
}

/// A reply that prefers nothing and says no tie either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no preference")]
pub struct NoPreference;

/// How strong a statement is; the strongest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// "Model 1 is better".
    Argued,
    /// `Winner: Model 1`.
    Announcement,
    /// A label alone on its line.
    Alone,
    /// `[[A]]`.
    Bracketed,
}

/// Nouns that a label follows.
const ROLES: &[&str] = &[
    "model",
    "assistant",
    "response",
    "output",
    "answer",
    "option",
    "system",
    "candidate",
    "text",
    "summary",
    "reply",
    "completion",
];
/// Words that announce the decision.
const CUES: &[&str] = &[
    "winner",
    "verdict",
    "preference",
    "preferred",
    "prefer",
    "better",
    "best",
    "choose",
    "choice",
    "chosen",
    "decision",
    "pick",
    "select",
    "favor",
    "favour",
    "judgment",
    "judgement",
    "wins",
];
/// Words between a cue and the label, besides [`ROLES`].
const FILLERS: &[&str] = &[
    "is", "was", "the", "a", "an", "by", "of", "one", "it", "its", "that", "from", "final", "i",
    "me", "my", "to", "would", "be", "clear", "clearly", "given", "overall",
];
const WINS: &[&str] = &[
    "better",
    "wins",
    "superior",
    "stronger",
    "preferable",
    "preferred",
    "best",
    "outperforms",
    "surpasses",
    "winner",
    "beats",
];
const LOSES: &[&str] = &["worse", "inferior", "weaker", "loses", "worst"];
const TIES: &[&str] = &[
    "tie", "tied", "draw", "equal", "equally", "neither", "same", "both",
];
const DENIALS: &[&str] = &[
    "not", "isn't", "cannot", "can't", "neither", "nor", "no", "hardly",
];

/// Reads which answer a reply prefers.
///
/// # Errors
///
/// When it decides nothing.
pub fn preference(reply: &str) -> Result<Preference, NoPreference> {
    let reply = spoken(reply).ok_or(NoPreference)?;
    let tokens = tokens(reply, false);
    let stated = (0..tokens.len())
        .filter_map(|at| statement(&tokens, at))
        // The last of equals is the one that `max_by_key` keeps.
        .max_by_key(|(strength, _)| *strength);
    if let Some((Strength::Bracketed, preference)) = stated {
        return Ok(preference);
    }
    let written = json::values(reply);
    let written = written.iter().rev().find_map(|(_, value)| in_json(value));
    let listed = || ranked(&tokens);
    written
        .or_else(listed)
        .or(stated.map(|(_, preference)| preference))
        .ok_or(NoPreference)
}

/// A label as AlpacaEval, MT-bench and people write it. Only `m` and `M` differ by case.
fn label(token: &Token<'_>) -> Option<Preference> {
    match token {
        Token::Number(1.0) => Some(Preference::First),
        Token::Number(2.0) => Some(Preference::Second),
        Token::Word("m" | "A" | "a" | "one" | "One") => Some(Preference::First),
        Token::Word("M" | "B" | "b" | "two" | "Two") => Some(Preference::Second),
        _ => None,
    }
}

/// What the token at a position, taken as a label or a word for a tie, decides.
fn statement(tokens: &[Token<'_>], at: usize) -> Option<(Strength, Preference)> {
    let token = &tokens[at];
    let before = &tokens[..at];
    let is = |offset: isize, marks: &str| {
        let place = at.checked_add_signed(offset);
        place
            .and_then(|place| tokens.get(place))
            .is_some_and(|token| token.is_mark(marks))
    };
    if is(-1, "[") && is(-2, "[") {
        return Some((Strength::Bracketed, bracketed(tokens, at)?));
    }
    let tie = token.is_word(&["tie", "tied", "draw"])
        || (token.is_word(&["equal", "equally"]) && !denied(before))
        || (token.is_word(&["neither"]) && alone(tokens, at, at + 1));
    if tie {
        let strength = if alone(tokens, at, at + 1) {
            Strength::Alone
        } else if announced(before) {
            Strength::Announcement
        } else {
            Strength::Argued
        };
        return (!denied(before)).then_some((strength, Preference::Tie));
    }
    let found = label(token)?;
    // `Model 1`, `Output (a)`, `Assistant B`; without a noun only capitals and m stand for answers.
    let mut role = at;
    while role > 0 && tokens[role - 1].is_mark("([#:") && at - role < 2 {
        role -= 1;
    }
    let named = role > 0 && tokens[role - 1].is_word(ROLES);
    let start = if named { role - 1 } else { at };
    let after = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|token| token.is_mark(")]")));
    let bare = matches!(token, Token::Word("m" | "M" | "A" | "B") | Token::Number(_));
    if (named || bare) && alone(tokens, start, after) {
        return Some((Strength::Alone, found));
    }
    if !(named || matches!(token, Token::Word("m" | "M" | "B" | "A"))) {
        return None;
    }
    // The article is not a label.
    let article =
        matches!(token, Token::Word("A")) && matches!(tokens.get(after), Some(Token::Word(_)));
    if article && !named {
        return None;
    }
    let verb = tokens[after.min(tokens.len())..]
        .iter()
        .take_while(|token| matches!(token, Token::Word(_)))
        .take(5);
    let mut denied_after = false;
    for word in verb {
        denied_after |= word.is_word(DENIALS);
        let outcome = if word.is_word(WINS) {
            Some(found)
        } else if word.is_word(LOSES) {
            Some(found.swapped())
        } else {
            None
        };
        if let Some(outcome) = outcome {
            return (!denied_after && !than(before)).then_some((Strength::Argued, outcome));
        }
        if word.is_word(ROLES) || label(word).is_some() {
            break;
        }
    }
    if announced(&tokens[..start]) {
        return Some((Strength::Announcement, found));
    }
    None
}

/// `A`, `B`, `C` (a tie), `A>B`, `A>>B`, `A=B` behind two brackets.
fn bracketed(tokens: &[Token<'_>], at: usize) -> Option<Preference> {
    let token = &tokens[at];
    if token.is_word(TIES) || token.is_word(&["c"]) {
        return Some(Preference::Tie);
    }
    let token = if token.is_word(ROLES) {
        tokens.get(at + 1)?
    } else {
        token
    };
    let found = label(token)?;
    match tokens.get(at + 1) {
        Some(Token::Mark('=' | '≈' | '~')) => Some(Preference::Tie),
        Some(Token::Mark('<')) => Some(found.swapped()),
        _ => Some(found),
    }
}

/// Whether the words before announce a decision.
fn announced(before: &[Token<'_>]) -> bool {
    for token in before.iter().rev().take(12) {
        if token.is_word(DENIALS) || token.is_word(&["than"]) {
            return false;
        }
        if token.is_word(CUES) {
            return !denied(before);
        }
        let passable = match token {
            Token::Word(_) => token.is_word(FILLERS) || token.is_word(ROLES),
            Token::Mark(_) => token.is_mark(":=-–—([#→>"),
            Token::Line => true,
            Token::Number(_) => false,
        };
        if !passable {
            return false;
        }
    }
    false
}

fn denied(before: &[Token<'_>]) -> bool {
    before
        .iter()
        .rev()
        .take(3)
        .any(|token| token.is_word(DENIALS))
}

/// Whether it is what something else is compared with.
fn than(before: &[Token<'_>]) -> bool {
    before
        .iter()
        .rev()
        .take(3)
        .any(|token| token.is_word(&["than"]))
}

/// Whether the tokens from `start` to `end` have their line for themselves, or
/// begin the reply with nothing but an explanation behind a mark.
fn alone(tokens: &[Token<'_>], start: usize, end: usize) -> bool {
    let mut before = tokens[..start]
        .iter()
        .rev()
        .skip_while(|token| token.is_mark("-•#>(["));
    let mut after = tokens[end.min(tokens.len())..]
        .iter()
        .skip_while(|token| token.is_mark(".!)]"));
    let starts = matches!(before.next(), None | Some(Token::Line));
    let next = after.next();
    let ends = matches!(next, None | Some(Token::Line));
    let explained =
        |token: &Token<'_>| token.is_mark(",;:-–—") || token.is_word(&["because", "since"]);
    let opens = start == 0 && next.is_some_and(explained);
    let sentence = start == 0 && tokens.get(end).is_some_and(|token| token.is_mark(".!"));
    (starts && ends) || opens || sentence
}

/// The preference in a JSON value: a winner, or AlpacaEval's list of ranks.
fn in_json(value: &Value) -> Option<Preference> {
    const KEYS: &[&str] = &[
        "winner",
        "preference",
        "preferred",
        "better",
        "best",
        "verdict",
        "choice",
        "decision",
        "result",
        "answer",
        "rank1",
        "bestmodel",
        "bestoutput",
        "preferredmodel",
    ];
    match value {
        Value::Array(list) => {
            let first = list.iter().find(|item| {
                let rank = json::member(item, &["rank", "ranking", "position"]);
                rank.and_then(Value::as_f64) == Some(1.0)
            })?;
            let named = json::member(first, &["model", "name", "id", "output", "assistant"])?;
            named_label(named)
        }
        Value::Object(object) => match json::member(value, KEYS) {
            Some(nested @ (Value::Object(_) | Value::Array(_))) => in_json(nested),
            Some(named) => named_label(named),
            None => object
                .values()
                .rev()
                .find(|value| value.is_array())
                .and_then(in_json),
        },
        _ => None,
    }
}

/// A label as a JSON value: `1`, `"A"`, `"model_1"`, `"tie"`.
fn named_label(value: &Value) -> Option<Preference> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let tokens = tokens(&text, false);
    match tokens.as_slice() {
        [only] if only.is_word(TIES) || only.is_word(&["c", "none"]) => Some(Preference::Tie),
        [only] => label(only),
        [role, named] if role.is_word(ROLES) => label(named),
        _ => preference(&text).ok(),
    }
}

/// AlpacaEval's ranks as Python writes them: `{'model': 'M', 'rank': 1}`.
fn ranked(tokens: &[Token<'_>]) -> Option<Preference> {
    let words: Vec<&Token<'_>> = tokens
        .iter()
        .filter(|token| !matches!(token, Token::Mark(_) | Token::Line))
        .collect();
    (2..words.len().saturating_sub(1)).find_map(|at| {
        let first = words[at].is_word(&["rank"]) && *words[at + 1] == Token::Number(1.0);
        let named = words[at - 2].is_word(ROLES);
        (first && named).then(|| label(words[at - 1]))?
    })
}

#[cfg(test)]
mod tests;
