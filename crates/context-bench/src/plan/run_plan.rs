//! `RunPlan`: what was decided, with every default filled in.
//!
//! It is kept whole with the run, so that results can be made again from the
//! store alone, in another process and after files have changed.

use std::collections::HashMap;

use context_bench_tasks::{Leaf, Node, Tree};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::prompt_style::PromptStyle;
use super::workers::Workers;
use crate::benchmark::{HarnessFacts, Reporting};
use crate::gate::PlannedGate;
use crate::model::{ArmRole, PromptParts};
use crate::noise::PlannedControl;
use crate::sweep::PlannedSweep;

/// The format of plans that this version writes.
pub const PLAN_VERSION: u32 = 1;

/// What a run does, with nothing left open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunPlan {
    /// The format of this plan.
    pub version: u32,
    /// The systems in their order.
    pub systems: Vec<PlannedSystem>,
    /// The benchmarks in their order.
    pub benchmarks: Vec<PlannedBenchmark>,
    /// The groups that benchmarks stand in, with the settings of every task.
    pub tree: Tree,
    /// How rows are scored and summed up.
    pub scoring: PlannedScoring,
    /// What memories may recall, in a run of memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<PlannedMemory>,
    /// How prompts are made.
    pub prompts: PlannedPrompts,
    /// What the run may take.
    pub limits: PlannedLimits,
    /// What decides what is drawn at random.
    pub seeds: PlannedSeeds,
    /// Documents per benchmark: a number, or a share below 1.
    pub limit: Option<f64>,
    /// Whether records that cannot be read are left out.
    pub skip_bad_lines: bool,
    /// Whether options stay in the order of the source.
    pub keep_order: bool,
    /// What results in the schema of lm-evaluation-harness say about the run.
    pub harness: HarnessFacts,
    /// Systems that are arms of a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<PlannedSweep>,
    /// Systems that run a second time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<PlannedControl>,
}

impl RunPlan {
    /// Rows that each system is to get; `None` when that is not known beforehand.
    pub fn rows(&self) -> Option<usize> {
        let rows = |one: &PlannedBenchmark| Some(one.documents? * one.repeats.max(1));
        match self.benchmarks.is_empty() {
            true => None,
            false => self.benchmarks.iter().map(rows).sum(),
        }
    }
}

impl RunPlan {
    /// Datasets, tasks and groups, each with the tags of its rows.
    pub fn tags(&self) -> IndexMap<String, Vec<String>> {
        let own = self.benchmarks.iter();
        let mut tags: IndexMap<String, Vec<String>> = own
            .map(|one| (one.key.clone(), vec![one.tag.clone()]))
            .collect();
        let keys: HashMap<*const Leaf, String> = self
            .tree
            .leaves()
            .into_iter()
            .map(std::ptr::from_ref)
            .zip(self.tree.keys())
            .collect();
        for group in self.tree.groups() {
            let leaves = group.children.iter().flat_map(Node::leaves);
            let keys = leaves.filter_map(|leaf| keys.get(&std::ptr::from_ref(leaf)));
            let of_group = keys.filter_map(|key| tags.get(key)).flatten().cloned();
            let of_group: Vec<String> = of_group.collect();
            tags.entry(group.id.clone()).or_insert(of_group);
        }
        tags
    }
}

/// A system of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedSystem {
    /// What reports call it.
    pub name: String,
    /// What kind of system it is: `endpoint`, `layer`, `memory`, `command` or `given`.
    pub kind: String,
    /// Where it is asked, without credentials; of a layer or memory, who answers for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The model that is asked for, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which arm of which proxy it is, where calls pass a tap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<PlannedArm>,
    /// Every setting that can change an answer; `null` when that is not known.
    pub settings: Value,
}

/// An arm of a run whose calls pass a tap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedArm {
    /// What it is for.
    pub role: ArmRole,
    /// The proxy, by the name of its profile or by its address; none in the direct arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// What stands between client and tap, as far as it can change an answer.
    #[serde(default)]
    pub host: Value,
}

impl PlannedSystem {
    /// Whether the baseline reader answers for it, which is not a language model.
    pub fn is_answered_by_reader(&self) -> bool {
        let asks_somebody = ["layer", "memory"].contains(&self.kind.as_str());
        asks_somebody && self.endpoint.is_none()
    }
}

/// What kind of benchmark something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkKind {
    /// A dataset or file, asked and scored in its own way.
    #[default]
    Dataset,
    /// A task in YAML.
    Task,
    /// A task that is a Python class.
    Class,
    /// A dataset of conversations, each with questions to memories.
    Memory,
}

impl BenchmarkKind {
    /// Whether it is a dataset or file, and not a task.
    pub fn is_dataset(self) -> bool {
        matches!(self, Self::Dataset | Self::Memory)
    }
}

