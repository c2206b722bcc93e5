//! `TaskPlan`: the tasks of a run, with everything they ask, before the first call.
//!
//! All prompts are rendered while planning: what is wrong with a task or a record shows
//! before anything is paid for. Examples are made of them as a run takes them up.

use std::sync::Arc;

use context_bench_tasks::metric::{Aggregation, AggregationKind, MetricKind};
use context_bench_tasks::{Error, Host, OutputType, Requests, Result, Task, Tree, Warning};
use indexmap::IndexMap;

use super::class::ClassTask;
use super::evaluator::TaskEvaluator;
use super::examples::example;
use crate::dataset::Dataset;
use crate::evaluate::Evaluate;
use crate::evaluator::Evaluator;
use crate::model::Example;

/// The score that stands for a document in the summary of a run.
pub const SCORE: &str = "score";

/// The tasks of a run.
pub struct TaskPlan {
    tree: Tree,
    tasks: IndexMap<String, Arc<Planned>>,
    host: Arc<dyn Host>,
    warnings: Vec<Warning>,
}

/// A task of a run.
pub(super) enum Planned {
    /// A task with prompts of its own.
    Task(Box<PlannedTask>),
    /// A task that is a Python object.
    Class(Box<ClassTask>),
    /// A dataset of the catalogue, asked and scored in its own way.
    Native(Native),
}

/// A task with prompts of its own.
pub(super) struct PlannedTask {
    pub(super) task: Task,
    pub(super) requests: Requests,
    unconditional: bool,
}

/// A dataset of the catalogue among tasks.
#[derive(Debug, Clone)]
pub struct Native {
    /// The tag of its examples.
    pub tag: String,
    /// What tables show.
    pub alias: Option<String>,
    /// The score that stands for its quality.
    pub score_field: Option<String>,
    /// The evaluators that score it, for results.
    pub evaluators: Vec<String>,
    /// How many documents it has in this run, when that is known before it.
    pub documents: Option<usize>,
    /// How many answers each document gets.
    pub repeats: usize,
}

impl TaskPlan {
    /// A plan for what was selected, with nothing planned yet.
    pub fn new(tree: Tree, host: Arc<dyn Host>) -> Self {
        Self {
            tree,
            tasks: IndexMap::new(),
            host,
            warnings: Vec::new(),
        }
    }

    /// What was selected.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Who runs Python.
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// The key of each task that is planned, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.tasks.keys().map(String::as_str)
    }

    /// Whether a task is planned; one that several groups share is asked once.
    pub fn contains(&self, key: &str) -> bool {
        self.tasks.contains_key(key)
    }

    /// What was noticed while planning.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Plans a task. Its key is that of the tree; see [`Tree::keys`].
    pub fn add(&mut self, key: &str, task: Task, requests: Requests) {
        self.warnings.extend(task.warnings.iter().cloned());
        self.warnings.extend(requests.warnings.iter().cloned());
        let planned = PlannedTask {
            unconditional: task.output_type == OutputType::MultipleChoice
                && task.needs_unconditional(),
            task,
            requests,
        };
        let planned = Planned::Task(Box::new(planned));
        self.tasks.insert(key.to_owned(), Arc::new(planned));
    }

    /// Plans a task that is a Python object.
    pub fn add_class(&mut self, key: &str, class: ClassTask) {
        let planned = Planned::Class(Box::new(class));
        self.tasks.insert(key.to_owned(), Arc::new(planned));
    }

    /// Plans a dataset of the catalogue, whose examples a caller brings along.
    pub fn add_native(&mut self, key: &str, native: Native) {
        self.tasks
            .insert(key.to_owned(), Arc::new(Planned::Native(native)));
    }

    /// The first task that asks for likelihoods.
    pub fn first_with_likelihoods(&self) -> Option<&str> {
        let mut tasks = self.tasks.iter();
        let (key, _) = tasks.find(|(_, planned)| match &***planned {
            Planned::Task(planned) => planned.task.output_type != OutputType::GenerateUntil,
            Planned::Class(class) => class.asks_for_likelihoods(),
            Planned::Native(_) => false,
        })?;
        Some(key)
    }

    /// Whether all that is asked is asked for likelihoods.
    pub fn is_likelihoods_only(&self) -> bool {
        self.tasks.values().all(|planned| match &**planned {
            Planned::Task(planned) => planned.task.output_type != OutputType::GenerateUntil,
            _ => false,
        })
    }

    /// Whether a task makes its prompts itself, with examples where it is asked to.
    pub fn makes_prompts(&self) -> bool {
        let mut tasks = self.tasks.values();
        tasks.any(|planned| !matches!(**planned, Planned::Native(_)))
    }

    /// How many documents a task has in this run; `None` when only its dataset knows.
    pub fn n_documents(&self, key: &str) -> Option<usize> {
        match &**self.tasks.get(key)? {
            Planned::Task(planned) => Some(planned.requests.requests.len()),
            Planned::Class(class) => Some(class.n_documents()),
            Planned::Native(native) => native.documents,
        }
    }

    /// The examples of all tasks but datasets of the catalogue, in order; made when
    /// they are taken.
    pub fn dataset(&self) -> Dataset {
        let mut all: Option<Dataset> = None;
        for (key, planned) in &self.tasks {
            if let Some(dataset) = examples(key, planned) {
                all = Some(match all {
                    None => dataset,
                    Some(all) => all.chain(dataset),
                });
            }
        }
        all.unwrap_or_else(|| Vec::new().into())
    }

    /// Adds the scoring of all tasks but datasets of the catalogue to a run. The
    /// evaluator is needed again for [`results`](super::outcome::results); with `samples`
    /// it remembers what was said about datasets of the catalogue too.
    pub fn wire(&self, mut plan: Evaluate, samples: bool) -> (Evaluate, Arc<TaskEvaluator>) {
        let host = Arc::clone(&self.host);
        let evaluator = Arc::new(TaskEvaluator::new(&self.tasks, host, samples));
        for planned in self.tasks.values().filter(|_| samples) {
            if let Planned::Native(native) = &**planned {
                plan = plan.evaluator_also_for(&native.tag, Arc::clone(&evaluator) as _);
            }
        }
        for (key, field) in self.score_fields() {
            let evaluators = [Arc::clone(&evaluator) as Arc<dyn Evaluator>];
            plan = plan.evaluators_for(key, evaluators, field.as_deref());
        }
        (plan, evaluator)
    }

    /// Tasks but datasets of the catalogue, with the score that stands for a document.
    pub fn score_fields(&self) -> impl Iterator<Item = (&str, Option<String>)> {
        self.tasks.iter().filter_map(|(key, planned)| {
            let field = match &**planned {
                Planned::Task(planned) => planned.score_field(),
                Planned::Class(_) => None,
                Planned::Native(_) => return None,
            };
            Some((key.as_str(), field))
        })
    }

    /// Whether documents have a score that can stand for quality in the summary.
    pub fn has_score(&self) -> bool {
        self.tasks.values().any(|planned| match &**planned {
            Planned::Task(planned) => planned.score_field().is_some(),
            Planned::Native(native) => native.score_field.is_some(),
            Planned::Class(_) => false,
        })
    }

    pub(super) fn tasks(&self) -> &IndexMap<String, Arc<Planned>> {
        &self.tasks
    }
}

