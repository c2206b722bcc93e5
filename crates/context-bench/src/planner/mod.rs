//! From what was asked to a run that is ready: the one way for all front ends.
//!
//! `RunSpec` goes in, and a [`PlannedRun`] comes out: the `RunPlan` with every
//! default filled in, and the systems, benchmarks and evaluators that it names,
//! made and checked. Nothing is sent. The same module makes results again from
//! a stored plan (`reopened_plan`), or scores its answers again (`rescore`).

mod benchmark_collector;
mod benchmarks;
mod compared_runs;
mod comparison;
mod datasets;
mod defaults;
mod earlier_versions;
mod engine;
mod error;
mod files;
mod gates;
mod joined_runs;
mod known;
mod labels;
mod large_runs;
mod layers;
mod leaves;
mod listing;
mod memories;
mod metrics;
mod overview;
mod preview;
mod prices;
mod prompts;
mod proxies;
mod remarks;
mod render;
mod reopened_plan;
mod rescore;
mod row_reader;
mod run;
mod sample_size;
mod scoring;
mod sharding;
mod shown;
mod surroundings;
mod sweeps;
mod systems;
mod tapped;
mod tasks;
mod units;
mod wire;

pub use compared_runs::{ComparedRuns, RunsToCompare, compare_runs};
pub use defaults::{DEFAULT_MODEL, OPTION_SEED};
pub use engine::RayCluster;
pub use error::{Notice, PlanError};
pub use joined_runs::join_runs;
pub use known::{task_data, task_index};
pub use large_runs::compare_large_runs;
pub use leaves::{ClassObject, check_copies, dataset_settings, fields_of_run};
pub use listing::Listing;
pub use memories::{memory_names, memory_providers};
pub use overview::{Overview, SystemOverview, overview};
pub use preview::{Preview, SystemPreview};
pub use prompts::dataset_prompt;
pub use remarks::{
    OUT_OF_TIME, examples_read, has_failed, note_skipped, nothing_kept, nothing_scored, remarks,
    unfinished, without_values,
};
pub use render::{ExampleRequests, Requests, requests};
pub use reopened_plan::ReopenedPlan;
pub use rescore::Rescoring;
pub use row_reader::RowReader;
pub use run::PlannedRun;
pub use sample_size::{ExamplesNeeded, SizeCell, SizeQuestion, Spread};
pub use sharding::PlannedShard;
pub use shown::{Sent, ShownRow};
pub use surroundings::{
    Given, GivenExamples, GivenSystem, HostSource, HubSource, Surroundings, TaskIndexSource,
    Variable,
};
pub use systems::{BASELINE_READER, Systems, gives_likelihoods, likelihood_settings};
pub use units::{SettledUnits, UnitJob, Units, plan_unit, unit_examples};

use std::sync::Arc;

use context_bench_tasks::options::Chat;
use context_bench_tasks::{Host, Options};
use serde_json::json;

use self::known::Known;
use crate::benchmark::{HarnessFacts, Suite};
use crate::chat::Pace;
use crate::evaluate::evaluate;
use crate::evaluator::JudgeRule;
use crate::mask::Mask;
use crate::plan::{
    PLAN_VERSION, PlannedChat, PlannedLimits, PlannedMemory, PlannedPrompts, PlannedScoring,
    PlannedSeeds, RunManifest, RunPlan, RunSpec, Workers,
};
use crate::tokens::{TokenCounter, Tokenizer};
use context_bench_error::suggest;

/// The longest time that can be asked for: eleven days.
const MOST_SECONDS: f64 = 1e6;

/// Makes plans of specs.
pub struct Planner<'a> {
    spec: &'a RunSpec,
    around: &'a Surroundings,
    pace: Arc<Pace>,
    notices: Vec<Notice>,
}

