//! The summary of a GitHub job: Markdown that is added to the file that `GITHUB_STEP_SUMMARY` names.
//!
//! What cannot be added is worth a warning; it never ends a run or changes its exit code.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use context_bench::EvalResult;
use context_bench::report::MarkdownReport;

use crate::{env, output};

const VARIABLE: &str = "GITHUB_STEP_SUMMARY";
/// GitHub shows no summary at all of a step that has more.
const LIMIT: usize = 1024 * 1024;

/// Adds the result to the summary of the job, if there is one.
pub(crate) fn append(result: &EvalResult) {
    let Some(path) = env::get(VARIABLE) else {
        return;
    };
    let text = MarkdownReport.render(result);
    if let Err(error) = add(Path::new(&path), &text, LIMIT) {
        output::warning(&format!(
            "cannot write the job summary `{path}`, which {VARIABLE} names: {error}"
        ));
    }
}

fn add(path: &Path, text: &str, limit: usize) -> io::Result<()> {
    let known = fs::metadata(path).map_or(0, |known| known.len());
    let room = limit.saturating_sub(usize::try_from(known).unwrap_or(usize::MAX));
    let Some(text) = fitting(text, room.saturating_sub(2)) else {
        return Err(io::Error::other(format!(
            "its {known} bytes leave no room below the limit of {limit}"
        )));
    };
    let mut file = File::options().append(true).create(true).open(path)?;
    // A heading right behind the text of another command would not be one.
    let gap = if ends_line(path, known) { "" } else { "\n" };
    file.write_all(format!("{gap}{text}\n").as_bytes())
}

/// Whether a file is empty or ends with a line feed.
fn ends_line(path: &Path, len: u64) -> bool {
    let last = || -> io::Result<u8> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        Ok(last[0])
    };
    len == 0 || last().is_ok_and(|last| last == b'\n')
}

/// As many whole lines of a text as there is room for, with a note if that is not all; `None` when
/// there is not even room for that.
fn fitting(text: &str, room: usize) -> Option<String> {
    if text.len() <= room {
        return Some(text.to_owned());
    }
    let note = |left_out: usize| {
        format!(
            "\n*Cut here: {left_out} more bytes do not fit into a job summary. `--output markdown \
             --output-file FILE.md` writes all of it.*"
        )
    };
    // The longest that the note can be.
    let room = room.checked_sub(note(text.len()).len())?;
    let end = (0..=room).rev().find(|at| text.is_char_boundary(*at))?;
    let end = text[..end].rfind('\n')? + 1;
    Some(format!("{}{}", &text[..end], note(text.len() - end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_at_a_line_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        let text = "| é |\n".repeat(100);
        add(&path, text.trim_end(), 2000).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // The second finds less room.
        add(&path, text.trim_end(), 1000).unwrap();
        let all = fs::read_to_string(&path).unwrap();
        assert!(all.len() <= 1000, "{}", all.len());
        let (lines, note) = all.split_once("\n\n").unwrap();
        assert!(lines.lines().all(|line| line == "| é |"), "{lines}");
        let left_out = 2 * text.len() - 1 - lines.len() - 1;
        assert!(
            note.starts_with(&format!("*Cut here: {left_out} more bytes")),
            "{note}"
        );
        let full = add(&path, &text, 1000).unwrap_err();
        assert!(full.to_string().contains("no room"), "{full}");
        assert_eq!(fs::read_to_string(&path).unwrap(), all);
    }

    #[test]
    fn a_heading_begins_on_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        fs::write(&path, "before").unwrap();
        add(&path, "# A", LIMIT).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\n# A\n");
    }
}
