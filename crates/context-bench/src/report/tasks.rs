//! The tables of tasks and groups, as users of lm-evaluation-harness know them. They
//! are Markdown, so terminals and documents have the same. Several systems stand side by
//! side in one table.

use context_bench_tasks::table::{Row, side_by_side};

use crate::benchmark::TaskReport;
use crate::result::EvalResult;

/// What was run, the table of tasks, that of groups.
pub(super) fn tables(result: &EvalResult) -> Vec<String> {
    let shown: Vec<(&str, &TaskReport)> = result
        .tasks
        .iter()
        .filter(|(_, report)| report.is_shown)
        .map(|(system, report)| (system.as_str(), report))
        .collect();
    if shown.len() < 2 {
        return shown.iter().map(|(_, report)| alone(report)).collect();
    }
    let beside = |rows: fn(&TaskReport) -> &[Row], title: &str| {
        let systems: Vec<(&str, &[Row])> = shown
            .iter()
            .map(|(system, report)| (*system, rows(report)))
            .collect();
        let has_rows = systems.iter().any(|(_, rows)| !rows.is_empty());
        has_rows.then(|| side_by_side(&systems, title))
    };
    let lines: Vec<String> = shown
        .iter()
        .map(|(system, report)| format!("{system}: {}", report.line))
        .collect();
    let mut text = format!("{}\n", lines.join("\n"));
    for table in [
        beside(|report| &report.rows, "Tasks"),
        beside(|report| &report.group_rows, "Groups"),
    ] {
        text.extend(table.map(|table| format!("\n{table}")));
    }
    vec![text.trim_end().to_owned()]
}

fn alone(report: &TaskReport) -> String {
    let mut text = format!("{}\n\n{}", report.line, report.table);
    if let Some(groups) = &report.groups_table {
        text += &format!("\n{groups}");
    }
    text.trim_end().to_owned()
}
