//! What the program prints: results to stdout, everything else to stderr.
//!
//! All output passes through here, so that no API key is printed, whoever quotes it, and text
//! from outside cannot control the terminal.
//!
//! Colours follow the terminal, `NO_COLOR` and `CLICOLOR_FORCE`; no message depends on them.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue};
use context_bench::chat::{Secret, Secrets};
use context_bench::mask::Mask;
use context_bench::planner::Notice;
use context_bench::report::{LineKind, ReportLine};
use context_bench_scoring::text::visible::{visible, visible_json};
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

/// An error and its hint as text that goes to stdout.
pub(crate) fn failure_text(failure: &Failure) -> String {
    let what = printable(&failure.what);
    match &failure.hint {
        Some(hint) => format!("{what}\nhint: {}", printable(hint)),
        None => what,
    }
}

/// Prints a warning.
pub(crate) fn warning(text: &str) {
    labelled("warning", WARNING, text);
}

/// Prints notices with their hints.
pub(crate) fn notices(notices: &[Notice]) {
    for notice in notices {
        warning(&notice.what);
        if let Some(text) = &notice.hint {
            hint(text);
        }
    }
}

/// Prints a hint of its own.
pub(crate) fn hint(text: &str) {
    labelled("hint", HINT, text);
}

/// Prints a remark.
pub(crate) fn note(text: &str) {
    // A closed stderr must not end the program.
    let _ = writeln!(anstream::stderr(), "{}", printable(text));
}

fn labelled(label: &str, style: Style, text: &str) {
    let text = printable(text);
    let _ = writeln!(anstream::stderr(), "{style}{label}:{style:#} {text}");
}

/// Secrets found in settings. They are only ever added, because several commands may run in one
/// process.
static HIDDEN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// The shortest secret that is searched for in all output, in characters. Shorter ones would
/// also match ordinary text; they are only masked in the settings that hold them.
const SHORTEST: usize = 6;

/// Keeps these secrets out of all further output.
pub(crate) fn hide(secrets: impl IntoIterator<Item = String>) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    for secret in secrets {
        let secret = secret.trim();
        if secret.chars().count() >= SHORTEST && !hidden.iter().any(|known| known == secret) {
            hidden.push(secret.to_owned());
        }
    }
}

/// A text without the hidden secrets.
fn without_hidden(text: &str) -> String {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    match hidden.iter().any(|secret| text.contains(secret)) {
        true => Secrets::new(hidden.iter().map(Secret::new)).redact(text),
        false => text.to_owned(),
    }
}

/// A message as it may be printed: without secrets and control characters.
pub(crate) fn printable(text: &str) -> String {
    visible(&Mask::Dots.text(&without_hidden(text))).into_owned()
}

/// Prints an error of clap, which quotes arguments.
pub(crate) fn clap_error(mut error: clap::Error) {
    let quoted: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| {
            let value = match value {
                ContextValue::String(text) => ContextValue::String(printable(text)),
                ContextValue::Strings(texts) => {
                    ContextValue::Strings(texts.iter().map(|text| printable(text)).collect())
                }
                _ => return None,
            };
            Some((kind, value))
        })
        .collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    // The rest of its message, such as why a value is wrong, may quote arguments too.
    let plain = error.render().to_string();
    match printable(&plain) == plain {
        true => drop(error.print()),
        false => note(plain.trim_end()),
    }
}

/// The width of tables on stdout: that of the terminal, or 80 when piped.
pub(crate) fn width() -> u16 {
    match terminal_size::terminal_size_of(io::stdout()) {
        Some((width, _)) => width.0.clamp(60, 200),
        None => 80,
    }
}

/// Whether stdout is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Where the report goes. A file is opened before the run, so that a path that cannot be written
/// fails before anything is paid for.
pub(crate) enum Sink {
    /// Standard output.
    Stdout,
    /// A pipe or device, which is written to directly.
    Special {
        /// Where it is.
        path: PathBuf,
        /// The open file.
        file: std::fs::File,
    },
    /// A file that appears whole or not at all.
    File {
        /// Where it will be.
        path: PathBuf,
        /// Where it is written first.
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
            cannot(&error).hint("choose a path for `--output-file` in a folder that is writable")
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
        // A symbolic link is kept; its target is replaced.
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

    /// Writes the report. When the file cannot be written, the report goes to stdout instead, so
    /// that results are never lost.
    pub(crate) fn write(self, report: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.write_or(&report, &report)
    }

    /// The same, with another report for stdout.
    pub(crate) fn write_or(
        self,
        report: impl Fn(&mut dyn Write) -> io::Result<()>,
        instead: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
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
                to_stdout(&instead)?;
                Err(error)
            }
        }
    }

    /// Removes the file of a report that will not be written.
    pub(crate) fn discard(self) {
        if let Self::File { partial, .. } = self {
            let _ = std::fs::remove_file(partial);
        }
    }
}

fn to_stdout(report: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match report(&mut out).and_then(|()| out.flush()) {
        // The reader has seen enough, as in `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Prints text to stdout, without secrets.
pub(crate) fn stdout(text: &str) -> Result<(), Failure> {
    print(&visible(&without_hidden(text)))
}

/// Prints the lines of a report to stdout, in colour on a terminal.
pub(crate) fn lines(lines: &[ReportLine]) -> Result<(), Failure> {
    let style = |kind: LineKind| match kind {
        LineKind::Plain => Style::new(),
        LineKind::Heading => Style::new().bold(),
        LineKind::Good | LineKind::Added => AnsiColor::Green.on_default(),
        LineKind::Bad => AnsiColor::Red.on_default().bold(),
        LineKind::Removed => AnsiColor::Red.on_default(),
        LineKind::Aside => Style::new().dimmed(),
    };
    let mut text = String::new();
    for line in lines {
        let style = style(line.kind);
        // Control characters of the text are written out before ours are added.
        let shown = visible(&without_hidden(&line.text)).into_owned();
        text.push_str(&format!("{style}{shown}{style:#}\n"));
    }
    if anstream::AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never {
        text = anstream::adapter::strip_str(&text).to_string();
    }
    to_stdout(&|out| out.write_all(text.as_bytes()))
        .map_err(|error| Failure::bad_input(format!("cannot write to stdout: {error}")))
}

/// Prints text with data of rows to stdout: unchanged, except for control characters.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    print(&visible(text))
}

/// Prints JSON to stdout: the same values, with control characters escaped.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    print(&visible_json(&format!("{value:#}\n")))
}

fn print(text: &str) -> Result<(), Failure> {
    to_stdout(&|out| out.write_all(text.as_bytes()))
        .map_err(|error| Failure::bad_input(format!("cannot write to stdout: {error}")))
}
