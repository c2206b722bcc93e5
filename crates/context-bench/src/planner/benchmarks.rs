//! From the benchmarks of a spec to a suite: datasets opened, tasks selected, their
//! records loaded and all prompts rendered, before anything is sent.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use context_bench_tasks::config::{Config as TaskConfig, Origin};
use context_bench_tasks::generation::max_tokens;
use context_bench_tasks::options::Limit;
use context_bench_tasks::suggest::quoted_list;
use context_bench_tasks::{Dataset as Records, Host, Leaf, Node, Options, Task, Tree};
use serde_json::{Map, Value, json};

use super::leaves::{ClassObject, check_copies, dataset_settings, fields_of_run};
use super::scoring::Scoring;
use super::surroundings::{GivenExamples, Surroundings};
use super::{Notice, PlanError, Planner, defaults, systems};
use crate::benchmark::{
    Benchmark, ClassBenchmark, ClassTask, DatasetBenchmark, SCORE, Suite, TaskBenchmark,
    TaskDocuments, dataset_leaf,
};
use crate::chat::Pace;
use crate::dataset::catalogue::{Catalogue, Config, LoadSettings};
use crate::dataset::{Dataset, DatasetRef, DatasetTarget, Skipped};
use crate::evaluator::{CodeExecutionSettings, Evaluator, LlmJudgeSettings};
use crate::plan::{BenchmarkKind, PlannedBenchmark, RunSpec, Workers};
use crate::registry::{DatasetRequest, Registry, code_execution, llm_judge};
use crate::runner::MaxWorkers;
use crate::task::{DataSettings, TaskCatalog, TaskData};

/// The folder in which `dataset_path` of tasks is looked for first.
const DATASET_DIR: &str = "LM_EVAL_DATASET_DIR";

/// The one index of tasks: what comes with the library, and the user's files.
///
/// # Errors
///
/// When a path is not there, or the description of a dataset is not right.
pub fn task_catalog(around: &Surroundings, include: &[PathBuf]) -> Result<TaskCatalog, PlanError> {
    let settings = (around.catalog)(&split_paths(include));
    Ok(TaskCatalog::build(&around.registry.catalogue, &settings)?)
}

