//! The rating in a judge's reply.

use serde_json::Value;

use super::cue::{self, Announcement};
use super::scale::Scale;
use super::token::{Token, tokens};
use super::{json, spoken};

/// A rating and how it was stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    /// The rating, on the scale.
    pub value: f64,
    /// Whether the judge announced it; else it is the one number that the reply has.
    pub announced: bool,
}

/// Why a reply holds no rating.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRating {
    /// No number could be a rating.
    #[error("no rating")]
    Missing,
    /// Several numbers could be, and nothing says which one is.
    #[error("several numbers and no decision")]
    Ambiguous,
    /// The rating is beyond the scale, or on another one.
    #[error("a rating of {0}, which is not on the scale")]
    OffScale(String),
}

/// How strong a statement is; the strongest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// A number in passing.
    Bare,
    /// `4/5`, `4 stars`, a number alone on its line.
    Marked,
    /// `score: 4`, "I give it a 4".
    Announcement,
    /// `overall score: 4`, or a number that is the first or the last line.
    Final,
    /// `[[4]]`, `\boxed{4}`, JSON.
    Bracketed,
}

struct Statement {
    value: f64,
    /// The upper end that it names, when that is not ours.
    other_scale: Option<f64>,
    strength: Strength,
    alone: bool,
}

/// Reads the rating that a reply states on this scale.
///
/// # Errors
///
/// When it states none, several, or one that is not on the scale.
pub fn rating(reply: &str, scale: Scale) -> Result<Rating, NoRating> {
    let reply = spoken(reply).ok_or(NoRating::Missing)?;
    let written = json::values(reply)
        .iter()
        .rev()
        .find_map(|(end, value)| Some((*end, in_json(value, scale, 0)?)));
    if let Some((end, stated)) = written {
        // Prose behind the JSON may still say it better.
        let later = in_text(&reply[end..], scale);
        return match later {
            Ok(later) if later.strength == Strength::Bracketed => settle(&later, scale),
            _ => stated,
        };
    }
    settle(&in_text(reply, scale)?, scale)
}

fn settle(statement: &Statement, scale: Scale) -> Result<Rating, NoRating> {
    if let Some(max) = statement.other_scale {
        return Err(NoRating::OffScale(format!("{}/{max}", statement.value)));
    }
    if !scale.holds(statement.value) {
        return Err(NoRating::OffScale(statement.value.to_string()));
    }
    Ok(Rating {
        value: statement.value,
        announced: statement.strength > Strength::Bare,
    })
}

const FINAL_KEYS: &[&str] = &[
    "finalscore",
    "finalrating",
    "overallscore",
    "overallrating",
    "final",
    "overall",
    "totalscore",
    "finalverdict",
];
const KEYS: &[&str] = &[
    "score",
    "rating",
    "judgescore",
    "grade",
    "verdict",
    "judgment",
    "judgement",
    "evaluation",
    "result",
    "value",
    "correct",
    "iscorrect",
    "label",
];

/// The rating in a JSON value; `None` when it is about something else.
fn in_json(value: &Value, scale: Scale, depth: usize) -> Option<Result<Rating, NoRating>> {
    if depth > 4 {
        return None;
    }
    let on_scale = |value: f64| {
        let statement = Statement {
            value,
            other_scale: None,
            strength: Strength::Bracketed,
            alone: true,
        };
        settle(&statement, scale)
    };
    match value {
        Value::Number(number) if depth > 0 => Some(on_scale(number.as_f64()?)),
        Value::Bool(right) if depth > 0 && scale.is_yes_or_no() => {
            Some(on_scale(f64::from(u8::from(*right))))
        }
        Value::String(text) if depth > 0 => match in_text(text, scale) {
            Ok(statement) => Some(settle(&statement, scale)),
            Err(_) => None,
        },
        Value::Object(object) => {
            if let Some(named) = json::member(value, FINAL_KEYS).or(json::member(value, KEYS)) {
                return in_json(named, scale, depth + 1);
            }
            let mut numbers = object.values().filter(|value| value.is_number());
            match (numbers.next(), numbers.next()) {
                (Some(only), None) => in_json(only, scale, depth + 1),
                _ => None,
            }
        }
        Value::Array(list) => list
            .iter()
            .rev()
            .filter(|item| item.is_object())
            .find_map(|item| in_json(item, scale, depth + 1)),
        _ => None,
    }
}

