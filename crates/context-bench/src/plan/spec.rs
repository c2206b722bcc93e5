//! `RunSpec`: what was asked. Nothing is decided here: what is not said is `None`
//! or empty, and [`RunPlan`](super::RunPlan) has what was made of it.
//!
//! The comments of these types are the descriptions of the JSON Schema and of
//! `docs/reference/run-file.md`, so they are written for users.

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::arm_spec::ArmSpec;
use super::prompt_style::PromptStyle;
use super::workers::Workers;
use crate::chat::Api;
use crate::system::Layout;
use crate::tap::{CredentialScope, UpstreamEncoding};

/// The format of run files that this version writes and reads.
pub const SPEC_VERSION: u32 = 1;

/// What to run: systems over benchmarks, and how they are asked and scored.
///
/// Only systems and benchmarks are required. Flags of the command line are put on top:
/// lists (systems, benchmarks, evaluators) are replaced, everything else is merged key by
/// key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunSpec {
    /// The format of this file: 1.
    pub version: u32,
    /// The systems to compare.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<SystemSpec>,
    /// Systems with several values of a setting, as `[LABEL=]SYSTEM:KEY=LOW..HIGH/STEPS[/log]`, such
    /// as `extractive:ratio=0.05..0.8/6`: an arm for each value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<String>,
    /// The endpoint that answers for built-in systems; default: the baseline reader, which
    /// is not a language model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
    /// Measures proxies behind a tap, which stands between them and the provider: what they
    /// really send, how often and when.
    #[serde(skip_serializing_if = "is_default")]
    pub tap: TapSpec,
    /// Makes this a run of memories: systems are memories, and datasets hold conversations
    /// with questions about them. `{}` for the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySpec>,
    /// The datasets and tasks to measure them with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<BenchmarkSpec>,
    /// How models are asked about datasets: `official` (the default: with the prompt of the
    /// dataset's file, modelled on its authors') or `plain` (context and question alone; the
    /// default if a `layout` is given).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptStyle>,
    /// Where records come from and how many are used.
    #[serde(skip_serializing_if = "is_default")]
    pub data: DataSpec,
    /// How prompts are made.
    #[serde(skip_serializing_if = "is_default")]
    pub prompts: PromptSpec,
    /// How every endpoint is asked. A system can have the same keys for itself.
    #[serde(skip_serializing_if = "is_default")]
    pub requests: RequestSpec,
    /// How likelihoods are asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub likelihoods: LikelihoodSpec,
    /// How answers are scored and summed up.
    #[serde(skip_serializing_if = "is_default")]
    pub scoring: ScoringSpec,
    /// Limits on time, requests and failures.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: LimitSpec,
    /// Seeds for everything that is drawn at random.
    #[serde(skip_serializing_if = "is_default")]
    pub seeds: SeedSpec,
    /// Python functions and classes of tasks.
    #[serde(skip_serializing_if = "is_default")]
    pub python: PythonSpec,
    /// Where systems are asked: `ray` for a Ray cluster on this machine, `ray:ADDRESS` for one
    /// that runs already. The driver reads the data and writes the store. Default: in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Folder of the run store, which keeps answers and scores and reuses what is there; of
    /// shards also `s3://BUCKET/PREFIX`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_dir: Option<PathBuf>,
    /// What is written, and where.
    #[serde(skip_serializing_if = "is_default")]
    pub output: OutputSpec,
    /// The `--model` and `--model-args` of lm-evaluation-harness that a command line had,
    /// for result files.
    #[serde(skip_serializing_if = "is_default")]
    pub harness: HarnessSpec,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            version: SPEC_VERSION,
            systems: Vec::new(),
            sweeps: Vec::new(),
            relay: None,
            tap: TapSpec::default(),
            memory: None,
            benchmarks: Vec::new(),
            prompt: None,
            data: DataSpec::default(),
            prompts: PromptSpec::default(),
            requests: RequestSpec::default(),
            likelihoods: LikelihoodSpec::default(),
            scoring: ScoringSpec::default(),
            limits: LimitSpec::default(),
            seeds: SeedSpec::default(),
            python: PythonSpec::default(),
            engine: None,
            cache_dir: None,
            output: OutputSpec::default(),
            harness: HarnessSpec::default(),
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes a number without decimals as users would.
fn whole<S: serde::Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(n) if n.fract() == 0.0 && n.abs() < 1e15 => serializer.serialize_i64(*n as i64),
        other => other.serialize(serializer),
    }
}

