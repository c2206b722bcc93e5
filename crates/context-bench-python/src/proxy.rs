//! `OpenAIProxy`: a system behind an endpoint.

mod config;
mod systems;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_bench::chat::{Api, DEFAULT_MODEL, Endpoint, Pace, Secret};
use context_bench::plan::LikelihoodSpec;
use context_bench::planner::{GivenSystem, Listing, likelihood_settings};
use context_bench::system::{Conversation as _, Layout, OpenAiProxy, OpenAiProxySettings};
use context_bench::task::TaskModel;
use context_bench::{Identity, System};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::error::{bad_value, printable};
use crate::example_dict::{DeferredDict, read_example};
use crate::executor::PythonExecutor;
use crate::native_system::{self, call_failed};
use crate::python_object::not_initialized;
use crate::turns::{turns_from_python, turns_to_python};
use crate::{blocking, convert};
use config::ProxyConfig;
use systems::{CheckedProxy, CustomMessagesProxy, SENT, answer, read_messages, with_messages};

pub(crate) use config::{environment_key, seconds};

/// An endpoint and how to ask it. Connections are made per run and per process.
#[pyclass(
    frozen,
    subclass,
    name = "OpenAIProxy",
    module = "context_bench._native"
)]
#[derive(Default)]
pub(crate) struct NativeProxy(Mutex<State>);

#[derive(Default)]
struct State {
    /// `None` before `__init__`, which a subclass may call with other arguments.
    config: Option<ProxyConfig>,
    /// The proxy for direct calls, and the process that connected it.
    direct: Option<(u32, Arc<OpenAiProxy>)>,
}

