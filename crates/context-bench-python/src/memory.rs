//! `PythonMemory`: an object of user code as a memory of a run.
//!
//! The Python half (`_memory_instance.py`) makes the same kind of reply out of every form of
//! memory; here replies are read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use context_bench::memory::{
    AnswerReply, Ingest, Instances, MemoryAnswer, MemoryProvider, MemoryQuery, MemorySystem, Turn,
};
use context_bench::stopwatch::Stopwatch;
use context_bench::system::SystemError;
use context_bench::tokens::TokenCounter;
use context_bench::{CallStats, Identity};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::convert;
use crate::executor::{CallError, Object, PythonExecutor};
use crate::python_object::{identity, name_of};
use crate::system::{system_error, wait_stats};

/// A memory in Python: one object, or as many as a class or function makes.
pub(crate) struct PythonMemory {
    name: String,
    /// A `MemoryObject` of the Python half.
    object: Object,
    executor: Arc<PythonExecutor>,
    counter: Arc<dyn TokenCounter>,
    identity: Option<Identity>,
    instances: Instances,
    saves: bool,
    /// The only instance, once it is there.
    one: Mutex<Option<Arc<dyn MemorySystem>>>,
}

impl PythonMemory {
    pub(crate) fn new(
        object: &Bound<'_, PyAny>,
        executor: &Arc<PythonExecutor>,
        counter: &Arc<dyn TokenCounter>,
    ) -> PyResult<Self> {
        let memory = object.getattr("memory")?;
        Ok(Self {
            name: name_of(&memory, "memory", "query")?,
            identity: identity(&memory)?,
            instances: match object.getattr("is_many")?.extract()? {
                true => Instances::Many,
                false => Instances::One,
            },
            saves: object.getattr("saves")?.extract()?,
            object: Arc::new(object.clone().unbind()),
            executor: Arc::clone(executor),
            counter: Arc::clone(counter),
            one: Mutex::default(),
        })
    }

    async fn new_instance(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        let opened = self.executor.call(
            &self.object,
            "open",
            |py| Ok(PyTuple::empty(py)),
            |instance| Ok(Arc::new(instance.clone().unbind())),
        );
        let object = opened.await.result.map_err(|error| system_error(&error))?;
        Ok(Arc::new(PythonMemoryInstance {
            object,
            memory: self.name.clone(),
            executor: Arc::clone(&self.executor),
            counter: Arc::clone(&self.counter),
            taken_in: AtomicU64::new(UNKNOWN),
        }))
    }
}

#[async_trait]
impl MemoryProvider for PythonMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Option<Identity> {
        self.identity.clone()
    }

    fn state_identity(&self) -> Option<Identity> {
        self.identity.clone().filter(|_| self.saves)
    }

    fn instances(&self) -> Instances {
        self.instances
    }

    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        if self.instances == Instances::Many {
            return self.new_instance().await;
        }
        let known = || self.one.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(one) = known().clone() {
            return Ok(one);
        }
        let made = self.new_instance().await?;
        // Runs open the only instance of a memory one at a time.
        Ok(Arc::clone(known().get_or_insert(made)))
    }
}

/// No number of tokens.
const UNKNOWN: u64 = u64::MAX;

/// One memory in Python.
struct PythonMemoryInstance {
    /// A `MemoryInstance` of the Python half.
    object: Object,
    memory: String,
    executor: Arc<PythonExecutor>,
    counter: Arc<dyn TokenCounter>,
    /// Tokens of what was taken in: an answer of which nothing else is known rests on all of it.
    taken_in: AtomicU64,
}

impl PythonMemoryInstance {
    /// Calls a method and reads its reply. The time that the call waited for a thread is
    /// beside it.
    async fn call<T: Send + 'static>(
        &self,
        method: &'static str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>> + Send + 'static,
        read: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> Result<(T, CallStats), SystemError> {
        let since = Instant::now();
        let memory = self.memory.clone();
        let called = self
            .executor
            .call(&self.object, method, arguments, move |reply| {
                read(reply).map_err(|error| {
                    let error = error.value(reply.py());
                    CallError::Invalid(format!(
                        "what `{method}` of memory `{memory}` returned cannot be used: {error}"
                    ))
                })
            });
        let called = called.await;
        let wait = wait_stats(&called, since);
        match called.result {
            Ok(reply) => Ok((reply, wait)),
            Err(error) => Err(system_error(&error).with_call(wait)),
        }
    }
}

