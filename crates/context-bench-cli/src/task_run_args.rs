//! Flags of a run that concern its tasks, in both spellings.

use std::path::PathBuf;

use clap::Args;

use crate::task_args::TaskArgs;

/// The tasks of a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TaskRunArgs {
    /// Which tasks, and how their prompts are made.
    #[command(flatten)]
    pub(crate) select: TaskArgs,
    /// Settings of generation over those of tasks, as KEY=VALUE,... or a JSON object.
    #[arg(
        long,
        visible_alias = "gen_kwargs",
        value_name = "SETTINGS",
        num_args = 1..,
        help_heading = "Tasks"
    )]
    pub(crate) gen_kwargs: Vec<String>,
    /// Arguments of a `--model` such as local-completions: base_url=URL,model=NAME,...
    #[arg(
        short = 'a',
        long,
        visible_alias = "model_args",
        value_name = "ARGUMENTS",
        num_args = 1..,
        help_heading = "Tasks"
    )]
    pub(crate) model_args: Vec<String>,
    /// Texts per request when likelihoods are asked for; `auto` is 1.
    #[arg(
        short = 'b',
        long,
        visible_alias = "batch_size",
        value_name = "N",
        value_parser = batch_size,
        help_heading = "Tasks"
    )]
    pub(crate) batch_size: Option<usize>,
    /// Folder for results in the schema of lm-evaluation-harness, or a `.json` file.
    #[arg(
        short = 'o',
        long,
        visible_alias = "output_path",
        value_name = "PATH",
        help_heading = "Tasks"
    )]
    pub(crate) output_path: Option<PathBuf>,
    /// Write what was asked and said about each document beside the results.
    #[arg(
        short = 's',
        long,
        visible_alias = "log_samples",
        help_heading = "Tasks"
    )]
    pub(crate) log_samples: bool,
    /// Allow tasks that run code which a model wrote.
    #[arg(
        long,
        visible_alias = "confirm_run_unsafe_code",
        help_heading = "Tasks"
    )]
    pub(crate) confirm_run_unsafe_code: bool,
    /// JSON object over the metadata of every task; Python functions of tasks see it.
    #[arg(long, value_name = "JSON", help_heading = "Tasks")]
    pub(crate) metadata: Option<String>,
    /// Resamples for standard errors that are not analytic; default: 100000.
    #[arg(
        long,
        visible_alias = "bootstrap_iters",
        value_name = "N",
        help_heading = "Tasks"
    )]
    pub(crate) bootstrap_iters: Option<usize>,
    /// Pool standard errors of means over tasks by size, as lm-evaluation-harness does.
    #[arg(long, visible_alias = "pooled_stderr", help_heading = "Tasks")]
    pub(crate) pooled_stderr: bool,
    /// Understood, without effect here: lm-evaluation-harness runs models itself.
    #[arg(long, hide = true, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Understood, without effect here: no code of datasets is run.
    #[arg(long, alias = "trust_remote_code", hide = true)]
    pub(crate) trust_remote_code: bool,
    /// Understood, without effect here.
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
