//! `Names`: one kind of thing by name, in order of registration.

use context_bench_error::suggest;
use indexmap::IndexMap;

use crate::error::Hint;

/// Things of one kind by name.
#[derive(Debug, Clone)]
pub struct Names<T> {
    kind: &'static str,
    entries: IndexMap<String, Entry<T>>,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    about: String,
    thing: T,
}

impl<T> Names<T> {
    pub(super) fn of(kind: &'static str) -> Self {
        Self {
            kind,
            entries: IndexMap::new(),
        }
    }

    /// Stores a thing under a name with one line about it; replaces an earlier one in its place.
    pub fn register(&mut self, name: impl Into<String>, about: impl Into<String>, thing: T) {
        let about = about.into();
        self.entries.insert(name.into(), Entry { about, thing });
    }

    /// The thing of that name.
    ///
    /// # Errors
    ///
    /// When there is none; the error's hint offers near matches.
    pub fn get(&self, name: &str) -> Result<&T, UnknownName> {
        match self.entries.get(name) {
            Some(entry) => Ok(&entry.thing),
            None => Err(UnknownName {
                kind: self.kind,
                name: name.to_owned(),
                known: self.list().map(str::to_owned).collect(),
            }),
        }
    }

    /// All names in order of registration.
    pub fn list(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// All names with the line about each.
    pub fn describe(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries
            .iter()
            .map(|(name, entry)| (name.as_str(), entry.about.as_str()))
    }
}

/// Nothing is registered under that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} `{name}`")]
pub struct UnknownName {
    /// What was looked for: `dataset`, `evaluator` …
    pub kind: &'static str,
    /// The name as typed.
    pub name: String,
    /// The names that exist.
    pub known: Vec<String>,
}

impl Hint for UnknownName {
    fn hint(&self) -> Option<String> {
        let near = suggest::did_you_mean(&self.name, self.known.iter().map(String::as_str));
        let kinds = match self.kind {
            "output format" => "outputs".to_owned(),
            kind => format!("{kind}s"),
        };
        let list = format!("`context-bench ls {kinds}` lists all of them");
        Some(match (near, self.kind) {
            (Some(near), _) => format!("{near} {list}"),
            (None, "dataset") => {
                format!("{list}; a local file must end in .jsonl, .json, .csv, .tsv or .parquet")
            }
            (None, _) if self.known.len() <= 8 => {
                format!("known: {}", suggest::quoted_list(&self.known, "and"))
            }
            (None, _) => list,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_order_and_replace_in_place() {
        let mut names = Names::of("metric");
        assert_eq!(names.list().count(), 0);
        names.register("b", "", 1);
        names.register("a", "", 2);
        names.register("b", "", 3);
        assert_eq!(names.list().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(names.get("b"), Ok(&3));
        let error = names.get("bb").expect_err("unknown");
        assert_eq!(error.to_string(), "unknown metric `bb`");
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("did you mean `b`?"))
        );
    }
}
