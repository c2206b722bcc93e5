//! A repo of a dataset or model: branches, commits, files, and who may read them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sha1::{Digest as _, Sha1};

use super::content::{Content, hex};

/// A file of a commit.
#[derive(Clone, Debug)]
pub(crate) struct FakeFile {
    pub(crate) content: Content,
    /// The name of the content: SHA-256 for large files, git's SHA-1 for others.
    pub(crate) etag: String,
    /// Whether it lies on the CDN (git LFS or Xet).
    pub(crate) is_large: bool,
}

pub(crate) type Files = BTreeMap<String, FakeFile>;

/// A repo in the making: files go to the branch named last.
#[derive(Clone, Debug)]
pub struct FakeRepo {
    pub(crate) name: String,
    pub(crate) is_model: bool,
    pub(crate) is_gated: bool,
    pub(crate) is_private: bool,
    pub(crate) earlier_names: Vec<String>,
    branch: String,
    branches: BTreeMap<String, Files>,
    commits: BTreeMap<String, Files>,
}

impl FakeRepo {
    /// A repo of a dataset with an empty branch `main`.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_model: false,
            is_gated: false,
            is_private: false,
            earlier_names: Vec::new(),
            branch: "main".to_owned(),
            branches: BTreeMap::from([("main".to_owned(), Files::new())]),
            commits: BTreeMap::new(),
        }
    }

    /// A repo of a model with an empty branch `main`.
    pub fn model(name: &str) -> Self {
        Self {
            is_model: true,
            ..Self::new(name)
        }
    }

    /// What tells it from all others: datasets by their name, models by `models/NAME`.
    pub(crate) fn key(&self) -> String {
        match self.is_model {
            true => format!("models/{}", self.name),
            false => self.name.clone(),
        }
    }

    /// Adds a file that is part of the git repo.
    #[must_use]
    pub fn file(self, path: &str, content: &[u8]) -> Self {
        let content = Content::from(content);
        let etag = content.git_sha1();
        self.with(path, content, etag, false)
    }

    /// Adds a file that lies on the CDN.
    #[must_use]
    pub fn large(self, path: &str, content: &[u8]) -> Self {
        let content = Content::from(content);
        let etag = content.sha256();
        self.with(path, content, etag, true)
    }

    /// Adds a file on disk that lies on the CDN; its SHA-256 is computed unless
    /// it is given, which spares reading a file of gigabytes.
    #[must_use]
    pub fn large_from(self, path: &str, file: PathBuf, sha256: Option<&str>) -> Self {
        let content = Content::File(file, sha256.map(str::to_owned));
        let etag = content.sha256();
        self.with(path, content, etag, true)
    }

    /// Begins another branch; later files go there.
    #[must_use]
    pub fn branch(mut self, name: &str) -> Self {
        self.branches.entry(name.to_owned()).or_default();
        self.branch = name.to_owned();
        self
    }

    /// Files can only be read with [`super::GOOD_TOKEN`].
    #[must_use]
    pub fn gated(mut self) -> Self {
        self.is_gated = true;
        self
    }

    /// Nothing can be seen without [`super::GOOD_TOKEN`].
    #[must_use]
    pub fn private(mut self) -> Self {
        self.is_private = true;
        self
    }

    /// Requests for this other name are redirected here.
    #[must_use]
    pub fn renamed_from(mut self, name: &str) -> Self {
        self.earlier_names.push(name.to_owned());
        self
    }

    fn with(mut self, path: &str, content: Content, etag: String, is_large: bool) -> Self {
        let file = FakeFile {
            content,
            etag,
            is_large,
        };
        let files = self.branches.entry(self.branch.clone()).or_default();
        files.insert(path.to_owned(), file);
        self
    }

    pub(crate) fn followed_by(mut self, next: Self) -> Self {
        let before: Vec<(String, Files)> = self
            .branches
            .values()
            .map(|files| (commit_of(files), files.clone()))
            .collect();
        self.commits.extend(before);
        self.branches.extend(next.branches);
        Self {
            is_gated: next.is_gated,
            is_private: next.is_private,
            earlier_names: next.earlier_names,
            ..self
        }
    }

    /// The commit of a branch, or the commit itself.
    pub(crate) fn commit(&self, revision: &str) -> Option<String> {
        if let Some(files) = self.branches.get(revision) {
            return Some(commit_of(files));
        }
        self.files(revision).map(|_| revision.to_owned())
    }

    /// The files of all branches and commits.
    pub(crate) fn all_files(&self) -> impl Iterator<Item = &FakeFile> {
        let all = self.branches.values().chain(self.commits.values());
        all.flat_map(BTreeMap::values)
    }

    /// The files of a branch or commit.
    pub(crate) fn files(&self, revision: &str) -> Option<&Files> {
        self.branches
            .get(revision)
            .or_else(|| self.commits.get(revision))
            .or_else(|| {
                let mut branches = self.branches.values();
                branches.find(|files| commit_of(files) == revision)
            })
    }
}

/// A name that follows from the files alone, so that tests can rely on it.
fn commit_of(files: &Files) -> String {
    let mut sum = Sha1::new();
    for (path, file) in files {
        sum.update(format!("{path}\0{}\n", file.etag));
    }
    hex(&sum.finalize())
}
