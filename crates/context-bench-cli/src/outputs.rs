//! The formats that a result is written in, and where each goes.
//!
//! `--output` and `--output-file` may be given several times. With one of each they belong together.
//! Otherwise the ending of a file says which format it is for, whether that was named or not; files
//! with other endings belong to the formats that have none, in order. What has no file goes to
//! stdout, and only one can.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench::plan::{OutputSpec, OutputTarget};
use context_bench::registry::Registry;
use context_bench::report::{JsonlReport, PageReport, Reporter};
use context_bench::{EvalResult, TextsKept};

use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::terminal_table::TerminalTable;

/// The format of a page.
pub(crate) const HTML: &str = "html";
/// The format that is meant where none is.
pub(crate) const TABLE: &str = "table";

/// The format that a file name stands for.
fn format_of(file: &Path) -> Option<&'static str> {
    let ending = file.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "txt" => TABLE,
        "md" | "markdown" => "markdown",
        "json" => "json",
        "jsonl" | "ndjson" => "jsonl",
        "csv" => "csv",
        "parquet" => "parquet",
        "xml" => "junit",
        "html" | "htm" => HTML,
        _ => return None,
    })
}

/// Which file is for which format.
pub(crate) fn targets(formats: &[String], files: &[PathBuf]) -> Result<Vec<OutputTarget>, Failure> {
    let mut targets: Vec<OutputTarget> = formats
        .iter()
        .map(|format| OutputTarget {
            format: Some(format.clone()),
            file: None,
        })
        .collect();
    if let ([target], [file]) = (&mut targets[..], files) {
        target.file = Some(file.clone());
        return Ok(targets);
    }
    if let ([], [file]) = (&targets[..], files) {
        let (format, file) = (None, Some(file.clone()));
        return Ok(vec![OutputTarget { format, file }]);
    }
    let mut others = Vec::new();
    for file in files {
        let Some(format) = format_of(file) else {
            others.push(file);
            continue;
        };
        let own = |target: &&mut OutputTarget| {
            target.file.is_none() && target.format.as_deref() == Some(format)
        };
        match targets.iter_mut().find(own) {
            Some(target) => target.file = Some(file.clone()),
            None => targets.push(OutputTarget {
                format: Some(format.to_owned()),
                file: Some(file.clone()),
            }),
        }
    }
    for file in others {
        let Some(target) = targets.iter_mut().find(|target| target.file.is_none()) else {
            return Err(no_format(file));
        };
        target.file = Some(file.clone());
    }
    Ok(targets)
}

fn no_format(file: &Path) -> Failure {
    let what = format!("no format is given for `{}`", file.display());
    Failure::bad_input(what).hint(
        "name one with a further `--output`, or use an ending that says it, such as \
         `.json`, `.md` or `.parquet`",
    )
}

/// The format of a target. A file whose ending means something else is not silently a table.
fn format_for(target: &OutputTarget) -> Result<&str, Failure> {
    match (target.format.as_deref(), target.file.as_deref()) {
        (Some(named), _) => Ok(named),
        (None, Some(file)) if file.extension().is_some() => {
            format_of(file).ok_or_else(|| no_format(file))
        }
        (None, _) => Ok(TABLE),
    }
}

/// What flags say about outputs.
pub(crate) fn spec(formats: &[String], files: &[PathBuf]) -> Result<OutputSpec, Failure> {
    let mut targets = targets(formats, files)?.into_iter();
    let first = targets.next().unwrap_or_default();
    Ok(OutputSpec {
        format: first.format,
        file: first.file,
        also: targets.collect(),
        ..OutputSpec::default()
    })
}

/// All outputs of a spec.
pub(crate) fn of_spec(spec: &OutputSpec) -> Vec<OutputTarget> {
    let first = OutputTarget {
        format: spec.format.clone(),
        file: spec.file.clone(),
    };
    let mut all = vec![first];
    all.extend(spec.also.iter().cloned());
    all
}

