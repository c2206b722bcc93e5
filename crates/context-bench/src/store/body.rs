//! Long texts as they lie in the store: compressed above a threshold.

use std::borrow::Cow;

use super::error::Damaged;

/// Texts up to this many bytes stay readable; compressing them would save nothing.
const PLAIN_LIMIT: usize = 512;

/// The `encoding` column: text as it is.
const PLAIN: i64 = 0;
/// The `encoding` column: a zstd frame.
const ZSTD: i64 = 1;

/// Bytes with the value of their `encoding` column.
pub(super) struct Body {
    pub(super) encoding: i64,
    pub(super) bytes: Vec<u8>,
}

impl Body {
    /// Packs a text. Level 1: the writer must keep up with many systems.
    pub(super) fn pack(text: Vec<u8>) -> Self {
        if text.len() > PLAIN_LIMIT
            && let Ok(bytes) = zstd::bulk::compress(&text, 1)
            && bytes.len() < text.len()
        {
            return Self {
                encoding: ZSTD,
                bytes,
            };
        }
        Self {
            encoding: PLAIN,
            bytes: text,
        }
    }

    /// The text again.
    pub(super) fn unpack(encoding: i64, bytes: Vec<u8>) -> Result<Vec<u8>, Damaged> {
        match encoding {
            PLAIN => Ok(bytes),
            // Streaming, because a damaged frame may claim any size.
            ZSTD => zstd::stream::decode_all(&*bytes).map_err(|_| Damaged),
            _ => Err(Damaged),
        }
    }

    /// The same without a copy of what is no other.
    pub(super) fn unpacked(encoding: i64, bytes: &[u8]) -> Result<Cow<'_, [u8]>, Damaged> {
        match encoding {
            PLAIN => Ok(Cow::Borrowed(bytes)),
            _ => Self::unpack(encoding, bytes.to_vec()).map(Cow::Owned),
        }
    }

    /// Whether ordinary tools shall see text.
    pub(super) fn is_text(&self) -> bool {
        self.encoding == PLAIN
    }
}
