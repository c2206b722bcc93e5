//! What a scalar means in YAML 1.1, as PyYAML's safe loader reads it.
//!
//! The forms are those of PyYAML's resolver: no `y`/`n` booleans, a float needs a
//! dot and a signed exponent, a leading zero is octal, a colon makes base 60.
//!
//! Written by hand for parity: in YAML 1.2, which other crates read, `on` and `010` mean
//! something else.

use std::sync::Arc;

use num_bigint::BigInt;

use super::node::Yaml;

/// What a plain scalar without a tag means. `Err` for a date that does not exist and
/// for `<<` and `=`, which have no meaning outside of keys.
pub(crate) fn resolve(text: &str) -> Result<Yaml, String> {
    let Some(first) = text.bytes().next() else {
        return Ok(Yaml::Null);
    };
    match first {
        b'~' if text == "~" => return Ok(Yaml::Null),
        b'n' | b'N' if matches!(text, "null" | "Null" | "NULL") => return Ok(Yaml::Null),
        b'<' if text == "<<" => return Err("`<<` is not a value".into()),
        b'=' if text == "=" => return Err("`=` is not a value".into()),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => {
            if let Some(truth) = boolean(text) {
                return Ok(Yaml::Bool(truth));
            }
        }
        b'-' | b'+' | b'.' | b'0'..=b'9' => {
            if is_float(text) {
                return float(text).map(Yaml::Float);
            }
            if is_int(text) {
                return int(text);
            }
            if is_timestamp(text) {
                return timestamp(text);
            }
        }
        _ => {}
    }
    Ok(Yaml::Text(text.into()))
}

