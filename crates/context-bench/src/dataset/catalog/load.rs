//! From a config and where its records are to a stream of examples.

use std::path::{Path, PathBuf};

use context_bench_records::map_bytes;

use super::engine::{self, Engine, EngineSettings};
use super::error::DatasetCatalogError;
use super::locate::{self, TableQuery};
use super::prepare::Tables;
use super::remote::HubAccess;
use super::row::Rows;
use super::rows::{self, TableSettings};
use super::spec::{Config, Table};
use crate::dataset::local::advised;
use crate::dataset::skipped::Tally;
use crate::dataset::{Dataset, DatasetError, Examples, Origin};
use crate::model::Example;

/// So much of a local copy becomes examples before a run begins, so that what
/// does not fit is found before a request is paid for; of nearly all datasets
/// that is everything. What is made is kept, not made twice.
const CHECKED_BYTES: usize = 32 << 20;

/// From so many examples on, they are made ahead on other threads.
const AHEAD_FROM: usize = 1000;

/// The default seed for the order of shuffled options: the same for every
/// front end, so that one name means one dataset.
pub const OPTION_SEED: u64 = 42;

impl Default for LoadSettings {
    fn default() -> Self {
        Self {
            path: None,
            max_examples: None,
            skip_bad_lines: false,
            seed: OPTION_SEED,
            keep_order: false,
            hub: None,
        }
    }
}

/// How a dataset of the catalog is loaded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadSettings {
    /// A local copy: a file, a folder or a pattern of files, laid out as on the hub.
    pub path: Option<PathBuf>,
    /// How many records to look at; of datasets that make several examples of
    /// a record, how many examples to make.
    pub max_examples: Option<usize>,
    /// Leaves out records that do not fit, and counts them.
    pub skip_bad_lines: bool,
    /// Decides the order of shuffled options.
    pub seed: u64,
    /// Leaves options in the order of the source.
    pub keep_order: bool,
    /// The way to the hub, for what is not a local copy.
    pub hub: Option<HubAccess>,
}

impl LoadSettings {
    fn engine(&self) -> EngineSettings {
        EngineSettings {
            max_examples: self.max_examples,
            seed: self.seed,
            keep_order: self.keep_order,
        }
    }
}

impl Config {
    /// The examples of this config.
    ///
    /// # Errors
    ///
    /// When the records cannot be found or opened, and for a small local copy,
    /// at the first record that does not fit, unless those are to be skipped.
    pub fn load(&self, settings: &LoadSettings) -> Result<Dataset, DatasetError> {
        let Some(path) = self.local_path(settings)? else {
            return self.load_remote(settings);
        };
        let copy = LocalCopy::find(self, &path)?;
        let tally = Tally::default();
        // For a slice, reading ahead would mostly read what is not asked for.
        let many = settings.max_examples.is_none_or(|max| max >= AHEAD_FROM);
        let rows = copy.rows(self, self.record_settings())?;
        let mut examples = self.sieved(rows, many, settings, &tally);
        let origin = Origin {
            source: path.display().to_string(),
            revision: None,
        };
        let (mut checked, mut bytes) = (Vec::new(), 0);
        while bytes < CHECKED_BYTES {
            let Some(example) = examples.next() else {
                let dataset = Dataset::from(checked);
                return Ok(dataset.with_skipped(tally).with_origin(origin));
            };
            let example = example?;
            bytes += map_bytes(example.fields());
            checked.push(example);
        }
        let all = checked.into_iter().map(Ok).chain(examples);
        let dataset = Dataset::from_results(all);
        Ok(dataset.with_skipped(tally).with_origin(origin))
    }

    /// The examples from the hub. Nothing is read ahead, so that the first
    /// example is there as soon as its part of a file is.
    fn load_remote(&self, settings: &LoadSettings) -> Result<Dataset, DatasetError> {
        let dataset = self.full_name();
        if self.spec.source.hub.is_none() {
            return Err(DatasetCatalogError::NoSource { dataset }.into());
        }
        let access = settings.hub.as_ref();
        let access = access.ok_or(DatasetCatalogError::NoHub { dataset })?;
        let (rows, origin) = self.remote_rows(access, settings, self.record_settings())?;
        let tally = Tally::default();
        let examples = self.sieved(rows, false, settings, &tally);
        let dataset = Dataset::from_results(examples);
        Ok(dataset.with_skipped(tally).with_origin(origin))
    }

    fn sieved(
        &self,
        rows: Rows,
        many: bool,
        settings: &LoadSettings,
        tally: &Tally,
    ) -> SkippingExamples {
        let engine = Engine::new(self.clone(), settings.engine());
        SkippingExamples {
            examples: engine.examples(rows, many),
            skip_bad: settings.skip_bad_lines,
            tally: tally.clone(),
            n_bad: 0,
            is_over: false,
        }
    }