/// Reads the records of tasks as a spec and its surroundings say.
///
/// # Errors
///
/// When there is no way to the hub.
pub fn task_data(
    spec: &RunSpec,
    around: &Surroundings,
    datasets: Catalogue,
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
fn split_paths(include: &[PathBuf]) -> Vec<PathBuf> {
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
    pub(super) catalog: Option<TaskCatalog>,
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
        let mut catalog = None;
        if has_tasks || !spec.data.include_path.is_empty() {
            let made = task_catalog(around, &spec.data.include_path)?;
            let noticed = made.tasks.index.warnings.iter();
            notices.extend(noticed.map(|warning| Notice::new(warning.to_string())));
            registry.catalogue = made.datasets.clone();
            catalog = Some(made);
        }
        Ok(Self { registry, catalog })
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
    if super::scoring::wants_judge(scoring)? {
        let workers = spec.limits.max_workers.unwrap_or(Workers::Number(1));
        let model = scoring.judge_model.clone();
        let retries = spec.requests.max_retries;
        let settings = LlmJudgeSettings {
            model: model.unwrap_or_else(|| defaults::DEFAULT_MODEL.to_owned()),
            api_key: systems::key(&spec.requests, &around.variable)?,
            max_in_flight: MaxWorkers::from(workers).most(),
            max_retries: retries.unwrap_or(defaults::MAX_RETRIES),
            pace: Some(Arc::clone(pace)),
            ..LlmJudgeSettings::new(scoring.judge_url.as_deref().unwrap_or_default())
        };
        let about = "a model rates the answer";
        let judge = llm_judge(settings);
        registry
            .evaluators
            .register(super::scoring::JUDGE, about, judge);
    }
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
    Ok(registry)
}

/// The benchmarks of a run.
pub(super) struct Found {
    pub(super) suite: Suite,
    pub(super) planned: Vec<PlannedBenchmark>,
    /// All evaluators that were made.
    pub(super) evaluators: Vec<Arc<dyn Evaluator>>,
    /// The bad records of tasks that were left out because the user asked so.
    pub(super) skipped: Skipped,
    pub(super) score_field: Option<String>,
    pub(super) is_common: bool,
    pub(super) per_dataset: bool,
    pub(super) judge: Option<(String, String)>,
}

/// Benchmarks while they are gathered.
#[derive(Default)]
struct Gathered {
    nodes: Vec<Node>,
    benchmarks: Vec<Arc<dyn Benchmark>>,
    planned: Vec<PlannedBenchmark>,
    keys: HashSet<String>,
    /// The score that stands for each dataset.
    fields: Vec<String>,
    n_tasks: usize,
    skipped: Skipped,
}

impl Planner<'_> {
    pub(super) fn benchmarks(
        &mut self,
        known: &Known,
        options: &Options,
        host: &Arc<dyn Host>,
        mut scoring: Scoring<'_>,
    ) -> Result<Found, PlanError> {
        let spec = self.spec;
        let tasks: Vec<String> = spec
            .benchmarks
            .iter()
            .filter_map(|one| one.task.clone())
            .collect();
        let mut gathered = Gathered::default();
        let mut tasks_done = false;
        for benchmark in &spec.benchmarks {
            if let Some(typed) = &benchmark.dataset {
                self.dataset(typed, known, options, &mut scoring, &mut gathered)?;
            } else if let Some(name) = &benchmark.given {
                let brought = self.around.given.examples.get(name);
                let brought = brought.ok_or_else(|| {
                    PlanError::new(format!("no examples `{name}` were brought along"))
                        .with_hint("`given` is for programs; name a `dataset` or a `task`")
                })?;
                self.given(name, brought, &mut scoring, &mut gathered)?;
            } else if let Some(catalog) = known.catalog.as_ref().filter(|_| !tasks_done) {
                tasks_done = true;
                self.tasks(&tasks, catalog, options, host, &mut scoring, &mut gathered)?;
            }
        }
        self.warn_of_no_shots(&gathered, options);
        let evaluates = spec.scoring.evaluators.is_some() || spec.scoring.judge_url.is_some();
        if gathered.fields.is_empty() && evaluates {
            self.notices.push(Notice::new(
                "`--evaluator` and `--judge-url` have no effect: tasks have their metrics",
            ));
        }
        let has_tasks = gathered.n_tasks > 0 || !tasks.is_empty();
        let has_score = gathered.planned.iter().any(|one| one.score_field.is_some());
        let field = scoring.score_field(&gathered.fields, has_tasks);
        Ok(Found {
            is_common: field == SCORE && spec.scoring.score_field.is_none() || has_tasks,
            score_field: (has_score || !has_tasks).then_some(field),
            per_dataset: !has_tasks && gathered.fields.len() > 1,
            judge: scoring.judge(),
            evaluators: scoring.into_evaluators(),
            suite: Suite::new(
                Tree {
                    nodes: gathered.nodes,
                },
                gathered.benchmarks,
            ),
            planned: gathered.planned,
            skipped: gathered.skipped,
        })
    }

    /// A dataset of the catalogue, of the registry, or a file of examples.
    fn dataset(
        &mut self,
        typed: &str,
        known: &Known,
        options: &Options,
        scoring: &mut Scoring<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), PlanError> {
        refuse_memory(typed, &known.registry)?;
        let data = &self.spec.data;
        let request = DatasetRequest {
            max_examples: match options.limit {
                Some(Limit::Count(n)) => Some(n),
                _ => None,
            },
            skip_bad_lines: data.skip_bad_lines.unwrap_or(false),
            seed: self.option_seed(),
            keep_order: data.keep_order.unwrap_or(false),
            hub: match needs_hub(typed) {
                true => Some((self.around.hub)()?),
                false => None,
            },
            ..DatasetRequest::default()
        };
        for opened in known.registry.open_dataset(typed, &request)? {
            if !gathered.keys.insert(opened.tag.clone()) {
                let what = format!("`{}` is named twice; it is run once", opened.tag);
                self.notices.push(Notice::new(what));
                continue;
            }
            gathered.nodes.push(dataset_leaf(&opened.tag));
            let dataset = limited(opened.dataset, options.limit)?;
            let benchmark = self.dataset_benchmark(
                &opened.tag,
                dataset,
                opened.config.as_ref(),
                options,
                scoring,
            )?;
            let benchmark = DatasetBenchmark {
                is_open: opened.config.is_none(),
                ..benchmark
            };
            gathered.add_dataset(benchmark);
        }
        Ok(())
    }

    /// Examples that the program brought along.
    fn given(
        &mut self,
        name: &str,
        brought: &GivenExamples,
        scoring: &mut Scoring<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), PlanError> {
        let taken = brought
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let dataset = taken.ok_or_else(|| {
            PlanError::new(format!("the examples `{name}` were taken by another run"))
        })?;
        gathered.keys.insert(name.to_owned());
        gathered.nodes.push(dataset_leaf(name));
        let benchmark = self.dataset_benchmark("", dataset, None, &Options::default(), scoring)?;
        gathered.add_dataset(DatasetBenchmark {
            key: name.to_owned(),
            is_open: true,
            keeps_ids: true,
            ..benchmark
        });
        Ok(())
    }

    fn dataset_benchmark(
        &mut self,
        tag: &str,
        mut dataset: Dataset,
        config: Option<&Config>,
        options: &Options,
        scoring: &mut Scoring<'_>,
    ) -> Result<DatasetBenchmark, PlanError> {
        self.notices.extend(scoring.notice(tag, config));
        let documents = dataset.known_len();
        for (field, value) in fields_of_run(options) {
            dataset = dataset.with_field(field, value);
        }
        let repeats = usize::try_from(self.spec.data.repeats.unwrap_or(1)).unwrap_or(usize::MAX);
        Ok(DatasetBenchmark {
            key: tag.to_owned(),
            tag: tag.to_owned(),
            alias: None,
            evaluators: scoring.evaluators(config)?,
            score_field: Some(scoring.field_of(config)),
            common_score: Some(SCORE.to_owned()),
            documents,
            repeats: repeats.max(1),
            is_open: false,
            keeps_ids: false,
            samples: self.logs_samples(),
            examples: Mutex::new(Some(dataset)),
        })
    }

    /// Tasks and groups; datasets of the catalogue are tasks too.
    fn tasks(
        &mut self,
        names: &[String],
        catalog: &TaskCatalog,
        options: &Options,
        host: &Arc<dyn Host>,
        scoring: &mut Scoring<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), PlanError> {
        let tree = self.selected(names, catalog)?;
        check_copies(&tree, catalog, &self.spec.data)?;
        let data = task_data(self.spec, self.around, catalog.datasets.clone())?;
        let mut tags = HashSet::new();
        let mut own = HashSet::new();
        for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
            if !own.insert(key.clone()) {
                continue;
            }
            if !gathered.keys.insert(key.clone()) {
                return Err(PlanError::new(format!("two benchmarks are called `{key}`"))
                    .with_hint("name it once, as a dataset or as a task"));
            }
            if leaf.is_native() {
                let Some(config) = catalog.dataset(leaf)? else {
                    continue;
                };
                let benchmark = self.native(&key, leaf, &config, options, scoring)?;
                // The same dataset under two names is asked once.
                let is_new = tags.insert(benchmark.tag.clone());
                gathered.add_dataset(benchmark);
                if !is_new {
                    gathered.fields.pop();
                }
            } else if leaf.python {
                let class = self.class(leaf, &data, options, host)?;
                gathered.add_class(&key, class, self.logs_samples());
            } else {
                let task = Arc::new(self.task(leaf)?);
                let records = match self.around.given.records.get(&leaf.name) {
                    Some(records) => Records::clone(records),
                    None => data.load(&task, options, &**host)?,
                };
                let (documents, noticed) = TaskDocuments::plan(&task, records, options, host)?;
                let noticed = task.warnings.iter().chain(&noticed);
                self.notices
                    .extend(noticed.map(|warning| Notice::new(warning.to_string())));
                let samples = self.logs_samples();
                gathered.add_task(&key, task, Arc::clone(host), documents, samples);
            }
        }
        gathered.skipped = std::mem::take(&mut gathered.skipped).chain(data.skipped());
        gathered.nodes.extend(tree.nodes);
        gathered.n_tasks += own.len();
        Ok(())
    }

    /// What some names of tasks stand for, with what the run says about every task.
    pub(super) fn selected(
        &mut self,
        names: &[String],
        catalog: &TaskCatalog,
    ) -> Result<Tree, PlanError> {
        let (mut tree, warnings) = catalog.select(names)?;
        let warnings = warnings
            .iter()
            .map(|warning| Notice::new(warning.to_string()));
        self.notices.extend(warnings);
        for leaf in tree.leaves_mut() {
            self.add_settings(leaf);
        }
        Ok(tree)
    }

    fn option_seed(&self) -> u64 {
        let seed = self.spec.seeds.options.unwrap_or(defaults::OPTION_SEED);
        seed.cast_unsigned()
    }

    /// What a run says about every task, over what the task says: before it is built,
    /// because how many answers there are decides how they are scored.
    fn add_settings(&self, leaf: &mut Leaf) {
        let prompts = &self.spec.prompts;
        if !prompts.overrides.is_empty() {
            let origin = Origin::other("<overrides>");
            let over = TaskConfig::from_json(&prompts.overrides, &origin);
            leaf.config.extend(&over);
        }
        let mut added = self.spec.harness.model_args.clone();
        added.extend(prompts.metadata.clone());
        let origin = Origin::other("<command line>");
        if !added.is_empty() {
            let mut metadata = match leaf.config.get("metadata") {
                Some(Value::Object(own)) => own.clone(),
                _ => Map::new(),
            };
            metadata.extend(added);
            let metadata = Value::Object(metadata);
            leaf.config.set("metadata", metadata, origin.clone());
        }
        if let Some(n) = self.spec.data.repeats {
            leaf.config.set("repeats", json!(n), origin);
        }
    }

    pub(super) fn task(&self, leaf: &Leaf) -> Result<Task, PlanError> {
        let prompts = &self.spec.prompts;
        let mut task = Task::build(leaf)?;
        if self.spec.python.allowed == Some(false) && task.needs_python() {
            return Err(PlanError::new(format!(
                "task `{}` has Python functions, which `--no-python` forbids",
                task.name
            ))
            .with_hint("leave out `--no-python`, or choose another task"));
        }
        self.check_unsafe(&task.name, task.unsafe_code)?;
        let says = max_tokens(&task.generation).is_some();
        if let Some(n) = prompts.max_gen_toks.filter(|_| !says) {
            task.generation.insert("max_gen_toks".into(), json!(n));
        }
        if let Some(eos) = &prompts.eos {
            let until = task.generation.entry("until").or_insert_with(|| json!([]));
            if let Value::String(one) = until {
                *until = json!([one]);
            }
            if let Value::Array(stops) = until
                && !stops.contains(&json!(eos))
            {
                stops.push(json!(eos));
            }
        }
        Ok(task)
    }

    fn check_unsafe(&self, name: &str, unsafe_code: bool) -> Result<(), PlanError> {
        if unsafe_code && self.spec.scoring.confirm_run_unsafe_code != Some(true) {
            return Err(PlanError::new(format!(
                "task `{name}` runs code that the model writes, on this machine"
            ))
            .with_hint(
                "read the task first; then add `--confirm-run-unsafe-code` \
                 (`confirm_run_unsafe_code=True` in Python)",
            ));
        }
        Ok(())
    }

    /// A Python object builds its own requests.
    pub(super) fn class(
        &self,
        leaf: &Leaf,
        data: &TaskData,
        options: &Options,
        host: &Arc<dyn Host>,
    ) -> Result<ClassTask, PlanError> {
        if self.spec.python.allowed == Some(false) {
            return Err(PlanError::new(format!(
                "task `{}` is a Python class, which `--no-python` forbids",
                leaf.name
            ))
            .with_hint("leave out `--no-python`, or choose another task"));
        }
        if options.chat.is_some() {
            return Err(PlanError::new(format!(
                "task `{}` is a Python class, whose prompts are plain text",
                leaf.name
            ))
            .with_hint("leave out `--apply-chat-template`"));
        }
        let unsafe_code = leaf.config.get("unsafe_code").and_then(Value::as_bool);
        self.check_unsafe(&leaf.name, unsafe_code.unwrap_or(false))?;
        let given = self.around.given.records.get(&leaf.name);
        let made = ClassObject::make(
            leaf,
            data,
            given.map(|records| &**records),
            &**host,
            options,
        )?;
        made.task(leaf, options)
    }

    /// A dataset of the catalogue is asked and scored in its own way, but with the
    /// settings of generation and the system instruction of the run.
    fn native(
        &mut self,
        key: &str,
        leaf: &Leaf,
        config: &Config,
        options: &Options,
        scoring: &mut Scoring<'_>,
    ) -> Result<DatasetBenchmark, PlanError> {
        let data = &self.spec.data;
        let settings = LoadSettings {
            skip_bad_lines: data.skip_bad_lines.unwrap_or(false),
            keep_order: data.keep_order.unwrap_or(false),
            seed: self.option_seed(),
            hub: Some((self.around.hub)()?),
            ..dataset_settings(config, data, options.limit)?
        };
        let tag = config.full_name();
        let dataset = limited(config.load(&settings)?, options.limit)?.tagged(tag.as_str());
        let benchmark = self.dataset_benchmark(&tag, dataset, Some(config), options, scoring)?;
        Ok(DatasetBenchmark {
            key: key.to_owned(),
            alias: leaf.alias().map(str::to_owned),
            ..benchmark
        })
    }

    /// Datasets as they are have prompts without examples, whatever the user asks for.
    fn warn_of_no_shots(&mut self, gathered: &Gathered, options: &Options) {
        let datasets = gathered.planned.iter();
        let datasets = datasets.filter(|one| one.kind == BenchmarkKind::Dataset);
        let datasets: Vec<&str> = datasets.map(|one| one.key.as_str()).collect();
        if options.num_fewshot.is_none_or(|n| n == 0) || datasets.is_empty() {
            return;
        }
        let shown = quoted_list(&datasets[..datasets.len().min(5)], "and");
        let more = match datasets.len().saturating_sub(5) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!(
            "`--num-fewshot` has no effect on {shown}{more}: datasets of the catalogue are asked \
             as they are, without examples"
        );
        let hint = "a task file with `dataset` and `doc_to_text` can have examples";
        self.notices.push(Notice::new(what).with_hint(hint));
    }
}

