//! `OpenAIProxy`: a system behind an OpenAI-compatible endpoint.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use context_bench::chat::{DEFAULT_MODEL, Endpoint, Secret};
use context_bench::plan::LikelihoodSpec;
use context_bench::planner::{GivenSystem, Listing, likelihood_settings};
use context_bench::system::{
    Conversation, Layout, OpenAiProxy, OpenAiProxySettings, Replies, SystemError, UnknownLayout,
};
use context_bench::task::TaskModel;
use context_bench::{Example, FailureKind, Identity, Output, System, Turn};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::{Map, Value, json};

use crate::blocking;
use crate::call::{Desk, Object, Trouble};
use crate::convert::{self, Parcel};
use crate::error::{bad_value, shown};
use crate::system::{self, example_of, failed, turns_from_python, turns_to_python};

/// The endpoint and how to ask it. Connections are made per run and per process.
#[pyclass(
    frozen,
    subclass,
    name = "OpenAIProxy",
    module = "context_bench._native"
)]
#[derive(Default)]
pub(crate) struct PyProxy(Mutex<State>);

#[derive(Default)]
struct State {
    /// Nothing before `__init__`, which a subclass calls with arguments of its own.
    made: Option<Made>,
    /// For direct calls, of the process that made it.
    direct: Option<(u32, Arc<OpenAiProxy>)>,
}

#[derive(Clone)]
struct Made {
    settings: OpenAiProxySettings,
    name: String,
    build_messages: Option<Object>,
}

impl Made {
    fn new(settings: OpenAiProxySettings, build_messages: Option<Py<PyAny>>) -> PyResult<Self> {
        let made = OpenAiProxy::with_settings(settings.clone());
        let made = made.map_err(|error| bad_value(&error))?;
        Ok(Self {
            name: made.name().to_owned(),
            settings,
            build_messages: build_messages.map(Arc::new),
        })
    }

    fn fresh(&self, name: Option<String>) -> PyResult<OpenAiProxy> {
        let mut settings = self.settings.clone();
        settings.name = name.or(settings.name);
        OpenAiProxy::with_settings(settings).map_err(|error| bad_value(&error))
    }

    /// Sends given messages and nothing before them.
    fn without_prompt(&self) -> PyResult<OpenAiProxy> {
        let silent = Self {
            settings: {
                let mut settings = self.settings.clone();
                settings.system_prompt = None;
                settings
            },
            ..self.clone()
        };
        silent.fresh(None)
    }
}

