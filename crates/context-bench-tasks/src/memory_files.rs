//! Task files that are not on disk: those that come with a program, or that it makes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts of task files by path. The paths are names: nothing on disk is looked for.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, Arc<str>>,
}

impl MemoryFiles {
    /// Adds a file, in place of one with the same path.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<Arc<str>>) {
        self.files.insert(path.into(), text.into());
    }

    /// The text of a file.
    pub fn get(&self, path: &Path) -> Option<&Arc<str>> {
        self.files.get(path)
    }

    /// All files by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Arc<str>)> {
        self.files.iter().map(|(path, text)| (path.as_path(), text))
    }
}
