//! `LocalFile`: datasets in files of the user, in every format that
//! `context-bench-records` reads.
//!
//! A regular file is read twice. The first pass checks and counts, so that a
//! broken line 57 is reported before a request is paid for; the second streams.
//! A pipe can only be streamed, so its errors appear on the way. The file may
//! change between the passes: the second trusts nothing that the first found.

mod hints;
mod shape;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use context_bench_records::{ReadSettings, RecordPosition, Records, Source};
use indexmap::IndexSet;

use super::skipped::Tally;
use super::{Dataset, DatasetError};
use crate::error::Place;
use crate::model::Example;

pub(super) use self::hints::advised;
pub use self::shape::Shape;
pub(super) use context_bench_records::{STDIN, is_data_name as has_known_extension};

/// A file's name without what it says about the format.
pub(crate) fn file_stem(name: &str) -> &str {
    let without = |name: &mut &str, endings: &[&str]| {
        let ending = endings.iter().find_map(|ending| {
            let at = name.len().checked_sub(ending.len()).filter(|at| *at > 0)?;
            let tail = name.get(at..)?;
            tail.eq_ignore_ascii_case(ending).then_some(at)
        });
        if let Some(at) = ending {
            *name = &name[..at];
        }
    };
    let mut stem = name;
    without(&mut stem, &[".gz", ".zst", ".bz2", ".zip"]);
    let formats = [".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet"];
    without(&mut stem, &formats);
    stem
}

/// How a local file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LocalSettings {
    /// Leaves bad records out and counts them, instead of failing at the first.
    pub skip_bad_lines: bool,
    /// How many records to look at, good or bad. In JSON Lines this counts
    /// lines, also blank ones.
    pub max_examples: Option<usize>,
}

/// A dataset in a file of the user.
#[derive(Debug, Clone, Copy)]
pub struct LocalFile;

impl LocalFile {
    /// Opens a file whose name shows the format, and checks it unless it is a pipe.
    ///
    /// The name ends in `.jsonl`, `.ndjson`, `.json`, `.csv` or `.tsv`, in any
    /// case, optionally followed by `.gz`, `.zst` or `.bz2`, or in `.parquet`.
    /// `archive.zip` is the only such file in it, `archive.zip#member.csv` a
    /// certain one. `-` is standard input; it and pipes without such a name hold
    /// JSON Lines. A record without `id` gets its zero-based line number, or its
    /// position where a record is not a line.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not valid in its format, and unless
    /// they are to be skipped, at the first bad record.
    pub fn open(
        path: impl Into<PathBuf>,
        settings: LocalSettings,
    ) -> Result<Dataset, DatasetError> {
        let opened = Self::open_shaped(path, settings, Shape::default())?;
        Ok(opened.dataset)
    }

    /// Opens a file whose records are laid out in their own way.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), and at the first record of a file that is not a pipe
    /// whose context cannot be made one text.
    pub fn open_shaped(
        path: impl Into<PathBuf>,
        settings: LocalSettings,
        shape: Shape,
    ) -> Result<OpenedFile, DatasetError> {
        let mut source = Source::open(&path.into()).map_err(hints::advised)?;
        let tally = Tally::default();
        let sieve = || RecordFilter::new(settings.skip_bad_lines, tally.clone());
        let read = ReadSettings {
            max_records: settings.max_examples,
            ..ReadSettings::default()
        };
        let mut first = First::default();
        let len = if source.is_repeatable() {
            let mut records = source.records(&read).map_err(hints::advised)?;
            first = First::of(records.as_mut(), &shape);
            let mut records = source.records(&read).map_err(hints::advised)?;
            Some(match first.has_parts {
                true => check_texts(records.as_mut(), &shape, sieve())?,
                false => check(records.as_mut(), sieve())?,
            })
        } else {
            None
        };
        let examples = LocalExamples {
            source,
            shape,
            read,
            records: None,
            sieve: sieve(),
            is_over: false,
        };
        let dataset = Dataset::from_results(examples).with_skipped(tally);
        Ok(OpenedFile {
            dataset: match len {
                Some(len) => dataset.with_len(len),
                None => dataset,
            },
            first,
        })
    }
}

/// How many records are looked at to find out how a file is laid out.
const LOOKED_AT: usize = 100;

/// A file of the user, opened.
pub struct OpenedFile {
    /// Its examples.
    pub dataset: Dataset,
    /// What its beginning looks like; nothing of a pipe, which can be read only once.
    pub first: First,
}

/// What the beginning of a file looks like.
#[derive(Debug, Default)]
pub struct First {
    /// The first good records as they are in the file.
    pub records: Vec<Example>,
    /// The same as examples.
    pub examples: Vec<Example>,
    /// Whether one of them has a context in parts, which becomes one text.
    pub has_parts: bool,
    /// The delimiter of a table.
    pub delimiter: Option<char>,
}

impl First {
    /// Whether there is each key that a name is mapped to.
    ///
    /// # Errors
    ///
    /// When no record has it.
    pub fn check_map(&self, file: &str, shape: &Shape) -> Result<(), DatasetError> {
        let keys = self.keys();
        let missing = |key: &String| !keys.contains(&key.as_str());
        let mut unknown = shape.map.iter().filter(|(_, key)| missing(key));
        match unknown.next() {
            Some((name, key)) if !self.records.is_empty() => Err(DatasetError::NoSuchKey {
                name: name.clone(),
                key: key.clone(),
                file: file.to_owned(),
                keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            }),
            _ => Ok(()),
        }
    }

