//! The systems of a run: objects in Python, and native ones.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use context_bench::plan::LikelihoodSpec;
use context_bench::planner::GivenSystem;
use context_bench::system::{Conversation, Replies, SystemError};
use context_bench::tokens::TokenCounter;
use context_bench::{CallStats, Example, FailureKind, Identity, Output, System, Turn};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::example_dict::{DeferredDict, IncomingDict, read_dict};
use crate::executor::{CallError, CallOutcome, Object, PythonExecutor};
use crate::native_system::NativeSystem;
use crate::proxy::NativeProxy;
use crate::python_object::{describe_type, identity, is_native_method, name_of};
use crate::turns::{turns_from_python, turns_to_python};

/// A Python object with `name` and `process`.
pub(crate) struct PythonSystem {
    name: String,
    object: Object,
    executor: Arc<PythonExecutor>,
    identity: Option<Identity>,
    converses: bool,
    /// The first field of an answer that cannot be stored unchanged.
    unstorable: Arc<Mutex<Option<String>>>,
}

impl PythonSystem {
    /// Checks that an object can be a system.
    pub(crate) fn new(object: &Bound<'_, PyAny>, executor: &Arc<PythonExecutor>) -> PyResult<Self> {
        let name = name_of(object, "system", "process")?;
        let in_run = || executor.identity_in_run("system", &name);
        Ok(Self {
            identity: identity(object)?.or_else(in_run),
            name,
            converses: object.hasattr("process_conversation")?,
            object: Arc::new(object.clone().unbind()),
            executor: Arc::clone(executor),
            unstorable: Arc::default(),
        })
    }

    /// What the object returned, as an output. Fields of the example are always available
    /// unchanged; any other field that JSON changes could not be scored again from the store.
    fn output(&self, example: &Example, returned: IncomingDict) -> Output {
        let is_lost = |name: &&String| returned.fields.get(*name) != example.get(name);
        let lost = returned.changed.iter().find(is_lost).cloned();
        let output = Output::from(returned.fields).with_source(returned.source);
        let Some(lost) = lost else { return output };
        let mut unstorable = self.unstorable.lock().unwrap_or_else(|e| e.into_inner());
        unstorable.get_or_insert(lost);
        output.lossy()
    }
}

/// Finds out whether answers of a system cannot be reused, once the run is over.
pub(crate) struct UnstorableAnswers {
    name: String,
    identified: bool,
    field: Arc<Mutex<Option<String>>>,
}

impl UnstorableAnswers {
    /// The warning, if there is one.
    pub(crate) fn warning(&self) -> Option<String> {
        let field = self
            .field
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone()?;
        self.identified.then(|| {
            format!(
                "answers of `{}` are stored but not reused: `{field}` contains something that \
                 JSON cannot represent, such as a tuple or a set; return lists, dicts with str \
                 keys, text and numbers",
                self.name
            )
        })
    }
}

/// The time that a call spent waiting for a thread.
pub(crate) fn wait_stats<T>(called: &CallOutcome<T>, since: Instant) -> CallStats {
    CallStats {
        pace_wait: since.elapsed().saturating_sub(called.took),
        ..CallStats::default()
    }
}

pub(crate) fn system_error(call_error: &CallError) -> SystemError {
    let mut error = SystemError::new(FailureKind::Other, call_error.message());
    if let CallError::Raised(exception) = call_error {
        error.failure.traceback = exception.traceback.clone().map(Into::into);
    }
    error
}

#[async_trait]
impl System for PythonSystem {
    fn name(&self) -> &str {
        &self.name
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let since = Instant::now();
        let deferred = DeferredDict::example(example);
        let name = self.name.clone();
        let called = self.executor.call(
            &self.object,
            "process",
            move |py| PyTuple::new(py, [deferred.build(py)?]),
            move |returned| match read_dict(returned) {
                Ok(Some(returned)) => Ok(returned),
                Ok(None) => Err(CallError::Invalid(format!(
                    "system `{name}` returned {} instead of a dict",
                    describe_type(returned)
                ))),
                Err(error) => Err(CallError::Invalid(format!(
                    "the dict that system `{name}` returned cannot be used: {error}"
                ))),
            },
        );
        let called = called.await;
        let wait = wait_stats(&called, since);
        match called.result {
            Ok(returned) => Ok(self.output(example, returned).with_call(wait)),
            Err(call_error) => Err(system_error(&call_error).with_call(wait)),
        }
    }

