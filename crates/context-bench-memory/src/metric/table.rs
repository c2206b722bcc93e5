//! The breakdown by kind of question as a table in Markdown.

use context_bench_scoring::model::Summary;
use indexmap::IndexMap;

/// The figures `<field>_<type>` of all systems, a column per type; empty text when there
/// are none.
pub fn per_qa_type_table(summaries: &IndexMap<String, Summary>, score_field: &str) -> String {
    let prefix = format!("{score_field}_");
    let mut types: Vec<&str> = summaries
        .values()
        .flat_map(Summary::iter)
        .filter_map(|(key, _)| key.strip_prefix(&prefix))
        .filter(|qa_type| *qa_type != "mean")
        .collect();
    types.sort_unstable();
    types.dedup();
    if types.is_empty() {
        return String::new();
    }
    let header: Vec<&str> = std::iter::once("System").chain(types.clone()).collect();
    let rule: Vec<String> = header
        .iter()
        .map(|cell| "-".repeat(cell.chars().count() + 2))
        .collect();
    let mut lines = vec![
        String::new(),
        "## Per-QA-Type Breakdown".to_owned(),
        String::new(),
        format!("| {} |", header.join(" | ")),
        format!("|{}|", rule.join("|")),
    ];
    for (system, summary) in summaries {
        let mut cells = vec![system.clone()];
        cells.extend(types.iter().map(|qa_type| {
            let value = summary.value(&format!("{prefix}{qa_type}"));
            value.map_or_else(|| "—".to_owned(), |value| format!("{value:.4}"))
        }));
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.join("\n")
}
