//! Cuts JSON text into tokens and whole values, without knowing what they mean.
//!
//! A value ends where its brackets and quotes close. Whether it is valid is for
//! the parser to say, which sees one value at a time.

use std::io::BufRead as _;
use std::path::Path;
use std::sync::Arc;

use context_bench_error::Place;
use serde::de::IgnoredAny;

use crate::RecordError;
use crate::error::unreadable;
use crate::json_record::{MAX_RECORD_BYTES, too_long};
use crate::source::{Input, fill};

pub(crate) struct Scanner {
    pub(crate) path: Arc<Path>,
    /// Where the next byte is, counted from 1.
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The bytes of the last scanned value.
    pub(crate) value: Vec<u8>,
    /// Everything that was passed, while it may still turn out to be a record.
    kept: Option<Vec<u8>>,
    input: Input,
}

impl Scanner {
    pub(crate) fn new(input: Input, path: Arc<Path>) -> Self {
        Self {
            path,
            line: 1,
            column: 1,
            value: Vec::new(),
            kept: None,
            input,
        }
    }

    /// Skips the mark that some editors put at the start of UTF-8 files.
    pub(crate) fn skip_byte_order_mark(&mut self) -> Result<(), RecordError> {
        if self.peek()? == Some(0xEF) {
            for byte in [0xEF, 0xBB, 0xBF] {
                if self.peek()? != Some(byte) {
                    return Err(self.unexpected("JSON text")?);
                }
                self.bump()?;
            }
            self.column = 1;
        }
        Ok(())
    }

    /// Skips white space and looks at the byte after it; nothing at the end.
    pub(crate) fn peek_token(&mut self) -> Result<Option<u8>, RecordError> {
        while let Some(byte) = self.peek()? {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(Some(byte));
            }
            self.bump()?;
        }
        Ok(None)
    }

    /// Moves past the byte that `peek_token` showed.
    pub(crate) fn bump(&mut self) -> Result<(), RecordError> {
        let Some(byte) = self.peek()? else {
            return Ok(());
        };
        if byte == b'\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        if let Some(kept) = &mut self.kept {
            kept.push(byte);
        }
        self.input.consume(1);
        Ok(())
    }

    /// Reads the value that begins at the next byte.
    pub(crate) fn scan_value(&mut self) -> Result<(), RecordError> {
        if let None | Some(b',' | b':' | b']' | b'}') = self.peek_token()? {
            return Err(self.unexpected("a value")?);
        }
        let start = self.here();
        self.value.clear();
        let mut end = ValueEnd::default();
        loop {
            let chunk = fill(&mut self.input).map_err(|error| unreadable(&self.path, error))?;
            if chunk.is_empty() {
                if end.is_inside() {
                    return Err(RecordError::BadFile {
                        problem: "the file ends before this JSON value is closed".into(),
                        at: start,
                    });
                }
                self.keep_value();
                return Ok(());
            }
            let (n_bytes, is_over) = end.find(chunk);
            let part = &chunk[..n_bytes];
            match part.iter().rposition(|byte| *byte == b'\n') {
                Some(last) => {
                    self.line += part.iter().filter(|byte| **byte == b'\n').count();
                    self.column = n_bytes - last;
                }
                None => self.column += n_bytes,
            }
            self.value.extend_from_slice(part);
            self.input.consume(n_bytes);
            if is_over {
                self.keep_value();
                return Ok(());
            }
            let n_kept = self.kept.as_ref().map_or(0, Vec::len);
            if (self.value.len() + n_kept) as u64 > MAX_RECORD_BYTES {
                return Err(too_long(&self.path, start.line.unwrap_or(1)));
            }
        }
    }

    /// From here on keeps what is passed, until `take_kept`.
    pub(crate) fn keep(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// What was passed since `keep`.
    pub(crate) fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.take()
    }

    fn keep_value(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(&self.value);
        }
    }

    /// Reads a key and the colon after it.
    pub(crate) fn scan_key(&mut self) -> Result<String, RecordError> {
        if self.peek_token()? != Some(b'"') {
            return Err(self.unexpected("a key in quotes")?);
        }
        let start = self.here();
        self.scan_value()?;
        let key = serde_json::from_slice(&self.value).map_err(|_| RecordError::BadFile {
            problem: "this key is not valid JSON".into(),
            at: start,
        })?;
        if self.peek_token()? != Some(b':') {
            return Err(self.unexpected("`:`")?);
        }
        self.bump()?;
        Ok(key)
    }

    /// Reads a value that is not a record and checks that it is valid.
    pub(crate) fn skip_value(&mut self) -> Result<(), RecordError> {
        self.peek_token()?;
        let start = self.here();
        self.scan_value()?;
        serde_json::from_slice::<IgnoredAny>(&self.value)
            .map(drop)
            .map_err(|_| RecordError::BadFile {
                problem: "this value is not valid JSON".into(),
                at: start,
            })
    }

    /// The error of finding something else than what must come next.
    ///
    /// Outside an error it has the error of finding out.
    pub(crate) fn unexpected(&mut self, expected: &str) -> Result<RecordError, RecordError> {
        let found = match self.peek_token()? {
            None => "the end of the file".into(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Some(byte) => format!("byte 0x{byte:02x}"),
        };
        Ok(self.bad(format!("expected {expected}, found {found}")))
    }

    /// An error about the file at the next byte.
    pub(crate) fn bad(&self, problem: String) -> RecordError {
        RecordError::BadFile {
            problem,
            at: self.here(),
        }
    }

    pub(crate) fn here(&self) -> Place {
        Place::path(&self.path).line(self.line).column(self.column)
    }

    fn peek(&mut self) -> Result<Option<u8>, RecordError> {
        fill(&mut self.input)
            .map(|chunk| chunk.first().copied())
            .map_err(|error| unreadable(&self.path, error))
    }
}

/// Finds the end of a value that may come in several chunks.
#[derive(Default)]
struct ValueEnd {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl ValueEnd {
    /// Whether the bytes so far leave a bracket or a quote open.
    fn is_inside(&self) -> bool {
        self.depth > 0 || self.is_text
    }

    /// How many bytes of the chunk belong to the value, and whether it ends there.
    fn find(&mut self, chunk: &[u8]) -> (usize, bool) {
        for (i, byte) in chunk.iter().enumerate() {
            if self.is_text {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => {
                        self.is_text = false;
                        if self.depth == 0 {
                            return (i + 1, true);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (i + 1, true);
                    }
                }
                b'}' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                    return (i, true);
                }
                _ => {}
            }
        }
        (chunk.len(), false)
    }
}
