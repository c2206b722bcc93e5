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
    let set = with_columns(settings.columns, |read| {
        RecordSet::of_files(paths.clone(), read.clone())
    })?;
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
    let records = with_columns(settings.columns, |read| source.records(read))?;
    Ok(stream(records))
}

/// Opens with those of the columns that are there: some are optional, and some
/// names in a template are no columns.
fn with_columns<T>(
    columns: Option<Vec<String>>,
    mut open: impl FnMut(&ReadSettings) -> Result<T, RecordError>,
) -> Result<T, DatasetError> {
    let mut read = ReadSettings {
        columns,
        ..ReadSettings::default()
    };
    let opened = match open(&read) {
        Err(RecordError::NoColumn { columns, .. }) => {
            if let Some(wanted) = &mut read.columns {
                wanted.retain(|column| columns.contains(column));
            }
            read.columns = read.columns.filter(|wanted| !wanted.is_empty());
            open(&read)
        }
        opened => opened,
    };
    opened.map_err(advised)
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