/// Writes a type with the keys of requests at its end, so that they are described once.
macro_rules! with_requests {
    ($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($body)*
            /// The model to ask for; default `claude-haiku-4-5-20251001`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub model: Option<String>,
            /// The format in which the endpoint is asked: `openai` (the default; chat
            /// completions), `responses` (OpenAI's Responses) or `anthropic` (Anthropic's
            /// Messages). Judges are asked as `openai`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub api: Option<Api>,
            /// The variable that holds the API key; default `OPENAI_API_KEY`, or
            /// `ANTHROPIC_API_KEY` with `api: anthropic`. If you name one here, it must be set.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub api_key_env: Option<String>,
            /// System prompt that precedes every example.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub system_prompt: Option<String>,
            /// Where the context of an example with a question goes: `system` (the default;
            /// a system message), `user` (above the question, in one message) or `tool` (the
            /// result of a tool call).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub layout: Option<Layout>,
            /// The sampling temperature; default 0, or none if an endpoint refuses that.
            /// Tasks and official prompts have their own.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub temperature: Option<f64>,
            /// The maximum number of tokens of an answer; default: what the endpoint allows,
            /// or 4096 with `api: anthropic`, which demands a number.
            /// Tasks and official prompts have their own.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub max_tokens: Option<u64>,
            /// Headers of every request, such as `{x-kompact-disable: "true"}`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub headers: Option<IndexMap<String, String>>,
            /// Merged last into every request body, such as `{top_p: 0.9}`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub extra_body: Option<Map<String, Value>>,
            /// Seconds that one attempt may take; default 300.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub timeout: Option<f64>,
            /// Further attempts after a failed one (429, 5xx, broken connections,
            /// timeouts); default 3.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub max_retries: Option<u32>,
            /// Whether to stream replies, which records the time to the first token; default
            /// false.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub stream: Option<bool>,
        }

        impl $name {
            /// The keys of requests, with those of `general` where this has none.
            pub fn requests_over(&self, general: &RequestSpec) -> RequestSpec {
                RequestSpec {
                    model: self.model.clone().or_else(|| general.model.clone()),
                    api: self.api.or(general.api),
                    api_key_env: self.api_key_env.clone().or_else(|| general.api_key_env.clone()),
                    system_prompt: self
                        .system_prompt
                        .clone()
                        .or_else(|| general.system_prompt.clone()),
                    layout: self.layout.or(general.layout),
                    temperature: self.temperature.or(general.temperature),
                    max_tokens: self.max_tokens.or(general.max_tokens),
                    headers: self.headers.clone().or_else(|| general.headers.clone()),
                    extra_body: self.extra_body.clone().or_else(|| general.extra_body.clone()),
                    timeout: self.timeout.or(general.timeout),
                    max_retries: self.max_retries.or(general.max_retries),
                    stream: self.stream.or(general.stream),
                }
            }
        }
    };
}

with_requests! {
    /// One system: exactly one of `proxy`, `system`, `command` and `given`.
    pub struct SystemSpec {
        /// What reports call it; default: the host of the endpoint, the built-in system as
        /// written, the file name of the command.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// An endpoint, by its URL: OpenAI-compatible unless `api` says otherwise. With
        /// `tap.upstream` also a proxy that is started for the run, by the name or file of its
        /// profile (`context-bench ls proxies`).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub proxy: Option<String>,
        /// Further arguments for a proxy that is started for the run.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub args: Vec<String>,
        /// A built-in system, as `NAME[:key=value,...]`; `context-bench ls systems` lists them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub system: Option<String>,
        /// A program that answers JSON lines: one example in, one map with `response` out.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub command: Option<String>,
        /// The version of the command; change it when its answers may have changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub version: Option<String>,
        /// A system that the calling program provides, by its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub given: Option<String>,
    }
}

with_requests! {
    /// How endpoints are asked.
    pub struct RequestSpec {}
}

/// One benchmark: exactly one of `dataset`, `task` and `given`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BenchmarkSpec {
    /// A dataset as `NAME[:CONFIG][@SPLIT]`, `NAME=PATH` for a local copy of it, or a file
    /// of examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Tasks: names, groups, tags, patterns, files, `GROUP::TASK`, `NAME@FORMAT`; several
    /// with commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Examples that the calling program provides, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
}

