//! The table for terminals: one line per system, readable at 80 columns.
//!
//! It shows what decides (quality ± error, savings, cost, latency) beside how
//! many rows that rests on; breakdowns and custom metrics follow below, then
//! what went wrong. No colour here: the program adds its own.

use std::io::{self, Write};

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use indexmap::IndexSet;
use serde_json::Value;

use super::memory::{self, MemoryReport, MemoryTable};
use super::{
    Reporter, cell, comparison, cost, failures, footer, gates, quoted, sweep, tasks, wire,
};
use crate::model::Summary;
use crate::result::EvalResult;
use crate::text::visible::visible;

/// A table for people.
#[derive(Debug, Clone, Copy)]
pub struct TableReport {
    /// How many columns the terminal has.
    pub width: u16,
}

impl Default for TableReport {
    fn default() -> Self {
        Self { width: 80 }
    }
}

/// From this width on there is room for the 95th percentile.
const WIDE: u16 = 90;
/// From this width on there is room for how sure the front is.
const WIDER: u16 = 100;
/// How many lines a screen has.
const SCREEN: usize = 24;
/// Prefix of the keys of a per-dataset breakdown.
const DATASET: &str = "dataset:";

/// A column: its heading in two lines, the keys it shows, and how.
struct Column {
    heading: [String; 2],
    keys: &'static [&'static str],
    cell: fn(&Summary) -> String,
}

impl TableReport {
    /// The report as text.
    pub fn render(&self, result: &EvalResult) -> String {
        let mut parts = tasks::tables(result);
        let memory = MemoryReport::of(result);
        if result.summary.is_empty() {
            parts.push("No results to report.".to_owned());
        } else {
            let columns = all_columns(result);
            let others = self.others(result, &columns, memory.as_ref());
            parts.push(self.main_table(result, &self.shown(result, columns)));
            parts.extend(self.breakdown(result));
            parts.extend(self.figures(result));
            parts.extend(
                memory
                    .iter()
                    .flat_map(|memory| self.tables(memory.tables())),
            );
            parts.extend(self.tables(cost::table(result)));
            parts.extend(self.tables(wire::table(result)));
            parts.push(wire::lines(result).join("\n"));
            parts.extend(others);
        }
        let width = usize::from(self.width);
        if let Some(found) = &result.comparison {
            parts.extend(comparison::tables(found, width));
        }
        let failures = failures::lines(result);
        if !failures.is_empty() {
            parts.push(failures.join("\n"));
        }
        let width = usize::from(self.width);
        parts.extend(sweep::parts(result, width));
        let gates = gates::lines(&result.gates).into_iter();
        let gates: Vec<String> = gates.map(|line| footer::wrapped(&line, width)).collect();
        parts.push(gates.join("\n"));
        let quoted = [quoted::compact, quoted::notes, quoted::rules];
        let quoted = quoted.into_iter().flat_map(|lines| lines(result));
        let quoted: Vec<String> = quoted.map(|line| footer::wrapped(&line, width)).collect();
        parts.push(quoted.join("\n"));
        parts.extend(memory.map(|memory| footer::wrapped(&memory.basis(), width)));
        parts.push(footer::lines(result, width));
        // What a user can act on is read last.
        if let Some(found) = &result.comparison {
            parts.push(comparison::sentences(found, width));
        }
        parts.retain(|part| !part.is_empty());
        visible(&(parts.join("\n\n") + "\n")).into_owned()
    }

    /// As much of the report as a screen shows, under a line with what it is about.
    pub fn overview(&self, result: &EvalResult) -> String {
        let count = |n: usize, what| cell::counted(i64::try_from(n).unwrap_or(i64::MAX), what);
        let (rows, systems) = (result.n_rows(), result.summary.len());
        let head = format!("{}, {}", count(rows, "row"), count(systems, "system"));
        let report = self.render(result);
        let lines: Vec<&str> = report.trim_end().lines().collect();
        let room = SCREEN - 3;
        if lines.len() <= room {
            return format!("{head}\n\n{}\n", lines.join("\n"));
        }
        let more = lines.len() - (room - 1);
        let shown = lines[..room - 1].join("\n");
        format!("{head}\n\n{shown}\n… {more} more lines\n")
    }

