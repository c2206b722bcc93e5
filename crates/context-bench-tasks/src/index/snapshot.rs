//! The index as the last run made it, for trees in which nothing has changed.
//!
//! It is used only while every file of the trees, and every file that those include,
//! has the same size and modification time; then no head is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;

use context_bench_error::Place;

use super::cache::{Reader, put_list, put_number, put_option, put_text};
use super::head::Stamp;
use super::reading::FileList;
use super::{IndexEntry, IndexOptions, TaskFileIndex};
use crate::error::Warning;
use crate::file::Kind;

/// An index, and what must be unchanged for it to hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    /// Made of all roots with their files and stamps.
    pub(super) key: u64,
    /// Files outside the roots that are included, or would be if they were there.
    pub(super) included: Vec<(String, Option<Stamp>)>,
    pub(super) index: TaskFileIndex,
}

/// A key that differs when the trees differ.
pub(super) fn key(options: &IndexOptions, lists: &[FileList]) -> u64 {
    let mut hasher = DefaultHasher::new();
    options.roots.hash(&mut hasher);
    options.home.hash(&mut hasher);
    for list in lists {
        list.len().hash(&mut hasher);
        for (path, stamp) in list {
            path.hash(&mut hasher);
            (stamp.size, stamp.modified).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// The stamp of a file that is there.
pub(super) fn stamp(path: &str) -> Option<Stamp> {
    std::fs::metadata(path).ok().map(|data| Stamp::of(&data))
}

impl Snapshot {
    /// Whether it is of these trees as they are now.
    pub(super) fn holds(&self, key: u64) -> bool {
        let same = |(path, old): &(String, Option<Stamp>)| stamp(path) == *old;
        self.key == key && self.included.iter().all(same)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let index = &self.index;
        let mut out = Vec::with_capacity(index.entries.len() * 128);
        put_number(&mut out, self.key);
        put_number(&mut out, self.included.len() as u64);
        for (path, stamp) in &self.included {
            put_text(&mut out, path);
            out.push(u8::from(stamp.is_some()));
            let stamp = stamp.unwrap_or_default();
            put_number(&mut out, stamp.size);
            put_number(&mut out, stamp.modified);
        }
        put_number(&mut out, index.n_files as u64);
        put_number(&mut out, index.entries.len() as u64);
        for (name, entry) in &index.entries {
            put_text(&mut out, name);
            out.push(match entry.kind {
                Kind::Task => 0,
                Kind::Python => 1,
                Kind::Group => 2,
            });
            put_text(&mut out, &entry.path.to_string_lossy());
            put_list(&mut out, &entry.tags);
            put_option(&mut out, entry.output_type.as_deref());
        }
        put_number(&mut out, index.tags.len() as u64);
        for (tag, tasks) in &index.tags {
            put_text(&mut out, tag);
            put_number(&mut out, tasks.len() as u64);
            for task in tasks {
                put_text(&mut out, task);
            }
        }
        put_number(&mut out, index.datasets.len() as u64);
        for path in &index.datasets {
            put_text(&mut out, &path.to_string_lossy());
        }
        put_number(&mut out, index.left_out.len() as u64);
        for (name, path) in &index.left_out {
            put_text(&mut out, name);
            put_text(&mut out, &path.to_string_lossy());
        }
        for list in [&index.warnings, &index.problems, &index.unused] {
            put_number(&mut out, list.len() as u64);
            for warning in list {
                put_text(&mut out, &warning.message);
                let place = warning.place.as_ref();
                put_option(&mut out, place.map(|place| &*place.file));
                let line = place.and_then(|place| place.line);
                let column = place.and_then(|place| place.column);
                put_number(&mut out, line.unwrap_or_default() as u64);
                put_number(&mut out, column.unwrap_or_default() as u64);
            }
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader { rest: bytes };
        let key = reader.number()?;
        let included = reader.many(|reader| {
            let path = reader.text()?;
            let is_there = reader.byte()? == 1;
            let stamp = Stamp {
                size: reader.number()?,
                modified: reader.number()?,
            };
            Some((path, is_there.then_some(stamp)))
        })?;
        let n_files = usize::try_from(reader.number()?).ok()?;
        let entries: Vec<(String, IndexEntry)> = reader.many(|reader| {
            let name = reader.text()?;
            let kind = match reader.byte()? {
                0 => Kind::Task,
                1 => Kind::Python,
                2 => Kind::Group,
                _ => return None,
            };
            let entry = IndexEntry {
                kind,
                path: PathBuf::from(reader.text()?),
                tags: reader.list()?,
                output_type: reader.option()?,
            };
            Some((name, entry))
        })?;
        let tags: Vec<(String, BTreeSet<String>)> = reader.many(|reader| {
            let tag = reader.text()?;
            Some((tag, reader.list()?.into_iter().collect()))
        })?;
        let datasets = reader.many(|reader| reader.text().map(PathBuf::from))?;
        let left_out: Vec<(String, PathBuf)> =
            reader.many(|reader| Some((reader.text()?, PathBuf::from(reader.text()?))))?;
        let warning = |reader: &mut Reader<'_>| {
            let message = reader.text()?;
            let file = reader.option()?;
            let mut number = || usize::try_from(reader.number()?).ok();
            let known = |number: usize| (number > 0).then_some(number);
            let (line, column) = (known(number()?), known(number()?));
            let place = file.map(|file| Place {
                file: file.into(),
                line,
                column,
            });
            Some(Warning { message, place })
        };
        let warnings = reader.many(warning)?;
        let problems = reader.many(warning)?;
        let unused = reader.many(warning)?;
        let index = TaskFileIndex {
            entries: BTreeMap::from_iter(entries),
            tags: BTreeMap::from_iter(tags),
            warnings,
            problems,
            unused,
            n_files,
            n_read: 0,
            datasets,
            left_out: BTreeSet::from_iter(left_out),
        };
        reader.rest.is_empty().then_some(Self {
            key,
            included,
            index,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut index = TaskFileIndex {
            n_files: 3,
            datasets: vec!["d.yaml".into()],
            ..TaskFileIndex::default()
        };
        for (name, kind) in [("a", Kind::Task), ("b", Kind::Python), ("g", Kind::Group)] {
            let entry = IndexEntry {
                kind,
                path: format!("{name}.yaml").into(),
                tags: vec!["t".into()],
                output_type: (name == "a").then(|| "multiple_choice".into()),
            };
            index.entries.insert(name.into(), entry);
        }
        index
            .tags
            .insert("t".into(), BTreeSet::from(["a".into(), "b".into()]));
        index.left_out.insert(("x".into(), "x.yaml".into()));
        index.warnings = vec![
            Warning::new("one"),
            Warning::at("two", Place::file("x.yaml")),
            Warning::at("three", Place::file("x.yaml").line(3).column(4)),
        ];
        index.problems = vec![Warning::at("four", Place::file("y.yaml"))];
        index.unused = vec![Warning::new("five")];
        let snapshot = Snapshot {
            key: u64::MAX,
            included: vec![
                ("i".into(), None),
                (
                    "j".into(),
                    Some(Stamp {
                        size: 1,
                        modified: 2,
                    }),
                ),
            ],
            index,
        };
        let bytes = snapshot.encode();
        let again = Snapshot::decode(&bytes).unwrap();
        assert_eq!(format!("{again:?}"), format!("{snapshot:?}"));
        for end in 0..bytes.len() {
            assert!(Snapshot::decode(&bytes[..end]).is_none(), "cut at {end}");
        }
    }
}
