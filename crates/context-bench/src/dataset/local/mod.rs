//! `LocalFile`: datasets in files of the user: JSON Lines, JSON, CSV and TSV.
//!
//! A regular file is read twice. The first pass checks and counts, so that a
//! broken line 57 is reported before a request is paid for; the second streams.
//! A pipe can only be streamed, so its errors appear on the way. The file may
//! change between the passes: the second trusts nothing that the first found.

mod format;
mod json_lines;
mod json_list;
mod json_record;
mod json_scanner;
mod row_watch;
mod source;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::format::{FileFormat, Syntax};
use self::source::{Input, Source};
use super::skipped::Tally;
use super::{Dataset, DatasetError};
use crate::model::Example;

pub(super) use self::format::has_known_extension;
pub(super) use self::source::STDIN;

/// How a local file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    /// Opens a file whose name tells the format, and checks it unless it is a pipe.
    ///
    /// The name ends in `.jsonl`, `.ndjson`, `.json`, `.csv` or `.tsv`, in any
    /// case, optionally followed by `.gz` or `.zst`. `-` is standard input; it
    /// and pipes without such a name hold JSON Lines. A record without `id`
    /// gets its zero-based line number, or its position where a record is not a line.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not valid in its format, and unless
    /// they are to be skipped, at the first bad record.
    pub fn open(
        path: impl Into<PathBuf>,
        settings: LocalSettings,
    ) -> Result<Dataset, DatasetError> {
        let path = path.into();
        let source = Source::open(&path)?;
        let format = source.format;
        let path: Arc<Path> = path.into();
        let tally = Tally::default();
        let sieve = || Sieve::new(settings.skip_bad_lines, tally.clone());
        let records = |input| read_records(format, input, &path, settings.max_examples);

        let len = match source.first_pass()? {
            Some(input) => Some(check(records(input).as_mut(), sieve())?),
            None => None,
        };
        let examples = LocalExamples {
            records: records(source.into_input()?),
            sieve: sieve(),
            is_over: false,
        };
        let dataset = Dataset::from_results(examples).with_skipped(tally);
        Ok(match len {
            Some(len) => dataset.with_len(len),
            None => dataset,
        })
    }
}

/// Yields the records of one file, in either of two ways.
///
/// After an error about one record, the next call goes on with the record after it.
trait Records: Send {
    /// Checks the next record as strictly as `read_next`, without building it.
    fn check_next(&mut self) -> Option<Result<(), DatasetError>>;

    /// Reads the next record.
    fn read_next(&mut self) -> Option<Result<Example, DatasetError>>;
}

fn read_records(
    format: FileFormat,
    input: Input,
    path: &Arc<Path>,
    max_records: Option<usize>,
) -> Box<dyn Records> {
    let max_records = max_records.unwrap_or(usize::MAX);
    let path = Arc::clone(path);
    match format.syntax {
        Syntax::JsonLines => Box::new(json_lines::JsonLines::new(input, path, max_records)),
        Syntax::Json => Box::new(json_list::JsonList::new(input, path, max_records)),
        Syntax::Table { delimiter } => {
            Box::new(table::Table::new(input, delimiter, path, max_records))
        }
    }
}

/// Goes over all records and returns how many are good.
fn check(records: &mut dyn Records, mut sieve: Sieve) -> Result<usize, DatasetError> {
    let mut n_good = 0;
    while let Some(checked) = records.check_next() {
        if sieve.pass(checked)?.is_some() {
            n_good += 1;
        }
    }
    Ok(n_good)
}

/// The stream of a file, which ends after the first error that is not skipped.
struct LocalExamples {
    records: Box<dyn Records>,
    sieve: Sieve,
    is_over: bool,
}

impl Iterator for LocalExamples {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let Some(record) = self.records.read_next() else {
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
struct Sieve {
    skip_bad: bool,
    tally: Tally,
    n_bad: usize,
}

impl Sieve {
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
