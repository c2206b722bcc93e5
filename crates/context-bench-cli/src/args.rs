//! The command line as clap reads it. Defaults and decisions belong to the planner.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use context_bench::chat::Api;
use context_bench::plan::Workers;
use context_bench::system::Layout;

use crate::check_proxy_args::CheckProxyArgs;
use crate::compare_args::CompareArgs;
use crate::emit_args::EmitArgs;
use crate::gate_args::GateArgs;
use crate::list_args::{FetchArgs, ListFormat, LsArgs, ScoreArgs, ShowArgs, ValidateArgs};
use crate::memory_args::MemoryArgs;
use crate::price_args::PriceArgs;
use crate::shard_args::{MergeArgs, ShardArgs};
use crate::tap_args::TapArgs;
use crate::task_run_args::TaskRunArgs;
use crate::view_args::ViewArgs;

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
--max-error-rate), 4 a gate (--fail-if, --policy) or a check (`memory --check`,
`check-proxy`) failed, 75 not now (an endpoint cannot be reached, --max-time is
up; the same command may go on later), 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run systems over datasets and compare them (the default).
    Run(Box<RunCommand>),
    /// Measure memories: systems that take in a conversation and answer questions about it.
    Memory(Box<MemoryArgs>),
    /// Check what a proxy does beside its work, against a scripted provider: no key, no cost.
    CheckProxy(Box<CheckProxyArgs>),
    /// Run the built-in comparison; it needs no key and no network.
    Demo(DemoArgs),
    /// List datasets, systems, memories, evaluators, metrics, output formats, tasks, groups or tags.
    Ls(LsArgs),
    /// Show a dataset or task and the prompt for one of its examples; `show RUN ID` shows one
    /// example of a stored run, with the answers of all systems.
    Show(Box<ShowArgs>),
    /// Check task files without running them.
    Validate(ValidateArgs),
    /// Score responses to one document as a task would, without calling a system.
    Score(ScoreArgs),
    /// Print the requests that a run would send, byte for byte, without sending them.
    Render(Box<RenderArgs>),
    /// Download datasets into the cache, for offline use.
    Fetch(FetchArgs),
    /// Say how many examples a verdict about a margin takes, before they are paid for.
    Plan(PlanArgs),
    /// Score the stored answers of a run again, without calling a system.
    Rescore(Box<RescoreArgs>),
    /// List, show, query or remove stored runs.
    Runs(RunsArgs),
    /// Compare the systems of stored runs, example by example: is the difference real?
    Compare(CompareArgs),
    /// Write the results of a stored run in any format.
    Export(ExportArgs),
    /// Write a stored run as a page with charts and every answer: one HTML file.
    Report(ReportArgs),
    /// Look at stored runs in a browser, also while they go on: charts, rows, what flipped.
    View(ViewArgs),
    /// Join the parts of a run that was divided with --shard into one store.
    Merge(MergeArgs),
    /// Relay the calls of any client to a provider and keep what passed.
    Tap(TapArgs),
    /// Print a job for Slurm or Kubernetes that runs the shards of a run and merges them.
    Emit(EmitArgs),
    /// Print the JSON Schema of run files, for use in editors.
    Schema,
    /// Print a completion script for a shell.
    Completions {
        /// Shell to complete in.
        shell: Shell,
    },
}

/// `run`, with or without a run file.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunCommand {
    /// Run file (YAML or JSON) that describes the run; flags override it.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Flags of the tap behind proxies.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunTapArgs {
    /// Provider behind the proxies. A tap in front of it then sees what each --proxy really
    /// sends; an arm `direct` without a proxy is added. Only the tap gets the API key.
    #[arg(long, value_name = "URL", help_heading = "Tap")]
    pub(crate) upstream: Option<String>,
    /// Arms to measure: direct, passthrough, transform. Default: all; of a proxy that already
    /// runs, direct and transform.
    #[arg(
        long,
        value_name = "ARM,...",
        value_delimiter = ',',
        help_heading = "Tap"
    )]
    pub(crate) arms: Vec<String>,
    /// Where the tap listens; default: 127.0.0.1:4711 if a --proxy already runs.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Tap")]
    pub(crate) tap_listen: Option<String>,
    /// File for everything that passes the tap, as JSON lines, without keys.
    #[arg(long, value_name = "FILE", help_heading = "Tap")]
    pub(crate) tap_log: Option<PathBuf>,
    /// Whether every example (default) or every arm has a key of its own, which tells whose calls are.
    #[arg(long, value_name = "WHICH", value_parser = ["example", "arm"], help_heading = "Tap")]
    pub(crate) tap_credential: Option<String>,
    /// One call at a time in each arm, for proxies that drop everything by which calls are known.
    #[arg(long, help_heading = "Tap")]
    pub(crate) tap_exclusive: bool,
    /// Share of calls that may be nobody's before figures of rows are withheld; default 0.01.
    #[arg(long, value_name = "SHARE", help_heading = "Tap")]
    pub(crate) tap_unattributed: Option<f64>,
    /// Encoding that the provider is asked for: identity (default), passthrough or gzip.
    #[arg(long, value_name = "ENCODING", value_parser = ["identity", "passthrough", "gzip"], help_heading = "Tap")]
    pub(crate) tap_encoding: Option<String>,
}

