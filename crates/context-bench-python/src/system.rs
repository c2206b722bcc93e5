//! Systems of both worlds: Python objects called by a run, and native ones.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use context_bench::mask::Mask;
use context_bench::plan::LikelihoodSpec;
use context_bench::planner::{BASELINE_READER, GivenSystem};
use context_bench::registry::{Registry, SystemContext, SystemRef};
use context_bench::system::{Conversation, Reader, Replies, SystemError};
use context_bench::tokens::{TokenCounter, Tokenizer};
use context_bench::{CallStats, Example, FailureKind, Identity, Output, System, Turn};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::json;

use crate::blocking;
use crate::call::{Called, Desk, Object, Trouble};
use crate::convert::{self, Parcel, Taken, type_name};
use crate::error::{bad_value, in_python};
use crate::proxy::PyProxy;

/// A Python object with `name` and `process`.
pub(crate) struct PySystem {
    name: String,
    object: Object,
    desk: Arc<Desk>,
    identity: Option<Identity>,
    converses: bool,
    /// The first field of an answer that could not be stored as it is.
    lossy: Arc<Mutex<Option<String>>>,
}

impl PySystem {
    /// Checks that an object can be a system.
    pub(crate) fn new(object: &Bound<'_, PyAny>, desk: &Arc<Desk>) -> PyResult<Self> {
        Ok(Self {
            name: name_of(object, "system", "process")?,
            identity: identity(object)?,
            converses: object.hasattr("process_conversation")?,
            object: Arc::new(object.clone().unbind()),
            desk: Arc::clone(desk),
            lossy: Arc::default(),
        })
    }
}

impl PySystem {
    /// What was returned, as an output. What the example has as well is always at hand
    /// as it is; anything else that JSON changes could not be scored again.
    fn output(&self, example: &Example, taken: Taken) -> Output {
        let is_lost = |name: &&String| taken.fields.get(*name) != example.get(name);
        let lost = taken.changed.iter().find(is_lost).cloned();
        let output = Output::from(taken.fields).with_source(taken.source);
        let Some(lost) = lost else { return output };
        let mut noted = self.lossy.lock().unwrap_or_else(|e| e.into_inner());
        noted.get_or_insert(lost);
        output.lossy()
    }
}

/// What to tell about answers that cannot be reused, once the run is over.
pub(crate) struct Lossy {
    name: String,
    identified: bool,
    field: Arc<Mutex<Option<String>>>,
}

impl Lossy {
    /// In a sentence.
    pub(crate) fn note(&self) -> Option<String> {
        let field = self
            .field
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone()?;
        self.identified.then(|| {
            format!(
                "answers of `{}` are kept but not reused: `{field}` holds what JSON has no \
                 equal for, such as a tuple or a set; return lists, dicts with str keys, texts \
                 and numbers",
                self.name
            )
        })
    }
}

/// The name of a user's object, which must have a method.
pub(crate) fn name_of(object: &Bound<'_, PyAny>, kind: &str, method: &str) -> PyResult<String> {
    let class = type_name(object);
    let hint = format!("hint: a {kind} has `name` and `{method}`; nothing is subclassed");
    if object.is_instance_of::<pyo3::types::PyType>() {
        let name = object.getattr("__name__")?;
        let what = format!("the class `{name}` was given as a {kind}, not an object of it");
        return Err(PyTypeError::new_err(format!(
            "{what}\nhint: write `{name}()`"
        )));
    }
    if !object.hasattr(method)? {
        let what = format!("`{class}` object has no method `{method}`");
        return Err(PyTypeError::new_err(format!("{what}\n{hint}")));
    }
    let Ok(name) = object.getattr("name") else {
        let what = format!("`{class}` object has no `name`");
        return Err(PyTypeError::new_err(format!("{what}\n{hint}")));
    };
    name.extract::<String>().map_err(|_| {
        let found = type_name(&name);
        PyTypeError::new_err(format!(
            "`name` of `{class}` must be a str, found {found}\n{hint}"
        ))
    })
}

/// What an object says decides its outcomes: its attribute `cache_key`. Without
/// one nothing of it is ever reused, because code cannot be seen through.
pub(crate) fn identity(object: &Bound<'_, PyAny>) -> PyResult<Option<Identity>> {
    let key = match object.getattr("cache_key") {
        Ok(key) if !key.is_none() => convert::to_value(&key)?,
        _ => return Ok(None),
    };
    let class = object.get_type().fully_qualified_name()?;
    let settings = json!({"class": class.to_string_lossy(), "cache_key": Mask::Digest.value(&key)});
    Ok(Some(Identity::new("python", 1, settings)))
}

/// What a call took besides the system's own time.
fn waiting<T>(called: &Called<T>, since: Instant) -> CallStats {
    CallStats {
        pace_wait: since.elapsed().saturating_sub(called.took),
        ..CallStats::default()
    }
}

fn system_error(trouble: &Trouble) -> SystemError {
    let mut error = SystemError::new(FailureKind::Other, trouble.message());
    if let Trouble::Raised(raised) = trouble {
        error.failure.traceback = raised.traceback.clone().map(Into::into);
    }
    error
}

