//! The memories of a run, and the questions that they are asked.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use context_bench_memory::embedding::{Embed, HashedNgrams};
use context_bench_memory::{MemoryKind, MemorySettings, Tools};
use context_bench_tasks::options::Limit;
use indexmap::IndexMap;

use super::systems::{Answerer, SystemEndpoint, names};
use super::{PlanError, Planner, Surroundings, Systems};
use crate::chat::Pace;
use crate::dataset::Dataset;
use crate::error::Hint as _;
use crate::mask::Mask;
use crate::memory::{
    CommandMemory, CommandMemorySettings, EmbeddingModel, History, Instances, KeptIngests,
    MemoryArm, MemoryProvider, QuestionSettings, RetrievalMemory, RunCounter, SummaryError,
    SummaryMemory, SummarySettings, questions,
};
use crate::plan::{MemorySpec, RecallLimits, RunSpec, SystemSpec, Workers};
use crate::registry::split_label;
use crate::runner::MaxWorkers;
use crate::system::CommandSettings;
use crate::tokens::TokenCounter;

/// The most turns that a memory recalls, unless somebody says otherwise.
pub(super) const TOP_K: usize = 10;

/// Conversations up to this size together are read before the run begins.
const MAX_READ_AHEAD: usize = 512 * 1024 * 1024;

/// The name of the memory that keeps a summary.
const SUMMARY: &str = "summary";

/// Memories of the Python package, which run as child processes.
const PYTHON_MEMORIES: [(&str, &str); 2] = [
    (
        "mem0",
        "the library mem0, as a child process: pip install 'mem0ai>=2.2,<3'; needs --relay",
    ),
    (
        "zep",
        "graphiti, as a child process: pip install 'graphiti-core>=0.31,<1'; needs --relay and Neo4j",
    ),
];

/// The variable with the interpreter that has the Python package.
const PYTHON_VARIABLE: &str = "CONTEXT_BENCH_PYTHON";

/// All memories by name, with what they do.
pub fn memory_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let built_in = MemoryKind::ALL.into_iter();
    let built_in = built_in.map(|kind| (kind.name(), kind.about()));
    let summary = (
        SUMMARY,
        "a summary that a model keeps, and the last turns; needs --relay; summary_tokens=600, \
         chunk_tokens=2000, turns=6, budget_tokens",
    );
    built_in.chain([summary]).chain(PYTHON_MEMORIES)
}

/// What can be said of a run of memories by its spec alone.
pub(super) fn check(spec: &RunSpec, memory: &MemorySpec) -> Result<(), PlanError> {
    for (i, system) in spec.systems.iter().enumerate() {
        if system.proxy.is_some() {
            return Err(PlanError::new(format!(
                "`systems[{i}]` is an endpoint, which remembers nothing: a run of memories needs \
                 memories"
            ))
            .with_hint("`--system naive --relay URL` gives it the whole history each time"));
        }
    }
    if spec.benchmarks.iter().any(|one| one.task.is_some()) {
        return Err(
            PlanError::new("tasks have no conversations that a memory could take in")
                .with_hint("name a `dataset` of conversations, such as `locomo`"),
        );
    }
    for (name, is_zero) in [
        ("top_k", memory.top_k == Some(0)),
        ("budget_tokens", memory.budget_tokens == Some(0)),
    ] {
        if is_zero {
            let what = format!("`memory.{name}` must be a whole number above 0");
            return Err(PlanError::new(what).with_hint("leave it out for the default"));
        }
    }
    Ok(())
}

/// A memory of a run, and who answers for it.
struct PlannedProvider {
    provider: Arc<dyn MemoryProvider>,
    /// `memory`, `command` or `given`.
    kind: &'static str,
    asked: Option<SystemEndpoint>,
}

