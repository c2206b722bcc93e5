//! The log of a run: one JSON object a line.
//!
//! The first line says what the file is. A body is written once, before the first call that
//! refers to it; a call refers to its bodies by digest, so that repeats cost a line and no more.
//!
//! ```text
//! {"kind":"tap_log","version":1}
//! {"kind":"body","digest":"sha256:…","text":"…"}        (or "base64": what is no UTF-8, and long bodies)
//! {"kind":"call","id":0,"arm":"direct",…}
//! ```

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_bench_error::Hint;
use serde::{Deserialize, Serialize};

use super::call::{BodyRef, CallRecord};
use super::sink::{CallBodies, CallSink, StoredBody};

const VERSION: u32 = 1;
/// Memory of longer lines is given back.
const MOST_SPARE: usize = 1024 * 1024;

/// A line of the log as it is read.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line {
    TapLog {
        version: u32,
    },
    Body {
        digest: String,
        text: Option<String>,
        base64: Option<String>,
    },
    Call(Box<CallRecord>),
}

/// The same as it is written: it holds nothing of its own, since bodies may be long.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WrittenLine<'a> {
    TapLog {
        version: u32,
    },
    Body {
        digest: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    Call(&'a CallRecord),
}

/// Why a log cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be opened or read.
    #[error("cannot open the log `{}`: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// A line is not one of a log.
    #[error("{}:{line}: not a line of a tap log: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

impl Hint for LogError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Open { .. } => Some("check that its folder exists and may be written".to_owned()),
            Self::Line { .. } => Some("was it written by another version or cut off?".to_owned()),
        }
    }
}

/// Writes a log while calls end.
#[derive(Debug)]
pub struct LogWriter {
    file: BufWriter<File>,
    written: HashSet<String>,
    /// Bytes up to the end of the last whole line.
    whole: u64,
    /// Memory for the next line.
    spare: Vec<u8>,
}

impl LogWriter {
    /// A new log at this path; one that is there is replaced.
    ///
    /// # Errors
    ///
    /// When it cannot be created.
    pub fn create(path: &Path) -> Result<Self, LogError> {
        let open = |reason| LogError::Open {
            path: path.to_owned(),
            reason,
        };
        let mut log = Self {
            file: BufWriter::new(File::create(path).map_err(open)?),
            written: HashSet::new(),
            whole: 0,
            spare: Vec::new(),
        };
        log.line(&WrittenLine::TapLog { version: VERSION })
            .map_err(open)?;
        log.file.flush().map_err(open)?;
        Ok(log)
    }

    fn line(&mut self, line: &WrittenLine<'_>) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.clear();
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.whole += bytes.len() as u64;
        if bytes.capacity() <= MOST_SPARE {
            self.spare = bytes;
        }
        Ok(())
    }

    fn body(&mut self, digest: &str, body: StoredBody) -> io::Result<()> {
        match body {
            StoredBody::Bytes(bytes) => {
                let text = std::str::from_utf8(&bytes).ok();
                let base64 = text.is_none().then(|| STANDARD.encode(&bytes));
                self.line(&WrittenLine::Body {
                    digest,
                    text,
                    base64,
                })
            }
            StoredBody::File(mut file) => {
                let start = format!("{{\"kind\":\"body\",\"digest\":\"{digest}\",\"base64\":\"");
                self.file.write_all(start.as_bytes())?;
                let mut bytes = start.len() as u64;
                // A multiple of three, so that the pieces of base64 can be put together.
                let mut piece = vec![0; 48 * 1024];
                loop {
                    let read = fill(&mut file, &mut piece)?;
                    let encoded = STANDARD.encode(&piece[..read]);
                    self.file.write_all(encoded.as_bytes())?;
                    bytes += encoded.len() as u64;
                    if read < piece.len() {
                        break;
                    }
                }
                self.file.write_all(b"\"}\n")?;
                self.whole += bytes + 3;
                Ok(())
            }
        }
    }

    /// Writes a call and those of its bodies that are not there yet, whose digests it adds to
    /// `new`.
    fn write(
        &mut self,
        call: &CallRecord,
        bodies: CallBodies,
        new: &mut Vec<String>,
    ) -> io::Result<()> {
        for (digest, body) in bodies.by_digest(call) {
            if self.written.insert(digest.to_owned()) {
                new.push(digest.to_owned());
                self.body(digest, body)?;
            }
        }
        self.line(&WrittenLine::Call(call))?;
        self.file.flush()
    }

