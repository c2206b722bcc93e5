//! Rows from files on disk, and from anything that can be read at a place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench_records::{
    Format, Found, ReadAt, ReadSettings, RecordError, RecordSet, Records, Source, Syntax,
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
    /// How files are written whose names do not decide it.
    pub(super) format: Option<Syntax>,
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
    if let Some(syntax) = settings.format
        && paths.iter().all(|path| is_undecided(path))
    {
        let rows = paths.into_iter().map(move |path| {
            let opened = Source::open_as(&path, syntax);
            let records = opened.and_then(|mut source| source.records(&ReadSettings::default()));
            records.map(stream).map_err(advised)
        });
        return Ok(Box::new(rows.flat_map(|rows| {
            rows.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
        })));
    }
    let set = with_columns(settings.columns, |read| {
        RecordSet::of_files(paths.clone(), read.clone())
    })?;
    Ok(stream(Box::new(set)))
}

/// Whether the name leaves open how a file is written: none, or `.json`, which
/// is used for JSON Lines as well.
fn is_undecided(path: &Path) -> bool {
    Format::of(path).is_none_or(|format| format.syntax == Syntax::Json)
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
    let mut file: Arc<Path> = records.file().into();
    Box::new(std::iter::from_fn(move || {
        let found = records.read_next()?;
        if file.as_os_str() != records.file().as_os_str() {
            file = records.file().into();
        }
        Some(match found {
            Ok(Found { record, place }) => Ok(Row {
                fields: record,
                at: Location {
                    file: Arc::clone(&file),
                    line: place.line,
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