/// The memories that a spec names, for a check of each: nothing is asked about data.
///
/// # Errors
///
/// When something that is named does not exist or does not fit the rest.
pub fn memory_providers(
    spec: &RunSpec,
    around: &Surroundings,
) -> Result<Vec<Arc<dyn MemoryProvider>>, PlanError> {
    let memory = spec.memory.clone().unwrap_or_default();
    check(spec, &memory)?;
    let planner = Planner {
        spec,
        around,
        pace: Arc::new(Pace::new(spec.limits.rps, spec.limits.tpm)),
        notices: Vec::new(),
    };
    let counter = planner.counter()?;
    let mut built = Systems::default();
    let planned = planner.providers(&memory, &counter, &mut built)?;
    Ok(planned.into_iter().map(|one| one.provider).collect())
}

impl Planner<'_> {
    /// Makes all memories, as systems of the run.
    pub(super) fn memories(
        &self,
        memory: &MemorySpec,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<Systems, PlanError> {
        let mut built = Systems::default();
        for planned in self.providers(memory, counter, &mut built)? {
            built.one_at_a_time |= planned.provider.instances() == Instances::One;
            let arm = MemoryArm::new(
                planned.provider,
                Arc::clone(counter),
                memory.budget_tokens,
                self.kept_folder().map(KeptIngests::beside),
            );
            built.push(Arc::new(arm), planned.kind, planned.asked);
        }
        Ok(built)
    }

    fn providers(
        &self,
        memory: &MemorySpec,
        counter: &Arc<dyn TokenCounter>,
        built: &mut Systems,
    ) -> Result<Vec<PlannedProvider>, PlanError> {
        let spec = self.spec;
        if spec.systems.is_empty() {
            return Err(PlanError::new("no memory given").with_hint(
                "pass `--system NAME`, such as `--system bm25`; `context-bench ls memories` lists \
                 them",
            ));
        }
        let answered = spec.systems.iter().filter(|one| one.system.is_some());
        let answerer = match answered.count() {
            0 => None,
            n => Some(self.answerer(built, n)?),
        };
        let mut maker = MemoryMaker {
            planner: self,
            memory,
            counter,
            embedder: None,
            limits: IndexMap::new(),
        };
        let mut planned = Vec::new();
        for (system, name) in spec.systems.iter().zip(names(&spec.systems)?) {
            planned.push(
                if let (Some(typed), Some(answerer)) = (&system.system, &answerer) {
                    PlannedProvider {
                        provider: maker.named(typed, system, answerer)?,
                        kind: "memory",
                        asked: answerer.asked.clone(),
                    }
                } else if let Some(command) = &system.command {
                    PlannedProvider {
                        provider: self.memory_command(
                            system,
                            CommandSettings::parse(command)?,
                            &name,
                        )?,
                        kind: "command",
                        asked: None,
                    }
                } else {
                    let given = system.given.as_deref().unwrap_or_default();
                    let brought = self.around.given.memories.get(given);
                    let brought = brought.ok_or_else(|| {
                        PlanError::new(format!("no memory named `{given}` was passed in"))
                            .with_hint("`given` is for programs; name a `system` or a `command`")
                    })?;
                    PlannedProvider {
                        provider: Arc::clone(brought),
                        kind: "given",
                        asked: None,
                    }
                },
            );
        }
        built.embedding_model = maker.embedder.map(|one| one.name().to_owned());
        built.recall_limits = maker.limits;
        Ok(planned)
    }

    fn memory_command(
        &self,
        system: &SystemSpec,
        command: CommandSettings,
        name: &str,
    ) -> Result<Arc<dyn MemoryProvider>, PlanError> {
        let settings = self.command_settings(system, command, name);
        let settings = CommandMemorySettings::new(settings);
        Ok(Arc::new(CommandMemory::new(settings)?))
    }

    /// The questions of conversations, as many as the run asks for.
    pub(super) fn asked_of_memories(
        &self,
        conversations: Dataset,
        memory: &MemorySpec,
        systems: &Systems,
        limit: Option<Limit>,
    ) -> Result<Dataset, PlanError> {
        let conversations = drawn(conversations, limit, memory.seed)?;
        let workers = self.spec.limits.max_workers.unwrap_or(Workers::Number(1));
        let settings = QuestionSettings {
            kinds: memory.kinds.clone(),
            side_by_side: MaxWorkers::from(workers).most() > 1 && !systems.one_at_a_time,
            skip_bad_records: self.spec.data.skip_bad_lines.unwrap_or(false),
        };
        let (dataset, counts) = questions(conversations, settings);
        // How many there are is known once they are read; a dataset that is larger than
        // memory may well be is read while it is asked about.
        let (mut bytes, mut seen) = (0, HashSet::new());
        let dataset = dataset.read_while(|example| {
            if let Some(history) = History::of(example)
                && seen.insert(history.digest.clone())
            {
                bytes += history.n_bytes;
            }
            bytes <= MAX_READ_AHEAD
        })?;
        let counts = counts.lock().unwrap_or_else(|e| e.into_inner());
        if dataset.known_len() == Some(0) {
            let known: Vec<&str> = counts.keys().map(String::as_str).collect();
            let hint = match known.is_empty() {
                true => "check `--dataset`: its conversations have no questions".to_owned(),
                false => format!(
                    "the kinds of its questions are {}; check `--qa-types`",
                    context_bench_error::suggest::quoted_list(&known, "and")
                ),
            };
            return Err(PlanError::new("no questions to ask").with_hint(hint));
        }
        Ok(dataset)
    }
}

