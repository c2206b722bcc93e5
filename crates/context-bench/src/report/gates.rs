//! Gates in reports for people: which rule, by how much, and which examples turned.

use super::cell;
use super::markdown::{escape, text};
use crate::gate::{CheckedGate, Flips, GateStatus};
use crate::model::ExampleId;

/// Turned examples that a line names.
const NAMED: usize = 10;

/// One line for each gate, those that did not pass first.
pub(super) fn lines(gates: &[CheckedGate]) -> Vec<String> {
    let line = |gate: &CheckedGate| format!("gate {}", described(gate));
    let failed = failed(gates).map(line);
    let passed = gates.iter().filter(|gate| gate.is_passed());
    failed.chain(passed.map(line)).collect()
}

fn failed(gates: &[CheckedGate]) -> impl Iterator<Item = &CheckedGate> {
    gates.iter().filter(|gate| !gate.is_passed())
}

/// A gate in one line: `failed: f1 < 0.7 (kompact, on demo): 0.612 < 0.7, missed by 0.088`.
pub fn described(gate: &CheckedGate) -> String {
    let mut line = format!("{}: {} ({})", status(gate.status), gate.rule, about(gate));
    line += &format!(": {}", outcome(gate));
    if let Some(flips) = &gate.flips {
        for part in turned(flips) {
            line += &format!("; {part}");
        }
    }
    if let Some(part) = unmatched(gate) {
        line += &format!("; {part}");
    }
    cell::plain(&line).into_owned()
}

/// How many rows have no partner in the run that a gate compares with.
pub(super) fn unmatched(gate: &CheckedGate) -> Option<String> {
    let matched = gate.matched?;
    let rows = |n: usize| match n {
        1 => "1 row".to_owned(),
        n => format!("{n} rows"),
    };
    let (own, other) = (matched.only_system, matched.only_baseline);
    let which = match (own, other) {
        (0, 0) => return None,
        (own, 0) => format!("{} of it", rows(own)),
        (0, other) => format!("{} of the baseline", rows(other)),
        (own, other) => format!("{} of it and {other} of the baseline", rows(own)),
    };
    Some(format!("{which} without a partner left out"))
}

/// A table for pull requests, and the examples that turned below it.
pub(super) fn markdown(gates: &[CheckedGate]) -> Vec<String> {
    if gates.is_empty() {
        return Vec::new();
    }
    let n_failed = failed(gates).count();
    let all = gates.len();
    let mut lines = vec!["## Gates".to_owned(), String::new()];
    lines.push(match n_failed {
        0 => format!("**All {all} passed.**"),
        _ => format!("**{n_failed} of {all} did not pass.**"),
    });
    lines.extend([
        String::new(),
        "| | Gate | System | On | Left | Right | Missed by |".to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ]);
    for gate in gates {
        let mark = match gate.status {
            GateStatus::Passed => "✅",
            GateStatus::Failed => "❌",
            GateStatus::NotMeasured => "❔",
        };
        let on = gate.benchmark.as_deref().unwrap_or("all");
        let missed = match &gate.not_measured {
            Some(figure) => format!("not measured: {}", code(figure)),
            None => side(gate.missed_by),
        };
        lines.push(format!(
            "| {mark} | {} | {} | {} | {} | {} | {missed} |",
            code(&gate.rule),
            escape(&labelled(gate)),
            escape(on),
            side(gate.left),
            side(gate.right),
        ));
    }
    lines.push(String::new());
    for gate in failed(gates) {
        let flips = gate.flips.iter().flat_map(turned);
        let parts = flips.chain(unmatched(gate));
        let parts: Vec<String> = parts.map(|part| text(&part)).collect();
        if parts.is_empty() {
            continue;
        }
        let who = format!("{} ({})", code(&gate.rule), text(&about(gate)));
        lines.push(format!("- {who}: {}", parts.join("; ")));
    }
    if lines.last().is_some_and(|line| !line.is_empty()) {
        lines.push(String::new());
    }
    lines
}

/// A rule as code, which a backtick in it must not end.
fn code(text: &str) -> String {
    // Only what ends a cell: nothing else means anything in code.
    let text = cell::plain(text).replace('|', "\\|");
    match text.contains('`') {
        true => format!("`` {text} ``"),
        false => format!("`{text}`"),
    }
}

/// The system, with its run where several are checked.
fn labelled(gate: &CheckedGate) -> String {
    match &gate.run {
        Some(run) => format!("{} of run {run}", gate.system),
        None => gate.system.clone(),
    }
}

pub(super) fn status(status: GateStatus) -> &'static str {
    match status {
        GateStatus::Passed => "passed",
        GateStatus::Failed => "failed",
        GateStatus::NotMeasured => "not measured",
    }
}

/// Whom and what a gate is about.
pub(super) fn about(gate: &CheckedGate) -> String {
    let mut about = labelled(gate);
    let baseline = gate.baseline.as_ref();
    if let Some(baseline) = baseline.filter(|name| gate.run.is_some() || **name != gate.system) {
        about += &format!(" against {baseline}");
    }
    if let Some(benchmark) = &gate.benchmark {
        about += &format!(", on {benchmark}");
    }
    about
}

/// What was found, and by how much it misses the rule.
pub(super) fn outcome(gate: &CheckedGate) -> String {
    if let Some(figure) = &gate.not_measured {
        return format!("`{figure}` was not measured");
    }
    let sides = format!("{} and {}", side(gate.left), side(gate.right));
    match gate.missed_by {
        Some(by) => format!("{sides}, missed by {}", side(Some(by))),
        None => sides,
    }
}

/// Examples that were lost and gained, by their ids.
pub(super) fn turned(flips: &Flips) -> impl Iterator<Item = String> {
    let named = |what: &str, n: usize, ids: &[ExampleId]| {
        let shown: Vec<String> = ids.iter().take(NAMED).map(ToString::to_string).collect();
        let more = n.saturating_sub(shown.len());
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (n > 0).then(|| format!("{n} {what}: {}{more}", shown.join(", ")))
    };
    let lost = named("lost", flips.n_lost, &flips.lost);
    let gained = named("gained", flips.n_gained, &flips.gained);
    lost.into_iter().chain(gained)
}

/// A side of a rule: up to four decimals, whatever is measured.
fn side(value: Option<f64>) -> String {
    match value {
        None => cell::NONE.into(),
        Some(value) if !value.is_finite() => "inf".into(),
        Some(value) if value != 0.0 && value.abs() < 0.000_1 => format!("{value:.1e}"),
        Some(value) => {
            let text = format!("{value:.4}");
            let text = text.trim_end_matches('0').trim_end_matches('.');
            if text == "-0" {
                "0".into()
            } else {
                text.to_owned()
            }
        }
    }
}
