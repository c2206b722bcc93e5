//! What events mean: tags, scalars, collections, as PyYAML's safe constructor says.

use std::sync::Arc;

use libyaml_safer::{Mark, ScalarStyle};

use super::compose::{Composer, position};
use super::error::Error;
use super::node::{Map, Node, Style, Yaml};
use super::scalar;

const CORE: &str = "tag:yaml.org,2002:";

impl Composer<'_> {
    /// A tag as this crate knows it: one of YAML's, or one of one's own (`!name`).
    pub(super) fn known_tag(&self, tag: Option<String>, at: Mark) -> Result<Option<String>, Error> {
        match tag {
            // `!` alone only says that no tag is meant.
            Some(tag) if tag == "!" => Ok(None),
            Some(tag) if tag.starts_with('!') || tag.starts_with(CORE) => Ok(Some(tag)),
            Some(tag) => Err(self
                .error(format!("unknown tag `{tag}`"), at)
                .with_hint("tags of your own begin with `!`")),
            None => Ok(None),
        }
    }

    pub(super) fn unknown_tag(&self, tag: &str, what: &str, at: Mark) -> Error {
        self.error(format!("tag `!!{tag}` does not apply to {what}"), at)
    }

    pub(super) fn scalar(
        &self,
        tag: Option<String>,
        text: String,
        plain_implicit: bool,
        style: ScalarStyle,
        at: Mark,
    ) -> Result<Node, Error> {
        let core = tag.as_deref().map(|tag| tag.strip_prefix(CORE));
        let value = match core {
            None if plain_implicit && matches!(text.as_str(), "<<" | "=") => {
                Ok(Yaml::Text(text.into()))
            }
            None if plain_implicit => scalar::resolve(&text),
            None | Some(None) => Ok(Yaml::Text(text.into())),
            Some(Some(core)) => match core {
                "str" => Ok(Yaml::Text(text.into())),
                "null" => Ok(Yaml::Null),
                "bool" => scalar::tagged_bool(&text),
                "int" => scalar::int(&text),
                "float" => scalar::float(&text).map(Yaml::Float),
                "timestamp" => scalar::timestamp(&text),
                "binary" => scalar::binary(&text),
                other => return Err(self.unknown_tag(other, "text", at)),
            },
        };
        let value = value.map_err(|message| {
            self.error(message, at)
                .with_hint("put quotes around it if it is meant as text")
        })?;
        Ok(Node {
            value,
            position: position(at),
            tag: tag.filter(|tag| !tag.starts_with(CORE)).map(Arc::from),
            style: match style {
                ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                _ => Style::Plain,
            },
        })
    }

    pub(super) fn sequence(
        &self,
        tag: Option<String>,
        list: Vec<Arc<Node>>,
        flow: bool,
        at: Mark,
    ) -> Result<Node, Error> {
        match tag.as_deref().and_then(|tag| tag.strip_prefix(CORE)) {
            None | Some("seq") => {}
            Some("omap" | "pairs") => {
                let single = |node: &Arc<Node>| node.as_map().is_some_and(|m| m.entries.len() == 1);
                if !list.iter().all(single) {
                    return Err(self.error("every entry must be one `key: value` pair", at));
                }
            }
            Some(other) => return Err(self.unknown_tag(other, "a list", at)),
        }
        Ok(Node {
            value: Yaml::List(list),
            position: position(at),
            tag: tag.filter(|tag| !tag.starts_with(CORE)).map(Arc::from),
            style: if flow { Style::Flow } else { Style::Plain },
        })
    }

    pub(super) fn tagged_mapping(
        &self,
        tag: Option<String>,
        map: Map,
        flow: bool,
        at: Mark,
    ) -> Result<Node, Error> {
        let value = match tag.as_deref().and_then(|tag| tag.strip_prefix(CORE)) {
            None | Some("map") => Yaml::Map(map),
            Some("set") => Yaml::Set(map.entries.into_iter().map(|entry| entry.key).collect()),
            Some(other) => return Err(self.unknown_tag(other, "a mapping", at)),
        };
        Ok(Node {
            value,
            position: position(at),
            tag: tag.filter(|tag| !tag.starts_with(CORE)).map(Arc::from),
            style: if flow { Style::Flow } else { Style::Plain },
        })
    }

    /// Takes back what `decode::ended` added to a block scalar that runs to the end of the text.
    pub(super) fn without_added_break(
        &self,
        mut value: String,
        style: ScalarStyle,
        start: Mark,
        end: Mark,
    ) -> String {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if !self.added_break || !block || !value.ends_with('\n') {
            return value;
        }
        // Counted at most once per block scalar of a file that ends without a break.
        if end.line < breaks(self.text) {
            return value;
        }
        // `|+` keeps every break; `|` keeps one, which is ours if the last line says something.
        let header = self.line(start.line);
        let header = header
            .rsplit_once(['|', '>'])
            .map_or("", |(_, after)| after);
        let keep = header.split('#').next().unwrap_or("").contains('+');
        let last = self
            .text
            .trim_end_matches('\n')
            .rsplit('\n')
            .next()
            .unwrap_or("");
        let blank = last.chars().all(|c| c == ' ');
        let body = self
            .text
            .lines()
            .skip(usize::try_from(start.line).unwrap_or(0) + 1);
        let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let first = body
            .map(|line| (indent(line), line))
            .find(|(n, line)| *n < line.len());
        let says = !blank || first.is_some_and(|(indent, _)| last.len() > indent);
        if keep || says {
            value.pop();
        }
        value
    }
}

/// Line breaks as YAML 1.1 counts them.
fn breaks(text: &str) -> u64 {
    let mut n = 0;
    let mut last = ' ';
    for c in text.chars() {
        let joined = last == '\r' && c == '\n';
        let mark = matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        n += u64::from(mark && !joined);
        last = c;
    }
    n
}

/// A key as Python compares keys: `true`, `1` and `1.0` are one.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key {
    Null,
    Int(i64),
    Float(u64),
    Text(Arc<str>),
    Other(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl Key {
    pub(super) fn of(value: &Yaml) -> Self {
        match value {
            Yaml::Bool(truth) => Key::Int(i64::from(*truth)),
            Yaml::Int(int) => Key::Int(*int),
            // Exact for the integers a double can hold without rounding.
            Yaml::Float(x) if x.fract() == 0.0 && x.abs() < 9.0e15 => Key::Int(*x as i64),
            Yaml::Float(x) => Key::Float(x.to_bits()),
            Yaml::Text(text) => Key::Text(text.clone()),
            Yaml::BigInt(text) | Yaml::Timestamp(text) => Key::Other(text.clone()),
            Yaml::Bytes(bytes) => Key::Bytes(bytes.clone()),
            Yaml::Null | Yaml::List(_) | Yaml::Map(_) | Yaml::Set(_) => Key::Null,
        }
    }
}