/// A format, and where the result goes in it.
struct Output {
    format: String,
    file: Option<PathBuf>,
    reporter: Arc<dyn Reporter>,
}

/// The outputs of a command, checked. Nothing is opened yet.
pub(crate) struct Outputs(Vec<Output>);

impl Outputs {
    /// Finds the reporters. `command` makes the run or the report again; a page says it.
    pub(crate) fn new(
        targets: &[OutputTarget],
        registry: &Registry,
        command: &str,
    ) -> Result<Self, Failure> {
        let mut outputs: Vec<Output> = Vec::new();
        for target in targets {
            let file = target.file.as_deref();
            let format = format_for(target)?;
            let reporter = reporter(format, file.is_some(), registry, command)?;
            if file.is_none() && !reporter.is_text() && output::is_terminal() {
                return Err(
                    Failure::bad_input(format!("`{format}` is not for terminals"))
                        .hint("name a file with `--output-file`"),
                );
            }
            if let Some(other) = outputs.iter().find(|other| other.file == target.file) {
                return Err(match file {
                    Some(file) => Failure::bad_input(format!(
                        "`{}` and `{format}` would both be written to `{}`",
                        other.format,
                        file.display()
                    ))
                    .hint("give each a file of its own"),
                    None => Failure::bad_input(format!(
                        "`{}` and `{format}` would both go to stdout",
                        other.format
                    ))
                    .hint(
                        "only one format can: name files for the others, such as \
                         `--output-file result.json`",
                    ),
                });
            }
            outputs.push(Output {
                format: format.to_owned(),
                file: target.file.clone(),
                reporter,
            });
        }
        Ok(Self(outputs))
    }

    /// Lets a chart follow the table on stdout.
    pub(crate) fn add_chart(&mut self) {
        let width = output::width();
        let on_stdout = |one: &&mut Output| one.format == TABLE && one.file.is_none();
        for one in self.0.iter_mut().filter(on_stdout) {
            one.reporter = Arc::new(TerminalTable {
                width,
                charted: true,
            });
        }
    }

    /// Which texts rows must have; none when the user wants none.
    pub(crate) fn texts(&self, wanted: bool) -> TextsKept {
        let texts = self.0.iter().map(|one| one.reporter.texts());
        match wanted {
            true => texts.fold(TextsKept::None, |all, own| match (all, own) {
                (TextsKept::Contexts, _) | (_, TextsKept::Contexts) => TextsKept::Contexts,
                (TextsKept::None, own) => own,
                (all, _) => all,
            }),
            false => TextsKept::None,
        }
    }

    /// Whether nothing but the table for terminals is shown.
    pub(crate) fn only_table(&self) -> bool {
        self.0.iter().all(|one| one.format == TABLE)
    }

    /// Whether rows are all that is written.
    pub(crate) fn only_rows(&self) -> bool {
        self.0.iter().all(|one| one.reporter.only_rows())
    }

    /// Whether all rows must be in memory.
    pub(crate) fn need_rows(&self) -> bool {
        self.0.iter().any(|one| one.reporter.needs_rows())
    }

    /// Opens all files, so that one that cannot be written is known before anything is paid for.
    pub(crate) fn open(self) -> Result<OpenOutputs, Failure> {
        let mut open = OpenOutputs(Vec::new());
        for one in self.0 {
            match Sink::open(one.file.as_deref()) {
                Ok(sink) => open.0.push((one.reporter, sink)),
                Err(failure) => {
                    open.discard();
                    return Err(failure);
                }
            }
        }
        Ok(open)
    }
}

/// Outputs whose files are open.
pub(crate) struct OpenOutputs(Vec<(Arc<dyn Reporter>, Sink)>);

