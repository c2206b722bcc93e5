//! The content of a file: bytes in memory, or a file that may be larger than it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// What a file holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// A file on disk, with its SHA-256 if that is known already.
    File(PathBuf, Option<String>),
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl Content {
    /// The size in bytes.
    ///
    /// # Panics
    /// If a file on disk is gone.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(path, _) => std::fs::metadata(path).expect("the file exists").len(),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn part(&self, start: u64, len: usize) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => {
                let start = usize::try_from(start).expect("it is in memory");
                bytes[start..start + len].to_vec()
            }
            Self::File(path, _) => {
                let mut file = File::open(path).expect("the file exists");
                file.seek(SeekFrom::Start(start)).expect("it has this part");
                let mut part = vec![0; len];
                file.read_exact(&mut part).expect("it has this part");
                part
            }
        }
    }

    fn pieces(&self, mut take: impl FnMut(&[u8])) {
        let (mut at, len) = (0, self.len());
        while at < len {
            let piece = self.part(at, usize::try_from((len - at).min(1 << 20)).expect("small"));
            take(&piece);
            at += piece.len() as u64;
        }
    }

    pub(crate) fn sha256(&self) -> String {
        if let Self::File(_, Some(known)) = self {
            return known.clone();
        }
        let mut sum = Sha256::new();
        self.pieces(|piece| sum.update(piece));
        hex(&sum.finalize())
    }

    pub(crate) fn git_sha1(&self) -> String {
        let mut sum = Sha1::new();
        sum.update(format!("blob {}\0", self.len()));
        self.pieces(|piece| sum.update(piece));
        hex(&sum.finalize())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
