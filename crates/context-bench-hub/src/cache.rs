//! The folder of one repo in the hub cache, laid out as Python's
//! `huggingface_hub` does, so that both use each other's files:
//!
//! ```text
//! datasets--owner--name/, models--owner--name/
//!   blobs/<etag>                       contents, each once
//!   snapshots/<commit>/<path>          relative links to blobs
//!   refs/<revision>                    the commit of a branch or tag
//!   trees/<commit>.json                the complete listing of a commit
//! .locks/datasets--owner--name/<etag>.lock
//! ```
//!
//! Nothing here sends a request.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::{At as _, HubError};
use crate::file::{Checksum, RemoteFile};
use crate::repo::{RepoId, is_commit, relative};

/// The cache of one repo.
#[derive(Debug, Clone)]
pub(crate) struct RepoCache {
    repo: RepoId,
    root: PathBuf,
    folder: PathBuf,
}

impl RepoCache {
    pub(crate) fn new(root: &Path, repo: &RepoId) -> Self {
        Self {
            repo: repo.clone(),
            root: root.to_owned(),
            folder: root.join(repo.folder()),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    pub(crate) fn blob(&self, checksum: &Checksum) -> PathBuf {
        self.blobs().join(checksum.as_str())
    }

    pub(crate) fn lock(&self, checksum: &Checksum) -> PathBuf {
        let locks = self.root.join(".locks").join(self.repo.folder());
        locks.join(format!("{checksum}.lock"))
    }

    pub(crate) fn tree(&self, commit: &str) -> PathBuf {
        self.folder.join("trees").join(format!("{commit}.json"))
    }

    fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit)
    }

    /// Where a file of a commit is or will be; nothing for a path that leads out.
    pub(crate) fn pointer(&self, commit: &str, path: &str) -> Option<PathBuf> {
        Some(self.snapshot(commit).join(relative(path)?))
    }

    /// The commit that a revision named when it was last fetched.
    pub(crate) fn commit(&self, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let text = fs::read_to_string(self.folder.join("refs").join(relative(revision)?)).ok()?;
        let commit = text.trim();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Remembers the commit of a branch or tag.
    pub(crate) fn remember(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        if revision == commit || self.commit(revision).as_deref() == Some(commit) {
            return Ok(());
        }
        let Some(path) = relative(revision) else {
            return Ok(());
        };
        write_whole(&self.folder.join("refs").join(path), commit.as_bytes())
    }

    /// Marks the cache for backup tools, once, as Python does.
    pub(crate) fn tag(&self) {
        const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";
        let path = self.root.join("CACHEDIR.TAG");
        if !path.exists() {
            // A cache without the mark is as good.
            let _ = fs::write(path, TAG);
        }
    }

    /// A file that is there with the size it should have, so that one which
    /// another tool left cut off is not taken for data.
    pub(crate) fn found(&self, file: &RemoteFile) -> Option<PathBuf> {
        let pointer = self.pointer(&file.commit, &file.path)?;
        let there = fs::metadata(&pointer).ok()?;
        (there.is_file() && there.len() == file.size).then_some(pointer)
    }

    /// Whether the content of a file is there, under whatever commit.
    pub(crate) fn has_blob(&self, checksum: &Checksum, size: u64) -> bool {
        fs::metadata(self.blob(checksum)).is_ok_and(|there| there.is_file() && there.len() == size)
    }

    /// Makes the snapshot of a file point to its blob: a relative link, or a copy
    /// where links are impossible.
    pub(crate) fn link(&self, file: &RemoteFile, checksum: &Checksum) -> Result<PathBuf, HubError> {
        let Some(pointer) = self.pointer(&file.commit, &file.path) else {
            return Err(HubError::FileNotFound {
                kind: file.repo.kind(),
                repo: file.repo.to_string(),
                revision: file.revision.clone(),
                pattern: file.path.clone(),
                near: Vec::new(),
            });
        };
        let folder = pointer.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).at("make the folder", folder)?;
        let blob = self.blob(checksum);
        let depth = 2 + file.path.split('/').count() - 1;
        let up: PathBuf = std::iter::repeat_n("..", depth).collect();
        let target = up.join("blobs").join(checksum.as_str());
        if fs::read_link(&pointer).is_ok_and(|known| known == target) {
            return Ok(pointer);
        }
        // Made aside and renamed, so that no reader meets a missing file.
        let aside = aside(&pointer)?;
        let made = symlink(&target, &aside).and_then(|()| fs::rename(&aside, &pointer));
        if made.is_err() {
            let _ = fs::remove_file(&aside);
            fs::copy(&blob, &aside).at("copy to", &aside)?;
            fs::rename(&aside, &pointer).at("write", &pointer)?;
        }
        Ok(pointer)
    }

    /// The files of a commit that are there, for a cache without its listing.
    pub(crate) fn snapshot_files(&self, commit: &str, revision: &str) -> Vec<RemoteFile> {
        let mut found = Vec::new();
        let top = self.snapshot(commit);
        let mut folders = vec![(top, String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let path = format!("{prefix}{name}");
                // Follows the link; one without its blob does not count.
                match fs::metadata(entry.path()) {
                    Ok(there) if there.is_dir() => {
                        folders.push((entry.path(), format!("{path}/")));
                    }
                    Ok(there) if there.is_file() => found.push(RemoteFile {
                        repo: self.repo.clone(),
                        revision: revision.to_owned(),
                        commit: commit.to_owned(),
                        path,
                        size: there.len(),
                        checksum: blob_name(&entry.path()),
                    }),
                    _ => {}
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}

/// The checksum in the name of the blob that a snapshot links to.
fn blob_name(pointer: &Path) -> Option<Checksum> {
    let target = fs::read_link(pointer).ok()?;
    Checksum::parse(target.file_name()?.to_str()?)
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_file(target, link)
}

/// A name beside a file that nobody else uses.
fn aside(path: &Path) -> Result<PathBuf, HubError> {
    let mut random = [0_u8; 4];
    getrandom::fill(&mut random).map_err(|error| HubError::Setup {
        reason: error.to_string(),
    })?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", crate::file::hex(&random)));
    Ok(path.with_file_name(name))
}

/// Writes a small file so that readers meet either none, the old or the new one.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), HubError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).at("make the folder", folder)?;
    }
    let aside = aside(path)?;
    let written = fs::File::create(&aside).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&aside, path));
    placed.map_err(|error| {
        let _ = fs::remove_file(&aside);
        HubError::io("write", path, &error)
    })
}

/// Makes sure that a rename in this folder outlives a crash.
pub(crate) fn sync_folder(folder: &Path) {
    // Not every file system can; the rename is done in any case.
    if cfg!(unix)
        && let Ok(folder) = fs::File::open(folder)
    {
        let _ = folder.sync_all();
    }
}
