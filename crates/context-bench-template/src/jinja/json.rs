//! `tojson` as Jinja writes it: sorted keys, ASCII only, safe inside HTML.
//!
//! Written by hand for parity: serde_json spells floats and escapes differently.

use std::fmt::Write;

use minijinja::Error;
use minijinja::value::{Kwargs, Rest, Value, ValueKind};

use super::args::{Args, wrong};
use super::filters::sorted_keys;
use super::{bounds, value};
use crate::python;

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape minijinja asks of filters"
)]
pub(crate) fn tojson(this: Value, given: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let args = Args::of("tojson", &given, &named, &["indent"], 0)?;
    let indent = args.int(0)?;
    let indent = indent.map(|indent| usize::try_from(indent.clamp(0, 100)).unwrap_or(0));
    let mut out = String::new();
    write(&mut out, &this, indent, 1)?;
    Ok(out)
}

fn write(out: &mut String, this: &Value, indent: Option<usize>, depth: usize) -> Result<(), Error> {
    bounds::fits(out.len())?;
    if depth > 100 {
        return Err(wrong("a value is nested too deep for `tojson`"));
    }
    match this.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if this.is_true() { "true" } else { "false" }),
        ValueKind::Number if this.is_integer() => out.push_str(&this.to_string()),
        ValueKind::Number => out.push_str(&match value::float(this).unwrap_or(f64::NAN) {
            x if x.is_nan() => "NaN".to_owned(),
            x if x.is_infinite() => if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
            x => python::float(x),
        }),
        ValueKind::String => write_text(out, this.as_str().unwrap_or_default()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = this.try_iter()?.collect();
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                separate(out, i, indent, depth);
                write(out, item, indent, depth + 1)?;
            }
            close(out, items.len(), indent, depth);
            out.push(']');
        }
        ValueKind::Map => {
            let keys = sorted_keys(this);
            out.push('{');
            for (i, key) in keys.iter().enumerate() {
                separate(out, i, indent, depth);
                write_text(out, &value::str(key));
                out.push_str(": ");
                write(out, &this.get_item(key)?, indent, depth + 1)?;
            }
            close(out, keys.len(), indent, depth);
            out.push('}');
        }
        kind => return Err(wrong(format!("`tojson` cannot write {kind}"))),
    }
    Ok(())
}

fn separate(out: &mut String, i: usize, indent: Option<usize>, depth: usize) {
    match indent {
        Some(width) => {
            out.push_str(if i > 0 { ",\n" } else { "\n" });
            out.extend(std::iter::repeat_n(' ', width * depth));
        }
        None => out.push_str(if i > 0 { ", " } else { "" }),
    }
}

fn close(out: &mut String, n: usize, indent: Option<usize>, depth: usize) {
    if let (Some(width), 1..) = (indent, n) {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width * (depth - 1)));
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' if !matches!(c, '<' | '>' | '&' | '\'') => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}
