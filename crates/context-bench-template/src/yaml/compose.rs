//! Events to nodes, with the rules of PyYAML's composer and safe constructor.
//!
//! What PyYAML leaves to the interpreter is bounded here: nesting, and how much
//! aliases and merge keys may multiply a document.

use std::collections::HashMap;
use std::sync::Arc;

use context_bench_error::{Place, Position};
use libyaml_safer::{Event, EventData, MappingStyle, Mark, Parser, SequenceStyle};

use super::construct::Key;
use super::error::{DuplicateKey, Error};
use super::node::{Entry, Map, Node, Style, Yaml};

/// How deep collections may be nested.
const MAX_DEPTH: usize = 200;
/// How many bytes aliases and merge keys may add to a document when written out.
const MAX_EXPANSION: u64 = 32 << 20;

/// A node and what it would weigh with all aliases written out.
struct ComposedNode {
    node: Arc<Node>,
    weight: u64,
    /// A plain `<<` or `=`, which mean something as keys only.
    special: Option<&'static str>,
}

enum Anchor {
    /// Its node is still being read; an alias to it would be endless.
    Open,
    Done(Arc<Node>, u64),
}

pub(crate) struct Composer<'t> {
    file: Arc<str>,
    pub(super) text: &'t str,
    /// Whether the last break of the text is not the file's own.
    pub(super) added_break: bool,
    parser: Parser<&'t [u8]>,
    /// Where the last event ended.
    last: Mark,
    anchors: HashMap<String, Anchor>,
    expansion: u64,
    pub(crate) duplicates: Vec<DuplicateKey>,
}

pub(super) fn position(mark: Mark) -> Position {
    Position {
        line: u32::try_from(mark.line.saturating_add(1)).unwrap_or(u32::MAX),
        column: u32::try_from(mark.column.saturating_add(1)).unwrap_or(u32::MAX),
    }
}

impl<'t> Composer<'t> {
    pub(crate) fn new(text: &'t str, added_break: bool, file: &str) -> Self {
        let mut parser = Parser::new();
        parser.set_encoding(libyaml_safer::Encoding::Utf8);
        parser.set_input(text.as_bytes());
        Self {
            file: file.into(),
            text,
            added_break,
            parser,
            last: Mark::default(),
            anchors: HashMap::new(),
            expansion: 0,
            duplicates: Vec::new(),
        }
    }

    /// The one document of the stream; `null` when there is none.
    pub(crate) fn document(&mut self) -> Result<Arc<Node>, Error> {
        if let Some(at) = super::tags::before_comma(self.text) {
            let error = Error::new(
                "a tag goes on up to the next space, and here a comma stands right behind it",
                Place::new(self.file.clone(), Position::in_text(self.text, at)),
            );
            return Err(error.with_hint("put a space between tag and comma"));
        }
        let mut root = None;
        loop {
            let event = self.next()?;
            match event.data {
                EventData::StreamEnd => break,
                EventData::DocumentStart { .. } if root.is_some() => {
                    return Err(self
                        .error("a second document begins here", event.start_mark)
                        .with_hint("a file holds one document; remove the `---` line"));
                }
                EventData::StreamStart { .. }
                | EventData::DocumentStart { .. }
                | EventData::DocumentEnd { .. } => {}
                _ => {
                    let at = event.start_mark;
                    let composed = self.node(event, 0)?;
                    root = Some(self.value(composed, at)?.node);
                }
            }
        }
        Ok(root.unwrap_or_else(|| Arc::new(Node::new(Yaml::Null))))
    }

