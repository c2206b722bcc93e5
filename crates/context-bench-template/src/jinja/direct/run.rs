//! Working a plan out. `None` everywhere means: ask the engine.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value as Json;

use super::plan::{Expr, LoopFact, Side, Stmt, Test};
use super::value::Value;
use crate::jinja::Record;
use crate::jinja::bounds::MAX_SIZE;
use crate::python;

/// Steps that one rendering may take here; what needs more is for the engine,
/// which bounds it as well.
const STEPS: usize = 1_000_000;

pub(super) fn render(body: &[Stmt], record: &(impl Record + ?Sized)) -> Option<String> {
    let mut out = String::new();
    let mut run = Run::new(record);
    run.body(body, &mut out)?;
    Some(out)
}

pub(super) fn evaluate(expr: &Expr, record: &(impl Record + ?Sized)) -> Option<Json> {
    Run::new(record).value(expr)?.into_json()
}

struct Run<'r, R: ?Sized> {
    record: &'r R,
    loops: Vec<Turn<'r>>,
    steps: usize,
}

/// Where a loop is.
struct Turn<'r> {
    item: Value<'r>,
    at: usize,
    of: usize,
}

impl<'r, R: Record + ?Sized> Run<'r, R> {
    fn new(record: &'r R) -> Self {
        Self {
            record,
            loops: Vec::new(),
            steps: 0,
        }
    }

    fn body(&mut self, parts: &'r [Stmt], out: &mut String) -> Option<()> {
        parts.iter().try_for_each(|part| self.statement(part, out))
    }

    fn statement(&mut self, part: &'r Stmt, out: &mut String) -> Option<()> {
        self.steps += 1;
        if self.steps > STEPS {
            return None;
        }
        match part {
            // What becomes too long is for the engine to refuse.
            _ if out.len() > MAX_SIZE => return None,
            Stmt::Raw(text) => out.push_str(text),
            Stmt::Emit(expr) => self.value(expr)?.write(out)?,
            Stmt::If {
                condition,
                then,
                otherwise,
            } => {
                let truth = self.value(condition)?.truth()?;
                self.body(if truth { then } else { otherwise }, out)?;
            }
            Stmt::For { items, body } => {
                let items = items_of(self.value(items)?)?;
                let of = items.len();
                for (at, item) in items.into_iter().enumerate() {
                    self.loops.push(Turn { item, at, of });
                    let done = self.body(body, out);
                    self.loops.pop();
                    done?;
                }
            }
        }
        Some(())
    }

    fn value(&self, expr: &'r Expr) -> Option<Value<'r>> {
        Some(match expr {
            Expr::Constant(constant) => Value::Json(constant),
            Expr::Field(name) => match self.record.get(name) {
                Some(json) => Value::Json(json),
                None => Value::Undefined,
            },
            Expr::Local(depth) => self.loops.get(*depth)?.item.clone(),
            Expr::Loop(fact) => {
                let turn = self.loops.last()?;
                match fact {
                    LoopFact::Index => Value::count(turn.at + 1)?,
                    LoopFact::Index0 => Value::count(turn.at)?,
                    LoopFact::First => Value::Bool(turn.at == 0),
                    LoopFact::Last => Value::Bool(turn.at + 1 == turn.of),
                    LoopFact::Length => Value::count(turn.of)?,
                }
            }
            Expr::Attribute(of, name) => field(&self.value(of)?, name)?,
            Expr::Item(of, at) => {
                let (of, at) = (self.value(of)?, self.value(at)?);
                match at.text() {
                    Some(name) => field(&of, name)?,
                    None => item(of, at.int()?)?,
                }
            }
            Expr::List(items) => {
                let items = items.iter().map(|item| {
                    let item = self.value(item)?;
                    item.is_defined().then_some(item)
                });
                Value::List(items.collect::<Option<_>>()?)
            }
            Expr::Not(of) => Value::Bool(!self.value(of)?.truth()?),
            Expr::And(left, right) => {
                let left = self.value(left)?;
                if left.truth()? {
                    self.value(right)?
                } else {
                    left
                }
            }
            Expr::Or(left, right) => {
                let left = self.value(left)?;
                if left.truth()? {
                    left
                } else {
                    self.value(right)?
                }
            }
            Expr::Add(left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match (left.int(), right.int()) {
                    (Some(left), Some(right)) => Value::Int(left.checked_add(right)?),
                    _ => {
                        let mut text = left.into_text()?.into_owned();
                        text.push_str(right.text()?);
                        Value::Text(text.into())
                    }
                }
            }
            Expr::Subtract(left, right) => {
                let (left, right) = (self.value(left)?.int()?, self.value(right)?.int()?);
                Value::Int(left.checked_sub(right)?)
            }
            Expr::Equal(left, right, expected) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Value::Bool(equal(&left, &right)? == *expected)
            }
            Expr::In(part, whole, expected) => {
                let (part, whole) = (self.value(part)?, self.value(whole)?);
                Value::Bool(contains(&whole, &part)? == *expected)
            }
            Expr::If {
                condition,
                then,
                otherwise,
            } => {
                let truth = self.value(condition)?.truth()?;
                self.value(if truth { then } else { otherwise })?
            }
            Expr::Default(of, other) => match self.value(of)? {
                Value::Undefined => self.value(other)?,
                value => value,
            },
            Expr::Join(items, between) => {
                let items = items_of(self.value(items)?)?;
                let between = match between {
                    Some(between) => self.value(between)?.into_text()?,
                    None => Cow::Borrowed(""),
                };
                let mut text = String::new();
                for (i, item) in items.iter().enumerate() {
                    text.push_str(if i > 0 { &between } else { "" });
                    text.push_str(item.text()?);
                    if text.len() > MAX_SIZE {
                        return None;
                    }
                }
                Value::Text(text.into())
            }
            Expr::Length(of) => Value::count(match self.value(of)? {
                Value::Text(text) => text.chars().count(),
                Value::Json(Json::String(text)) => text.chars().count(),
                Value::Json(Json::Array(items)) => items.len(),
                Value::Json(Json::Object(map)) => map.len(),
                Value::List(items) => items.len(),
                _ => return None,
            })?,
            Expr::AsText(of) => match self.value(of)? {
                text @ (Value::Text(_) | Value::Json(Json::String(_))) => text,
                other => {
                    let mut text = String::new();
                    other.write(&mut text)?;
                    Value::Text(text.into())
                }
            },
            Expr::AsInt(of) => {
                let value = self.value(of)?;
                match value.text() {
                    Some(text) => Value::Int(digits(text)?),
                    None => Value::Int(value.int()?),
                }
            }
            Expr::Select(of) => {
                let mut kept = Vec::new();
                for item in items_of(self.value(of)?)? {
                    if item.truth()? {
                        kept.push(item);
                    }
                }
                Value::List(kept)
            }
            Expr::IndexOf(of, wanted) => {
                let (items, wanted) = (items_of(self.value(of)?)?, self.value(wanted)?);
                for (at, item) in items.iter().enumerate() {
                    if equal(item, &wanted)? {
                        return Value::count(at);
                    }
                }
                // What it says of a value that is not there is for the engine.
                return None;
            }
            Expr::Strip(of, side) => Value::Text(strip(self.value(of)?.into_text()?, *side)),
            Expr::Split {
                text,
                separator,
                most,
            } => split(&self.value(text)?.into_text()?, separator, *most)?,
            Expr::Replace(of, from, to) => {
                let text = self.value(of)?.into_text()?;
                let times = match to.len() > from.len() {
                    true => text.matches(&**from).count(),
                    false => 0,
                };
                if times.checked_mul(to.len())? > MAX_SIZE {
                    return None;
                }
                match text.contains(&**from) {
                    true => Value::Text(text.replace(&**from, to).into()),
                    false => Value::Text(text),
                }
            }
            Expr::Is(of, test, expected) => {
                let value = self.value(of)?;
                let holds = match test {
                    Test::Defined => value.is_defined(),
                    _ if !value.is_defined() => return None,
                    Test::None => matches!(value, Value::Json(Json::Null)),
                    Test::String => value.text().is_some(),
                    Test::Mapping => matches!(value, Value::Json(Json::Object(_))),
                };
                Value::Bool(holds == *expected)
            }
        })
    }
}

