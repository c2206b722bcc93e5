//! How models are asked about datasets: as their authors ask, or plainly.
//!
//! The first example of every dataset is asked about on paper, so that a prompt that does
//! not fit shows before anything is sent.

use std::sync::Arc;

use super::{Given, Notice, PlanError, Planner};
use crate::dataset::Dataset;
use crate::dataset::catalog::{Config, LoadSettings, MissingShots};
use crate::model::{Prompt, PromptError, PromptLimit, PromptParts, Shorten};
use crate::plan::{PlannedSystem, PromptStyle, RunPlan, RunSpec};
use crate::system::Layout;
use crate::system::transform::without_middle;
use crate::tokens::{TokenCounter, Tokenizer};

/// What a run says about how it asks, with what systems that a program brings along say.
pub(super) fn said(spec: &RunSpec, given: &Given) -> RunSpec {
    let mut said = RunSpec {
        prompt: spec.prompt,
        systems: spec.systems.clone(),
        requests: spec.requests.clone(),
        prompts: spec.prompts.clone(),
        ..RunSpec::default()
    };
    if given.systems.values().any(|system| system.has_layout) {
        said.requests.layout.get_or_insert(Layout::default());
    }
    said
}

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
    /// The prompt of a dataset of the catalog in this run.
    pub(super) fn prompt(
        &mut self,
        tag: &str,
        config: &Config,
        settings: &LoadSettings,
    ) -> Result<Option<Arc<Prompt>>, PlanError> {
        let spec = said(self.spec, &self.around.given);
        let (prompt, notices) = dataset_prompt(&spec, tag, config, settings)?;
        for notice in notices {
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
        let (Some(prompt), Some(tokens)) = (&prompt, spec.prompts.max_prompt_tokens) else {
            return Ok(prompt);
        };
        let counter = self.counter()?;
        let parts = PromptParts {
            limit: Some(PromptLimit {
                tokens,
                tokenizer: counter.name().to_owned(),
            }),
            ..prompt.parts().clone()
        };
        let limited = shortening(parts, counter);
        let limited = limited.map_err(|error| PlanError::new(error.to_string()))?;
        Ok(Some(Arc::new(limited)))
    }
}

/// A prompt that cuts what is longer than its parts say.
fn shortening(parts: PromptParts, counter: Arc<dyn TokenCounter>) -> Result<Prompt, PromptError> {
    let limit = parts.limit.as_ref().map_or(u64::MAX, |limit| limit.tokens);
    let shorten: Shorten = Arc::new(move |text| without_middle(text, limit, &*counter));
    Ok(Prompt::new(parts)?.with_shorten(shorten))
}

/// The prompt that a plan keeps, made again.
pub(super) fn prompt_of(parts: &PromptParts) -> Option<Arc<Prompt>> {
    let limit = parts.limit.as_ref();
    let known = limit.and_then(|limit| limit.tokenizer.parse::<Tokenizer>().ok());
    let prompt = match known {
        Some(tokenizer) => shortening(parts.clone(), tokenizer.counter()),
        None => Prompt::new(parts.clone()),
    };
    prompt.ok().map(Arc::new)
}

/// That nothing is cut, because no prompt is the run's to cut.
pub(super) fn unused_limit(plan: &RunPlan, spec: &RunSpec) -> Option<Notice> {
    let has_prompt = plan.benchmarks.iter().any(|one| one.prompt.is_some());
    let is_unused = spec.prompts.max_prompt_tokens.is_some() && !has_prompt;
    is_unused.then(|| {
        Notice::new("`--max-prompt-tokens` has no effect: no dataset has an official prompt here")
            .with_hint("`--system truncate:keep=middle,tokens=N` shortens contexts")
    })
}

/// That some systems are asked as authors ask and others, which get the fields of examples
/// alone, may not be: their scores would still be compared.
pub(super) fn asked_unlike(plan: &RunPlan) -> Option<Notice> {
    let dataset = plan.benchmarks.iter().find(|one| one.prompt.is_some())?;
    let asked = |system: &&PlannedSystem| system.endpoint.is_some();
    let own = |system: &&PlannedSystem| {
        system.endpoint.is_none() && ["command", "given"].contains(&system.kind.as_str())
    };
    plan.systems.iter().find(asked)?;
    let own = plan.systems.iter().find(own)?;
    Some(
        Notice::new(format!(
            "`{}` gets the fields of `{}` and asks in its own way, where others ask with the \
             official prompt",
            own.name, dataset.tag
        ))
        .with_hint(
            "`--prompt plain` has all asked alike; a system in Python can use \
             `datasets.prompt(NAME)`",
        ),
    )
}

/// The prompt that models are asked with about a dataset of the catalog, and what users
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
                .with_hint("fix `prompt` in the file of the dataset, or pass `--prompt plain`")
        })?;
    }
    Ok(dataset.with_prompt(prompt))
}
