//! How large what a template makes may become, so that no template is a bomb.
//!
//! The bounds are per rendering and far above what prompts need: the longest context
//! windows are some ten megabytes of text. A rendering runs on one thread from its
//! beginning to its end, so what it used so far is kept there.

use std::cell::Cell;

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::args::wrong;
use super::value::MAX_DEPTH;

/// Bytes of the whole output, of any text on the way to it and of any list with all
/// that is in it.
pub(crate) const MAX_SIZE: usize = 64 << 20;
/// Bytes that one rendering may make altogether. A text that grows in a loop is made
/// anew at each turn: this is enough for one that reaches a megabyte by lines.
const MAX_WORK: usize = 1 << 30;
/// What a value costs beside its text.
const VALUE: usize = size_of::<Value>();

/// What errors of this kind say, whatever was too large.
const TOO_LARGE: &str = "larger than templates may make (64 MiB)";
const TOO_MUCH: &str = "the template makes more than 1 GiB of values";
const TOO: [&str; 4] = [
    "too large",
    "too many elements",
    "too wide",
    "becomes too long",
];
const TOO_DEEP: &str = "a value is nested deeper than 200 levels";
const _: () = assert!(MAX_DEPTH == 200 && MAX_SIZE == 64 << 20 && MAX_WORK == 1 << 30);
const MACHINERY: &str = "a namespace, a loop or a macro cannot be";
/// What users can do about it.
pub(super) const HINT: &str = "shorten what it repeats, or prepare the field in the dataset";

/// The filters that measure, as `measure.rs` writes them into templates.
pub(super) const MEASURED: &str = "__measured";
pub(super) const JOINED: &str = "__joined";
/// An operand about to be concatenated, and how often it will be copied.
pub(super) const OPERAND: &str = "__operand";
/// Keeps the engine from working out a constant when it compiles.
pub(super) const FREE: &str = "__free";
pub(super) const WRITTEN: &str = "__written";
pub(super) const KEPT: &str = "__kept";

thread_local! {
    /// Bytes made by the rendering of this thread.
    static MADE: Cell<usize> = const { Cell::new(0) };
    /// Bytes it wrote.
    static WRITTEN_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// A rendering begins.
pub(super) fn begin() {
    MADE.set(0);
    WRITTEN_BYTES.set(0);
}

/// Whether a text or list of this size may be made.
pub(crate) fn fits(size: usize) -> Result<(), Error> {
    match size > MAX_SIZE {
        true => Err(too_large("a value")),
        false => Ok(()),
    }
}

/// Whether so much more may be written.
pub(super) fn written(bytes: usize) -> Result<(), Error> {
    let total = WRITTEN_BYTES.get().saturating_add(bytes);
    WRITTEN_BYTES.set(total);
    match total > MAX_SIZE {
        true => Err(too_large("the output")),
        false => Ok(()),
    }
}

fn too_large(what: &str) -> Error {
    wrong(format!("{what} is {TOO_LARGE}"))
}

/// Advice for an error about these bounds.
pub(super) fn hint(error: &Error) -> Option<&'static str> {
    let detail = error
        .detail()
        .filter(|_| error.kind() == ErrorKind::InvalidOperation)?;
    match detail {
        TOO_MUCH => Some(HINT),
        TOO_DEEP => Some("put the values side by side in one list"),
        "recursion limit exceeded" => {
            Some("let macros, blocks and loops call each other less deep")
        }
        _ if detail.contains(TOO_LARGE) => Some(HINT),
        // The engine's own bounds, and those of single filters.
        _ if TOO.iter().any(|words| detail.ends_with(words)) => Some(HINT),
        _ if detail.starts_with(MACHINERY) => {
            Some("keep the texts and numbers that you need of it")
        }
        _ => None,
    }
}

/// Adds the filters that measure.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter(MEASURED, measured);
    environment.add_filter(JOINED, joined);
    environment.add_filter(KEPT, kept);
    environment.add_filter(WRITTEN, |bytes: usize| written(bytes).map(|()| ""));
    environment.add_filter(OPERAND, operand);
    environment.add_filter(FREE, |value: Value| value);
}