#[async_trait]
impl System for PySystem {
    fn name(&self) -> &str {
        &self.name
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let since = Instant::now();
        let parcel = Parcel::example(example);
        let name = self.name.clone();
        let called = self.desk.call(
            &self.object,
            "process",
            move |py| PyTuple::new(py, [parcel.unpack(py)?]),
            move |returned| match convert::taken_in(returned) {
                Ok(Some(taken)) => Ok(taken),
                Ok(None) => Err(Trouble::Wrong(format!(
                    "system `{name}` returned {} instead of a dict",
                    returned_as(returned)
                ))),
                Err(error) => Err(Trouble::Wrong(format!(
                    "what system `{name}` returned cannot be used: {error}"
                ))),
            },
        );
        let called = called.await;
        let wait = waiting(&called, since);
        match called.result {
            Ok(taken) => Ok(self.output(example, taken).with_call(wait)),
            Err(trouble) => Err(system_error(&trouble).with_call(wait)),
        }
    }

    fn identity(&self) -> Option<Identity> {
        self.identity.clone()
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.converses.then_some(self)
    }
}

/// `None` is the usual mistake: a missing `return`.
pub(crate) fn returned_as(object: &Bound<'_, PyAny>) -> String {
    match object.is_none() {
        true => "None".into(),
        false => format!("a {}", type_name(object)),
    }
}

#[async_trait]
impl Conversation for PySystem {
    async fn process_conversation(&self, turns: &[Turn]) -> Result<Replies, SystemError> {
        let since = Instant::now();
        let turns = turns.to_vec();
        let name = self.name.clone();
        let called = self.desk.call(
            &self.object,
            "process_conversation",
            move |py| PyTuple::new(py, [turns_to_python(py, &turns)?]),
            move |returned| {
                turns_from_python(returned).map_err(|found| {
                    Trouble::Wrong(format!(
                        "`process_conversation` of system `{name}` must return a list of \
                         {{role, content}} dicts, found {found}"
                    ))
                })
            },
        );
        let called = called.await;
        let wait = waiting(&called, since);
        match called.result {
            Ok(turns) => Ok(Replies {
                turns,
                call: Some(wait),
                usage: None,
                remarks: Default::default(),
            }),
            Err(trouble) => Err(system_error(&trouble).with_call(wait)),
        }
    }
}

/// Messages as a list of dicts.
pub(crate) fn turns_to_python<'py>(
    py: Python<'py>,
    turns: &[Turn],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for turn in turns {
        let dict = PyDict::new(py);
        dict.set_item("role", &turn.role)?;
        dict.set_item("content", &turn.content)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Messages as user code gives them, or what was found instead.
pub(crate) fn turns_from_python(object: &Bound<'_, PyAny>) -> Result<Vec<Turn>, String> {
    let found = |object: &Bound<'_, PyAny>| returned_as(object);
    let list = object.cast::<PyList>().map_err(|_| found(object))?;
    let mut turns = Vec::with_capacity(list.len());
    for item in list.iter() {
        let value = convert::to_value(&item).map_err(|error| error.to_string())?;
        let turn = serde_json::from_value(value).map_err(|_| found(&item))?;
        turns.push(turn);
    }
    Ok(turns)
}

/// A system that comes with the library: `truncate:ratio=0.5` and its kin.
#[pyclass(
    frozen,
    subclass,
    name = "NativeSystem",
    module = "context_bench._native"
)]
pub(crate) struct NativeSystem {
    reference: SystemRef,
    relay: Option<Py<PyProxy>>,
}

#[pymethods]
impl NativeSystem {
    #[new]
    #[pyo3(signature = (reference, *, name=None, relay=None))]
    fn new(reference: &str, name: Option<String>, relay: Option<Py<PyProxy>>) -> PyResult<Self> {
        let mut reference: SystemRef = reference.parse().map_err(|error| bad_value(&error))?;
        if let Some(name) = name {
            reference.label = name;
        }
        let system = Self { reference, relay };
        // Names and parameters are wrong now, not when a run begins.
        system.direct()?;
        Ok(system)
    }

    /// The name that reports show.
    #[getter]
    #[allow(clippy::misnamed_getters, reason = "reports show the label")]
    fn name(&self) -> &str {
        &self.reference.label
    }

    /// Processes one example.
    fn process<'py>(
        &self,
        py: Python<'py>,
        example: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        process(py, &*self.direct()?, example)
    }

    fn __repr__(&self) -> String {
        format!("<{} {:?}>", self.reference.name, self.reference.label)
    }
}