#[async_trait]
impl MemorySystem for PythonMemoryInstance {
    async fn reset(&self) -> Result<(), SystemError> {
        let done = self.call("reset", |py| Ok(PyTuple::empty(py)), |_| Ok(()));
        done.await.map(|_| ())
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        let count = |turn: &Turn| self.counter.try_count(&turn.content()).ok();
        // Counting is our own work, not the memory's.
        let pause = Stopwatch::current().map(|watch| watch.pause());
        let tokens: Option<u64> = turns.iter().map(count).sum();
        drop(pause);
        self.taken_in
            .store(tokens.unwrap_or(UNKNOWN), Ordering::Relaxed);
        let turns = turns.to_vec();
        let (reply, wait) = self
            .call(
                "ingest",
                move |py| PyTuple::new(py, [turn_dicts(py, &turns)?]),
                read_reply::<IngestReply>,
            )
            .await?;
        Ok(Ingest {
            tokens: None,
            call: Some(wait),
            usage: reply.usage,
            details: reply.details,
        })
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        let question = query.question.to_owned();
        let (budget, asked) = (query.budget_tokens, query.asked.map(str::to_owned));
        let (reply, wait) = self
            .call(
                "query",
                move |py| (question, budget, asked).into_pyobject(py),
                read_reply::<AnswerReply>,
            )
            .await?;
        let everything = Some(self.taken_in.load(Ordering::Relaxed)).filter(|n| *n != UNKNOWN);
        let mut answer = MemoryAnswer::from(reply);
        if answer.context.is_none() {
            answer.context_tokens = answer.context_tokens.or(everything);
        }
        answer.call = Some(wait);
        Ok(answer)
    }

    async fn save(&self) -> Result<Option<Vec<u8>>, SystemError> {
        let saved = self.call(
            "save",
            |py| Ok(PyTuple::empty(py)),
            |reply| reply.get_item("state")?.extract::<Option<Vec<u8>>>(),
        );
        saved.await.map(|(state, _)| state)
    }

    async fn load(&self, state: &[u8]) -> Result<bool, SystemError> {
        self.taken_in.store(UNKNOWN, Ordering::Relaxed);
        let state = state.to_vec();
        let loaded = self.call(
            "load",
            move |py| PyTuple::new(py, [PyBytes::new(py, &state)]),
            |reply| reply.get_item("loaded")?.extract::<bool>(),
        );
        loaded.await.map(|(loaded, _)| loaded)
    }
}

#[derive(Deserialize)]
struct IngestReply {
    #[serde(default)]
    usage: Option<Map<String, Value>>,
    #[serde(default)]
    details: Map<String, Value>,
}

fn read_reply<T: DeserializeOwned>(reply: &Bound<'_, PyAny>) -> PyResult<T> {
    let value = convert::to_value(reply)?;
    serde_json::from_value(value)
        .map_err(|error| pyo3::exceptions::PyTypeError::new_err(error.to_string()))
}

/// Turns as a memory gets them: the same dicts as those of `datasets.locomo()`, whose `content`
/// has speaker and time where there is a speaker, so that it makes no difference how a user
/// names the data.
fn turn_dicts<'py>(py: Python<'py>, turns: &[Turn]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for turn in turns {
        let dict = PyDict::new(py);
        dict.set_item("id", turn.id.as_str())?;
        dict.set_item("role", &turn.role)?;
        match &turn.speaker {
            Some(_) => {
                dict.set_item("content", turn.dict_content())?;
                dict.set_item("text", &turn.text)?;
            }
            None => dict.set_item("content", turn.content())?,
        }
        for (key, value) in [
            ("speaker", &turn.speaker),
            ("timestamp", &turn.time),
            ("session_id", &turn.session),
        ] {
            if let Some(value) = value {
                dict.set_item(key, &**value)?;
            }
        }
        if let Some(picture) = turn.picture.as_deref().filter(|_| turn.speaker.is_some()) {
            dict.set_item("picture", picture)?;
        }
        list.append(dict)?;
    }
    Ok(list)
}
