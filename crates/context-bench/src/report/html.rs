//! An HTML table for notebooks and pages: the summary, and what went wrong.

use super::memory::{MemoryReport, MemoryTable};
use super::wire;
use super::{cell, comparison, cost, failures, grid::Grid, quoted, tasks};
use crate::result::EvalResult;
use crate::text::visible::visible;

/// A piece of HTML, without a page around it.
#[derive(Debug, Clone, Copy, Default)]
pub struct HtmlTable;

impl HtmlTable {
    /// The tables as text.
    pub fn render(&self, result: &EvalResult) -> String {
        let mut html = String::new();
        for table in tasks::tables(result) {
            html += &format!("<pre>{}</pre>", escape(&table));
        }
        let grid = Grid::of(result);
        html += &match grid.rows.is_empty() {
            true => "<p>No results to report.</p>".to_owned(),
            false => table(&grid, result),
        };
        html += &figures(result);
        html += &memory_tables(result);
        html += &cost_table(result);
        html += &wire_table(result);
        if let Some(found) = &result.comparison {
            html += &comparison::html(found);
        }
        if let Some(part_of) = result.part_of() {
            html += &format!("<p><strong>{}</strong></p>", escape(&part_of));
        }
        let failures = failures::lines(result);
        if !failures.is_empty() {
            let items = failures
                .iter()
                .map(|line| format!("<li>{}</li>", escape(line)));
            html += &format!("<ul>{}</ul>", items.collect::<String>());
        }
        html
    }
}

fn table(grid: &Grid<'_>, result: &EvalResult) -> String {
    let has_counts = !result.counts.is_empty();
    let mut html = "<table><thead><tr><th>System</th>".to_owned();
    for metric in &grid.metrics {
        html += &format!("<th>{}</th>", escape(metric));
    }
    if has_counts {
        html += "<th>scored/failed</th>";
    }
    html += "</tr></thead><tbody>";
    for (system, cells) in &grid.rows {
        html += &format!("<tr><th>{}</th>", escape(system));
        for cell in cells {
            html += &format!("<td>{}</td>", escape(cell));
        }
        if has_counts {
            let counts = result.counts.get(*system).copied().unwrap_or_default();
            html += &format!("<td>{}</td>", cell::counts(&counts));
        }
        html += "</tr>";
    }
    html + "</tbody></table>"
}

/// The tables of a run of memories, and what its scores rest on.
fn memory_tables(result: &EvalResult) -> String {
    let Some(memory) = MemoryReport::of(result) else {
        return String::new();
    };
    let tables: String = memory.tables().iter().map(side_table).collect();
    tables + &format!("<p>{}</p>", escape(&memory.basis()))
}

/// What systems cost, and by which prices.
fn cost_table(result: &EvalResult) -> String {
    let table: String = cost::table(result).iter().map(side_table).collect();
    match cost::basis(result) {
        Some(basis) if !table.is_empty() => table + &format!("<p>{}</p>", escape(&basis)),
        _ => table,
    }
}

/// What a tap saw, and what arms are judged by.
fn wire_table(result: &EvalResult) -> String {
    let table: String = wire::table(result).iter().map(side_table).collect();
    let lines = wire::lines(result);
    let lines = lines.iter().map(|line| format!("<p>{}</p>", escape(line)));
    table + &lines.collect::<String>()
}

/// A table beside the summary.
fn side_table(table: &MemoryTable) -> String {
    let mut html = String::new();
    {
        let head = table.header.iter();
        let head: String = head
            .map(|text| format!("<th>{}</th>", escape(text)))
            .collect();
        html += &format!(
            "<h3>{}</h3><table><thead><tr>{head}</tr></thead><tbody>",
            table.title
        );
        for row in &table.rows {
            html += "<tr>";
            for (n, text) in row.iter().enumerate() {
                let tag = if n == 0 { "th" } else { "td" };
                html += &format!("<{tag}>{}</{tag}>", escape(text));
            }
            html += "</tr>";
        }
        html += "</tbody></table>";
    }
    html
}