/// Flags of a run.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// Endpoint to test, as [NAME=]URL[,key=value,...]; repeat to compare several. Keys: model,
    /// api, key-env, temperature, max-tokens, timeout, max-retries, stream, header, layout. With
    /// --upstream also a proxy to start, as [NAME=]PROXY[,key=value,...], with the further key
    /// args; `ls proxies` lists them.
    #[arg(long, value_name = "URL", help_heading = "Systems")]
    pub(crate) proxy: Vec<String>,
    /// Name of a --proxy or --command, in the order given: proxies first, then commands.
    /// Default: the host or the program's name.
    #[arg(long, value_name = "NAME", help_heading = "Systems")]
    pub(crate) name: Vec<String>,
    /// Runs a system with several values of a setting, as [LABEL=]SYSTEM:KEY=LOW..HIGH/STEPS[/log],
    /// such as extractive:ratio=0.05..0.8/6, or SYSTEM:max-tokens=64..1024/5/log for the name of a
    /// --proxy; repeatable.
    #[arg(long, value_name = "SWEEP", help_heading = "Systems")]
    pub(crate) sweep: Vec<String>,
    /// Runs this system a second time, to show the difference that pure noise makes.
    #[arg(long, value_name = "NAME", help_heading = "Systems")]
    pub(crate) control: Option<String>,
    /// Built-in system, as [LABEL=]NAME[:key=value,...]; `ls systems` lists them.
    #[arg(long, value_name = "SYSTEM", help_heading = "Systems")]
    pub(crate) system: Vec<String>,
    /// Program that reads one example per line (JSON) on stdin and answers each with one line:
    /// a JSON object with `response`.
    #[arg(long, value_name = "COMMAND", help_heading = "Systems")]
    pub(crate) command: Vec<String>,
    /// Endpoint that the built-in systems send their context to; default: the baseline reader.
    #[arg(long, value_name = "URL", help_heading = "Systems")]
    pub(crate) relay: Option<String>,

    #[command(flatten)]
    pub(crate) tap: RunTapArgs,

    /// Dataset as NAME[:CONFIG][@SPLIT], NAME=PATH to read a local copy, or a file of examples;
    /// repeatable.
    #[arg(long, value_name = "NAME_OR_PATH", help_heading = "Data")]
    pub(crate) dataset: Vec<String>,
    /// File or folder with your own tasks, datasets and proxies; repeatable.
    #[arg(
        long,
        visible_alias = "include_path",
        value_name = "PATH",
        help_heading = "Data"
    )]
    pub(crate) include_path: Vec<PathBuf>,
    /// Keys of your files that hold the known fields, such as question=prompt,answer=expected;
    /// repeatable.
    #[arg(long, value_name = "NAME=KEY,...", value_parser = field_keys, help_heading = "Data")]
    pub(crate) map: Vec<FieldKeys>,
    /// Use only the first N records of each dataset.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        help_heading = "Data",
        allow_negative_numbers = true
    )]
    pub(crate) max_examples: Option<usize>,
    /// Ask every system about each example N times and report pass_at_k.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Data", allow_negative_numbers = true)]
    pub(crate) repeats: Option<u64>,
    /// Skip records that cannot be read, and count them.
    #[arg(long, help_heading = "Data")]
    pub(crate) skip_bad_lines: bool,
    /// Seed that shuffles options where the source always lists the right one first (default:
    /// 42) and draws the worked examples of task prompts (default: 1234).
    #[arg(long, value_name = "N", value_parser = crate::task_args::seed, help_heading = "Data")]
    pub(crate) seed: Option<i64>,
    /// Keep options in the order of the source.
    #[arg(long, help_heading = "Data")]
    pub(crate) keep_order: bool,

    /// Tasks to run, beside or instead of datasets.
    #[command(flatten)]
    pub(crate) task: TaskRunArgs,

    /// Name of the model; with --tasks also a backend such as local-completions, with
    /// --model-args. Default: claude-haiku-4-5-20251001.
    #[arg(short = 'M', long, value_name = "MODEL", help_heading = "Requests")]
    pub(crate) model: Option<String>,
    /// Format in which endpoints are asked: openai (chat completions; the default), responses
    /// (OpenAI's Responses) or anthropic (Anthropic's Messages). Judges are asked as openai.
    #[arg(long, value_name = "API", help_heading = "Requests")]
    pub(crate) api: Option<Api>,
    /// Environment variable that holds the API key; default: OPENAI_API_KEY, or
    /// ANTHROPIC_API_KEY with --api anthropic.
    #[arg(long, value_name = "VARIABLE", help_heading = "Requests")]
    pub(crate) api_key_env: Option<String>,
    /// System prompt sent before every example.
    #[arg(long, value_name = "TEXT", help_heading = "Requests")]
    pub(crate) system_prompt: Option<String>,
    /// Sampling temperature; default: 0, or unset where the endpoint rejects that.
    #[arg(long, value_name = "NUMBER", value_parser = finite, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) temperature: Option<f64>,
    /// Maximum number of tokens in an answer; default: the endpoint's own limit, or 4096 with
    /// --api anthropic, which demands a number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u64>,
    /// Header to send with every request, as `NAME: VALUE`; repeatable.
    #[arg(long, value_name = "HEADER", help_heading = "Requests")]
    pub(crate) header: Vec<String>,
    /// Where the context goes: system (its own message before the question; the default), user
    /// (in the message of the question) or tool (as the result of a tool call).
    #[arg(long, value_name = "LAYOUT", help_heading = "Requests")]
    pub(crate) layout: Option<Layout>,
    /// JSON object merged into every request body, over everything else.
    #[arg(long, value_name = "JSON", help_heading = "Requests")]
    pub(crate) extra_body: Option<String>,
    /// Time limit of one attempt, in seconds; default: 300.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) timeout: Option<f64>,
    /// Retries after a failed attempt (429, 5xx, broken connection, timeout); default: 3.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Requests",
        allow_negative_numbers = true
    )]
    pub(crate) max_retries: Option<u32>,
    /// Stream replies and record the time to the first token.
    #[arg(long, help_heading = "Requests")]
    pub(crate) stream: bool,
    /// Calls in flight at the same time, over all systems: a number (default: 1), or `auto` to
    /// adapt to what the endpoint can take.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Requests",
        allow_negative_numbers = true
    )]
    pub(crate) max_workers: Option<Workers>,
    /// Maximum requests per second, over all endpoints and including retries.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) rps: Option<f64>,
    /// Maximum tokens per minute, over all endpoints.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) tpm: Option<f64>,
    /// Time limit of one example including its retries, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) example_timeout: Option<f64>,
    /// Time limit of the whole run, in seconds; calls in flight are still finished.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) max_time: Option<f64>,

    /// End the run as soon as the verdict about --margin is there for every system; examples are
    /// then asked about in a random order that --seed decides.
    #[arg(long, help_heading = "Requests")]
    pub(crate) stop_when_decided: bool,

    /// Folder of the run store, which keeps responses and scores and reuses them in later runs
    /// [env: CONTEXT_BENCH_CACHE_DIR]; of shards also s3://BUCKET/PREFIX.
    // The variable is not read by clap, because a run file takes precedence over it.
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
    /// Ask systems on a Ray cluster: `ray` for one on this machine, or `ray:ADDRESS`. The program of
    /// the Python package does it; this process reads the data and writes the store.
    #[arg(long, value_name = "ENGINE", help_heading = "Shards")]
    pub(crate) engine: Option<String>,
    /// Version of the --command programs; change it whenever their answers may differ.
    #[arg(long, value_name = "TEXT", help_heading = "Store")]
    pub(crate) system_version: Option<String>,

    /// Evaluator as NAME[:key=value,...], in place of the automatic choice; repeatable.
    #[arg(long, value_name = "NAME", help_heading = "Scoring")]
    pub(crate) evaluator: Vec<String>,
    /// Where no sandbox works, run generated code with only a time limit. It can then do
    /// anything that you can.
    #[arg(long, help_heading = "Scoring")]
    pub(crate) allow_unsandboxed_code: bool,
    /// Score used for means, pass rates and costs; default: the main score of the datasets.
    #[arg(long, value_name = "FIELD", help_heading = "Scoring")]
    pub(crate) score_field: Option<String>,
    /// Lowest score at which a row passes; default: 0.7.
    #[arg(long, value_name = "NUMBER", value_parser = finite, help_heading = "Scoring", allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,
    /// System that the others are compared with; default: the first one.
    #[arg(long, value_name = "NAME", help_heading = "Scoring")]
    pub(crate) baseline: Option<String>,
    /// How much of the score a system may lose beside the baseline and still count as not worse:
    /// 0.02 is two points. Without it, verdicts are about any difference.
    #[arg(long, value_name = "NUMBER", value_parser = finite, help_heading = "Scoring", allow_negative_numbers = true)]
    pub(crate) margin: Option<f64>,
    /// Endpoint of a model that judges answers, by the dataset's own judge prompt where it has
    /// one; otherwise it adds `judge_score`, in memory runs `memory_judge`.
    #[arg(long, value_name = "URL", help_heading = "Scoring")]
    pub(crate) judge_url: Option<String>,
    /// Model of the judge; default: claude-haiku-4-5-20251001.
    #[arg(long, value_name = "MODEL", help_heading = "Scoring")]
    pub(crate) judge_model: Option<String>,
    /// Tokenizer: cl100k_base (the default), o200k_base or whitespace.
    #[arg(long, value_name = "NAME", help_heading = "Scoring")]
    pub(crate) tokenizer: Option<String>,
    /// Count tokens in this field only; repeatable. Default: every text field.
    #[arg(long, value_name = "FIELD", help_heading = "Scoring")]
    pub(crate) text_field: Vec<String>,

    /// What models cost.
    #[command(flatten)]
    pub(crate) prices: PriceArgs,

    /// Rules that say when the run is not good enough.
    #[command(flatten)]
    pub(crate) gates: GateArgs,

    /// Format of the results: table (the default), markdown, json, jsonl, csv, parquet, junit or
    /// html, a page with charts and rows; repeatable, each further one with an --output-file.
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) output: Vec<String>,
    /// Write the results to a file instead of stdout; repeatable. Without --output, the ending of
    /// the file says the format.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) output_file: Vec<PathBuf>,
    /// Leave questions, answers and responses out of json, jsonl, csv and parquet.
    #[arg(long, help_heading = "Output")]
    pub(crate) no_text: bool,
    /// Share of rows that may fail before the exit code becomes 3; default: 0.
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Output", allow_negative_numbers = true)]
    pub(crate) max_error_rate: Option<f64>,
    /// Print this command line as a run file and exit.
    #[arg(long, help_heading = "Output")]
    pub(crate) print_config: bool,
    /// Show what would be asked and what is already stored, without asking.
    #[arg(long, help_heading = "Output", conflicts_with = "print_config")]
    pub(crate) dry_run: bool,
    /// Do not show progress.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Flags of the demo.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Use only the first N questions.
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_examples: Option<usize>,
    /// Endpoint that answers instead of the baseline reader.
    #[arg(long, value_name = "URL")]
    pub(crate) relay: Option<String>,
    /// Model to ask for at that endpoint.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Format of the results: table (the default), markdown, json, jsonl, csv, parquet, junit or
    /// html; repeatable.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output: Vec<String>,
    /// Write the results to a file instead of stdout; repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) output_file: Vec<PathBuf>,
    /// Also write a page with charts and every answer: one HTML file.
    #[arg(long, value_name = "PATH")]
    pub(crate) page: Option<PathBuf>,
    /// Do not show progress.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Flags of `plan`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    /// How much of the score may be lost: 0.02 is two points.
    #[arg(long, value_name = "NUMBER", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) margin: f64,
    /// Share of examples on which the two systems differ (one right, the other wrong).
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    pub(crate) discordance: Option<f64>,
    /// Standard deviation of the paired differences, for scores that are not right or wrong.
    #[arg(long, value_name = "NUMBER", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) deviation: Option<f64>,
    /// Stored pilot run to take that from, per system and dataset: its id, the first characters
    /// of it, or `last`.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Difference that is expected, system minus baseline.
    #[arg(long, value_name = "NUMBER", value_parser = finite, default_value = "0", allow_negative_numbers = true)]
    pub(crate) expected: f64,
    /// Probability with which the run is to decide.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.8", allow_negative_numbers = true)]
    pub(crate) power: f64,
    /// Folder of the run store.
    #[arg(long, value_name = "DIR", env = "CONTEXT_BENCH_CACHE_DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Format: table or json.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: ListFormat,
}

