//! Flags of a run that concern its tasks, also in the spelling of lm-evaluation-harness.

use std::path::PathBuf;

use clap::Args;

use crate::task_args::TaskArgs;

/// The tasks of a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TaskRunArgs {
    /// Which tasks, and how their prompts are made.
    #[command(flatten)]
    pub(crate) select: TaskArgs,
    /// Generation settings that override those of the tasks, as KEY=VALUE,... or a JSON object.
    #[arg(
        long,
        visible_alias = "gen_kwargs",
        value_name = "SETTINGS",
        num_args = 1..,
        help_heading = "Tasks"
    )]
    pub(crate) gen_kwargs: Vec<String>,
    /// Arguments of a `--model` backend such as local-completions: base_url=URL,model=NAME,...
    #[arg(
        short = 'a',
        long,
        visible_alias = "model_args",
        value_name = "ARGUMENTS",
        num_args = 1..,
        help_heading = "Tasks"
    )]
    pub(crate) model_args: Vec<String>,
    /// Number of texts per likelihood request; `auto` means 1.
    #[arg(
        short = 'b',
        long,
        visible_alias = "batch_size",
        value_name = "N",
        value_parser = batch_size,
        help_heading = "Tasks"
    )]
    pub(crate) batch_size: Option<usize>,
    /// Folder or `.json` file for results in the schema of lm-evaluation-harness.
    #[arg(
        short = 'o',
        long,
        visible_alias = "output_path",
        value_name = "PATH",
        help_heading = "Tasks"
    )]
    pub(crate) output_path: Option<PathBuf>,
    /// Also write the prompt and response of each document beside those results.
    #[arg(
        short = 's',
        long,
        visible_alias = "log_samples",
        help_heading = "Tasks"
    )]
    pub(crate) log_samples: bool,
    /// Allow tasks that run code written by a model.
    #[arg(
        long,
        visible_alias = "confirm_run_unsafe_code",
        help_heading = "Tasks"
    )]
    pub(crate) confirm_run_unsafe_code: bool,
    /// JSON object merged into the metadata of every task, for its Python functions.
    #[arg(long, value_name = "JSON", help_heading = "Tasks")]
    pub(crate) metadata: Option<String>,
    /// Bootstrap resamples for standard errors without a formula; default: 100000.
    #[arg(
        long,
        visible_alias = "bootstrap_iters",
        value_name = "N",
        help_heading = "Tasks"
    )]
    pub(crate) bootstrap_iters: Option<usize>,
    /// Pool the standard errors of tasks by their size, as lm-evaluation-harness does.
    #[arg(long, visible_alias = "pooled_stderr", help_heading = "Tasks")]
    pub(crate) pooled_stderr: bool,
    /// Accepted without effect: lm-evaluation-harness runs models itself.
    #[arg(long, hide = true, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Accepted without effect: code of datasets is never run.
    #[arg(long, alias = "trust_remote_code", hide = true)]
    pub(crate) trust_remote_code: bool,
    /// Accepted without effect.
    #[arg(short = 'v', long, hide = true, value_name = "LEVEL")]
    pub(crate) verbosity: Option<String>,
}

fn batch_size(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        _ if text.starts_with("auto") => Ok(1),
        Ok(n) if n > 0 => Ok(n),
        _ => Err("expected a whole number above 0, or `auto`".into()),
    }
}