/// A value that was just made, when it is not too large or too deep. What is lazy
/// (slices, sums of lists) is made into a list: laziness upon laziness is as deep as
/// a loop is long, and takes a frame of the stack for each when it is dropped.
pub(super) fn measured(made: Value) -> Result<Value, Error> {
    let weight = Weight::of(&made)?;
    charged(made, weight.size)
}

/// The same for what is put together of values that were there: a list of texts does
/// not make the texts.
fn joined(made: Value) -> Result<Value, Error> {
    let weight = Weight::of(&made)?;
    match made.as_str() {
        Some(text) => {
            let size = text.len();
            charged(made, size)
        }
        None => charged(made, weight.values * VALUE),
    }
}

/// A value that is about to be copied so many times.
fn operand(value: Value, copies: usize) -> Result<Value, Error> {
    let size = value.as_str().map_or(VALUE, str::len);
    charge(size.saturating_mul(copies))?;
    Ok(value)
}

fn charge(work: usize) -> Result<(), Error> {
    let total = MADE.get().saturating_add(work);
    MADE.set(total);
    match total > MAX_WORK {
        true => Err(wrong(TOO_MUCH)),
        false => Ok(()),
    }
}

fn charged(made: Value, work: usize) -> Result<Value, Error> {
    charge(work)?;
    let lazy = made.kind() == ValueKind::Iterable && made.len().is_some();
    let merged = made
        .as_object()
        .is_some_and(|object| object.type_name().contains("::Merge"));
    match made.kind() {
        ValueKind::Seq | ValueKind::Iterable if lazy || merged => {
            Ok(Value::from(made.try_iter()?.collect::<Vec<_>>()))
        }
        ValueKind::Map if merged => {
            let pairs = made.try_iter()?.map(|key| {
                let item = made.get_item(&key)?;
                Ok((key, item))
            });
            Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, Error>>()?))
        }
        _ => Ok(made),
    }
}

/// What is in a value.
#[derive(Default)]
struct Weight {
    values: usize,
    /// Bytes, as often as they would be written.
    size: usize,
}

impl Weight {
    fn of(value: &Value) -> Result<Self, Error> {
        let mut weight = Self::default();
        weight.add(value, 0)?;
        Ok(weight)
    }

    /// Adds up, and stops at what is too much.
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(wrong(TOO_DEEP));
        }
        if depth > 0 && is_machinery(value) {
            return Err(wrong(format!("{MACHINERY} part of another value")));
        }
        self.values += 1;
        self.size += VALUE;
        match value.kind() {
            ValueKind::String => self.size += value.as_str().map_or(0, str::len),
            ValueKind::Bytes => self.size += value.as_bytes().map_or(0, <[u8]>::len),
            ValueKind::Seq | ValueKind::Iterable if value.len().is_some() => {
                for item in value.try_iter()? {
                    self.add(&item, depth + 1)?;
                }
            }
            ValueKind::Map => {
                for key in value.try_iter()? {
                    self.add(&key, depth + 1)?;
                    self.add(&value.get_item(&key)?, depth + 1)?;
                }
            }
            _ => {}
        }
        fits(self.size)
    }
}

/// A value that goes into a namespace: none that could lead back to it. A loop of
/// references has no end for whoever follows them.
fn kept(value: Value) -> Result<Value, Error> {
    match is_machinery(&value) {
        true => Err(wrong(format!("{MACHINERY} kept in a namespace"))),
        false => Ok(value),
    }
}

/// Whether a value is part of the engine: it holds other values out of sight.
fn is_machinery(value: &Value) -> bool {
    value.as_object().is_some_and(|object| {
        let name = object.type_name();
        matches!(value.kind(), ValueKind::Plain)
            || ["::Namespace", "::Loop", "::Macro"]
                .iter()
                .any(|engine| name.ends_with(engine))
    })
}
