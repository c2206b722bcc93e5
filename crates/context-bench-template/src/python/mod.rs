//! Python's spelling of values: how they print, how their text is read back, and the tokens of
//! Python source.
//!
//! Prompts depend on it: a list that a template prints is often parsed again.
//!
//! Written by hand: no crate prints floats, texts and containers exactly as CPython's
//! `repr` and `str` do.

mod literal;
pub mod regex;
mod text;
mod token;

pub use literal::{LiteralError, literal_eval};
pub use text::{
    is_alpha, is_decimal, is_digit, is_printable, is_space, split_whitespace, strip, strip_end,
    strip_start,
};
pub use token::{
    PythonNumber, SurrogatePairs, Token, TokenError, TokenKind, Tokens, is_keyword, is_name,
};

use std::fmt::Write;

use serde_json::{Number, Value};

use crate::yaml::Yaml;

/// A float as Python's `repr` prints it: `3.0`, `1e+16`, `1e-05`, `nan`.
pub fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.into();
    }
    // Rust gives the same shortest digits, but switches to exponents never or always.
    let scientific = format!("{x:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let mut plain = format!("{x}");
        if !plain.contains('.') {
            plain.push_str(".0");
        }
        plain
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    }
}

/// A number of JSON as Python prints it.
pub fn number(number: &Number) -> String {
    match number.as_f64() {
        Some(x) if number.is_f64() => float(x),
        _ => number.to_string(),
    }
}

/// Text in quotes, as Python's `repr` writes it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_quoted(&mut out, text);
    out
}

pub(crate) fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                // Writing into a string cannot fail.
                let _ = match code {
                    0..=0xFF => write!(out, "\\x{code:02x}"),
                    0x100..=0xFFFF => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// What Python's `repr` gives for a value.
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

/// What Python's `str` gives for a value: text as it is, all else as `repr`.
pub fn str(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(x) => out.push_str(&number(x)),
        Value::String(text) => write_quoted(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, value)) in map.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_quoted(out, key);
                out.push_str(": ");
                write_repr(out, value);
            }
            out.push('}');
        }
    }
}

/// A YAML key as text: text as it is, all else as Python prints it.
pub(crate) fn key(value: &Yaml) -> String {
    match value {
        Yaml::Null => "None".into(),
        Yaml::Bool(true) => "True".into(),
        Yaml::Bool(false) => "False".into(),
        Yaml::Int(int) => int.to_string(),
        Yaml::Float(x) => float(*x),
        Yaml::BigInt(text) | Yaml::Text(text) | Yaml::Timestamp(text) => text.to_string(),
        Yaml::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        // Never a key.
        Yaml::List(_) | Yaml::Map(_) | Yaml::Set(_) => String::new(),
    }
}
