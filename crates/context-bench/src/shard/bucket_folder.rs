//! `BucketFolder`: segments and the merged store of shards as objects of a bucket.
//!
//! A segment is put where nothing is, the merged store in place of exactly the version that it was
//! made of: whoever is late is told, and takes over what the other made.

use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use super::Shard;
use super::local_folder::unusable;
use super::shared_folder::{
    CheckIn, CheckedOut, FolderError, LocalFile, SHARDS, STORE, SegmentFile, SharedFolder,
    folder_name,
};
use crate::bucket::{Bucket, BucketError, PutCondition, PutOutcome};
use crate::store::Store;

/// A place in a bucket that all machines can reach.
#[derive(Debug)]
pub struct BucketFolder {
    bucket: Bucket,
    /// Where copies go.
    scratch: PathBuf,
}

impl BucketFolder {
    /// That place; copies of its objects go to `scratch`, by default the system's temporary folder.
    ///
    /// # Errors
    ///
    /// When the scratch folder cannot be made.
    pub fn new(bucket: Bucket, scratch: Option<&Path>) -> Result<Self, FolderError> {
        let scratch = match scratch {
            Some(dir) => dir.to_owned(),
            None => std::env::temp_dir(),
        };
        std::fs::create_dir_all(&scratch).map_err(|error| unusable(&scratch, &error))?;
        Ok(Self { bucket, scratch })
    }

    fn copied(&self, name: &str) -> Result<Option<(LocalFile, String)>, FolderError> {
        let copy = self.temporary()?.into_temp_path();
        let version = self.bucket.get(name, &copy)?;
        Ok(version.map(|version| (LocalFile::copy(copy), version)))
    }

    fn temporary(&self) -> Result<NamedTempFile, FolderError> {
        let file = tempfile::Builder::new()
            .prefix("context-bench-copy-")
            .suffix(".sqlite")
            .tempfile_in(&self.scratch);
        file.map_err(|error| unusable(&self.scratch, &error).into())
    }
}

fn object(segment: &SegmentFile) -> String {
    format!("{SHARDS}/{}", segment.name())
}

impl SharedFolder for BucketFolder {
    fn address(&self) -> String {
        self.bucket.address().to_string()
    }

    fn identity(&self) -> String {
        self.address()
    }

    fn segments(&self, plan: Option<&str>) -> Result<Vec<SegmentFile>, FolderError> {
        let beginning = format!("{SHARDS}/{}", plan.unwrap_or_default());
        let names = self.bucket.list(&beginning)?;
        let names = names.iter().filter_map(|name| {
            let name = name.strip_prefix(SHARDS)?.strip_prefix('/')?;
            SegmentFile::of_name(name)
        });
        let mut found: Vec<SegmentFile> = names.collect();
        found.sort();
        Ok(found)
    }

    fn fetch(&self, segment: &SegmentFile) -> Result<Option<LocalFile>, FolderError> {
        Ok(self.copied(&object(segment))?.map(|(file, _)| file))
    }

    /// Puts an empty object, and removes it.
    fn prepare(&self, plan: &str, shard: Shard) -> Result<(), FolderError> {
        let name = format!("{SHARDS}/{plan}/{}/.writable", folder_name(shard));
        let empty = self.temporary()?;
        self.bucket.put(&name, empty.path(), PutCondition::Any)?;
        // Others may look at the same time, and nobody takes it for a segment.
        let _ = self.bucket.remove(&name);
        Ok(())
    }

    fn publish(&self, segment: &SegmentFile, written: &Path) -> Result<(), FolderError> {
        let name = object(segment);
        match self.bucket.put(&name, written, PutCondition::Absent)? {
            PutOutcome::Stored(_) => Ok(()),
            PutOutcome::Refused => Err(BucketError::Exists {
                bucket: self.bucket.address().bucket().to_owned(),
                name,
            }
            .into()),
        }
    }

    fn withdraw(&self, segment: &SegmentFile) {
        let _ = self.bucket.remove(&object(segment));
    }

    fn has_store(&self) -> Result<bool, FolderError> {
        Ok(self.bucket.has(STORE)?)
    }

    fn fetch_store(&self) -> Result<Option<LocalFile>, FolderError> {
        Ok(self.copied(STORE)?.map(|(file, _)| file))
    }

    fn check_out(&self) -> Result<CheckedOut, FolderError> {
        let scratch = TempDir::with_prefix_in("context-bench-merge-", &self.scratch)
            .map_err(|error| unusable(&self.scratch, &error))?;
        let dir = scratch.path().join("store");
        std::fs::create_dir_all(&dir).map_err(|error| unusable(&dir, &error))?;
        let version = self.bucket.get(STORE, &dir.join(STORE))?;
        Ok(CheckedOut {
            opened: Store::open(&dir)?,
            dir,
            version,
            _scratch: Some(scratch),
        })
    }

    fn check_in(&self, store: &mut CheckedOut) -> Result<CheckIn, FolderError> {
        let whole = store.dir.with_file_name("whole.sqlite");
        let _ = std::fs::remove_file(&whole);
        Store::snapshot(&store.dir, &whole)?;
        let condition = match &store.version {
            Some(version) => PutCondition::Version(version),
            None => PutCondition::Absent,
        };
        let outcome = self.bucket.put(STORE, &whole, condition);
        let _ = std::fs::remove_file(&whole);
        match outcome? {
            PutOutcome::Stored(version) => {
                store.version = Some(version);
                Ok(CheckIn::Done)
            }
            PutOutcome::Refused => {
                let theirs = self.copied(STORE)?;
                let (file, version) = theirs.unzip();
                store.version = version;
                Ok(CheckIn::Stale(file))
            }
        }
    }
}
