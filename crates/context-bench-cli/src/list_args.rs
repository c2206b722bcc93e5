//! Arguments of the commands about what there is: `ls`, `show` and `fetch`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::task_args::{PromptArgs, PythonArgs};

/// Flags of `ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LsArgs {
    /// What to list; default: everything.
    pub(crate) kind: Option<Kind>,
    /// How to list it.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: ListFormat,
    /// Only names that a shell pattern matches, of tasks, groups and tags.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) pattern: Option<String>,
    /// File, or folder of files, of tasks and datasets of your own; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
}

/// Flags of `validate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ValidateArgs {
    /// Tasks, groups, tags, patterns or files.
    pub(crate) names: Vec<String>,
    /// The same as a flag; commas or repeat.
    #[arg(short = 't', long, value_name = "NAMES")]
    pub(crate) tasks: Vec<String>,
    /// File, or folder of files, of tasks and datasets of your own; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}

/// Flags of `score`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScoreArgs {
    /// Task as NAME[@FORMAT] or GROUP::TASK, or dataset as NAME[:CONFIG].
    #[arg(short = 't', long, value_name = "NAME")]
    pub(crate) task: String,
    /// File with the document: a JSON object, one record of the task's dataset.
    #[arg(long, value_name = "FILE")]
    pub(crate) doc: PathBuf,
    /// Response of a model; repeat it for tasks with several tries.
    #[arg(long, value_name = "TEXT", required = true, allow_hyphen_values = true)]
    pub(crate) response: Vec<String>,
    /// File, or folder of files, of tasks and datasets of your own; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}

/// Flags of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Dataset as NAME[:CONFIG][@SPLIT][=PATH], or task as NAME[@FORMAT] or GROUP::TASK; with an
    /// ID a stored run: its id, the beginning of it, or `last`.
    #[arg(value_name = "NAME|RUN")]
    pub(crate) name: String,
    /// Id of an example of that run: what each system was sent, what came back, its scores.
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    pub(crate) id: Option<String>,
    /// Folder of the run store [env: CONTEXT_BENCH_CACHE_DIR].
    #[arg(long, value_name = "DIR", requires = "id")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Show long texts of that example in whole.
    #[arg(long, requires = "id")]
    pub(crate) full: bool,
    /// How to show it.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: ListFormat,
    /// File, or folder of files, of tasks and datasets of your own; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    /// Decides the order of options where the source always puts the right one first.
    #[arg(long, value_name = "N", default_value_t = context_bench::dataset::catalogue::OPTION_SEED)]
    pub(crate) seed: u64,
    /// Leave options in the order of the source.
    #[arg(long)]
    pub(crate) keep_order: bool,
    /// How the prompt of a task is made.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
}

/// Flags of `fetch`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FetchArgs {
    /// Datasets as NAME[:CONFIG][@SPLIT].
    #[arg(required_unless_present = "all")]
    pub(crate) names: Vec<String>,
    /// Fetch every dataset of the catalogue, in its usual config.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// File, or folder of files, of tasks and datasets of your own; repeatable.
    #[arg(long, visible_alias = "include_path", value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    /// Show no progress.
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
    /// Evaluators.
    Evaluators,
    /// Metrics.
    Metrics,
    /// Output formats.
    Outputs,
    /// Everything that `--tasks` takes: groups, tags and tasks.
    Tasks,
    /// Groups of tasks.
    Groups,
    /// Tags of tasks.
    Tags,
    /// Tasks alone.
    Subtasks,
}

impl Kind {
    /// What is listed when nothing is asked for; tasks are too many.
    pub(crate) const ALL: [Self; 5] = [
        Self::Datasets,
        Self::Systems,
        Self::Evaluators,
        Self::Metrics,
        Self::Outputs,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Datasets => "datasets",
            Self::Systems => "systems",
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

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}
