//! Errors of files as errors of datasets, with hints: files with a similar name, or the
//! files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use context_bench_error::suggest::near_matches;
use context_bench_records::RecordError;

use super::has_known_extension;
use crate::dataset::DatasetError;
use crate::model::ExampleError;

/// How many files of a folder are shown.
const SHOWN_FILES: usize = 3;

/// The error as one about a dataset.
pub(in crate::dataset) fn advised(error: RecordError) -> DatasetError {
    match error {
        RecordError::Missing { path } => missing(path),
        RecordError::Folder { path } => DatasetError::Folder {
            files: dataset_files(&path).into_iter().take(SHOWN_FILES).collect(),
            path,
        },
        RecordError::Unreadable { path, source } => DatasetError::Unreadable { path, source },
        RecordError::BadFile { problem, at } => DatasetError::BadFile { problem, at },
        RecordError::BadRecord { problem, at } => DatasetError::BadRecord { problem, at },
        RecordError::NotAMap { found, at } => DatasetError::BadExample {
            source: ExampleError::NotAMap { found },
            at,
        },
        RecordError::UnknownFormat { path } => DatasetError::UnknownFormat { path },
        other => DatasetError::Records(other),
    }
}

fn missing(path: PathBuf) -> DatasetError {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    DatasetError::Missing {
        folder: (!folder.exists()).then(|| folder.into()),
        near: near_files(&path, folder),
        path,
    }
}

/// Dataset files of the folder with a name like that of `path`.
fn near_files(path: &Path, folder: &Path) -> Vec<PathBuf> {
    let Some(typed) = path.file_name().map(|name| name.to_string_lossy()) else {
        return Vec::new();
    };
    let files = dataset_files(folder);
    let names: Vec<String> = files
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    near_matches(&typed, names.iter().map(String::as_str))
        .into_iter()
        .map(|name| path.with_file_name(name))
        .collect()
}

/// The dataset files of a folder by name; none when it cannot be listed.
fn dataset_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| has_known_extension(path) && path.is_file())
        .collect();
    files.sort();
    files
}
