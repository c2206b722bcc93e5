//! `PageData`: everything that the page says above its rows, as plain data.
//!
//! Numbers are those of the result, unrounded; the script of the page writes them for people.

use serde::Serialize;
use serde_json::{Map, Value};

/// What a page says, but for its rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PageData {
    /// Heading and title of the window.
    pub title: String,
    /// What identifies the run: label and text, in order.
    pub facts: Vec<(String, String)>,
    /// What a reader must know before the numbers, such as that a run is not complete.
    pub warnings: Vec<String>,
    /// Systems in the order of the run.
    pub systems: Vec<System>,
    /// The system that others are compared with, by number.
    pub baseline: Option<usize>,
    /// What the numbers of systems mean, in the order of the table.
    pub metrics: Vec<Metric>,
    /// The metric that says how good answers are, by its key.
    pub quality: Option<String>,
    /// The metric that says what answers cost, by its key.
    pub cost: Option<String>,
    /// The metric that says how much of the context was removed, by its key.
    pub compression: Option<String>,
    /// A score from which an answer counts as passed.
    pub threshold: Option<f64>,
    /// Names of the scores of rows; the values of [`PageRow`](crate::PageRow) are in this order.
    pub scores: Vec<String>,
    /// Datasets and groups with the headline of each system.
    pub benchmarks: Vec<Benchmark>,
    /// Paired differences to the baseline, where they were computed.
    pub comparison: Option<Comparison>,
    /// What systems show that only differ in one setting.
    pub sweeps: Vec<Sweep>,
    /// What else was found about differences, a sentence each: noise, when a run was decided.
    pub notes: Vec<String>,
    /// How long calls took: one curve per system that has any.
    pub latency: Vec<Curve>,
    /// How the quality of rows is spread: one histogram per system that has any.
    pub spread: Vec<Histogram>,
    /// Failures by system and kind.
    pub failures: Vec<FailureCount>,
    /// Configuration and provenance.
    pub sections: Vec<Section>,
    /// Commands that make the run and the page again.
    pub reproduce: Vec<String>,
    /// Program and version that wrote the page.
    pub made_by: String,
}

/// One system.
#[derive(Debug, Clone, Default, Serialize)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Who answered for it, where that is known.
    pub answered_by: Option<String>,
    /// What became of its planned rows, as in the JSON export.
    pub counts: Map<String, Value>,
    /// Its numbers, by the keys of [`PageData::metrics`].
    pub figures: Vec<(String, Figure)>,
}

/// A number with what is known about its precision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figure {
    /// The value; `None` when there was nothing to measure.
    pub value: Option<f64>,
    /// One standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<f64>,
    /// Ends of the 95 % confidence interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// How many rows it rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither is.
    #[default]
    Neither,
}

/// What a number of a system is.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Metric {
    /// Its key in the summary.
    pub key: String,
    /// What people call it.
    pub label: String,
    /// `number`, `share`, `tokens`, `seconds`, `count` or `rank`.
    pub unit: &'static str,
    /// Which way it is better.
    pub better: Better,
    /// How it is computed, in a sentence; empty when that is not known.
    pub definition: String,
    /// Whether it stands in the table at once, or only when all are asked for.
    pub is_main: bool,
    /// The heading of the table that it has its place in; empty for the first one.
    pub part: &'static str,
}

/// A dataset, a task or a group with what each system reached.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Benchmark {
    /// Its name.
    pub name: String,
    /// The name of the score that is quoted of it.
    pub score: String,
    /// Where a value stands in `tasks` of the JSON export, under the name of its system.
    pub path: Vec<String>,
    /// Numbers of the benchmarks that belong to it; empty for a dataset.
    pub members: Vec<usize>,
    /// The headline of each system, in the order of the systems.
    pub cells: Vec<Option<Figure>>,
}

/// Paired differences to the baseline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Comparison {
    /// What is compared and how, in a sentence.
    pub method: String,
    /// How much a system may lose and still count as not worse.
    pub margin: Option<f64>,
    /// One per system and benchmark.
    pub differences: Vec<Difference>,
}

/// The difference of one system to the baseline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Difference {
    /// The number of the system.
    pub system: usize,
    /// The benchmark it is about, by name; `None` for all examples.
    pub benchmark: Option<String>,
    /// Where the difference stands in the JSON export.
    pub path: Vec<Value>,
    /// System minus baseline.
    pub difference: Option<f64>,
    /// Ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// How many pairs it rests on.
    pub n: usize,
    /// Whether the data decide: `better`, `worse`, `not_worse` or `undecided`.
    pub verdict: String,
    /// The verdict in a sentence.
    pub sentence: String,
}

/// A system with several values of a setting, as a curve of quality against tokens.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sweep {
    /// What it is called.
    pub name: String,
    /// The setting.
    pub setting: String,
    /// The score that stands for quality.
    pub score: String,
    /// How many examples every point rests on.
    pub examples: usize,
    /// The values, in order of their tokens.
    pub points: Vec<SweepPoint>,
    /// What the curve shows, a sentence each.
    pub conclusions: Vec<String>,
}

/// One value of a setting.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SweepPoint {
    /// The number of its system.
    pub system: Option<usize>,
    /// The value.
    pub value: f64,
    /// Mean tokens of prompts.
    pub tokens: f64,
    /// Mean quality.
    pub quality: f64,
    /// Ends of its 95 % interval.
    pub interval: [f64; 2],
    /// What is shown about it beside the baseline; empty when that was not asked.
    pub verdict: String,
    /// Whether it is the smallest that is good enough.
    pub is_smallest: bool,
    /// Where the point stands in the JSON export.
    pub path: Vec<Value>,
}

/// An empirical distribution: how large a share of values is at most so large.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Curve {
    /// The number of the system.
    pub system: usize,
    /// How many values there are.
    pub n: usize,
    /// Pairs of value and share, ascending.
    pub points: Vec<[f64; 2]>,
    /// Values that people quote: name, key in the summary where it stands, and value.
    pub marks: Vec<(String, Option<String>, f64)>,
}

/// How many values fall into equal parts of a range.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Histogram {
    /// The number of the system.
    pub system: usize,
    /// Where the first part begins.
    pub low: f64,
    /// Where the last part ends; a value that equals it belongs to the last part.
    pub high: f64,
    /// Values in each part.
    pub counts: Vec<usize>,
}

/// How often a system failed in one way.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FailureCount {
    /// The number of the system.
    pub system: usize,
    /// The kind of failure, or `unscored`.
    pub kind: String,
    /// How many rows.
    pub n: usize,
    /// What the first of them says.
    pub message: String,
}

/// A part of the configuration.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Names and values, values as text.
    pub entries: Vec<(String, String)>,
}
