//! How models are asked about datasets: as their authors ask, or plainly.
//!
//! The first example of every dataset is asked about on paper, so that a prompt that does
//! not fit shows before anything is sent.

use std::sync::Arc;

use super::{Notice, PlanError, Planner};
use crate::dataset::Dataset;
use crate::dataset::catalogue::{Config, LoadSettings, MissingShots};
use crate::model::Prompt;
use crate::plan::{PromptStyle, RunSpec};

/// How a run asks: as it says, else officially. Whoever says where the context is to stand
/// means the plain messages.
pub(super) fn style(spec: &RunSpec) -> PromptStyle {
    match spec.prompt {
        Some(style) => style,
        None if has_layout(spec) => PromptStyle::Plain,
        None => PromptStyle::Official,
    }
}

fn has_layout(spec: &RunSpec) -> bool {
    let own = spec.systems.iter().any(|system| system.layout.is_some());
    own || spec.requests.layout.is_some()
}

impl Planner<'_> {
    /// The prompt of a dataset of the catalogue in this run.
    pub(super) fn prompt(
        &mut self,
        tag: &str,
        config: &Config,
        settings: &LoadSettings,
    ) -> Result<Option<Arc<Prompt>>, PlanError> {
        let (prompt, notices) = dataset_prompt(self.spec, tag, config, settings)?;
        for notice in notices {
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
        Ok(prompt)
    }
}

/// The prompt that models are asked with about a dataset of the catalogue, and what users
/// should know about it. `None` where they are asked plainly.
///
/// # Errors
///
/// When its worked examples cannot be read.
pub fn dataset_prompt(
    spec: &RunSpec,
    tag: &str,
    config: &Config,
    settings: &LoadSettings,
) -> Result<(Option<Arc<Prompt>>, Vec<Notice>), PlanError> {
    let mut notices = Vec::new();
    if !config.has_prompt() {
        return Ok((None, notices));
    }
    let style = style(spec);
    if has_layout(spec) {
        match (style, spec.prompt) {
            (PromptStyle::Plain, None) => notices.push(
                Notice::new(
                    "`--layout` says where the context stands, so datasets are asked plainly and \
                     not as their authors ask",
                )
                .with_hint(
                    "`--prompt plain` says the same; leave out `--layout` for official prompts",
                ),
            ),
            (PromptStyle::Official, _) => notices.push(Notice::new(
                "`--layout` has no effect on datasets that are asked as their authors ask",
            )),
            (PromptStyle::Plain, Some(_)) => {}
        }
    }
    if style == PromptStyle::Plain {
        return Ok((None, notices));
    }
    let found = config.prompt(settings)?;
    let missing = found.as_ref().and_then(|found| found.missing.as_ref());
    notices.extend(missing.map(|missing| without_shots(tag, missing)));
    Ok((found.map(|found| found.prompt), notices))
}

fn without_shots(tag: &str, missing: &MissingShots) -> Notice {
    let MissingShots { count, split, path } = missing;
    Notice::new(format!(
        "`{tag}` is asked without the {count} worked examples of its prompt: there is no file of \
         split `{split}` in `{}`",
        path.display()
    ))
    .with_hint(format!(
        "put one there (`{split}.jsonl`, or as on the hub), or say `--prompt plain`"
    ))
}

/// The dataset with its prompt, which is tried with the first example.
pub(super) fn prompted(
    tag: &str,
    dataset: Dataset,
    prompt: Option<&Arc<Prompt>>,
) -> Result<Dataset, PlanError> {
    let Some(prompt) = prompt else {
        return Ok(dataset);
    };
    let (dataset, first) = dataset.peeked();
    if let Some(first) = first {
        prompt.render(&first).map_err(|error| {
            PlanError::new(format!("dataset `{tag}`: {error}"))
                .with_hint("mend `prompt` in the file of the dataset, or say `--prompt plain`")
        })?;
    }
    Ok(dataset.with_prompt(prompt))
}
