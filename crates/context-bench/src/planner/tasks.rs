//! Tasks and groups of a run: selected, their records loaded and all prompts made, before
//! anything is sent.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::generation::max_tokens;
use context_bench_tasks::config::{Config as TaskConfig, Origin};
use context_bench_tasks::{Dataset as Records, Host, Leaf, Options, Task, Tree, check_functions};
use serde_json::{Map, Value, json};

use super::benchmark_collector::BenchmarkCollector;
use super::datasets::limited;
use super::known::task_data;
use super::leaves::{ClassObject, check_copies, dataset_settings};
use super::prompts::prompted;
use super::scoring::Scoring;
use super::{Notice, PlanError, Planner};
use crate::benchmark::{ClassTask, DatasetBenchmark, TaskDocuments};
use crate::dataset::catalog::{Config, LoadSettings};
use crate::task::{TaskData, TaskIndex};

/// This many examples are enough to see whether two datasets are the same.
const COMPARED: usize = 20;

impl Planner<'_> {
    /// Tasks and groups; datasets of the catalog are tasks too.
    pub(super) fn tasks(
        &mut self,
        names: &[String],
        task_index: &TaskIndex,
        options: &Options,
        host: &Arc<dyn Host>,
        scoring: &mut Scoring<'_>,
        gathered: &mut BenchmarkCollector,
    ) -> Result<(), PlanError> {
        let tree = self.selected(names, task_index)?;
        check_copies(&tree, task_index, &self.spec.data)?;
        if self.spec.python.allowed != Some(false) {
            let own = tree
                .leaves()
                .into_iter()
                .filter(|leaf| !leaf.is_dataset_task());
            check_functions(own, &**host)?;
        }
        let data = task_data(self.spec, self.around, task_index.datasets.clone())?;
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
            if leaf.is_dataset_task() {
                let Some(config) = task_index.dataset(leaf)? else {
                    continue;
                };
                let benchmark =
                    self.dataset_task(&key, leaf, (&config, &data), options, scoring)?;
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
        task_index: &TaskIndex,
    ) -> Result<Tree, PlanError> {
        let (mut tree, warnings) = task_index.select(names)?;
        let warnings = warnings
            .iter()
            .map(|warning| Notice::new(warning.to_string()));
        self.notices.extend(warnings);
        for leaf in tree.leaves_mut() {
            self.add_settings(leaf);
        }
        Ok(tree)
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
        self.check_unsafe(&leaf.name, leaf.is_unsafe())?;
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

    /// A dataset of the catalog is asked and scored in its own way, but with the
    /// settings of generation and the system instruction of the run.
    fn dataset_task(
        &mut self,
        key: &str,
        leaf: &Leaf,
        (config, records): (&Config, &TaskData),
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
        if let Some(file) = settings.path.as_deref().filter(|path| path.is_file()) {
            let first = config.load(&settings)?.take(COMPARED);
            let first: Result<Vec<_>, _> = first.into_iter().collect();
            records.note_examples(file, config, &first?)?;
        }
        let tag = config.full_name();
        let dataset = limited(config.load(&settings)?, options.limit)?.tagged(tag.as_str());
        let prompt = self.prompt(&tag, config, &settings)?;
        let dataset = prompted(&tag, dataset, prompt.as_ref())?;
        let benchmark =
            self.dataset_benchmark(&tag, dataset, Some(config), prompt, options, scoring)?;
        Ok(DatasetBenchmark {
            key: key.to_owned(),
            alias: leaf.alias().map(str::to_owned),
            ..benchmark
        })
    }
}
