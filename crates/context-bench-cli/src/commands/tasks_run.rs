//! `run --tasks`: tasks and groups through systems, with their own results.
//!
//! The same run as over datasets (runner, store, progress, exit codes); what is asked
//! comes from tasks, and what they make of the answers is shown beside the comparison.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use context_bench::dataset::catalogue::LoadSettings;
use context_bench::metric::{CompressionRatio, Latency, Metric};
use context_bench::registry::Registry;
use context_bench::report::Reporter;
use context_bench::task::tasks::aggregate::MacroError;
use context_bench::task::tasks::options::Limit;
use context_bench::task::tasks::outcome::Resampling;
use context_bench::task::tasks::{Host, Leaf, Options, Task, arguments};
use context_bench::task::{
    self, ClassTask, Native, SCORE, SumUp, TaskCatalog, TaskData, TaskOutcome, TaskPlan,
};
use context_bench::tokens::Tokenizer;
use context_bench::{Dataset, Error, EvalResult, Evaluate, Stop, evaluate};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::run::{Report, finish, open_store, reporter, with_metrics, with_settings};
use crate::args::RunArgs;
use crate::backend::{self, TaskSettings};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::scoring::Scoring;
use crate::task_files::{self, RunFacts};
use crate::{datasets, hub, progress, signals, systems, tasks};

pub(crate) async fn run(
    args: &RunArgs,
    registry: &Registry,
    command: &str,
) -> Result<Exit, Failure> {
    let started = SystemTime::now();
    if !args.dataset.is_empty() {
        return Err(
            Failure::bad_input("both `--tasks` and `--dataset` are given")
                .hint("datasets of the catalogue are tasks too: `--tasks gsm8k`"),
        );
    }
    let (args, settings) = &backend::resolved(args)?;
    let reporter = reporter(&args.output, args.output_file.is_some(), registry)?;
    let tokenizer: Tokenizer = args.tokenizer.parse()?;
    let pace = systems::pace(args);
    let counter = tokenizer.counter();
    let mut systems = systems::build(args, registry, &counter, Arc::clone(&pace), Some(settings))?;
    let catalog = tasks::catalog(registry, &args.include_path)?;
    let registry = &Registry {
        catalogue: catalog.datasets.clone(),
        ..with_settings(args, registry, &pace)?
    };
    let planned = plan(args, settings, &catalog)?;
    check(args, settings, &planned.plan, &systems)?;
    let (evaluation, evaluators) = planned.scoring.wire(evaluate(), args, registry)?;
    for endpoint in evaluators.iter().filter_map(|e| e.endpoint()) {
        systems.also_needs(endpoint);
    }
    planned.scoring.warn_of_no_judge(args)?;
    let (evaluation, evaluator) = planned.plan.wire(evaluation);
    let evaluation = evaluation.common_score(SCORE, "f1");
    let files = task_files::open(args)?;
    let sink = Sink::open(args.output_file.as_deref())?;
    if let Err(failure) = systems.check_reachable().await {
        sink.discard();
        return Err(failure);
    }
    let stop = Stop::new();
    let mut run = metrics(evaluation, args, &planned.plan, systems.systems.len())
        .systems(systems.systems)
        .dataset(planned.dataset)
        .max_workers(args.max_workers)
        .token_counter(counter)
        .progress(progress::display(args.quiet))
        .stop(stop.clone())
        .command(command)
        .note("tasks", args.task.select.tasks.clone());
    if !args.text_field.is_empty() {
        run = run.text_fields(args.text_field.iter().cloned());
    }
    if let Some(seconds) = args.example_timeout {
        run = run.example_timeout(Duration::from_secs_f64(seconds));
    }
    let (store, unusable) = open_store(args.cache_dir.as_deref());
    if let Some(store) = store {
        run = run.store(store);
    }
    let signals = signals::stop_on_interrupt(stop.clone());
    let deadline = signals::stop_after(args.max_time, stop.clone());
    let done = run.run().await;
    signals.abort();
    let out_of_time = deadline.is_some_and(|deadline| deadline.is_finished());
    let (mut result, broken) = match done {
        Ok(result) => (result, None),
        Err(Error::Dataset { source, partial }) => (*partial, Some(Failure::from(source))),
        Err(error) => {
            sink.discard();
            return Err(error.into());
        }
    };
    let outcomes = task::results(
        &planned.plan,
        &evaluator,
        &result,
        SumUp {
            resampling: Resampling {
                iterations: args.task.bootstrap_iters,
                ..Resampling::default()
            },
            macro_error: match args.task.pooled_stderr {
                true => MacroError::Pooled,
                false => MacroError::Macro,
            },
            samples: args.task.log_samples,
        },
    );
    let outcomes = match outcomes {
        Ok(outcomes) => outcomes,
        Err(error) => {
            // The rows are paid for: they are shown all the same.
            let failure = Failure::from(error);
            output::error(&failure);
            finish(args, &*reporter, sink, &result, broken, false)?;
            return Ok(failure.exit);
        }
    };
    let mut remarks = planned.plan.warnings().to_vec();
    remarks.extend(
        outcomes
            .values()
            .flat_map(|outcome| outcome.warnings.clone()),
    );
    tasks::warn(&remarks);
    let facts = RunFacts {
        args,
        settings,
        started,
        system: "",
    };
    result.tasks = outcomes
        .iter()
        .map(|(system, outcome)| {
            let facts = RunFacts { system, ..facts };
            (system.clone(), facts.results(outcome))
        })
        .collect();
    let interrupted = stop.is_stopped() && !out_of_time;
    let shown = Shown {
        text: text(args, &facts, &outcomes),
        inner: reporter,
    };
    report_lost(&outcomes);
    let exit = finish(args, &shown, sink, &result, broken, interrupted)?;
    let written = files.write(&facts, &outcomes);
    if let Err(failure) = written {
        output::error(&failure);
        return Ok(failure.exit);
    }
    Ok(if unusable && exit == Exit::Done {
        Exit::RowsFailed
    } else {
        exit
    })
}