    /// All keys of the records, in the order in which they turn up.
    pub fn keys(&self) -> Vec<&str> {
        keys(&self.records)
    }

    fn of(records: &mut dyn Records, shape: &Shape) -> Self {
        let mut first = Self::default();
        for _ in 0..LOOKED_AT {
            match records.read_next() {
                None => break,
                // What is wrong with it is reported when all of them are read.
                Some(Err(_)) => {}
                Some(Ok(found)) => {
                    let mut fields = found.record.into_map();
                    first.records.push(fields.clone().into());
                    first.has_parts |= shape.has_parts(&fields);
                    if shape.apply(&mut fields).is_ok() {
                        first.examples.push(fields.into());
                    }
                }
            }
        }
        first.delimiter = records.delimiter().map(char::from);
        first
    }
}

/// All keys of some examples, in the order in which they turn up.
pub(crate) fn keys(examples: &[Example]) -> Vec<&str> {
    // A table may have very many columns.
    let keys: IndexSet<&str> = examples
        .iter()
        .flat_map(|one| one.fields().keys())
        .map(String::as_str)
        .collect();
    keys.into_iter().collect()
}

/// Goes over all records as examples and returns how many are good.
fn check_texts(
    records: &mut dyn Records,
    shape: &Shape,
    mut sieve: RecordFilter,
) -> Result<usize, DatasetError> {
    let mut n_good = 0;
    while let Some(example) = next_example(records, shape) {
        n_good += usize::from(sieve.pass(example)?.is_some());
    }
    Ok(n_good)
}

/// Goes over all records and returns how many are good.
fn check(records: &mut dyn Records, mut sieve: RecordFilter) -> Result<usize, DatasetError> {
    let mut n_good = 0;
    while let Some(checked) = records.check_next("id") {
        let checked = match checked {
            Ok(checked) => match checked.value {
                None => Ok(()),
                Some(id) => check_id(
                    &Example::new().with("id", id),
                    checked.position,
                    records.file(),
                ),
            },
            Err(error) => Err(hints::advised(error)),
        };
        if sieve.pass(checked)?.is_some() {
            n_good += 1;
        }
    }
    Ok(n_good)
}

/// Reads the next record as an example with an `id`.
fn next_example(records: &mut dyn Records, shape: &Shape) -> Option<Result<Example, DatasetError>> {
    let found = match records.read_next()? {
        Ok(found) => found,
        Err(error) => return Some(Err(hints::advised(error))),
    };
    let mut fields = found.record.into_map();
    if !shape.is_plain()
        && let Err(source) = shape.apply(&mut fields)
    {
        let at = at(found.position, records.file());
        return Some(Err(DatasetError::BadExample { source, at }));
    }
    let mut example = Example::from(fields);
    if let Err(error) = check_id(&example, found.position, records.file()) {
        return Some(Err(error));
    }
    let fields = example.fields_mut();
    if !fields.contains_key("id") {
        fields.insert("id".into(), found.position.index.into());
    }
    Some(Ok(example))
}

fn check_id(example: &Example, position: RecordPosition, file: &Path) -> Result<(), DatasetError> {
    let checked = example.id(position.index).map(drop);
    checked.map_err(|source| DatasetError::BadExample {
        source,
        at: at(position, file),
    })
}

fn at(position: RecordPosition, file: &Path) -> Place {
    position.place_in(file.to_string_lossy())
}

/// The stream of a file, which ends after the first error that is not skipped.
struct LocalExamples {
    source: Source,
    shape: Shape,
    read: ReadSettings,
    /// Made at the first example: until then not a byte is read again.
    records: Option<Box<dyn Records>>,
    sieve: RecordFilter,
    is_over: bool,
}

impl LocalExamples {
    fn next_record(&mut self) -> Option<Result<Example, DatasetError>> {
        if self.records.is_none() {
            match self.source.records(&self.read) {
                Ok(records) => self.records = Some(records),
                Err(error) => return Some(Err(hints::advised(error))),
            }
        }
        next_example(self.records.as_deref_mut()?, &self.shape)
    }
}

impl Iterator for LocalExamples {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let Some(record) = self.next_record() else {
                break;
            };
            match self.sieve.pass(record) {
                Ok(Some(example)) => return Some(Ok(example)),
                Ok(None) => {}
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
        self.is_over = true;
        None
    }
}

/// Lets good records through and, on request, counts bad ones instead of failing.
struct RecordFilter {
    skip_bad: bool,
    tally: Tally,
    n_bad: usize,
}

impl RecordFilter {
    fn new(skip_bad: bool, tally: Tally) -> Self {
        Self {
            skip_bad,
            tally,
            n_bad: 0,
        }
    }

    /// The record, or nothing when it was skipped.
    fn pass<T>(&mut self, record: Result<T, DatasetError>) -> Result<Option<T>, DatasetError> {
        match record {
            Ok(record) => Ok(Some(record)),
            Err(error) if self.skip_bad => {
                self.tally.note(self.n_bad, error.into_skipped()?);
                self.n_bad += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