/// Whether a plain scalar of this text would be read back as the same text.
pub(crate) fn is_text(text: &str) -> bool {
    matches!(resolve(text), Ok(Yaml::Text(_)))
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// `!!bool` on any scalar: case does not matter.
pub(crate) fn tagged_bool(text: &str) -> Result<Yaml, String> {
    boolean(&text.to_lowercase())
        .map(Yaml::Bool)
        .ok_or_else(|| format!("`{text}` is not a boolean"))
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

/// How many leading bytes satisfy a condition.
fn run(text: &str, accept: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|&byte| accept(byte)).count()
}

fn digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// One or more groups `:d` or `:dd` below 60; what follows them.
fn sexagesimal_tail(mut text: &str) -> Option<&str> {
    let mut groups = 0;
    while let Some(rest) = text.strip_prefix(':') {
        let digits = run(rest, |byte| byte.is_ascii_digit());
        let taken = match (digits, rest.as_bytes().first()) {
            (0, _) => return None,
            (1, _) => 1,
            (_, Some(b'0'..=b'5')) => 2,
            _ => 1,
        };
        text = &rest[taken..];
        groups += 1;
    }
    (groups > 0).then_some(text)
}

fn exponent(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.is_empty()
        || (bytes.len() > 2
            && matches!(bytes[0], b'e' | b'E')
            && matches!(bytes[1], b'-' | b'+')
            && bytes[2..].iter().all(u8::is_ascii_digit))
}

fn is_float(text: &str) -> bool {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let body = unsigned(text);
    if matches!(body, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    if let Some(rest) = text.strip_prefix('.') {
        let digits = run(rest, digit_or_underscore);
        return rest.starts_with(|c: char| c.is_ascii_digit()) && exponent(&rest[digits..]);
    }
    if !body.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let rest = &body[run(body, digit_or_underscore)..];
    if let Some(fraction) = rest.strip_prefix('.') {
        return exponent(&fraction[run(fraction, digit_or_underscore)..]);
    }
    match sexagesimal_tail(rest).and_then(|tail| tail.strip_prefix('.')) {
        Some(fraction) => fraction.bytes().all(digit_or_underscore),
        None => false,
    }
}

fn is_int(text: &str) -> bool {
    let body = unsigned(text);
    let all = |digits: &str, accept: fn(u8) -> bool| {
        !digits.is_empty() && digits.bytes().all(|byte| byte == b'_' || accept(byte))
    };
    if let Some(digits) = body.strip_prefix("0b") {
        return all(digits, |byte| matches!(byte, b'0' | b'1'));
    }
    if let Some(digits) = body.strip_prefix("0x") {
        return all(digits, |byte| byte.is_ascii_hexdigit());
    }
    if let Some(digits) = body.strip_prefix('0') {
        return digits.is_empty() || all(digits, |byte| matches!(byte, b'0'..=b'7'));
    }
    if !body.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let rest = &body[run(body, digit_or_underscore)..];
    rest.is_empty() || sexagesimal_tail(rest) == Some("")
}

/// `!!int` and what looks like one.
pub(crate) fn int(text: &str) -> Result<Yaml, String> {
    let wrong = || format!("`{text}` is not an integer");
    let plain = text.replace('_', "");
    let negative = plain.starts_with('-');
    let body = unsigned(&plain);
    let parse = |digits: &str, radix: u32| -> Result<BigInt, String> {
        // `parse_bytes` takes a second sign; Python does not.
        if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(wrong());
        }
        BigInt::parse_bytes(digits.as_bytes(), radix).ok_or_else(wrong)
    };
    let size = if let Some(digits) = body.strip_prefix("0b") {
        parse(digits, 2)?
    } else if let Some(digits) = body.strip_prefix("0x") {
        parse(digits, 16)?
    } else if body.len() > 1 && body.starts_with('0') {
        parse(body, 8)?
    } else if body.contains(':') {
        let mut sum = BigInt::ZERO;
        for part in body.split(':') {
            sum = sum * 60 + parse(part, 10)?;
        }
        sum
    } else {
        parse(body, 10)?
    };
    let size = if negative { -size } else { size };
    Ok(match i64::try_from(&size) {
        Ok(small) => Yaml::Int(small),
        Err(_) => Yaml::BigInt(size.to_string().into()),
    })
}

/// `!!float` and what looks like one.
pub(crate) fn float(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a number");
    let plain = text.replace('_', "").to_lowercase();
    let sign = if plain.starts_with('-') { -1.0 } else { 1.0 };
    let body = unsigned(&plain);
    let parse = |text: &str| text.parse::<f64>().map_err(|_| wrong());
    let size = match body {
        ".inf" => f64::INFINITY,
        ".nan" => return Ok(f64::NAN),
        _ if body.contains(':') => {
            let mut sum = 0.0;
            let mut base = 1.0;
            for part in body.rsplit(':') {
                sum += parse(part)? * base;
                base *= 60.0;
            }
            sum
        }
        _ => parse(body)?,
    };
    Ok(sign * size)
}

/// The parts of a timestamp as written.
struct Stamp<'t> {
    date: [&'t str; 3],
    time: Option<[&'t str; 3]>,
    fraction: &'t str,
    zone: Option<(bool, &'t str, &'t str)>,
    utc: bool,
}

/// Takes between `low` and `high` digits.
fn digits<'t>(text: &mut &'t str, low: usize, high: usize) -> Option<&'t str> {
    let n = run(text, |byte| byte.is_ascii_digit()).min(high);
    if n < low {
        return None;
    }
    let (taken, rest) = text.split_at(n);
    *text = rest;
    Some(taken)
}

fn mark(text: &mut &str, mark: char) -> Option<()> {
    *text = text.strip_prefix(mark)?;
    Some(())
}

