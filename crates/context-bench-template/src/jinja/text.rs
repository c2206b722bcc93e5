//! What the methods of Python's `str` do to text.
//!
//! Written by hand for parity with CPython, where `minijinja-contrib` has nothing or differs.

use minijinja::Error;
use minijinja::value::{Value, ValueKind};

use super::args::wrong;
use super::bounds;
use crate::python;

/// How long a text may become by padding.
const MAX_WIDTH: i64 = 1_000_000;

pub(super) fn casefold(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            'ß' | 'ẞ' => vec!['s', 's'],
            'ς' => vec!['σ'],
            'ﬀ' => vec!['f', 'f'],
            'ﬁ' => vec!['f', 'i'],
            'ﬂ' => vec!['f', 'l'],
            'ſ' => vec!['s'],
            'ŉ' => vec!['ʼ', 'n'],
            c => c.to_lowercase().collect(),
        })
        .collect()
}

pub(super) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    // Letters that are one character in title case only.
    let first = match first {
        'ß' => "Ss".to_owned(),
        'ﬁ' => "Fi".to_owned(),
        'ﬂ' => "Fl".to_owned(),
        'ǆ' | 'Ǆ' => "ǅ".to_owned(),
        first => first.to_uppercase().collect(),
    };
    first + &chars.as_str().to_lowercase()
}

pub(super) fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        let cased = c.is_uppercase() || c.is_lowercase();
        if inside {
            out.extend(c.to_lowercase());
        } else if cased {
            out.push_str(&capitalize(c.encode_utf8(&mut [0; 4])));
        } else {
            out.push(c);
        }
        inside = cased;
    }
    out
}

pub(super) fn is_title(text: &str) -> bool {
    let (mut inside, mut any) = (false, false);
    for c in text.chars() {
        if (c.is_uppercase() && inside) || (c.is_lowercase() && !inside) {
            return false;
        }
        inside = c.is_uppercase() || c.is_lowercase();
        any |= inside;
    }
    any
}

pub(super) fn swapcase(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
    }
    out
}

pub(super) fn split(
    text: &str,
    sep: Option<&str>,
    most: i64,
    from_right: bool,
) -> Result<Value, Error> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let pieces: Vec<&str> = match (sep, from_right) {
        (Some(""), _) => return Err(wrong("`split` needs a separator that is not empty")),
        (Some(sep), false) => text.splitn(most.saturating_add(1), sep).collect(),
        (Some(sep), true) => {
            let mut pieces: Vec<&str> = text.rsplitn(most.saturating_add(1), sep).collect();
            pieces.reverse();
            pieces
        }
        (None, false) => {
            let mut pieces = Vec::new();
            let mut rest = python::strip_start(text);
            while !rest.is_empty() {
                if pieces.len() == most {
                    pieces.push(python::strip_end(rest));
                    break;
                }
                let end = rest.find(python::is_space).unwrap_or(rest.len());
                pieces.push(&rest[..end]);
                rest = python::strip_start(&rest[end..]);
            }
            pieces
        }
        (None, true) => {
            let mut pieces = Vec::new();
            let mut rest = python::strip_end(text);
            while !rest.is_empty() {
                if pieces.len() == most {
                    pieces.push(python::strip_start(rest));
                    break;
                }
                let start = rest
                    .char_indices()
                    .rfind(|(_, c)| python::is_space(*c))
                    .map_or(0, |(at, c)| at + c.len_utf8());
                pieces.push(&rest[start..]);
                rest = python::strip_end(&rest[..start]);
            }
            pieces.reverse();
            pieces
        }
    };
    Ok(pieces.into_iter().map(Value::from).collect())
}

pub(super) fn lines(text: &str, keep: bool) -> Value {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| {
            matches!(
                c,
                '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                    ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
            )
        });
        let Some(end) = end else {
            lines.push(Value::from(rest));
            break;
        };
        let mark = match rest[end..].chars().next() {
            Some('\r') if rest[end..].starts_with("\r\n") => 2,
            Some(c) => c.len_utf8(),
            None => 0,
        };
        let shown = if keep { end + mark } else { end };
        lines.push(Value::from(&rest[..shown]));
        rest = &rest[end + mark..];
    }
    Value::from(lines)
}

pub(super) fn replace(
    text: &str,
    old: &str,
    new: &str,
    count: Option<i64>,
) -> Result<String, Error> {
    let count = count.and_then(|count| usize::try_from(count).ok());
    if new.len() > old.len() {
        let times = text.matches(old).take(count.unwrap_or(usize::MAX)).count();
        bounds::fits(text.len().saturating_add(times.saturating_mul(new.len())))?;
    }
    Ok(match count {
        Some(count) => text.replacen(old, new, count),
        None => text.replace(old, new),
    })
}

pub(super) fn pad(text: &str, method: &str, width: i64, fill: char) -> Result<String, Error> {
    if width > MAX_WIDTH {
        return Err(wrong(format!(
            "`{method}` to {width} characters is too wide"
        )));
    }
    let width = usize::try_from(width).unwrap_or(0);
    let length = text.chars().count();
    let missing = width.saturating_sub(length);
    let run = |n: usize, c: char| std::iter::repeat_n(c, n).collect::<String>();
    Ok(match method {
        "ljust" => format!("{text}{}", run(missing, fill)),
        "rjust" => format!("{}{text}", run(missing, fill)),
        "zfill" => match text.strip_prefix(['-', '+']) {
            Some(digits) => format!("{}{}{digits}", &text[..1], run(missing, '0')),
            None => format!("{}{text}", run(missing, '0')),
        },
        // CPython puts the odd one left when the width is odd.
        _ => {
            let left = missing / 2 + (missing & width & 1);
            format!("{}{text}{}", run(left, fill), run(missing - left, fill))
        }
    })
}

pub(super) fn expand_tabs(text: &str, size: usize) -> Result<String, Error> {
    let tabs = text.matches('\t').count();
    bounds::fits(text.len().saturating_add(tabs.saturating_mul(size)))?;
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let n = size - column % size;
                out.extend(std::iter::repeat_n(' ', n));
                column += n;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            c => {
                out.push(c);
                column += 1;
            }
        }
    }
    Ok(out)
}

/// A table from character codes to text, a code or `None`.
pub(super) fn translate(text: &str, table: &Value) -> Result<Value, Error> {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let found = table.get_item(&Value::from(u32::from(c)))?;
        match found.kind() {
            ValueKind::Undefined => out.push(c),
            ValueKind::None => {}
            ValueKind::String => out.push_str(found.as_str().unwrap_or_default()),
            _ => {
                let code = found.as_i64().and_then(|code| u32::try_from(code).ok());
                let c = code.and_then(char::from_u32);
                out.push(c.ok_or_else(|| wrong("`translate` names no character"))?);
            }
        }
        bounds::fits(out.len())?;
    }
    Ok(Value::from(out))
}