    /// The columns that say something here, and for which there is room.
    fn shown(&self, result: &EvalResult, mut columns: Vec<Column>) -> Vec<Column> {
        let is_there = |key: &str| {
            result
                .summary
                .values()
                .any(|summary| summary.get(key).is_some())
        };
        let has_value = |key: &str| {
            result
                .summary
                .values()
                .any(|summary| summary.value(key).is_some())
        };
        columns.retain(|column| match column.keys[0] {
            shown @ "latency_p95" => self.width >= WIDE && is_there(shown),
            shown @ "front_probability" => self.width >= WIDER && has_value(shown),
            // Where room is scarce, what is saved says enough.
            shown @ "mean_prompt_tokens" => {
                has_value(shown) && (self.width >= WIDE || !has_value("tokens_saved"))
            }
            shown @ "mean_cached_tokens" => {
                let values = result.summary.values().filter_map(|s| s.value(shown));
                values.fold(0.0, f64::max) > 0.0
            }
            // Nothing is known of it here, and nothing is to be seen.
            shown @ ("tokens_saved" | "first_token_median") => has_value(shown),
            // Where there are figures about the system, those about our maps only mislead.
            shown @ "compression_ratio" => is_there(shown) && !is_there("mean_prompt_tokens"),
            shown @ "cost_of_pass" => is_there(shown) && !is_there("tokens_per_pass"),
            shown => is_there(shown),
        });
        columns
    }

    fn main_table(&self, result: &EvalResult, columns: &[Column]) -> String {
        let mut table = new_table();
        let with_counts = !result.counts.is_empty();
        // Rows stand before the rank, which reads best at the end.
        let place =
            columns.len() - usize::from(columns.last().is_some_and(|c| c.keys == ["pareto_rank"]));
        let assemble = |name: String, mut cells: Vec<String>, counts: String| {
            if with_counts {
                cells.insert(place, counts);
            }
            cells.insert(0, name);
            cells
        };
        let headings = columns
            .iter()
            .map(|column| column.heading.join("\n"))
            .collect();
        table.set_header(assemble(
            "System\n".into(),
            headings,
            "scored/\nfailed".into(),
        ));
        let body: Vec<(&String, Vec<String>, String)> = result
            .summary
            .iter()
            .map(|(system, summary)| {
                let cells = columns
                    .iter()
                    .map(|column| (column.cell)(summary))
                    .collect();
                let counts = result.counts.get(system).copied().unwrap_or_default();
                (system, cells, cell::counts(&counts))
            })
            .collect();
        // What the other columns leave is for the name.
        let width = |text: &str| {
            text.lines()
                .map(|line| line.chars().count())
                .max()
                .unwrap_or(0)
        };
        let others: usize = columns
            .iter()
            .enumerate()
            .map(|(i, column)| {
                let cells = body.iter().map(|(_, cells, _)| width(&cells[i]));
                2 + cells
                    .max()
                    .unwrap_or(0)
                    .max(width(&column.heading.join("\n")))
            })
            .sum();
        let counts_width = body
            .iter()
            .map(|(_, _, counts)| width(counts))
            .max()
            .unwrap_or(0)
            .max(7);
        let counts_width = if with_counts { 2 + counts_width } else { 0 };
        let room = usize::from(self.width)
            .saturating_sub(others + counts_width)
            .max(8);
        for (system, cells, counts) in body {
            table.add_row(assemble(cell::shorten(system, room), cells, counts));
        }
        align(&mut table);
        table.trim_fmt()
    }

