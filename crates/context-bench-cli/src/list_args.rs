//! Arguments of the commands around tasks and datasets: `ls`, `show`, `validate`, `score`, `fetch`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::task_args::{PromptArgs, PythonArgs};

/// Flags of `ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LsArgs {
    /// What to list; default: everything.
    pub(crate) kind: Option<Kind>,
    /// Format of the listing.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: ListFormat,
    /// List only tasks, groups and tags whose name matches this shell pattern.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) pattern: Option<String>,
    /// File or folder with your own tasks and datasets; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
}

/// Flags of `validate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ValidateArgs {
    /// Tasks, groups, tags, patterns or files to check.
    pub(crate) names: Vec<String>,
    /// The same as a flag: comma-separated or repeated.
    #[arg(short = 't', long, value_name = "NAMES")]
    pub(crate) tasks: Vec<String>,
    /// File or folder with your own tasks and datasets; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}

/// Flags of `score`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScoreArgs {
    /// Task as NAME[@FORMAT] or GROUP::TASK, or a dataset as NAME[:CONFIG].
    #[arg(short = 't', long, value_name = "NAME")]
    pub(crate) task: String,
    /// File with the document: one record of the task's dataset, as a JSON object.
    #[arg(long, value_name = "FILE")]
    pub(crate) doc: PathBuf,
    /// Response of a model; repeat it for tasks that ask several times.
    #[arg(long, value_name = "TEXT", required = true, allow_hyphen_values = true)]
    pub(crate) response: Vec<String>,
    /// File or folder with your own tasks and datasets; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}

/// Flags of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Dataset as NAME[:CONFIG][@SPLIT][=PATH], task as NAME[@FORMAT] or GROUP::TASK, or proxy;
    /// before an ID, a stored run: its id, the first characters of it, or `last`.
    #[arg(value_name = "NAME|RUN")]
    pub(crate) name: String,
    /// Id of an example of that run; shows what each system was sent and answered, and its scores.
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    pub(crate) id: Option<String>,
    /// Folder of the run store [env: CONTEXT_BENCH_CACHE_DIR].
    #[arg(long, value_name = "DIR", requires = "id")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Do not shorten long texts of that example.
    #[arg(long, requires = "id")]
    pub(crate) full: bool,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: ListFormat,
    /// File or folder with your own tasks and datasets; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    /// Seed that shuffles options where the source always lists the right one first.
    #[arg(long, value_name = "N", default_value_t = context_bench::dataset::catalog::OPTION_SEED)]
    pub(crate) seed: u64,
    /// Keep options in the order of the source.
    #[arg(long)]
    pub(crate) keep_order: bool,
    /// How the prompt of a task is made.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
}

/// Flags of `fetch`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FetchArgs {
    /// Datasets to download, as NAME[:CONFIG][@SPLIT].
    #[arg(required_unless_present = "all")]
    pub(crate) names: Vec<String>,
    /// Download every dataset of the catalog, in its default config.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// File or folder with your own tasks and datasets; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    /// Do not show progress.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Datasets.
    Datasets,
    /// Systems.
    Systems,
    /// Memories.
    Memories,
    /// Proxies that `--proxy NAME` starts.
    Proxies,
    /// Evaluators.
    Evaluators,
    /// Metrics.
    Metrics,
    /// Output formats.
    Outputs,
    /// Everything that `--tasks` accepts: groups, tags and tasks.
    Tasks,
    /// Groups of tasks.
    Groups,
    /// Tags of tasks.
    Tags,
    /// Tasks alone.
    Subtasks,
}

impl Kind {
    /// What plain `ls` lists. Tasks are left out: there are thousands.
    pub(crate) const ALL: [Self; 7] = [
        Self::Datasets,
        Self::Systems,
        Self::Memories,
        Self::Proxies,
        Self::Evaluators,
        Self::Metrics,
        Self::Outputs,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Datasets => "datasets",
            Self::Systems => "systems",
            Self::Memories => "memories",
            Self::Proxies => "proxies",
            Self::Evaluators => "evaluators",
            Self::Metrics => "metrics",
            Self::Outputs => "outputs",
            Self::Tasks => "tasks",
            Self::Groups => "groups",
            Self::Tags => "tags",
            Self::Subtasks => "subtasks",
        }
    }
}

/// Format of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Text for reading.
    Table,
    /// JSON for programs.
    Json,
}