#[pymethods]
impl PyProxy {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self::default()
    }

    #[pyo3(signature = (base_url, model=DEFAULT_MODEL, name=None, api_key=None,
        system_prompt=None, build_messages=None, timeout=300.0, extra_body=None,
        max_retries=3, retry_base_delay=1.0, *, generation=None, layout=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "these are the arguments that users know"
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
    ) -> PyResult<()> {
        let key = api_key
            .filter(|key| !key.is_empty())
            .or_else(environment_key);
        let mut settings = OpenAiProxySettings::new(base_url);
        settings.model = model.to_owned();
        settings.name = name;
        settings.api_key = key.map(Secret::new);
        settings.system_prompt = system_prompt;
        settings.layout = layout.map_or(Ok(Layout::default()), read_layout)?;
        settings.timeout = seconds("timeout", timeout)?;
        settings.generation = generation_of(generation)?;
        settings.extra_body = body("extra_body", extra_body)?;
        settings.max_retries = retries(max_retries)?;
        settings.retry_base_delay = seconds("retry_base_delay", retry_base_delay)?;
        self.set(Made::new(settings, build_messages)?);
        Ok(())
    }

    /// The name that reports show.
    #[getter]
    pub(crate) fn name(&self) -> PyResult<String> {
        Ok(self.made()?.name)
    }

    #[setter]
    fn set_name(&self, name: String) -> PyResult<()> {
        self.change(|settings| settings.name = Some(name))
    }

    /// The model that is asked for.
    #[getter]
    fn model(&self) -> PyResult<String> {
        Ok(self.made()?.settings.model)
    }

    #[setter]
    fn set_model(&self, model: String) -> PyResult<()> {
        self.change(|settings| settings.model = model)
    }

    /// Where requests go, as it was given.
    #[getter]
    fn base_url(&self) -> PyResult<String> {
        let url = self.made()?.settings.base_url;
        Ok(url.trim_end_matches('/').to_owned())
    }

    #[setter]
    fn set_base_url(&self, base_url: String) -> PyResult<()> {
        self.change(|settings| settings.base_url = base_url)
    }

    /// The key that requests carry.
    #[getter]
    fn api_key(&self) -> PyResult<Option<String>> {
        let key = self.made()?.settings.api_key;
        Ok(key.map(|key| key.expose().to_owned()))
    }

    #[setter]
    fn set_api_key(&self, key: Option<String>) -> PyResult<()> {
        self.change(|settings| settings.api_key = key.map(Secret::new))
    }

    /// The system message before all others.
    #[getter]
    fn system_prompt(&self) -> PyResult<Option<String>> {
        Ok(self.made()?.settings.system_prompt)
    }

    #[setter]
    fn set_system_prompt(&self, prompt: Option<String>) -> PyResult<()> {
        self.change(|settings| settings.system_prompt = prompt)
    }

    /// Where the context stands: `system`, `user` or `tool`.
    #[getter]
    fn layout(&self) -> PyResult<&'static str> {
        Ok(self.made()?.settings.layout.as_str())
    }

    #[setter]
    fn set_layout(&self, layout: &str) -> PyResult<()> {
        let layout = read_layout(layout)?;
        self.change(|settings| settings.layout = layout)
    }

    /// Seconds that one attempt may take.
    #[getter]
    fn timeout(&self) -> PyResult<f64> {
        Ok(self.made()?.settings.timeout.as_secs_f64())
    }

    #[setter]
    fn set_timeout(&self, timeout: f64) -> PyResult<()> {
        let timeout = seconds("timeout", timeout)?;
        self.change(|settings| settings.timeout = timeout)
    }

    /// Members of the request body; a copy.
    #[getter]
    fn extra_body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        convert::dict(py, &self.made()?.settings.extra_body)
    }

    #[setter]
    fn set_extra_body(&self, extra_body: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let body = body("extra_body", extra_body)?;
        self.change(|settings| settings.extra_body = body)
    }

    /// How answers are generated; a copy.
    #[getter]
    fn generation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        convert::dict(py, &self.made()?.settings.generation)
    }

    #[setter]
    fn set_generation(&self, generation: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let generation = generation_of(generation)?;
        self.change(|settings| settings.generation = generation)
    }

    /// Attempts after the first one.
    #[getter]
    fn max_retries(&self) -> PyResult<u32> {
        Ok(self.made()?.settings.max_retries)
    }

    #[setter]
    fn set_max_retries(&self, max_retries: i64) -> PyResult<()> {
        let max_retries = retries(max_retries)?;
        self.change(|settings| settings.max_retries = max_retries)
    }

    /// Seconds before the first retry.
    #[getter]
    fn retry_base_delay(&self) -> PyResult<f64> {
        Ok(self.made()?.settings.retry_base_delay.as_secs_f64())
    }

    #[setter]
    fn set_retry_base_delay(&self, delay: f64) -> PyResult<()> {
        let delay = seconds("retry_base_delay", delay)?;
        self.change(|settings| settings.retry_base_delay = delay)
    }

    /// The function that makes the messages, if there is one.
    #[getter]
    fn build_messages(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let build = self.made()?.build_messages;
        Ok(build.map(|build| build.clone_ref(py)))
    }

    #[setter]
    fn set_build_messages(&self, build: Option<Py<PyAny>>) -> PyResult<()> {
        let made = self.made()?;
        self.set(Made::new(made.settings, build)?);
        Ok(())
    }

    /// All settings and what a subclass added, for copies in other processes.
    fn __getstate__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let Made {
            settings,
            build_messages,
            ..
        } = slf.get().made()?;
        let kept = PyDict::new(py);
        kept.set_item("base_url", settings.base_url)?;
        kept.set_item("model", settings.model)?;
        kept.set_item("name", settings.name)?;
        // A key of the environment is found there again.
        let key = settings.api_key.map(|key| key.expose().to_owned());
        kept.set_item(
            "api_key",
            key.filter(|key| environment_key().as_ref() != Some(key)),
        )?;
        kept.set_item("system_prompt", settings.system_prompt)?;
        let build = build_messages.map(|build| build.clone_ref(py));
        kept.set_item("build_messages", build)?;
        kept.set_item("timeout", settings.timeout.as_secs_f64())?;
        kept.set_item("extra_body", convert::dict(py, &settings.extra_body)?)?;
        kept.set_item("generation", convert::dict(py, &settings.generation)?)?;
        kept.set_item("max_retries", settings.max_retries)?;
        kept.set_item("retry_base_delay", settings.retry_base_delay.as_secs_f64())?;
        kept.set_item("layout", settings.layout.as_str())?;
        let own = match slf.getattr("__dict__") {
            Ok(own) => own,
            Err(_) => PyDict::new(py).into_any(),
        };
        PyTuple::new(py, [kept.into_any(), own])
    }

    fn __setstate__(
        slf: &Bound<'_, Self>,
        state: (Bound<'_, PyDict>, Bound<'_, PyDict>),
    ) -> PyResult<()> {
        let (kept, own) = state;
        let class = slf.py().get_type::<Self>();
        class.call_method("__init__", (slf,), Some(&kept))?;
        if !own.is_empty() {
            slf.getattr("__dict__")?.call_method1("update", (own,))?;
        }
        Ok(())
    }

    /// Sends one example; gives it back with `response` and `api_usage`.
    fn process<'py>(
        &self,
        py: Python<'py>,
        example: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let proxy = self.direct()?;
        let made = self.made()?;
        let Some(build) = &made.build_messages else {
            if let Some(problem) = convert::why_not_sent(&example_of(example)?, &SENT) {
                return Err(PyTypeError::new_err(problem));
            }
            return system::process(py, &*proxy, example);
        };
        let original = example_of(example)?;
        let messages = build.bind(py).call1((example,))?;
        let asked = asked(
            &original,
            read_messages(&messages).map_err(PyTypeError::new_err)?,
        );
        let silent = made.without_prompt()?;
        let output = blocking::wait(py, silent.process(&asked))?;
        let output = output.map_err(|error| failed(&error))?;
        Parcel::output(&original, &answered(&original, &output)).unpack(py)
    }

    /// Holds a conversation; gives the assistant's messages.
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
            Err(error) => Err(failed(&error)),
        }
    }

    fn __repr__(&self) -> PyResult<String> {
        let made = self.made()?;
        let (name, model) = (shown(&made.name), shown(&made.settings.model));
        Ok(format!("OpenAIProxy(name={name:?}, model={model:?})"))
    }
}

