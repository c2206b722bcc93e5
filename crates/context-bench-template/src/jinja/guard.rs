//! The engine's own filters that make much of little, looked at before they run.
//!
//! Most filters give no more than they are given; what they give is measured like
//! everything else. These take a number, and that number decides.

use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Environment, Error, State};

use super::{bounds, value};

/// What a filter will at most give, from what it is given.
type Estimate = fn(&[Value]) -> usize;

pub(super) fn add(environment: &mut Environment<'static>) {
    let guarded: [(&'static str, Value, Estimate); 4] = [
        (
            "indent",
            Value::from_function(minijinja::filters::indent),
            indented,
        ),
        (
            "slice",
            Value::from_function(minijinja::filters::slice),
            pieces,
        ),
        (
            "batch",
            Value::from_function(minijinja::filters::batch),
            pieces,
        ),
        (
            "format",
            Value::from_function(minijinja::filters::format),
            |given| match given.split_first() {
                Some((format, args)) => formatted(&value::str(format), args),
                None => 0,
            },
        ),
    ];
    for (name, filter, estimate) in guarded {
        environment.add_filter(
            name,
            move |state: &mut State<'_, '_>, given: Rest<Value>| -> Result<Value, Error> {
                bounds::fits(estimate(&given))?;
                filter.call(state, &given)
            },
        );
    }
}

/// Whether `format` may be filled in with values: by their sizes, as often as fields
/// may name them, and by the widths it asks for.
pub(super) fn check_format(format: &str, args: &[Value]) -> Result<(), Error> {
    bounds::fits(formatted(format, args))
}

/// The largest number among the arguments after the first, by place or by name.
fn largest(given: &[Value]) -> usize {
    let number = |value: &Value| value.as_usize().unwrap_or(0);
    let args = given.iter().skip(1).map(|arg| match arg.kind() {
        ValueKind::Map => {
            let keys = arg.try_iter().into_iter().flatten();
            keys.filter_map(|key| arg.get_item(&key).ok())
                .map(|value| number(&value))
                .max()
                .unwrap_or(0)
        }
        _ => number(arg),
    });
    args.max().unwrap_or(0)
}

fn indented(given: &[Value]) -> usize {
    let text = given.first().and_then(Value::as_str).unwrap_or_default();
    let lines = text.matches('\n').count() + 1;
    text.len()
        .saturating_add(lines.saturating_mul(largest(given)))
}

fn pieces(given: &[Value]) -> usize {
    largest(given).saturating_mul(size_of::<Value>())
}

fn formatted(format: &str, args: &[Value]) -> usize {
    let fields = format.matches(['%', '{']).count();
    let longest = args.iter().map(|arg| value::str(arg).len()).max();
    // Most fields name different values; only what would be far too much is refused
    // beforehand.
    let texts = fields.saturating_mul(longest.unwrap_or(0)) / 4;
    texts.saturating_add(widths(format))
}

/// The sum of all widths and precisions in a format: the numbers right behind a `%`,
/// and those within braces.
fn widths(format: &str) -> usize {
    let mut sum = 0_usize;
    for after in format.split(['%', '{']).skip(1) {
        let spec = match after.strip_prefix('(').and_then(|key| key.split_once(')')) {
            Some((_, spec)) => spec,
            None => after,
        };
        let spec = match spec.split_once('}') {
            Some((spec, _)) => spec,
            None => {
                let end = spec.find(|c: char| !(c.is_ascii_digit() || "#- +.".contains(c)));
                &spec[..end.unwrap_or(spec.len())]
            }
        };
        for number in spec.split(|c: char| !c.is_ascii_digit()) {
            if !number.is_empty() {
                sum = sum.saturating_add(number.parse().unwrap_or(usize::MAX));
            }
        }
    }
    sum
}