/// Makes memories by name.
struct MemoryMaker<'a> {
    planner: &'a Planner<'a>,
    memory: &'a MemorySpec,
    counter: &'a Arc<dyn TokenCounter>,
    /// What makes vectors, once one needs it: loading a model takes time.
    embedder: Option<Arc<dyn Embed>>,
    /// How much each memory may recall.
    limits: IndexMap<String, RecallLimits>,
}

impl MemoryMaker<'_> {
    /// A memory as it was typed: `[LABEL=]NAME[:key=value,…]`.
    fn named(
        &mut self,
        typed: &str,
        system: &SystemSpec,
        answerer: &Answerer,
    ) -> Result<Arc<dyn MemoryProvider>, PlanError> {
        let (label, reference) = split_label(typed);
        let label = Mask::Dots.text(system.name.as_deref().unwrap_or(label));
        let name = reference.split(':').next().unwrap_or_default().trim();
        if PYTHON_MEMORIES.iter().any(|(known, _)| *known == name) {
            return self.python(&label, reference, system);
        }
        if name == SUMMARY {
            let mut settings: SummarySettings = reference
                .parse()
                .map_err(|error: SummaryError| hinted(error.to_string(), error.hint()))?;
            settings.budget_tokens = settings.budget_tokens.or(self.memory.budget_tokens);
            // Notes are what a model writes; the baseline reader only finds words.
            let model = answerer
                .asked
                .is_some()
                .then(|| Arc::clone(&answerer.system));
            let made = SummaryMemory::new(
                label,
                settings,
                model,
                Arc::clone(&answerer.system),
                Arc::clone(self.counter),
            );
            let made = made.map_err(|error| hinted(error.to_string(), error.hint()))?;
            return Ok(Arc::new(made));
        }
        let mut settings: MemorySettings = reference.parse().map_err(|error| unknown(&error))?;
        let parameters = reference.split_once(':').map_or("", |(_, rest)| rest);
        let says = |key: &str| {
            let mut keys = parameters
                .split(',')
                .filter_map(|part| part.split_once('='));
            keys.any(|(said, _)| said.trim() == key)
        };
        if !says("top_k") {
            settings.top_k = self.memory.top_k.unwrap_or(TOP_K);
        }
        settings.budget_tokens = settings.budget_tokens.or(self.memory.budget_tokens);
        let limits = RecallLimits {
            top_k: settings.top_k,
            budget_tokens: settings.budget_tokens,
        };
        self.limits.insert(label.clone(), limits);
        let tools = Tools {
            counter: Arc::new(RunCounter(Arc::clone(self.counter))),
            embedder: match settings.kind.needs_embedder() {
                true => Some(self.embedder()?),
                false => None,
            },
        };
        let made = RetrievalMemory::new(label, settings, tools, Arc::clone(&answerer.system));
        let made = made.map_err(|error| hinted(error.to_string(), error.hint()))?;
        Ok(Arc::new(made))
    }

    /// What makes vectors: the model that was named, else something that knows no meanings.
    fn embedder(&mut self) -> Result<Arc<dyn Embed>, PlanError> {
        if let Some(made) = &self.embedder {
            return Ok(Arc::clone(made));
        }
        let made: Arc<dyn Embed> = match self.memory.embedding_model.as_deref() {
            None => Arc::new(HashedNgrams),
            Some(model) => {
                let hub = match EmbeddingModel::is_local(model) {
                    true => None,
                    false => Some((self.planner.around.hub)()?),
                };
                let loaded = EmbeddingModel::resolve(model, hub.as_ref());
                let loaded = loaded.map_err(|error| hinted(error.to_string(), error.hint()))?;
                Arc::clone(loaded.embedder())
            }
        };
        self.embedder = Some(Arc::clone(&made));
        Ok(made)
    }

    /// A memory of the Python package, as a child process that speaks the protocol.
    fn python(
        &self,
        label: &str,
        reference: &str,
        system: &SystemSpec,
    ) -> Result<Arc<dyn MemoryProvider>, PlanError> {
        let spec = self.planner.spec;
        let (name, parameters) = reference.split_once(':').unwrap_or((reference, ""));
        let Some(relay) = &spec.relay else {
            return Err(PlanError::new(format!("`{name}` needs a model"))
                .with_hint("pass `--relay URL`, the endpoint for all its calls"));
        };
        let requests = system.requests_over(&spec.requests);
        let model = requests.model;
        let model = model.unwrap_or_else(|| super::defaults::DEFAULT_MODEL.to_owned());
        let python = spec.python.interpreter.clone();
        let from_env = || (self.planner.around.variable)(PYTHON_VARIABLE).map(PathBuf::from);
        let python = python.or_else(from_env);
        let python = python.unwrap_or_else(|| "python3".into());
        let mut words: Vec<String> = vec![
            python.to_string_lossy().into_owned(),
            "-m".into(),
            "context_bench.memory_systems".into(),
            name.to_owned(),
            "--relay".into(),
            relay.clone(),
            "--model".into(),
            model,
        ];
        let mut parameters: Vec<&str> = parameters.split(',').map(str::trim).collect();
        parameters.retain(|one| !one.is_empty());
        let top_k = self.memory.top_k.map(|k| format!("top_k={k}"));
        if !parameters.iter().any(|one| one.starts_with("top_k=")) {
            parameters.extend(top_k.as_deref());
        }
        for parameter in parameters {
            words.extend(["--set".to_owned(), parameter.to_owned()]);
        }
        let command = CommandSettings::new(words);
        self.planner.memory_command(system, command, label)
    }
}

