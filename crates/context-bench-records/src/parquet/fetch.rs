//! Fetches the parts of a Parquet file that are needed, in few and large reads.
//!
//! The needed column chunks of a row group are fetched before they are decoded,
//! neighbours together. Of a chunk that is large, or of which only the first
//! rows are wanted, a window is fetched that moves and grows as pages are read:
//! memory is bounded, and the first rows of a huge row group cost little.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

use crate::ReadAt;

/// What is fetched from the end of a file at first. Most footers are shorter.
const TAIL_BYTES: u64 = 64 * 1024;
/// A footer that is longer is taken for damaged.
const LONGEST_FOOTER: usize = 512 * 1024 * 1024;

/// The largest window of one column chunk.
const LARGEST_WINDOW: u64 = 8 * 1024 * 1024;
/// The least that is fetched of a chunk: fewer bytes do not come faster.
const SMALLEST_WINDOW: u64 = 64 * 1024;
/// Windows that are this near are fetched together, with what is between them.
const LARGEST_GAP: u64 = 64 * 1024;
/// But not beyond this size.
const LARGEST_FETCH: u64 = 32 * 1024 * 1024;

/// Reads what a file says about itself.
pub(super) fn footer(source: &dyn ReadAt) -> Result<ParquetMetaData> {
    let len = source.len()?;
    let mut reader = ParquetMetaDataReader::new();
    let mut n_bytes = len.min(TAIL_BYTES);
    loop {
        let tail = source.read_at(len - n_bytes, n_bytes as usize)?;
        match reader.try_parse_sized(&tail, len) {
            Ok(()) => return reader.finish(),
            Err(ParquetError::NeedMoreData(needed))
                if needed as u64 > n_bytes && needed as u64 <= len && needed <= LONGEST_FOOTER =>
            {
                n_bytes = needed as u64;
            }
            Err(ParquetError::NeedMoreData(_)) => {
                return Err(ParquetError::EOF("the file is cut short".into()));
            }
            Err(error) => return Err(error),
        }
    }
}

/// A range of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Fetches the first windows of column chunks of which about `share` is wanted.
pub(super) fn chunks(
    source: &Arc<dyn ReadAt>,
    ranges: &[Range],
    share: f64,
) -> io::Result<Vec<Arc<Chunk>>> {
    let wanted: Vec<Range> = ranges
        .iter()
        .map(|range| first_window(*range, share))
        .collect();
    let mut windows = vec![Bytes::new(); ranges.len()];
    for (fetch, members) in merged(&wanted) {
        let bytes = source.read_at(fetch.start, (fetch.end - fetch.start) as usize)?;
        for member in members {
            let Range { start, end } = wanted[member];
            let (start, end) = (start - fetch.start, end - fetch.start);
            windows[member] = bytes.slice(start as usize..end as usize);
        }
    }
    Ok(ranges
        .iter()
        .zip(windows)
        .map(|(range, bytes)| {
            Arc::new(Chunk {
                source: Arc::clone(source),
                end: range.end,
                window: Mutex::new(Window {
                    start: range.start,
                    next: (2 * bytes.len() as u64).clamp(SMALLEST_WINDOW, LARGEST_WINDOW),
                    bytes,
                }),
            })
        })
        .collect())
}

fn first_window(chunk: Range, share: f64) -> Range {
    let len = chunk.end - chunk.start;
    let wanted = if share < 1.0 {
        // Pages are read whole and differ in size, so somewhat more is needed.
        (1.25 * share * len as f64) as u64 + SMALLEST_WINDOW
    } else {
        len
    };
    Range {
        start: chunk.start,
        end: chunk.start + len.min(wanted).min(LARGEST_WINDOW),
    }
}

/// What to fetch, and which of the wanted ranges each fetch holds.
fn merged(wanted: &[Range]) -> Vec<(Range, Vec<usize>)> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|idx| wanted[*idx].start);
    let mut fetches: Vec<(Range, Vec<usize>)> = Vec::new();
    for idx in order {
        let range = wanted[idx];
        match fetches.last_mut() {
            Some((fetch, members))
                if range.start <= fetch.end.saturating_add(LARGEST_GAP)
                    && range.end.max(fetch.end) - fetch.start <= LARGEST_FETCH =>
            {
                fetch.end = fetch.end.max(range.end);
                members.push(idx);
            }
            _ => fetches.push((range, vec![idx])),
        }
    }
    fetches
}

