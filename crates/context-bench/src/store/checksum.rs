//! Checksums of stored rows: the first 64 bits of a SHA-256 over their columns.
//!
//! A checksum also covers the keys by which a row was asked for. A row that a
//! damaged index hands out for another one therefore does not pass as it.

use sha2::{Digest as _, Sha256};

use super::key::{Key, ResponseKey};

/// Gathers the columns of one row; every column is framed, so none can pass as another.
pub(super) struct Checksum(Sha256);

impl Checksum {
    /// Begins the checksum of a row of that table.
    pub(super) fn of(table: &str) -> Self {
        Self(Sha256::new()).bytes(table.as_bytes())
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn text(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.int(1).bytes(text.as_bytes()),
            None => self.int(0),
        }
    }

    pub(super) fn int(mut self, value: i64) -> Self {
        self.0.update(value.to_le_bytes());
        self
    }

    pub(super) fn maybe_int(self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.int(1).int(value),
            None => self.int(0),
        }
    }

    pub(super) fn real(self, value: Option<f64>) -> Self {
        self.maybe_int(value.map(|value| value.to_bits().cast_signed()))
    }

    pub(super) fn key(mut self, key: Key) -> Self {
        self.0.update(key.as_bytes());
        self
    }

    pub(super) fn response(self, key: ResponseKey) -> Self {
        self.key(key.example)
            .key(key.system)
            .int(i64::from(key.repeat))
    }

    pub(super) fn finish(self) -> i64 {
        let digest = self.0.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        i64::from_le_bytes(first)
    }
}