impl Gathered {
    fn add_dataset(&mut self, benchmark: DatasetBenchmark) {
        self.fields.extend(benchmark.score_field.clone());
        let evaluators = benchmark.evaluators.iter();
        self.planned.push(PlannedBenchmark {
            key: benchmark.key.clone(),
            tag: benchmark.tag.clone(),
            kind: BenchmarkKind::Dataset,
            alias: benchmark.alias.clone(),
            evaluators: evaluators.map(|one| one.name().to_owned()).collect(),
            score_field: benchmark.score_field.clone(),
            documents: benchmark.documents,
            original: None,
            is_open: benchmark.is_open,
            keeps_ids: benchmark.keeps_ids,
            repeats: benchmark.repeats,
            num_fewshot: None,
        });
        self.benchmarks.push(Arc::new(benchmark));
    }

    fn add_task(
        &mut self,
        key: &str,
        task: Arc<Task>,
        host: Arc<dyn Host>,
        documents: TaskDocuments,
        samples: bool,
    ) {
        let planned = PlannedBenchmark {
            key: key.to_owned(),
            tag: key.to_owned(),
            kind: BenchmarkKind::Task,
            alias: task.alias.clone(),
            documents: Some(documents.planned),
            original: documents.original,
            repeats: task.repeats.max(1),
            num_fewshot: Some(documents.num_fewshot),
            ..PlannedBenchmark::default()
        };
        let benchmark = TaskBenchmark::new(key, task, host, documents, samples);
        self.planned.push(PlannedBenchmark {
            score_field: benchmark.score_field().map(str::to_owned),
            ..planned
        });
        self.benchmarks.push(Arc::new(benchmark));
    }

