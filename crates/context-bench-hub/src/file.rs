//! A file of a repo at one commit, and the name of its content.

use std::fmt;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::repo::RepoId;

/// A file that the hub has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteFile {
    /// The repo as it was asked for.
    pub repo: RepoId,
    /// The branch, tag or commit as it was asked for.
    pub revision: String,
    /// The commit that this was when it was looked up.
    pub commit: String,
    /// Its path in the repo, with `/`.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// The name of its content; unknown only for files that another tool has
    /// put into the cache as a copy.
    pub checksum: Option<Checksum>,
}

impl RemoteFile {
    /// `repo/path`, for messages.
    pub(crate) fn shown(&self) -> String {
        format!("{}/{}", self.repo, self.path)
    }
}

/// The name of a content, which is also its name in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checksum {
    /// Of the content; for large files.
    Sha256(String),
    /// Of the content as a git blob; for files that are part of the git repo.
    GitSha1(String),
}

impl Checksum {
    /// Reads a name in hexadecimal digits by its length.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().all(|b| b.is_ascii_hexdigit());
        match (digits, text.len()) {
            (true, 64) => Some(Self::Sha256(text.to_ascii_lowercase())),
            (true, 40) => Some(Self::GitSha1(text.to_ascii_lowercase())),
            _ => None,
        }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Sha256(digits) | Self::GitSha1(digits) => digits,
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A checksum in the making.
pub(crate) enum ChecksumBuilder {
    Sha256(Sha256),
    GitSha1(Sha1),
    /// Nothing to compare with.
    Nothing,
}

impl ChecksumBuilder {
    /// Begins the sum of a file of this size.
    pub(crate) fn new(like: Option<&Checksum>, size: u64) -> Self {
        match like {
            Some(Checksum::Sha256(_)) => Self::Sha256(Sha256::new()),
            Some(Checksum::GitSha1(_)) => {
                let mut sum = Sha1::new();
                sum.update(format!("blob {size}\0"));
                Self::GitSha1(sum)
            }
            None => Self::Nothing,
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(sum) => sum.update(bytes),
            Self::GitSha1(sum) => sum.update(bytes),
            Self::Nothing => {}
        }
    }

    /// The digits; nothing when there is nothing to compare with.
    pub(crate) fn finish(self) -> Option<String> {
        match self {
            Self::Sha256(sum) => Some(hex(&sum.finalize())),
            Self::GitSha1(sum) => Some(hex(&sum.finalize())),
            Self::Nothing => None,
        }
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_git_and_sha256() {
        // `printf hello | git hash-object --stdin`, `printf hello | sha256sum`.
        for expected in [
            "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0",
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        ] {
            let known = Checksum::parse(expected).expect("a checksum");
            let mut sum = ChecksumBuilder::new(Some(&known), 5);
            sum.update(b"hel");
            sum.update(b"lo");
            assert_eq!(sum.finish().as_deref(), Some(expected));
        }
        assert_eq!(Checksum::parse("main"), None);
        assert_eq!(Checksum::parse(&"x".repeat(64)), None);
    }
}
