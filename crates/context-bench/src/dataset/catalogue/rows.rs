//! Rows from files on disk, and from anything that can be read at a place.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench_records::{
    FileAt, Found, ReadAt, ReadSettings, RecordError, RecordSet, Records, Source,
};
use serde_json::Map;

use super::row::{Row, Rows};
use crate::dataset::DatasetError;
use crate::dataset::local::advised;
use crate::error::Location;

/// How the files of a table are read.
#[derive(Debug, Clone, Default)]
pub(super) struct TableSettings {
    /// The columns that are needed, when that is known.
    pub(super) columns: Option<Vec<String>>,
    /// The ending that files without a telling name are read by.
    pub(super) format: Option<String>,
    /// Each file is one record with `path` and `text`.
    pub(super) is_text: bool,
}

/// The records of files, one after the other; each is opened when its turn comes.
///
/// # Errors
///
/// When the first file cannot be opened.
pub(super) fn of_files(paths: Vec<PathBuf>, settings: TableSettings) -> Result<Rows, DatasetError> {
    if settings.is_text {
        return Ok(Box::new(paths.into_iter().map(|path| text(&path))));
    }
    if let ([path], Some(format)) = (&paths[..], &settings.format)
        && context_bench_records::Format::of(path).is_none()
    {
        let file = File::open(path).map_err(|source| DatasetError::Unreadable {
            path: path.clone(),
            source,
        })?;
        let named = format!("{}.{format}", path.display());
        return of_read_at(Arc::new(FileAt::new(file, named)), settings);
    }
    let columns = settings.columns.clone();
    let open = |columns: Option<Vec<String>>| {
        RecordSet::of_files(paths.clone(), read_settings(columns))
    };
    let set = match open(columns) {
        // Some columns are optional: then all are read.
        Err(RecordError::NoColumn { .. }) => open(None),
        set => set,
    }
    .map_err(advised)?;
    Ok(stream(Box::new(set)))
}

/// The records of one file that is read at the places that are needed.
///
/// # Errors
///
/// When it cannot be opened.
pub(super) fn of_read_at(
    file: Arc<dyn ReadAt>,
    settings: TableSettings,
) -> Result<Rows, DatasetError> {
    let mut source = Source::from_read_at(file).map_err(advised)?;
    let columns = settings.columns.clone();
    let records = match source.records(&read_settings(columns)) {
        Err(RecordError::NoColumn { .. }) => source.records(&read_settings(None)),
        records => records,
    }
    .map_err(advised)?;
    Ok(stream(records))
}

fn read_settings(columns: Option<Vec<String>>) -> ReadSettings {
    ReadSettings {
        max_records: None,
        columns,
        field: None,
    }
}

fn stream(mut records: Box<dyn Records>) -> Rows {
    Box::new(std::iter::from_fn(move || {
        let found = records.read_next()?;
        Some(match found {
            Ok(Found { record, place }) => Ok(Row {
                fields: record,
                at: Location {
                    file: records.file().to_owned(),
                    // A row of a table without lines is told by its place.
                    line: place.line.or(Some(place.index + 1)),
                    column: place.column,
                },
            }),
            Err(error) => Err(advised(error)),
        })
    }))
}

fn text(path: &Path) -> Result<Row, DatasetError> {
    let text = fs::read_to_string(path).map_err(|source| DatasetError::Unreadable {
        path: path.into(),
        source,
    })?;
    let mut fields = Map::new();
    fields.insert("path".into(), path.display().to_string().into());
    fields.insert("text".into(), text.into());
    Ok(Row {
        fields,
        at: Location::file(path),
    })
}
