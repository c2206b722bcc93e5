//! `OpenAIProxy`: a system behind an OpenAI-compatible endpoint.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_bench::chat::{Endpoint, Secret};
use context_bench::system::{Conversation, OpenAiProxy, OpenAiProxySettings, Replies, SystemError};
use context_bench::task::{LikelihoodSettings, TaskModel, TaskPlan, check_likelihoods};
use context_bench::{Example, FailureKind, Identity, Output, System, Turn};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::{Value, json};

use crate::blocking;
use crate::call::{Desk, Object, Trouble};
use crate::convert::{self, Parcel};
use crate::error::bad_value;
use crate::system::{self, example_of, failed, turns_from_python, turns_to_python};

/// The endpoint and how to ask it. Connections are made per run and per process.
#[pyclass(
    frozen,
    subclass,
    name = "OpenAIProxy",
    module = "context_bench._native"
)]
pub(crate) struct PyProxy {
    settings: OpenAiProxySettings,
    name: String,
    build_messages: Option<Object>,
    /// For direct calls, of the process that made it.
    direct: Mutex<Option<(u32, Arc<OpenAiProxy>)>>,
}

#[pymethods]
impl PyProxy {
    #[new]
    #[pyo3(signature = (base_url, model="gpt-3.5-turbo", name=None, api_key=None,
        system_prompt=None, build_messages=None, timeout=30.0, extra_body=None,
        max_retries=3, retry_base_delay=1.0))]
    #[allow(
        clippy::too_many_arguments,
        reason = "these are the arguments that users know"
    )]
    fn new(
        base_url: &str,
        model: &str,
        name: Option<String>,
        api_key: Option<String>,
        system_prompt: Option<String>,
        build_messages: Option<Py<PyAny>>,
        timeout: f64,
        extra_body: Option<&Bound<'_, PyDict>>,
        max_retries: u32,
        retry_base_delay: f64,
    ) -> PyResult<Self> {
        let key = api_key
            .filter(|key| !key.is_empty())
            .or_else(environment_key);
        let settings = OpenAiProxySettings {
            model: model.to_owned(),
            name,
            api_key: key.map(Secret::new),
            system_prompt,
            timeout: seconds("timeout", timeout)?,
            extra_body: match extra_body {
                Some(body) => convert::to_fields(body)?,
                None => serde_json::Map::new(),
            },
            max_retries,
            retry_base_delay: seconds("retry_base_delay", retry_base_delay)?,
            ..OpenAiProxySettings::new(base_url)
        };
        let made = OpenAiProxy::with_settings(settings.clone());
        let made = made.map_err(|error| bad_value(&error))?;
        Ok(Self {
            name: made.name().to_owned(),
            settings,
            build_messages: build_messages.map(Arc::new),
            direct: Mutex::new(None),
        })
    }

    /// The name that reports show.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The model that is asked for.
    #[getter]
    fn model(&self) -> &str {
        &self.settings.model
    }

    /// Where requests go, as it was given.
    #[getter]
    fn base_url(&self) -> &str {
        self.settings.base_url.trim_end_matches('/')
    }

    /// Sends one example; gives it back with `response` and `api_usage`.
    fn process<'py>(
        &self,
        py: Python<'py>,
        example: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let proxy = self.direct()?;
        let Some(build) = &self.build_messages else {
            return system::process(py, &*proxy, example);
        };
        let original = example_of(example)?;
        let messages = build.bind(py).call1((example,))?;
        let asked = asked(
            &original,
            read_messages(&messages).map_err(PyTypeError::new_err)?,
        );
        let silent = self.without_prompt()?;
        let output = blocking::wait(py, silent.process(&asked))?;
        let output = output.map_err(|error| failed(&error))?;
        convert::dict(py, answered(&original, &output).fields())
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

    fn __repr__(&self) -> String {
        let (name, model) = (&self.name, &self.settings.model);
        format!("OpenAIProxy(name={name:?}, model={model:?})")
    }
}

impl PyProxy {
    /// A system for one run. Its connections end with the run's runtime.
    pub(crate) fn build(
        &self,
        py: Python<'_>,
        desk: Option<(&Arc<Desk>, Option<Identity>)>,
    ) -> PyResult<Arc<dyn System>> {
        let _ = py;
        let proxy = self.fresh(self.settings.clone())?;
        match (&self.build_messages, desk) {
            (Some(build), Some((desk, key))) => Ok(Arc::new(OwnMessages {
                proxy,
                silent: self.without_prompt()?,
                build: Arc::clone(build),
                desk: Arc::clone(desk),
                key,
            })),
            _ => Ok(Arc::new(proxy)),
        }
    }

    /// The model behind the endpoint, for tasks: likelihoods are asked for where the
    /// address continues plain text.
    pub(crate) fn task_model(&self, plan: &TaskPlan) -> PyResult<Arc<dyn System>> {
        let endpoint = Endpoint::parse(&self.settings.base_url);
        let endpoint = endpoint.map_err(|error| bad_value(&error))?;
        let likelihoods = (!endpoint.is_chat()).then(LikelihoodSettings::default);
        check_likelihoods(plan, likelihoods.is_some(), &endpoint.to_string())
            .map_err(|error| crate::tasks::problem(&error))?;
        let model = TaskModel::new(self.settings.clone(), likelihoods);
        Ok(Arc::new(model.map_err(|error| bad_value(&error))?))
    }

    fn fresh(&self, settings: OpenAiProxySettings) -> PyResult<OpenAiProxy> {
        OpenAiProxy::with_settings(settings).map_err(|error| bad_value(&error))
    }

    /// Sends given messages and nothing before them.
    fn without_prompt(&self) -> PyResult<OpenAiProxy> {
        self.fresh(OpenAiProxySettings {
            system_prompt: None,
            ..self.settings.clone()
        })
    }

    /// The proxy for direct calls of this process.
    fn direct(&self) -> PyResult<Arc<OpenAiProxy>> {
        let process = std::process::id();
        let mut slot = self.direct.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((owner, proxy)) = &*slot
            && *owner == process
        {
            return Ok(Arc::clone(proxy));
        }
        let proxy = Arc::new(self.fresh(self.settings.clone())?);
        // Connections of a parent process are its own: left alone, not closed.
        if let Some((_, inherited)) = slot.replace((process, Arc::clone(&proxy))) {
            std::mem::forget(inherited);
        }
        Ok(proxy)
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
        let parcel = Parcel::new(example.source(), example.fields());
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
}

fn read_messages(messages: &Bound<'_, PyAny>) -> Result<Vec<Value>, String> {
    match convert::to_value(messages) {
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
    if let Some(usage) = output.get("api_usage") {
        answered = answered.with("api_usage", usage.clone());
    }
    match call {
        Some(call) => answered.with_call(call),
        None => answered,
    }
}