impl PlannedTask {
    /// How many answers each document gets.
    pub(super) fn repeats(&self) -> usize {
        match self.task.output_type {
            OutputType::GenerateUntil => self.task.repeats.max(1),
            _ => 1,
        }
    }

    /// The score of a row that stands for its document: the first metric whose values
    /// are numbers of which the mean counts.
    fn score_field(&self) -> Option<String> {
        let mean = AggregationKind::Builtin(Aggregation::Mean);
        let metric = self
            .task
            .metrics
            .iter()
            .filter(|metric| metric.aggregation == mean && metric.higher_is_better)
            .find(|metric| match &metric.kind {
                MetricKind::Builtin => [
                    "acc",
                    "acc_norm",
                    "acc_bytes",
                    "acc_mutual_info",
                    "exact_match",
                ]
                .contains(&metric.name.as_str()),
                MetricKind::Exact(_) | MetricKind::Function(..) | MetricKind::Named => true,
            })?;
        let filter = self
            .task
            .filters
            .first()
            .map(|pipeline| pipeline.name.as_str());
        Some(score_name(&metric.name, filter.unwrap_or("none")))
    }
}

/// The name of a metric in rows; that of the only filter is left out.
pub(super) fn score_name(metric: &str, filter: &str) -> String {
    match filter {
        "none" => metric.to_owned(),
        filter => format!("{metric},{filter}"),
    }
}

/// The examples of a task, made one by one.
fn examples(key: &str, planned: &Arc<Planned>) -> Option<Dataset> {
    let (n, repeats) = match &**planned {
        Planned::Task(planned) => (planned.requests.requests.len(), planned.repeats()),
        Planned::Class(class) => (class.n_examples(), 1),
        Planned::Native(_) => return None,
    };
    let planned = Arc::clone(planned);
    let tag = key.to_owned();
    let one = move |at: usize| -> Option<Example> {
        match &*planned {
            Planned::Task(planned) => {
                let request = planned.requests.requests.get(at / repeats)?;
                let record = planned.requests.records.get(at / repeats)?;
                let unconditional = planned.unconditional;
                Some(example(&tag, request, record, unconditional, at % repeats))
            }
            Planned::Class(class) => class.example(&tag, at),
            Planned::Native(_) => None,
        }
    };
    let n = n.saturating_mul(repeats);
    let examples = (0..n).filter_map(one).map(Ok);
    Some(Dataset::from_results(examples).with_len(n).tagged(key))
}

/// Why a run of tasks cannot begin: what is asked does not fit who is asked.
pub fn check_likelihoods(plan: &TaskPlan, gives: bool, endpoint: &str) -> Result<()> {
    match plan.first_with_likelihoods() {
        Some(key) if !gives => Err(Error::new(format!(
            "task `{key}` asks for likelihoods, which `{endpoint}` does not give"
        ))
        .with_hint(format!(
            "use an endpoint with `/v1/completions`, or let the model answer: `{}@generate` or \
             `{0}@cot`",
            key.split('@').next().unwrap_or(key)
        ))),
        _ => Ok(()),
    }
}
