//! Arguments of the commands about what there is: `ls`, `show` and `fetch`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Flags of `ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LsArgs {
    /// What to list; default: everything.
    pub(crate) kind: Option<Kind>,
    /// How to list it.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: ListFormat,
    /// YAML file, or folder of them, that describes datasets of your own; repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
}

/// Flags of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArgs {
    /// Dataset as NAME[:CONFIG][@SPLIT][=PATH].
    pub(crate) name: String,
    /// How to show it.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: ListFormat,
    /// YAML file, or folder of them, that describes datasets of your own; repeatable.
    #[arg(long, value_name = "PATH")]
    pub(crate) include_path: Vec<PathBuf>,
    /// Decides the order of options where the source always puts the right one first.
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
    /// Leave options in the order of the source.
    #[arg(long)]
    pub(crate) keep_order: bool,
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
    /// YAML file, or folder of them, that describes datasets of your own; repeatable.
    #[arg(long, value_name = "PATH")]
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
}

impl Kind {
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
