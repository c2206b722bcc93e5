//! Whether files in the cache still are what the hub called them.
//!
//! A download is checked before it gets its name. What happens to it afterwards (a
//! disk that forgets, another program that writes) shows only when it is read again,
//! and in a Parquet file a changed bit is most often a changed letter. So a file is
//! checked once more when a client first uses it, unless it is so large that
//! reading all of it would cost more than the few records that may be wanted.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::cache::RepoCache;
use crate::error::HubError;
use crate::file::{Checksum, ChecksumBuilder, RemoteFile};

/// Larger files are checked when they are downloaded, and not again.
const LARGEST: u64 = 256 << 20;

/// What one client has looked at.
#[derive(Debug, Default)]
pub(crate) struct VerifiedFiles(Mutex<HashSet<PathBuf>>);

impl VerifiedFiles {
    /// A file of the cache, unless it is damaged: then it is removed, so that it is
    /// fetched again.
    ///
    /// # Errors
    ///
    /// When it is damaged and may not be fetched.
    pub(crate) fn found(
        &self,
        cache: &RepoCache,
        file: &RemoteFile,
        offline: bool,
    ) -> Result<Option<PathBuf>, HubError> {
        let Some(path) = cache.found(file) else {
            return Ok(None);
        };
        let Some(checksum) = &file.checksum else {
            return Ok(Some(path));
        };
        if self.is_whole(&path, checksum, file.size) {
            return Ok(Some(path));
        }
        if offline {
            return Err(HubError::Damaged {
                path: file.shown(),
                file: path,
            });
        }
        // The blob behind the link, or the copy where links are impossible.
        let blob = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let _ = fs::remove_file(blob);
        Ok(None)
    }

    /// Whether a file has this checksum, as far as that is looked at. One that cannot
    /// be read is for its reader to report.
    pub(crate) fn is_whole(&self, path: &Path, checksum: &Checksum, size: u64) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if size > LARGEST || known.contains(path) {
            return true;
        }
        let whole = sum(path, checksum, size).is_none_or(|found| found == checksum.as_str());
        if whole {
            known.insert(path.to_owned());
        }
        whole
    }
}

fn sum(path: &Path, checksum: &Checksum, size: u64) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut sum = ChecksumBuilder::new(Some(checksum), size);
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return sum.finish(),
            n => sum.update(&buffer[..n]),
        }
    }
}
