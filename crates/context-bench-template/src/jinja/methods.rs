//! Methods of Python's `str`, `list` and `dict` that templates call.

use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::args::{Args, wrong};
use super::text::{
    capitalize, casefold, expand_tabs, is_title, lines, pad, replace, split, swapcase, title,
    translate,
};
use super::{bounds, guard, value};
use crate::python;

/// The callback of the environment for methods a value does not have itself.
pub(crate) fn call(
    state: &mut State<'_, '_>,
    this: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let made = match this.kind() {
        ValueKind::String => string(this.as_str().unwrap_or_default(), method, args)?,
        ValueKind::Seq => list(this, method, args)?,
        ValueKind::Map if method == "copy" => this.clone(),
        ValueKind::Number if method == "is_integer" => {
            let x = value::float(this).unwrap_or(f64::NAN);
            Value::from(x.fract() == 0.0)
        }
        _ => minijinja_contrib::pycompat::unknown_method_callback(state, this, method, args)?,
    };
    bounds::measured(made)
}

fn list(this: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match method {
        "index" => {
            let args = Args::bind("index", args, &["value", "start", "stop"], 1)?;
            let needle = args.values_first();
            let n = this.len().unwrap_or(0);
            let (start, stop) = places(&args, 1, n)?;
            let items = this.try_iter()?.enumerate();
            let mut items = items.skip(start).take(stop.saturating_sub(start));
            match items.find(|(_, item)| *item == needle) {
                Some((i, _)) => Ok(Value::from(i)),
                None => Err(wrong(format!(
                    "{} is not in the list",
                    value::repr(&needle)
                ))),
            }
        }
        "count" => {
            let args = Args::bind("count", args, &["value"], 1)?;
            let needle = args.values_first();
            Ok(Value::from(
                this.try_iter()?.filter(|item| *item == needle).count(),
            ))
        }
        "copy" => Ok(this.clone()),
        "append" | "extend" | "insert" | "pop" | "remove" | "clear" | "sort" | "reverse" => {
            Err(wrong(format!(
                "lists cannot be changed by `{method}`; make a new one, as in `items + [item]`"
            )))
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

impl Args {
    fn values_first(&self) -> Value {
        self.get(0).cloned().unwrap_or_else(|| Value::from(()))
    }
}

/// Start and stop by Python's slice rules, from argument `i` on.
fn places(args: &Args, i: usize, n: usize) -> Result<(usize, usize), Error> {
    let length = i64::try_from(n).unwrap_or(i64::MAX);
    let place = |at: i64| {
        let at = if at < 0 { at + length } else { at };
        usize::try_from(at.clamp(0, length)).unwrap_or(0)
    };
    let start = args.int(i)?.map_or(0, place);
    let stop = args.int(i + 1)?.map_or(n, place);
    Ok((start, stop))
}

/// A character range of a text; `None` when it is reversed.
fn slice<'t>(text: &'t str, args: &Args, i: usize) -> Result<Option<(usize, &'t str)>, Error> {
    if args.get(i).is_none() && args.get(i + 1).is_none() {
        return Ok(Some((0, text)));
    }
    let (start, stop) = places(args, i, text.chars().count())?;
    if start > stop {
        return Ok(None);
    }
    let offset = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    Ok(Some((start, &text[offset(start)..offset(stop)])))
}

fn string(this: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let none = |what| Args::bind(what, args, &[], 0);
    Ok(match method {
        "upper" => none("upper").map(|_| Value::from(this.to_uppercase()))?,
        "lower" => none("lower").map(|_| Value::from(this.to_lowercase()))?,
        // Full case folding differs from lower case in few letters only.
        "casefold" => none("casefold").map(|_| Value::from(casefold(this)))?,
        "capitalize" => none("capitalize").map(|_| Value::from(capitalize(this)))?,
        "title" => none("title").map(|_| Value::from(title(this)))?,
        "swapcase" => none("swapcase").map(|_| Value::from(swapcase(this)))?,
        "strip" | "lstrip" | "rstrip" => {
            let args = Args::bind("strip", args, &["chars"], 0)?;
            let chars: Option<Vec<char>> = args.text(0)?.map(|chars| chars.chars().collect());
            let cut = |c: char| match &chars {
                Some(chars) => chars.contains(&c),
                None => python::is_space(c),
            };
            Value::from(match method {
                "strip" => this.trim_matches(cut),
                "lstrip" => this.trim_start_matches(cut),
                _ => this.trim_end_matches(cut),
            })
        }
        "split" | "rsplit" => {
            let args = Args::bind("split", args, &["sep", "maxsplit"], 0)?;
            let most = args.int(1)?.unwrap_or(-1);
            split(this, args.text(0)?, most, method == "rsplit")?
        }
        "splitlines" => {
            let args = Args::bind("splitlines", args, &["keepends"], 0)?;
            lines(this, args.truth(0, false))
        }
        "partition" | "rpartition" => {
            let args = Args::bind("partition", args, &["sep"], 1)?;
            let sep = args.needed(0)?;
            if sep.is_empty() {
                return Err(wrong("`partition` needs a separator that is not empty"));
            }
            let parts = if method == "partition" {
                this.split_once(sep)
                    .map_or([this, "", ""], |(before, after)| [before, sep, after])
            } else {
                this.rsplit_once(sep)
                    .map_or(["", "", this], |(before, after)| [before, sep, after])
            };
            Value::from(Tuple::from(parts.map(Value::from)))
        }
        "replace" => {
            let args = Args::bind("replace", args, &["old", "new", "count"], 2)?;
            Value::from(replace(
                this,
                args.needed(0)?,
                args.needed(1)?,
                args.int(2)?,
            )?)
        }
        "find" | "rfind" | "index" | "rindex" => {
            let args = Args::bind("find", args, &["sub", "start", "end"], 1)?;
            let needle = args.needed(0)?;
            let at = slice(this, &args, 1)?.and_then(|(before, part)| {
                let at = if method.starts_with('r') {
                    part.rfind(needle)?
                } else {
                    part.find(needle)?
                };
                Some(before + part[..at].chars().count())
            });
            match at {
                Some(at) => Value::from(at),
                None if method.ends_with("find") => Value::from(-1),
                None => {
                    return Err(wrong(format!(
                        "{} is not in the text",
                        python::quote(needle)
                    )));
                }
            }
        }
        "count" => {
            let args = Args::bind("count", args, &["sub", "start", "end"], 1)?;
            let needle = args.needed(0)?;
            let part = slice(this, &args, 1)?;
            Value::from(part.map_or(0, |(_, part)| part.matches(needle).count()))
        }
        "startswith" | "endswith" => {
            let args = Args::bind("startswith", args, &["prefix", "start", "end"], 1)?;
            let part = slice(this, &args, 1)?;
            let holds = |affix: &Value| -> Result<bool, Error> {
                let affix = affix
                    .as_str()
                    .ok_or_else(|| wrong("`startswith` needs text"))?;
                Ok(part.is_some_and(|(_, part)| match method {
                    "startswith" => part.starts_with(affix),
                    _ => part.ends_with(affix),
                }))
            };
            let affix = args.values_first();
            if affix.is_tuple() || affix.kind() == ValueKind::Seq {
                let mut any = false;
                for affix in affix.try_iter()? {
                    any |= holds(&affix)?;
                }
                Value::from(any)
            } else {
                Value::from(holds(&affix)?)
            }
        }
        "removeprefix" => {
            let args = Args::bind("removeprefix", args, &["prefix"], 1)?;
            Value::from(this.strip_prefix(args.needed(0)?).unwrap_or(this))
        }
        "removesuffix" => {
            let args = Args::bind("removesuffix", args, &["suffix"], 1)?;
            Value::from(this.strip_suffix(args.needed(0)?).unwrap_or(this))
        }
        "zfill" | "center" | "ljust" | "rjust" => {
            let args = Args::bind("center", args, &["width", "fillchar"], 1)?;
            let fill = match args.text(1)? {
                None => ' ',
                Some(text) => match (text.chars().next(), text.chars().count()) {
                    (Some(fill), 1) => fill,
                    _ => return Err(wrong("the fill must be one character")),
                },
            };
            Value::from(pad(this, method, args.int(0)?.unwrap_or(0), fill)?)
        }
        "join" => {
            let args = Args::bind("join", args, &["iterable"], 1)?;
            let mut out = String::new();
            for (i, item) in args.values_first().try_iter()?.enumerate() {
                out.push_str(if i > 0 { this } else { "" });
                let Some(item) = item.as_str() else {
                    let kind = item.kind();
                    return Err(wrong(format!("`join` needs text, item {i} is {kind}")));
                };
                out.push_str(item);
                bounds::fits(out.len())?;
            }
            Value::from(out)
        }
        "format" => {
            guard::check_format(this, args)?;
            let style = minijinja::formatting::FormatStyle::StrFormat;
            Value::from(minijinja::formatting::format(style, this, args)?)
        }
        "expandtabs" => {
            let args = Args::bind("expandtabs", args, &["tabsize"], 0)?;
            let size = args.int(0)?.unwrap_or(8).clamp(0, 1000);
            Value::from(expand_tabs(this, usize::try_from(size).unwrap_or(8))?)
        }
        // Text stays text: what a template does with bytes is to count them.
        "encode" => Value::from_bytes(this.as_bytes().to_vec()),
        "isascii" => Value::from(this.is_ascii()),
        "isspace" => Value::from(!this.is_empty() && this.chars().all(python::is_space)),
        "isalpha" => every(this, python::is_alpha),
        "isdecimal" => every(this, python::is_decimal),
        "isdigit" => every(this, python::is_digit),
        "isnumeric" => every(this, char::is_numeric),
        "isalnum" => every(this, |c| python::is_alpha(c) || c.is_numeric()),
        "isprintable" => Value::from(this.chars().all(python::is_printable)),
        "isupper" => {
            let any = this.chars().any(char::is_uppercase);
            Value::from(any && !this.chars().any(char::is_lowercase))
        }
        "islower" => {
            let any = this.chars().any(char::is_lowercase);
            Value::from(any && !this.chars().any(char::is_uppercase))
        }
        "istitle" => Value::from(is_title(this)),
        "isidentifier" => {
            let mut chars = this.chars();
            let first = chars
                .next()
                .is_some_and(|c| c == '_' || python::is_alpha(c));
            Value::from(first && chars.all(|c| c == '_' || python::is_alpha(c) || c.is_numeric()))
        }
        "translate" => {
            let args = Args::bind("translate", args, &["table"], 1)?;
            translate(this, &args.values_first())?
        }
        _ => return Err(Error::from(ErrorKind::UnknownMethod)),
    })
}

fn every(text: &str, holds: impl Fn(char) -> bool) -> Value {
    Value::from(!text.is_empty() && text.chars().all(holds))
}
