//! Datasets of a run: those of the catalog and the registry, files of examples, and
//! examples that a program brings along.

use std::sync::{Arc, Mutex, PoisonError};

use context_bench_tasks::Options;
use context_bench_tasks::options::Limit;

use super::benchmark_collector::BenchmarkCollector;
use super::known::Known;
use super::leaves::fields_of_run;
use super::prompts::prompted;
use super::scoring::Scoring;
use super::surroundings::GivenExamples;
use super::{Notice, PlanError, Planner, Systems, defaults, files};
use crate::benchmark::{DatasetBenchmark, SCORE, dataset_leaf};
use crate::dataset::catalog::Config;
use crate::dataset::{Dataset, DatasetRef, DatasetTarget};
use crate::model::Prompt;
use crate::registry::{DatasetRequest, Registry};

/// A dataset that was asked for.
pub(super) struct RequestedDataset<'a> {
    /// As the user typed it.
    pub(super) typed: &'a str,
    /// What the run calls it.
    pub(super) tag: String,
    /// Who is asked about it.
    pub(super) systems: &'a Systems,
}

impl Planner<'_> {
    /// A dataset of the catalog, of the registry, or a file of examples.
    pub(super) fn dataset(
        &mut self,
        asked: RequestedDataset<'_>,
        known: &Known,
        options: &Options,
        scoring: &mut Scoring<'_>,
        gathered: &mut BenchmarkCollector,
    ) -> Result<(), PlanError> {
        let RequestedDataset {
            typed,
            tag,
            systems,
        } = asked;
        let memory = self.spec.memory.as_ref();
        match memory {
            None => refuse_memory(typed, &known.registry)?,
            Some(_) => require_conversations(typed, &known.registry)?,
        }
        let data = &self.spec.data;
        let request = DatasetRequest {
            max_examples: match options.limit {
                // What is drawn may stand anywhere.
                Some(Limit::Count(n)) if memory.is_none_or(|one| one.seed.is_none()) => Some(n),
                _ => None,
            },
            skip_bad_lines: data.skip_bad_lines.unwrap_or(false),
            seed: self.option_seed(),
            keep_order: data.keep_order.unwrap_or(false),
            hub: match needs_hub(typed) {
                true => Some((self.around.hub)()?),
                false => None,
            },
            tag: Some(tag),
            shape: files::shape(data, systems),
            ..DatasetRequest::default()
        };
        for opened in known.registry.open_dataset(typed, &request)? {
            if !gathered.keys.insert(opened.tag.clone()) {
                let what = format!("`{}` is named twice; it is run once", opened.tag);
                self.notices.push(Notice::new(what));
                continue;
            }
            gathered.nodes.push(dataset_leaf(&opened.tag));
            if let Some(first) = opened.first.as_ref().filter(|_| memory.is_none()) {
                gathered.has_files = true;
                let (tag, shape) = (&opened.tag, &request.shape);
                let scoring = &self.spec.scoring;
                let reviewed = files::review(tag, typed, first, shape, systems, scoring);
                self.notices.extend(reviewed?);
            }
            let dataset = match memory {
                Some(memory) => {
                    self.asked_of_memories(opened.dataset, memory, systems, options.limit)?
                }
                None => limited(opened.dataset, options.limit)?,
            };
            let prompt = match &opened.config {
                Some(config) => self.prompt(&opened.tag, config, &opened.settings)?,
                None => None,
            };
            let dataset = prompted(&opened.tag, dataset, prompt.as_ref())?;
            let config = opened.config.as_ref();
            let benchmark =
                self.dataset_benchmark(&opened.tag, dataset, config, prompt, options, scoring)?;
            let benchmark = DatasetBenchmark {
                is_open: opened.config.is_none(),
                is_memory: memory.is_some(),
                ..benchmark
            };
            gathered.add_dataset(benchmark);
        }
        Ok(())
    }

    /// Examples that the program brought along.
    pub(super) fn given(
        &mut self,
        name: &str,
        brought: &GivenExamples,
        systems: &Systems,
        scoring: &mut Scoring<'_>,
        gathered: &mut BenchmarkCollector,
    ) -> Result<(), PlanError> {
        let taken = brought
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let dataset = taken.ok_or_else(|| {
            PlanError::new(format!("the examples `{name}` were taken by another run"))
        })?;
        let dataset = match &self.spec.memory {
            Some(memory) => {
                let limit = self.spec.data.limit.map(Limit::new).transpose()?;
                self.asked_of_memories(dataset, memory, systems, limit)?
            }
            None => dataset,
        };
        gathered.keys.insert(name.to_owned());
        gathered.nodes.push(dataset_leaf(name));
        let benchmark =
            self.dataset_benchmark("", dataset, None, None, &Options::default(), scoring)?;
        gathered.add_dataset(DatasetBenchmark {
            key: name.to_owned(),
            is_memory: self.spec.memory.is_some(),
            is_open: true,
            keeps_ids: true,
            ..benchmark
        });
        Ok(())
    }

    pub(super) fn dataset_benchmark(
        &mut self,
        tag: &str,
        mut dataset: Dataset,
        config: Option<&Config>,
        prompt: Option<Arc<Prompt>>,
        options: &Options,
        scoring: &mut Scoring<'_>,
    ) -> Result<DatasetBenchmark, PlanError> {
        self.notices.extend(scoring.notice(tag, config));
        let documents = dataset.known_len();
        for (field, value) in fields_of_run(options) {
            dataset = dataset.with_field(field, value);
        }
        let repeats = usize::try_from(self.spec.data.repeats.unwrap_or(1)).unwrap_or(usize::MAX);
        let evaluators = scoring.evaluators(config)?;
        Ok(DatasetBenchmark {
            key: tag.to_owned(),
            tag: tag.to_owned(),
            alias: None,
            reporting: scoring.reporting(
                config,
                &evaluators,
                prompt.as_ref().map(|prompt| prompt.parts()),
            ),
            evaluators,
            score_field: Some(scoring.field_of(config)),
            common_score: Some(SCORE.to_owned()),
            documents,
            repeats: repeats.max(1),
            is_memory: false,
            is_open: false,
            keeps_ids: false,
            samples: self.logs_samples(),
            prompt,
            examples: Mutex::new(Some(dataset)),
        })
    }

    pub(super) fn option_seed(&self) -> u64 {
        let seed = self.spec.seeds.options.unwrap_or(defaults::OPTION_SEED);
        seed.cast_unsigned()
    }
}

