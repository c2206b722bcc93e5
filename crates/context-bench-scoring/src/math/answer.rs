//! An answer as a whole: the prose around its mathematics, its units, and the
//! parts between separators. The mathematics itself is for `parse.rs`.

use super::either::expand;
use super::expr::{Expr, Relation};
use super::latex::{self, Commas};
use super::parse;
use super::token::{Bracket, Kind, Token, canonical};
use super::words;

/// An answer, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// The spelling without layout.
    pub(super) canonical: String,
    /// What it may mean; the first reading is the most likely, none means text.
    pub(super) readings: Vec<Reading>,
}

/// One way to read an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) expr: Expr,
    /// Words before the mathematics that are more than filler.
    pub(super) lead: Vec<Box<str>>,
}

impl Answer {
    /// Reads an answer. One that is too long has only its spelling.
    pub(super) fn read(text: &str) -> Self {
        let Some((tokens, ambiguous)) = latex::tokens(text, Commas::Thousands) else {
            let canonical = text.split_whitespace().collect();
            return Self {
                canonical,
                readings: Vec::new(),
            };
        };
        let mut readings: Vec<Reading> = reading(&tokens).into_iter().collect();
        if ambiguous {
            let separate = latex::tokens(text, Commas::Separate);
            readings.extend(separate.and_then(|(tokens, _)| reading(&tokens)));
        }
        if let Some(end) = letter_units(&tokens) {
            readings.extend(reading(&tokens[..end]));
        }
        if is_choice(&tokens) {
            readings.extend(reading(&tokens[..3]));
            readings.extend(reading(&tokens[3..]));
        }
        Self {
            canonical: canonical(&tokens),
            readings,
        }
    }
}

/// `(C) 12`: a choice with what it says. Either may be the gold answer.
fn is_choice(tokens: &[Token]) -> bool {
    let [open, letter, close, next, ..] = tokens else {
        return false;
    };
    let letter = match &letter.kind {
        Kind::Symbol(name) | Kind::Word { word: name, .. } => &**name,
        _ => "",
    };
    open.kind == Kind::Open(Bracket::Round)
        && close.kind == Kind::Close(Bracket::Round)
        && next.spaced
        && letter.len() == 1
        && ("A".."K").contains(&letter)
}

/// Where units of one letter begin: `5 m/s`, `20 °C`. A letter that follows a
/// number after a space may be a unit when nothing before it is a variable.
fn letter_units(tokens: &[Token]) -> Option<usize> {
    let number = tokens
        .iter()
        .position(|token| matches!(token.kind, Kind::Number(_)))?;
    let start = number + 1;
    let (first, rest) = tokens.get(start..)?.split_first()?;
    let is_unit = |kind: &Kind| match kind {
        Kind::Symbol(name) => matches!(
            &**name,
            "m" | "s" | "g" | "h" | "l" | "L" | "N" | "J" | "W" | "V" | "A" | "K" | "C" | "F"
        ),
        _ => false,
    };
    let mut after_caret = false;
    let fits = rest.iter().all(|token| {
        let fits = match &token.kind {
            Kind::Caret | Kind::Divide | Kind::Degree | Kind::Open(Bracket::Group) => true,
            Kind::Close(Bracket::Group) => true,
            Kind::Number(_) => after_caret,
            kind => is_unit(kind),
        };
        after_caret = token.kind == Kind::Caret || after_caret && !is_unit(&token.kind);
        fits
    });
    let begins = first.spaced && is_unit(&first.kind)
        || first.kind == Kind::Degree && rest.len() == 1
        || first.kind == Kind::Caret && rest.first().map(|next| &next.kind) == Some(&Kind::Degree);
    let signs = tokens[..number]
        .iter()
        .all(|token| token.kind == Kind::Minus);
    (begins && fits && signs).then_some(start)
}

fn reading(tokens: &[Token]) -> Option<Reading> {
    let tokens = trim(tokens);
    let is_word = |token: &Token| matches!(&token.kind, Kind::Word { .. });
    if tokens.iter().all(is_word) {
        return prose(tokens);
    }
    let mut lead = Vec::new();
    let mut elements = Vec::new();
    for part in split(tokens) {
        let (words, part) = strip_prose(part)?;
        lead.extend(words);
        elements.push(parse::whole(part)?);
    }
    let mut elements = expand(elements);
    let expr = match elements.len() {
        0 => return None,
        1 => elements.pop()?,
        _ => Expr::List(elements),
    };
    Some(Reading { expr, lead })
}

/// Words only: a number that was written out, a letter, or text.
fn prose(tokens: &[Token]) -> Option<Reading> {
    let words: Vec<&str> = tokens
        .iter()
        .filter_map(|token| match &token.kind {
            Kind::Word { word, .. } => Some(&**word),
            _ => None,
        })
        .collect();
    let kept = words.iter().position(|word| !words::is_filler(word));
    let kept = kept.map_or(&words[..], |first| &words[first..]);
    let expr = match kept {
        [] => return None,
        [letter] if letter.chars().count() == 1 => Expr::Symbol((*letter).into()),
        [word] => match words::number_word(word) {
            Some(number) => Expr::integer(number),
            None => Expr::Text((*word).into()),
        },
        words => Expr::Text(words.join(" ").into()),
    };
    let lead = Vec::new();
    Some(Reading { expr, lead })
}

