//! All files of a repo at a commit, and those that patterns name.

use std::path::PathBuf;

use crate::error::HubError;
use crate::file::RemoteFile;
use crate::glob::Glob;
use crate::layout;
use crate::repo::RepoId;
use crate::words::near;

/// All files of a repo at a commit.
#[derive(Debug, Clone)]
pub(crate) struct Listing {
    pub(crate) repo: RepoId,
    pub(crate) revision: String,
    pub(crate) commit: String,
    /// By path.
    pub(crate) files: Vec<RemoteFile>,
    /// Whether these are all files, or only those that some tool downloaded.
    pub(crate) is_complete: bool,
    pub(crate) cache: PathBuf,
}

impl Listing {
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    fn no_file(&self, pattern: &str) -> HubError {
        HubError::FileNotFound {
            kind: self.repo.kind(),
            repo: self.repo.to_string(),
            revision: self.revision.clone(),
            pattern: pattern.to_owned(),
            near: near(pattern, self.paths()),
        }
    }

    /// Refuses a part of a split: without the listing of the commit, files that
    /// were never downloaded are only noticed by the numbers of the others.
    pub(crate) fn check_whole(&self, files: &[RemoteFile]) -> Result<(), HubError> {
        if self.is_complete {
            return Ok(());
        }
        for file in files {
            let Some((name, _, count)) = layout::shard(&file.path) else {
                continue;
            };
            let alike = |other: &&RemoteFile| {
                layout::shard(&other.path).is_some_and(|(n, _, c)| n == name && c == count)
            };
            let there = files.iter().filter(alike).count();
            if there < count as usize {
                return Err(HubError::Offline {
                    what: format!("a part of `{}`", file.shown()),
                    cache: self.cache.clone(),
                    cached: format!("{there} of {count} files are there"),
                });
            }
        }
        Ok(())
    }
}

/// The files of a repo that paths or patterns name, each pattern in turn.
pub(crate) fn by_patterns(
    listing: &Listing,
    patterns: &[&str],
) -> Result<Vec<RemoteFile>, HubError> {
    let mut found: Vec<RemoteFile> = Vec::new();
    let mut taken = vec![false; listing.files.len()];
    for pattern in patterns {
        let glob = Glob::new(pattern);
        let mut any = false;
        for (at, file) in listing.files.iter().enumerate() {
            if glob.matches(&file.path) {
                any = true;
                if !std::mem::replace(&mut taken[at], true) {
                    found.push(file.clone());
                }
            }
        }
        if !any {
            return Err(listing.no_file(pattern));
        }
    }
    listing.check_whole(&found)?;
    Ok(found)
}
