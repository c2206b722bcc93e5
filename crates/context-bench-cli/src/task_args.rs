//! Flags about tasks, shared by `run`, `render` and `show`.

use std::path::PathBuf;

use clap::Args;
use context_bench::plan::PromptStyle;
use context_bench::task::tasks::options::{Limit, SEED};

/// Which tasks, and how their prompts are made.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TaskArgs {
    /// Tasks by name, group, tag, pattern or file, also as GROUP::TASK or NAME@FORMAT;
    /// comma-separated or repeated.
    #[arg(short = 't', long, value_name = "NAMES", help_heading = "Tasks")]
    pub(crate) tasks: Vec<String>,
    /// Use only the first N documents of each task; a number below 1 is a share of them.
    #[arg(short = 'L', long, value_name = "N", value_parser = limit, help_heading = "Tasks")]
    pub(crate) limit: Option<Limit>,
    /// How prompts are made.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
}

/// How prompts are made.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PromptArgs {
    /// Prompt of datasets: official (as their authors ask; the default) or plain (only context and
    /// question; the default with --layout).
    #[arg(long = "prompt", value_name = "PROMPT", help_heading = "Requests")]
    pub(crate) style: Option<PromptStyle>,
    /// Maximum number of tokens in an official prompt; the middle of longer ones is cut out.
    /// Default: no limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Requests", allow_negative_numbers = true)]
    pub(crate) max_prompt_tokens: Option<u64>,
    /// Number of worked examples in each prompt; tasks that set 0 keep 0.
    #[arg(
        short = 'f',
        long,
        visible_alias = "num_fewshot",
        value_name = "N",
        help_heading = "Tasks"
    )]
    pub(crate) num_fewshot: Option<usize>,
    /// Read the records of a split from a file, as SPLIT=FILE; repeatable.
    #[arg(long, value_name = "SPLIT=FILE", value_parser = pair, help_heading = "Tasks")]
    pub(crate) data: Vec<(String, PathBuf)>,
    /// Read a dataset from a local copy, as NAME=PATH, where NAME is a dataset such as `mmlu` or
    /// a task's `dataset_path`; repeatable.
    #[arg(
        long,
        visible_alias = "data_from",
        value_name = "NAME=PATH",
        value_parser = pair,
        help_heading = "Tasks"
    )]
    pub(crate) data_from: Vec<(String, PathBuf)>,
    /// Send prompts as chat messages instead of one text.
    #[arg(
        long,
        visible_alias = "apply_chat_template",
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        help_heading = "Tasks"
    )]
    pub(crate) apply_chat_template: Option<String>,
    /// Send each worked example as two messages of its own; the default with chat messages.
    #[arg(
        long,
        visible_alias = "fewshot_as_multiturn",
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        help_heading = "Tasks"
    )]
    pub(crate) fewshot_as_multiturn: Option<bool>,
    /// Text before every prompt; with chat messages, the system message.
    #[arg(
        long,
        visible_alias = "system_instruction",
        value_name = "TEXT",
        help_heading = "Tasks"
    )]
    pub(crate) system_instruction: Option<String>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}

/// Whether the Python code of tasks may run, and with which interpreter.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PythonArgs {
    /// Interpreter that runs the Python functions of tasks [env: CONTEXT_BENCH_PYTHON]; default:
    /// python3.
    // The variable is not read by clap, because a run file takes precedence over it.
    #[arg(long = "python", value_name = "PATH", help_heading = "Tasks")]
    pub(crate) interpreter: Option<PathBuf>,
    /// Do not load Python code: tasks that need it are refused, and `validate` leaves it unchecked.
    #[arg(long, visible_alias = "no_python", help_heading = "Tasks")]
    pub(crate) no_python: bool,
}

/// Reads `--seed`: one number for everything, or three or four as in lm-evaluation-harness,
/// whose fourth number draws the worked examples.
pub(crate) fn seed(text: &str) -> Result<i64, String> {
    let wrong = || "expected a whole number, or four of them separated by commas".to_owned();
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let number = |part: &str| part.parse::<i64>().map_err(|_| wrong());
    match parts[..] {
        [one] => number(one),
        [_, _, _] => Ok(SEED),
        [_, _, _, fewshot] => number(fewshot),
        _ => Err(wrong()),
    }
}

fn limit(text: &str) -> Result<Limit, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "expected a number of documents, or a share below 1".to_owned())?;
    Limit::new(number).map_err(|error| error.message().to_owned())
}

fn pair(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), path.into()))
        }
        _ => Err("expected a name, then `=`, then a path".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_one_number_or_the_fourth() {
        assert_eq!(seed("7"), Ok(7));
        assert_eq!(seed("0,1234,1234,99"), Ok(99));
        assert_eq!(seed("0,1,2"), Ok(SEED));
        assert!(seed("x").is_err() && seed("1,2").is_err() && seed("0,1,2,None").is_err());
    }
}