/// Without the stops, colons and separators around an answer.
fn trim(mut tokens: &[Token]) -> &[Token] {
    let is_stop = |kind: &Kind| match kind {
        Kind::Other(text) => matches!(&**text, "." | "。" | "।" | "?" | "…"),
        Kind::Separator(_) | Kind::Row => true,
        _ => false,
    };
    while let Some((last, rest)) = tokens.split_last()
        && (is_stop(&last.kind) || last.kind == Kind::Relation(Relation::Ratio))
    {
        tokens = rest;
    }
    while let Some((first, rest)) = tokens.split_first()
        && (is_stop(&first.kind) || matches!(first.kind, Kind::Relation(Relation::Ratio)))
    {
        tokens = rest;
    }
    tokens
}

/// The parts between separators outside brackets.
fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (i, token) in tokens.iter().enumerate() {
        match &token.kind {
            Kind::Open(_) | Kind::Begin(_) => depth += 1,
            Kind::Close(_) | Kind::End => depth = depth.saturating_sub(1),
            Kind::Separator(_) if depth == 0 => {
                // `1, and 2` has one separator.
                if start < i {
                    parts.push(&tokens[start..i]);
                }
                start = i + 1;
            }
            _ => {}
        }
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}

/// Takes the words before the mathematics and the units behind it away.
/// `None` when words stand in between or matter.
fn strip_prose(tokens: &[Token]) -> Option<(Vec<Box<str>>, &[Token])> {
    let word = |token: &Token| match &token.kind {
        // One letter inside `\text{}` may be the answer itself.
        Kind::Word { word, .. } if word.chars().count() > 1 => Some(word.clone()),
        _ => None,
    };
    let mut lead = Vec::new();
    let mut rest = tokens;
    while let Some((first, others)) = rest.split_first() {
        if is_article(first) && others.first().is_some_and(|next| word(next).is_some()) {
            rest = others;
            continue;
        }
        let Some(word) = word(first) else { break };
        if words::is_significant(&word) {
            return None;
        }
        if !words::is_filler(&word) {
            lead.push(word);
        }
        rest = others;
    }
    if rest.len() < tokens.len() {
        rest = trim(rest);
        // `area = 5`, `is: 5`
        if let Some((first, others)) = rest.split_first()
            && first.kind == Kind::Relation(Relation::Equal)
        {
            rest = others;
        }
    }
    let rest = &rest[..units_start(rest)?];
    (!rest.is_empty()).then_some((lead, rest))
}

/// `a` in `18 dollars a day`, `I` in `I get 5`.
fn is_article(token: &Token) -> bool {
    matches!(&token.kind, Kind::Symbol(name) if matches!(&**name, "a" | "A" | "I"))
}

/// Where the units begin: `cm^2`, `miles per hour`, `(in dollars)`. The length
/// when there are none, `None` when words are followed by something else.
fn units_start(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut first = None;
    for (i, token) in tokens.iter().enumerate() {
        match &token.kind {
            Kind::Word { text: true, .. } if depth == 0 && i > 0 => first = Some(i),
            Kind::Word { word, .. } if depth == 0 && word.len() > 1 => first = Some(i),
            Kind::Open(_) | Kind::Begin(_) => depth += 1,
            Kind::Close(_) | Kind::End => depth = depth.saturating_sub(1),
            _ => {}
        }
        if first.is_some() {
            break;
        }
        // A bracket of words only belongs to the units too.
        if let (Kind::Open(Bracket::Round), Some(next)) = (&token.kind, tokens.get(i + 1))
            && depth == 1
            && i > 0
            && matches!(&next.kind, Kind::Word { word, .. } if word.len() > 1)
        {
            first = Some(i);
            break;
        }
    }
    let Some(mut first) = first else {
        return Some(tokens.len());
    };
    let mut after_caret = false;
    let mut after_stroke = false;
    for token in &tokens[first..] {
        let fits = match &token.kind {
            Kind::Word { word, .. } => !words::is_significant(word),
            Kind::Number(_) | Kind::Minus => after_caret,
            Kind::Caret | Kind::Divide | Kind::Times | Kind::Open(_) | Kind::Close(_) => true,
            Kind::Symbol(_) => after_stroke || is_article(token),
            Kind::Other(text) => matches!(&**text, "." | "。" | "।" | "?"),
            _ => false,
        };
        if !fits {
            return None;
        }
        after_stroke = matches!(token.kind, Kind::Divide | Kind::Times);
        after_caret = match token.kind {
            Kind::Caret => true,
            Kind::Open(Bracket::Group) | Kind::Minus => after_caret,
            _ => false,
        };
    }
    // `5/hour`: the stroke belongs to the unit. `5{\text{ cm}}`: so does the brace.
    while first > 0
        && matches!(
            tokens[first - 1].kind,
            Kind::Divide | Kind::Open(Bracket::Group | Bracket::Round)
        )
    {
        first -= 1;
    }
    Some(first)
}