    /// The local copy that is asked for, or that the dataset itself names.
    pub(super) fn local_path(
        &self,
        settings: &LoadSettings,
    ) -> Result<Option<PathBuf>, DatasetError> {
        let path = match (&settings.path, &self.spec.file) {
            (Some(path), _) => path.clone(),
            (None, Some(file)) if self.spec.source.hub.is_none() => {
                let wanted = self.records_wanted();
                let Some(own) = wanted.patterns().into_iter().next() else {
                    return Ok(None);
                };
                match is_url(&own) {
                    true => own.into(),
                    false => file.parent().unwrap_or(Path::new("")).join(own),
                }
            }
            _ => return Ok(None),
        };
        let Some(url) = path.to_str().filter(|path| is_url(path)) else {
            return Ok(Some(path));
        };
        let access = settings.hub.as_ref().ok_or(DatasetCatalogError::NoHub {
            dataset: self.full_name(),
        })?;
        Ok(Some(access.fetch_url(url)?))
    }

    pub(super) fn records_wanted(&self) -> TableQuery<'_> {
        TableQuery {
            config: self,
            table: &self.spec.source.records,
            name: None,
        }
    }

    pub(super) fn tables_wanted(&self) -> impl Iterator<Item = (&str, TableQuery<'_>)> {
        self.spec.source.tables.iter().map(|(name, table)| {
            let wanted = TableQuery {
                config: self,
                table,
                name: Some(name),
            };
            (name.as_str(), wanted)
        })
    }

    /// How the records are read. What is left out here is never fetched.
    pub(super) fn record_settings(&self) -> TableSettings {
        TableSettings {
            columns: engine::columns(self),
            ..self.all_columns()
        }
    }

    /// The same with every column, for those who read more than the fields do.
    pub(super) fn all_columns(&self) -> TableSettings {
        table_settings(&self.spec.source.records)
    }
}

pub(super) fn table_settings(table: &Table) -> TableSettings {
    TableSettings {
        format: table.format,
        is_text: table.is_text,
        ..TableSettings::default()
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Joins the side tables with the records.
pub(super) fn prepared(config: &Config, rows: Rows, tables: Tables) -> Result<Rows, DatasetError> {
    match config.spec.prepare {
        Some(prepare) => prepare.apply(rows, tables, config.split()),
        None => Ok(rows),
    }
}

/// The files of a local copy.
pub(super) struct LocalCopy {
    records: Vec<PathBuf>,
    tables: Vec<(String, Vec<PathBuf>, Table)>,
}

impl LocalCopy {
    pub(super) fn find(config: &Config, path: &Path) -> Result<Self, DatasetError> {
        let wanted = config.records_wanted();
        let (records, folder) = if path.is_dir() {
            let found = locate::in_folder(path, &wanted)?;
            (with_member(found, wanted.member().as_deref()), path)
        } else {
            let found = context_bench_records::files(path).map_err(advised)?;
            (found, path.parent().unwrap_or(Path::new("")))
        };
        let folder = if folder == Path::new("") {
            Path::new(".")
        } else {
            folder
        };
        let mut tables = Vec::new();
        for (name, wanted) in config.tables_wanted() {
            let mut files = match locate::in_folder(folder, &wanted) {
                Ok(files) => with_member(files, wanted.member().as_deref()),
                Err(_) if wanted.table.optional => continue,
                Err(error) => return Err(error.into()),
            };
            if wanted.table.first_only {
                files.truncate(1);
            }
            tables.push((name.to_owned(), files, wanted.table.clone()));
        }
        Ok(Self { records, tables })
    }

    pub(super) fn record_files(&self) -> &[PathBuf] {
        &self.records
    }

    pub(super) fn rows(
        &self,
        config: &Config,
        settings: TableSettings,
    ) -> Result<Rows, DatasetError> {
        let mut tables = Tables::new();
        for (name, files, table) in &self.tables {
            let rows = rows::of_files(files.clone(), table_settings(table))?;
            tables.insert(name.clone(), rows.collect::<Result<_, _>>()?);
        }
        let rows = rows::of_files(self.records.clone(), settings)?;
        prepared(config, rows, tables)
    }
}

/// Archives by the member that is meant.
pub(super) fn with_member(files: Vec<PathBuf>, member: Option<&str>) -> Vec<PathBuf> {
    let Some(member) = member else {
        return files;
    };
    let is_zip = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "zip");
    files
        .into_iter()
        .map(|file| match is_zip(&file) {
            true => PathBuf::from(format!("{}#{member}", file.display())),
            false => file,
        })
        .collect()
}

/// The examples, without those that do not fit, if the user asked for that. It ends
/// after the first error that is not skipped.
struct SkippingExamples {
    examples: Examples,
    skip_bad: bool,
    tally: Tally,
    n_bad: usize,
    is_over: bool,
}

impl Iterator for SkippingExamples {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let error = match self.examples.next()? {
                Ok(example) => return Some(Ok(example)),
                Err(error) => error,
            };
            let error = match self.skip_bad {
                true => match error.into_skipped() {
                    Ok(record) => {
                        self.tally.note(self.n_bad, record);
                        self.n_bad += 1;
                        continue;
                    }
                    Err(error) => error,
                },
                false => error,
            };
            self.is_over = true;
            return Some(Err(error));
        }
        None
    }
}
