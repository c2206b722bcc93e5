//! What was found: rows of a table, compared with what is written down.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::Record;

/// Official and our figure on one part of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    dataset: String,
    /// Which outputs, and which of our readings where there are several.
    part: String,
    n: usize,
    official: f64,
    ours: f64,
    /// How many verdicts are the same; none where the two measure different things.
    agree: Option<usize>,
    /// Not held out.
    seen: bool,
    /// Whether the file was at hand while the rules were written.
    in_sample: bool,
    note: String,
}

/// All that was found.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Row>);

/// Verdicts on one file, its two parts apart.
pub(crate) struct Tally {
    dataset: &'static str,
    part: String,
    note: &'static str,
    in_sample: bool,
    compared: bool,
    /// Seen, held out.
    parts: [Part; 2],
}

#[derive(Debug, Default, Clone)]
struct Part {
    n: usize,
    official: f64,
    ours: f64,
    agree: usize,
}

impl Tally {
    pub(crate) fn new(dataset: &'static str, part: impl Into<String>) -> Self {
        Self {
            dataset,
            part: part.into(),
            note: "",
            in_sample: true,
            compared: true,
            parts: Default::default(),
        }
    }

    pub(crate) fn note(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }

    /// Nobody had compared with these verdicts when the rules were written.
    pub(crate) fn out_of_sample(mut self) -> Self {
        self.in_sample = false;
        self
    }

    /// The two figures measure different things: no verdict can be the same.
    pub(crate) fn other_measure(mut self) -> Self {
        self.compared = false;
        self
    }

    /// Adds a pair of scores; what differs is told unless it is held out, or there is nothing
    /// to tell.
    pub(crate) fn add(
        &mut self,
        record: &Record,
        official: f64,
        ours: f64,
        why: impl FnOnce() -> String,
    ) {
        let same = (official - ours).abs() < 1e-6;
        self.judge(record, (official, ours), same, why);
    }

    /// The same where verdicts are more than right or wrong, such as letters.
    pub(crate) fn judge(
        &mut self,
        record: &Record,
        (official, ours): (f64, f64),
        same: bool,
        why: impl FnOnce() -> String,
    ) {
        let part = &mut self.parts[usize::from(record.held_out)];
        part.n += 1;
        part.official += official;
        part.ours += ours;
        part.agree += usize::from(same);
        let why = if same || !self.compared || record.held_out {
            String::new()
        } else {
            why()
        };
        if !why.is_empty() {
            eprintln!("  {} {}: {}", self.dataset, self.part, why);
        }
    }

    /// Ends the count; at least that share of all verdicts must be the same.
    pub(crate) fn at_least(self, share: f64, report: &mut Report) {
        let n: usize = self.parts.iter().map(|part| part.n).sum();
        let agree: usize = self.parts.iter().map(|part| part.agree).sum();
        let found = agree as f64 / n.max(1) as f64;
        let what = format!("{} {}", self.dataset, self.part);
        self.tell(report);
        assert!(n > 0, "{what}: no verdicts");
        assert!(found >= share, "{what}: {found} is below {share}");
    }

    /// Ends the count.
    pub(crate) fn tell(self, report: &mut Report) {
        for (part, seen) in self.parts.iter().zip([true, false]) {
            if part.n == 0 {
                continue;
            }
            let mean = |sum: f64| (sum / part.n as f64 * 1e6).round() / 1e6;
            report.0.push(Row {
                dataset: self.dataset.to_owned(),
                part: self.part.clone(),
                n: part.n,
                official: mean(part.official),
                ours: mean(part.ours),
                agree: self.compared.then_some(part.agree),
                seen,
                in_sample: self.in_sample,
                note: self.note.to_owned(),
            });
        }
    }
}

impl Report {
    /// The rows, for people.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        if self.0.is_empty() {
            return table;
        }
        let _ = writeln!(
            table,
            "\n{:<14} {:<34} {:<9} {:>5} {:>9} {:>9} {:>14}",
            "dataset", "part", "", "n", "official", "ours", "same verdict"
        );
        for row in &self.0 {
            let agree = row.agree.map_or("–".to_owned(), |agree| {
                format!("{agree} ({:.2} %)", 100.0 * agree as f64 / row.n as f64)
            });
            let _ = writeln!(
                table,
                "{:<14} {:<34} {:<9} {:>5} {:>9.4} {:>9.4} {agree:>14}",
                row.dataset,
                row.part,
                if row.seen { "seen" } else { "held out" },
                row.n,
                row.official,
                row.ours,
            );
        }
        table
    }

    /// Compares with what is written down, or writes it.
    pub(crate) fn settle(self) -> Result<(), String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../context-bench/tests/fixtures/agreement.json");
        let text = std::fs::read_to_string(&path).unwrap_or("[]".to_owned());
        let written: Vec<Row> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let key = |row: &Row| (row.dataset.clone(), row.part.clone(), !row.seen);
        let mut rows: BTreeMap<_, Row> = written.into_iter().map(|row| (key(&row), row)).collect();
        let mut differences = Vec::new();
        for row in self.0 {
            let before = rows.insert(key(&row), row.clone());
            if before.as_ref() != Some(&row) {
                differences.push(format!("found {row:?}\n    written {before:?}"));
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        if std::env::var_os("CONTEXT_BENCH_UPDATE").is_some() {
            let lines: Vec<String> = rows
                .values()
                .map(|row| serde_json::to_string(row).expect("a row"))
                .collect();
            let text = format!("[\n  {}\n]\n", lines.join(",\n  "));
            return std::fs::write(path, text).map_err(|error| error.to_string());
        }
        Err(format!(
            "`agreement.json` says otherwise:\n  {}\nhint: look why, then `CONTEXT_BENCH_UPDATE=1 make agreement`",
            differences.join("\n  ")
        ))
    }
}