/// A field of a map; one that is not there is undefined, not an error.
fn field<'r>(of: &Value<'r>, name: &str) -> Option<Value<'r>> {
    let Value::Json(Json::Object(map)) = of else {
        return None;
    };
    Some(map.get(name).map_or(Value::Undefined, Value::Json))
}

/// An item of a list, from the end when the place is negative.
fn item(of: Value<'_>, at: i64) -> Option<Value<'_>> {
    let place = |n: usize| {
        let at = if at < 0 {
            at.checked_add(i64::try_from(n).ok()?)?
        } else {
            at
        };
        usize::try_from(at).ok().filter(|at| *at < n)
    };
    match of {
        Value::Json(Json::Array(items)) => Some(Value::Json(items.get(place(items.len())?)?)),
        Value::List(mut items) => {
            let at = place(items.len())?;
            Some(items.swap_remove(at))
        }
        _ => None,
    }
}

fn items_of(value: Value<'_>) -> Option<Vec<Value<'_>>> {
    match value {
        Value::Json(Json::Array(items)) => Some(items.iter().map(Value::Json).collect()),
        Value::List(items) => Some(items),
        _ => None,
    }
}

/// Equality of texts, of whole numbers, and of a text or nothing with anything.
fn equal(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Some(left == right);
    }
    Some(left.int()? == right.int()?)
}

/// A whole number that is written plainly.
fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn contains(whole: &Value<'_>, part: &Value<'_>) -> Option<bool> {
    let part = part.text()?;
    match whole {
        Value::Json(Json::Array(items)) => {
            let mut found = false;
            for item in items {
                found |= item.as_str()? == part;
            }
            Some(found)
        }
        _ => Some(memchr::memmem::find(whole.text()?.as_bytes(), part.as_bytes()).is_some()),
    }
}

fn strip(text: Cow<'_, str>, side: Side) -> Cow<'_, str> {
    let cut = |text: &str| -> Range<usize> {
        let from_start = match side {
            Side::End => text,
            _ => python::strip_start(text),
        };
        let start = text.len() - from_start.len();
        let rest = match side {
            Side::Start => from_start,
            _ => python::strip_end(from_start),
        };
        start..start + rest.len()
    };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[cut(text)]),
        Cow::Owned(text) => {
            let range = cut(&text);
            Cow::Owned(text[range].to_owned())
        }
    }
}

fn split<'r>(text: &Cow<'r, str>, separator: &str, most: Option<usize>) -> Option<Value<'r>> {
    if separator.is_empty() {
        return None;
    }
    let piece = |at: Range<usize>| {
        Value::Text(match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[at]),
            Cow::Owned(text) => Cow::Owned(text[at].to_owned()),
        })
    };
    let places = memchr::memmem::find_iter(text.as_bytes(), separator.as_bytes());
    let mut pieces = Vec::new();
    let mut start = 0;
    for place in places.take(most.unwrap_or(usize::MAX)) {
        pieces.push(piece(start..place));
        start = place + separator.len();
    }
    pieces.push(piece(start..text.len()));
    Some(Value::List(pieces))
}