/// Flags of `rescore`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RescoreArgs {
    /// The run: its id, the first characters of it, or `last`.
    pub(crate) run_id: String,
    /// The flags of a run, except those that name systems and datasets.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Flags of `render`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RenderArgs {
    /// Run file (YAML or JSON); flags override it.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Render only the example with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The flags of a run, which decide what is sent; `--output` is text (the default) or jsonl.
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
    // Global arguments need ids that differ from those of `run`.
    /// Folder of the run store.
    #[arg(
        id = "runs_cache_dir",
        long = "cache-dir",
        value_name = "DIR",
        env = "CONTEXT_BENCH_CACHE_DIR",
        global = true
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Format of the listing.
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
    /// Show the command, systems, evaluators and settings of a run.
    Show {
        /// The run: its id, the first characters of it, or `last`.
        run_id: String,
    },
    /// Run an SQL query; the view `answers` has one row per answer, `run_scores` one per score.
    Sql {
        /// The query, such as "SELECT system, response FROM answers WHERE example_id = 'q1'".
        query: String,
    },
    /// Remove a run and the responses that no other run uses.
    #[command(alias = "rm")]
    Remove {
        /// The run: its id, the first characters of it, or `last`.
        run_id: String,
    },
}

/// Flags of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    /// The run: its id, the first characters of it, or `last`.
    pub(crate) run_id: String,
    /// Folder of the run store.
    #[arg(long, value_name = "DIR", env = "CONTEXT_BENCH_CACHE_DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Format: table, markdown, json (the default), jsonl, csv, parquet, junit, html, or swebench for
    /// the predictions file of SWE-bench's harness; repeatable, each further one with an
    /// --output-file.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output: Vec<String>,
    /// Write to this file instead of stdout; repeatable. Without --output, the ending of the file
    /// says the format.
    #[arg(long, value_name = "PATH")]
    pub(crate) output_file: Vec<PathBuf>,
    /// Leave questions, answers and responses out.
    #[arg(long)]
    pub(crate) no_text: bool,
    /// Prices, instead of those that the run had.
    #[command(flatten)]
    pub(crate) prices: PriceArgs,
    /// Rules to check the run by, instead of those that it had.
    #[command(flatten)]
    pub(crate) gates: GateArgs,
}

