//! Markdown: the table that users of the original tool know.
//!
//! A result without counts and errors renders exactly as it always did; what
//! honesty adds (±, counts, failures) appears only when it is there. Numbers are spelled
//! as in the terminal.

use std::io::{self, Write};

use super::memory::{MemoryReport, MemoryTable};
use super::wire;
use super::{Reporter, cell, comparison, cost, failures, gates, grid::Grid, quoted, sweep, tasks};
use crate::result::EvalResult;
use crate::text::stringify::python_str;
use crate::text::visible::visible;

/// One row per system, one column per metric.
#[derive(Debug, Clone, Copy, Default)]
pub struct MarkdownReport;

impl MarkdownReport {
    /// The report as text.
    pub fn render(&self, result: &EvalResult) -> String {
        let mut parts = tasks::tables(result);
        parts.push(self.comparison(result));
        // Documents are read in terminals, too.
        visible(&parts.join("\n\n")).into_owned()
    }

    fn comparison(&self, result: &EvalResult) -> String {
        let grid = Grid::of(result);
        if grid.rows.is_empty() {
            return "No results to report.".into();
        }
        if grid.metrics.is_empty() {
            let none = "No metrics computed.".to_owned();
            let parts = [Some(none), result.part_of()].into_iter().flatten();
            return parts.collect::<Vec<_>>().join("\n\n");
        }
        let mut lines = vec!["# Evaluation Results".to_owned(), String::new()];
        let mut header = "| System |".to_owned();
        let mut separator = "|--------|".to_owned();
        for metric in &grid.metrics {
            header += &format!(" {} |", escape(metric));
            separator += &format!("{}|", "-".repeat(metric.chars().count() + 2));
        }
        lines.extend([header, separator]);
        for (system, cells) in &grid.rows {
            lines.push(format!("| {} | {} |", escape(system), cells.join(" | ")));
        }
        lines.push(String::new());
        lines.extend(figures(result));
        lines.extend(memory_tables(result));
        lines.extend(cost_table(result));
        lines.extend(wire_table(result));
        if let Some(found) = &result.comparison {
            lines.extend(comparison::markdown(found));
        }
        lines.extend(sweep::markdown(result));
        lines.extend(gates::markdown(&result.gates));
        lines.extend(counts(result));
        if !result.timing.is_empty() {
            lines.extend(["## Timing".to_owned(), String::new()]);
            for (system, seconds) in &result.timing {
                let system = text(system);
                lines.push(format!("- **{system}**: {seconds:.2}s"));
            }
            lines.push(String::new());
        }
        let answered: Vec<String> = result
            .summary
            .keys()
            .filter_map(|system| {
                let who = result.answered_by(system)?;
                let (system, who) = (text(system), text(who));
                Some(format!("- **{system}**: {who}"))
            })
            .collect();
        if !answered.is_empty() {
            lines.extend(["## Answered by".to_owned(), String::new()]);
            lines.extend(answered);
            lines.push(String::new());
        }
        if let Some(part_of) = result.part_of() {
            lines.extend([format!("**{}**", text(&part_of)), String::new()]);
        }
        if !result.config.is_empty() {
            let n = result.config.get("num_examples").map(python_str);
            lines.push(format!(
                "*{} examples evaluated*",
                n.as_deref().unwrap_or("?")
            ));
        }
        lines.join("\n")
    }
}

impl Reporter for MarkdownReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.render(result))
    }

    fn needs_rows(&self) -> bool {
        false
    }
}

/// The tables of a run of memories, and what its scores rest on.
fn memory_tables(result: &EvalResult) -> Vec<String> {
    let Some(memory) = MemoryReport::of(result) else {
        return Vec::new();
    };
    let mut lines: Vec<String> = memory.tables().iter().flat_map(side_table).collect();
    lines.extend([text(&memory.basis()), String::new()]);
    lines
}

/// What systems cost, and by which prices.
fn cost_table(result: &EvalResult) -> Vec<String> {
    let table = cost::table(result);
    let mut lines: Vec<String> = table.iter().flat_map(side_table).collect();
    if let Some(basis) = cost::basis(result).filter(|_| !lines.is_empty()) {
        lines.extend([text(&basis), String::new()]);
    }
    lines
}

/// What a tap saw, and what arms are judged by.
fn wire_table(result: &EvalResult) -> Vec<String> {
    let table = wire::table(result);
    let mut lines: Vec<String> = table.iter().flat_map(side_table).collect();
    for line in wire::lines(result) {
        lines.push(format!("- {}", text(&line)));
    }
    if lines.last().is_some_and(|line| !line.is_empty()) {
        lines.push(String::new());
    }
    lines
}

/// A table beside the summary.
fn side_table(table: &MemoryTable) -> Vec<String> {
    let mut lines = Vec::new();
    {
        lines.extend([format!("## {}", table.title), String::new()]);
        let cells = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|text| escape(text)).collect();
            format!("| {} |", cells.join(" | "))
        };
        lines.push(cells(&table.header));
        let dashes = table
            .header
            .iter()
            .map(|text| "-".repeat(text.chars().count() + 2));
        lines.push(format!("|{}|", dashes.collect::<Vec<_>>().join("|")));
        lines.extend(table.rows.iter().map(|row| cells(row)));
        lines.push(String::new());
    }
    lines
}

