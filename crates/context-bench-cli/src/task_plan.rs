//! From `--tasks` to a plan: records loaded, prompts rendered, before anything is sent.

use std::collections::HashSet;
use std::sync::Arc;

use context_bench::Dataset;
use context_bench::dataset::Skipped;
use context_bench::dataset::catalogue::{Config, LoadSettings};
use context_bench::task::tasks::config::Origin;
use context_bench::task::tasks::generation::max_tokens;
use context_bench::task::tasks::options::Limit;
use context_bench::task::tasks::{self as format, Host, Leaf, Options, Task, Tree, arguments};
use context_bench::task::{ClassTask, Native, TaskCatalog, TaskData, TaskEvaluator, TaskPlan};
use serde_json::{Map, Value, json};

use crate::args::RunArgs;
use crate::backend::TaskSettings;
use crate::failure::Failure;
use crate::scoring::Scoring;
use crate::task_args::PromptArgs;
use crate::task_leaves::{ClassObject, check_copies, native_fields, native_settings};
use crate::{datasets, output, tasks};

/// What a run of tasks is made of.
pub(crate) struct PlannedRun {
    pub(crate) plan: TaskPlan,
    /// All examples.
    pub(crate) dataset: Dataset,
    /// How datasets of the catalogue are scored.
    pub(crate) scoring: Scoring,
    /// The bad records that were left out because the user asked so.
    pub(crate) skipped: Skipped,
}

/// Selects tasks, loads their records and renders all prompts.
pub(crate) fn plan(
    args: &RunArgs,
    settings: &TaskSettings,
    catalog: &TaskCatalog,
) -> Result<PlannedRun, Failure> {
    let select = &args.task.select;
    let (tree, warnings) = catalog.select(&select.tasks)?;
    tasks::warn(&warnings);
    check_copies(&tree, catalog, &select.prompt)?;
    warn_of_no_shots(&tree, &select.prompt);
    let host: Arc<dyn Host> = Arc::from(tasks::host(&select.prompt.python));
    let planner = Planner {
        args,
        settings,
        options: options(args, settings)?,
        metadata: metadata(args, settings)?,
        catalog,
        data: tasks::data(catalog, &select.prompt, args.skip_bad_lines, args.quiet)?,
        host: Arc::clone(&host),
    };
    let mut plan = TaskPlan::new(tree.clone(), host);
    let mut scoring = Scoring::default();
    let mut natives: Option<Dataset> = None;
    let mut tags = HashSet::new();
    for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
        if plan.contains(&key) {
            continue;
        }
        if leaf.is_native() {
            if let Some((native, dataset, config)) = planner.native(leaf)? {
                // The same dataset under two names is asked once.
                if tags.insert(native.tag.clone()) {
                    natives = Some(match natives {
                        None => dataset,
                        Some(all) => all.chain(dataset),
                    });
                    scoring.add(native.tag.clone(), Some(config));
                }
                plan.add_native(&key, native);
            }
        } else if leaf.python {
            plan.add_class(&key, planner.class(leaf)?);
        } else {
            let task = planner.task(leaf)?;
            let data = planner.data.load(&task, &planner.options, &*planner.host)?;
            let requests = task.requests(&data, &planner.options, &*planner.host)?;
            plan.add(&key, task, requests);
        }
    }
    for (key, field) in plan.score_fields() {
        scoring.add_task(key, TaskEvaluator::NAME, field.as_deref());
    }
    let dataset = plan.dataset();
    let mut skipped = planner.data.skipped();
    if let Some(natives) = &natives {
        skipped = skipped.chain(natives.skipped().clone());
    }
    Ok(PlannedRun {
        skipped,
        dataset: match natives {
            Some(natives) => dataset.chain(datasets::repeated(natives, args)),
            None => dataset,
        },
        plan,
        scoring,
    })
}

struct Planner<'a> {
    args: &'a RunArgs,
    settings: &'a TaskSettings,
    options: Options,
    metadata: Map<String, Value>,
    catalog: &'a TaskCatalog,
    data: TaskData,
    host: Arc<dyn Host>,
}

