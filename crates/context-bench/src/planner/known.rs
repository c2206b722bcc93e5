//! What names mean in a run: the registry with the user's own datasets, the judge and
//! what generated code may do; the index of tasks; where records come from.

use std::path::PathBuf;
use std::sync::Arc;

use super::surroundings::Surroundings;
use super::{Notice, PlanError, defaults, systems};
use crate::chat::Pace;
use crate::dataset::catalog::DatasetCatalog;
#[cfg(feature = "sandbox")]
use crate::evaluator::CodeExecutionSettings;
use crate::evaluator::{JudgeRule, LlmJudgeSettings};
#[cfg(feature = "sandbox")]
use crate::plan::ScoringSpec;
use crate::plan::{RunSpec, Workers};
#[cfg(feature = "sandbox")]
use crate::registry::code_execution;
use crate::registry::{Registry, llm_judge, official_judge};
use crate::runner::MaxWorkers;
use crate::task::{DataSettings, TaskData, TaskIndex};

/// The folder in which `dataset_path` of tasks is looked for first.
const DATASET_DIR: &str = "LM_EVAL_DATASET_DIR";

/// The one index of tasks: what comes with the library, and the user's files.
///
/// # Errors
///
/// When a path is not there, or the description of a dataset is not right.
pub fn task_index(around: &Surroundings, include: &[PathBuf]) -> Result<TaskIndex, PlanError> {
    let settings = (around.task_index)(&split_paths(include));
    Ok(TaskIndex::build(&around.registry.catalog, &settings)?)
}

/// Reads the records of tasks as a spec and its surroundings say.
///
/// # Errors
///
/// When there is no way to the hub.
pub fn task_data(
    spec: &RunSpec,
    around: &Surroundings,
    datasets: DatasetCatalog,
) -> Result<TaskData, PlanError> {
    let data = &spec.data;
    let pairs = |map: &indexmap::IndexMap<String, PathBuf>| {
        let pairs = map.iter().map(|(name, path)| (name.clone(), path.clone()));
        pairs.collect::<Vec<_>>()
    };
    let settings = DataSettings {
        hub: Some((around.hub)()?),
        dataset_dir: (around.variable)(DATASET_DIR).map(PathBuf::from),
        replaced: pairs(&data.files),
        copies: pairs(&data.copies),
        skip_bad_lines: data.skip_bad_lines.unwrap_or(false),
    };
    Ok(TaskData::new(datasets, settings))
}

/// `a:b` is two paths, unless it is one.
pub(super) fn split_paths(include: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for path in include {
        if path.exists() {
            paths.push(path.clone());
        } else {
            paths.extend(std::env::split_paths(path));
        }
    }
    paths
}

/// What names mean in a run.
pub(super) struct Known {
    pub(super) registry: Registry,
    /// There when tasks are named.
    pub(super) task_index: Option<TaskIndex>,
}

impl Known {
    pub(super) fn new(
        spec: &RunSpec,
        around: &Surroundings,
        pace: &Arc<Pace>,
        notices: &mut Vec<Notice>,
    ) -> Result<Self, PlanError> {
        let mut registry = with_settings(spec, around, pace)?;
        let has_tasks = spec.benchmarks.iter().any(|one| one.task.is_some());
        let mut index = None;
        if has_tasks || !spec.data.include_path.is_empty() {
            let built = task_index(around, &spec.data.include_path)?;
            let noticed = built.tasks.index.remarks();
            notices.extend(
                noticed
                    .iter()
                    .map(|warning| Notice::new(warning.to_string())),
            );
            registry.catalog = built.datasets.clone();
            index = Some(built);
        }
        Ok(Self {
            registry,
            task_index: index,
        })
    }
}

/// The registry with what the user allows generated code and, when a judge is
/// needed, with the address and key for it.
pub(super) fn with_settings(
    spec: &RunSpec,
    around: &Surroundings,
    pace: &Arc<Pace>,
) -> Result<Registry, PlanError> {
    let mut registry = around.registry.clone();
    let scoring = &spec.scoring;
    if super::scoring::wants_judge(scoring) {
        let workers = spec.limits.max_workers.unwrap_or(Workers::Number(1));
        let model = scoring.judge_model.clone();
        let retries = spec.requests.max_retries;
        let settings = LlmJudgeSettings {
            model: model.unwrap_or_else(|| defaults::DEFAULT_MODEL.to_owned()),
            api_key: systems::judge_key(&spec.requests, &around.variable)?,
            max_in_flight: MaxWorkers::from(workers).most(),
            max_retries: retries.unwrap_or(defaults::MAX_RETRIES),
            pace: Some(Arc::clone(pace)),
            ..LlmJudgeSettings::new(scoring.judge_url.as_deref().unwrap_or_default())
        };
        let about = "a model rates the answer";
        let judge = llm_judge(settings.clone());
        registry
            .evaluators
            .register(super::scoring::JUDGE, about, judge);
        for (rule, name, about) in JudgeRule::ALL {
            let judge = official_judge(rule, settings.clone());
            registry.evaluators.register(name, about, judge);
        }
    }
    #[cfg(feature = "sandbox")]
    register_code_execution(&mut registry, scoring, around);
    Ok(registry)
}

/// Puts `code_execution` in place of the built-in one where it needs more than that one has.
#[cfg(feature = "sandbox")]
fn register_code_execution(registry: &mut Registry, scoring: &ScoringSpec, around: &Surroundings) {
    let unsandboxed = scoring.allow_unsandboxed_code.unwrap_or(false);
    if unsandboxed || around.launcher.is_some() {
        let mut settings = CodeExecutionSettings::default();
        settings.sandbox.allow_unsandboxed = unsandboxed;
        if let Some(launcher) = &around.launcher {
            settings.sandbox.launcher = Some(launcher.clone());
        }
        let about = match unsandboxed {
            true => "runs the code against its tests, without a sandbox where none works",
            false => "runs the code against its tests, in a sandbox",
        };
        let factory = code_execution(settings);
        registry
            .evaluators
            .register("code_execution", about, factory);
    }
}