    /// Mean scores per dataset: one line per dataset, one column per system, or
    /// one line for each pair when there are more systems than fit.
    fn breakdown(&self, result: &EvalResult) -> Option<String> {
        let keys: IndexSet<&str> = keys(result)
            .filter(|key| key.starts_with(DATASET))
            .collect();
        if keys.is_empty() {
            return None;
        }
        let side_by_side = result.summary.len() * 16 + 24 <= usize::from(self.width);
        let mut table = new_table();
        if side_by_side {
            let systems = result.summary.keys().map(|name| cell::shorten(name, 14));
            table.set_header(std::iter::once("Dataset".to_owned()).chain(systems));
            for key in keys {
                let cells = result
                    .summary
                    .values()
                    .map(|summary| of(summary, key, cell::score));
                let tag = cell::shorten(&key[DATASET.len()..], 22);
                table.add_row(std::iter::once(tag).chain(cells));
            }
        } else {
            table.set_header(["Dataset", "System", "mean ±se", "n"]);
            for key in keys {
                for (system, summary) in &result.summary {
                    let n = summary.get(key).and_then(|measurement| measurement.n);
                    table.add_row([
                        cell::shorten(&key[DATASET.len()..], 24),
                        cell::shorten(system, 24),
                        of(summary, key, cell::score),
                        n.map_or(String::new(), |n| n.to_string()),
                    ]);
                }
            }
        }
        align(&mut table);
        Some(table.trim_fmt())
    }

    /// What the authors of datasets quote beside means over rows: one line per figure, one
    /// column per system, or one line for each pair when there are more than fit.
    fn figures(&self, result: &EvalResult) -> Option<String> {
        let lines = quoted::lines(result);
        if lines.is_empty() || quoted::is_tabled(result) {
            return None;
        }
        let side_by_side = result.tasks.len() * 24 + 48 <= usize::from(self.width);
        let mut table = new_table();
        let systems = || result.tasks.keys().map(|name| cell::shorten(name, 22));
        if side_by_side || result.tasks.len() == 1 {
            let head = ["Dataset", "figure"].map(str::to_owned);
            table.set_header(head.into_iter().chain(systems()));
        } else {
            table.set_header(["Dataset", "figure", "System", "value"]);
        }
        let mut before = "";
        for line in &lines {
            let dataset = match before == line.dataset {
                true => String::new(),
                false => cell::shorten(line.dataset, 22),
            };
            before = line.dataset;
            let head = [dataset, cell::shorten(&line.name(), 34)];
            if side_by_side || result.tasks.len() == 1 {
                table.add_row(head.into_iter().chain(line.cells.iter().cloned()));
                continue;
            }
            for (place, (system, value)) in systems().zip(&line.cells).enumerate() {
                let head = match place {
                    0 => head.clone(),
                    _ => Default::default(),
                };
                table.add_row(head.into_iter().chain([system, value.clone()]));
            }
        }
        align(&mut table);
        if let Some(column) = table.column_mut(1) {
            column.set_cell_alignment(CellAlignment::Left);
        }
        Some(table.trim_fmt())
    }

    /// Tables beside the summary, each as wide as there is room for.
    fn tables(&self, tables: impl IntoIterator<Item = MemoryTable>) -> Vec<String> {
        let width = usize::from(self.width);
        let fits = |table: &MemoryTable| table.width() <= width;
        let rendered = tables.into_iter().map(|table| {
            let choices = [table.transposed(), table.without_errors()];
            let narrow = table.transposed().without_errors();
            let all = std::iter::once(table).chain(choices);
            let table = all.into_iter().find(fits).unwrap_or(narrow);
            let mut shown = new_table();
            shown.set_header(table.header);
            for row in table.rows {
                shown.add_row(row);
            }
            align(&mut shown);
            format!("{}\n{}", table.title, shown.trim_fmt())
        });
        rendered.collect()
    }

    /// Metrics that no column knows, one line each.
    fn others(
        &self,
        result: &EvalResult,
        columns: &[Column],
        memory: Option<&MemoryReport<'_>>,
    ) -> Option<String> {
        let known = |key: &str| {
            key.starts_with(DATASET)
                || columns.iter().any(|column| column.keys.contains(&key))
                || wire::shows(key)
                || cost::shows(key)
                || memory.is_some_and(|memory| memory.shows(key))
        };
        let others: IndexSet<&str> = keys(result).filter(|key| !known(key)).collect();
        if others.is_empty() {
            return None;
        }
        let mut table = new_table();
        table.set_header(["Metric", "System", "value"]);
        for key in others {
            for (system, summary) in &result.summary {
                if let Some(measurement) = summary.get(key) {
                    let value = cell::usual(measurement);
                    table.add_row([key.to_owned(), cell::shorten(system, 30), value]);
                }
            }
        }
        align(&mut table);
        Some(table.trim_fmt())
    }
}

