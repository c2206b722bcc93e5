//! Names of repos, revisions and files: checked, and written into URLs and paths.
//!
//! Paths come from servers and from files of other people, so none of them may
//! lead out of the folder it is joined to.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::HubError;

/// The branch that is used when none is named.
pub(crate) const MAIN: &str = "main";
/// The branch with the parquet files that the hub makes of any dataset.
pub(crate) const CONVERTED: &str = "refs/convert/parquet";

/// What a repo holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RepoKind {
    /// Data.
    Dataset,
    /// The weights of a model, with what belongs to them.
    Model,
}

impl RepoKind {
    /// The word for many of them, in addresses and in the cache.
    fn plural(self) -> &'static str {
        match self {
            Self::Dataset => "datasets",
            Self::Model => "models",
        }
    }
}

impl fmt::Display for RepoKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dataset => "dataset",
            Self::Model => "model",
        })
    }
}

/// The name of a repo: `owner/name`, or `name` for the oldest ones. A dataset and a model may
/// have the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoId {
    kind: RepoKind,
    name: String,
}

impl RepoId {
    /// Checks the name of a dataset by the rules of the hub.
    ///
    /// # Errors
    ///
    /// When no repo can have this name.
    pub fn parse(text: &str) -> Result<Self, HubError> {
        Self::of(RepoKind::Dataset, text)
    }

    /// Checks the name of a model by the rules of the hub.
    ///
    /// # Errors
    ///
    /// When no repo can have this name.
    pub fn model(text: &str) -> Result<Self, HubError> {
        Self::of(RepoKind::Model, text)
    }

    fn of(kind: RepoKind, text: &str) -> Result<Self, HubError> {
        let bad = |reason| HubError::BadRepo {
            kind,
            repo: text.to_owned(),
            reason,
        };
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() > 2 {
            return Err(bad("it has more than one `/`"));
        }
        for part in parts {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if part.is_empty() || part.len() > 96 {
                return Err(bad("a part of it is empty or longer than 96 characters"));
            }
            if !part.chars().all(allowed) {
                return Err(bad("only letters, digits, `-`, `_` and `.` are allowed"));
            }
            if part.contains("--") || part.contains("..") {
                return Err(bad("`--` and `..` are not allowed"));
            }
            if part.starts_with(['-', '.']) || part.ends_with(['-', '.']) {
                return Err(bad("no part may begin or end with `-` or `.`"));
            }
        }
        Ok(Self {
            kind,
            name: text.to_owned(),
        })
    }

    /// What the repo holds.
    pub fn kind(&self) -> RepoKind {
        self.kind
    }

    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The part after the owner.
    pub(crate) fn name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// The folder of this repo in the hub cache.
    pub(crate) fn folder(&self) -> String {
        format!("{}--{}", self.kind.plural(), self.name.replace('/', "--"))
    }

    /// The path of the hub's API about this repo.
    pub(crate) fn api_path(&self) -> String {
        format!("api/{}/{}", self.kind.plural(), self.name)
    }

    /// The path of its page, which those of its files begin with.
    pub(crate) fn page_path(&self) -> String {
        match self.kind {
            RepoKind::Dataset => format!("datasets/{}", self.name),
            RepoKind::Model => self.name.clone(),
        }
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Whether this is the full name of a commit, which never changes its content.
pub(crate) fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Checks that a revision can be a file below `refs/`.
pub(crate) fn check_revision(repo: &RepoId, revision: &str) -> Result<(), HubError> {
    if relative(revision).is_some() {
        return Ok(());
    }
    Err(HubError::RevisionNotFound {
        kind: repo.kind,
        repo: repo.to_string(),
        revision: revision.to_owned(),
    })
}

/// A path with `/` as a path of this system, or nothing if it could lead out of
/// the folder it is joined to.
pub(crate) fn relative(path: &str) -> Option<PathBuf> {
    let strange = |part: &str| {
        part.is_empty()
            || part == "."
            || part == ".."
            || part.contains('\0')
            || (cfg!(windows) && part.contains(['\\', ':']))
    };
    if path.split('/').any(strange) {
        return None;
    }
    Some(path.split('/').map(Path::new).collect())
}

/// Percent-encodes what may not stand in a segment of a URL; slashes stay.
pub(crate) fn encode_path(path: &str) -> String {
    encode(path, b"/")
}

/// Percent-encodes a revision, slashes too, as the hub wants it.
pub(crate) fn encode_revision(revision: &str) -> String {
    encode(revision, b"")
}

fn encode(text: &str, kept: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repo_names_follow_the_rules_of_the_hub() {
        for good in ["gsm8k", "openai/gsm8k", "a/b.c-d_e", "THUDM/LongBench"] {
            assert!(RepoId::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "", "/", "a/", "a/b/c", "../x", "a/..", "a b", "a/b--c", "-a", "a.", "ü/x", "a\\b",
        ] {
            assert!(RepoId::parse(bad).is_err(), "{bad}");
        }
        let repo = RepoId::parse("a/b").expect("valid");
        assert_eq!(
            (repo.folder().as_str(), repo.name()),
            ("datasets--a--b", "b")
        );
        assert_eq!(
            (repo.api_path(), repo.page_path()),
            ("api/datasets/a/b".to_owned(), "datasets/a/b".to_owned())
        );
        let model = RepoId::model("a/b").expect("valid");
        assert_ne!(model, repo);
        assert_eq!(
            (model.folder(), model.api_path(), model.page_path()),
            (
                "models--a--b".to_owned(),
                "api/models/a/b".to_owned(),
                "a/b".to_owned()
            )
        );
    }

    #[test]
    fn paths_stay_inside() {
        assert_eq!(relative("a/b c"), Some(Path::new("a").join("b c")));
        for bad in ["", "/a", "a//b", "../a", "a/../b", "a/.", "a/"] {
            assert_eq!(relative(bad), None, "{bad}");
        }
    }

    #[test]
    fn urls_are_encoded() {
        assert_eq!(encode_path("a b/ü#?.json"), "a%20b/%C3%BC%23%3F.json");
        assert_eq!(encode_revision(CONVERTED), "refs%2Fconvert%2Fparquet");
    }
}
