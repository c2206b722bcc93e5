//! `SpecError`: what is wrong in a run file, or in another file of keys, where, and what to
//! do about it.

use std::sync::Arc;

use context_bench_error::Place;
use context_bench_error::suggest;
use context_bench_template::yaml::{self, Node};

use crate::error::Hint;
use crate::mask::Mask;

/// Why a run file, or another file of keys, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  at {place}")]
pub struct SpecError {
    pub(crate) what: String,
    pub(crate) place: String,
    pub(crate) hint: Option<String>,
}

impl Hint for SpecError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// One step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A key of a mapping.
    Key(String),
    /// An entry of a list.
    Entry(usize),
}

/// What kind of file is read, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileKind {
    /// What users call it, such as `run file`.
    pub(crate) name: &'static str,
    /// Where its keys are described, as a hint.
    pub(crate) described: &'static str,
}

/// Run files.
pub(super) const RUN_FILE: FileKind = FileKind {
    name: "run file",
    described: "`context-bench schema` describes every key",
};

/// The places of values in a file; JSON that is not also YAML has none.
pub(crate) struct Places<'a> {
    pub(super) kind: FileKind,
    pub(super) name: &'a str,
    pub(super) root: Option<Arc<Node>>,
}

impl Places<'_> {
    /// The value at the end of a path, or the nearest on the way that there is.
    fn nearest(&self, path: &[Step]) -> Option<Arc<Node>> {
        let mut node = self.root.clone()?;
        for step in path {
            let next = match step {
                Step::Key(key) => node.get(key).cloned(),
                Step::Entry(at) => node.as_list().and_then(|list| list.get(*at)).cloned(),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        Some(node)
    }

    /// Where the value at the end of a path is.
    fn of(&self, path: &[Step]) -> String {
        let node = self.nearest(path);
        Place::new(self.name, node.map(|node| node.position)).to_string()
    }

    /// Where a key of the mapping at the end of a path is written.
    pub(super) fn of_key(&self, path: &[Step], key: &str) -> String {
        let node = self.nearest(path);
        let entry = node.as_ref().and_then(|node| node.as_map()?.entry(key));
        match entry {
            Some(entry) => Place::new(self.name, entry.key.position).to_string(),
            None => self.of(path),
        }
    }
}

impl SpecError {
    /// Something is wrong with the value at the end of a path.
    pub(crate) fn at(path: &[Step], what: &str, places: &Places<'_>) -> Self {
        let what = match path.is_empty() {
            true => what.to_owned(),
            false => format!("`{}`: {what}", shown(path)),
        };
        Self {
            what,
            place: places.of(path),
            hint: Some(places.kind.described.to_owned()),
        }
    }

    /// The file is not YAML.
    pub(super) fn of_yaml(error: &yaml::Error) -> Self {
        let hint = error.hint();
        Self {
            what: error.message().to_owned(),
            place: error.place().to_string(),
            hint: hint.or_else(|| Some("check brackets, quotes and indentation there".into())),
        }
    }

    /// The file is not JSON.
    pub(super) fn of_json(error: &serde_json::Error, name: &str, kind: FileKind) -> Self {
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        Self {
            what: format!("the {} is not JSON: {what}", kind.name),
            place: format!("{name}:{}:{}", error.line(), error.column()),
            hint: Some("a file that does not end in `.json` is read as YAML".into()),
        }
    }

    /// What serde says, in words of ours.
    pub(super) fn of_serde(
        said: &str,
        path: &serde_path_to_error::Path,
        places: &Places<'_>,
    ) -> Self {
        use serde_path_to_error::Segment;
        let steps = path.iter().filter_map(|segment| match segment {
            Segment::Seq { index } => Some(Step::Entry(*index)),
            Segment::Map { key } => Some(Step::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        });
        let mut path: Vec<Step> = steps.collect();
        // "unknown field `x`, expected one of `a`, `b`"
        let unknown = said.strip_prefix("unknown field `");
        let Some((unknown, expected)) = unknown.and_then(|rest| rest.split_once('`')) else {
            return Self::at(&path, &plain(said), places);
        };
        if path.last() == Some(&Step::Key(unknown.to_owned())) {
            path.pop();
        }
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let near = suggest::did_you_mean(unknown, known.iter().copied());
        let all = || format!("the keys are {}", suggest::quoted_list(&known, "and"));
        let parent = match path.is_empty() {
            true => format!("the {}", places.kind.name),
            false => format!("`{}`", shown(&path)),
        };
        Self {
            what: format!("unknown key `{unknown}` in {parent}"),
            place: places.of_key(&path, unknown),
            hint: Some(near.unwrap_or_else(all)),
        }
    }
}

/// A path as users write it: `systems[0].proxy`.
fn shown(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text += key,
            Step::Key(key) => text += &format!(".{key}"),
            Step::Entry(at) => text += &format!("[{at}]"),
        }
    }
    text
}

/// "invalid type: string "x", expected f64" in words that are not those of Rust.
fn plain(said: &str) -> String {
    let rest = said
        .strip_prefix("invalid type: ")
        .or_else(|| said.strip_prefix("invalid value: "));
    let Some((found, expected)) = rest.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return said.to_owned();
    };
    let expected = match expected {
        "f64" => "a number",
        "u32" | "u64" | "usize" => "a whole number, 0 or above",
        "i64" => "a whole number",
        "a boolean" => "true or false",
        "a string" | "path string" => "a text",
        "a sequence" => "a list",
        "a map" => "a mapping",
        other => other,
    };
    let found = match found.split_once(' ') {
        None if found == "null" => "nothing".to_owned(),
        None if found == "sequence" => "a list".to_owned(),
        None if found == "map" => "a mapping".to_owned(),
        Some(("string", text)) => {
            let text = text.trim_matches('"');
            format!("the text `{}`", Mask::Dots.setting(text))
        }
        Some((_, value)) if value.starts_with('`') => value.to_owned(),
        Some(("floating", value)) => value.trim_start_matches("point ").to_owned(),
        _ => found.to_owned(),
    };
    format!("expected {expected}, found {found}")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_serde_says_is_said_plainly() {
        for (said, expected) in [
            (
                "invalid type: string \"fast\", expected f64",
                "expected a number, found the text `fast`",
            ),
            (
                "invalid type: floating point `1.5`, expected u32",
                "expected a whole number, 0 or above, found `1.5`",
            ),
            (
                "invalid value: integer `-1`, expected usize",
                "expected a whole number, 0 or above, found `-1`",
            ),
            (
                "invalid type: map, expected path string",
                "expected a text, found a mapping",
            ),
            (
                "invalid type: string \"http://u:pw@h\", expected a sequence",
                "expected a list, found the text `http://h`",
            ),
            (
                "expected a whole number or `auto`",
                "expected a whole number or `auto`",
            ),
        ] {
            assert_eq!(plain(said), expected);
        }
    }
}
