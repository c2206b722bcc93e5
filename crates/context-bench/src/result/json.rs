//! Results as JSON and rows as JSON lines, written row by row.

use std::io::{self, Write};

use indexmap::IndexMap;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::EvalResult;
use crate::json::AsciiPretty;
use crate::model::{EvalRow, Measurement, Summary};

impl EvalResult {
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
        self.each_row(|row| {
            let mut json = self.row_json(row);
            if let Some(who) = self.answered_by(&row.system) {
                json.insert("answered_by".into(), who.into());
            }
            if let Some(part_of) = &part_of {
                json.insert("part_of".into(), part_of.as_str().into());
            }
            serde_json::to_writer(&mut out, &json)?;
            out.write_all(b"\n")
        })
    }
}

impl EvalResult {
    /// A row with what it cost, where that is known.
    fn row_json(&self, row: &EvalRow) -> Map<String, Value> {
        let mut json = row.to_json();
        if let Some(cost) = self.cost(row) {
            let (name, money) = match cost.exact() {
                Some(money) => ("cost", money),
                None => ("cost_at_least", cost.least),
            };
            json.insert(name.into(), number(Some(money.to_f64())));
        }
        json
    }
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

/// The rows, read as they are written.
struct Rows<'a>(&'a EvalResult);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A run that still goes on may have more rows by now than were counted.
        let mut rows = serializer.serialize_seq(None)?;
        let mut unwritten = None;
        let read = self.0.each_row(|row| {
            rows.serialize_element(&self.0.row_json(row))
                .map_err(|error| {
                    unwritten = Some(error);
                    io::ErrorKind::Other.into()
                })
        });
        match (unwritten, read) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(S::Error::custom(error)),
            (None, Ok(())) => rows.end(),
        }
    }
}

impl Serialize for EvalResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let per_system = |view: fn(&Summary) -> Map<String, Value>| -> IndexMap<&str, _> {
            self.summary
                .iter()
                .map(|(name, summary)| (name.as_str(), view(summary)))
                .collect()
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("rows", &Rows(self))?;
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
        if !self.wire.is_empty() {
            map.serialize_entry("wire", &self.wire_json())?;
        }
        if let Some(comparison) = &self.comparison {
            map.serialize_entry("comparison", comparison)?;
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
        if let Some(stopping) = &self.stopping {
            map.serialize_entry("stopping", stopping)?;
        }
        if !self.sweeps.is_empty() {
            map.serialize_entry("sweeps", &self.sweeps)?;
        }
        if !self.controls.is_empty() {
            map.serialize_entry("controls", &self.controls)?;
        }
        if !self.gates.is_empty() {
            map.serialize_entry("gates", &self.gates)?;
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