/// A benchmark of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedBenchmark {
    /// What results call it.
    pub key: String,
    /// The tag of its examples.
    pub tag: String,
    /// What kind it is.
    pub kind: BenchmarkKind,
    /// What tables show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The evaluators that score it, by name; none for tasks, which score themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evaluators: Vec<String>,
    /// Their keys in the store, in their order: one name may be there with
    /// several settings in one run. Empty where an evaluator has no such key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scorers: Vec<String>,
    /// The score that stands for a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_field: Option<String>,
    /// How many documents are asked about, when that is known before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<usize>,
    /// How many its split has, when that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<usize>,
    /// The file, folder, URL or repository that its examples come from, when known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The commit of that repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether its examples may say themselves which dataset they are of.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
    /// Whether examples of one id are attempts at one document.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_ids: bool,
    /// The field of its records with the text that context layers change, where there are
    /// layers and it makes prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_field: Option<String>,
    /// What is reported of it beside the mean of each score, and by which rule.
    #[serde(skip_serializing_if = "Reporting::is_empty")]
    pub reporting: Reporting,
    /// How many answers each document gets.
    pub repeats: usize,
    /// Examples per prompt, where prompts have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_fewshot: Option<usize>,
    /// The prompt that models are asked with; without one they get the usual layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptParts>,
}

/// What memories may recall, and what they are asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedMemory {
    /// The most turns that memories recall, unless their own settings say otherwise.
    pub top_k: usize,
    /// The most tokens of memory that an answer may rest on.
    pub budget_tokens: Option<u64>,
    /// The kinds of questions that are asked; all when empty.
    pub kinds: Vec<String>,
    /// What makes vectors, where a memory needs that.
    pub embedding_model: Option<String>,
    /// What draws conversations.
    pub seed: Option<i64>,
    /// How much each memory may recall, as far as the run decides it.
    pub own_limits: IndexMap<String, RecallLimits>,
}

/// How much a memory may recall for a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecallLimits {
    /// The most turns.
    pub top_k: usize,
    /// The most tokens.
    pub budget_tokens: Option<u64>,
}

/// How rows are scored and summed up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedScoring {
    /// Evaluators that were asked for by name, as written; empty for the automatic choice.
    pub evaluators: Vec<String>,
    /// The score that the summary is made of; `None` when rows have none.
    pub score_field: Option<String>,
    /// Whether every row has the score of its benchmark under that name as well.
    pub is_common: bool,
    /// A row passes when its score is at or above this.
    pub threshold: f64,
    /// The system that others are compared with, when one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How much of the score may be lost beside the baseline, when that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// What counts tokens.
    pub tokenizer: String,
    /// The fields whose tokens are counted; all text fields when `None`.
    pub text_fields: Option<Vec<String>>,
    /// The metrics of the summary, when a program brought its own.
    pub metrics: Option<Vec<String>>,
    /// How often every system is asked about each example of datasets.
    pub repeats: u64,
    /// Whether the summary has a line for each dataset.
    pub per_dataset: bool,
    /// Resamples for standard errors that are not analytic.
    pub bootstrap_iters: usize,
    /// Whether standard errors of means over tasks are pooled by size.
    pub pooled_stderr: bool,
    /// Whether what was asked and said about each document is written down.
    pub log_samples: bool,
    /// Whether tasks may run code that a model wrote.
    pub confirm_run_unsafe_code: bool,
    /// Whether generated code runs where no sandbox works.
    pub allow_unsandboxed_code: bool,
    /// The judge, when there is one: where, and which model.
    pub judge: Option<(String, String)>,
    /// Rules that say when the run is not good enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<PlannedGate>,
    /// The stored run that gates compare with, instead of a system of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_run: Option<String>,
    /// Files of prices that were asked for, with what was in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PlannedPrices>,
    /// Systems that are asked for the usual model, which nobody named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unnamed_models: Vec<String>,
}

/// A file of prices of a run. Its text is kept, so that a stored run has the same prices when the file
/// is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedPrices {
    /// The file, or `builtin`.
    pub file: String,
    /// What is in it; empty for `builtin`.
    pub text: String,
}

/// How prompts are made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedPrompts {
    /// How models are asked about datasets; plans from before there was a choice do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<PromptStyle>,
    /// Examples per prompt, when asked for.
    pub num_fewshot: Option<usize>,
    /// Whether prompts are messages, and if so whether each example is two of them.
    pub chat: Option<PlannedChat>,
    /// Text in front of every prompt.
    pub system_instruction: Option<String>,
    /// Settings of generation over those of tasks.
    pub generation: Map<String, Value>,
    /// Over the metadata of every task.
    pub metadata: Map<String, Value>,
}

/// How examples become messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedChat {
    /// Each example is a question and an answer.
    MultiTurn,
    /// All examples and the question are one message.
    SingleTurn,
}

/// What a run may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedLimits {
    /// Calls in flight at the same time.
    pub max_workers: Workers,
    /// Requests per second at most.
    pub rps: Option<f64>,
    /// Tokens per minute at most.
    pub tpm: Option<f64>,
    /// Seconds that one example may take.
    pub example_timeout: Option<f64>,
    /// Seconds that the whole run may take.
    pub max_time: Option<f64>,
    /// Share of rows that may fail.
    pub max_error_rate: f64,
    /// Whether the run ends as soon as every verdict is there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stop_when_decided: bool,
}

impl Default for PlannedLimits {
    fn default() -> Self {
        Self {
            max_workers: Workers::Number(1),
            rps: None,
            tpm: None,
            example_timeout: None,
            max_time: None,
            max_error_rate: 0.0,
            stop_when_decided: false,
        }
    }
}

/// What decides what is drawn at random.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedSeeds {
    /// The order of options.
    pub options: i64,
    /// The examples of prompts.
    pub fewshot: i64,
    /// Sent with every request of a task.
    pub generation: Option<i64>,
    /// The order of examples, where that is random.
    pub order: i64,
}
