//! `RecordSet`: files that are read as one, in the order a person would give them.
//!
//! Shards are opened one at a time, when their turn comes.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use crate::error::unreadable;
use crate::format::{self, Format};
use crate::source::{STDIN, Source, split_member};
use crate::{Batch, CheckedRecord, PositionedRecord, ReadSettings, RecordError, Records};

/// The files of a folder, a pattern or a list, read one after the other.
///
/// `max_records` of the settings is for all of them together.
pub struct RecordSet {
    paths: std::vec::IntoIter<PathBuf>,
    settings: ReadSettings,
    current: Option<Box<dyn Records>>,
    file: PathBuf,
    is_one_file: bool,
    /// Places count through all files, as one file with all records would.
    n_before: usize,
    n_seen: usize,
    n_left: usize,
}

impl RecordSet {
    /// The records of a path: a file, `archive.zip#member`, a folder (all files
    /// of records in it, not in its folders), or a pattern with `*`, `?`, `[..]`,
    /// `{a,b}` or `**`, also for the members of an archive.
    ///
    /// Files are in natural order: `part-2` comes before `part-10`. Only the
    /// first is opened now.
    ///
    /// # Errors
    ///
    /// When no file is meant, or the first cannot be opened.
    pub fn open(path: &Path, settings: ReadSettings) -> Result<Self, RecordError> {
        Self::of_files(files(path)?, settings)
    }

    /// The records of files in the given order.
    ///
    /// # Errors
    ///
    /// When the first file cannot be opened.
    pub fn of_files(paths: Vec<PathBuf>, settings: ReadSettings) -> Result<Self, RecordError> {
        let mut set = Self {
            is_one_file: paths.len() == 1,
            paths: paths.into_iter(),
            n_left: settings.max_records.unwrap_or(usize::MAX),
            settings,
            current: None,
            file: PathBuf::new(),
            n_before: 0,
            n_seen: 0,
        };
        set.open_next()?;
        Ok(set)
    }

    /// Opens the next file; false when there is none.
    fn open_next(&mut self) -> Result<bool, RecordError> {
        self.current = None;
        self.n_before += self.n_seen;
        self.n_left -= self.n_seen.min(self.n_left);
        self.n_seen = 0;
        if self.n_left == 0 {
            return Ok(false);
        }
        let Some(path) = self.paths.next() else {
            return Ok(false);
        };
        if self.settings.max_records.is_some() {
            self.settings.max_records = Some(self.n_left);
        }
        let records = Source::open(&path)?.records(&self.settings)?;
        self.file = path;
        self.current = Some(records);
        Ok(true)
    }

    fn next<T>(
        &mut self,
        mut step: impl FnMut(&mut (dyn Records + 'static)) -> Option<Result<T, RecordError>>,
        shift: impl FnOnce(&mut T, usize) -> usize,
    ) -> Option<Result<T, RecordError>> {
        loop {
            let found = match &mut self.current {
                Some(records) => step(&mut **records),
                None => None,
            };
            match found {
                Some(Ok(mut found)) => {
                    self.n_seen = shift(&mut found, self.n_before);
                    return Some(Ok(found));
                }
                Some(Err(error)) => {
                    if error.is_about_one_record() {
                        self.n_seen += 1;
                    } else {
                        self.current = None;
                        self.paths = Vec::new().into_iter();
                    }
                    return Some(Err(error));
                }
                None => match self.open_next() {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(error) => {
                        self.paths = Vec::new().into_iter();
                        return Some(Err(error));
                    }
                },
            }
        }
    }
}

impl std::fmt::Debug for RecordSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordSet")
            .field("file", &self.file)
            .field("further", &self.paths.as_slice())
            .finish_non_exhaustive()
    }
}

impl Records for RecordSet {
    fn check_next(&mut self, key: &str) -> Option<Result<CheckedRecord, RecordError>> {
        let shift = |found: &mut CheckedRecord, n_before| found.position.shift(n_before);
        self.next(|records| records.check_next(key), shift)
    }

    fn read_next(&mut self) -> Option<Result<PositionedRecord, RecordError>> {
        let shift = |found: &mut PositionedRecord, n_before| found.position.shift(n_before);
        self.next(|records| records.read_next(), shift)
    }

    fn read_batch(&mut self) -> Option<Result<Batch, RecordError>> {
        self.next(|records| records.read_batch(), Batch::shift)
    }

