//! Runs of memories through the planner, with a memory that writes down what happens to it.

mod failures;
mod instances;
mod resume;
mod rows;
mod scoring;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_bench::memory::{
    Ingest, Instances, MemoryAnswer, MemoryProvider, MemoryQuery, MemorySystem, Turn,
};
use context_bench::plan::{BenchmarkSpec, MemorySpec, SystemSpec, Workers};
use context_bench::planner::{self, PlannedRun, Surroundings};
use context_bench::registry::Registry;
use context_bench::store::Store;
use context_bench::system::SystemError;
use context_bench::{EvalResult, FailureKind, Identity, RunSpec, Stop};
use serde_json::{Value, json};

/// What happened to an instance. Conversations are called by their first turn.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Opened,
    Reset,
    Ingested(String),
    Loaded(String),
    Asked(String),
    Answered(String),
    Dropped,
}

/// Everything that happened, with the number of the instance, in order.
#[derive(Default)]
struct Diary {
    events: Mutex<Vec<(usize, Event)>>,
    opened: AtomicUsize,
}

impl Diary {
    fn note(&self, instance: usize, event: Event) {
        self.events.lock().unwrap().push((instance, event));
    }

    fn events(&self) -> Vec<(usize, Event)> {
        self.events.lock().unwrap().clone()
    }

    /// The conversations that were taken in, in order.
    fn ingested(&self) -> Vec<String> {
        self.named(|event| match event {
            Event::Ingested(name) => Some(name),
            _ => None,
        })
    }

    /// The conversations that were loaded, in order.
    fn loaded(&self) -> Vec<String> {
        self.named(|event| match event {
            Event::Loaded(name) => Some(name),
            _ => None,
        })
    }

    /// The questions that were asked, in order.
    fn asked(&self) -> Vec<String> {
        self.named(|event| match event {
            Event::Asked(question) => Some(question),
            _ => None,
        })
    }

    fn named(&self, name: impl Fn(Event) -> Option<String>) -> Vec<String> {
        let events = self.events().into_iter();
        events.filter_map(|(_, event)| name(event)).collect()
    }
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

/// What a call does beside its work.
#[derive(Default)]
enum Act {
    #[default]
    Nothing,
    Fail(&'static str),
    Panic(&'static str),
    Wait(Arc<tokio::sync::Barrier>),
    Sleep(std::time::Duration),
}

impl Act {
    async fn done(self) -> Result<(), SystemError> {
        match self {
            Self::Nothing => {}
            Self::Fail(why) => return Err(SystemError::new(FailureKind::Other, why)),
            Self::Panic(why) => panic!("{why}"),
            Self::Wait(others) => {
                others.wait().await;
            }
            Self::Sleep(time) => tokio::time::sleep(time).await,
        }
        Ok(())
    }
}

type Acts = Arc<dyn Fn(&str) -> Act + Send + Sync>;

/// A memory that answers with the last turn of its conversation and the question, and writes
/// down what happens to it.
#[derive(Clone)]
struct Witness {
    name: &'static str,
    diary: Arc<Diary>,
    instances: Instances,
    queries_overlap: bool,
    saves: bool,
    /// What taking in a conversation does beside.
    on_ingest: Acts,
    /// What a question does beside.
    on_query: Acts,
    /// The only instance, of a memory that has just one.
    only: Arc<Mutex<Option<Arc<dyn MemorySystem>>>>,
}

impl Witness {
    fn new() -> Self {
        Self {
            name: "witness",
            diary: Arc::default(),
            instances: Instances::Many,
            queries_overlap: false,
            saves: false,
            on_ingest: Arc::new(|_| Act::Nothing),
            on_query: Arc::new(|_| Act::Nothing),
            only: Arc::default(),
        }
    }

    fn on_ingest(mut self, act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        self.on_ingest = Arc::new(act);
        self
    }

    fn on_query(mut self, act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        self.on_query = Arc::new(act);
        self
    }

    /// The same in another run, with a diary of its own.
    fn reborn(&self) -> Self {
        Self {
            diary: Arc::default(),
            only: Arc::default(),
            ..self.clone()
        }
    }

    fn instance(&self) -> Arc<dyn MemorySystem> {
        let number = self.diary.opened.fetch_add(1, Ordering::SeqCst);
        self.diary.note(number, Event::Opened);
        Arc::new(WitnessInstance {
            number,
            diary: Arc::clone(&self.diary),
            on_ingest: Arc::clone(&self.on_ingest),
            on_query: Arc::clone(&self.on_query),
            known: Mutex::default(),
        })
    }
}

#[async_trait]
impl MemoryProvider for Witness {
    fn name(&self) -> &str {
        self.name
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new("witness", 1, json!({})))
    }

    fn state_identity(&self) -> Option<Identity> {
        self.saves.then(|| Identity::new("witness", 1, json!({})))
    }

    fn instances(&self) -> Instances {
        self.instances
    }

    fn queries_overlap(&self) -> bool {
        self.queries_overlap
    }

    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        Ok(match self.instances {
            Instances::Many => self.instance(),
            Instances::One => {
                let mut only = self.only.lock().unwrap();
                Arc::clone(only.get_or_insert_with(|| self.instance()))
            }
        })
    }
}

struct WitnessInstance {
    number: usize,
    diary: Arc<Diary>,
    on_ingest: Acts,
    on_query: Acts,
    known: Mutex<Vec<String>>,
}

impl WitnessInstance {
    fn note(&self, event: Event) {
        self.diary.note(self.number, event);
    }
}

impl Drop for WitnessInstance {
    fn drop(&mut self) {
        self.note(Event::Dropped);
    }
}

#[async_trait]
impl MemorySystem for WitnessInstance {
    async fn reset(&self) -> Result<(), SystemError> {
        self.note(Event::Reset);
        self.known.lock().unwrap().clear();
        Ok(())
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        let name = turns[0].content();
        self.note(Event::Ingested(name.clone()));
        let half = turns.len() / 2;
        let said = |turns: &[Turn]| turns.iter().map(|turn| turn.content()).collect();
        let first: Vec<String> = said(&turns[..half]);
        self.known.lock().unwrap().extend(first);
        // Whoever fails here has taken in one half.
        (self.on_ingest)(&name).done().await?;
        let second: Vec<String> = said(&turns[half..]);
        self.known.lock().unwrap().extend(second);
        Ok(Ingest::default())
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        let question = query.question.to_owned();
        self.note(Event::Asked(question.clone()));
        // A chance for others to come in between, if they are let.
        tokio::task::yield_now().await;
        (self.on_query)(&question).done().await?;
        let known = self.known.lock().unwrap().clone();
        self.note(Event::Answered(question.clone()));
        let last = known.last().cloned().unwrap_or_default();
        Ok(MemoryAnswer {
            answer: format!("{question} {last}"),
            context: Some(last),
            recalled: Some(vec!["t2".into()]),
            ..MemoryAnswer::default()
        })
    }

