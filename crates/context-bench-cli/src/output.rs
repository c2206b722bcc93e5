//! What the program prints: data to stdout, everything else to stderr.
//!
//! All of it goes through here, so that no key is said, whatever quotes one, and nothing
//! from outside steers the terminal.
//!
//! Colours follow the terminal, `NO_COLOR` and `CLICOLOR_FORCE`; all texts read
//! well without them.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue};
use context_bench::chat::{Secret, Secrets};
use context_bench::mask::Mask;
use context_bench::planner::Notice;
use context_bench::text::visible::{visible, visible_json};
use serde_json::Value;

use crate::failure::Failure;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Prints an error and its hint.
pub(crate) fn error(failure: &Failure) {
    labelled("error", ERROR, &failure.what);
    if let Some(hint) = &failure.hint {
        labelled("hint", HINT, hint);
    }
}

/// Prints a warning.
pub(crate) fn warning(text: &str) {
    labelled("warning", WARNING, text);
}

/// Prints what users should know.
pub(crate) fn notices(notices: &[Notice]) {
    for notice in notices {
        warning(&notice.what);
        if let Some(text) = &notice.hint {
            hint(text);
        }
    }
}

/// Prints advice that stands by itself.
pub(crate) fn hint(text: &str) {
    labelled("hint", HINT, text);
}

/// Prints a remark.
pub(crate) fn note(text: &str) {
    // A closed stderr must not end the program.
    let _ = writeln!(anstream::stderr(), "{}", said(text));
}

fn labelled(label: &str, style: Style, text: &str) {
    let text = said(text);
    let _ = writeln!(anstream::stderr(), "{style}{label}:{style:#} {text}");
}

/// What settings hold that must not be said; only added to, as several commands may run
/// in one process.
static HIDDEN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// The fewest characters of what is looked for in everything that is said. Shorter ones
/// are only left out where they are set.
const SHORTEST: usize = 6;

/// Never says these from now on.
pub(crate) fn hide(secrets: impl IntoIterator<Item = String>) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    for secret in secrets {
        let secret = secret.trim();
        if secret.chars().count() >= SHORTEST && !hidden.iter().any(|known| known == secret) {
            hidden.push(secret.to_owned());
        }
    }
}

/// Without what is hidden.
fn without_hidden(text: &str) -> String {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    match hidden.iter().any(|secret| text.contains(secret)) {
        true => Secrets::new(hidden.iter().map(Secret::new)).redact(text),
        false => text.to_owned(),
    }
}

/// A message as it may be said.
pub(crate) fn said(text: &str) -> String {
    visible(&Mask::Dots.text(&without_hidden(text))).into_owned()
}

/// What clap says about arguments, which it quotes.
pub(crate) fn of_clap(mut error: clap::Error) {
    let quoted: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| {
            let value = match value {
                ContextValue::String(text) => ContextValue::String(said(text)),
                ContextValue::Strings(texts) => {
                    ContextValue::Strings(texts.iter().map(|text| said(text)).collect())
                }
                _ => return None,
            };
            Some((kind, value))
        })
        .collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    // What it says beside that, such as why a value is wrong, quotes as well.
    let plain = error.render().to_string();
    match said(&plain) == plain {
        true => drop(error.print()),
        false => note(plain.trim_end()),
    }
}

/// How wide a table on stdout may be: the terminal's width, 80 when piped.
pub(crate) fn width() -> u16 {
    match terminal_size::terminal_size_of(io::stdout()) {
        Some((width, _)) => width.0.clamp(60, 200),
        None => 80,
    }
}

/// Where the report goes. A file is opened before the run, so that a path that
/// cannot be written is found out before anything is paid for.
pub(crate) enum Sink {
    /// Standard output.
    Stdout,
    /// A pipe or device, which is written as it is.
    Special {
        /// Where it is.
        path: PathBuf,
        /// The open file.
        file: std::fs::File,
    },
    /// A file that appears whole or not at all.
    File {
        /// Where it shall be.
        path: PathBuf,
        /// Where it is being written.
        partial: PathBuf,
        /// The open file.
        file: std::fs::File,
    },
}

impl Sink {
    /// Opens the sink.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::Stdout);
        };
        let cannot = |reason: &dyn Display| {
            Failure::bad_input(format!("cannot write `{}`: {reason}", path.display()))
        };
        let unwritable = |error: io::Error| {
            cannot(&error).hint("choose a folder that exists and is writable for `--output-file`")
        };
        let known = std::fs::metadata(path).ok();
        if known.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(cannot(&"it is a folder").hint("name a file for `--output-file`"));
        }
        if known.is_some_and(|known| !known.is_file()) {
            let file = std::fs::File::options().write(true).open(path);
            return Ok(Self::Special {
                path: path.to_owned(),
                file: file.map_err(unwritable)?,
            });
        }
        // A link stays a link; what it points at is replaced.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{}.partial", std::process::id()));
        let partial = PathBuf::from(partial);
        Ok(Self::File {
            file: std::fs::File::create(&partial).map_err(unwritable)?,
            path,
            partial,
        })
    }

    /// Writes the report. When a file cannot be written, the report goes to
    /// stdout instead: results are never lost.
    pub(crate) fn write(self, report: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let (path, partial, file) = match self {
            Self::Stdout => return to_stdout(&report),
            Self::Special { path, file } => (path, None, file),
            Self::File {
                path,
                partial,
                file,
            } => (path, Some(partial), file),
        };
        let mut out = io::BufWriter::new(file);
        let written = report(&mut out).and_then(|()| out.flush());
        let written = written.and_then(|()| match &partial {
            Some(partial) => std::fs::rename(partial, &path),
            None => Ok(()),
        });
        match written {
            Ok(()) => {
                note(&format!("wrote {}", path.display()));
                Ok(())
            }
            Err(error) => {
                if let Some(partial) = partial {
                    let _ = std::fs::remove_file(partial);
                }
                warning(&format!(
                    "cannot write `{}`: {error}; the report follows on stdout",
                    path.display()
                ));
                to_stdout(&report)?;
                Err(error)
            }
        }
    }

    /// Gives up a file that was opened for nothing.
    pub(crate) fn discard(self) {
        if let Self::File { partial, .. } = self {
            let _ = std::fs::remove_file(partial);
        }
    }
}

fn to_stdout(report: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match report(&mut out).and_then(|()| out.flush()) {
        // The reader has seen enough (`| head`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Prints text for people to stdout.
pub(crate) fn stdout(text: &str) -> Result<(), Failure> {
    printed(&visible(&without_hidden(text)))
}

/// Prints text that holds data of rows, which stay as they are but for what steers
/// terminals.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    printed(&visible(text))
}

/// Prints JSON to stdout: the same values, with escapes for what steers terminals.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    printed(&visible_json(&format!("{value:#}\n")))
}

fn printed(text: &str) -> Result<(), Failure> {
    to_stdout(&|out| out.write_all(text.as_bytes()))
        .map_err(|error| Failure::bad_input(format!("cannot write to stdout: {error}")))
}
