//! The raw records of a config, for tasks that make prompts of their own.
//!
//! One file may serve many configs (`mmlu.all.test.jsonl.gz` has all 57 subjects), so
//! tables are kept while tasks of the same dataset follow each other. They are read only
//! as far as records are needed, and read on when another config needs more.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use context_bench_records::{Format, Syntax, TableHeader};
use serde_json::{Map, Value};

use super::load::LocalCopy;
use super::remote::{HubAccess, RemoteFiles};
use super::row::{KnownLen, Row, Rows};
use super::rows::{self, TableSettings};
use super::scope::{GIVEN, Scope, reads_whole};
use super::spec::Config;
use super::template::Template;
use super::{DatasetCatalogError, LoadSettings};
use crate::dataset::local::advised;
use crate::dataset::{BadField, BadRecords, DatasetError};
use crate::text::stringify::is_truthy;

/// How many tables are kept: the evaluated split, and the one of examples.
const KEPT: usize = 2;

/// The first records of a source, or all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawRecords {
    /// The records in order.
    pub records: Vec<Map<String, Value>>,
    /// How many the source has in all: known when all were read, or when it says so
    /// itself.
    pub n_original: Option<usize>,
}

impl RawRecords {
    /// The first `most` good rows, or all.
    fn take(mut rows: Rows, most: Option<usize>, bad: &BadRecords) -> Result<Self, DatasetError> {
        let (good, is_whole) = bad.good(&mut rows, most)?;
        Ok(Self {
            n_original: match is_whole {
                true => Some(good.len()),
                false => told(rows.known_len(), bad),
            },
            records: good.into_iter().map(|row| row.record.into_map()).collect(),
        })
    }
}

/// What a source says about how many rows it has; those that would be left out of them
/// are not known without reading.
fn told(known_len: &KnownLen, bad: &BadRecords) -> Option<usize> {
    known_len.get().copied().filter(|_| !bad.skips())
}

/// Tables that were read, in part or whole, and may be needed again.
#[derive(Default)]
pub struct RawTables {
    kept: Mutex<Vec<(Vec<PathBuf>, Table)>>,
    bad: BadRecords,
}

/// Records, grouped as `belongs_when` distinguishes them, and what is still to be
/// read.
struct Table {
    rows: Vec<Row>,
    /// The kind of each row: those of one kind belong together, or not at all.
    kinds: Vec<usize>,
    kind_of: HashMap<String, usize>,
    rest: Rows,
    /// Whether nothing is left to read.
    is_over: bool,
    /// What it was opened for; no more is available from it.
    most: Option<usize>,
}

impl Table {
    fn new(rest: Rows, most: Option<usize>) -> Self {
        Self {
            rows: Vec::new(),
            kinds: Vec::new(),
            kind_of: HashMap::new(),
            rest,
            is_over: false,
            most,
        }
    }

    /// Whether it can give that many records.
    fn serves(&self, most: Option<usize>) -> bool {
        match (self.most, most) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(most)) => most <= own,
        }
    }

    /// Reads one more row; false when there is none.
    fn read_on(
        &mut self,
        told_by: Option<&BTreeSet<&str>>,
        bad: &BadRecords,
    ) -> Result<bool, DatasetError> {
        while !self.is_over {
            let Some(row) = self.rest.next() else {
                self.is_over = true;
                break;
            };
            let Some(row) = bad.pass(row)? else { continue };
            let kind = match told_by {
                None => self.rows.len(),
                Some(columns) => {
                    let values = columns.iter().map(|column| row.get(column).to_string());
                    let n_kinds = self.kind_of.len();
                    let key = values.collect::<Vec<_>>().join("\n");
                    *self.kind_of.entry(key).or_insert(n_kinds)
                }
            };
            self.kinds.push(kind);
            self.rows.push(row);
            return Ok(true);
        }
        Ok(false)
    }
}

