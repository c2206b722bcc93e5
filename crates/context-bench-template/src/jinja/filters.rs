//! Filters that minijinja does not have or that differ from Jinja's.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the shape minijinja asks of filters"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::args::{Args, wrong};
use super::json::tojson;
use super::{bounds, guard, measure, value};
use crate::python;
use crate::python::regex::Regex;

/// How many compiled patterns `regex_replace` keeps.
const MAX_PATTERNS: usize = 256;

type Given = Rest<Value>;

pub(crate) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("string", |this: Value| {
        defined(&this).map(|()| value::str(&this))
    });
    environment.add_filter("trim", trim);
    environment.add_filter("replace", replace);
    environment.add_filter("join", join);
    environment.add_filter("capitalize", |this: Value| {
        text(&this).map(|t| super::text::capitalize(&t))
    });
    environment.add_filter("center", center);
    environment.add_filter("truncate", truncate);
    environment.add_filter("wordcount", wordcount);
    environment.add_filter("wordwrap", wordwrap);
    environment.add_filter("round", round);
    environment.add_filter("tojson", tojson);
    environment.add_filter("pprint", |this: Value| {
        defined(&this).map(|()| pprint(&this, 0))
    });
    environment.add_filter("escape", escape);
    environment.add_filter("e", escape);
    environment.add_filter("xmlattr", xmlattr);
    environment.add_filter("random", |_: Value| -> Result<Value, Error> {
        Err(wrong(
            "`random` would make every run different; use `first` or an index",
        ))
    });
    super::choices::add(environment);
    environment.add_filter(measure::PERCENT, printf);
    let patterns: Mutex<HashMap<String, Arc<Regex>>> = Mutex::default();
    environment.add_filter(
        "regex_replace",
        move |this: Value, given: Given, named: Kwargs| {
            regex_replace(&this, &given, &named, &patterns)
        },
    );
}

fn defined(this: &Value) -> Result<(), Error> {
    if this.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    Ok(())
}

fn text(this: &Value) -> Result<String, Error> {
    defined(this)?;
    Ok(value::str(this))
}

/// Python's `int(text, base)`.
fn parse_int(text: &str, base: u32) -> Option<i64> {
    let text = python::strip(text);
    let (negative, body) = match text.strip_prefix(['-', '+']) {
        Some(body) => (text.starts_with('-'), body),
        None => (false, text),
    };
    let lower = body.to_lowercase();
    let (digits, base) = match (base, lower.get(..2)) {
        (0 | 16, Some("0x")) => (&lower[2..], 16),
        (0 | 8, Some("0o")) => (&lower[2..], 8),
        (0 | 2, Some("0b")) => (&lower[2..], 2),
        (0, _) => (&lower[..], 10),
        (base, _) => (&lower[..], base),
    };
    let valid = digits.starts_with(|c: char| c.is_alphanumeric())
        && !digits.ends_with('_')
        && !digits.contains("__")
        && (2..=36).contains(&base);
    let size = valid.then(|| i64::from_str_radix(&digits.replace('_', ""), base).ok())??;
    Some(if negative { -size } else { size })
}

/// Python's `float(text)`.
fn parse_float(text: &str) -> Option<f64> {
    let text = python::strip(text);
    let clean = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!clean).then(|| text.replace('_', "").parse().ok())?
}

fn whole(x: f64) -> Option<Value> {
    (x.is_finite() && x.abs() < 1.7e38).then(|| Value::from(x.trunc() as i128))
}

fn int(this: Value, given: Given, named: Kwargs) -> Result<Value, Error> {
    defined(&this)?;
    let args = Args::of("int", &given, &named, &["default", "base"], 0)?;
    let base = u32::try_from(args.int(1)?.unwrap_or(10)).unwrap_or(10);
    let found = match this.kind() {
        ValueKind::Bool => Some(Value::from(i64::from(this.is_true()))),
        ValueKind::Number if this.is_integer() => Some(this),
        ValueKind::Number => value::float(&this).and_then(whole),
        ValueKind::String => {
            let text = this.as_str().unwrap_or_default();
            parse_int(text, base)
                .map(Value::from)
                .or_else(|| parse_float(text).and_then(whole))
        }
        _ => None,
    };
    Ok(found.unwrap_or_else(|| args.get(0).cloned().unwrap_or_else(|| Value::from(0))))
}

fn float(this: Value, given: Given, named: Kwargs) -> Result<Value, Error> {
    defined(&this)?;
    let args = Args::of("float", &given, &named, &["default"], 0)?;
    let found = match this.kind() {
        ValueKind::Bool => Some(f64::from(u8::from(this.is_true()))),
        ValueKind::Number => value::float(&this),
        ValueKind::String => parse_float(this.as_str().unwrap_or_default()),
        _ => None,
    };
    Ok(match found {
        Some(x) => Value::from(x),
        None => args.get(0).cloned().unwrap_or_else(|| Value::from(0.0)),
    })
}