/// Plans what was asked. Nothing is sent to any system.
///
/// # Errors
///
/// When something that is named does not exist or does not fit the rest.
pub fn plan(spec: &RunSpec, around: &Surroundings) -> Result<PlannedRun, PlanError> {
    let (rps, tpm) = sharding::rates(spec)?;
    let pace = around.given.pace.clone();
    let pace = pace.unwrap_or_else(|| Arc::new(Pace::new(rps, tpm)));
    let expanded = sweeps::expand(spec)?;
    let mut planner = Planner {
        spec: &expanded.spec,
        around,
        pace,
        notices: Vec::new(),
    };
    let planned = planner.run(&expanded);
    let mut planned = planned.map_err(|error| error.with_notices(planner.notices))?;
    planned.manifest.spec = stored_spec(spec);
    Ok(planned)
}

impl Planner<'_> {
    fn run(&mut self, expanded: &sweeps::Expanded<'_>) -> Result<PlannedRun, PlanError> {
        let spec = self.spec;
        self.check()?;
        let engine = engine::asked(spec)?;
        let gates = gates::read(&spec.scoring)?;
        let prices = prices::read(&spec.scoring.prices)?;
        let counter = self.counter()?;
        let mut systems = match &spec.memory {
            None => self.systems(&counter)?,
            Some(memory) => self.memories(memory, &counter)?,
        };
        self.notices.append(&mut systems.notices);
        for control in &expanded.controls {
            systems.control(&control.control);
        }
        self.check_baseline(&systems)?;
        let options = prompt_options(spec)?;
        let host = (self.around.host)(&spec.python);
        let registry = self.registry()?;
        let scoring = scoring::Scoring::new(spec, &registry, &self.around.given)?;
        let found = self.benchmarks(&registry, &systems, &options, &host, scoring)?;
        self.check_systems(&systems, &found.suite, &options)?;
        let context_fields = self.context_fields(&systems, &found.suite)?;
        let examples = found.suite.examples();
        let mut plan = self.decided(&systems, &found, &options, &*counter);
        plan.scoring.gates = gates;
        plan.scoring.prices = prices;
        plan.scoring.unnamed_models = prices::unnamed(spec, &plan.systems);
        plan.sweeps.clone_from(&expanded.sweeps);
        plan.controls.clone_from(&expanded.controls);
        check_stopping(&plan)?;
        gates::check(
            &run::scored(
                evaluate(),
                found.suite.clone(),
                &plan,
                systems.systems.len(),
            ),
            &plan,
        )?;
        for benchmark in &mut plan.benchmarks {
            benchmark.context_field = context_fields.get(&benchmark.key).cloned();
        }
        for (tag, origin) in examples.origins() {
            let named = plan.benchmarks.iter_mut().filter(|one| one.tag == tag);
            for benchmark in named {
                benchmark.source.clone_from(&origin.source);
                benchmark.revision.clone_from(&origin.revision);
            }
        }
        let (examples, shard) = self.sharded(examples, &plan, &systems, &found.suite)?;
        self.notices
            .extend(remarks::one_by_one(&plan, &systems, spec));
        self.notices.extend(remarks::key_in_prompts(spec));
        self.notices.extend(remarks::seed_without_api(spec));
        self.notices.extend(prompts::asked_unlike(&plan));
        self.notices.extend(prompts::unused_limit(&plan, spec));
        let manifest = RunManifest {
            spec: stored_spec(spec),
            plan: plan.without_secrets(),
        };
        Ok(PlannedRun {
            skipped: found.skipped.chain(examples.skipped().clone()),
            repeated: examples.repeated_ids().clone(),
            manifest,
            systems,
            evaluators: found.evaluators,
            suite: found.suite,
            examples,
            counter,
            shard,
            engine,
            baseline_run: None,
            notices: std::mem::take(&mut self.notices),
        })
    }

    /// What can be said of a spec alone.
    fn check(&self) -> Result<(), PlanError> {
        let spec = self.spec;
        if spec.benchmarks.is_empty() {
            return Err(PlanError::new("no dataset given").with_hint(
                "pass `--dataset NAME_OR_PATH` or `--tasks NAMES`, name `benchmarks` in the run \
                 file, or try `context-bench demo`",
            ));
        }
        for (i, benchmark) in spec.benchmarks.iter().enumerate() {
            let named = [&benchmark.dataset, &benchmark.task, &benchmark.given];
            if named.iter().filter(|name| name.is_some()).count() != 1 {
                return Err(PlanError::new(format!(
                    "`benchmarks[{i}]` must have exactly one of `dataset` and `task`"
                ))
                .with_hint("write an entry for each benchmark"));
            }
        }
        if let Some(memory) = &spec.memory {
            if spec.tap.upstream.is_some() {
                return Err(
                    PlanError::new("a tap is for proxies, and this is a run of memories")
                        .with_hint("leave `--upstream` out, or test the proxy with `--proxy`"),
                );
            }
            memories::check(spec, memory)?;
        }
        proxies::check(spec)?;
        if spec.data.limit == Some(0.0) {
            return Err(nothing_loaded());
        }
        for (name, value) in [("rps", spec.limits.rps), ("tpm", spec.limits.tpm)] {
            if value.is_some_and(|value| !(value > 0.0 && value.is_finite())) {
                let what = format!("`limits.{name}` must be a number above 0");
                return Err(PlanError::new(what).with_hint("leave it out for no limit"));
            }
        }
        let times = [
            (
                "limits.example_timeout".to_owned(),
                spec.limits.example_timeout,
            ),
            ("limits.max_time".to_owned(), spec.limits.max_time),
            ("requests.timeout".to_owned(), spec.requests.timeout),
        ];
        let own = spec.systems.iter().enumerate();
        let own = own.map(|(i, system)| (format!("systems[{i}].timeout"), system.timeout));
        for (name, seconds) in times.into_iter().chain(own) {
            // Longer ones are mistakes, and times that no clock can hold.
            if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= MOST_SECONDS)) {
                let what = format!("`{name}` must be a number of seconds above 0");
                return Err(PlanError::new(what)
                    .with_hint(format!("at most {MOST_SECONDS}, or leave it out")));
            }
        }
        if spec.limits.max_workers == Some(Workers::Number(0)) {
            return Err(PlanError::new(
                "`max_workers` must be a whole number above 0; with no workers nothing would run",
            )
            .with_hint("leave it out for 1, or say `auto` to have the number found"));
        }
        for (name, is_none) in [
            ("data.repeats", spec.data.repeats == Some(0)),
            (
                "prompts.max_prompt_tokens",
                spec.prompts.max_prompt_tokens == Some(0),
            ),
            (
                "likelihoods.batch_size",
                spec.likelihoods.batch_size == Some(0),
            ),
        ] {
            if is_none {
                let what = format!("`{name}` must be a whole number above 0");
                return Err(PlanError::new(what).with_hint("leave it out for the default"));
            }
        }
        comparison::check_margin(spec)?;
        let threshold = spec.scoring.threshold;
        if threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold)) {
            let hint = match threshold {
                Some(percent) if percent > 1.0 && percent <= 100.0 => {
                    format!("scores go from 0 to 1; write {}", percent / 100.0)
                }
                _ => "scores go from 0 to 1".to_owned(),
            };
            return Err(
                PlanError::new("`scoring.threshold` must be a number between 0 and 1")
                    .with_hint(hint),
            );
        }
        let own = spec.systems.iter().map(|system| system.temperature);
        for heat in own.chain([spec.requests.temperature]).flatten() {
            if !(0.0..=2.0).contains(&heat) {
                return Err(
                    PlanError::new("`temperature` must be a number between 0 and 2")
                        .with_hint("0 gives the same answer each time, as far as a model can"),
                );
            }
        }
        let share = spec.limits.max_error_rate;
        if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err(
                PlanError::new("`limits.max_error_rate` must be a share between 0 and 1")
                    .with_hint("0.05 allows five rows of a hundred to fail"),
            );
        }
        Ok(())
    }

    fn counter(&self) -> Result<Arc<dyn TokenCounter>, PlanError> {
        if let Some(counter) = &self.around.given.counter {
            return Ok(Arc::clone(counter));
        }
        let tokenizer: Tokenizer = match &self.spec.scoring.tokenizer {
            Some(name) => name.parse()?,
            None => Tokenizer::default(),
        };
        Ok(tokenizer.counter())
    }

    /// The registry with the user's own datasets, the judge, and what generated code may do.
    fn registry(&mut self) -> Result<known::Known, PlanError> {
        known::Known::new(self.spec, self.around, &self.pace, &mut self.notices)
    }

    fn decided(
        &self,
        systems: &Systems,
        found: &benchmarks::PlannedSuite,
        options: &Options,
        counter: &dyn TokenCounter,
    ) -> RunPlan {
        let spec = self.spec;
        let (scoring, limits) = (&spec.scoring, &spec.limits);
        let repeats = spec.data.repeats.unwrap_or(1);
        let bootstrap_iters = scoring.bootstrap_iters.unwrap_or(defaults::BOOTSTRAP_ITERS);
        let makes_prompts = found.suite.benchmarks().any(|one| one.makes_prompts());
        RunPlan {
            version: PLAN_VERSION,
            systems: systems.planned.clone(),
            benchmarks: found.planned.clone(),
            tree: found.suite.tree().clone(),
            memory: spec.memory.as_ref().map(|memory| PlannedMemory {
                top_k: memory.top_k.unwrap_or(memories::TOP_K),
                budget_tokens: memory.budget_tokens,
                kinds: memory.kinds.clone(),
                embedding_model: systems.embedding_model.clone(),
                seed: memory.seed,
                own_limits: systems.recall_limits.clone(),
            }),
            scoring: PlannedScoring {
                evaluators: scoring.evaluators.clone().unwrap_or_default(),
                score_field: found.score_field.clone(),
                is_common: found.is_common,
                // A share of the scale: most scores go from 0 to 1.
                threshold: scoring
                    .threshold
                    .unwrap_or(crate::metric::DEFAULT_THRESHOLD)
                    * JudgeRule::highest(found.score_field.as_deref()),
                baseline: scoring.baseline.clone(),
                margin: scoring.margin,
                tokenizer: counter.name().to_owned(),
                text_fields: (!scoring.text_fields.is_empty()).then(|| scoring.text_fields.clone()),
                metrics: scoring.metrics.clone(),
                repeats,
                per_dataset: found.per_dataset,
                bootstrap_iters,
                pooled_stderr: scoring.pooled_stderr.unwrap_or(false),
                log_samples: self.logs_samples(),
                confirm_run_unsafe_code: scoring.confirm_run_unsafe_code.unwrap_or(false),
                allow_unsandboxed_code: scoring.allow_unsandboxed_code.unwrap_or(false),
                judge: found.judge.clone(),
                gates: Vec::new(),
                baseline_run: scoring.baseline_run.clone(),
                prices: Vec::new(),
                unnamed_models: Vec::new(),
            },
            prompts: PlannedPrompts {
                style: Some(prompts::style(&prompts::said(spec, &self.around.given))),
                num_fewshot: options.num_fewshot,
                chat: options.chat.map(|chat| match chat {
                    Chat::MultiTurn => PlannedChat::MultiTurn,
                    Chat::SingleTurn => PlannedChat::SingleTurn,
                }),
                system_instruction: options.system_instruction.clone(),
                generation: options.generation.clone(),
                metadata: spec.prompts.metadata.clone(),
            },
            limits: PlannedLimits {
                max_workers: limits.max_workers.unwrap_or(Workers::Number(1)),
                rps: limits.rps,
                tpm: limits.tpm,
                example_timeout: limits.example_timeout,
                max_time: limits.max_time,
                max_error_rate: limits.max_error_rate.unwrap_or(0.0),
                stop_when_decided: limits.stop_when_decided.unwrap_or(false),
            },
            seeds: PlannedSeeds {
                options: spec.seeds.options.unwrap_or(OPTION_SEED),
                fewshot: options.seed,
                generation: spec.seeds.generation,
                order: spec.seeds.order.unwrap_or(0),
            },
            sweeps: Vec::new(),
            controls: Vec::new(),
            limit: spec.data.limit,
            skip_bad_lines: spec.data.skip_bad_lines.unwrap_or(false),
            keep_order: spec.data.keep_order.unwrap_or(false),
            harness: HarnessFacts {
                backend: spec.harness.model.clone(),
                model_args: spec.harness.model_args.clone(),
                models: systems.models(),
                model: spec
                    .requests
                    .model
                    .clone()
                    .unwrap_or_else(|| DEFAULT_MODEL.into()),
                batch_size: spec.likelihoods.batch_size.unwrap_or(1),
                cache_dir: spec.cache_dir.as_ref().map(|dir| dir.display().to_string()),
                limit: spec.data.limit,
                bootstrap_iters,
                gen_kwargs: defaults::written(&spec.prompts.generation),
                seed: spec.seeds.fewshot,
                system_instruction: options.system_instruction.clone(),
                fewshot_as_multiturn: options.chat == Some(Chat::MultiTurn),
                num_fewshot: options.num_fewshot.filter(|_| makes_prompts),
                has_tasks: spec.benchmarks.iter().any(|one| one.task.is_some()),
            },
        }
    }

    /// The baseline must be one of the systems.
    fn check_baseline(&self, systems: &Systems) -> Result<(), PlanError> {
        let Some(baseline) = &self.spec.scoring.baseline else {
            return Ok(());
        };
        let baseline = &Mask::Dots.text(baseline);
        let names: Vec<String> = systems.planned.iter().map(|one| one.name.clone()).collect();
        if names.contains(baseline) {
            return Ok(());
        }
        let hint = suggest::did_you_mean(baseline, names.iter().map(String::as_str))
            .unwrap_or_else(|| format!("use {}", suggest::quoted_list(&names, "or")));
        let what = format!("the baseline `{baseline}` is none of the systems");
        Err(PlanError::new(what).with_hint(hint))
    }

    fn logs_samples(&self) -> bool {
        self.spec.output.log_samples.unwrap_or(false)
    }

    /// What is asked must fit who is asked, before the first call.
    fn check_systems(
        &mut self,
        systems: &Systems,
        suite: &Suite,
        options: &Options,
    ) -> Result<(), PlanError> {
        let likelihoods = suite.first_with_likelihoods();
        if let (Some(key), Some(endpoint)) = (likelihoods, systems.first_without_likelihoods()) {
            return Err(PlanError::new(format!(
                "task `{key}` asks for likelihoods, which `{endpoint}` does not give"
            ))
            .with_hint(format!(
                "use an endpoint with `/v1/completions` (`--api openai`), or let the model answer: `{}@generate` \
                 or `{0}@cot`",
                key.split('@').next().unwrap_or(key)
            )));
        }
        if options.chat.is_none() {
            return Ok(());
        }
        if let Some(key) = likelihoods {
            return Err(PlanError::new(format!(
                "task `{key}` asks for likelihoods, and `--apply-chat-template` for messages, \
                 which give none"
            ))
            .with_hint(format!(
                "leave it out, or let the model answer: `{key}@generate`"
            )));
        }
        if systems
            .first_endpoint()
            .is_some_and(|endpoint| !endpoint.is_chat())
        {
            return Err(PlanError::new(
                "`--apply-chat-template` needs an endpoint for chats, and this one continues text",
            )
            .with_hint("name the address that ends in `/chat/completions`, or its base URL"));
        }
        Ok(())
    }
}