impl Planner<'_> {
    fn task(&self, leaf: &Leaf) -> Result<Task, Failure> {
        let mut leaf = leaf.clone();
        self.add_metadata(&mut leaf);
        self.add_repeats(&mut leaf);
        let mut task = Task::build(&leaf)?;
        tasks::check_python(&task, &self.args.task.select.prompt.python)?;
        self.check_unsafe(&task.name, task.unsafe_code)?;
        let says = max_tokens(&task.generation).is_some();
        if let Some(n) = self.settings.max_gen_toks.filter(|_| !says) {
            task.generation.insert("max_gen_toks".into(), json!(n));
        }
        if let Some(eos) = &self.settings.eos {
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

    fn add_metadata(&self, leaf: &mut Leaf) {
        if self.metadata.is_empty() {
            return;
        }
        let mut metadata = match leaf.config.get("metadata") {
            Some(Value::Object(own)) => own.clone(),
            _ => Map::new(),
        };
        metadata.extend(self.metadata.clone());
        let origin = Origin::other("<command line>");
        leaf.config.set("metadata", Value::Object(metadata), origin);
    }

    /// Before the task is built: how many answers there are decides how they are scored.
    fn add_repeats(&self, leaf: &mut Leaf) {
        if let Some(n) = self.args.repeats {
            let origin = Origin::other("<command line>");
            leaf.config.set("repeats", json!(n), origin);
        }
    }

    fn check_unsafe(&self, name: &str, unsafe_code: bool) -> Result<(), Failure> {
        if unsafe_code && !self.args.task.confirm_run_unsafe_code {
            return Err(Failure::bad_input(format!(
                "task `{name}` runs code that the model writes, on this machine"
            ))
            .hint("read the task first; then add `--confirm-run-unsafe-code`"));
        }
        Ok(())
    }

    /// A Python object builds its own requests.
    fn class(&self, leaf: &Leaf) -> Result<ClassTask, Failure> {
        let named =
            |error: format::Error| Failure::from(error.prefixed(format!("task `{}`", leaf.name)));
        let mut leaf = leaf.clone();
        self.add_metadata(&mut leaf);
        self.add_repeats(&mut leaf);
        if self.args.task.select.prompt.python.no_python {
            return Err(Failure::bad_input(format!(
                "task `{}` is a Python class, which `--no-python` forbids",
                leaf.name
            ))
            .hint("leave out `--no-python`, or choose another task"));
        }
        if self.options.chat.is_some() {
            return Err(Failure::bad_input(format!(
                "task `{}` is a Python class, whose prompts are plain text",
                leaf.name
            ))
            .hint("leave out `--apply-chat-template`"));
        }
        let unsafe_code = leaf.config.get("unsafe_code").and_then(Value::as_bool);
        self.check_unsafe(&leaf.name, unsafe_code.unwrap_or(false))?;
        let made = ClassObject::make(&leaf, &self.data, &*self.host, &self.options)?;
        let (config, generation) = (leaf.config.to_json(), &self.options.generation);
        ClassTask::new(made.object, config, &made.keywords, generation, made.shots).map_err(named)
    }

    /// A dataset of the catalogue is asked and scored in its own way, but with the
    /// settings of generation and the system instruction of the run.
    fn native(&self, leaf: &Leaf) -> Result<Option<(Native, Dataset, Config)>, Failure> {
        let Some(config) = self.catalog.dataset(leaf)? else {
            return Ok(None);
        };
        let prompt = &self.args.task.select.prompt;
        let (limit, seed) = (self.options.limit, self.args.seed);
        let settings = LoadSettings {
            skip_bad_lines: self.args.skip_bad_lines,
            keep_order: self.args.keep_order,
            ..native_settings(&config, prompt, limit, seed, self.args.quiet)?
        };
        let tag = config.full_name();
        let mut dataset = config.load(&settings)?.tagged(tag.as_str());
        if let Some(limit @ Limit::Share(_)) = self.options.limit {
            let examples: Result<Vec<_>, _> = dataset.into_iter().collect();
            let mut examples = examples?;
            examples.truncate(limit.apply(examples.len()));
            dataset = Dataset::from(examples).tagged(tag.as_str());
        }
        let documents = dataset.known_len();
        for (field, value) in native_fields(&self.options) {
            dataset = dataset.with_field(field, value);
        }
        let native = Native {
            tag,
            alias: leaf.alias().map(str::to_owned),
            score_field: config.score_field().map(str::to_owned),
            evaluators: config.evaluators().to_vec(),
            documents,
            repeats: self.args.n_repeats(),
        };
        Ok(Some((native, dataset, config)))
    }
}

/// Datasets as they are have prompts without examples, whatever the user asks for.
fn warn_of_no_shots(tree: &Tree, prompt: &PromptArgs) {
    let leaves = tree.leaves();
    let natives = leaves.iter().filter(|leaf| leaf.is_native());
    let natives: Vec<&str> = natives.map(|leaf| leaf.name.as_str()).collect();
    if prompt.num_fewshot.is_none_or(|n| n == 0) || natives.is_empty() {
        return;
    }
    let shown = format::suggest::quoted_list(&natives[..natives.len().min(5)], "and");
    let more = match natives.len().saturating_sub(5) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    output::warning(&format!(
        "`--num-fewshot` has no effect on {shown}{more}: datasets of the catalogue are asked as \
         they are, without examples"
    ));
    output::hint("a task file with `dataset` and `doc_to_text` can have examples");
}

fn options(args: &RunArgs, settings: &TaskSettings) -> Result<Options, Failure> {
    let select = &args.task.select;
    let limit = match (select.limit, args.max_examples) {
        (Some(_), Some(_)) => {
            return Err(
                Failure::bad_input("both `--limit` and `--max-examples` are given")
                    .hint("they mean the same here; leave one out"),
            );
        }
        (Some(limit), _) => Some(limit),
        (None, Some(0)) => return Err(datasets::nothing_loaded()),
        (None, n) => n.map(Limit::Count),
    };
    let mut options = select.prompt.options(args.seed, limit)?;
    if let Some(seed) = settings.seed {
        options.generation.insert("seed".into(), json!(seed));
    }
    for typed in &args.task.gen_kwargs {
        options.generation.extend(arguments::parse(typed)?);
    }
    Ok(options)
}

/// What tasks are told about the run: arguments of the model, then `--metadata`.
fn metadata(args: &RunArgs, settings: &TaskSettings) -> Result<Map<String, Value>, Failure> {
    let mut metadata = settings.model_args.clone();
    if let Some(text) = &args.task.metadata {
        match serde_json::from_str(text) {
            Ok(Value::Object(given)) => metadata.extend(given),
            _ => {
                return Err(Failure::bad_input("`--metadata` must be a JSON object")
                    .hint("for example --metadata '{\"max_seq_lengths\": [4096]}'"));
            }
        }
    }
    Ok(metadata)
}