    fn add_class(&mut self, key: &str, class: ClassTask, samples: bool) {
        let benchmark = ClassBenchmark::new(key, class, samples);
        self.planned.push(PlannedBenchmark {
            key: key.to_owned(),
            tag: key.to_owned(),
            kind: BenchmarkKind::Class,
            documents: benchmark.documents(),
            repeats: 1,
            num_fewshot: Some(benchmark.num_fewshot()),
            ..PlannedBenchmark::default()
        });
        self.benchmarks.push(Arc::new(benchmark));
    }
}

/// A share of a dataset; a number of examples was seen to when it was opened.
fn limited(dataset: Dataset, limit: Option<Limit>) -> Result<Dataset, PlanError> {
    let Some(limit @ Limit::Share(_)) = limit else {
        return Ok(dataset);
    };
    let skipped = dataset.skipped().clone();
    let examples: Result<Vec<_>, _> = dataset.into_iter().collect();
    let mut examples = examples?;
    examples.truncate(limit.apply(examples.len()));
    Ok(Dataset::from(examples).with_skipped(skipped))
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

/// A conversation with many questions is no example that a system can answer.
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
                "`{name}:qa` has one example per question, for all systems"
            )),
            false => error.with_hint("systems with a memory are not part of `run`"),
        },
    )
}