/// What a run of tasks is made of.
struct PlannedRun {
    plan: TaskPlan,
    dataset: Dataset,
    /// How datasets of the catalogue are scored.
    scoring: Scoring,
}

/// Selects tasks, loads their records and renders all prompts.
fn plan(
    args: &RunArgs,
    settings: &TaskSettings,
    catalog: &TaskCatalog,
) -> Result<PlannedRun, Failure> {
    let select = &args.task.select;
    let (tree, warnings) = catalog.select(&select.tasks)?;
    tasks::warn(&warnings);
    let host: Arc<dyn Host> = Arc::from(tasks::host(&select.prompt));
    let planner = Planner {
        args,
        settings,
        options: options(args, settings)?,
        metadata: metadata(args, settings)?,
        catalog,
        data: tasks::data(catalog, &select.prompt, args.quiet)?,
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
    let dataset = plan.dataset();
    Ok(PlannedRun {
        dataset: match natives {
            Some(natives) => dataset.chain(natives.with_distinct_ids()),
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
        let mut task = Task::build(&leaf)?;
        tasks::check_python(&task, &self.args.task.select.prompt)?;
        self.check_unsafe(&task.name, task.unsafe_code)?;
        if self.args.repeats > 1 {
            task.repeats = usize::try_from(self.args.repeats).unwrap_or(usize::MAX);
        }
        let says = context_bench::task::tasks::generation::max_tokens(&task.generation).is_some();
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
        let origin = context_bench::task::tasks::config::Origin::other("<command line>");
        leaf.config.set("metadata", Value::Object(metadata), origin);
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
        let named = |error: context_bench::task::tasks::Error| {
            Failure::from(error.prefixed(format!("task `{}`", leaf.name)))
        };
        let mut leaf = leaf.clone();
        self.add_metadata(&mut leaf);
        let class = leaf.config.get("class");
        let class = class.and_then(context_bench::task::tasks::Function::from_json);
        let Some(class) = class else {
            return Err(Failure::bad_input(format!(
                "task `{}`: `class` must be `!function module.Class`",
                leaf.name
            )));
        };
        if self.args.task.select.prompt.no_python {
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
        let mut config = leaf.config.to_json();
        config.shift_remove("class");
        let own = config.get("num_fewshot").and_then(Value::as_u64);
        let shots = match (own, self.options.num_fewshot) {
            (Some(0), _) => Some(0),
            (own, None) => own,
            (_, Some(n)) => Some(n as u64),
        };
        if let Some(shots) = shots {
            config.insert("num_fewshot".into(), json!(shots));
        }
        let splits = self.data.splits_of(&leaf, &*self.host).map_err(named)?;
        let object = self.host.object(&class, &config, &splits).map_err(named)?;
        // Not every class has a seed to set.
        let _ = object.call("set_fewshot_seed", &[json!(self.options.seed)], &Map::new());
        let mut keywords = Map::new();
        if let Some(limit) = self.options.limit {
            let documents = object.get("eval_docs").ok();
            let n = documents.and_then(|docs| Some(docs.as_array()?.len()));
            let n = match (limit, n) {
                (Limit::Count(n), _) => n,
                (limit, Some(all)) => limit.apply(all),
                (Limit::Share(_), None) => {
                    return Err(Failure::bad_input(format!(
                        "task `{}` does not tell how many documents it has",
                        leaf.name
                    ))
                    .hint("give `--limit` as a number of documents"));
                }
            };
            keywords.insert("limit".into(), json!(n));
        }
        let shots = usize::try_from(shots.unwrap_or(0)).unwrap_or(usize::MAX);
        let generation = &self.options.generation;
        ClassTask::new(object, leaf.config.to_json(), &keywords, generation, shots).map_err(named)
    }

    /// A dataset of the catalogue is asked and scored in its own way.
    fn native(
        &self,
        leaf: &Leaf,
    ) -> Result<Option<(Native, Dataset, context_bench::dataset::catalogue::Config)>, Failure> {
        let Some(config) = self.catalog.dataset(leaf)? else {
            return Ok(None);
        };
        let copies = self.args.task.select.prompt.data_from.iter().rev();
        let mut copies = copies.filter(|(name, _)| name == config.spec().name());
        let settings = LoadSettings {
            path: copies.next().map(|(_, path)| path.clone()),
            hub: Some(hub::access(self.args.quiet)?),
            max_examples: match self.options.limit {
                Some(Limit::Count(n)) => Some(n),
                _ => None,
            },
            skip_bad_lines: self.args.skip_bad_lines,
            keep_order: self.args.keep_order,
            seed: self.args.dataset_seed(),
        };
        let tag = config.full_name();
        let mut dataset = config.load(&settings)?.tagged(tag.as_str());
        if let Some(limit @ Limit::Share(_)) = self.options.limit {
            let examples: Result<Vec<_>, _> = dataset.into_iter().collect();
            let mut examples = examples?;
            examples.truncate(limit.apply(examples.len()));
            dataset = Dataset::from(examples).tagged(tag.as_str());
        }
        let native = Native {
            tag,
            alias: leaf.alias().map(str::to_owned),
            score_field: config.score_field().map(str::to_owned),
            evaluators: config.evaluators().to_vec(),
        };
        Ok(Some((native, dataset, config)))
    }
}

fn options(args: &RunArgs, settings: &TaskSettings) -> Result<Options, Failure> {
    let select = &args.task.select;
    let limit = match (select.limit, args.max_examples) {
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

/// What is asked must fit who is asked, before the first call.
fn check(
    args: &RunArgs,
    settings: &TaskSettings,
    plan: &TaskPlan,
    systems: &systems::Systems,
) -> Result<(), Failure> {
    let chat = args.task.select.prompt.options(None, None)?.chat.is_some();
    let endpoint = systems.first_endpoint().map(ToString::to_string);
    if let Some(endpoint) = &endpoint {
        task::check_likelihoods(plan, settings.likelihoods.is_some(), endpoint)?;
    }
    if chat {
        if let Some(key) = plan.first_with_likelihoods() {
            return Err(Failure::bad_input(format!(
                "task `{key}` asks for likelihoods, and `--apply-chat-template` for messages, \
                 which give none"
            ))
            .hint(format!(
                "leave it out, or let the model answer: `{key}@generate`"
            )));
        }
        if systems
            .first_endpoint()
            .is_some_and(|endpoint| !endpoint.is_chat())
        {
            return Err(Failure::bad_input(
                "`--apply-chat-template` needs an endpoint for chats, and this one continues text",
            )
            .hint("name the address that ends in `/chat/completions`, or its base URL"));
        }
        if !args.system.is_empty() {
            output::warning(
                "with `--apply-chat-template` there is no `context` that a context layer could \
                 change; all systems get the same",
            );
        }
    }
    Ok(())
}

/// The metrics of the comparison; those of quality only where rows have a score.
fn metrics(evaluation: Evaluate, args: &RunArgs, plan: &TaskPlan, n_systems: usize) -> Evaluate {
    if !plan.has_score() {
        let metrics: [Arc<dyn Metric>; 2] = [Arc::new(CompressionRatio), Arc::new(Latency)];
        return evaluation.metrics(metrics);
    }
    let report = Report {
        score_field: args.score_field.as_deref().unwrap_or(SCORE),
        threshold: args.threshold,
        n_systems,
        n_datasets: 1,
        repeats: 1,
    };
    with_metrics(evaluation, &report)
}

/// The tables of tasks, for people.
fn text(
    args: &RunArgs,
    facts: &RunFacts<'_>,
    outcomes: &IndexMap<String, TaskOutcome>,
) -> Option<String> {
    if !["table", "markdown"].contains(&args.output.as_str()) {
        return None;
    }
    let mut text = String::new();
    for (system, outcome) in outcomes {
        text += &format!("{}\n\n", facts.of(system).line());
        text += &outcome.results.table();
        if let Some(groups) = outcome.results.groups_table() {
            text += &format!("\n{groups}");
        }
        text += "\n";
    }
    Some(text)
}

/// Says which tasks lack documents, and why the first of them is missing.
fn report_lost(outcomes: &IndexMap<String, TaskOutcome>) {
    for (system, outcome) in outcomes {
        for (key, counts) in &outcome.counts {
            if counts.is_complete() {
                continue;
            }
            let mut parts = Vec::new();
            for (n, what) in [
                (counts.failed, "failed"),
                (counts.unscored, "could not be scored"),
                (counts.not_run, "were not asked"),
            ] {
                if n > 0 {
                    parts.push(format!("{n} {what}"));
                }
            }
            output::warning(&format!(
                "task `{key}` of `{system}`: {} of {} documents are in the scores; {}",
                counts.scored,
                counts.planned,
                parts.join(", ")
            ));
            if let Some((document, why)) = &counts.first {
                output::note(&format!("  document {document}: {why}"));
            }
        }
    }
}

/// A report with the tables of tasks before it.
struct Shown {
    text: Option<String>,
    inner: Arc<dyn Reporter>,
}

impl Reporter for Shown {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        if let Some(text) = &self.text {
            out.write_all(text.as_bytes())?;
        }
        self.inner.write(result, out)
    }
}
