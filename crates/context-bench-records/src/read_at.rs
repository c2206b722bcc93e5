//! `ReadAt`: bytes that can be read from any place, in a file or far away.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;

/// A file of known length that can be read from any offset.
///
/// Local files implement it here ([`FileAt`]); a file on a server implements it
/// with range requests. Each call may be expensive, so callers ask for large parts.
#[expect(
    clippy::len_without_is_empty,
    reason = "a length may cost a request; nobody asks for emptiness"
)]
pub trait ReadAt: Send + Sync {
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Exactly `len` bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::UnexpectedEof`] when the file ends before.
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes>;

    /// The name for messages. Its ending says which format it is in.
    fn name(&self) -> &str;
}

/// A local file.
#[derive(Debug)]
pub struct FileAt {
    file: Arc<File>,
    name: String,
}

impl FileAt {
    /// A file that is open for reading.
    pub fn new(file: impl Into<Arc<File>>, name: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            name: name.into(),
        }
    }
}

impl ReadAt for FileAt {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let mut buffer = vec![0; len];
        let mut n_read = 0;
        while n_read < len {
            match read_some(&self.file, &mut buffer[n_read..], offset + n_read as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n_bytes) => n_read += n_bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(buffer.into())
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Bytes in memory.
#[derive(Debug, Clone)]
pub(crate) struct BytesAt {
    pub(crate) bytes: Bytes,
    pub(crate) name: String,
}

impl ReadAt for BytesAt {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        match start.checked_add(len) {
            Some(end) if end <= self.bytes.len() => Ok(self.bytes.slice(start..end)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Reads a local file front to back. Several may share one open file, each with
/// a place of its own.
pub(crate) struct FileReader {
    file: Arc<File>,
    offset: u64,
}

impl FileReader {
    pub(crate) fn new(file: Arc<File>) -> Self {
        Self { file, offset: 0 }
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = read_some(&self.file, buffer, self.offset)?;
        self.offset += n_bytes as u64;
        Ok(n_bytes)
    }
}

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// The first part that is fetched when reading front to back, and the largest.
/// Parts double: a short look costs little, a whole file few requests.
const FIRST_PART: u64 = 256 * 1024;
const LARGEST_PART: u64 = 8 * 1024 * 1024;

/// Reads a range of any [`ReadAt`] front to back.
pub(crate) struct RangeReader {
    source: Arc<dyn ReadAt>,
    offset: u64,
    end: u64,
    next_part: u64,
    part: Bytes,
}

impl RangeReader {
    pub(crate) fn new(source: Arc<dyn ReadAt>, offset: u64, end: u64) -> Self {
        Self {
            source,
            offset,
            end,
            next_part: FIRST_PART,
            part: Bytes::new(),
        }
    }
}

impl Read for RangeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() && self.offset < self.end {
            let len = self.next_part.min(self.end - self.offset);
            self.part = self.source.read_at(self.offset, len as usize)?;
            if self.part.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.offset += self.part.len() as u64;
            self.next_part = (2 * self.next_part).min(LARGEST_PART);
        }
        let n_bytes = buffer.len().min(self.part.len());
        buffer[..n_bytes].copy_from_slice(&self.part.split_to(n_bytes));
        Ok(n_bytes)
    }
}
