//! The memories of a run, and the questions that they are asked.

use std::collections::HashSet;
use std::sync::Arc;

use context_bench_memory::embedding::{Embed, HashedNgrams};
use context_bench_memory::{MemoryKind, MemorySettings, Tools};
use context_bench_tasks::options::Limit;

use super::systems::names;
use super::{PlanError, Planner, Systems};
use crate::dataset::Dataset;
use crate::error::Hint as _;
use crate::mask::Mask;
use crate::memory::{
    CommandMemory, CommandMemorySettings, EmbeddingModel, Instances, KeptIngests, MemoryArm,
    MemoryProvider, QuestionSettings, RetrievalMemory, RunCounter, questions,
};
use crate::plan::{MemorySpec, RunSpec, SystemSpec, Workers};
use crate::runner::MaxWorkers;
use crate::tokens::TokenCounter;

/// The most turns that a memory recalls, unless somebody says otherwise.
pub(super) const TOP_K: usize = 10;

/// Memories of the Python package, which run as child processes.
const PYTHON_MEMORIES: [&str; 2] = ["mem0", "zep"];

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

impl Planner<'_> {
    /// Makes all memories.
    pub(super) fn memories(
        &mut self,
        memory: &MemorySpec,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<Systems, PlanError> {
        let spec = self.spec;
        let mut built = Systems::default();
        if spec.systems.is_empty() {
            return Err(PlanError::new("no memory given").with_hint(
                "pass `--system NAME`, such as `--system bm25`; `context-bench ls memories` lists \
                 them",
            ));
        }
        let n_answered = spec.systems.iter().filter(|one| one.system.is_some());
        let n_answered = n_answered.count();
        let answerer = match n_answered {
            0 => None,
            n => Some(self.answerer(&mut built, n)?),
        };
        let names = names(&spec.systems)?;
        let mut embedder: Option<Arc<dyn Embed>> = None;
        for (system, name) in spec.systems.iter().zip(names) {
            let (provider, kind, asked) =
                if let (Some(typed), Some(answerer)) = (&system.system, &answerer) {
                    let (label, reference) = labelled(typed);
                    let label = system.name.as_deref().unwrap_or(label);
                    let label = Mask::Dots.text(label);
                    let provider = self.named_memory(
                        &label,
                        reference,
                        system,
                        memory,
                        counter,
                        Arc::clone(&answerer.system),
                        &mut embedder,
                    )?;
                    (provider, "memory", answerer.asked.clone())
                } else if let Some(command) = &system.command {
                    let settings = self.command_settings(system, command, &name)?;
                    let provider: Arc<dyn MemoryProvider> =
                        Arc::new(CommandMemory::new(CommandMemorySettings::new(settings))?);
                    (provider, "command", None)
                } else {
                    let given = system.given.as_deref().unwrap_or_default();
                    let brought = self.around.given.memories.get(given);
                    let brought = brought.ok_or_else(|| {
                        PlanError::new(format!("no memory named `{given}` was passed in"))
                            .with_hint("`given` is for programs; name a `system` or a `command`")
                    })?;
                    (Arc::clone(brought), "given", None)
                };
            built.one_at_a_time |= provider.instances() == Instances::One;
            let arm = MemoryArm::new(
                provider,
                Arc::clone(counter),
                memory.budget_tokens,
                spec.cache_dir.as_deref().map(KeptIngests::beside),
            );
            built.push(Arc::new(arm), kind, asked);
        }
        built.embedding_model = embedder.map(|embedder| embedder.name().to_owned());
        Ok(built)
    }

    /// A memory by its name and settings.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of it decides which memory it is"
    )]
    fn named_memory(
        &self,
        label: &str,
        reference: &str,
        system: &SystemSpec,
        memory: &MemorySpec,
        counter: &Arc<dyn TokenCounter>,
        answerer: Arc<dyn crate::system::System>,
        embedder: &mut Option<Arc<dyn Embed>>,
    ) -> Result<Arc<dyn MemoryProvider>, PlanError> {
        let name = reference.split(':').next().unwrap_or_default().trim();
        if PYTHON_MEMORIES.contains(&name) {
            return self.python_memory(label, reference, system);
        }
        let mut settings: MemorySettings = reference.parse().map_err(unknown)?;
        let says = |key: &str| {
            let parameters = reference.split_once(':').map_or("", |(_, rest)| rest);
            let mut keys = parameters
                .split(',')
                .filter_map(|part| part.split_once('='));
            keys.any(|(said, _)| said.trim() == key)
        };
        if !says("top_k") {
            settings.top_k = memory.top_k.unwrap_or(TOP_K);
        }
        if !says("budget_tokens") {
            settings.budget_tokens = memory.budget_tokens;
        }
        let mut tools = Tools {
            counter: Arc::new(RunCounter(Arc::clone(counter))),
            embedder: None,
        };
        if settings.kind.needs_embedder() {
            let made = match embedder.take() {
                Some(made) => made,
                None => self.embedder(memory.embedding_model.as_deref())?,
            };
            tools.embedder = Some(Arc::clone(&made));
            *embedder = Some(made);
        }
        let made = RetrievalMemory::new(label, settings, tools, answerer);
        let made = made.map_err(|error| hinted(error.to_string(), error.hint()))?;
        Ok(Arc::new(made))
    }

    /// What makes vectors: the model that was named, else something that knows no meanings.
    fn embedder(&self, model: Option<&str>) -> Result<Arc<dyn Embed>, PlanError> {
        let Some(model) = model else {
            return Ok(Arc::new(HashedNgrams::default()));
        };
        let hub = match EmbeddingModel::is_local(model) {
            true => None,
            false => Some((self.around.hub)()?),
        };
        let loaded = EmbeddingModel::resolve(model, hub.as_ref());
        let loaded = loaded.map_err(|error| hinted(error.to_string(), error.hint()))?;
        Ok(Arc::clone(loaded.embedder()))
    }

    /// A memory of the Python package, as a child process that speaks the protocol.
    fn python_memory(
        &self,
        label: &str,
        reference: &str,
        system: &SystemSpec,
    ) -> Result<Arc<dyn MemoryProvider>, PlanError> {
        let (name, parameters) = reference.split_once(':').unwrap_or((reference, ""));
        if !parameters.is_empty() {
            let what = format!("`{name}` takes no parameters here");
            return Err(PlanError::new(what)
                .with_hint("give it to `evaluate_memory` in Python, which takes all of them"));
        }
        let Some(relay) = &self.spec.relay else {
            return Err(PlanError::new(format!("`{name}` needs a model"))
                .with_hint("pass `--relay URL`, the endpoint for all its calls"));
        };
        let requests = system.requests_over(&self.spec.requests);
        let model = requests.model;
        let model = model.unwrap_or_else(|| super::defaults::DEFAULT_MODEL.to_owned());
        let python = self.spec.python.interpreter.clone();
        let python = python.unwrap_or_else(|| "python3".into());
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let command = format!(
            "{} -m context_bench.memory_systems {name} --relay {} --model {}",
            quoted(&python.to_string_lossy()),
            quoted(relay),
            quoted(&model),
        );
        let settings = self.command_settings(system, &command, label)?;
        Ok(Arc::new(CommandMemory::new(CommandMemorySettings::new(
            settings,
        ))?))
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
        };
        let (dataset, counts) = questions(conversations, settings);
        // How many there are is known once they are read, which costs little beside asking.
        let dataset = dataset.read_whole(|examples| examples)?;
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

/// A label before the name, as of systems: `LABEL=NAME:key=value`.
fn labelled(typed: &str) -> (&str, &str) {
    let colon = typed.find(':').unwrap_or(typed.len());
    match typed.find('=') {
        Some(equals) if equals < colon => (typed[..equals].trim(), typed[equals + 1..].trim()),
        _ => (typed.trim(), typed.trim()),
    }
}

fn unknown(error: context_bench_memory::SettingsError) -> PlanError {
    let hint = error.hint();
    let what = match &error {
        context_bench_memory::SettingsError::UnknownMemory { name } => {
            let mut names: Vec<&str> = MemoryKind::ALL.iter().map(|kind| kind.name()).collect();
            names.extend(PYTHON_MEMORIES);
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