/// A run that ends when everything is decided needs something to decide.
fn check_stopping(plan: &RunPlan) -> Result<(), PlanError> {
    if !plan.limits.stop_when_decided {
        return Ok(());
    }
    let refused = |what: &str, hint: &str| {
        let what = format!("`--stop-when-decided` {what}");
        Err(PlanError::new(what).with_hint(hint))
    };
    match plan.scoring.margin {
        None => refused(
            "needs a margin: how much may a system lose and still count as not worse?",
            "add `--margin 0.02` for two points",
        ),
        Some(_) if plan.systems.len() < 2 => refused(
            "compares systems, and there is only one",
            "add the system to compare with, and name it with `--baseline`",
        ),
        Some(_) if plan.scoring.score_field.is_none() => refused(
            "needs a score, and rows have none",
            "name an evaluator, or leave it out",
        ),
        Some(_) => Ok(()),
    }
}

/// How prompts are made.
///
/// # Errors
///
/// When settings of a spec do not fit each other.
pub fn prompt_options(spec: &RunSpec) -> Result<Options, PlanError> {
    let prompts = &spec.prompts;
    let chat = match (
        prompts.apply_chat_template.unwrap_or(false),
        prompts.fewshot_as_multiturn,
    ) {
        (false, Some(true)) => {
            return Err(PlanError::new("`--fewshot-as-multiturn` needs messages")
                .with_hint("add `--apply-chat-template`"));
        }
        (false, _) => None,
        (true, Some(false)) => Some(Chat::SingleTurn),
        (true, _) => Some(Chat::MultiTurn),
    };
    let mut options = Options {
        num_fewshot: prompts.num_fewshot,
        chat,
        system_instruction: prompts.system_instruction.clone(),
        limit: spec
            .data
            .limit
            .map(context_bench_tasks::options::Limit::new)
            .transpose()?,
        ..Options::default()
    };
    options.seed = spec.seeds.fewshot.unwrap_or(options.seed);
    if let Some(seed) = spec.seeds.generation {
        options.generation.insert("seed".into(), json!(seed));
    }
    // Examples are kept with it: endpoints get what is secret of it with every request.
    options
        .generation
        .extend(Mask::Digest.map(&prompts.generation));
    Ok(options)
}

