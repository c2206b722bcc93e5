//! `EvalResult`: what a run found, ready to be read, filtered and exported.
//!
//! The members that users know (rows, summary, timing, config) keep their names
//! and shapes; what honest reporting adds (counts, statistics) stands beside them.

use std::io::{self, Write};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::benchmark::TaskReport;
use crate::dataset::UsedDataset;
use crate::error::Hint as _;
use crate::json::AsciiPretty;
use crate::mask::Mask;
use crate::model::{Counts, EvalRow, Failure, Measurement, Summary};
use crate::store::StoreError;
use crate::text::spreadsheet::text_cell;

/// What a run found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EvalResult {
    /// One row per system and example: grouped by system, in dataset order.
    pub rows: Vec<EvalRow>,
    /// Per system: metric key → measurement.
    pub summary: IndexMap<String, Summary>,
    /// Per system: seconds from its first call to the end of its last.
    pub timing: IndexMap<String, f64>,
    /// What was run: names of systems, evaluators and metrics, sizes.
    pub config: Map<String, Value>,
    /// Per system: how many rows were planned, and what happened to them.
    pub counts: IndexMap<String, Counts>,
    /// The datasets that examples came from, with a digest of what was used.
    pub datasets: Vec<UsedDataset>,
    /// Per system: what was found about each benchmark and group, in the schema of
    /// lm-evaluation-harness.
    pub tasks: IndexMap<String, TaskReport>,
    /// How the numbers came about: version, tokenizer, counted fields.
    pub provenance: Map<String, Value>,
    /// Systems that were given up, with the failure that their calls had in common.
    pub gave_up: IndexMap<String, Failure>,
    /// What was stored, and what could not be; `None` without a store.
    pub store: Option<StoreSummary>,
    /// Whether the run was stopped before its plan was done.
    pub interrupted: bool,
    /// The stored run that these results come from, if it did not finish.
    pub unfinished: Option<Unfinished>,
}

/// A stored run that did not finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Unfinished {
    /// Its id.
    pub run: String,
    /// How it ended, such as `was killed`.
    pub how: String,
}

/// What was stored of a run, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StoreSummary {
    /// The run's name in the store; `None` when it could not be begun.
    pub run: Option<String>,
    /// The file of the store.
    #[serde(serialize_with = "shown")]
    pub path: std::path::PathBuf,
    /// Why not everything could be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_hint: Option<String>,
    /// Why the store could only be read, not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<String>,
    /// Stored entries that were found damaged and were not used.
    #[serde(skip_serializing_if = "is_zero")]
    pub damaged: u64,
    /// Examples that could not be looked up; nothing was asked about them.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: u64,
    /// Why the first of them could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread_reason: Option<String>,
    /// Entries that could not be stored.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

/// A path as results show it; no key should be in one.
fn shown<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&Mask::Dots.text(&path.to_string_lossy()))
}

impl StoreSummary {
    /// Notes why not everything could be kept.
    pub(crate) fn failed(&mut self, error: &StoreError) {
        self.failure = Some(error.to_string());
        self.failure_hint = error.hint();
    }

