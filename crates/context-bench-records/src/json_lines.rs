//! JSON Lines: one JSON object per line.
//!
//! One buffer serves all lines, so memory grows with the longest line and not
//! with the file. Blank lines hold no record but count as lines.

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;

use crate::error::unreadable;
use crate::json_record::{JsonRecord, MAX_RECORD_BYTES, too_long};
use crate::source::Input;
use crate::{CheckedRecord, PositionedRecord, RecordError, Records};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(crate) struct JsonLines {
    input: Input,
    path: Arc<Path>,
    max_lines: usize,
    n_lines: usize,
    buffer: Vec<u8>,
}

impl JsonLines {
    pub(crate) fn new(input: Input, path: Arc<Path>, max_lines: usize) -> Self {
        Self {
            input,
            path,
            max_lines,
            n_lines: 0,
            buffer: Vec::new(),
        }
    }

    /// Reads on to the next line that is not blank.
    fn next_record(&mut self) -> Option<Result<JsonRecord<'_>, RecordError>> {
        loop {
            match self.next_line() {
                Ok(false) => return None,
                Ok(true) if self.line().trim_ascii().is_empty() => {}
                Ok(true) => break,
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(JsonRecord {
            bytes: self.line(),
            index: self.n_lines - 1,
            path: &self.path,
            line: self.n_lines,
            column: 1,
        }))
    }

    /// Reads one line into the buffer; false when there is none.
    fn next_line(&mut self) -> Result<bool, RecordError> {
        if self.n_lines >= self.max_lines {
            return Ok(false);
        }
        self.buffer.clear();
        let n_bytes = (&mut self.input)
            .take(MAX_RECORD_BYTES)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| unreadable(&self.path, error))?;
        if n_bytes == 0 {
            return Ok(false);
        }
        self.n_lines += 1;
        if n_bytes as u64 == MAX_RECORD_BYTES && self.buffer.last() != Some(&b'\n') {
            return Err(too_long(&self.path, self.n_lines));
        }
        Ok(true)
    }

    /// The line in the buffer without what marks its start and end.
    fn line(&self) -> &[u8] {
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(line) if self.n_lines == 1 => line,
            _ => line,
        }
    }
}

impl Records for JsonLines {
    fn check_next(&mut self, key: &str) -> Option<Result<CheckedRecord, RecordError>> {
        Some(self.next_record()?.and_then(|record| record.check(key)))
    }

    fn read_next(&mut self) -> Option<Result<PositionedRecord, RecordError>> {
        Some(self.next_record()?.and_then(|record| record.read()))
    }

    fn file(&self) -> &Path {
        &self.path
    }
}