/// A spec as a store keeps it: without secrets, and with paths that lead to the same
/// files from any folder.
fn stored_spec(spec: &RunSpec) -> RunSpec {
    let mut stored_spec = spec.without_secrets();
    // Which part it is stands with the origin of the run; the rest is that of the whole.
    stored_spec.limits.shards_at_once = None;
    let data = &mut stored_spec.data;
    data.shard = None;
    data.include_path = known::split_paths(&data.include_path);
    let paths = data.include_path.iter_mut().chain(data.files.values_mut());
    let prices = stored_spec.scoring.prices.iter_mut();
    let prices = prices.filter(|path| !prices::is_builtin(path));
    let paths = paths.chain(&mut stored_spec.scoring.policy).chain(prices);
    for path in paths.chain(data.copies.values_mut()) {
        // A URL, and what stands for the home folder, are the same everywhere.
        let text = path.to_string_lossy();
        if !text.contains("://")
            && !text.starts_with('~')
            && let Ok(whole) = std::path::absolute(&path)
        {
            *path = whole;
        }
    }
    stored_spec
}

/// There is nothing to run.
pub fn nothing_loaded() -> PlanError {
    PlanError::new("no examples loaded")
        .with_hint("check the `--dataset` arguments and `--max-examples`")
}

/// Python is not allowed or not available.
pub(crate) fn no_host() -> Arc<dyn Host> {
    Arc::new(context_bench_tasks::NoHost)
}
