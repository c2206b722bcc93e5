//! Follows the rows and quotes of a table on their way to the `csv` crate.
//!
//! The crate miscounts lines after blank ones and in files with CRLF, and takes
//! a quote that is never closed as closed at the end of the file: one stray
//! quote would swallow all further rows into a single value, unnoticed.

use std::collections::VecDeque;
use std::io::{self, Read};

use crate::json_record::MAX_RECORD_BYTES;

/// With more columns than this it is not a table.
const MAX_FIELDS: usize = 1_000_000;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Passes bytes on and notes where rows begin, by the rules of the `csv` crate.
pub(crate) struct RowWatch<R> {
    inner: R,
    delimiter: u8,
    state: CsvState,
    line: usize,
    row_lines: VecDeque<usize>,
    quote_line: usize,
    /// Bytes and fields of the row so far.
    row_bytes: u64,
    row_fields: usize,
    is_at_end: bool,
    /// Bytes that were looked at and not yet passed on; none before the first read.
    start: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CsvState {
    /// Between rows, where blank lines are skipped.
    RowStart,
    FieldStart,
    Bare,
    Quoted,
    /// After a quote in a quoted field: the end of the field or half of `""`.
    MaybeClosed,
}

impl<R> RowWatch<R> {
    pub(crate) fn new(inner: R, delimiter: u8) -> Self {
        Self {
            inner,
            delimiter,
            state: CsvState::RowStart,
            line: 1,
            row_lines: VecDeque::new(),
            quote_line: 1,
            row_bytes: 0,
            row_fields: 0,
            is_at_end: false,
            start: None,
        }
    }

    /// The first line of the next row; to be called once for each row, after it was read.
    pub(crate) fn next_row_line(&mut self) -> usize {
        self.row_lines.pop_front().unwrap_or(self.line)
    }

    /// The line of the opening quote, when the bytes ended in a quoted field.
    ///
    /// The end is only seen by a reader that has used up everything before it,
    /// so the answer is about the row that was read last.
    pub(crate) fn left_open_at_line(&self) -> Option<usize> {
        (self.is_at_end && self.state == CsvState::Quoted).then_some(self.quote_line)
    }

    /// Whether the row is so long that no more of it is passed on.
    pub(crate) fn is_too_long(&self) -> bool {
        self.row_bytes > MAX_RECORD_BYTES || self.row_fields > MAX_FIELDS
    }

    fn follow(&mut self, byte: u8) {
        use CsvState::{Bare, FieldStart, MaybeClosed, Quoted, RowStart};

        let before = self.state;
        self.state = match (before, byte) {
            (Quoted, b'"') => MaybeClosed,
            (Quoted, _) => Quoted,
            (_, b'\n' | b'\r') => RowStart,
            (RowStart | FieldStart | MaybeClosed, b'"') => Quoted,
            (_, byte) if byte == self.delimiter => FieldStart,
            _ => Bare,
        };
        if before == RowStart && self.state != RowStart {
            self.row_lines.push_back(self.line);
            (self.row_bytes, self.row_fields) = (0, 0);
        }
        self.row_bytes += 1;
        self.row_fields += usize::from(self.state == FieldStart);
        if self.state == Quoted && !matches!(before, Quoted | MaybeClosed) {
            self.quote_line = self.line;
        }
        self.line += usize::from(byte == b'\n');
    }
}

impl<R: Read> RowWatch<R> {
    /// Reads without byte order marks at the start. The `csv` crate knows them
    /// too, but only when all three bytes come in one piece.
    fn read_after_marks(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut start = match self.start.take() {
            Some(start) => start,
            None => self.skip_marks()?,
        };
        if start.is_empty() {
            self.start = Some(start);
            return self.inner.read(buffer);
        }
        let n_bytes = start.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&start[..n_bytes]);
        start.drain(..n_bytes);
        self.start = Some(start);
        Ok(n_bytes)
    }

    /// Goes past all marks and returns what was read after them.
    fn skip_marks(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let mut start = Vec::with_capacity(BYTE_ORDER_MARK.len());
            let inner = &mut self.inner;
            inner
                .take(BYTE_ORDER_MARK.len() as u64)
                .read_to_end(&mut start)?;
            if start != BYTE_ORDER_MARK {
                return Ok(start);
            }
        }
    }
}

impl<R: Read> Read for RowWatch<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.read_after_marks(buffer)?;
        self.is_at_end = n_bytes == 0 && !buffer.is_empty();
        for &byte in &buffer[..n_bytes] {
            self.follow(byte);
        }
        match self.is_too_long() {
            true => Err(io::ErrorKind::InvalidData.into()),
            false => Ok(n_bytes),
        }
    }
}