impl PyProxy {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn made(&self) -> PyResult<Made> {
        let made = self.state().made.clone();
        made.ok_or_else(|| not_begun("OpenAIProxy"))
    }

    /// New settings; connections of the old ones are not used again.
    fn set(&self, made: Made) {
        let mut state = self.state();
        state.made = Some(made);
        state.direct = None;
    }

    fn change(&self, change: impl FnOnce(&mut OpenAiProxySettings)) -> PyResult<()> {
        let Made {
            mut settings,
            build_messages,
            ..
        } = self.made()?;
        change(&mut settings);
        let mut made = Made::new(settings, None)?;
        made.build_messages = build_messages;
        self.set(made);
        Ok(())
    }

    /// A system for one run. Its connections end with the run's runtime.
    pub(crate) fn build(
        &self,
        name: String,
        desk: Option<(&Arc<Desk>, Option<Identity>)>,
    ) -> PyResult<Arc<dyn System>> {
        let made = self.made()?;
        let proxy = made.fresh(Some(name))?;
        match (&made.build_messages, desk) {
            (Some(build), Some((desk, key))) => Ok(Arc::new(OwnMessages {
                proxy,
                silent: made.without_prompt()?,
                build: Arc::clone(build),
                desk: Arc::clone(desk),
                key,
            })),
            _ => Ok(Arc::new(Checked(proxy))),
        }
    }

    /// The model behind the endpoint, for tasks: likelihoods are asked for as a spec says.
    pub(crate) fn task_model(&self, name: String, spec: &LikelihoodSpec) -> PyResult<GivenSystem> {
        let mut settings = self.made()?.settings;
        settings.name = Some(name);
        let likelihoods = likelihood_settings(spec, &settings.base_url);
        let gives_likelihoods = likelihoods.is_some();
        let system = TaskModel::new(settings, likelihoods);
        let system = Arc::new(system.map_err(|error| bad_value(&error))?);
        Ok(GivenSystem {
            gives_likelihoods,
            ..self.given(system)?
        })
    }

    /// A system that asks this endpoint, with what plans need to know of it.
    pub(crate) fn given(&self, system: Arc<dyn System>) -> PyResult<GivenSystem> {
        let settings = self.made()?.settings;
        let endpoint = Endpoint::parse(&settings.base_url);
        Ok(GivenSystem {
            listing: Listing::of(&settings),
            system,
            endpoint: Some(endpoint.map_err(|error| bad_value(&error))?),
            model: Some(settings.model),
            gives_likelihoods: false,
            has_layout: settings.layout != Layout::default(),
        })
    }

    /// The proxy for direct calls of this process.
    fn direct(&self) -> PyResult<Arc<OpenAiProxy>> {
        let process = std::process::id();
        let made = self.made()?;
        let mut state = self.state();
        if let Some((owner, proxy)) = &state.direct
            && *owner == process
        {
            return Ok(Arc::clone(proxy));
        }
        let proxy = Arc::new(made.fresh(None)?);
        // Connections of a parent process are its own: left alone, not closed.
        if let Some((_, inherited)) = state.direct.replace((process, Arc::clone(&proxy))) {
            std::mem::forget(inherited);
        }
        Ok(proxy)
    }
}

/// A subclass whose `__init__` does not call ours.
pub(crate) fn not_begun(class: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "`{class}.__init__` was not called\nhint: call `super().__init__(…)` first"
    ))
}