fn trim(this: Value, given: Given, named: Kwargs) -> Result<String, Error> {
    let args = Args::of("trim", &given, &named, &["chars"], 0)?;
    let text = text(&this)?;
    Ok(match args.text(0)? {
        Some(chars) => text.trim_matches(|c| chars.contains(c)).to_owned(),
        None => python::strip(&text).to_owned(),
    })
}

fn replace(this: Value, given: Given, named: Kwargs) -> Result<String, Error> {
    let args = Args::of("replace", &given, &named, &["old", "new", "count"], 2)?;
    let part = |i| args.get(i).map(value::str).unwrap_or_default();
    super::text::replace(&text(&this)?, &part(0), &part(1), args.int(2)?)
}

fn join(this: Value, given: Given, named: Kwargs) -> Result<String, Error> {
    defined(&this)?;
    let args = Args::of("join", &given, &named, &["d", "attribute"], 0)?;
    let between = args.get(0).map(value::str).unwrap_or_default();
    let mut out = String::new();
    for (i, item) in this.try_iter()?.enumerate() {
        out.push_str(if i > 0 { &between } else { "" });
        let item = match args.get(1) {
            None => item,
            Some(path) => {
                let path = value::str(path);
                path.split('.').try_fold(item, |item, part| {
                    let index = part.parse::<usize>().ok().map(Value::from);
                    item.get_item(&index.unwrap_or_else(|| Value::from(part)))
                })?
            }
        };
        defined(&item)?;
        value::write_str(&mut out, &item);
        bounds::fits(out.len())?;
    }
    Ok(out)
}

fn center(this: Value, given: Given, named: Kwargs) -> Result<String, Error> {
    let args = Args::of("center", &given, &named, &["width"], 0)?;
    super::text::pad(&text(&this)?, "center", args.int(0)?.unwrap_or(80), ' ')
}

fn truncate(this: Value, given: Given, named: Kwargs) -> Result<String, Error> {
    let args = Args::of(
        "truncate",
        &given,
        &named,
        &["length", "killwords", "end", "leeway"],
        0,
    )?;
    let text = text(&this)?;
    let size = |i, default: i64| -> Result<usize, Error> {
        Ok(usize::try_from(args.int(i)?.unwrap_or(default)).unwrap_or(0))
    };
    let (length, leeway) = (size(0, 255)?, size(3, 5)?);
    let end = args.text(2)?.unwrap_or("...");
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text);
    }
    let Some(keep) = length.checked_sub(end.chars().count()) else {
        return Err(wrong(format!(
            "`truncate` to {length} is shorter than its end"
        )));
    };
    let cut: String = text.chars().take(keep).collect();
    let cut = if args.truth(1, false) {
        &cut
    } else {
        cut.rsplit_once(' ')
            .map_or(cut.as_str(), |(before, _)| before)
    };
    Ok(format!("{cut}{end}"))
}

fn wordcount(this: Value) -> Result<usize, Error> {
    let text = text(&this)?;
    let word = |c: char| python::is_alpha(c) || c.is_numeric() || c == '_';
    Ok(text
        .split(|c| !word(c))
        .filter(|word| !word.is_empty())
        .count())
}

/// Greedy lines of at most `width` characters; existing lines are kept apart.
fn wordwrap(this: Value, given: Given, named: Kwargs) -> Result<String, Error> {
    let names = [
        "width",
        "break_long_words",
        "wrapstring",
        "break_on_hyphens",
    ];
    let args = Args::of("wordwrap", &given, &named, &names, 0)?;
    let width = usize::try_from(args.int(0)?.unwrap_or(79))
        .unwrap_or(0)
        .max(1);
    let break_long = args.truth(1, true);
    let mark = args.text(2)?.unwrap_or("\n");
    let text = text(&this)?;
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        let mut n = 0;
        for word in paragraph.split(' ') {
            let mut chars: Vec<char> = word.chars().collect();
            if n > 0 && n + 1 + chars.len() > width {
                lines.push(line.trim_end().to_owned());
                line.clear();
                n = 0;
            } else if n > 0 {
                line.push(' ');
                n += 1;
            }
            while break_long && chars.len() > width {
                lines.push(chars.drain(..width).collect());
            }
            n += chars.len();
            line.extend(chars);
        }
        lines.push(line);
    }
    bounds::fits(
        text.len()
            .saturating_add(lines.len().saturating_mul(mark.len())),
    )?;
    Ok(lines.join(mark))
}

