//! The tables of tasks and groups, as users of lm-evaluation-harness know them. They
//! are Markdown, so terminals and documents have the same.

use crate::result::EvalResult;

/// Per system: the line that says what was run, the table of tasks, that of groups.
pub(super) fn tables(result: &EvalResult) -> Vec<String> {
    let shown = result.tasks.values().filter(|report| report.is_shown);
    shown
        .map(|report| {
            let mut text = format!("{}\n\n{}", report.line, report.table);
            if let Some(groups) = &report.groups_table {
                text += &format!("\n{groups}");
            }
            text.trim_end().to_owned()
        })
        .collect()
}
