//! `Reader`: values of a YAML file by key, each error with its place.

use std::path::Path;

use context_bench_error::suggest;
use context_bench_template::yaml::{Node, Yaml};

use super::error::DatasetCatalogError;
use crate::error::Place;

pub(super) type Read<T> = Result<T, DatasetCatalogError>;

/// Reads the nodes of one file.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
}

impl Reader<'_> {
    pub(super) fn check_keys_or_null(&self, node: &Node, what: &str, known: &[&str]) -> Read<()> {
        match node.value {
            Yaml::Null => Ok(()),
            _ => self.check_keys(node, what, known),
        }
    }

    /// All keys must be known.
    pub(super) fn check_keys(&self, node: &Node, what: &str, known: &[&str]) -> Read<()> {
        let Some(map) = node.as_map() else {
            let found = node.value.kind();
            return Err(self.wrong(node, format!("{what} must be a mapping, found {found}")));
        };
        for entry in &map.entries {
            let key = entry.key.as_str().unwrap_or_default();
            if !known.contains(&key) {
                let near = suggest::did_you_mean(key, known.iter().copied());
                let all = format!("known: {}", suggest::quoted_list(known, "and"));
                return Err(self
                    .wrong(&entry.key, format!("{what} has no key `{key}`"))
                    .hinted(near.unwrap_or(all)));
            }
        }
        Ok(())
    }

    pub(super) fn entries<'n>(&self, node: &'n Node, key: &str) -> Read<Vec<(String, &'n Node)>> {
        let Some(map) = node.as_map() else {
            let found = node.value.kind();
            return Err(self.wrong(node, format!("`{key}` must be a mapping, found {found}")));
        };
        map.entries
            .iter()
            .map(|entry| match entry.key.as_str() {
                Some(name) => Ok((name.to_owned(), &*entry.value)),
                None => {
                    let problem = format!("a name in `{key}` must be text");
                    Err(self.wrong(&entry.key, problem).hinted("put it in quotes"))
                }
            })
            .collect()
    }

    pub(super) fn needed(&self, node: &Node, key: &str) -> Read<String> {
        let text = self.text(node, key)?;
        text.ok_or_else(|| self.wrong(node, format!("a dataset needs `{key}`")))
    }

    pub(super) fn text(&self, node: &Node, key: &str) -> Read<Option<String>> {
        let found = node.get(key);
        found.map(|node| self.text_of(node, key)).transpose()
    }

    pub(super) fn text_of(&self, node: &Node, key: &str) -> Read<String> {
        match node.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => {
                let found = node.value.kind();
                let problem = format!("`{key}` must be text, found {found}");
                Err(self.wrong(node, problem).hinted("put it in quotes"))
            }
        }
    }

    /// A list of texts, or one text.
    pub(super) fn texts(&self, node: &Node, key: &str) -> Read<Vec<String>> {
        match node.as_list() {
            None => Ok(vec![self.text_of(node, key)?]),
            Some(list) => list.iter().map(|node| self.text_of(node, key)).collect(),
        }
    }

    pub(super) fn flag(&self, node: &Node, key: &str) -> Read<bool> {
        match node.get(key) {
            None => Ok(false),
            Some(node) => match node.value {
                Yaml::Bool(truth) => Ok(truth),
                _ => Err(self.wrong(node, format!("`{key}` must be `true` or `false`"))),
            },
        }
    }

    pub(super) fn count(&self, node: &Node, key: &str) -> Read<Option<u64>> {
        match node.get(key) {
            None => Ok(None),
            Some(node) => match node.value {
                Yaml::Int(int) if int >= 0 => Ok(Some(int.unsigned_abs())),
                _ => Err(self.wrong(node, format!("`{key}` must be a whole number"))),
            },
        }
    }

    pub(super) fn wrong(&self, node: &Node, problem: impl Into<String>) -> DatasetCatalogError {
        DatasetCatalogError::BadSpec {
            problem: problem.into(),
            at: Place::new(self.file.to_string_lossy(), node.position),
            hint: None,
        }
    }
}

impl DatasetCatalogError {
    /// The same error with a hint.
    pub(super) fn hinted(mut self, advice: impl Into<String>) -> Self {
        if let Self::BadSpec { hint, .. } = &mut self {
            *hint = Some(advice.into());
        }
        self
    }
}
