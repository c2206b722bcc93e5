//! A result as one self-contained HTML file: what `context-bench-page` is given.
//!
//! Numbers are taken from the result, never computed again; only what charts need beside them is
//! made here from rows (`distributions.rs`). How they are written is the page's business.

mod benchmarks;
mod comparison;
mod distributions;
mod metrics;
mod rows;
mod sweeps;

pub use comparison::page_comparison;
pub use metrics::{page_cost, page_metric};
pub use rows::PageRows;

use std::io::{self, Write};

use context_bench_page::{PageData, PageLimits, PageWriter, Section, System};
use indexmap::IndexSet;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::memory::MemoryReport;
use super::{Reporter, described_gate, gates, sweep, wire};
use crate::calendar::UtcTime;
use crate::digest;
use crate::metric::DEFAULT_THRESHOLD;
use crate::model::TextsKept;
use crate::result::EvalResult;

/// Writes a page with tables, charts and a browser of rows, which needs nothing else to be read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PageReport {
    /// Commands that make the run or the page again, without secrets.
    pub commands: Vec<String>,
    /// How large the file may become.
    pub limits: PageLimits,
}

impl PageReport {
    /// A page that says by which commands it can be made again. They must not hold secrets.
    pub fn made_by(commands: Vec<String>) -> Self {
        Self {
            commands,
            ..Self::default()
        }
    }

    /// What the page says above its rows.
    pub fn data(&self, result: &EvalResult) -> PageData {
        let names: Vec<&str> = result.summary.keys().map(String::as_str).collect();
        let scoring = rows::ScoreFields::of(result);
        let metrics = metrics::of(result, scoring.common());
        // Where nothing was scored the page still says that, and of what.
        let quality = ["mean_score", "pass_rate"];
        let measured = quality
            .iter()
            .find(|key| metrics::is_measured(result, key))
            .or_else(|| quality.iter().find(|key| metrics::is_there(result, key)));
        let systems = names.iter().map(|name| system(result, name)).collect();
        let first = || (!names.is_empty()).then_some(0);
        PageData {
            title: title(&names, result),
            facts: facts(result),
            warnings: warnings(result),
            systems,
            baseline: comparison::baseline(result, &names).or_else(first),
            quality: measured.map(|key| (*key).to_owned()),
            cost: metrics::cost(result).map(str::to_owned),
            compression: metrics::compression(result).map(str::to_owned),
            metrics,
            threshold: Some(threshold(result)),
            scores: result
                .score_names()
                .iter()
                .map(|name| name.to_string())
                .collect(),
            benchmarks: benchmarks::of(result, &names),
            comparison: comparison::of(result, &names),
            sweeps: sweeps::of(result, &names),
            notes: notes(result),
            latency: distributions::latency(result, &names),
            spread: distributions::spread(result, &names, &scoring),
            failures: distributions::failures(result, &names),
            sections: sections(result),
            reproduce: self.commands.clone(),
            made_by: format!("context-bench {}", env!("CARGO_PKG_VERSION")),
        }
    }
}

impl Reporter for PageReport {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        let data = self.data(result);
        let scoring = rows::ScoreFields::of(result);
        let mut page = PageWriter::begin(out, &data, self.limits)?;
        for (number, name) in result.summary.keys().enumerate() {
            for row in result.rows_of(name) {
                page.row(&rows::page_row(row, number, &data.scores, &scoring))?;
            }
        }
        page.end()?;
        Ok(())
    }

    fn texts(&self) -> TextsKept {
        TextsKept::Contexts
    }
}

fn system(result: &EvalResult, name: &str) -> System {
    let counts = result.counts.get(name);
    System {
        name: name.to_owned(),
        answered_by: result.answered_by(name).map(str::to_owned),
        counts: counts.map(|counts| counts.to_json()).unwrap_or_default(),
        figures: metrics::figures(result, name),
    }
}

/// What else a reader should know about how systems differ.
fn notes(result: &EvalResult) -> Vec<String> {
    let memory = MemoryReport::of(result).map(|memory| memory.basis());
    let noise = [sweep::stopping(result), sweep::controls(result)].concat();
    let tap = wire::own_time(result);
    noise.into_iter().chain(memory).chain(tap).collect()
}

