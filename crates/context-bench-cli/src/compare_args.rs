//! `compare` on the command line.

use std::path::PathBuf;

use clap::Args;

use crate::args::finite;
use crate::gate_args::RuleArgs;
use crate::price_args::PriceArgs;

/// `compare`: stored runs beside each other.
#[derive(Debug, Clone, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// The run that others are compared with: its id, the first characters of it, `last`, or
    /// DIR/RUN for one of another store.
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The runs that are compared with it; without any, the systems of BASE are compared with each
    /// other.
    #[arg(value_name = "NEW")]
    pub(crate) new: Vec<String>,
    /// Folder of the run store.
    #[arg(long, value_name = "DIR", env = "CONTEXT_BENCH_CACHE_DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Compare only this system; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) system: Vec<String>,
    /// System of BASE that all others are compared with; default: the one of the same name, or the
    /// only one.
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// How much of the score a system may lose and still count as not worse; 0.02 is two points.
    #[arg(long, value_name = "NUMBER", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) margin: Option<f64>,
    /// Score that verdicts are about; default: that of BASE.
    #[arg(long, value_name = "FIELD")]
    pub(crate) score_field: Option<String>,
    /// Resamples for intervals and tests.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = resamples)]
    pub(crate) resamples: usize,
    /// Flips to list for each system and direction, with both answers.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) flips: usize,
    #[command(flatten)]
    pub(crate) prices: PriceArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Format: table, markdown or json.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: CompareFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "PATH")]
    pub(crate) output_file: Option<PathBuf>,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  context-bench compare 20261117-1200 last --cache-dir runs --margin 0.02
  context-bench compare old-runs/last new-runs/last --system kompact --flips 20
  context-bench compare last --cache-dir runs --baseline direct --output markdown
  context-bench compare main-runs/last runs/last --fail-if \"upper(f1 - baseline) < -0.02\"

Examples are matched by their content, not by position or id; what only one run has is counted.
In rules `baseline` is the system of BASE; a rule that holds is exit code 4.";

/// How many resamples: enough to say anything, and no more than a machine has memory for.
fn resamples(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 100..=10_000_000) => Ok(n),
        _ => Err("a whole number between 100 and 10000000 is needed".to_owned()),
    }
}

/// How a comparison is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompareFormat {
    /// Text for reading.
    Table,
    /// Markdown, for pull requests.
    Markdown,
    /// JSON for programs.
    Json,
}