#[pymethods]
impl NativeProxy {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self::default()
    }

    #[pyo3(signature = (base_url, model=DEFAULT_MODEL, name=None, api_key=None,
        system_prompt=None, build_messages=None, timeout=300.0, extra_body=None,
        max_retries=3, retry_base_delay=1.0, *, generation=None, layout=None, api=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the arguments of the Python class"
    )]
    fn __init__(
        &self,
        base_url: &str,
        model: &str,
        name: Option<String>,
        api_key: Option<String>,
        system_prompt: Option<String>,
        build_messages: Option<Py<PyAny>>,
        timeout: f64,
        extra_body: Option<&Bound<'_, PyDict>>,
        max_retries: i64,
        retry_base_delay: f64,
        generation: Option<&Bound<'_, PyDict>>,
        layout: Option<&str>,
        api: Option<&str>,
    ) -> PyResult<()> {
        let api = api.map_or(Ok(Api::default()), config::api)?;
        let key = api_key
            .filter(|key| !key.is_empty())
            .or_else(|| config::environment_key(api));
        let mut settings = OpenAiProxySettings::new(base_url);
        settings.api = api;
        settings.model = model.to_owned();
        settings.name = name;
        settings.api_key = key.map(Secret::new);
        settings.system_prompt = system_prompt;
        settings.layout = layout.map_or(Ok(Layout::default()), config::layout)?;
        settings.timeout = seconds("timeout", timeout)?;
        settings.generation = config::generation(generation)?;
        settings.extra_body = config::body("extra_body", extra_body)?;
        settings.max_retries = config::retries(max_retries)?;
        settings.retry_base_delay = seconds("retry_base_delay", retry_base_delay)?;
        self.set(ProxyConfig::new(settings, build_messages)?);
        Ok(())
    }

    /// The name that reports show.
    #[getter]
    pub(crate) fn name(&self) -> PyResult<String> {
        Ok(self.config()?.name)
    }

    #[setter]
    fn set_name(&self, name: String) -> PyResult<()> {
        self.change(|settings| settings.name = Some(name))
    }

    /// The model to ask for.
    #[getter]
    fn model(&self) -> PyResult<String> {
        Ok(self.config()?.settings.model)
    }

    #[setter]
    fn set_model(&self, model: String) -> PyResult<()> {
        self.change(|settings| settings.model = model)
    }

    /// The address that requests go to.
    #[getter]
    fn base_url(&self) -> PyResult<String> {
        let url = self.config()?.settings.base_url;
        Ok(url.trim_end_matches('/').to_owned())
    }

    #[setter]
    fn set_base_url(&self, base_url: String) -> PyResult<()> {
        self.change(|settings| settings.base_url = base_url)
    }

    /// The API key of requests.
    #[getter]
    fn api_key(&self) -> PyResult<Option<String>> {
        let key = self.config()?.settings.api_key;
        Ok(key.map(|key| key.expose().to_owned()))
    }

    #[setter]
    fn set_api_key(&self, key: Option<String>) -> PyResult<()> {
        self.change(|settings| settings.api_key = key.map(Secret::new))
    }

    /// The system message before all other messages.
    #[getter]
    fn system_prompt(&self) -> PyResult<Option<String>> {
        Ok(self.config()?.settings.system_prompt)
    }

    #[setter]
    fn set_system_prompt(&self, prompt: Option<String>) -> PyResult<()> {
        self.change(|settings| settings.system_prompt = prompt)
    }

    /// Where the context goes: `system`, `user` or `tool`.
    #[getter]
    fn layout(&self) -> PyResult<&'static str> {
        Ok(self.config()?.settings.layout.as_str())
    }

    #[setter]
    fn set_layout(&self, layout: &str) -> PyResult<()> {
        let layout = config::layout(layout)?;
        self.change(|settings| settings.layout = layout)
    }

    /// The format in which the endpoint is asked: `openai`, `responses` or `anthropic`.
    #[getter]
    fn api(&self) -> PyResult<&'static str> {
        Ok(self.config()?.settings.api.as_str())
    }

    #[setter]
    fn set_api(&self, api: &str) -> PyResult<()> {
        let api = config::api(api)?;
        self.change(|settings| settings.api = api)
    }

    /// The time limit of one attempt, in seconds.
    #[getter]
    fn timeout(&self) -> PyResult<f64> {
        Ok(self.config()?.settings.timeout.as_secs_f64())
    }

    #[setter]
    fn set_timeout(&self, timeout: f64) -> PyResult<()> {
        let timeout = seconds("timeout", timeout)?;
        self.change(|settings| settings.timeout = timeout)
    }

    /// A copy of the extra members of request bodies.
    #[getter]
    fn extra_body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        convert::dict(py, &self.config()?.settings.extra_body)
    }

    #[setter]
    fn set_extra_body(&self, extra_body: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let body = config::body("extra_body", extra_body)?;
        self.change(|settings| settings.extra_body = body)
    }

    /// A copy of the generation settings.
    #[getter]
    fn generation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        convert::dict(py, &self.config()?.settings.generation)
    }

    #[setter]
    fn set_generation(&self, generation: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let generation = config::generation(generation)?;
        self.change(|settings| settings.generation = generation)
    }

    /// The number of retries.
    #[getter]
    fn max_retries(&self) -> PyResult<u32> {
        Ok(self.config()?.settings.max_retries)
    }

    #[setter]
    fn set_max_retries(&self, max_retries: i64) -> PyResult<()> {
        let max_retries = config::retries(max_retries)?;
        self.change(|settings| settings.max_retries = max_retries)
    }

    /// The delay before the first retry, in seconds.
    #[getter]
    fn retry_base_delay(&self) -> PyResult<f64> {
        Ok(self.config()?.settings.retry_base_delay.as_secs_f64())
    }

    #[setter]
    fn set_retry_base_delay(&self, delay: f64) -> PyResult<()> {
        let delay = seconds("retry_base_delay", delay)?;
        self.change(|settings| settings.retry_base_delay = delay)
    }

    /// The function that builds the messages, if there is one.
    #[getter]
    fn build_messages(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let build = self.config()?.build_messages;
        Ok(build.map(|build| build.clone_ref(py)))
    }

    #[setter]
    fn set_build_messages(&self, build: Option<Py<PyAny>>) -> PyResult<()> {
        let settings = self.config()?.settings;
        self.set(ProxyConfig::new(settings, build)?);
        Ok(())
    }

    /// All settings and the attributes of a subclass, for copies in other processes.
    fn __getstate__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let ProxyConfig {
            settings,
            build_messages,
            ..
        } = slf.get().config()?;
        let arguments = PyDict::new(py);
        arguments.set_item("base_url", settings.base_url)?;
        arguments.set_item("model", settings.model)?;
        arguments.set_item("name", settings.name)?;
        // A key of the environment is not pickled; the copy finds it there again.
        let key = settings.api_key.map(|key| key.expose().to_owned());
        arguments.set_item(
            "api_key",
            key.filter(|key| config::environment_key(settings.api).as_ref() != Some(key)),
        )?;
        arguments.set_item("system_prompt", settings.system_prompt)?;
        let build = build_messages.map(|build| build.clone_ref(py));
        arguments.set_item("build_messages", build)?;
        arguments.set_item("timeout", settings.timeout.as_secs_f64())?;
        arguments.set_item("extra_body", convert::dict(py, &settings.extra_body)?)?;
        arguments.set_item("generation", convert::dict(py, &settings.generation)?)?;
        arguments.set_item("max_retries", settings.max_retries)?;
        arguments.set_item("retry_base_delay", settings.retry_base_delay.as_secs_f64())?;
        arguments.set_item("layout", settings.layout.as_str())?;
        arguments.set_item("api", settings.api.as_str())?;
        let attributes = match slf.getattr("__dict__") {
            Ok(attributes) => attributes,
            Err(_) => PyDict::new(py).into_any(),
        };
        PyTuple::new(py, [arguments.into_any(), attributes])
    }

    fn __setstate__(
        slf: &Bound<'_, Self>,
        state: (Bound<'_, PyDict>, Bound<'_, PyDict>),
    ) -> PyResult<()> {
        let (arguments, attributes) = state;
        let class = slf.py().get_type::<Self>();
        class.call_method("__init__", (slf,), Some(&arguments))?;
        if !attributes.is_empty() {
            slf.getattr("__dict__")?
                .call_method1("update", (attributes,))?;
        }
        Ok(())
    }

    /// Sends one example; returns it with `response` and `api_usage`.
    fn process<'py>(
        &self,
        py: Python<'py>,
        example: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let proxy = self.direct()?;
        let config = self.config()?;
        let Some(build) = &config.build_messages else {
            if let Some(problem) = convert::why_not_sent(&read_example(example)?, &SENT) {
                return Err(PyTypeError::new_err(problem));
            }
            return native_system::process(py, &*proxy, example);
        };
        let original = read_example(example)?;
        let messages = build.bind(py).call1((example,))?;
        let messages = read_messages(&messages).map_err(PyTypeError::new_err)?;
        let asked = with_messages(&original, messages);
        let bare = config.connect_without_prompt()?;
        let output = blocking::wait(py, bare.process(&asked))?;
        let output = output.map_err(|error| call_failed(&error))?;
        DeferredDict::output(&original, &answer(&original, &output)).build(py)
    }

    /// Holds a conversation; returns the assistant's messages.
    fn process_conversation<'py>(
        &self,
        py: Python<'py>,
        turns: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let turns = turns_from_python(turns).map_err(|found| {
            let what = format!("`turns` must be a list of {{role, content}} dicts, found {found}");
            PyTypeError::new_err(what)
        })?;
        let proxy = self.direct()?;
        let replies = blocking::wait(py, proxy.process_conversation(&turns))?;
        match replies {
            Ok(replies) => turns_to_python(py, &replies.turns),
            Err(error) => Err(call_failed(&error)),
        }
    }

    fn __repr__(&self) -> PyResult<String> {
        let config = self.config()?;
        let (name, model) = (printable(&config.name), printable(&config.settings.model));
        Ok(format!("OpenAIProxy(name={name:?}, model={model:?})"))
    }
}