/// A tap behind proxies: a recording reverse proxy that sees what they send to the provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TapSpec {
    /// The base URL of the provider. With it every `proxy` of the run is an arm whose calls are
    /// seen on both sides, beside an arm `direct` that asks the provider through the tap
    /// alone. Only the tap gets the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The arms to measure: `direct` (without a proxy, one for all of them), `passthrough` (a
    /// process of each proxy that is to change nothing) and `transform` (what the proxy is
    /// for). Default: all; of a proxy that already runs, `direct` and `transform`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<ArmSpec>,
    /// Where the tap listens, as `HOST:PORT`; default: `127.0.0.1:4711` if a proxy of the run
    /// already runs and must know the address, else a free port of loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// A file for everything that passes the tap, as JSON lines, without keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// Whether every `example` (the default) or every `arm` has a key of its own, which opens
    /// nothing and tells whose calls are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialScope>,
    /// One call at a time in each arm, so that calls are known by their time; for proxies that
    /// let nothing through by which they could be known. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<bool>,
    /// The share of calls that may be nobody's before figures of single rows are withheld;
    /// default 0.01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unattributed_limit: Option<f64>,
    /// Which encoding of answers the provider is asked for: `identity` (the default),
    /// `passthrough` (what the proxy asks for) or `gzip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<UpstreamEncoding>,
}

/// What memories may recall, and which questions they are asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemorySpec {
    /// The most turns that a memory recalls for a question, unless its own settings say
    /// otherwise; default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<usize>,
    /// The most tokens of memory that an answer may rest on; default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// The kinds of questions to ask, such as `[single_hop, temporal]`; `temporal*` stands
    /// for all that begin like it. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// The model that makes vectors for `embedding` and `hybrid`: a folder, or the name of a
    /// model on the hub. Default: n-grams of letters, which know no meanings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_model: Option<String>,
    /// Draws the conversations where `data.limit` leaves some out, and is sent with every
    /// request. Default: the first ones, and nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
}

/// Where records come from and how many are used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DataSpec {
    /// Files, or folders of files, with your own tasks and datasets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include_path: Vec<PathBuf>,
    /// Files with the records of splits, by the name of the split.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub files: IndexMap<String, PathBuf>,
    /// Local copies of datasets, by name (`mmlu`, or a task's `dataset_path`).
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub copies: IndexMap<String, PathBuf>,
    /// Keys of plain files that mean `question`, `answer`, `context` or another name that
    /// systems and evaluators know, as `{question: prompt, answer: expected}`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub map: IndexMap<String, String>,
    /// Use only the first records of each benchmark: so many, or below 1 that share.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "whole")]
    pub limit: Option<f64>,
    /// How often every system is asked about each example; default 1, or what a task says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// The part of the run that this process does, as `i/n` counted from 0, such as `3/8`:
    /// examples belong to a shard by their content, with all systems and repeats. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Leave out records that cannot be read, and count them; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_bad_lines: Option<bool>,
    /// Leave options in the order of the source; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_order: Option<bool>,
}

/// How prompts are made: those of tasks and, where it says so, those of datasets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptSpec {
    /// Examples in each prompt; tasks that say 0 keep 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_fewshot: Option<usize>,
    /// Ask in messages instead of one text; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply_chat_template: Option<bool>,
    /// Send each example as two messages; the default with messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewshot_as_multiturn: Option<bool>,
    /// Text in front of every prompt; a system message with messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<String>,
    /// Generation settings on top of those of tasks, such as `{temperature: 0.5}`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub generation: Map<String, Value>,
    /// The maximum number of tokens of an answer, if a task does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_gen_toks: Option<u64>,
    /// The maximum number of tokens of the message that an official prompt makes, as
    /// `scoring.tokenizer` counts them: the middle of longer ones is left out, half of the
    /// tokens stay at each end. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_prompt_tokens: Option<u64>,
    /// A text that ends every answer, besides the stops of its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eos: Option<String>,
    /// Put on top of the metadata of every task; Python functions of tasks see it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Put on top of the settings of every task.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub overrides: Map<String, Value>,
}