/// What the authors of datasets quote, and by which rule.
fn figures(result: &EvalResult) -> Vec<String> {
    let mut lines = Vec::new();
    let systems: Vec<String> = result.tasks.keys().map(|name| escape(name)).collect();
    let head = |title: String, first: &str, lines: &mut Vec<String>| {
        lines.extend([title, String::new()]);
        lines.push(format!("| {first} | {} |", systems.join(" | ")));
        let n_columns = first.split('|').count() + systems.len();
        lines.push(format!("|{}", "---|".repeat(n_columns)));
    };
    let figures = quoted::lines(result);
    if !figures.is_empty() {
        head("## Figures".into(), "Dataset | Figure", &mut lines);
        for line in figures {
            let (dataset, name) = (escape(line.dataset), escape(&line.name()));
            lines.push(format!(
                "| {dataset} | {name} | {} |",
                line.cells.join(" | ")
            ));
        }
        lines.push(String::new());
    }
    for own in quoted::by_value(result) {
        let (dataset, figure, values) = (own.dataset, own.figure, own.values);
        let title = format!("### {}: {}", text(dataset), text(figure));
        head(title, "Value", &mut lines);
        for (value, cells) in values {
            let cells = cells.iter().map(|one| match one {
                Some(measured) => cell::score(measured),
                None => cell::NONE.into(),
            });
            let cells: Vec<String> = cells.collect();
            lines.push(format!("| {} | {} |", escape(value), cells.join(" | ")));
        }
        lines.push(String::new());
    }
    let rules = quoted::notes(result)
        .into_iter()
        .chain(quoted::rules(result));
    let rules: Vec<String> = rules.map(|line| format!("- {}", text(&line))).collect();
    if !rules.is_empty() {
        lines.extend(["## Rules".to_owned(), String::new()]);
        lines.extend(rules);
        lines.push(String::new());
    }
    lines
}

fn counts(result: &EvalResult) -> Vec<String> {
    if result.counts.is_empty() {
        return Vec::new();
    }
    // Most runs have no judge, and then no columns for it.
    let judged = result.counts.values().any(|c| c.judge_requests > 0);
    let (names, rule) = if judged {
        (
            " judge requests | judge tokens |",
            "----------------|--------------|",
        )
    } else {
        ("", "")
    };
    // Nor is there anything left to begin.
    let partial = result.counts.values().any(|c| c.not_run() > 0);
    let (not_begun, dashes) = match partial {
        true => (" not begun |", "-----------|"),
        false => ("", ""),
    };
    let mut lines = vec![
        "## Rows".to_owned(),
        String::new(),
        format!(
            "| System | planned | scored | unscored | not applicable | failed |{not_begun} cached | requests |{names}"
        ),
        format!(
            "|--------|---------|--------|----------|----------------|--------|{dashes}--------|----------|{rule}"
        ),
    ];
    for (system, counts) in &result.counts {
        let not_begun = match partial {
            true => format!(" {} |", counts.not_run()),
            false => String::new(),
        };
        let mut line = format!(
            "| {} | {} | {} | {} | {} | {} |{not_begun} {} | {} |",
            escape(system),
            counts.planned,
            counts.scored,
            counts.unscored,
            counts.not_applicable,
            counts.failed,
            counts.cached,
            counts.requests
        );
        if judged {
            let usage = counts.judged();
            line.push_str(&format!(" {} | {} |", usage.requests, usage.tokens()));
        }
        lines.push(line);
    }
    lines.push(String::new());
    let failures = failures::lines(result);
    if !failures.is_empty() {
        lines.extend(failures.iter().map(|line| format!("- {}", text(line))));
        lines.push(String::new());
    }
    lines
}

/// A pipe inside a cell would open a new one, a newline would end the table.
pub(super) fn escape(words: &str) -> String {
    text(words).replace('|', "\\|")
}

/// Text from outside on one line, in which Markdown finds no HTML, link or image, and GitHub nobody
/// to notify and no issue to refer to.
pub(super) fn text(words: &str) -> String {
    let plain = cell::plain(words);
    let mut out = String::with_capacity(plain.len());
    let mut chars = plain.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        match c {
            // What begins a tag or a comment; `<0.001` does not.
            '<' if next.is_alphabetic() || "/!?".contains(next) => out += "&lt;",
            ']' if next == '(' => out += "]\\",
            // A space without width: the text looks the same, and is nobody's name.
            '@' if !is_word(before) && is_word(next) => out += "@&#8203;",
            '#' if next.is_ascii_digit() => out += "#&#8203;",
            c => out.push(c),
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_only_text() {
        for (words, expected) in [
            ("exact_match", "exact_match"),
            ("a | b\nc", "a \\| b c"),
            ("<img src=x> p <0.001", "&lt;img src=x> p <0.001"),
            ("![x](http://e)", "![x]\\(http://e)"),
            ("ask @octocat!", "ask @&#8203;octocat!"),
            ("me@host.example, 3 @ 4", "me@host.example, 3 @ 4"),
            (
                "see org/repo#12 and C# 8",
                "see org/repo#&#8203;12 and C# 8",
            ),
        ] {
            assert_eq!(escape(words), expected);
        }
    }
}