impl NativeProxy {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn config(&self) -> PyResult<ProxyConfig> {
        let config = self.state().config.clone();
        config.ok_or_else(|| not_initialized("OpenAIProxy"))
    }

    /// Replaces the configuration. Connections of the old one are not used again.
    fn set(&self, config: ProxyConfig) {
        let mut state = self.state();
        state.config = Some(config);
        state.direct = None;
    }

    fn change(&self, change: impl FnOnce(&mut OpenAiProxySettings)) -> PyResult<()> {
        let ProxyConfig {
            mut settings,
            build_messages,
            ..
        } = self.config()?;
        change(&mut settings);
        let mut config = ProxyConfig::new(settings, None)?;
        config.build_messages = build_messages;
        self.set(config);
        Ok(())
    }

    /// A system for one run. Its connections end with the run's runtime.
    pub(crate) fn build(
        &self,
        name: String,
        executor: Option<(&Arc<PythonExecutor>, Option<Identity>)>,
        pace: Option<Arc<Pace>>,
    ) -> PyResult<Arc<dyn System>> {
        let mut config = self.config()?;
        config.settings.pace = pace;
        let proxy = config.connect(Some(name))?;
        match (&config.build_messages, executor) {
            (Some(build), Some((executor, key))) => Ok(Arc::new(CustomMessagesProxy {
                proxy,
                bare: config.connect_without_prompt()?,
                build_messages: Arc::clone(build),
                executor: Arc::clone(executor),
                key,
            })),
            _ => Ok(Arc::new(CheckedProxy(proxy))),
        }
    }

    /// The model behind the endpoint for a run of tasks, which may ask for likelihoods.
    pub(crate) fn task_model(&self, name: String, spec: &LikelihoodSpec) -> PyResult<GivenSystem> {
        let mut settings = self.config()?.settings;
        settings.name = Some(name);
        let likelihoods = likelihood_settings(spec, settings.api, &settings.base_url);
        let gives_likelihoods = likelihoods.is_some();
        let system = TaskModel::new(settings, likelihoods);
        let system = Arc::new(system.map_err(|error| bad_value(&error))?);
        Ok(GivenSystem {
            gives_likelihoods,
            ..self.given(system)?
        })
    }

    /// A system that asks this endpoint, with what the planner needs to know about it.
    pub(crate) fn given(&self, system: Arc<dyn System>) -> PyResult<GivenSystem> {
        let settings = self.config()?.settings;
        let endpoint = Endpoint::of(settings.api, &settings.base_url);
        Ok(GivenSystem {
            listing: Listing::of(&settings),
            system,
            endpoint: Some(endpoint.map_err(|error| bad_value(&error))?),
            model: Some(settings.model),
            gives_likelihoods: false,
            has_layout: settings.layout != Layout::default(),
        })
    }

    /// The proxy for direct calls in this process.
    fn direct(&self) -> PyResult<Arc<OpenAiProxy>> {
        let process = std::process::id();
        let config = self.config()?;
        let mut state = self.state();
        if let Some((owner, proxy)) = &state.direct
            && *owner == process
        {
            return Ok(Arc::clone(proxy));
        }
        let proxy = Arc::new(config.connect(None)?);
        // Connections of a parent process are its attributes: left alone, not closed.
        if let Some((_, inherited)) = state.direct.replace((process, Arc::clone(&proxy))) {
            std::mem::forget(inherited);
        }
        Ok(proxy)
    }
}
