//! `LocalFolder`: a folder that all machines see, on whatever file system.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::Shard;
use super::shared_folder::{
    CheckIn, CheckedOut, FolderError, LocalFile, SHARDS, STORE, SegmentFile, SharedFolder,
    folder_name,
};
use crate::store::{Cause, Store, StoreError};

/// A folder that all machines see.
#[derive(Debug, Clone)]
pub struct LocalFolder {
    dir: PathBuf,
}

impl LocalFolder {
    /// That folder, which need not be there yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn path(&self, segment: &SegmentFile) -> PathBuf {
        self.dir.join(SHARDS).join(segment.name())
    }

    fn listed(&self, plan: Option<&str>) -> io::Result<Vec<SegmentFile>> {
        let mut found = Vec::new();
        for (of, plan_dir) in folders(&self.dir.join(SHARDS))? {
            if plan.is_some_and(|plan| !of.starts_with(plan)) {
                continue;
            }
            for (folder, shard_dir) in folders(&plan_dir)? {
                for entry in listed(&shard_dir)? {
                    let file = entry?.file_name();
                    let name = format!("{of}/{folder}/{}", file.to_string_lossy());
                    found.extend(SegmentFile::of_name(&name));
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

impl SharedFolder for LocalFolder {
    fn address(&self) -> String {
        self.dir.display().to_string()
    }

    fn identity(&self) -> String {
        let dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        dir.display().to_string()
    }

    fn segments(&self, plan: Option<&str>) -> Result<Vec<SegmentFile>, FolderError> {
        self.listed(plan)
            .map_err(|error| unusable(&self.dir, &error).into())
    }

    fn fetch(&self, segment: &SegmentFile) -> Result<Option<LocalFile>, FolderError> {
        let path = self.path(segment);
        Ok(path.exists().then(|| LocalFile::there(path)))
    }

    fn prepare(&self, plan: &str, shard: Shard) -> Result<(), FolderError> {
        let target = self.dir.join(SHARDS).join(plan).join(folder_name(shard));
        fs::create_dir_all(&target).map_err(|error| unusable(&target, &error).into())
    }

    fn publish(&self, segment: &SegmentFile, written: &Path) -> Result<(), FolderError> {
        let place = self.path(segment);
        put_in_place(written, &place).map_err(|error| unusable(&place, &error).into())
    }

    fn withdraw(&self, segment: &SegmentFile) {
        let _ = fs::remove_file(self.path(segment));
    }

    fn has_store(&self) -> Result<bool, FolderError> {
        Ok(Store::exists(&self.dir))
    }

    fn fetch_store(&self) -> Result<Option<LocalFile>, FolderError> {
        Ok(Store::exists(&self.dir).then(|| LocalFile::there(self.dir.join(STORE))))
    }

    fn check_out(&self) -> Result<CheckedOut, FolderError> {
        Ok(CheckedOut {
            opened: Store::open(&self.dir)?,
            dir: self.dir.clone(),
            version: None,
            _scratch: None,
        })
    }

    /// What was written is there already.
    fn check_in(&self, _: &mut CheckedOut) -> Result<CheckIn, FolderError> {
        Ok(CheckIn::Done)
    }
}

/// What is in a folder; nothing if it is not there.
fn listed(dir: &Path) -> io::Result<Vec<io::Result<fs::DirEntry>>> {
    match fs::read_dir(dir) {
        Ok(entries) => Ok(entries.collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn folders(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in listed(dir)? {
        let path = entry?.path();
        if path.is_dir()
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
        {
            found.push((name.to_owned(), path.clone()));
        }
    }
    Ok(found)
}

/// Copies a segment to where others see it: whole, or not at all.
fn put_in_place(written: &Path, place: &Path) -> io::Result<()> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let part = place.with_file_name(format!(".{name}.part"));
    let copied = fs::copy(written, &part)
        .and_then(|_| File::open(&part)?.sync_all())
        .and_then(|()| fs::rename(&part, place));
    if copied.is_err() {
        let _ = fs::remove_file(&part);
    }
    copied?;
    // The name too must outlive a power cut; not every system can do that.
    let _ = place
        .parent()
        .map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

pub(super) fn unusable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unusable {
        path: path.to_owned(),
        problem: error.to_string(),
        cause: Cause::of_io(error),
    }
}
