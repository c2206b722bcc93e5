//! [`BodyProgress`]: how far a body has come, whatever tells its end.

use super::chunked::ChunkReader;
use super::framing::Framing;

/// Follows a body while its bytes are passed on.
#[derive(Debug)]
pub(crate) enum BodyProgress {
    /// So many bytes are left; none for an empty body.
    Length(u64),
    Chunked(ChunkReader),
    UntilClose,
}

impl BodyProgress {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Empty => Self::Length(0),
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(ChunkReader::new()),
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// Whether all of it has been seen.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(reader) => reader.is_done(),
            Self::UntilClose => false,
        }
    }

    /// Takes bytes, calls `payload` with each piece of content, and says how many bytes belong
    /// to this body.
    pub(crate) fn feed<'a>(
        &mut self,
        bytes: &'a [u8],
        mut payload: impl FnMut(&'a [u8]),
    ) -> Result<usize, String> {
        let used = match self {
            Self::Chunked(reader) => return reader.feed(bytes, payload),
            Self::UntilClose => bytes.len(),
            Self::Length(left) => {
                let used = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                *left -= used as u64;
                used
            }
        };
        if used > 0 {
            payload(&bytes[..used]);
        }
        Ok(used)
    }
}