fn body(what: &str, members: Option<&Bound<'_, PyDict>>) -> PyResult<Map<String, Value>> {
    match members.map(|body| convert::to_sendable(what, body)) {
        Some(Ok(Value::Object(body))) => Ok(body),
        Some(Err(error)) => Err(error),
        _ => Ok(Map::new()),
    }
}

/// Settings of generation; what is `None` is left to the endpoint.
fn generation_of(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Map<String, Value>> {
    let mut settings = body("generation", settings)?;
    settings.retain(|_, value| !value.is_null());
    Ok(settings)
}

fn read_layout(name: &str) -> PyResult<Layout> {
    name.parse()
        .map_err(|error: UnknownLayout| bad_value(&error))
}

fn retries(n: i64) -> PyResult<u32> {
    u32::try_from(n).map_err(|_| {
        let what = format!("`max_retries` cannot be {n}\nhint: 0 tries once");
        PyValueError::new_err(what)
    })
}

/// The fields of an example that a proxy sends.
const SENT: [&str; 3] = ["turns", "context", "question"];

/// A proxy that sends nothing that is only a stand-in for something else.
struct Checked(OpenAiProxy);

#[async_trait]
impl System for Checked {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        match convert::why_not_sent(example, &SENT) {
            Some(problem) => Err(SystemError::new(FailureKind::Other, problem)),
            None => self.0.process(example).await,
        }
    }

    fn identity(&self) -> Option<Identity> {
        self.0.identity()
    }

    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        self.0.prompt(example)
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.0.as_conversation()
    }
}

fn environment_key() -> Option<String> {
    std::env::var("OPENAI_API_KEY")
        .ok()
        .filter(|key| !key.is_empty())
}

/// Seconds as users write them.
pub(crate) fn seconds(what: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("`{what}` cannot be {seconds} seconds")))
}

/// A proxy whose messages user code makes.
struct OwnMessages {
    /// Holds conversations.
    proxy: OpenAiProxy,
    /// Sends the messages as they are.
    silent: OpenAiProxy,
    build: Object,
    desk: Arc<Desk>,
    /// What the user says decides the messages.
    key: Option<Identity>,
}

#[async_trait]
impl System for OwnMessages {
    fn name(&self) -> &str {
        self.proxy.name()
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let parcel = Parcel::example(example);
        let built = self.desk.call(
            &self.build,
            "__call__",
            move |py| PyTuple::new(py, [parcel.unpack(py)?]),
            |messages| read_messages(messages).map_err(Trouble::Wrong),
        );
        let messages = built.await.result.map_err(|trouble| {
            let what = format!("`build_messages` failed: {}", trouble.message());
            let mut error = SystemError::new(FailureKind::Other, what);
            if let Trouble::Raised(raised) = trouble {
                error.failure.traceback = raised.traceback.map(Into::into);
            }
            error
        })?;
        let output = self.silent.process(&asked(example, messages)).await?;
        Ok(answered(example, &output))
    }

    fn identity(&self) -> Option<Identity> {
        // Messages made by code that we cannot see cannot be told apart, unless the
        // user can.
        let key = self.key.as_ref()?;
        let proxy = self.proxy.identity()?;
        let settings = json!({"proxy": proxy.settings, "messages": key.settings});
        Some(Identity::new("openai_proxy_messages", 1, settings))
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        Some(self)
    }
}

#[async_trait]
impl Conversation for OwnMessages {
    async fn process_conversation(&self, turns: &[Turn]) -> Result<Replies, SystemError> {
        self.proxy.process_conversation(turns).await
    }

    async fn answer_conversation(
        &self,
        example: &Example,
        turns: &[Turn],
    ) -> Result<Replies, SystemError> {
        self.proxy.answer_conversation(example, turns).await
    }
}

fn read_messages(messages: &Bound<'_, PyAny>) -> Result<Vec<Value>, String> {
    match convert::to_sendable("build_messages", messages) {
        Ok(Value::Array(messages)) => Ok(messages),
        Ok(_) => {
            let found = system::returned_as(messages);
            Err(format!(
                "`build_messages` must return a list of messages, found {found}"
            ))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The example as a proxy sends exactly these messages for it.
fn asked(example: &Example, messages: Vec<Value>) -> Example {
    let id = example.get("id").cloned().unwrap_or(Value::Null);
    Example::new().with("id", id).with("turns", messages)
}

/// The example with what was answered to its messages.
fn answered(example: &Example, output: &Output) -> Output {
    let call = output.call();
    let response = output.get("response").cloned().unwrap_or(Value::Null);
    let mut answered = Output::reply(example, response);
    for key in ["api_reply", "api_usage"] {
        if let Some(said) = output.get(key) {
            answered = answered.with(key, said.clone());
        }
    }
    match call {
        Some(call) => answered.with_call(call),
        None => answered,
    }
}
