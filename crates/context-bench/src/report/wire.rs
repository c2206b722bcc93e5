//! What a tap saw of each system: a table beside the summary, and what arms are judged by.

use super::cell;
use super::memory::MemoryTable;
use crate::model::{ArmRole, ArmWire, Measurement};
use crate::result::{ArmVerdict, EvalResult};

type Format = fn(&Measurement) -> String;

/// Headings, keys of metrics, and how they are shown.
const COLUMNS: [(&str, &str, Format); 15] = [
    ("tokens saved", "wire_saved", cell::percent),
    ("by usage", "wire_saved_usage", cell::percent),
    ("bytes saved", "wire_saved_bytes", cell::percent),
    ("claimed", "claimed_saved", cell::percent),
    ("engaged", "engagement", cell::percent),
    ("extra calls", "extra_calls", number),
    ("local answers", "local_answers", cell::percent),
    ("added before", "added_before_p50", seconds),
    ("added after", "added_after_p50", seconds),
    ("added to first", "added_first_p50", seconds),
    ("in time", "stream_in_time", cell::percent),
    ("buffered", "streams_buffered", cell::percent),
    ("billed tokens", "billed_tokens", cell::tokens),
    ("nobody's calls", "unattributed_calls", cell::tokens),
    ("nobody's tokens", "unattributed_tokens", cell::tokens),
];

/// Metrics that are only in files.
const IN_FILES: [&str; 5] = [
    "added_p50",
    "added_p99",
    "wire_saved_median",
    "wire_calibration",
    "wire_calibration_spread",
];

fn number(measurement: &Measurement) -> String {
    let value = measurement.value;
    value.map_or_else(|| cell::NONE.into(), |value| format!("{value:.2}"))
}

/// Times may be below zero by the jitter of two clocks readings.
fn seconds(measurement: &Measurement) -> String {
    match measurement.value {
        Some(value) if value < 0.0 => format!("-{}", cell::seconds(Some(-value))),
        value => cell::seconds(value),
    }
}

/// What the table of the wire calls a metric; `None` for metrics that are not of the wire.
pub(super) fn heading(key: &str) -> Option<&'static str> {
    let named = COLUMNS.iter().find(|(_, known, _)| *known == key);
    named.map(|(heading, _, _)| *heading)
}

/// Whether a metric has its place in the table of the wire, or only in files.
pub(super) fn shows(key: &str) -> bool {
    COLUMNS.iter().any(|(_, known, _)| *known == key) || IN_FILES.contains(&key)
}

/// The table of the wire; none where no call passed a tap.
pub(super) fn table(result: &EvalResult) -> Option<MemoryTable> {
    let has = |key: &str| {
        let mut summaries = result.summary.values();
        summaries.any(|summary| summary.value(key).is_some())
    };
    let columns: Vec<_> = COLUMNS.iter().filter(|(_, key, _)| has(key)).collect();
    if columns.is_empty() {
        return None;
    }
    let headings = columns.iter().map(|(heading, _, _)| (*heading).to_owned());
    let rows = result.summary.iter().map(|(system, summary)| {
        let cells = columns.iter().map(|(_, key, format)| {
            let measurement = summary.get(key);
            measurement.map_or_else(|| cell::NONE.into(), format)
        });
        std::iter::once(cell::shorten(system, 30))
            .chain(cells)
            .collect()
    });
    Some(MemoryTable {
        title: "On the Wire",
        header: std::iter::once("System".to_owned())
            .chain(headings)
            .collect(),
        rows: rows.collect(),
    })
}

/// What is said below the table.
pub(super) fn lines(result: &EvalResult) -> Vec<String> {
    let mut lines = findings(result);
    lines.extend(own_time(result));
    lines
}

/// What is said about arms that do not do what they are for, and about calls that are
/// nobody's.
pub(super) fn findings(result: &EvalResult) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, arm) in &result.wire {
        let shown = cell::shorten(name, 30);
        match result.arm_verdict(name) {
            Some(ArmVerdict::NotEngaged) => {
                lines.push(format!("{shown}: not engaged, no request went out changed"));
            }
            Some(ArmVerdict::NotTransparent) => {
                lines.push(format!(
                    "{shown}: fails transparency, requests went out changed"
                ));
            }
            Some(ArmVerdict::Engaged | ArmVerdict::Transparent) | None => {}
        }
        lines.extend(totals(arm).iter().map(|said| format!("{shown}: {said}")));
        if arm.withheld {
            let calls = cell::thousands(arm.calls);
            lines.push(format!(
                "{shown}: figures of rows withheld, too many calls are nobody's; in all {calls} \
                 calls with {} bytes for {} bytes of the client",
                cell::thousands(arm.bytes),
                cell::thousands(arm.client_bytes)
            ));
        }
    }
    lines
}

/// What the tap itself takes, which calls without a proxy show; none where no arm is direct.
pub(super) fn own_time(result: &EvalResult) -> Option<String> {
    let mut arms = result.wire.iter();
    let (direct, _) = arms.find(|(_, arm)| arm.role == ArmRole::Direct)?;
    let summary = result.summary.get(direct)?;
    let (middle, most) = (summary.get("added_p50")?, summary.get("added_p99")?);
    Some(format!(
        "the tap itself adds {} at p50 and {} at p99, in every arm (by {} direct calls)",
        seconds(middle),
        seconds(most),
        cell::thousands(middle.n.unwrap_or_default() as u64)
    ))
}

/// What the totals of an arm rest on, where that is not simply this run.
fn totals(arm: &ArmWire) -> Vec<String> {
    let mut said = Vec::new();
    if arm.partial {
        said.push(
            "totals are partial, the run did not end: calls that no row caused are not counted"
                .to_owned(),
        );
    }
    if let Some(earlier) = &arm.earlier {
        said.push(format!(
            "{} rows and their {} calls come from earlier runs, without what those runs could not \
             attribute",
            cell::thousands(earlier.rows),
            cell::thousands(earlier.calls)
        ));
    }
    if arm.unsent.calls > 0 {
        said.push(format!(
            "{} of its {} calls never reached the provider",
            cell::thousands(arm.unsent.calls),
            cell::thousands(arm.calls)
        ));
    }
    let unknown = arm.billed().unknown;
    if unknown > 0 {
        said.push(format!(
            "billed tokens are the least, {} calls may have cost something and do not say what",
            cell::thousands(unknown)
        ));
    }
    said
}

/// What `tokens saved` means where a tap was on.
pub(super) fn saving(result: &EvalResult, tokenizer: &str) -> Option<String> {
    let is_tapped = result.rows.iter().any(|row| row.wire.is_some());
    let has = |key: &str| {
        let mut summaries = result.summary.values();
        summaries.any(|summary| summary.value(key).is_some())
    };
    match (is_tapped, has("wire_saved")) {
        (false, _) => None,
        (true, true) => Some(format!("saved on the wire in {tokenizer} tokens")),
        (true, false) => Some("saved on the wire by the provider's count".to_owned()),
    }
}