/// What the authors of datasets quote, and by which rule.
fn figures(result: &EvalResult) -> String {
    let mut html = String::new();
    let systems: String = result
        .tasks
        .keys()
        .map(|system| format!("<th>{}</th>", escape(system)))
        .collect();
    let cells = |cells: Vec<String>| -> String {
        let cells = cells.iter();
        cells
            .map(|cell| format!("<td>{}</td>", escape(cell)))
            .collect()
    };
    let lines = quoted::lines(result);
    if !lines.is_empty() {
        html += &format!("<table><thead><tr><th>Dataset</th><th>Figure</th>{systems}</tr></thead>");
        html += "<tbody>";
        for line in lines {
            html += &format!(
                "<tr><th>{}</th><th>{}</th>{}</tr>",
                escape(line.dataset),
                escape(&line.name()),
                cells(line.cells)
            );
        }
        html += "</tbody></table>";
    }
    for own in quoted::by_value(result) {
        let (dataset, figure, values) = (own.dataset, own.figure, own.values);
        html += &format!(
            "<table><thead><tr><th>{}: {}</th>{systems}</tr></thead><tbody>",
            escape(dataset),
            escape(figure)
        );
        for (value, measured) in values {
            let measured = measured.iter().map(|one| match one {
                Some(measured) => cell::score(measured),
                None => cell::NONE.into(),
            });
            let own = cells(measured.collect());
            html += &format!("<tr><th>{}</th>{own}</tr>", escape(value));
        }
        html += "</tbody></table>";
    }
    let rules = quoted::notes(result)
        .into_iter()
        .chain(quoted::rules(result));
    let rules: String = rules
        .map(|line| format!("<li>{}</li>", escape(&line)))
        .collect();
    if !rules.is_empty() {
        html += &format!("<ul>{rules}</ul>");
    }
    html
}

pub(super) fn escape(text: &str) -> String {
    visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#x27;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Measurement, Summary, Unit};
    use crate::report::{MarkdownReport, TableReport};

    fn result() -> EvalResult {
        let mean = Measurement {
            value: Some(0.612_34),
            stderr: Some(0.041_2),
            n: Some(5),
            ..Measurement::default()
        };
        let summary = Summary::new()
            .with("mean_score", mean)
            .with("pass_rate", Measurement::new(0.583, Unit::Share))
            .with("mean_input_tokens", Measurement::new(1234.4, Unit::Tokens))
            .with("num_passing", Measurement::new(3.0, Unit::Count))
            .with("latency_median", Measurement::new(0.012_34, Unit::Seconds))
            .with("own", Measurement::new(0.5, Unit::Number));
        let mut result = EvalResult::default();
        result.summary.insert("a<b".into(), summary);
        result
    }

    #[test]
    fn numbers_are_spelled_as_in_the_terminal() {
        let result = result();
        let table = TableReport::default().render(&result);
        let markdown = MarkdownReport.render(&result);
        let html = HtmlTable.render(&result);
        for number in ["0.612 ±0.041", "58%", "12.3ms", "0.5000"] {
            assert!(table.contains(number), "{number}: {table}");
            assert!(markdown.contains(&format!(" {number} |")), "{markdown}");
            assert!(html.contains(&format!("<td>{number}</td>")), "{html}");
        }
        for number in ["1,234", "3"] {
            assert!(markdown.contains(&format!(" {number} |")), "{markdown}");
            assert!(html.contains(&format!("<td>{number}</td>")), "{html}");
        }
        assert!(html.contains("<th>a&lt;b</th>"), "{html}");
    }

    #[test]
    fn an_overview_is_a_screen() {
        let mut result = result();
        let overview = TableReport::default().overview(&result);
        assert!(
            overview.starts_with("0 rows, 1 system\n\nSystem"),
            "{overview}"
        );
        for n in 0..40 {
            let one = Summary::new().with("mean_score", Measurement::new(0.5, Unit::Number));
            result.summary.insert(format!("s{n}"), one);
        }
        let overview = TableReport::default().overview(&result);
        assert!(overview.lines().count() < 25, "{overview}");
        assert!(overview.ends_with(" more lines\n"), "{overview}");
    }
}