    /// The next event. No text is known on which the parser still panics; should there
    /// be one, it is an error like any other.
    fn next(&mut self) -> Result<Event, Error> {
        let parser = &mut self.parser;
        let parsed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| parser.parse()));
        match parsed {
            Ok(Ok(event)) => {
                self.last = event.end_mark;
                Ok(event)
            }
            Ok(Err(error)) => Err(self.syntax_error(&error)),
            Err(_) => Err(self
                .error("the YAML parser cannot read what follows", self.last)
                .with_hint("put a space behind a tag and quotes around special characters")),
        }
    }

    pub(super) fn error(&self, message: impl Into<String>, mark: Mark) -> Error {
        Error::new(message, Place::new(self.file.clone(), position(mark)))
    }

    pub(super) fn line(&self, line: u64) -> &'t str {
        usize::try_from(line)
            .ok()
            .and_then(|line| self.text.lines().nth(line))
            .unwrap_or("")
    }

    /// An error of the parser, with advice for what people usually did.
    fn syntax_error(&self, error: &libyaml_safer::Error) -> Error {
        let context = error.context().filter(|context| !context.is_empty());
        let message = match (error.problem(), context) {
            ("", _) => error.to_string(),
            (problem, Some(context)) => format!("{problem} {context}"),
            (problem, None) => problem.to_owned(),
        };
        let Some(mark) = error.problem_mark() else {
            return Error::new(message, Place::file(self.file.clone()))
                .with_hint("remove control characters; the file must be plain text");
        };
        let found = self.error(message, mark);
        let line = self.line(mark.line);
        let indent = line.len() - line.trim_start().len();
        let around = [line, self.line(mark.line.saturating_sub(1))];
        if line[..indent].contains('\t') {
            found.with_hint("indent with spaces: YAML does not allow tabs there")
        } else if around.iter().any(|line| unquoted_template(line)) {
            found.with_hint("put quotes around a value that begins with `{{`")
        } else if error.problem().contains("mapping values are not allowed") {
            found.with_hint("put quotes around text that contains `: `")
        } else if error.problem().contains("cannot start any token") {
            found.with_hint("put quotes around text that begins with a special character")
        } else {
            found
        }
    }

    /// Refuses what only a key may be.
    fn value(&self, composed: ComposedNode, at: Mark) -> Result<ComposedNode, Error> {
        match composed.special {
            None => Ok(composed),
            Some(mark) => Err(self
                .error(format!("`{mark}` is not a value"), at)
                .with_hint("put quotes around it")),
        }
    }

    fn node(&mut self, mut event: Event, depth: usize) -> Result<ComposedNode, Error> {
        let (start, end) = (event.start_mark, event.end_mark);
        if let EventData::Scalar { tag, .. }
        | EventData::SequenceStart { tag, .. }
        | EventData::MappingStart { tag, .. } = &mut event.data
        {
            *tag = self.known_tag(tag.take(), start)?;
        }
        if depth > MAX_DEPTH {
            return Err(self
                .error(format!("nested deeper than {MAX_DEPTH} levels"), start)
                .with_hint("flatten the document"));
        }
        match event.data {
            EventData::Alias { anchor } => self.alias(&anchor, start),
            EventData::Scalar {
                anchor,
                tag,
                value,
                plain_implicit,
                style,
                ..
            } => {
                self.open(anchor.as_deref(), start)?;
                let special = match value.as_str() {
                    "<<" if plain_implicit && tag.is_none() => Some("<<"),
                    "=" if plain_implicit && tag.is_none() => Some("="),
                    _ => None,
                };
                let value = self.without_added_break(value, style, start, end);
                let node = self.scalar(tag, value, plain_implicit, style, start)?;
                let weight = 16
                    + match &node.value {
                        Yaml::Text(text) => text.len() as u64,
                        _ => 0,
                    };
                Ok(self.close(anchor, node, weight, special))
            }
            EventData::SequenceStart {
                anchor, tag, style, ..
            } => {
                self.open(anchor.as_deref(), start)?;
                let mut list = Vec::new();
                let mut weight = 16_u64;
                loop {
                    let event = self.next()?;
                    if matches!(event.data, EventData::SequenceEnd) {
                        break;
                    }
                    let at = event.start_mark;
                    let item = self.node(event, depth + 1)?;
                    let item = self.value(item, at)?;
                    weight = weight.saturating_add(item.weight);
                    list.push(item.node);
                }
                let flow = style == SequenceStyle::Flow;
                let node = self.sequence(tag, list, flow, start)?;
                Ok(self.close(anchor, node, weight, None))
            }
            EventData::MappingStart {
                anchor, tag, style, ..
            } => {
                self.open(anchor.as_deref(), start)?;
                let flow = style == MappingStyle::Flow;
                let (map, weight) = self.mapping(depth, start, flow)?;
                let node = self.tagged_mapping(tag, map, flow, start)?;
                Ok(self.close(anchor, node, weight, None))
            }
            _ => Err(self.error("a value was expected", end)),
        }
    }

    fn alias(&mut self, anchor: &str, at: Mark) -> Result<ComposedNode, Error> {
        match self.anchors.get(anchor) {
            None => Err(self
                .error(
                    format!("alias `*{anchor}` has no anchor `&{anchor}` before it"),
                    at,
                )
                .with_hint("put quotes around text that begins with `*`")),
            Some(Anchor::Open) => {
                Err(self.error(format!("anchor `&{anchor}` contains itself"), at))
            }
            Some(Anchor::Done(node, weight)) => {
                let (node, weight) = (node.clone(), *weight);
                self.expand(weight, at)?;
                let special = None;
                Ok(ComposedNode {
                    node,
                    weight,
                    special,
                })
            }
        }
    }

    /// Counts what an alias or a merge adds.
    fn expand(&mut self, weight: u64, at: Mark) -> Result<(), Error> {
        self.expansion = self.expansion.saturating_add(weight);
        if self.expansion > MAX_EXPANSION {
            let limit = MAX_EXPANSION >> 20;
            return Err(self
                .error(
                    format!("aliases multiply the document beyond {limit} MiB"),
                    at,
                )
                .with_hint("write out fewer copies"));
        }
        Ok(())
    }

    fn open(&mut self, anchor: Option<&str>, at: Mark) -> Result<(), Error> {
        let Some(anchor) = anchor else { return Ok(()) };
        if self.anchors.contains_key(anchor) {
            return Err(self.error(format!("anchor `&{anchor}` is given twice"), at));
        }
        self.anchors.insert(anchor.to_owned(), Anchor::Open);
        Ok(())
    }

    fn close(
        &mut self,
        anchor: Option<String>,
        node: Node,
        weight: u64,
        special: Option<&'static str>,
    ) -> ComposedNode {
        let node = Arc::new(node);
        if let Some(anchor) = anchor {
            self.anchors
                .insert(anchor, Anchor::Done(node.clone(), weight));
        }
        ComposedNode {
            node,
            weight,
            special,
        }
    }

    /// All entries up to the end of a mapping, merged keys first.
    fn mapping(&mut self, depth: usize, start: Mark, flow: bool) -> Result<(Map, u64), Error> {
        let mut own: Vec<Entry> = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        let mut weight = 16_u64;
        loop {
            let event = self.next()?;
            if matches!(event.data, EventData::MappingEnd) {
                break;
            }
            let key_at = event.start_mark;
            let key = self.node(event, depth + 1)?;
            if matches!(key.node.value, Yaml::List(_) | Yaml::Map(_) | Yaml::Set(_)) {
                return Err(self.unhashable(&key.node, flow, start, key_at));
            }
            let event = self.next()?;
            let value_at = event.start_mark;
            let value = self.node(event, depth + 1)?;
            let value = self.value(value, value_at)?;
            if key.special == Some("<<") {
                weight = weight.saturating_add(self.merge(&value.node, &mut merged, value_at)?);
                continue;
            }
            weight = weight
                .saturating_add(key.weight)
                .saturating_add(value.weight);
            own.push(Entry {
                key: key.node,
                value: value.node,
            });
        }
        let mut map = Map::default();
        let mut seen: HashMap<Key, (usize, bool)> = HashMap::new();
        let n_merged = merged.len();
        for (i, entry) in merged.into_iter().chain(own).enumerate() {
            let is_own = i >= n_merged;
            match seen.get_mut(&Key::of(&entry.key.value)) {
                Some((at, was_own)) => {
                    let kept = &mut map.entries[*at];
                    if is_own && *was_own {
                        self.duplicates.push(DuplicateKey {
                            key: crate::python::key(&entry.key.value),
                            first: kept.key.position,
                            again: entry.key.position,
                        });
                    }
                    kept.value = entry.value;
                    *was_own = is_own;
                }
                None => {
                    seen.insert(Key::of(&entry.key.value), (map.entries.len(), is_own));
                    map.entries.push(entry);
                }
            }
        }
        Ok((map, weight))
    }

    /// Adds what `<<` names; what it weighs. Of a list, the first mapping wins, so
    /// it comes last.
    fn merge(&mut self, value: &Node, into: &mut Vec<Entry>, at: Mark) -> Result<u64, Error> {
        let maps: Vec<&Map> = match &value.value {
            Yaml::Map(map) => vec![map],
            Yaml::List(list) if list.iter().all(|node| node.as_map().is_some()) => {
                list.iter().rev().filter_map(|node| node.as_map()).collect()
            }
            other => {
                let kind = other.kind();
                return Err(self
                    .error(
                        format!("`<<` needs a mapping or a list of them, found {kind}"),
                        at,
                    )
                    .with_hint("put quotes around `<<` if it is a key of its own"));
            }
        };
        let mut weight = 0_u64;
        for map in maps {
            let added = 32 * map.entries.len() as u64;
            self.expand(added, at)?;
            weight = weight.saturating_add(added);
            into.extend(map.entries.iter().cloned());
        }
        Ok(weight)
    }

    fn unhashable(&self, key: &Node, flow: bool, start: Mark, key_at: Mark) -> Error {
        let found = self.error(format!("{} cannot be a key", key.value.kind()), key_at);
        let braces = flow
            && key.style == Style::Flow
            && matches!(key.value, Yaml::Map(_))
            && start.line == key_at.line
            && start.column + 1 == key_at.column;
        if braces {
            found.with_hint("put quotes around a template: write \"{{…}}\", not {{…}}")
        } else {
            found.with_hint("put quotes around the key")
        }
    }
}

fn unquoted_template(line: &str) -> bool {
    ["{{", "{%"].iter().any(|open| {
        line.find(open)
            .is_some_and(|at| matches!(line[..at].trim_end().chars().last(), Some(':' | '-')))
    })
}