/// Every column there is. Its keys have no line of their own, shown or not.
fn all_columns(result: &EvalResult) -> Vec<Column> {
    let score = score_field(result).unwrap_or("score").to_owned();
    let column = |first: &str, second: &str, keys, cell| Column {
        heading: [first.to_owned(), second.to_owned()],
        keys,
        cell,
    };
    vec![
        column(&score, "mean ±se", &["mean_score"], |s| {
            of(s, "mean_score", cell::score)
        }),
        column("pass", "rate", &["pass_rate"], |s| {
            of(s, "pass_rate", cell::percent)
        }),
        column("prompt", "tokens", &["mean_prompt_tokens"], |s| {
            of(s, "mean_prompt_tokens", cell::tokens)
        }),
        column("of them", "cached", &["mean_cached_tokens"], |s| {
            of(s, "mean_cached_tokens", cell::tokens)
        }),
        column(
            "tokens",
            "saved",
            &["tokens_saved", "mean_completion_tokens"],
            |s| of(s, "tokens_saved", cell::percent),
        ),
        column(
            "tokens/",
            "pass",
            &["tokens_per_pass", "num_passing"],
            |s| of(s, "tokens_per_pass", cell::tokens),
        ),
        column(
            "compr.",
            "ratio",
            &[
                "compression_ratio",
                "mean_input_tokens",
                "mean_output_tokens",
            ],
            |s| of(s, "compression_ratio", cell::percent),
        ),
        column("cost of", "pass", &["cost_of_pass", "num_passing"], |s| {
            of(s, "cost_of_pass", cell::tokens)
        }),
        column(
            "latency",
            "p50",
            &[
                "latency_median",
                "latency_mean",
                "latency_p95",
                "latency_p99",
                "connect_median",
                "connect_max",
            ],
            |s| of(s, "latency_median", |m| cell::seconds(m.value)),
        ),
        column("latency", "p95", &["latency_p95"], |s| {
            of(s, "latency_p95", |m| cell::seconds(m.value))
        }),
        column(
            "first",
            "token",
            &["first_token_median", "first_token_p95"],
            |s| of(s, "first_token_median", |m| cell::seconds(m.value)),
        ),
        column("on the", "front", &["front_probability"], |s| {
            of(s, "front_probability", cell::percent)
        }),
        column("pareto", "rank", &["pareto_rank"], |s| {
            of(s, "pareto_rank", cell::exact)
        }),
    ]
}

impl Reporter for TableReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.render(result).as_bytes())
    }

    fn needs_rows(&self) -> bool {
        false
    }
}

fn of(summary: &Summary, key: &str, cell: fn(&crate::model::Measurement) -> String) -> String {
    summary.get(key).map_or_else(|| cell::NONE.into(), cell)
}

fn keys(result: &EvalResult) -> impl Iterator<Item = &str> {
    result
        .summary
        .values()
        .flat_map(|summary| summary.iter().map(|(name, _)| name))
}

fn score_field(result: &EvalResult) -> Option<&str> {
    // Other metrics may be about other scores; the plan names the main one.
    if memory::settings(result).is_some() {
        return result.provenance.get("score_field")?.as_str();
    }
    match result
        .provenance
        .get("score_fields")?
        .as_array()?
        .as_slice()
    {
        [Value::String(only)] => Some(only),
        _ => None,
    }
}

pub(super) fn new_table() -> Table {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line));
    table
}

/// Names to the left, numbers to the right, two spaces between columns (the
/// empty junction is one of them).
pub(super) fn align(table: &mut Table) {
    let last = table.column_count().saturating_sub(1);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i == last { 0 } else { 1 }));
        column.set_cell_alignment(if i == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
}