/// The statement in a text that decides.
fn in_text(text: &str, scale: Scale) -> Result<Statement, NoRating> {
    let tokens = tokens(text, scale.min() < 0.0);
    let numbers = Numbers::of(&tokens, scale);
    let mut statements: Vec<Statement> = (0..tokens.len())
        .filter_map(|at| statement(&tokens, &numbers, at, scale))
        .collect();
    let Some(strongest) = statements.iter().map(|s| s.strength).max() else {
        return Err(NoRating::Missing);
    };
    statements.retain(|statement| statement.strength == strongest);
    if strongest == Strength::Bare && statements.iter().any(|s| scale.holds(s.value)) {
        // A year in the explanation is not a rating.
        statements.retain(|statement| scale.holds(statement.value));
    }
    let Some(last) = statements.pop() else {
        return Err(NoRating::Missing);
    };
    // Marks for several aspects have no last word among them.
    let same = statements.iter().all(|other| other.value == last.value);
    let decided = match strongest {
        Strength::Bare => same,
        Strength::Marked => same || last.alone,
        _ => true,
    };
    if decided {
        Ok(last)
    } else {
        Err(NoRating::Ambiguous)
    }
}

/// What the number at a position states, if it is one that could be a rating.
fn statement(
    tokens: &[Token<'_>],
    numbers: &Numbers,
    at: usize,
    scale: Scale,
) -> Option<Statement> {
    if numbers.about_scale[at] {
        return None;
    }
    let (value, is_word) = value(&tokens[at], scale)?;
    let next = at + 1;
    let (out_of, after) = out_of(tokens, next);
    let bracketed = at >= 2
        && ((tokens[at - 1].is_mark("[") && tokens[at - 2].is_mark("["))
            || (tokens[at - 1].is_mark("{") && tokens[at - 2].is_word(&["boxed"])));
    let other_scale = out_of.filter(|max| *max != scale.max());
    let stated = |strength, alone| {
        Some(Statement {
            value,
            other_scale,
            strength,
            alone,
        })
    };
    if bracketed {
        return stated(Strength::Bracketed, true);
    }
    let first_on_line = starts_line(tokens, at);
    let last_on_line = ends_line(tokens, after);
    let alone = first_on_line && last_on_line;
    if !cue::may_follow(tokens.get(after)) && !alone {
        return None;
    }
    if is_list_item(tokens, at) && (at > 0 || (1..tokens.len()).any(|at| is_list_item(tokens, at)))
    {
        return None;
    }
    // The first line, before the explanation, or the last one, behind it.
    let own_line = alone && (at <= 1 || ends_reply(tokens, after));
    if own_line && !cue::denied(tokens, at) {
        return stated(Strength::Final, true);
    }
    let direct = at == 0
        || tokens[at - 1].is_mark(":=-–(")
        || tokens[at - 1] == Token::Line
        || tokens[at - 1].is_word(&["is", "a", "an", "of"]);
    match cue::announced(tokens, at, |back| numbers.about_scale[back]) {
        Announcement::Denied => return None,
        Announcement::Finally if !is_word || direct => return stated(Strength::Final, alone),
        Announcement::Plainly if !is_word || direct => {
            return stated(Strength::Announcement, alone);
        }
        _ => {}
    }
    if cue::denied(tokens, at) {
        return None;
    }
    let stars = tokens
        .get(next)
        .is_some_and(|token| token.is_word(&["star", "stars", "分"]));
    let opens = at == 0 && !matches!(tokens.get(next), Some(Token::Word(_)));
    if alone || (out_of.is_some() && other_scale.is_none()) || stars || opens {
        return stated(Strength::Marked, alone);
    }
    // "2/3 of the facts" rates nothing, and neither does "one of them".
    if is_word || out_of.is_some() {
        return None;
    }
    stated(Strength::Bare, false)
}

/// The number that a token says, and whether it says so in words.
fn value(token: &Token<'_>, scale: Scale) -> Option<(f64, bool)> {
    const WORDS: [&str; 11] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    const RIGHT: &[&str] = &["yes", "correct", "true", "pass", "passed", "right"];
    const WRONG: &[&str] = &["no", "incorrect", "false", "fail", "failed", "wrong"];
    match token {
        Token::Number(value) => Some((*value, false)),
        Token::Word(word) => {
            let known = WORDS
                .iter()
                .position(|known| word.eq_ignore_ascii_case(known));
            if let Some(number) = known {
                return Some((number as f64, true));
            }
            if !scale.is_yes_or_no() {
                return None;
            }
            match (token.is_word(RIGHT), token.is_word(WRONG)) {
                (true, _) => Some((1.0, true)),
                (_, true) => Some((0.0, true)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The `/5`, `out of 5` or `%` behind a number, and the place after it.
fn out_of(tokens: &[Token<'_>], at: usize) -> (Option<f64>, usize) {
    let number = |at: usize| match tokens.get(at) {
        Some(Token::Number(value)) => Some(*value),
        Some(word) => value(word, Scale::default()).map(|(value, _)| value),
        None => None,
    };
    let Some(next) = tokens.get(at) else {
        return (None, at);
    };
    let skip = if next.is_mark("%") {
        return (Some(100.0), at + 1);
    } else if next.is_mark("/") || next.is_word(&["of", "von"]) {
        1
    } else if next.is_word(&["out"]) && tokens.get(at + 1).is_some_and(|t| t.is_word(&["of"])) {
        2
    } else {
        return (None, at);
    };
    match number(at + skip) {
        Some(max) => (Some(max), at + skip + 1),
        None => (None, at),
    }
}

fn starts_line(tokens: &[Token<'_>], at: usize) -> bool {
    let before = tokens[..at].iter().rev();
    let mut marks = before.skip_while(|token| token.is_mark("-–—•#>([|"));
    matches!(marks.next(), None | Some(Token::Line))
}

/// `5 = excellent` and `2. The response …` are lines of a list.
fn is_list_item(tokens: &[Token<'_>], at: usize) -> bool {
    let numbered = matches!(tokens[at], Token::Number(_))
        && tokens
            .get(at + 1)
            .is_some_and(|token| token.is_mark("=.:)–—-"));
    numbered && starts_line(tokens, at) && !ends_line(tokens, at + 1)
}

fn ends_reply(tokens: &[Token<'_>], at: usize) -> bool {
    let mut after = tokens[at.min(tokens.len())..].iter();
    after.all(|token| token.is_mark(".!)]|}") || *token == Token::Line)
}

fn ends_line(tokens: &[Token<'_>], at: usize) -> bool {
    let mut after = tokens[at.min(tokens.len())..]
        .iter()
        .skip_while(|token| token.is_mark(".!)]|"));
    matches!(after.next(), None | Some(Token::Line))
}

/// Which tokens only mention the scale: `1-5`, "from 1 to 5", "a scale of 5", and
/// the number behind a slash.
struct Numbers {
    about_scale: Vec<bool>,
}

impl Numbers {
    fn of(tokens: &[Token<'_>], scale: Scale) -> Self {
        let mut about_scale = vec![false; tokens.len()];
        let is_number = |at: usize| matches!(tokens.get(at), Some(Token::Number(_)));
        for at in 0..tokens.len() {
            if value(&tokens[at], scale).is_some() && !about_scale[at] {
                let (out_of, after) = out_of(tokens, at + 1);
                if out_of.is_some() {
                    about_scale[at + 1..after].fill(true);
                }
            }
            if !is_number(at) {
                continue;
            }
            let between = tokens.get(at + 1).is_some_and(|token| {
                token.is_mark("-–—~") || token.is_word(&["to", "through", "bis"])
            }) || (at > 0
                && tokens[at - 1].is_word(&["between"])
                && tokens
                    .get(at + 1)
                    .is_some_and(|token| token.is_word(&["and"])));
            if between && is_number(at + 2) {
                about_scale[at..at + 3].fill(true);
            }
            let of_scale = at >= 2
                && tokens[at - 1].is_word(&["of"])
                && tokens[at - 2].is_word(&["scale", "maximum", "max"]);
            if of_scale {
                about_scale[at] = true;
            }
        }
        Self { about_scale }
    }
}

#[cfg(test)]
mod tests;