impl NativeSystem {
    /// The system of a run, made anew for each: its connections are the run's, and it
    /// counts tokens as the run does.
    fn given(
        &self,
        counter: &Arc<dyn TokenCounter>,
        tasks: Option<&LikelihoodSpec>,
    ) -> PyResult<GivenSystem> {
        let Some(relay) = self.relay.as_ref().map(Py::get) else {
            return Ok(GivenSystem {
                model: Some(BASELINE_READER.to_owned()),
                ..answering(self.build(Arc::new(Reader), counter)?)
            });
        };
        let name = relay.name()?;
        let answerer = match tasks {
            Some(likelihoods) => relay.task_model(name, likelihoods)?,
            None => relay.given(relay.build(name, None)?)?,
        };
        Ok(GivenSystem {
            system: self.build(answerer.system, counter)?,
            ..answerer
        })
    }

    /// The system of a direct call.
    fn direct(&self) -> PyResult<Arc<dyn System>> {
        let answerer: Arc<dyn System> = match &self.relay {
            Some(proxy) => proxy.get().build(proxy.get().name()?, None)?,
            None => Arc::new(Reader),
        };
        self.build(answerer, &Tokenizer::default().counter())
    }

    fn build(
        &self,
        answerer: Arc<dyn System>,
        counter: &Arc<dyn TokenCounter>,
    ) -> PyResult<Arc<dyn System>> {
        let registry = Registry::builtin();
        let factory = registry
            .systems
            .get(&self.reference.name)
            .map_err(|error| bad_value(&error))?;
        let context = SystemContext {
            name: self.reference.label.clone(),
            answerer,
            counter: Arc::clone(counter),
        };
        factory(self.reference.params.clone(), context).map_err(|error| bad_value(&error))
    }
}

/// One example through a native system, for a direct call.
pub(crate) fn process<'py>(
    py: Python<'py>,
    system: &dyn System,
    example: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let example = example_of(example)?;
    let output = blocking::wait(py, system.process(&example))?;
    match output {
        Ok(output) => Parcel::output(&example, &output).unpack(py),
        Err(error) => Err(failed(&error)),
    }
}

/// A direct call that failed is an exception, with advice.
pub(crate) fn failed(error: &SystemError) -> PyErr {
    let hint = match error.failure.kind {
        FailureKind::Unauthorized => Some("set `OPENAI_API_KEY`, or pass `api_key`".into()),
        kind => kind.hint().map(in_python),
    };
    let hint = hint.map(|hint: String| format!("\nhint: {hint}"));
    let text = format!("{error}{}", hint.unwrap_or_default());
    pyo3::exceptions::PyRuntimeError::new_err(text)
}

/// An example of a direct call.
pub(crate) fn example_of(object: &Bound<'_, PyAny>) -> PyResult<Example> {
    match convert::taken_in(object)? {
        Some(taken) => Ok(Example::from(taken.fields).with_source(taken.source)),
        None => {
            let found = returned_as(object);
            Err(PyTypeError::new_err(format!(
                "an example must be a dict, found {found}\nhint: `{{\"context\": …, \"question\": …}}`"
            )))
        }
    }
}

/// A system of a run.
pub(crate) struct OfRun {
    pub(crate) given: GivenSystem,
    /// Of Python code: what it returned that the store cannot hold.
    pub(crate) lossy: Option<Lossy>,
}

impl OfRun {
    fn native(given: GivenSystem) -> Self {
        Self { given, lossy: None }
    }

    fn python(system: PySystem) -> Self {
        Self {
            lossy: Some(Lossy {
                name: system.name.clone(),
                identified: system.identity.is_some(),
                field: Arc::clone(&system.lossy),
            }),
            given: answering(Arc::new(system)),
        }
    }
}

/// A system without an endpoint that plans need to know of.
fn answering(system: Arc<dyn System>) -> GivenSystem {
    GivenSystem {
        system,
        endpoint: None,
        model: None,
        listing: None,
        gives_likelihoods: false,
        has_layout: false,
    }
}

/// The system that an object stands for in a run; with tasks, endpoints get what tasks
/// ask for.
pub(crate) fn of_object(
    object: &Bound<'_, PyAny>,
    desk: &Arc<Desk>,
    counter: &Arc<dyn TokenCounter>,
    tasks: Option<&LikelihoodSpec>,
) -> PyResult<OfRun> {
    if let Ok(proxy) = object.cast::<PyProxy>()
        && is_own::<PyProxy>(object, "process")?
        && is_own::<PyProxy>(object, "process_conversation")?
    {
        // A subclass may have a name of its own.
        let name = name_of(object, "system", "process")?;
        let given = match tasks {
            Some(likelihoods) => proxy.get().task_model(name, likelihoods)?,
            None => {
                let key = identity(object)?;
                let system = proxy.get().build(name, Some((desk, key)))?;
                proxy.get().given(system)?
            }
        };
        return Ok(OfRun::native(given));
    }
    if let Ok(native) = object.cast::<NativeSystem>()
        && is_own::<NativeSystem>(object, "process")?
    {
        return Ok(OfRun::native(native.get().given(counter, tasks)?));
    }
    Ok(OfRun::python(PySystem::new(object, desk)?))
}

/// Whether a method is the native one, and not that of a subclass.
pub(crate) fn is_own<T: PyTypeInfo>(object: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    let own = object.py().get_type::<T>().getattr(method)?;
    Ok(object.get_type().getattr(method)?.is(&own))
}