/// As many conversations as a run asks for: the first, or with a seed those that it draws, in
/// the order of the data.
fn drawn(dataset: Dataset, limit: Option<Limit>, seed: Option<i64>) -> Result<Dataset, PlanError> {
    let (Some(limit), Some(seed)) = (limit, seed) else {
        return super::datasets::limited(dataset, limit);
    };
    let drawn = dataset.read_whole(|all| {
        let mut order: Vec<(String, usize)> = (0..all.len())
            .map(|n| (crate::digest::hex(format!("{seed} {n}").as_bytes()), n))
            .collect();
        order.sort();
        order.truncate(limit.apply(all.len()));
        let chosen: HashSet<usize> = order.into_iter().map(|(_, n)| n).collect();
        let all = all.into_iter().enumerate();
        let kept = all.filter(|(n, _)| chosen.contains(n));
        kept.map(|(_, example)| example).collect()
    })?;
    Ok(drawn)
}

fn unknown(error: &context_bench_memory::SettingsError) -> PlanError {
    let known = || "`context-bench ls memories` lists what memories take".to_owned();
    let hint = error.hint().or_else(|| Some(known()));
    let what = match error {
        context_bench_memory::SettingsError::UnknownMemory { name } => {
            let mut names: Vec<&str> = memory_names().map(|(name, _)| name).collect();
            names.sort_unstable();
            format!(
                "Unknown memory system '{name}'. Available: {}",
                names.join(", ")
            )
        }
        other => other.to_string(),
    };
    hinted(what, hint)
}

fn hinted(what: String, hint: Option<String>) -> PlanError {
    let error = PlanError::new(what);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
