//! The table on a terminal: headings, rules and verdicts in colour where the terminal has colours and
//! `NO_COLOR` is not set. In a pipe it is the text alone.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use context_bench::EvalResult;
use context_bench::report::{ChartedTable, Reporter, TableReport};

/// A table as wide as the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalTable {
    pub(crate) width: u16,
    /// Whether a chart follows.
    pub(crate) charted: bool,
}

impl Reporter for TerminalTable {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        let width = self.width;
        let mut plain = Vec::new();
        match self.charted {
            true => ChartedTable { width }.write(result, &mut plain)?,
            false => TableReport { width }.write(result, &mut plain)?,
        }
        match anstream::AutoStream::choice(&io::stdout()) {
            anstream::ColorChoice::Never => out.write_all(&plain),
            // Reports hold no control characters, so that none but ours are added.
            _ => out.write_all(coloured(&String::from_utf8_lossy(&plain)).as_bytes()),
        }
    }

    fn needs_rows(&self) -> bool {
        false
    }
}

/// Headings in bold, rules dimmed, points of the front and verdicts in their colours.
fn coloured(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule =
        |line: &str| line.contains('─') && line.chars().all(|c| matches!(c, '─' | '└' | ' '));
    let mut styled = String::with_capacity(text.len() * 2);
    for (number, line) in lines.iter().enumerate() {
        // A heading has one or two lines above its rule.
        let heads = |by: usize| lines.get(number + by).is_some_and(|below| is_rule(below));
        let begins = number == 0 || lines[number - 1].is_empty() || heads(1);
        let style = match () {
            () if is_rule(line) => Style::new().dimmed(),
            () if !line.is_empty() && (heads(1) || heads(2) && begins) => Style::new().bold(),
            () => Style::new(),
        };
        styled += &match style == Style::new() {
            true => verdicts(line),
            false => format!("{style}{line}{style:#}"),
        };
        styled.push('\n');
    }
    styled
}

/// A line with its verdict in colour, when it ends in one.
fn verdicts(line: &str) -> String {
    let found = [
        (" not worse", AnsiColor::Green),
        (" better", AnsiColor::Green),
        (" worse", AnsiColor::Red),
    ];
    let Some((word, colour)) = found.into_iter().find(|(word, _)| line.ends_with(word)) else {
        let accent = AnsiColor::Cyan.on_default();
        return line.replace('●', &format!("{accent}●{accent:#}"));
    };
    let style = colour.on_default();
    let before = &line[..line.len() - word.len()];
    format!("{before}{style}{word}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_rules_and_verdicts_have_colours_and_the_text_stays() {
        let text = "System  score\n        mean\n─────────────\na       0.5\n\na: worse\nb: not worse\n 1 │● a\n";
        let shown = coloured(text);
        assert_eq!(anstream::adapter::strip_str(&shown).to_string(), text);
        for part in [
            "\u{1b}[1mSystem  score\u{1b}[0m\n\u{1b}[1m        mean\u{1b}[0m\n\u{1b}[2m──",
            "\na       0.5\n",
            "a:\u{1b}[31m worse\u{1b}[0m\n",
            "b:\u{1b}[32m not worse\u{1b}[0m\n",
            "\u{1b}[36m●\u{1b}[0m a",
        ] {
            assert!(shown.contains(part), "{part:?} in {shown:?}");
        }
    }
}