    /// Whether something could not be stored that should have been.
    pub fn is_incomplete(&self) -> bool {
        self.failure.is_some() || self.dropped > 0
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl EvalResult {
    /// The rows for which `keep` holds, with the summaries and counts of the
    /// systems that still have rows. Numbers are kept, not computed again.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(&EvalRow) -> bool) -> Self {
        let rows: Vec<EvalRow> = self.rows.iter().filter(|row| keep(row)).cloned().collect();
        let has_rows = |name: &String| rows.iter().any(|row| *row.system == **name);
        let mut filtered = Self {
            rows: Vec::new(),
            ..self.clone_without_rows()
        };
        filtered.summary.retain(|name, _| has_rows(name));
        filtered.counts.retain(|name, _| has_rows(name));
        filtered.rows = rows;
        filtered
    }

    fn clone_without_rows(&self) -> Self {
        Self {
            rows: Vec::new(),
            summary: self.summary.clone(),
            timing: self.timing.clone(),
            config: self.config.clone(),
            counts: self.counts.clone(),
            datasets: self.datasets.clone(),
            tasks: self.tasks.clone(),
            provenance: self.provenance.clone(),
            gave_up: self.gave_up.clone(),
            store: self.store.clone(),
            interrupted: self.interrupted,
            unfinished: self.unfinished.clone(),
        }
    }

    /// Which run these results are only a part of, and how much of it is missing; `None` when
    /// they are complete.
    ///
    /// ```
    /// # use context_bench::{EvalResult, Counts};
    /// let mut result = EvalResult::default();
    /// result.interrupted = true;
    /// let counts = Counts { planned: 400, scored: 104, ..Counts::default() };
    /// result.counts.insert("proxy".into(), counts);
    /// assert_eq!(
    ///     result.part_of().as_deref(),
    ///     Some("part of a run that was stopped: 296 of 400 rows not begun")
    /// );
    /// ```
    pub fn part_of(&self) -> Option<String> {
        let sum = |count: fn(&Counts) -> usize| self.counts.values().map(count).sum::<usize>();
        let (planned, missing) = (sum(|counts| counts.planned), sum(Counts::not_run));
        let whose = match (&self.unfinished, self.interrupted) {
            (Some(Unfinished { run, how }), _) => format!("part of run {run}, which {how}"),
            (None, true) => "part of a run that was stopped".to_owned(),
            (None, false) if missing > 0 => "part of a run".to_owned(),
            (None, false) => return None,
        };
        Some(match missing {
            0 => whose,
            _ => format!("{whose}: {missing} of {planned} rows not begun"),
        })
    }

    /// The rows of one system, which stand together.
    pub fn rows_of(&self, system: &str) -> &[EvalRow] {
        let of_system = |row: &EvalRow| *row.system == *system;
        let start = self.rows.iter().position(of_system).unwrap_or(0);
        let rows = &self.rows[start..];
        let len = rows.iter().take_while(|row| of_system(row)).count();
        &rows[..len]
    }

    /// Who answered for a system: a model, the baseline reader, or the system itself.
    pub fn answered_by(&self, system: &str) -> Option<&str> {
        let answered = self.provenance.get("answered_by")?;
        answered.get(system)?.as_str()
    }

    /// By which rule each dataset of the catalog is scored, and how the scores of
    /// this run relate to that rule.
    pub fn rules(&self) -> Map<String, Value> {
        let mut rules = Map::new();
        for report in self.tasks.values() {
            for (key, dataset) in &report.datasets {
                if let Some(rule) = dataset.rule_json() {
                    rules.insert(key.clone(), rule);
                }
            }
        }
        rules
    }

    /// Names of all scores in the rows, in order of first appearance.
    pub fn score_names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for row in &self.rows {
            for (name, _) in row.scores.iter().filter(|(_, s)| s.as_evidence().is_none()) {
                if !names.iter().any(|known| **known == *name.as_str()) {
                    names.push(name.as_str().into());
                }
            }
        }
        names
    }

    /// Strict JSON, indented by two spaces, ASCII only; non-finite numbers are `null`.
    pub fn to_json(&self) -> String {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail, and the text is ASCII.
        let _ = self.write_json(&mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Writes [`to_json`](Self::to_json) row by row, without holding it in memory.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        let mut serializer = serde_json::Serializer::with_formatter(out, AsciiPretty::default());
        self.serialize(&mut serializer).map_err(io::Error::from)
    }

    /// Writes one compact JSON object per row and line.
    pub fn write_jsonl(&self, mut out: impl Write) -> io::Result<()> {
        let part_of = self.part_of();
        for row in &self.rows {
            let mut json = row.to_json();
            if let Some(who) = self.answered_by(&row.system) {
                json.insert("answered_by".into(), who.into());
            }
            if let Some(part_of) = &part_of {
                json.insert("part_of".into(), part_of.as_str().into());
            }
            serde_json::to_writer(&mut out, &json)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Writes the rows as CSV: fixed columns, then every score, then every
    /// metadata entry, then what went wrong.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        let scores = self.score_names();
        let metadata = self.rows.iter().flat_map(|row| row.metadata().into_iter());
        let metadata: IndexSet<String> = metadata.map(|(key, _)| key).collect();
        let has_text = self.rows.iter().any(|row| row.text.is_some());
        let texts: &[&str] = if has_text { &TEXTS } else { &[] };
        let part_of = self.part_of();
        let mut csv = csv::Writer::from_writer(out);
        let fixed = [
            "system",
            "example_id",
            "dataset",
            "input_tokens",
            "output_tokens",
            "latency",
        ];
        let last = ["cached", "error_kind", "error", "unscored", "answered_by"];
        let header = fixed
            .into_iter()
            .chain(scores.iter().map(|name| &**name))
            .chain(metadata.iter().map(|key| key.as_str()))
            .chain(last)
            .chain(texts.iter().copied())
            .chain(part_of.as_ref().map(|_| "part_of"));
        csv.write_record(header.map(|name| text_cell(name).into_owned()))?;
        for row in &self.rows {
            let mut record = vec![
                row.system.to_string(),
                row.example_id.to_string(),
                row.dataset.to_string(),
                row.input_tokens.to_string(),
                row.output_tokens.to_string(),
                row.latency.to_string(),
            ];
            record.extend(scores.iter().map(|name| {
                let value = row.score(name).filter(|value| value.is_finite());
                value.map(|value| value.to_string()).unwrap_or_default()
            }));
            let own = row.metadata();
            record.extend(metadata.iter().map(|key| {
                let value = own.get(key);
                value
                    .map(crate::text::stringify::python_str)
                    .unwrap_or_default()
                    .into_owned()
            }));
            let failure = row.failure.as_deref();
            let unscored: Vec<String> = row
                .scores
                .unscored()
                .map(|(name, reason)| format!("{name}: {reason}"))
                .collect();
            record.push(row.cached.to_string());
            record.push(
                failure
                    .map(|failure| failure.kind.to_string())
                    .unwrap_or_default(),
            );
            record.push(
                failure
                    .map(|failure| failure.message.clone())
                    .unwrap_or_default(),
            );
            record.push(unscored.join("; "));
            let who = self.answered_by(&row.system).unwrap_or_default();
            record.push(who.to_owned());
            if has_text {
                record.extend(texts_of(row));
            }
            record.extend(part_of.clone());
            csv.write_record(record.iter().map(|cell| text_cell(cell).into_owned()))?;
        }
        csv.flush()
    }
}

/// The last columns of CSV, where rows keep text.
const TEXTS: [&str; 4] = ["question", "answer", "response", "finish_reason"];

/// The cells of those columns.
fn texts_of(row: &EvalRow) -> [String; 4] {
    let cell = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let text = row.text.as_deref();
    let reply = row.reply.as_deref();
    let ended = reply.and_then(|reply| reply.finish_reason.as_deref());
    [
        cell(text.and_then(|text| text.question.as_ref())),
        cell(text.and_then(|text| text.answer.as_ref())),
        cell(text.and_then(|text| text.response.as_ref())),
        ended.unwrap_or_default().to_owned(),
    ]
}

/// A number, or `null` when it is missing or not finite.
fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, Value::from)
}

