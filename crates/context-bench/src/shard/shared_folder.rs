//! `SharedFolder`: where the shards of a run meet, a folder that all machines see or a bucket.
//!
//! ```text
//! FOLDER/store.sqlite                                  merged; shards only read it
//! FOLDER/shards/PLAN/0003-of-0064/RUN-000001.sqlite    a segment
//! ```
//!
//! Segments are whole when others see them, and are never changed. Nobody opens a file that another
//! machine writes.

use std::fmt;
use std::path::{Path, PathBuf};

use tempfile::{TempDir, TempPath};

use super::Shard;
use crate::bucket::BucketError;
use crate::error::Hint;
use crate::store::{Opened, StoreError};

/// The folder of segments.
pub(super) const SHARDS: &str = "shards";
/// The merged store.
pub(super) const STORE: &str = "store.sqlite";
/// How the names of segments end.
pub(super) const SUFFIX: &str = ".sqlite";

/// Where segments and the merged store of shards are.
pub trait SharedFolder: fmt::Debug + Send + Sync {
    /// How users write it.
    fn address(&self) -> String;

    /// The same for two ways of writing the same folder.
    fn identity(&self) -> String;

    /// The segments, in the order of their names; of one plan if the beginning of its id is given.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    fn segments(&self, plan: Option<&str>) -> Result<Vec<SegmentFile>, FolderError>;

    /// A segment as a file of this machine; `None` if it was replaced meanwhile.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn fetch(&self, segment: &SegmentFile) -> Result<Option<LocalFile>, FolderError>;

    /// Sees to it that segments of a shard can be published, before anything is paid for them.
    ///
    /// # Errors
    ///
    /// When they cannot.
    fn prepare(&self, plan: &str, shard: Shard) -> Result<(), FolderError>;

    /// Puts a segment in its place: whole, or not at all. The same one again is no error.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or another one is there.
    fn publish(&self, segment: &SegmentFile, written: &Path) -> Result<(), FolderError>;

    /// Removes a segment that a larger one has replaced. Two of the same cost nothing but room, so
    /// that it may fail.
    fn withdraw(&self, segment: &SegmentFile);

    /// Whether there is a merged store.
    ///
    /// # Errors
    ///
    /// When that cannot be asked.
    fn has_store(&self) -> Result<bool, FolderError>;

    /// The merged store as a file of this machine that is only read; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn fetch_store(&self) -> Result<Option<LocalFile>, FolderError>;

    /// Opens the merged store to write to it; it is made when missing.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    fn check_out(&self) -> Result<CheckedOut, FolderError>;

    /// Puts a merged store that was written to in its place.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn check_in(&self, store: &mut CheckedOut) -> Result<CheckIn, FolderError>;
}

/// A segment in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct SegmentFile {
    /// The id of its plan.
    pub plan: String,
    /// Which shard wrote it.
    pub shard: Shard,
    /// The name of the file.
    pub file: String,
}

impl SegmentFile {
    pub(super) fn new(plan: &str, shard: Shard, file: impl Into<String>) -> Self {
        Self {
            plan: plan.to_owned(),
            shard,
            file: file.into(),
        }
    }

    /// Its name, the same wherever the folder is.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.plan, folder_name(self.shard), self.file)
    }

    /// The segment of a name; `None` for names of something else.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (plan, rest) = name.split_once('/')?;
        let (folder, file) = rest.split_once('/')?;
        let (index, count) = folder.split_once("-of-")?;
        let shard = Shard::new(index.parse().ok()?, count.parse().ok()?).ok()?;
        // What begins with a dot is not whole yet.
        let is_segment = file.ends_with(SUFFIX) && !file.starts_with('.') && !file.contains('/');
        is_segment.then(|| Self::new(plan, shard, file))
    }
}

pub(super) fn folder_name(shard: Shard) -> String {
    format!("{:04}-of-{:04}", shard.index(), shard.count())
}

/// A file of this machine, which may be a copy that is gone with this value.
#[derive(Debug)]
pub struct LocalFile(LocalPath);

#[derive(Debug)]
enum LocalPath {
    There(PathBuf),
    Copy(TempPath),
}

impl LocalFile {
    pub(super) fn there(path: PathBuf) -> Self {
        Self(LocalPath::There(path))
    }

    pub(super) fn copy(path: TempPath) -> Self {
        Self(LocalPath::Copy(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match &self.0 {
            LocalPath::There(path) => path,
            LocalPath::Copy(path) => path,
        }
    }
}

/// A merged store that is written to.
pub struct CheckedOut {
    /// The store, with what there is to say about it.
    pub opened: Opened,
    /// The folder that it is in.
    pub(super) dir: PathBuf,
    /// What it was made of, where others may write too; `None`: there was none.
    pub(super) version: Option<String>,
    pub(super) _scratch: Option<TempDir>,
}

/// What became of a merged store that was put in its place.
#[derive(Debug)]
pub enum CheckIn {
    /// It is there.
    Done,
    /// Somebody else was faster; this is what they made, if it is still there.
    Stale(Option<LocalFile>),
}

/// Why a shared folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// A file or store of this machine.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bucket.
    #[error(transparent)]
    Bucket(#[from] BucketError),
}

impl FolderError {
    /// Whether the same may work later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Store(_) => false,
            Self::Bucket(error) => error.is_temporary(),
        }
    }
}

impl Hint for FolderError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Bucket(error) => error.hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_segments_are_read_back() {
        let shard = Shard::new(3, 64).expect("a shard");
        let segment = SegmentFile::new("abc", shard, "run-1-000001.sqlite");
        assert_eq!(segment.name(), "abc/0003-of-0064/run-1-000001.sqlite");
        assert_eq!(SegmentFile::of_name(&segment.name()), Some(segment));
        for name in [
            "",
            "abc",
            "abc/0003-of-0064",
            "abc/0003-of-0064/.x.sqlite",
            "abc/0003-of-0064/x.sqlite.part",
            "abc/0003-of-0064/y/x.sqlite",
            "abc/0064-of-0064/x.sqlite",
            "abc/three/x.sqlite",
        ] {
            assert_eq!(SegmentFile::of_name(name), None, "{name}");
        }
    }
}
