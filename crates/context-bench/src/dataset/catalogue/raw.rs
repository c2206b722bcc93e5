//! The raw records of a config, for tasks that make prompts of their own.
//!
//! One file may serve many configs (`mmlu.all.test.jsonl.gz` has all 57 subjects), so
//! tables that were read are kept while tasks of the same dataset follow each other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use context_bench_records::Syntax;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::load::LocalCopy;
use super::row::Row;
use super::rows::{self, TableSettings};
use super::scope::{GIVEN, Scope, reads_whole};
use super::spec::Config;
use super::template::Template;
use super::{CatalogueError, LoadSettings};
use crate::dataset::local::advised;
use crate::dataset::{BadRecords, DatasetError, Misfit};
use crate::text::stringify::is_truthy;

/// How many tables are kept: the evaluated split, and the one of examples.
const KEPT: usize = 2;

/// Tables that were read and may be needed again.
#[derive(Debug, Default)]
pub struct RawTables {
    kept: Mutex<Vec<(Vec<PathBuf>, Arc<Table>)>>,
    bad: BadRecords,
}

/// Records with those together that `belongs_when` cannot tell apart.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Row>,
    alike: IndexMap<String, Vec<usize>>,
}

impl Config {
    /// The records of this config as its source has them, after `prepare`.
    ///
    /// # Errors
    ///
    /// When they cannot be found or read.
    pub fn records(
        &self,
        settings: &LoadSettings,
        tables: &RawTables,
    ) -> Result<Vec<Map<String, Value>>, DatasetError> {
        let Some(path) = self.local_path(settings)? else {
            let dataset = self.full_name();
            if self.spec.source.hub.is_none() {
                return Err(CatalogueError::NoSource { dataset }.into());
            }
            let access = settings.hub.as_ref();
            let access = access.ok_or(CatalogueError::NoHub { dataset })?;
            let (rows, _) = self.remote_rows(access, settings, self.all_columns())?;
            return self.own(&self.table(tables.bad.good(rows)?));
        };
        let copy = LocalCopy::find(self, &path)?;
        // Two datasets may prepare one file in different ways.
        let mut key = vec![PathBuf::from(self.spec.name())];
        key.extend_from_slice(copy.record_files());
        if let Some(table) = tables.get(&key) {
            return self.own(&table);
        }
        let rows = copy.rows(self, self.all_columns())?;
        let table = Arc::new(self.table(tables.bad.good(rows)?));
        let records = self.own(&table);
        tables.keep(key, table);
        records
    }

    fn table(&self, rows: Vec<Row>) -> Table {
        let mut alike: IndexMap<String, Vec<usize>> = IndexMap::new();
        let told_by = self.told_by();
        for (at, row) in rows.iter().enumerate() {
            let key = match &told_by {
                Some(columns) => columns
                    .iter()
                    .map(|column| row.get(column).to_string())
                    .collect::<Vec<_>>()
                    .join("\n"),
                None => at.to_string(),
            };
            match alike.get_mut(&key) {
                Some(places) => places.push(at),
                None => {
                    alike.insert(key, vec![at]);
                }
            }
        }
        Table { rows, alike }
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

    /// Those of a table that are of this config, in order.
    fn own(&self, table: &Table) -> Result<Vec<Map<String, Value>>, DatasetError> {
        let mut places: Vec<usize> = Vec::new();
        for alike in table.alike.values() {
            let Some(first) = alike.first() else { continue };
            if self.belongs(&table.rows[*first], *first)? {
                places.extend(alike);
            }
        }
        places.sort_unstable();
        Ok(places
            .into_iter()
            .map(|at| table.rows[at].record.clone().into_map())
            .collect())
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
            DatasetError::Misfit(Box::new(Misfit {
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

/// The records of files; `format` is for those whose names do not tell it.
pub(crate) fn read_files(
    files: Vec<PathBuf>,
    format: Option<Syntax>,
    bad: &BadRecords,
) -> Result<Vec<Map<String, Value>>, DatasetError> {
    let settings = TableSettings {
        format,
        ..TableSettings::default()
    };
    let rows = rows::of_files(files, settings)?;
    let rows = bad.good(rows)?;
    Ok(rows.into_iter().map(|row| row.record.into_map()).collect())
}

impl RawTables {
    /// Nothing read so far.
    pub(crate) fn new(bad: BadRecords) -> Self {
        Self {
            bad,
            ..Self::default()
        }
    }

    fn get(&self, key: &[PathBuf]) -> Option<Arc<Table>> {
        let kept = self.kept.lock().ok()?;
        let found = kept.iter().find(|(files, _)| files == key)?;
        Some(Arc::clone(&found.1))
    }

    fn keep(&self, key: Vec<PathBuf>, table: Arc<Table>) {
        if let Ok(mut kept) = self.kept.lock() {
            if kept.len() >= KEPT {
                kept.remove(0);
            }
            kept.push((key, table));
        }
    }
}
