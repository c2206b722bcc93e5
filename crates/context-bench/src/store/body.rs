//! Long texts as they lie in the store: compressed above a threshold.

use std::borrow::Cow;

use zstd::bulk::Compressor;

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

/// Packs texts, one after the other. What it compresses with is made once: for a text of a few
/// kilobytes that would take longer than to compress it.
#[derive(Default)]
pub(super) struct Packer(Option<Compressor<'static>>);

impl Packer {
    /// Packs a text. Level 1: the writer must keep up with many systems.
    pub(super) fn pack(&mut self, text: Vec<u8>) -> Body {
        match self.compressed(&text) {
            Some(bytes) => Body {
                encoding: ZSTD,
                bytes,
            },
            None => Body {
                encoding: PLAIN,
                bytes: text,
            },
        }
    }

    /// The text as a zstd frame, where that is shorter.
    fn compressed(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        if text.len() <= PLAIN_LIMIT {
            return None;
        }
        if self.0.is_none() {
            self.0 = Compressor::new(1).ok();
        }
        let bytes = self.0.as_mut()?.compress(text).ok()?;
        (bytes.len() < text.len()).then_some(bytes)
    }
}

impl Body {
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