/// A share of a dataset; a number of examples was seen to when it was opened.
pub(super) fn limited(dataset: Dataset, limit: Option<Limit>) -> Result<Dataset, PlanError> {
    let Some(limit @ Limit::Share(_)) = limit else {
        return Ok(dataset);
    };
    let limited = dataset.read_whole(|mut examples| {
        examples.truncate(limit.apply(examples.len()));
        examples
    })?;
    Ok(limited)
}

/// Whether data may have to come from elsewhere; files of the user need no hub.
fn needs_hub(typed: &str) -> bool {
    match DatasetRef::parse(typed).as_ref().map(DatasetRef::target) {
        Ok(DatasetTarget::Named(named)) => match &named.path {
            Some(path) => path.starts_with("https:") || path.starts_with("http:"),
            None => true,
        },
        _ => false,
    }
}

/// Memories take in conversations.
fn require_conversations(typed: &str, registry: &Registry) -> Result<(), PlanError> {
    let configs = match DatasetRef::parse(typed)?.target() {
        DatasetTarget::Named(named) => registry.configs(named).unwrap_or_default(),
        DatasetTarget::Local(_) => Vec::new(),
    };
    let is_plain = |config: &&Config| !config.fields().iter().any(|field| field == "qa_pairs");
    match configs.iter().find(is_plain) {
        None => Ok(()),
        Some(config) => Err(PlanError::new(format!(
            "`{}` has no conversations with questions, which memories are asked about",
            config.full_name()
        ))
        .with_hint(
            "use `locomo` or `longmemeval`, or a file whose records have `turns` and `qa_pairs`",
        )),
    }
}

/// A conversation with many questions is not an example that a system can answer.
fn refuse_memory(typed: &str, registry: &Registry) -> Result<(), PlanError> {
    let configs = match DatasetRef::parse(typed)?.target() {
        DatasetTarget::Named(named) => registry.configs(named).unwrap_or_default(),
        DatasetTarget::Local(_) => Vec::new(),
    };
    let is_memory = |config: &&Config| config.fields().iter().any(|field| field == "qa_pairs");
    let Some(config) = configs.iter().find(is_memory) else {
        return Ok(());
    };
    let name = config.spec().name();
    let error = PlanError::new(format!(
        "`{}` is for memory systems: one example is a conversation with its questions",
        config.full_name()
    ));
    Err(
        match config.spec().config_names().any(|name| name == "qa") {
            true => error.with_hint(format!(
                "`context-bench memory` runs it; `{name}:qa` has one example per question, for all \
                 systems"
            )),
            false => error.with_hint("`context-bench memory` runs it"),
        },
    )
}