    /// Takes back what was written of a line that did not fit on the disk, so that the log
    /// stays readable.
    fn undo(&mut self, whole: u64) {
        let Ok(file) = self.file.get_ref().try_clone() else {
            return;
        };
        // What the buffer still holds must not follow: a new one takes its place.
        let old = std::mem::replace(&mut self.file, BufWriter::new(file));
        let (file, _) = old.into_parts();
        let mut file = file;
        if file.set_len(whole).is_ok() {
            let _ = io::Seek::seek(&mut file, io::SeekFrom::Start(whole));
        }
        self.whole = whole;
    }
}

/// Reads until the piece is full or the file ends.
fn fill(file: &mut File, piece: &mut [u8]) -> io::Result<usize> {
    let mut at = 0;
    while at < piece.len() {
        match file.read(&mut piece[at..])? {
            0 => break,
            read => at += read,
        }
    }
    Ok(at)
}

impl CallSink for LogWriter {
    fn call(&mut self, call: Box<CallRecord>, bodies: CallBodies) -> io::Result<()> {
        let before = self.whole;
        let mut new = Vec::new();
        let written = self.write(&call, bodies, &mut new);
        if written.is_err() {
            for digest in &new {
                self.written.remove(digest);
            }
            self.undo(before);
        }
        written
    }
}

/// A log that was read back.
#[derive(Debug, Default)]
pub struct CallLog {
    /// The calls in the order in which they ended.
    pub calls: Vec<CallRecord>,
    /// Bodies by digest.
    pub bodies: HashMap<String, Vec<u8>>,
}

impl CallLog {
    /// The bytes of a body, if the log has them.
    pub fn body(&self, body: &BodyRef) -> Option<&[u8]> {
        let found = self.bodies.get(body.digest.as_ref()?);
        found.map(Vec::as_slice)
    }

    /// Reads the calls of a log one by one, without its bodies, however long it is. Returns how
    /// many there were.
    ///
    /// # Errors
    ///
    /// As [`CallLog::read`].
    pub fn each_call(path: &Path, mut found: impl FnMut(CallRecord)) -> Result<u64, LogError> {
        let mut calls = 0;
        Self::lines(path, |line| {
            if let Line::Call(call) = line {
                calls += 1;
                found(*call);
            }
            Ok(())
        })?;
        Ok(calls)
    }

    /// Reads a log.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, or a line is not one of a log. A last line that was cut off,
    /// as a kill leaves it, is skipped.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        let mut log = Self::default();
        Self::lines(path, |line| {
            match line {
                Line::TapLog { .. } => {}
                Line::Call(call) => log.calls.push(*call),
                Line::Body {
                    digest,
                    text,
                    base64,
                } => {
                    let bytes = match (text, base64) {
                        (Some(text), _) => text.into_bytes(),
                        (None, Some(base64)) => {
                            STANDARD.decode(base64).map_err(|error| error.to_string())?
                        }
                        (None, None) => return Err("a body without content".to_owned()),
                    };
                    log.bodies.insert(digest, bytes);
                }
            }
            Ok(())
        })?;
        Ok(log)
    }

    /// Calls `take` with each line, whose number stands in the error if it is wrong.
    fn lines(
        path: &Path,
        mut take: impl FnMut(Line) -> Result<(), String>,
    ) -> Result<(), LogError> {
        let file = File::open(path).map_err(|reason| LogError::Open {
            path: path.to_owned(),
            reason,
        })?;
        let mut reader = BufReader::new(file);
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            let wrong = |reason: String| LogError::Line {
                path: path.to_owned(),
                line,
                reason,
            };
            let read = reader.read_until(b'\n', &mut text);
            if read.map_err(|error| wrong(error.to_string()))? == 0 || !text.ends_with(b"\n") {
                break;
            }
            let parsed = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
            match parsed {
                Line::TapLog { version } if version != VERSION => {
                    return Err(wrong(format!("version {version}")));
                }
                line => take(line).map_err(wrong)?,
            }
        }
        Ok(())
    }
}