impl OpenOutputs {
    /// Writes the result in all formats. One that cannot be written keeps none of the others back.
    pub(crate) fn write(self, result: &EvalResult) -> std::io::Result<()> {
        let mut written = Ok(());
        for (reporter, sink) in self.0 {
            // Bytes that nobody can read would only spoil a terminal.
            let instead: Arc<dyn Reporter> = match reporter.is_text() {
                true => Arc::clone(&reporter),
                false => Arc::new(JsonlReport),
            };
            let done = sink.write_or(
                |out| reporter.write(result, out),
                |out| instead.write(result, out),
            );
            written = written.and(done);
        }
        written
    }

    /// Removes the files of reports that will not be written.
    pub(crate) fn discard(self) {
        for (_, sink) in self.0 {
            sink.discard();
        }
    }
}

fn reporter(
    format: &str,
    to_file: bool,
    registry: &Registry,
    command: &str,
) -> Result<Arc<dyn Reporter>, Failure> {
    if format == TABLE && !to_file {
        let width = output::width();
        return Ok(Arc::new(TerminalTable {
            width,
            charted: false,
        }));
    }
    if format == HTML {
        return Ok(Arc::new(page(command)));
    }
    Ok(Arc::clone(registry.reporters.get(format)?))
}

/// The reporter of a page that a command makes again.
pub(crate) fn page(command: &str) -> PageReport {
    // Where the program lies is nobody's business, and different elsewhere.
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    PageReport::made_by(vec![format!("{name} {rest}").trim_end().to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(formats: &[&str], files: &[&str]) -> Result<Vec<String>, String> {
        let formats: Vec<String> = formats.iter().map(|one| (*one).to_owned()).collect();
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let found = targets(&formats, &files).map_err(|failure| failure.what)?;
        let shown = |one: &OutputTarget| {
            let file = one.file.as_ref().map(|file| file.display().to_string());
            let format = one.format.as_deref().unwrap_or("?");
            format!("{format}>{}", file.as_deref().unwrap_or("-"))
        };
        Ok(found.iter().map(shown).collect())
    }

    #[test]
    fn endings_that_say_nothing_need_a_format() {
        let format = |format: Option<&str>, file: Option<&str>| {
            let target = OutputTarget {
                format: format.map(str::to_owned),
                file: file.map(PathBuf::from),
            };
            let found = format_for(&target).map(str::to_owned);
            found.map_err(|failure| failure.what)
        };
        for (named, file, expected) in [
            (None, None, Ok("table")),
            (None, Some("report"), Ok("table")),
            (None, Some("r.TXT"), Ok("table")),
            (None, Some("r.md"), Ok("markdown")),
            (Some("csv"), Some("r.foo"), Ok("csv")),
            (None, Some("r.foo"), Err("no format is given for `r.foo`")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(format(named, file), expected, "{named:?} {file:?}");
        }
    }

    #[test]
    fn files_find_their_formats() {
        for (formats, files, expected) in [
            (&[][..], &[][..], &[][..]),
            (&["json"], &[], &["json>-"]),
            (&[], &["r.json"], &["?>r.json"]),
            (&["table"], &["r.html"], &["table>r.html"]),
            (
                &["json", "html"],
                &["r.json", "r.html"],
                &["json>r.json", "html>r.html"],
            ),
            (
                &["json", "html"],
                &["r.html", "r.json"],
                &["json>r.json", "html>r.html"],
            ),
            (&["table", "html"], &["r.HTML"], &["table>-", "html>r.HTML"]),
            (&["json", "csv"], &["a", "b"], &["json>a", "csv>b"]),
            (
                &["table"],
                &["r.md", "r.parquet"],
                &["table>-", "markdown>r.md", "parquet>r.parquet"],
            ),
            (&[], &["a.xml", "a.csv"], &["junit>a.xml", "csv>a.csv"]),
        ] {
            let found = paired(formats, files).unwrap();
            assert_eq!(found, expected, "{formats:?} {files:?}");
        }
        let error = paired(&["json"], &["a", "b"]).unwrap_err();
        assert_eq!(error, "no format is given for `b`");
    }
}