    async fn save(&self) -> Result<Option<Vec<u8>>, SystemError> {
        let known = self.known.lock().unwrap().clone();
        Ok(Some(serde_json::to_vec(&known).unwrap()))
    }

    async fn load(&self, state: &[u8]) -> Result<bool, SystemError> {
        let known: Vec<String> = serde_json::from_slice(state).unwrap();
        self.note(Event::Loaded(known[0].clone()));
        *self.known.lock().unwrap() = known;
        Ok(true)
    }
}

/// A conversation by name, whose questions are its name and a number. Its turns are its name,
/// and what it ends with.
fn conversation(name: &str, questions: usize) -> Value {
    let pairs: Vec<Value> = (0..questions)
        .map(|n| {
            let kind = if n % 2 == 0 { "even" } else { "odd" };
            json!({
                "question": format!("{name}{n}?"),
                "answer": format!("{name}{n}? end of {name}"),
                "type": kind,
                "evidence": ["t2"],
            })
        })
        .collect();
    json!({
        "id": format!("conversation-{name}"),
        "turns": [
            {"role": "user", "content": name, "id": "t1"},
            {"role": "assistant", "content": format!("end of {name}"), "id": "t2"},
        ],
        "qa_pairs": pairs,
    })
}

/// Conversations in a file of a folder of their own, and room for a store.
struct Data {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Data {
    fn new(conversations: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("talks.jsonl");
        let lines: String = conversations.iter().map(|one| format!("{one}\n")).collect();
        std::fs::write(&file, lines).unwrap();
        Self { folder, file }
    }

    /// Conversations that are called like this, with so many questions each.
    fn named(names: &[&str], questions: usize) -> Self {
        let conversations: Vec<Value> = names
            .iter()
            .map(|name| conversation(name, questions))
            .collect();
        Self::new(&conversations)
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn store(&self) -> Store {
        Store::open(self.cache()).unwrap().store
    }

    /// A run of memories over these conversations; systems are still to be named.
    fn spec(&self, workers: u32) -> RunSpec {
        let mut spec = RunSpec {
            memory: Some(MemorySpec::default()),
            benchmarks: vec![BenchmarkSpec {
                dataset: Some(path(&self.file)),
                ..BenchmarkSpec::default()
            }],
            ..RunSpec::default()
        };
        spec.limits.max_workers = Some(Workers::Number(workers.try_into().unwrap()));
        spec
    }

    /// The same with memories that are brought along.
    fn given(&self, memories: &[Witness], workers: u32) -> (RunSpec, Surroundings) {
        let mut spec = self.spec(workers);
        let mut around = surroundings();
        for memory in memories {
            spec.systems.push(SystemSpec {
                given: Some(memory.name.into()),
                ..SystemSpec::default()
            });
            let brought: Arc<dyn MemoryProvider> = Arc::new(memory.clone());
            around.given.memories.insert(memory.name.into(), brought);
        }
        (spec, around)
    }

    /// Runs a memory without a store.
    async fn run(&self, memory: &Witness, workers: u32) -> EvalResult {
        let (spec, around) = self.given(std::slice::from_ref(memory), workers);
        let run = planned(&spec, &around).evaluate();
        run.keep_text(true).run().await.unwrap()
    }

    /// Runs a memory with a store, which keeps what it takes in as well.
    async fn run_stored(&self, memory: &Witness, workers: u32, stop: Stop) -> EvalResult {
        let (mut spec, around) = self.given(std::slice::from_ref(memory), workers);
        spec.cache_dir = Some(self.cache());
        let run = planned(&spec, &around).evaluate();
        let run = run.keep_text(true).store(self.store());
        run.stop(stop).run().await.unwrap()
    }
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn surroundings() -> Surroundings {
    Surroundings::new(Registry::builtin())
}

fn planned(spec: &RunSpec, around: &Surroundings) -> PlannedRun {
    planner::plan(spec, around).unwrap_or_else(|error| panic!("{error}"))
}

/// Rows without what differs from run to run.
fn timeless(result: &EvalResult) -> Vec<Value> {
    let rows = result.rows.iter().map(|row| {
        let mut row = Value::Object(row.to_json());
        row["latency"] = Value::Null;
        let metadata = row["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| !key.ends_with("latency"));
        row
    });
    rows.collect()
}

fn ids(result: &EvalResult) -> Vec<String> {
    let rows = result.rows.iter();
    rows.map(|row| row.example_id.to_string()).collect()
}