    /// Of several files only the first is open, so they are not asked.
    fn known_len(&self) -> Option<usize> {
        let only = self.current.as_ref().filter(|_| self.is_one_file);
        only.and_then(|records| records.known_len())
    }

    fn file(&self) -> &Path {
        &self.file
    }
}

impl Iterator for RecordSet {
    type Item = Result<PositionedRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next()
    }
}

/// The files that a path stands for, in natural order.
///
/// # Errors
///
/// When there is none, or a folder cannot be listed.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, RecordError> {
    if path == Path::new(STDIN) || path.is_file() {
        return Ok(vec![path.into()]);
    }
    let (mut found, all) = if path.is_dir() {
        let all = list(path)?;
        let is_data = |file: &PathBuf| file.is_file() && is_data_name(file);
        (
            all.iter().filter(|file| is_data(file)).cloned().collect(),
            all,
        )
    } else if let Some((archive, pattern)) = split_member(path).filter(|(_, name)| is_pattern(name))
    {
        let is_wanted = matcher(&pattern)?;
        let members = Source::members(&archive, |_| true)?;
        let all: Vec<PathBuf> = members.iter().map(|member| member.path().into()).collect();
        let is_match = |file: &PathBuf| {
            split_member(file).is_some_and(|(_, name)| is_wanted(Path::new(&name)))
        };
        (
            all.iter().filter(|file| is_match(file)).cloned().collect(),
            all,
        )
    } else if path.to_str().is_some_and(is_pattern) {
        expand(path)?
    } else {
        return Ok(vec![path.into()]);
    };
    if found.is_empty() {
        return Err(RecordError::NoFiles {
            path: path.into(),
            found: all.iter().map(|file| file.display().to_string()).collect(),
        });
    }
    found.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(found)
}

/// Whether the name ends like a file of records or an archive of such files.
pub fn is_data_name(path: &Path) -> bool {
    Format::of(path).is_some() || format::is_archive_name(path)
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

fn matcher(pattern: &str) -> Result<impl Fn(&Path) -> bool + use<>, RecordError> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| RecordError::BadPattern {
            pattern: pattern.into(),
            problem: error.kind().to_string(),
        })?
        .compile_matcher();
    Ok(move |path: &Path| glob.is_match(path))
}

/// The files that fit a pattern, and what else is in the folder it begins in.
fn expand(pattern: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), RecordError> {
    let text = pattern.to_string_lossy();
    let is_wanted = matcher(&text)?;
    // Everything before the first part with a pattern is a plain folder.
    let root: PathBuf = pattern
        .components()
        .take_while(|part| !is_pattern(&part.as_os_str().to_string_lossy()))
        .collect();
    let depth = if text.contains("**") {
        usize::MAX
    } else {
        pattern.components().count() - root.components().count()
    };
    let mut found = Vec::new();
    let mut all = Vec::new();
    let mut folders = vec![(root, depth)];
    while let Some((folder, depth)) = folders.pop() {
        for file in list(&folder)? {
            // Links to folders are not followed: they may lead back.
            let is_folder = file.is_dir() && !(file.is_symlink() && depth == usize::MAX);
            if is_folder && depth > 1 {
                folders.push((file, depth.saturating_sub(usize::from(depth != usize::MAX))));
            } else if file.is_file() && is_wanted(&file) {
                found.push(file);
            } else if all.len() < 100 {
                all.push(file);
            }
        }
    }
    Ok((found, all))
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let shown = if folder == Path::new("") {
        Path::new(".")
    } else {
        folder
    };
    let entries = fs::read_dir(shown).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => RecordError::Missing { path: shown.into() },
        _ => unreadable(shown, error),
    })?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(folder.join(entry.ok()?.file_name())))
        .collect();
    files.sort();
    Ok(files)
}

/// Compares names as people sort them: numbers in them by value.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) else {
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (take_number(&mut left), take_number(&mut right));
            m.len().cmp(&n.len()).then_with(|| m.cmp(n))
        } else {
            left = &left[x.len_utf8()..];
            right = &right[y.len_utf8()..];
            x.cmp(&y)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// The digits that `text` begins with, without leading zeros, which it loses.
fn take_number<'a>(text: &mut &'a str) -> &'a str {
    let end = text
        .find(|char: char| !char.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    digits.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_compared_by_value() {
        let mut names = ["b", "a10", "a9", "a", "a010x", "a-2", "a10b", "ä1"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "a-2", "a9", "a10", "a10b", "a010x", "b", "ä1"]);
    }
}
