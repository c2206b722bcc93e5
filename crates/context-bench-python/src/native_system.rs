//! `NativeSystem`: a context layer of the library, such as `truncate:ratio=0.5`.

use std::sync::Arc;

use context_bench::chat::Pace;
use context_bench::plan::LikelihoodSpec;
use context_bench::planner::{BASELINE_READER, GivenSystem};
use context_bench::registry::{Registry, SystemContext, SystemRef};
use context_bench::system::{Reader, SystemError};
use context_bench::tokens::{TokenCounter, Tokenizer};
use context_bench::{FailureKind, System};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::blocking;
use crate::error::{bad_value, in_python_terms};
use crate::example_dict::{DeferredDict, read_example};
use crate::proxy::NativeProxy;
use crate::system::without_endpoint;

/// A system that comes with the library.
#[pyclass(
    frozen,
    subclass,
    name = "NativeSystem",
    module = "context_bench._native"
)]
pub(crate) struct NativeSystem {
    /// The reference as it was typed.
    typed: String,
    reference: SystemRef,
    relay: Option<Py<NativeProxy>>,
}

#[pymethods]
impl NativeSystem {
    #[new]
    #[pyo3(signature = (reference, *, name=None, relay=None))]
    fn new(
        reference: &str,
        name: Option<String>,
        relay: Option<Py<NativeProxy>>,
    ) -> PyResult<Self> {
        let typed = reference.to_owned();
        let mut reference: SystemRef = typed.parse().map_err(|error| bad_value(&error))?;
        if let Some(name) = name {
            reference.label = name;
        }
        let system = Self {
            typed,
            reference,
            relay,
        };
        // Wrong names and parameters should fail now, not when a run begins.
        system.direct()?;
        Ok(system)
    }

    /// The name that reports show.
    #[getter]
    #[allow(clippy::misnamed_getters, reason = "reports show the label")]
    fn name(&self) -> &str {
        &self.reference.label
    }

    /// How it is made again in another process.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("name", &self.reference.label)?;
        named.set_item(
            "relay",
            self.relay.as_ref().map(|relay| relay.clone_ref(py)),
        )?;
        Ok(((self.typed.clone(),), named))
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
    /// The system for one run. It is made anew for each run, because its connections belong to
    /// the run and it counts tokens as the run does.
    pub(crate) fn given(
        &self,
        counter: &Arc<dyn TokenCounter>,
        tasks: Option<&LikelihoodSpec>,
        pace: Option<Arc<Pace>>,
    ) -> PyResult<GivenSystem> {
        let Some(relay) = self.relay.as_ref().map(Py::get) else {
            return Ok(GivenSystem {
                model: Some(BASELINE_READER.to_owned()),
                ..without_endpoint(self.build(Arc::new(Reader), counter)?)
            });
        };
        let name = relay.name()?;
        let answerer = match tasks {
            Some(likelihoods) => relay.task_model(name, likelihoods)?,
            None => relay.given(relay.build(name, None, pace)?)?,
        };
        Ok(GivenSystem {
            system: self.build(answerer.system, counter)?,
            ..answerer
        })
    }

    /// The system for a direct call.
    fn direct(&self) -> PyResult<Arc<dyn System>> {
        let answerer: Arc<dyn System> = match &self.relay {
            Some(proxy) => proxy.get().build(proxy.get().name()?, None, None)?,
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

/// Sends one example through a native system, for a direct call.
pub(crate) fn process<'py>(
    py: Python<'py>,
    system: &dyn System,
    example: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let example = read_example(example)?;
    let output = blocking::wait(py, system.process(&example))?;
    match output {
        Ok(output) => DeferredDict::output(&example, &output).build(py),
        Err(error) => Err(call_failed(&error)),
    }
}

/// The exception of a direct call that failed, with a hint.
pub(crate) fn call_failed(error: &SystemError) -> PyErr {
    let hint = match error.failure.kind {
        FailureKind::Unauthorized => Some(
            "set `OPENAI_API_KEY` (`ANTHROPIC_API_KEY` with `api=\"anthropic\"`), or pass `api_key`"
                .into(),
        ),
        kind => kind.hint().map(in_python_terms),
    };
    let hint = hint.map(|hint: String| format!("\nhint: {hint}"));
    let text = format!("{error}{}", hint.unwrap_or_default());
    PyRuntimeError::new_err(text)
}