/// Flags of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// The run: its id, the first characters of it, or `last`. Of several runs, which may be of other
    /// stores as DIR or DIR/RUN, one page shows all systems, paired where examples are the same.
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) runs: Vec<String>,
    /// Folder of the run store.
    #[arg(long, value_name = "DIR", env = "CONTEXT_BENCH_CACHE_DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// The file to write.
    #[arg(short, long, value_name = "PATH", default_value = "report.html")]
    pub(crate) output_file: PathBuf,
    /// Leave questions, answers and contexts out.
    #[arg(long)]
    pub(crate) no_text: bool,
    /// Prices, instead of those that the runs had.
    #[command(flatten)]
    pub(crate) prices: PriceArgs,
}

fn number(text: &str, fits: fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if fits(value) => Ok(value),
        _ => Err(format!("expected {expected}")),
    }
}

/// Known fields of an example, each with the key that holds it in a file.
pub(crate) type FieldKeys = Vec<(String, String)>;

fn field_keys(text: &str) -> Result<FieldKeys, String> {
    let pair = |part: &str| match part.split_once('=') {
        Some((name, key)) if !name.trim().is_empty() && !key.trim().is_empty() => {
            Ok((name.trim().to_owned(), key.trim().to_owned()))
        }
        _ => Err("expected NAME=KEY, such as question=prompt".to_owned()),
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

pub(crate) fn finite(text: &str) -> Result<f64, String> {
    number(text, f64::is_finite, "a number")
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
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