/// What was compared on what, such as `7 systems on demo`.
fn title(names: &[&str], result: &EvalResult) -> String {
    let who = match names {
        [] => "No system".to_owned(),
        [only] => (*only).to_owned(),
        [one, other] => format!("{one} and {other}"),
        many => format!("{} systems", many.len()),
    };
    let datasets: IndexSet<&str> = result.rows.iter().map(|row| &*row.dataset).collect();
    let named: Vec<&str> = datasets
        .into_iter()
        .filter(|name| !name.is_empty())
        .collect();
    match named[..] {
        [] => who,
        [only] => format!("{who} on {only}"),
        [one, other] => format!("{who} on {one} and {other}"),
        _ => format!("{who} on {} datasets", named.len()),
    }
}

fn facts(result: &EvalResult) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let models: IndexSet<&str> = result
        .summary
        .keys()
        .filter_map(|name| result.answered_by(name))
        // A system that answers by itself says nothing new.
        .filter(|who| !result.summary.contains_key(*who))
        .collect();
    if !models.is_empty() {
        let models: Vec<&str> = models.into_iter().collect();
        facts.push(("Answered by".to_owned(), models.join(", ")));
    }
    let mut reports = result.tasks.values();
    if let Some(date) = reports.find_map(|report| report.results.get("date")?.as_f64()) {
        facts.push(("Date".to_owned(), utc(date)));
    }
    if let Some(run) = result.store.as_ref().and_then(|store| store.run.as_ref()) {
        facts.push(("Run".to_owned(), run.clone()));
    }
    let short = |digest: &str| digest.chars().take(12).collect::<String>();
    match &result.datasets[..] {
        [] => {}
        [only] => facts.push((
            "Examples".to_owned(),
            format!("sha256 {}", short(&only.sha256)),
        )),
        // Of all of them together: the digest of their digests, a line each.
        several => {
            let lines = several.iter().map(|one| format!("{}\n", one.sha256));
            let all = Sha256::digest(lines.collect::<String>().as_bytes());
            let all = short(&digest::hex(&all));
            facts.push((
                "Examples".to_owned(),
                format!("sha256 {all} of {} datasets", several.len()),
            ));
        }
    }
    facts
}

fn warnings(result: &EvalResult) -> Vec<String> {
    let mut warnings: Vec<String> = result.part_of().into_iter().collect();
    for (system, failure) in &result.gave_up {
        warnings.push(format!("{system} was given up: {}", failure.message));
    }
    warnings.extend(wire::findings(result));
    let failed = result.failed_gates();
    warnings.extend(failed.map(|gate| format!("gate {}", described_gate(gate))));
    warnings
}

fn threshold(result: &EvalResult) -> f64 {
    let said = result.provenance.get("threshold").and_then(Value::as_f64);
    said.unwrap_or(DEFAULT_THRESHOLD)
}

/// Configuration and provenance, as the JSON export has them.
fn sections(result: &EvalResult) -> Vec<Section> {
    let section = |title: &str, map: &Map<String, Value>| Section {
        title: title.to_owned(),
        entries: map
            .iter()
            .map(|(key, value)| (key.clone(), rows::text_of(value)))
            .collect(),
    };
    let mut sections = vec![
        section("Configuration", &result.config),
        section("Provenance", &result.provenance),
        section("Scoring rules", &result.rules()),
    ];
    let datasets = result.datasets.iter().map(|dataset| {
        let value = serde_json::to_value(dataset).unwrap_or_default();
        (dataset.name.clone(), rows::text_of(&value))
    });
    sections.push(Section {
        title: "Datasets".to_owned(),
        entries: datasets.collect(),
    });
    let gates = gates::lines(&result.gates).into_iter().enumerate();
    sections.push(Section {
        title: "Gates".to_owned(),
        entries: gates.map(|(n, line)| ((n + 1).to_string(), line)).collect(),
    });
    sections.retain(|section| !section.entries.is_empty());
    sections
}

/// `2026-11-17 19:20 UTC`.
fn utc(seconds: f64) -> String {
    let UtcTime {
        year,
        month,
        day,
        hour,
        minute,
        ..
    } = UtcTime::of(seconds as i64);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0.0, "1970-01-01 00:00 UTC"),
            (951_782_399.0, "2000-02-28 23:59 UTC"),
            (951_782_400.0, "2000-02-29 00:00 UTC"),
            (1_794_943_243.8, "2026-11-17 19:20 UTC"),
        ] {
            assert_eq!(utc(seconds), date);
        }
    }
}