/// How likelihoods are asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LikelihoodSpec {
    /// Whether endpoints can give them; default: yes, unless an address is only for chats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Texts per request; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// The maximum number of tokens of a text, one of which is reserved for generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// The text to put before a text without a context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// How answers are scored and summed up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScoringSpec {
    /// Evaluators as `NAME[:key=value,...]`, instead of those of the datasets;
    /// `context-bench ls evaluators` lists them. Tasks keep their own metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluators: Option<Vec<String>>,
    /// The score from which means, pass rates and costs are computed; default: that of the
    /// benchmarks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_field: Option<String>,
    /// A row passes when its score is at or above this; default 0.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The name of the system that others are compared with; default: the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How much of the score may be lost beside the baseline and still count as not worse, in the
    /// unit of the score: 0.02 is two points. Without it, verdicts are about any difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The endpoint of a model that judges answers: the judge of a dataset that has its own,
    /// else one that adds `judge_score`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_url: Option<String>,
    /// The model of the judge; default `claude-haiku-4-5-20251001`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_model: Option<String>,
    /// What counts tokens: `cl100k_base` (the default), `o200k_base` or `whitespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Count the tokens of these fields only; default: every text field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text_fields: Vec<String>,
    /// Files of prices (`docs/reference/prices.md`), on top of the list prices that come with the
    /// program; of a model that several have, the last one decides. `builtin` stands for those list
    /// prices: they then hold also for a model that nobody named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PathBuf>,
    /// Metrics that the calling program provides, by name; default: those of reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Vec<String>>,
    /// Resamples for standard errors of tasks that are not analytic; default 100000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_iters: Option<usize>,
    /// Pool standard errors of means over tasks by size, as lm-evaluation-harness does;
    /// default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooled_stderr: Option<bool>,
    /// Allow tasks that run code written by a model; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm_run_unsafe_code: Option<bool>,
    /// Run generated code with only a time limit if no sandbox works; default false. It can
    /// then do whatever you can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_unsandboxed_code: Option<bool>,
    /// Rules that say when the run is not good enough, such as `f1 < baseline - 0.02`; the exit
    /// code is then 4 (`docs/reference/gates.md`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fail_if: Vec<String>,
    /// A file of such rules, one on each line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PathBuf>,
    /// A run of the store that `baseline` means in these rules: its system of the same name, or
    /// its only one. Default: the baseline system of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_run: Option<String>,
    /// The name of a system that runs a second time, as an arm of its own that shares no stored
    /// answers with it: what the two differ by is noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
}

/// Limits of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSpec {
    /// Calls in flight at the same time, over all systems: a number (default 1), or `auto`
    /// to find it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<Workers>,
    /// Maximum requests per second, over all endpoints, retries included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rps: Option<f64>,
    /// Maximum tokens per minute, over all endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpm: Option<f64>,
    /// How many shards run at the same time: each takes its part of `rps` and `tpm`, which are
    /// those of the whole run. Default: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards_at_once: Option<u32>,
    /// Seconds that one example may take, with all its retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example_timeout: Option<f64>,
    /// Seconds that the whole run may take; after that, what is in flight is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<f64>,
    /// Share of rows that may fail before the exit code is 3; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error_rate: Option<f64>,
    /// End the run as soon as the verdict about `scoring.margin` is there for every system;
    /// examples are then asked about in a random order. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_when_decided: Option<bool>,
}

/// Seeds for everything that is drawn at random.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SeedSpec {
    /// For the order of options if the source always puts the right one first; default 42.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<i64>,
    /// For the examples in the prompts of tasks; default 1234.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewshot: Option<i64>,
    /// Sent with every request of a task; default: none is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// For the order of examples with `limits.stop_when_decided`; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<i64>,
}

/// Python functions and classes of tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PythonSpec {
    /// The interpreter that runs them; default `python3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<PathBuf>,
    /// Whether tasks may use Python; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
}

/// What is written, and where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputSpec {
    /// The format of the result: `table`, `markdown`, `json`, `jsonl`, `csv`, `parquet`, `junit` or
    /// `html`. Default: what the ending of the file says, else `table`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The result in further formats; each but one needs a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<OutputTarget>,
    /// Whether rows of JSON, JSON lines, CSV and Parquet carry question, answer and response;
    /// default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<bool>,
    /// A file for the result, instead of standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// A folder for results in the schema of lm-evaluation-harness, or a `.json` file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_path: Option<PathBuf>,
    /// Also write what was asked and answered for each document; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_samples: Option<bool>,
}

/// A further format of the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputTarget {
    /// The format; default: what the ending of the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The file; default: standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// The `--model` and `--model-args` of lm-evaluation-harness that a command line had.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HarnessSpec {
    /// The backend, such as `local-completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub model_args: Map<String, Value>,
}