impl Config {
    /// The records of this config as its source has them, after `prepare`: the first
    /// `max_examples` of the settings, or all. No more of the source is read than these
    /// need.
    ///
    /// # Errors
    ///
    /// When they cannot be found or read.
    pub fn records(
        &self,
        settings: &LoadSettings,
        tables: &RawTables,
    ) -> Result<RawRecords, DatasetError> {
        let most = settings.max_examples;
        let copy = match self.local_path(settings)? {
            Some(path) => Some(LocalCopy::find(self, &path)?),
            None => None,
        };
        let key = self.table_key(copy.as_ref());
        // What is on the hub is read again from the cache, unless others need the rest.
        let keeps = copy.is_some() || self.variant.belongs_when.is_some();
        // A table that an error ends is not kept.
        let kept = tables.take(&key).filter(|table| table.serves(most));
        let mut table = match kept {
            Some(table) => table,
            None => self.open_table(copy, settings, tables)?,
        };
        let records = self.own(&mut table, most, &tables.bad)?;
        if keeps {
            tables.keep(key, table);
        }
        Ok(records)
    }

    /// What a table is known by: two datasets may prepare one file in different ways, and
    /// distinguish its records by different columns.
    fn table_key(&self, copy: Option<&LocalCopy>) -> Vec<PathBuf> {
        let mut key = vec![PathBuf::from(self.spec.name())];
        match copy {
            Some(copy) => key.extend_from_slice(copy.record_files()),
            None => {
                let wanted = self.records_wanted();
                key.push("hub".into());
                key.push(wanted.hub_config().unwrap_or_default().into());
                key.push(wanted.split().unwrap_or_default().into());
                key.extend(wanted.patterns().into_iter().map(PathBuf::from));
                key.extend(wanted.member().map(PathBuf::from));
            }
        }
        let told_by = self.told_by();
        key.extend(told_by.into_iter().flatten().map(PathBuf::from));
        key
    }

    fn open_table(
        &self,
        copy: Option<LocalCopy>,
        settings: &LoadSettings,
        tables: &RawTables,
    ) -> Result<Table, DatasetError> {
        // The place of a row is that of its record only where none is left out or made
        // of another.
        let most = settings
            .max_examples
            .filter(|_| self.takes_every_row() && !tables.bad.skips());
        let columns = TableSettings {
            most,
            ..self.all_columns()
        };
        let rows = match copy {
            Some(copy) => copy.rows(self, columns)?,
            None => {
                let dataset = self.full_name();
                if self.spec.source.hub.is_none() {
                    return Err(DatasetCatalogError::NoSource { dataset }.into());
                }
                let access = settings.hub.as_ref();
                let access = access.ok_or(DatasetCatalogError::NoHub { dataset })?;
                self.remote_rows(access, settings, columns)?.0
            }
        };
        Ok(Table::new(rows, most))
    }

    /// Whether each row of the source is a record of this config.
    fn takes_every_row(&self) -> bool {
        self.variant.belongs_when.is_none() && self.spec.prepare.is_none()
    }

    /// The columns that `belongs_when` reads; `None` when it reads more than columns.
    fn told_by(&self) -> Option<BTreeSet<&str>> {
        let belongs = self.variant.belongs_when.iter();
        let names: BTreeSet<&str> = belongs
            .flat_map(Template::names)
            .map(String::as_str)
            .filter(|name| !["config", "split"].contains(name))
            .collect();
        let more = names.iter().any(|name| GIVEN.contains(name));
        (!more).then_some(names)
    }

    /// The first of a table that are of this config, in order.
    fn own(
        &self,
        table: &mut Table,
        most: Option<usize>,
        bad: &BadRecords,
    ) -> Result<RawRecords, DatasetError> {
        let told_by = self.told_by();
        let mut belongs: Vec<Option<bool>> = Vec::new();
        let mut records = Vec::new();
        let mut at = 0;
        while most.is_none_or(|most| records.len() < most) {
            if at == table.rows.len() && !table.read_on(told_by.as_ref(), bad)? {
                let n_original = Some(records.len());
                return Ok(RawRecords {
                    records,
                    n_original,
                });
            }
            let (row, kind) = (&table.rows[at], table.kinds[at]);
            if kind >= belongs.len() {
                belongs.resize(kind + 1, None);
            }
            let is_own = match belongs[kind] {
                Some(known) => known,
                None => self.belongs(row, at)?,
            };
            belongs[kind] = Some(is_own);
            if is_own {
                records.push(row.record.clone().into_map());
            }
            at += 1;
        }
        let says = self.takes_every_row().then(|| table.rest.known_len());
        Ok(RawRecords {
            records,
            n_original: says.and_then(|known_len| told(known_len, bad)),
        })
    }

