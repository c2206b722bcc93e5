//! Arguments as typed. Decisions are made by the planner, not here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use context_bench::plan::Workers;
use context_bench::system::Layout;

use crate::list_args::{FetchArgs, ListFormat, LsArgs, ScoreArgs, ShowArgs, ValidateArgs};
use crate::task_run_args::TaskRunArgs;

/// Measure what a context layer costs and what it loses.
#[derive(Debug, Parser)]
#[command(
    name = "context-bench",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  context-bench demo
  context-bench --proxy http://localhost:7878 --dataset questions.jsonl
  context-bench --system passthrough --system extractive:ratio=0.3 \\
                --relay http://localhost:8000 --dataset questions.jsonl --max-workers 16
  context-bench run bench.yaml --max-workers 16
  context-bench --tasks mmlu --model local-completions \\
                --model-args base_url=http://localhost:8000/v1/completions,model=NAME

Exit codes: 0 done, 1 bug, 2 bad input or configuration, 3 rows failed (above
--max-error-rate), 4 threshold missed (reserved), 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run systems over datasets and compare them (the default).
    Run(Box<RunCommand>),
    /// Run the built-in comparison: no key, no network.
    Demo(DemoArgs),
    /// List datasets, systems, evaluators, metrics, output formats, tasks, groups and tags.
    Ls(LsArgs),
    /// Show a dataset or a task, and what a system gets for one example; or, as `show RUN ID`,
    /// one example of a stored run in all its systems.
    Show(Box<ShowArgs>),
    /// Check tasks without running them.
    Validate(ValidateArgs),
    /// Score responses to one document by a task's own rule; no system is called.
    Score(ScoreArgs),
    /// Write the requests that a run would post, byte for byte; ask nobody.
    Render(Box<RenderArgs>),
    /// Fetch datasets into the cache, for use offline.
    Fetch(FetchArgs),
    /// Score the stored answers of a run again; no system is called.
    Rescore(Box<RescoreArgs>),
    /// List, show, query or remove stored runs.
    Runs(RunsArgs),
    /// Write a stored run in any format.
    Export(ExportArgs),
    /// Print the JSON Schema of run files, for editors.
    Schema,
    /// Print the completion script of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// `run`, with a file or without.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunCommand {
    /// Run file (YAML or JSON) that says what to run; flags are put on top of it.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Flags of a run.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// OpenAI-compatible endpoint to test, as [NAME=]URL[,key=value,...]; repeat to compare
    /// several. Keys: model, key-env, temperature, max-tokens, timeout, header.
    #[arg(long, value_name = "URL", help_heading = "Systems")]
    pub(crate) proxy: Vec<String>,
    /// Name of the i-th --proxy (then of the i-th --command); default: its host.
    #[arg(long, value_name = "NAME", help_heading = "Systems")]
    pub(crate) name: Vec<String>,
    /// Built-in system, as [LABEL=]NAME[:key=value,...]; `ls systems` lists them.
    #[arg(long, value_name = "SYSTEM", help_heading = "Systems")]
    pub(crate) system: Vec<String>,
    /// Program that answers JSON lines: one example in, one map with `response` out.
    #[arg(long, value_name = "COMMAND", help_heading = "Systems")]
    pub(crate) command: Vec<String>,
    /// Endpoint that answers for the built-in systems; default: the baseline reader.
    #[arg(long, value_name = "URL", help_heading = "Systems")]
    pub(crate) relay: Option<String>,

    /// Dataset as NAME[:CONFIG][@SPLIT], NAME=PATH for a local copy of it, or a file of examples; repeatable.
    #[arg(long, value_name = "NAME_OR_PATH", help_heading = "Data")]
    pub(crate) dataset: Vec<String>,
    /// File, or folder of files, of tasks and datasets of your own; repeatable.
    #[arg(
        long,
        visible_alias = "include_path",
        value_name = "PATH",
        help_heading = "Data"
    )]
    pub(crate) include_path: Vec<PathBuf>,
    /// Keys of plain files by the names that are known, as question=prompt,answer=expected; repeatable.
    #[arg(long, value_name = "NAME=KEY,...", value_parser = names, help_heading = "Data")]
    pub(crate) map: Vec<Names>,
    /// Use the first N records of each dataset only.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        help_heading = "Data",
        allow_negative_numbers = true
    )]
    pub(crate) max_examples: Option<usize>,
    /// Ask every system N times about each example, and report pass_at_k.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Data", allow_negative_numbers = true)]
    pub(crate) repeats: Option<u64>,
    /// Leave out records that cannot be read, and count them.
    #[arg(long, help_heading = "Data")]
    pub(crate) skip_bad_lines: bool,
    /// Decides the order of options where the source always puts the right one first.
    /// In tasks, which examples a prompt gets; default 42 and 1234.
    #[arg(long, value_name = "N", value_parser = crate::task_args::seed, help_heading = "Data")]
    pub(crate) seed: Option<i64>,
    /// Leave options in the order of the source.
    #[arg(long, help_heading = "Data")]
    pub(crate) keep_order: bool,

    /// Tasks to run, beside datasets or in place of them.
    #[command(flatten)]
    pub(crate) task: TaskRunArgs,

    /// Model to ask for; for tasks also local-completions and the like, with --model-args.
    /// Default: claude-haiku-4-5-20251001.
    #[arg(short = 'M', long, value_name = "MODEL", help_heading = "Requests")]
    pub(crate) model: Option<String>,
    /// Variable that holds the API key; default: OPENAI_API_KEY.
    #[arg(long, value_name = "VARIABLE", help_heading = "Requests")]
    pub(crate) api_key_env: Option<String>,
    /// System prompt that precedes every example.
    #[arg(long, value_name = "TEXT", help_heading = "Requests")]
    pub(crate) system_prompt: Option<String>,
    /// How freely answers vary; default: 0, or nothing where an endpoint refuses that.
    #[arg(long, value_name = "NUMBER", value_parser = finite, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) temperature: Option<f64>,
    /// Most tokens of an answer; default: what the endpoint allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u64>,
    /// Header of every request, as `NAME: VALUE`; repeatable.
    #[arg(long, value_name = "HEADER", help_heading = "Requests")]
    pub(crate) header: Vec<String>,
    /// Where the context goes: system (a message before the question; the default), user (above
    /// the question) or tool (the result of a tool call).
    #[arg(long, value_name = "LAYOUT", help_heading = "Requests")]
    pub(crate) layout: Option<Layout>,
    /// JSON object merged last into every request body.
    #[arg(long, value_name = "JSON", help_heading = "Requests")]
    pub(crate) extra_body: Option<String>,
    /// Seconds that one attempt may take; default: 300.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) timeout: Option<f64>,
    /// Further attempts after a failed one (429, 5xx, broken connections, timeouts); default: 3.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Requests",
        allow_negative_numbers = true
    )]
    pub(crate) max_retries: Option<u32>,
    /// Ask for streamed replies and record the time to the first token.
    #[arg(long, help_heading = "Requests")]
    pub(crate) stream: bool,
    /// Calls in flight at the same time, over all systems: a number (default: 1), or `auto` to find it.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Requests",
        allow_negative_numbers = true
    )]
    pub(crate) max_workers: Option<Workers>,
    /// Requests per second at most, over all endpoints, retries included.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) rps: Option<f64>,
    /// Tokens per minute at most, over all endpoints.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) tpm: Option<f64>,
    /// Seconds that one example may take, all retries included.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) example_timeout: Option<f64>,
    /// Seconds that the whole run may take; then what is in flight is finished.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) max_time: Option<f64>,

    /// Folder of the run store: keeps responses and scores, reuses what is there [env:
    /// CONTEXT_BENCH_CACHE_DIR].
    // Not by clap: a run file has the word before the variable.
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Version of the programs given by --command; change it when their answers may change.
    #[arg(long, value_name = "TEXT", help_heading = "Store")]
    pub(crate) system_version: Option<String>,

    /// Evaluator as NAME[:key=value,...], instead of the automatic choice; repeatable.
    #[arg(long, value_name = "NAME", help_heading = "Scoring")]
    pub(crate) evaluator: Vec<String>,
    /// Run generated code with a time limit only where no sandbox works. It can then do whatever you can.
    #[arg(long, help_heading = "Scoring")]
    pub(crate) allow_unsandboxed_code: bool,
    /// Score that means, pass rates and costs are computed from; default: that of the datasets.
    #[arg(long, value_name = "FIELD", help_heading = "Scoring")]
    pub(crate) score_field: Option<String>,
    /// A row passes when its score is at or above this; default: 0.7.
    #[arg(long, value_name = "NUMBER", value_parser = finite, help_heading = "Scoring", allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,
    /// System that prompt tokens of others are compared with; default: the first one.
    #[arg(long, value_name = "NAME", help_heading = "Scoring")]
    pub(crate) baseline: Option<String>,
    /// Endpoint of a model that judges answers; adds `judge_score`.
    #[arg(long, value_name = "URL", help_heading = "Scoring")]
    pub(crate) judge_url: Option<String>,
    /// Model of the judge; default: claude-haiku-4-5-20251001.
    #[arg(long, value_name = "MODEL", help_heading = "Scoring")]
    pub(crate) judge_model: Option<String>,
    /// Tokenizer: cl100k_base (the default), o200k_base or whitespace.
    #[arg(long, value_name = "NAME", help_heading = "Scoring")]
    pub(crate) tokenizer: Option<String>,
    /// Count the tokens of this field only; repeatable. Default: every text field.
    #[arg(long, value_name = "FIELD", help_heading = "Scoring")]
    pub(crate) text_field: Vec<String>,

    /// Format of the result: table (the default), markdown, json, jsonl or csv.
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Option<String>,
    /// Write the result to a file instead of stdout.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) output_file: Option<PathBuf>,
    /// Leave question, answer and response out of the rows of json, jsonl and csv.
    #[arg(long, help_heading = "Output")]
    pub(crate) no_text: bool,
    /// Share of rows that may fail before the exit code is 3; default: 0.
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Output", allow_negative_numbers = true)]
    pub(crate) max_error_rate: Option<f64>,
    /// Write the run file of this command line, and do nothing else.
    #[arg(long, help_heading = "Output")]
    pub(crate) print_config: bool,
    /// Show what would be done and what the store holds already; ask nobody.
    #[arg(long, help_heading = "Output", conflicts_with = "print_config")]
    pub(crate) dry_run: bool,
    /// Show no progress.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Flags of the demo.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Use the first N questions only.
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_examples: Option<usize>,
    /// Let this endpoint answer instead of the baseline reader.
    #[arg(long, value_name = "URL")]
    pub(crate) relay: Option<String>,
    /// Model to ask for at the relay.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Format of the result: table, markdown, json, jsonl or csv.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: String,
    /// Show no progress.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Flags of `rescore`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RescoreArgs {
    /// The run: its id, the beginning of it, or `last`.
    pub(crate) run_id: String,
    /// The flags of a run; those that name systems and datasets are not used.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Flags of `render`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RenderArgs {
    /// Run file (YAML or JSON); flags are put on top of it.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Only the example of this id.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The flags of a run, which decide what is sent; `--output` is text (the default) or
    /// jsonl.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Flags of `runs`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Where stored runs are, and how they are listed.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    // Ids of their own: global arguments must not meet those of `run`.
    /// Folder of the run store.
    #[arg(
        id = "runs_cache_dir",
        long = "cache-dir",
        value_name = "DIR",
        env = "CONTEXT_BENCH_CACHE_DIR",
        global = true
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    /// How to list them.
    #[arg(
        id = "runs_output",
        long = "output",
        value_name = "FORMAT",
        default_value = "table",
        global = true
    )]
    pub(crate) output: ListFormat,
}