fn parse_timestamp(text: &str) -> Option<Stamp<'_>> {
    let rest = &mut { text };
    let year = digits(rest, 4, 4)?;
    mark(rest, '-')?;
    let month = digits(rest, 1, 2)?;
    mark(rest, '-')?;
    let day = digits(rest, 1, 2)?;
    let mut stamp = Stamp {
        date: [year, month, day],
        time: None,
        fraction: "",
        zone: None,
        utc: false,
    };
    if rest.is_empty() {
        return (month.len() == 2 && day.len() == 2).then_some(stamp);
    }
    let blank = rest.trim_start_matches([' ', '\t']);
    *rest = if blank.len() < rest.len() {
        blank
    } else {
        rest.strip_prefix(['T', 't'])?
    };
    let hour = digits(rest, 1, 2)?;
    mark(rest, ':')?;
    let minute = digits(rest, 2, 2)?;
    mark(rest, ':')?;
    let second = digits(rest, 2, 2)?;
    stamp.time = Some([hour, minute, second]);
    if mark(rest, '.').is_some() {
        stamp.fraction = digits(rest, 0, usize::MAX)?;
    }
    *rest = rest.trim_start_matches([' ', '\t']);
    if rest.is_empty() {
        return Some(stamp);
    }
    if *rest == "Z" {
        stamp.utc = true;
        return Some(stamp);
    }
    let west = rest.starts_with('-');
    *rest = rest.strip_prefix(['-', '+'])?;
    let hours = digits(rest, 1, 2)?;
    let minutes = if mark(rest, ':').is_some() {
        digits(rest, 2, 2)?
    } else {
        "0"
    };
    stamp.zone = Some((west, hours, minutes));
    rest.is_empty().then_some(stamp)
}

fn is_timestamp(text: &str) -> bool {
    parse_timestamp(text).is_some()
}

/// `!!timestamp` and what looks like one, as Python prints the date or time.
pub(crate) fn timestamp(text: &str) -> Result<Yaml, String> {
    let wrong = || format!("`{text}` is not a date");
    let stamp = parse_timestamp(text).ok_or_else(wrong)?;
    let number = |digits: &str| digits.parse::<u32>().map_err(|_| wrong());
    let [year, month, day] = stamp.date;
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let year = i32::try_from(year).ok().filter(|year| *year > 0);
    let date = year.and_then(|year| chrono::NaiveDate::from_ymd_opt(year, month, day));
    let mut printed = date.ok_or_else(wrong)?.to_string();
    if let Some([hour, minute, second]) = stamp.time {
        let (hour, minute, second) = (number(hour)?, number(minute)?, number(second)?);
        if hour > 23 || minute > 59 || second > 59 {
            return Err(wrong());
        }
        printed.push_str(&format!(" {hour:02}:{minute:02}:{second:02}"));
        // Six digits, cut or padded, and only when they are not all zero.
        let micros: String = stamp
            .fraction
            .chars()
            .chain("000000".chars())
            .take(6)
            .collect();
        if micros != "000000" {
            printed.push_str(&format!(".{micros}"));
        }
        if let Some((west, hours, minutes)) = stamp.zone {
            let (hours, minutes) = (number(hours)?, number(minutes)?);
            let total = hours * 60 + minutes;
            if total >= 24 * 60 {
                return Err(wrong());
            }
            let sign = if west && total > 0 { '-' } else { '+' };
            printed.push_str(&format!("{sign}{:02}:{:02}", total / 60, total % 60));
        } else if stamp.utc {
            printed.push_str("+00:00");
        }
    }
    Ok(Yaml::Timestamp(printed.into()))
}

/// `!!binary`: base64; characters that do not belong to it are skipped.
pub(crate) fn binary(text: &str) -> Result<Yaml, String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    // Bits not yet written, position in the group of four, padding in the group.
    let (mut bits, mut quad, mut pads) = (0_u32, 0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                pads += 1;
                if quad >= 2 && quad + pads >= 4 {
                    return Ok(Yaml::Bytes(Arc::from(bytes)));
                }
                continue;
            }
            _ => continue,
        };
        pads = 0;
        bits = (bits << 6) | u32::from(value);
        if quad > 0 {
            bytes.push((bits >> (6 - 2 * quad)) as u8);
        }
        quad = (quad + 1) % 4;
    }
    if quad != 0 {
        return Err("this base64 text is cut short".to_owned());
    }
    Ok(Yaml::Bytes(Arc::from(bytes)))
}
