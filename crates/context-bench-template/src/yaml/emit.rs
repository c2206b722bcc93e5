//! Nodes to YAML text that reads back as the same nodes.

use std::fmt::Write;

use super::node::{Node, Yaml};
use super::scalar;
use crate::python;

/// The node as a YAML document in block style, ending in a line break.
pub fn emit(node: &Node) -> String {
    let mut out = String::new();
    write_node(&mut out, node, 0, Context::Root);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// What stands before a node on its line.
#[derive(Clone, Copy, PartialEq)]
enum Context {
    Root,
    /// After `- `: a collection may start on the same line.
    Item,
    /// After `key:`: a collection starts on the next line.
    Value,
}

fn write_node(out: &mut String, node: &Node, indent: usize, context: Context) {
    if let Some(tag) = &node.tag {
        lead(out, context);
        write_tag(out, tag);
        if let Yaml::Text(text) = &node.value {
            out.push(' ');
            write_text(out, text, indent, false);
            return;
        }
        return write_value(out, node, indent, Context::Value);
    }
    write_value(out, node, indent, context);
}

fn lead(out: &mut String, context: Context) {
    if context == Context::Value {
        out.push(' ');
    }
}

/// Custom tags are `!name`; others are written in full.
fn write_tag(out: &mut String, tag: &str) {
    let simple = tag.len() > 1
        && tag.starts_with('!')
        && tag[1..]
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'));
    if simple {
        out.push_str(tag);
    } else {
        out.push_str("!<");
        for byte in tag.bytes() {
            match byte.is_ascii_alphanumeric() || b"-;/?:@&=+$,_.!~*'()".contains(&byte) {
                true => out.push(char::from(byte)),
                false => {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
        out.push('>');
    }
}

fn write_value(out: &mut String, node: &Node, indent: usize, context: Context) {
    match &node.value {
        Yaml::List(list) if !list.is_empty() => {
            for (i, item) in list.iter().enumerate() {
                begin(out, indent, i, context);
                out.push_str("- ");
                write_node(out, item, indent + 2, Context::Item);
                end_line(out);
            }
        }
        Yaml::Map(map) if !map.entries.is_empty() => {
            for (i, entry) in map.entries.iter().enumerate() {
                begin(out, indent, i, context);
                write_key(out, &entry.key);
                out.push(':');
                write_node(out, &entry.value, indent + 2, Context::Value);
                end_line(out);
            }
        }
        Yaml::Set(items) => {
            lead(out, context);
            out.push_str("!!set {");
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_key(out, item);
            }
            out.push('}');
        }
        Yaml::List(_) => {
            lead(out, context);
            out.push_str("[]");
        }
        Yaml::Map(_) => {
            lead(out, context);
            out.push_str("{}");
        }
        Yaml::Text(text) => {
            lead(out, context);
            write_text(out, text, indent, true);
        }
        other => {
            lead(out, context);
            write_scalar(out, other);
        }
    }
}

/// Starts line `i` of a block collection.
fn begin(out: &mut String, indent: usize, i: usize, context: Context) {
    if i == 0 {
        match context {
            // `- ` is already on the line.
            Context::Item | Context::Root => return,
            Context::Value => out.push('\n'),
        }
    }
    out.extend(std::iter::repeat_n(' ', indent));
}

fn end_line(out: &mut String) {
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

fn write_key(out: &mut String, key: &Node) {
    if let Some(tag) = &key.tag {
        write_tag(out, tag);
        out.push(' ');
    }
    match &key.value {
        Yaml::Text(text) if is_plain(text) && text.len() <= 100 => out.push_str(text),
        Yaml::Text(text) => write_quoted(out, text),
        other => write_scalar(out, other),
    }
}

fn write_scalar(out: &mut String, value: &Yaml) {
    match value {
        Yaml::Null => out.push_str("null"),
        Yaml::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Yaml::Int(int) => {
            let _ = write!(out, "{int}");
        }
        Yaml::BigInt(digits) => out.push_str(digits),
        Yaml::Float(x) => out.push_str(&float(*x)),
        Yaml::Timestamp(text) => out.push_str(text),
        Yaml::Bytes(bytes) => {
            out.push_str("!!binary ");
            write_base64(out, bytes);
        }
        // Collections are written by their own code.
        Yaml::Text(text) => write_quoted(out, text),
        Yaml::List(_) | Yaml::Map(_) | Yaml::Set(_) => {}
    }
}

/// A float that YAML 1.1 reads as one: with a dot and a signed exponent.
fn float(x: f64) -> String {
    if x.is_nan() {
        return ".nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { ".inf" } else { "-.inf" }.into();
    }
    let text = python::float(x);
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    }
}

fn write_text(out: &mut String, text: &str, indent: usize, allow_plain: bool) {
    if allow_plain && is_plain(text) {
        out.push_str(text);
    } else if allow_plain && fits_block(text) {
        write_block(out, text, indent);
    } else if !allow_plain && !text.is_empty() && is_plain(text) {
        // After a tag the text is not interpreted, so that numbers need no quotes.
        out.push_str(text);
    } else {
        write_quoted(out, text);
    }
}

/// Whether the text can stand without quotes, in a block or in brackets.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let first_ok =
        first.is_alphanumeric() || matches!(first, '_' | '/' | '.' | '(' | '<' | '$' | '+' | '^');
    let last_ok = !text.ends_with([' ', ':']);
    let inner_ok = text.chars().all(|c| {
        (c.is_alphanumeric() || c.is_ascii_punctuation() || c == ' ')
            && !matches!(c, '[' | ']' | '{' | '}' | ',' | '\u{feff}')
    });
    first_ok
        && last_ok
        && inner_ok
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("...")
        && scalar::is_text(text)
}

/// Whether a literal block keeps the text: several lines, nothing to escape.
fn fits_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text
            .chars()
            .all(|c| c == '\n' || c == '\t' || python::is_printable(c))
        && !text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'])
        && text.split('\n').any(|line| !line.trim().is_empty())
}

fn write_block(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    out.push_str(match text.len() - body.len() {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    // A block at the root still needs an indentation.
    let indent = indent.max(2);
    let lines = text.strip_suffix('\n').unwrap_or(text);
    for line in lines.split('\n') {
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if python::is_printable(c) => out.push(c),
            c if u32::from(c) <= 0xFF => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if u32::from(c) <= 0xFFFF => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out.push('"');
}

fn write_base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push('"');
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .chain(&[0, 0])
            .take(3)
            .fold(0_u32, |bits, &byte| (bits << 8) | u32::from(byte));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= chunk.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    out.push('"');
}