/// One column chunk, of which a window is at hand.
pub(super) struct Chunk {
    source: Arc<dyn ReadAt>,
    end: u64,
    window: Mutex<Window>,
}

struct Window {
    start: u64,
    bytes: Bytes,
    /// How much is fetched next.
    next: u64,
}

impl Chunk {
    /// At least `len` bytes from `start` on, and whatever more the window has.
    fn at(&self, start: u64, len: usize) -> io::Result<Bytes> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = start
            .checked_sub(window.start)
            .map(|skipped| skipped as usize);
        if let Some(skipped) = skipped
            && skipped
                .checked_add(len)
                .is_some_and(|end| end <= window.bytes.len())
        {
            return Ok(window.bytes.slice(skipped..));
        }
        let end = start.checked_add(len as u64).filter(|end| *end <= self.end);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let end = start
            .saturating_add(window.next)
            .clamp(end, self.end.max(end));
        window.bytes = self.source.read_at(start, (end - start) as usize)?;
        window.start = start;
        window.next = (2 * window.next).min(LARGEST_WINDOW);
        Ok(window.bytes.clone())
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.end
    }
}

impl ChunkReader for Chunk {
    type T = Headers;

    fn get_read(&self, start: u64) -> Result<Headers> {
        // A header is read in steps of single bytes, of which the window has
        // enough nearly always. Only one that crosses its end is fetched anew.
        let n_left = self.end.saturating_sub(start);
        let bytes = self.at(start, n_left.min(SMALLEST_HEADER) as usize)?;
        let fetch_more = (bytes.len() as u64) < n_left.min(LONGEST_HEADER);
        Ok(Headers {
            source: fetch_more.then(|| Arc::clone(&self.source)),
            offset: start + bytes.len() as u64,
            end: self.end,
            bytes,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        Ok(self.at(start, length)?.slice(..length))
    }
}

/// Page headers are some 30 bytes, but may hold the smallest and the largest
/// value of the page, which some writers do not shorten.
const SMALLEST_HEADER: u64 = 4 * 1024;
const LONGEST_HEADER: u64 = 16 * 1024 * 1024;

/// Reads a page header from the window, and beyond it in the rare case.
pub(super) struct Headers {
    bytes: Bytes,
    source: Option<Arc<dyn ReadAt>>,
    offset: u64,
    end: u64,
}

impl Read for Headers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty()
            && let Some(source) = &self.source
        {
            let len = SMALLEST_WINDOW.min(self.end.saturating_sub(self.offset));
            if len > 0 {
                self.bytes = source.read_at(self.offset, len as usize)?;
                self.offset += len;
            }
        }
        let n_bytes = buffer.len().min(self.bytes.len());
        buffer[..n_bytes].copy_from_slice(&self.bytes.split_to(n_bytes));
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_fetched_together() {
        let range = |start, end| Range { start, end };
        let kb = 1024;
        let mb = 1024 * kb;
        for (wanted, expected) in [
            (vec![], vec![]),
            (
                vec![range(0, 10), range(10, 20)],
                vec![(range(0, 20), vec![0, 1])],
            ),
            (
                vec![range(100 * kb, 120 * kb), range(0, 50 * kb)],
                vec![(range(0, 120 * kb), vec![1, 0])],
            ),
            (
                vec![range(0, kb), range(mb, mb + kb)],
                vec![(range(0, kb), vec![0]), (range(mb, mb + kb), vec![1])],
            ),
            (
                vec![range(0, 30 * mb), range(30 * mb, 38 * mb)],
                vec![
                    (range(0, 30 * mb), vec![0]),
                    (range(30 * mb, 38 * mb), vec![1]),
                ],
            ),
        ] {
            assert_eq!(merged(&wanted), expected);
        }
    }

    #[test]
    fn a_small_share_is_a_small_window() {
        let chunk = Range {
            start: 100,
            end: 100 + 1_000_000_000,
        };
        assert_eq!(first_window(chunk, 0.0).end, 100 + SMALLEST_WINDOW);
        assert_eq!(first_window(chunk, 1.0).end, 100 + LARGEST_WINDOW);
        let small = Range { start: 5, end: 50 };
        assert_eq!(first_window(small, 0.001), small);
        assert_eq!(first_window(small, 1.0), small);
    }
}
