//! Flags of `memory`: those of a run, and what memories may recall.

use std::path::PathBuf;

use clap::Args;
use context_bench::plan::{BenchmarkSpec, MemorySpec, RunSpec};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::spec_args;

/// The dataset that is used when none is named.
const DATASET: &str = "locomo";

const EXAMPLES: &str = "\
Examples:
  context-bench memory --system bm25 --system naive --dataset locomo=locomo10.json
  context-bench memory --system hybrid:top_k=20 --relay http://localhost:8000 \\
                       --dataset longmemeval --judge-url http://localhost:8000
  context-bench memory --command './my_memory.py' --check

`ls memories` lists the memories. A dataset is locomo, longmemeval, or a file whose records have
`turns` and `qa_pairs`.";

/// Flags of `memory`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("system", |arg| arg.help(
        "Memory, as [LABEL=]NAME[:key=value,...]; `ls memories` lists them; repeatable"
    )),
    mut_arg("command", |arg| arg.help(
        "Program that is a memory: it speaks the protocol of docs/reference/memory-protocol.md"
    )),
    mut_arg("relay", |arg| arg.help(
        "Endpoint for all model calls of memories; default: the baseline reader answers, which \
         is not a language model"
    )),
    mut_arg("dataset", |arg| arg.help(
        "Conversations: locomo (the default), longmemeval, NAME=PATH for a local copy, or a \
         file; repeatable"
    )),
    mut_arg("max_examples", |arg| arg.help(
        "Use only N conversations of each dataset: the first, or with --seed those that it draws"
    )),
    mut_arg("seed", |arg| arg.help(
        "Seed that draws the conversations of -n, and is sent with every request"
    )),
    // Endpoints and tasks are not for memories; their flags would bury the others.
    mut_args(|arg| match arg.get_help_heading() == Some("Tasks") || arg.get_id() == "proxy" {
        true => arg.hide(true),
        false => arg,
    }),
    mut_arg("interpreter", |arg| arg.hide(false).help_heading("Memories").help(
        "Interpreter with the Python package, for mem0 and zep [env: CONTEXT_BENCH_PYTHON]; \
         default: python3"
    )),
)]
pub(crate) struct MemoryArgs {
    /// Run file (YAML or JSON) with a section `memory`; flags override it.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Most turns that a memory recalls for a question; default: 10.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Memories",
        allow_negative_numbers = true
    )]
    pub(crate) top_k: Option<usize>,
    /// Most tokens of memory that an answer may rest on; default: no limit.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Memories",
        allow_negative_numbers = true
    )]
    pub(crate) budget_tokens: Option<u64>,
    /// Kinds of questions to ask, such as single_hop,temporal; `temporal*` for all that begin
    /// like it. Default: all.
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        help_heading = "Memories"
    )]
    pub(crate) qa_types: Vec<String>,
    /// Model that makes vectors for `embedding` and `hybrid`: a folder, or a name on the hub.
    /// Default: n-grams of letters, which know no meanings.
    #[arg(long, value_name = "MODEL", help_heading = "Memories")]
    pub(crate) embedding_model: Option<String>,
    /// Check that each memory forgets on reset, keeps what it was told last and never answers
    /// from another conversation, instead of measuring it; exit code 4 if one does not.
    #[arg(long, help_heading = "Memories")]
    pub(crate) check: bool,
    /// The flags of a run.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl MemoryArgs {
    /// What was asked: the run file, overridden by flags.
    pub(crate) fn spec(&self) -> Result<RunSpec, Failure> {
        let kinds = self.qa_types.iter().map(|kind| kind.trim().to_owned());
        let flags = RunSpec {
            memory: Some(MemorySpec {
                top_k: self.top_k,
                budget_tokens: self.budget_tokens,
                kinds: kinds.filter(|kind| !kind.is_empty()).collect(),
                embedding_model: self.embedding_model.clone(),
                seed: self.run.seed,
            }),
            ..spec_args::flags(&self.run)?
        };
        let mut spec = spec_args::over_file(flags, self.file.as_deref())?;
        if spec.benchmarks.is_empty() {
            spec.benchmarks.push(BenchmarkSpec {
                dataset: Some(DATASET.to_owned()),
                ..BenchmarkSpec::default()
            });
        }
        Ok(spec)
    }
}