/// What to do with stored runs.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum RunsCommand {
    /// List all runs (the default).
    #[command(alias = "ls")]
    List,
    /// Show one run: its command, systems, evaluators and settings.
    Show {
        /// The run: its id, the beginning of it, or `last`.
        run_id: String,
    },
    /// Answer a query in SQL; the view `answers` has one row per answer, `run_scores` per score.
    Sql {
        /// The query, such as "SELECT system, response FROM answers WHERE example_id = 'q1'".
        query: String,
    },
    /// Remove a run, and the responses that no other run refers to.
    #[command(alias = "rm")]
    Remove {
        /// The run: its id, the beginning of it, or `last`.
        run_id: String,
    },
}

/// Flags of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// The run: its id, the beginning of it, or `last`.
    pub(crate) run_id: String,
    /// Folder of the run store.
    #[arg(long, value_name = "DIR", env = "CONTEXT_BENCH_CACHE_DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Format: table, markdown, json, jsonl or csv; swebench for the predictions that
    /// SWE-bench's harness takes.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub(crate) output: String,
    /// Write to a file instead of stdout.
    #[arg(long, value_name = "PATH")]
    pub(crate) output_file: Option<PathBuf>,
    /// Leave question, answer and response out of the rows.
    #[arg(long)]
    pub(crate) no_text: bool,
}

fn number(text: &str, fits: fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if fits(value) => Ok(value),
        _ => Err(format!("expected {expected}")),
    }
}

/// Names with the keys that mean them.
pub(crate) type Names = Vec<(String, String)>;

fn names(text: &str) -> Result<Names, String> {
    let pair = |part: &str| match part.split_once('=') {
        Some((name, key)) if !name.trim().is_empty() && !key.trim().is_empty() => {
            Ok((name.trim().to_owned(), key.trim().to_owned()))
        }
        _ => Err("expected a name, `=` and a key of the file, such as question=prompt".to_owned()),
    };
    text.split(',').map(pair).collect()
}

fn positive(text: &str) -> Result<f64, String> {
    number(
        text,
        |value| value > 0.0 && value.is_finite(),
        "a number above 0",
    )
}

fn finite(text: &str) -> Result<f64, String> {
    number(text, f64::is_finite, "a number")
}

fn seconds(text: &str) -> Result<f64, String> {
    number(
        text,
        |value| value > 0.0 && value <= 1e6,
        "a number of seconds above 0",
    )
}

fn share(text: &str) -> Result<f64, String> {
    number(
        text,
        |value| (0.0..=1.0).contains(&value),
        "a share between 0 and 1",
    )
}