    fn belongs(&self, row: &Row, index: usize) -> Result<bool, DatasetError> {
        let Some(template) = &self.variant.belongs_when else {
            return Ok(true);
        };
        let (config, split) = (self.name.clone().into(), self.split.clone().into());
        let scope = Scope {
            whole: reads_whole(template).then(|| row.record.clone().into()),
            record: row.record.clone(),
            index: index.into(),
            config: &config,
            split: &split,
            item: None,
            options_text: None,
        };
        let value = template.value(&scope).map_err(|problem| {
            DatasetError::BadField(Box::new(BadField {
                dataset: self.full_name(),
                field: template.key().to_owned(),
                problem,
                record: index + 1,
                at: row.at.clone(),
            }))
        })?;
        Ok(is_truthy(&value))
    }
}

/// The files that a path stands for: itself, those of a folder or of a pattern.
pub(crate) fn data_files(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    context_bench_records::files(path).map_err(advised)
}

/// Where records are for which there is no description.
#[derive(Clone)]
pub(crate) enum Files<'a> {
    /// On this machine; the format is for those whose names do not show it.
    Local(Vec<PathBuf>, Option<Syntax>),
    Hub(RemoteFiles, &'a HubAccess),
}

impl Files<'_> {
    /// Whether all are CSV or TSV files, whose values are texts.
    pub(crate) fn are_tables(&self) -> bool {
        match self {
            Self::Local(files, syntax) => files.iter().all(|file| {
                let is_meant = matches!(syntax, Some(Syntax::Table { .. }));
                rows::is_table(file) || (is_meant && Format::of(file).is_none())
            }),
            Self::Hub(files, _) => files.are_tables(),
        }
    }

    /// The first `most` records, or all. No more is fetched or read than these need.
    ///
    /// # Errors
    ///
    /// When something cannot be fetched or read.
    pub(crate) fn read(
        self,
        most: Option<usize>,
        header: &TableHeader,
        bad: &BadRecords,
    ) -> Result<RawRecords, DatasetError> {
        let settings = TableSettings {
            header: header.clone(),
            most: most.filter(|_| !bad.skips()),
            ..TableSettings::default()
        };
        let rows = match self {
            Self::Local(files, format) => {
                rows::of_files(files, TableSettings { format, ..settings })?
            }
            Self::Hub(files, access) => files.rows(most, access, settings)?,
        };
        RawRecords::take(rows, most, bad)
    }
}

/// The first records of a file by its address, when it pays to leave it where it is.
///
/// # Errors
///
/// When it cannot be reached or read.
pub(crate) fn read_url(
    url: &str,
    most: usize,
    access: &HubAccess,
    bad: &BadRecords,
) -> Result<Option<RawRecords>, DatasetError> {
    let settings = TableSettings {
        most: Some(most).filter(|_| !bad.skips()),
        ..TableSettings::default()
    };
    let rows = access.url_rows(url, most, settings)?;
    rows.map(|rows| RawRecords::take(rows, Some(most), bad))
        .transpose()
}

impl RawTables {
    /// Nothing read so far.
    pub(crate) fn new(bad: BadRecords) -> Self {
        Self {
            bad,
            ..Self::default()
        }
    }

    /// The table of that key, which is then no longer kept.
    fn take(&self, key: &[PathBuf]) -> Option<Table> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| known == key)?;
        Some(kept.remove(at).1)
    }

    fn keep(&self, key: Vec<PathBuf>, table: Table) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((key, table));
    }
}

impl fmt::Debug for RawTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawTables")
            .field("bad", &self.bad)
            .finish_non_exhaustive()
    }
}