    fn identity(&self) -> Option<Identity> {
        self.identity.clone()
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.converses.then_some(self)
    }
}

#[async_trait]
impl Conversation for PythonSystem {
    async fn process_conversation(&self, turns: &[Turn]) -> Result<Replies, SystemError> {
        let since = Instant::now();
        let turns = turns.to_vec();
        let name = self.name.clone();
        let called = self.executor.call(
            &self.object,
            "process_conversation",
            move |py| PyTuple::new(py, [turns_to_python(py, &turns)?]),
            move |returned| {
                turns_from_python(returned).map_err(|found| {
                    CallError::Invalid(format!(
                        "`process_conversation` of system `{name}` must return a list of \
                         {{role, content}} dicts, found {found}"
                    ))
                })
            },
        );
        let called = called.await;
        let wait = wait_stats(&called, since);
        match called.result {
            Ok(turns) => Ok(Replies {
                turns,
                call: Some(wait),
                usage: None,
                remarks: Default::default(),
                calls: Vec::new(),
            }),
            Err(call_error) => Err(system_error(&call_error).with_call(wait)),
        }
    }
}

/// A system of a run.
pub(crate) struct RunSystem {
    pub(crate) given: GivenSystem,
    /// Only for systems in Python: answers that the store cannot hold.
    pub(crate) unstorable: Option<UnstorableAnswers>,
}

impl RunSystem {
    fn native(given: GivenSystem) -> Self {
        Self {
            given,
            unstorable: None,
        }
    }

    fn python(system: PythonSystem) -> Self {
        Self {
            unstorable: Some(UnstorableAnswers {
                name: system.name.clone(),
                identified: system.identity.is_some(),
                field: Arc::clone(&system.unstorable),
            }),
            given: without_endpoint(Arc::new(system)),
        }
    }
}

/// A system without an endpoint that the planner needs to know about.
pub(crate) fn without_endpoint(system: Arc<dyn System>) -> GivenSystem {
    GivenSystem {
        system,
        endpoint: None,
        model: None,
        listing: None,
        gives_likelihoods: false,
        has_layout: false,
    }
}

/// The system of an object in a run. In a run of tasks, endpoints are asked as tasks need it.
pub(crate) fn for_run(
    object: &Bound<'_, PyAny>,
    executor: &Arc<PythonExecutor>,
    counter: &Arc<dyn TokenCounter>,
    tasks: Option<&LikelihoodSpec>,
) -> PyResult<RunSystem> {
    if let Ok(proxy) = object.cast::<NativeProxy>()
        && is_native_method::<NativeProxy>(object, "process")?
        && is_native_method::<NativeProxy>(object, "process_conversation")?
    {
        // A subclass may define another name.
        let name = name_of(object, "system", "process")?;
        let given = match tasks {
            Some(likelihoods) => proxy.get().task_model(name, likelihoods)?,
            None => {
                let in_run = || executor.identity_in_run("system", &name);
                let key = identity(object)?.or_else(in_run);
                let pace = executor.pace.clone();
                let system = proxy.get().build(name, Some((executor, key)), pace)?;
                proxy.get().given(system)?
            }
        };
        return Ok(RunSystem::native(given));
    }
    if let Ok(native) = object.cast::<NativeSystem>()
        && is_native_method::<NativeSystem>(object, "process")?
    {
        return Ok(RunSystem::native(native.get().given(
            counter,
            tasks,
            executor.pace.clone(),
        )?));
    }
    Ok(RunSystem::python(PythonSystem::new(object, executor)?))
}