fn values_json(summary: &Summary) -> Map<String, Value> {
    summary
        .iter()
        .map(|(name, measurement)| (name.to_owned(), number(measurement.value)))
        .collect()
}

fn statistics_json(summary: &Summary) -> Map<String, Value> {
    let statistic = |measurement: &Measurement| {
        let mut entry = Map::new();
        entry.insert("n".into(), json!(measurement.n?));
        if let Some(examples) = measurement.examples {
            entry.insert("examples".into(), json!(examples));
        }
        if let Some(stderr) = measurement.stderr {
            entry.insert("stderr".into(), number(Some(stderr)));
        }
        if let Some(interval) = measurement.interval {
            let ends = [interval.low, interval.high].map(|end| number(Some(end)));
            entry.insert("ci95".into(), json!(ends));
        }
        Some(Value::Object(entry))
    };
    summary
        .iter()
        .filter_map(|(name, measurement)| Some((name.to_owned(), statistic(measurement)?)))
        .collect()
}

impl Serialize for EvalResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Rows<'a>(&'a [EvalRow]);
        impl Serialize for Rows<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut rows = serializer.serialize_seq(Some(self.0.len()))?;
                for row in self.0 {
                    rows.serialize_element(&row.to_json())?;
                }
                rows.end()
            }
        }
        let per_system = |view: fn(&Summary) -> Map<String, Value>| -> IndexMap<&str, _> {
            self.summary
                .iter()
                .map(|(name, summary)| (name.as_str(), view(summary)))
                .collect()
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("rows", &Rows(&self.rows))?;
        map.serialize_entry("summary", &per_system(values_json))?;
        map.serialize_entry("timing", &self.timing)?;
        map.serialize_entry("config", &self.config)?;
        if !self.counts.is_empty() {
            let counts = self.counts.iter();
            let counts: IndexMap<_, _> = counts.map(|(name, one)| (name, one.to_json())).collect();
            map.serialize_entry("counts", &counts)?;
        }
        let statistics = per_system(statistics_json);
        if statistics.values().any(|entries| !entries.is_empty()) {
            map.serialize_entry("statistics", &statistics)?;
        }
        if !self.datasets.is_empty() {
            map.serialize_entry("datasets", &self.datasets)?;
        }
        if !self.tasks.is_empty() {
            let tasks = self.tasks.iter();
            let tasks: IndexMap<_, _> = tasks.map(|(name, one)| (name, &one.results)).collect();
            map.serialize_entry("tasks", &tasks)?;
        }
        let rules = self.rules();
        if !rules.is_empty() {
            map.serialize_entry("rules", &rules)?;
        }
        if !self.provenance.is_empty() {
            map.serialize_entry("provenance", &self.provenance)?;
        }
        if let Some(store) = &self.store {
            map.serialize_entry("store", store)?;
        }
        if !self.gave_up.is_empty() {
            map.serialize_entry("gave_up", &self.gave_up)?;
        }
        if self.interrupted {
            map.serialize_entry("interrupted", &true)?;
        }
        if let Some(unfinished) = &self.unfinished {
            map.serialize_entry("unfinished", unfinished)?;
        }
        if let Some(part_of) = self.part_of() {
            map.serialize_entry("part_of", &part_of)?;
        }
        map.end()
    }
}
