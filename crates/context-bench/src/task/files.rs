//! What `dataset_path` names: a repository of the hub, a folder, or a builder such as
//! `json` with its `data_files`.

use std::path::{Path, PathBuf};

use context_bench_error::suggest::quoted_list;
use context_bench_records::TableHeader;
use context_bench_tasks::{Error, Result};

use super::builder::{Builder, Part};
use super::index::told;
use super::kwargs::Kwargs;
use super::typed;
use crate::dataset::catalog::{self, Files, HubAccess, RawRecords};
use crate::dataset::{BadRecords, DatasetError};

/// The first records of a file, a folder or a pattern of files, or all.
pub(super) fn read(
    path: &Path,
    most: Option<usize>,
    bad: &BadRecords,
) -> std::result::Result<RawRecords, DatasetError> {
    let files = Files::Local(catalog::data_files(path)?, None);
    typed_if_table(&files, most, &TableHeader::Row, bad)
}

/// Records of files; the columns of tables with their types.
pub(super) fn typed_if_table(
    files: &Files<'_>,
    most: Option<usize>,
    header: &TableHeader,
    bad: &BadRecords,
) -> std::result::Result<RawRecords, DatasetError> {
    let read = |most| files.clone().read(most, header, bad);
    match files.are_tables() {
        true => typed::read(most, read),
        false => read(most),
    }
}

/// A file serves the evaluated split, and others only when its name says so: a test set
/// must never give the examples of its own prompts.
pub(super) fn check_split(file: &Path, split: &str, evaluated: &str) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if split == evaluated || catalog::is_part(&name, split) {
        return Ok(());
    }
    Err(Error::new(format!(
        "`{}` is one file, used for split `{evaluated}`",
        file.display()
    )))
}

/// Where the records of a task are.
pub(super) struct Origin<'t> {
    /// `dataset_path`.
    pub(super) path: &'t str,
    /// A local copy of it.
    pub(super) copy: Option<PathBuf>,
    /// `dataset_name`.
    pub(super) name: Option<&'t str>,
    pub(super) kwargs: Kwargs,
    /// The folder of the task file.
    pub(super) folder: Option<&'t Path>,
    pub(super) hub: Option<&'t HubAccess>,
    pub(super) bad: &'t BadRecords,
}

