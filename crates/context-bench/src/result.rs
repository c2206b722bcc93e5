//! `EvalResult`: what a run found, ready to be read, filtered and exported.
//!
//! The members that users know (rows, summary, timing, config) keep their names
//! and shapes; what honest reporting adds (counts, statistics) stands beside them.

mod csv;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod problems;
mod rows;

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::benchmark::TaskReport;
use crate::comparison::{ComparedRows, ComparisonSettings, RunComparison};
use crate::dataset::UsedDataset;
use crate::error::Hint as _;
use crate::gate::CheckedGate;
use crate::mask::Mask;
use crate::measures::Measures;
use crate::model::{ArmRole, ArmWire, Counts, EvalRow, Failure, Summary};
use crate::noise::ControlReport;
use crate::stopping::Stopping;
use crate::store::StoreError;
use crate::sweep::SweepReport;

pub(crate) use rows::{KeptRows, RowShape, RowSource, Visit};

/// What a run found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EvalResult {
    /// One row per system and example: grouped by system, in dataset order. Empty where rows are
    /// [streamed](Self::each_row).
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
    /// Per system whose calls passed a tap: what it saw of all of them together.
    pub wire: IndexMap<String, ArmWire>,
    /// Every system beside the baseline; `None` when there is only one.
    pub comparison: Option<RunComparison>,
    /// How they were compared, for whoever compares again with another margin or baseline; not part
    /// of what is written.
    pub compared: ComparisonSettings,
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
    /// What the run showed while it went on, if it could end early.
    pub stopping: Option<Stopping>,
    /// Curves of the sweeps of the run.
    pub sweeps: Vec<SweepReport>,
    /// Systems that ran twice: the difference that noise makes.
    pub controls: Vec<ControlReport>,
    /// What became of the gates of the run.
    pub gates: Vec<CheckedGate>,
    /// How it was measured, for those who measure a part of it.
    pub(crate) measures: Arc<Measures>,
    /// Rows that are not in memory.
    pub(crate) kept: Option<KeptRows>,
}

/// Whether an arm does what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmVerdict {
    /// A proxy that transforms has changed requests.
    Engaged,
    /// A proxy that transforms has changed none: its figures are those of no transform.
    NotEngaged,
    /// What is to change nothing has changed nothing.
    Transparent,
    /// What is to change nothing has changed requests.
    NotTransparent,
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
        filtered.wire.retain(|name, _| has_rows(name));
        if let Some(comparison) = &mut filtered.comparison {
            comparison.systems.retain(|one| has_rows(&one.system));
        }
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
            wire: self.wire.clone(),
            comparison: self.comparison.clone(),
            compared: self.compared.clone(),
            provenance: self.provenance.clone(),
            gave_up: self.gave_up.clone(),
            store: self.store.clone(),
            interrupted: self.interrupted,
            unfinished: self.unfinished.clone(),
            stopping: self.stopping.clone(),
            sweeps: self.sweeps.clone(),
            controls: self.controls.clone(),
            gates: self.gates.clone(),
            measures: Arc::clone(&self.measures),
            kept: None,
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

    /// What an arm is judged by: how many of its requests were compared, and how many went
    /// out changed.
    pub fn arm_verdict(&self, system: &str) -> Option<ArmVerdict> {
        let role = self.wire.get(system)?.role;
        let shape = self.shape();
        let (compared, changed) = shape.engagement.get(system).copied().unwrap_or_default();
        match (role, compared, changed) {
            (_, 0, _) => None,
            (ArmRole::Transform, _, 0) => Some(ArmVerdict::NotEngaged),
            (ArmRole::Transform, _, _) => Some(ArmVerdict::Engaged),
            (_, _, 0) => Some(ArmVerdict::Transparent),
            _ => Some(ArmVerdict::NotTransparent),
        }
    }

    /// What a tap saw of every arm, with what it is judged to be, as JSON has it.
    pub fn wire_json(&self) -> Map<String, Value> {
        let arms = self.wire.iter();
        arms.map(|(name, arm)| (name.clone(), self.arm_json(name, arm)))
            .collect()
    }

    fn arm_json(&self, name: &str, arm: &ArmWire) -> Value {
        let mut json = json!(arm);
        if let Value::Object(members) = &mut json {
            let share = arm.unattributed_share();
            members.insert("unattributed_share".into(), json!(share));
            if let Some(verdict) = self.arm_verdict(name) {
                members.insert("verdict".into(), json!(verdict));
            }
        }
        json
    }

    /// Every system of the rows beside a baseline; `None` when there is only one system, or no
    /// baseline of that name.
    pub fn compare(&self, settings: &ComparisonSettings) -> Option<RunComparison> {
        let mut systems: Vec<ComparedRows<'_>> = Vec::new();
        for rows in self.rows.chunk_by(|a, b| a.system == b.system) {
            let name = &*rows[0].system;
            match systems.iter().any(|one| one.name == name) {
                // Rows of a result stand together; what others made of them is not guessed at.
                true => return None,
                false => systems.push(ComparedRows::new(name, rows)),
            }
        }
        for name in self.summary.keys() {
            if !systems.iter().any(|one| one.name == name) && !systems.is_empty() {
                systems.push(ComparedRows::new(name, &[]));
            }
        }
        systems.sort_by_key(|one| self.summary.get_index_of(one.name));
        crate::comparison::compare(&systems, settings)
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
}