fn round(this: Value, given: Given, named: Kwargs) -> Result<Value, Error> {
    let args = Args::of("round", &given, &named, &["precision", "method"], 0)?;
    let precision = args.int(0)?.unwrap_or(0).clamp(-300, 300);
    let method = args.text(1)?.unwrap_or("common");
    let Some(x) = value::float(&this) else {
        return Err(wrong(format!(
            "`round` needs a number, found {}",
            this.kind()
        )));
    };
    let scale = 10_f64.powi(i32::try_from(precision).unwrap_or(0));
    Ok(match method {
        "ceil" => Value::from((x * scale).ceil() / scale),
        "floor" => Value::from((x * scale).floor() / scale),
        "common" if this.is_integer() && precision >= 0 => this,
        "common" if this.is_integer() => {
            Value::from(((x * scale).round_ties_even() / scale) as i64)
        }
        "common" if precision >= 0 => {
            // Decimal digits are exact, so that ties are what they seem to be.
            let digits = usize::try_from(precision).unwrap_or(0);
            Value::from(format!("{x:.digits$}").parse().unwrap_or(x))
        }
        "common" => Value::from((x * scale).round_ties_even() / scale),
        other => return Err(wrong(format!("`round` has no method `{other}`"))),
    })
}

/// As Python's `pprint`: sorted keys, one item per line when 80 columns are too few.
fn pprint(this: &Value, indent: usize) -> String {
    let whole = match this.kind() {
        ValueKind::Map => {
            let pair = |key: &Value| {
                let item = this.get_item(key).unwrap_or_default();
                format!("{}: {}", value::repr(key), pprint(&item, 0))
            };
            format!(
                "{{{}}}",
                sorted_keys(this)
                    .iter()
                    .map(pair)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        _ => value::repr(this),
    };
    if whole.len() + indent <= 80 || indent > 80 {
        return whole;
    }
    let between = format!(",\n{}", " ".repeat(indent + 1));
    match this.kind() {
        ValueKind::Map => {
            let pair = |key: &Value| {
                let name = value::repr(key);
                let item = this.get_item(key).unwrap_or_default();
                format!("{name}: {}", pprint(&item, indent + name.len() + 3))
            };
            let pairs: Vec<String> = sorted_keys(this).iter().map(pair).collect();
            format!("{{{}}}", pairs.join(&between))
        }
        ValueKind::Seq => {
            let items = this.try_iter().into_iter().flatten();
            let items: Vec<String> = items.map(|item| pprint(&item, indent + 1)).collect();
            format!("[{}]", items.join(&between))
        }
        _ => whole,
    }
}

pub(crate) fn sorted_keys(map: &Value) -> Vec<Value> {
    let mut keys: Vec<Value> = map.try_iter().into_iter().flatten().collect();
    keys.sort();
    keys
}

fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

fn escape(this: Value) -> Result<String, Error> {
    Ok(escape_text(&text(&this)?))
}

fn xmlattr(this: Value) -> Result<String, Error> {
    defined(&this)?;
    let mut out = String::new();
    for key in this.try_iter()? {
        let item = this.get_item(&key)?;
        if matches!(item.kind(), ValueKind::None | ValueKind::Undefined) {
            continue;
        }
        let (name, item) = (value::str(&key), value::str(&item));
        if name.contains(|c: char| python::is_space(c) || "/>=".contains(c)) {
            return Err(wrong(format!(
                "`{name}` cannot be the name of an attribute"
            )));
        }
        out.push_str(&format!(
            " {}=\"{}\"",
            escape_text(&name),
            escape_text(&item)
        ));
    }
    Ok(out)
}

/// `text % value`.
fn printf(this: Value, operand: Value) -> Result<String, Error> {
    defined(&operand)?;
    let style = minijinja::formatting::FormatStyle::Printf;
    let args: Vec<Value> = if operand.is_tuple() {
        operand.try_iter()?.collect()
    } else {
        vec![operand]
    };
    let format = text(&this)?;
    guard::check_format(&format, &args)?;
    minijinja::formatting::format(style, &format, &args)
}

fn regex_replace(
    this: &Value,
    given: &[Value],
    named: &Kwargs,
    patterns: &Mutex<HashMap<String, Arc<Regex>>>,
) -> Result<String, Error> {
    let args = Args::of(
        "regex_replace",
        given,
        named,
        &["pattern", "repl", "count"],
        2,
    )?;
    let pattern = args.needed(0)?;
    let known = patterns
        .lock()
        .ok()
        .and_then(|known| known.get(pattern).cloned());
    let regex = match known {
        Some(regex) => regex,
        None => {
            let regex = Regex::new(pattern).map_err(|error| wrong(error.to_string()))?;
            let regex = Arc::new(regex);
            if let Ok(mut known) = patterns.lock() {
                if known.len() >= MAX_PATTERNS {
                    known.clear();
                }
                known.insert(pattern.to_owned(), regex.clone());
            }
            regex
        }
    };
    let count = usize::try_from(args.int(2)?.unwrap_or(0)).unwrap_or(0);
    regex
        .sub_within(args.needed(1)?, &text(this)?, count, bounds::MAX_SIZE)
        .map_err(|error| wrong(error.to_string()))
}