impl Origin<'_> {
    /// The first `most` records of a split, or all.
    pub(super) fn records(&self, split: &str, most: Option<usize>) -> Result<RawRecords> {
        if self.copy.is_none()
            && let Some(builder) = Builder::named(self.path)?
        {
            return self.built(builder, split, most);
        }
        if let Some(local) = self.copy.clone().or_else(|| self.local(self.path)) {
            return self.of_local(&local, split, most);
        }
        if self.path.starts_with(['.', '/', '~', '\\']) {
            return Err(Error::new(format!("there is no folder `{}`", self.path))
                .with_hint("paths start at the current folder, or at the file they stand in"));
        }
        let hub = self.hub.ok_or_else(|| {
            Error::new(format!(
                "`{}` is on the hub, which is not at hand",
                self.path
            ))
        })?;
        let revision = self.kwargs.revision.as_deref();
        let files = match self.kwargs.patterns(split)? {
            Some(patterns) => {
                let folder = self.kwargs.data_dir.as_deref();
                let inside = |pattern: &&str| match folder {
                    Some(folder) => format!("{}/{pattern}", folder.trim_end_matches('/')),
                    None => (*pattern).to_owned(),
                };
                let patterns: Vec<String> = patterns.iter().map(inside).collect();
                hub.named_files(self.path, revision, &patterns)
            }
            None => hub.split_files(self.path, revision, self.name, split),
        };
        let files = files.map_err(|error| told(&error))?;
        let files = Files::Hub(files, hub);
        let records = typed_if_table(&files, most, &self.kwargs.header, self.bad);
        records.map_err(|error| told(&error))
    }

    /// A path that is there: from the working folder, else from the task file's.
    fn local(&self, path: &str) -> Option<PathBuf> {
        let here = PathBuf::from(path);
        if here.exists() {
            return Some(here);
        }
        let beside = self.folder?.join(path);
        beside.exists().then_some(beside)
    }

    fn of_local(&self, path: &Path, split: &str, most: Option<usize>) -> Result<RawRecords> {
        if !path.is_dir() {
            let shown = path.display();
            return Err(Error::new(format!("`{shown}` is not a folder")).with_hint(
                "for single files write `dataset_path: json` with `data_files` by split",
            ));
        }
        let mut folder = path.to_owned();
        if let Some(inside) = &self.kwargs.data_dir {
            folder.push(inside);
        }
        let files = match self.kwargs.patterns(split)? {
            Some(patterns) => {
                let mut files = Vec::new();
                for pattern in patterns {
                    let found = catalog::data_files(&folder.join(pattern));
                    files.extend(found.map_err(|error| told(&error))?);
                }
                files
            }
            None => catalog::split_files(&folder, self.name, split).map_err(|found| {
                let config = self.name.map(|name| format!("config `{name}`, "));
                let message = format!(
                    "no file for {}split `{split}` in `{}`",
                    config.unwrap_or_default(),
                    folder.display()
                );
                let hint = match found.is_empty() {
                    true => "there are no files of records in it".to_owned(),
                    false => format!("it has {}", quoted_list(&found, "and")),
                };
                Error::new(message).with_hint(hint)
            })?,
        };
        let files = Files::Local(files, None);
        let records = typed_if_table(&files, most, &self.kwargs.header, self.bad);
        records.map_err(|error| told(&error))
    }

    /// Files named one by one.
    fn built(&self, builder: Builder, split: &str, most: Option<usize>) -> Result<RawRecords> {
        let patterns = match (self.kwargs.patterns(split)?, &self.kwargs.data_dir) {
            (Some(patterns), _) => patterns,
            (None, Some(folder)) => {
                let local = self.local(folder).ok_or_else(|| missing(folder))?;
                let files = Self::of_folder(&local, split)?;
                let header = &self.kwargs.header;
                return builder.read(vec![Part::Local(files)], most, header, self.bad);
            }
            (None, None) => {
                return Err(
                    Error::new(format!("`dataset_path: {}` needs files", self.path))
                        .with_hint("write `dataset_kwargs: {data_files: {test: docs.jsonl}}`"),
                );
            }
        };
        let mut parts: Vec<Part<'_>> = Vec::new();
        for pattern in patterns {
            if pattern.starts_with("https://") || pattern.starts_with("http://") {
                let hub = self.hub.ok_or_else(|| {
                    Error::new(format!(
                        "`{pattern}` cannot be fetched: there is no network access"
                    ))
                })?;
                parts.push(Part::Url(pattern, hub));
                continue;
            }
            let pattern = match &self.kwargs.data_dir {
                Some(folder) => format!("{}/{pattern}", folder.trim_end_matches('/')),
                None => pattern.to_owned(),
            };
            let files = self.expanded(&pattern)?;
            match parts.last_mut() {
                Some(Part::Local(before)) => before.extend(files),
                _ => parts.push(Part::Local(files)),
            }
        }
        builder.read(parts, most, &self.kwargs.header, self.bad)
    }

    fn of_folder(folder: &Path, split: &str) -> Result<Vec<PathBuf>> {
        catalog::split_files(folder, None, split).map_err(|found| {
            Error::new(format!(
                "no file for split `{split}` in `{}`",
                folder.display()
            ))
            .with_hint(format!("it has {}", quoted_list(&found, "and")))
        })
    }

    /// The files of a path or pattern, from the working folder or the task file's.
    fn expanded(&self, pattern: &str) -> Result<Vec<PathBuf>> {
        let here = catalog::data_files(Path::new(pattern));
        if let Ok(files) = &here
            && files.iter().all(|file| file.exists())
        {
            return Ok(files.clone());
        }
        if let Some(folder) = self.folder
            && let Ok(files) = catalog::data_files(&folder.join(pattern))
            && files.iter().all(|file| file.exists())
        {
            return Ok(files);
        }
        Err(missing(pattern))
    }
}

fn missing(path: &str) -> Error {
    Error::new(format!("there is no file `{path}`"))
        .with_hint("paths start at the current folder, or at the file they stand in")
}
