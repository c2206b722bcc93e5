//! Rows from files on disk, and from anything that can be read at a place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench_records::{
    Format, ReadAt, ReadSettings, RecordError, RecordSet, Records, Source, Syntax, TableHeader,
};
use serde_json::Map;

use super::row::{KnownLen, Row, RowBatch, Rows};
use crate::dataset::DatasetError;
use crate::dataset::local::advised;
use crate::error::Place;

/// How the files of a table are read.
#[derive(Debug, Clone, Default)]
pub(super) struct TableSettings {
    /// The columns that are needed, when that is known.
    pub(super) columns: Option<Vec<String>>,
    /// How files are written whose names do not decide it.
    pub(super) format: Option<Syntax>,
    /// Where the columns of CSV files have their names from.
    pub(super) header: TableHeader,
    /// Each file is one record with `path` and `text`.
    pub(super) is_text: bool,
    /// No record is wanted beyond this one: of a table by columns, as much less is
    /// fetched. Other formats are read only as far as their records are taken.
    pub(super) most: Option<usize>,
}

/// The records of files, one after the other; each is opened when its turn comes.
///
/// # Errors
///
/// When the first file cannot be opened.
pub(super) fn of_files(paths: Vec<PathBuf>, settings: TableSettings) -> Result<Rows, DatasetError> {
    if settings.is_text {
        return Ok(Rows::new(paths.into_iter().map(|path| text(&path))));
    }
    if let Some(syntax) = settings.format
        && paths.iter().all(|path| is_undecided(path))
    {
        let rows = paths.into_iter().map(move |path| {
            let opened = Source::open_as(&path, syntax);
            let read = ReadSettings {
                header: settings.header.clone(),
                ..ReadSettings::default()
            };
            let records = opened.and_then(|mut source| source.records(&read));
            records.map(stream).map_err(advised)
        });
        return Ok(Rows::new(rows.flat_map(|rows| {
            rows.unwrap_or_else(|error| Rows::new(std::iter::once(Err(error))))
        })));
    }
    let most = settings
        .most
        .filter(|_| paths.iter().all(|path| is_parquet(path)));
    let set = with_columns(settings.columns, most, settings.header, |read| {
        RecordSet::of_files(paths.clone(), read.clone())
    })?;
    Ok(stream(Box::new(set)))
}

/// Whether the name is that of a CSV or TSV file.
pub(super) fn is_table(path: &Path) -> bool {
    let syntax = Format::of(path).map(|format| format.syntax);
    matches!(syntax, Some(Syntax::Table { .. }))
}

fn is_parquet(path: &Path) -> bool {
    Format::of(path).is_some_and(|format| format.syntax == Syntax::Parquet)
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
    let most = settings.most.filter(|_| is_parquet(Path::new(file.name())));
    let mut source = Source::from_read_at(file).map_err(advised)?;
    let header = settings.header;
    let records = with_columns(settings.columns, most, header, |read| source.records(read))?;
    Ok(stream(records))
}

/// Opens with those of the columns that are there: some are optional, and some
/// names in a template are not columns.
fn with_columns<T>(
    columns: Option<Vec<String>>,
    max_records: Option<usize>,
    header: TableHeader,
    mut open: impl FnMut(&ReadSettings) -> Result<T, RecordError>,
) -> Result<T, DatasetError> {
    let mut read = ReadSettings {
        columns,
        max_records,
        header,
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

/// So many batches share a copy of the name of their file. Batches are used on
/// other threads while the next are read, and a count of users that two threads
/// change slows both.
const SHARED_BY: usize = 256;

fn stream(mut records: Box<dyn Records>) -> Rows {
    let mut file: Arc<str> = records.file().to_string_lossy().into();
    let mut sharing = 0;
    let known_len = KnownLen::default();
    if let Some(len) = records.known_len() {
        let _ = known_len.set(len);
    }
    let rows = Rows::of_batches(std::iter::from_fn(move || {
        let batch = match records.read_batch()? {
            Ok(batch) => batch,
            Err(error) => return Some(RowBatch::One(Some(Box::new(Err(advised(error)))))),
        };
        sharing += 1;
        let name = records.file().to_string_lossy();
        if sharing > SHARED_BY || *file != *name {
            file = name.into();
            sharing = 0;
        }
        let file = Arc::clone(&file);
        Some(RowBatch::Read { file, batch })
    }));
    rows.with_known_len(known_len)
}

fn text(path: &Path) -> Result<Row, DatasetError> {
    let text = fs::read_to_string(path).map_err(|source| DatasetError::Unreadable {
        path: path.into(),
        source,
    })?;
    let mut map = Map::new();
    map.insert("path".into(), path.display().to_string().into());
    map.insert("text".into(), text.into());
    Ok(Row {
        record: map.into(),
        at: Place::path(path),
    })
}
