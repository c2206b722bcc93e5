//! The settings of an `OpenAIProxy`, read from Python arguments.

use std::sync::Arc;
use std::time::Duration;

use context_bench::System as _;
use context_bench::chat::{Api, UnknownApi};
use context_bench::system::{Layout, OpenAiProxy, OpenAiProxySettings, UnknownLayout};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::convert;
use crate::error::bad_value;
use crate::executor::Object;

/// A checked configuration.
#[derive(Clone)]
pub(super) struct ProxyConfig {
    pub(super) settings: OpenAiProxySettings,
    pub(super) name: String,
    pub(super) build_messages: Option<Object>,
}

impl ProxyConfig {
    pub(super) fn new(
        settings: OpenAiProxySettings,
        build_messages: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let proxy = OpenAiProxy::with_settings(settings.clone());
        let proxy = proxy.map_err(|error| bad_value(&error))?;
        Ok(Self {
            name: proxy.name().to_owned(),
            settings,
            build_messages: build_messages.map(Arc::new),
        })
    }

    /// A proxy with connections of its own.
    pub(super) fn connect(&self, name: Option<String>) -> PyResult<OpenAiProxy> {
        let mut settings = self.settings.clone();
        settings.name = name.or(settings.name);
        OpenAiProxy::with_settings(settings).map_err(|error| bad_value(&error))
    }

    /// A proxy that sends given messages without a system prompt before them.
    pub(super) fn connect_without_prompt(&self) -> PyResult<OpenAiProxy> {
        let mut bare = self.clone();
        bare.settings.system_prompt = None;
        bare.connect(None)
    }
}

/// The members of a JSON object.
pub(super) fn body(
    what: &str,
    members: Option<&Bound<'_, PyDict>>,
) -> PyResult<Map<String, Value>> {
    match members.map(|body| convert::to_sendable(what, body)) {
        Some(Ok(Value::Object(body))) => Ok(body),
        Some(Err(error)) => Err(error),
        _ => Ok(Map::new()),
    }
}

/// Generation settings; those that are `None` are left to the endpoint.
pub(super) fn generation(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Map<String, Value>> {
    let mut settings = body("generation", settings)?;
    settings.retain(|_, value| !value.is_null());
    Ok(settings)
}

pub(super) fn layout(name: &str) -> PyResult<Layout> {
    name.parse()
        .map_err(|error: UnknownLayout| bad_value(&error))
}

pub(super) fn api(name: &str) -> PyResult<Api> {
    name.parse().map_err(|error: UnknownApi| bad_value(&error))
}

pub(super) fn retries(n: i64) -> PyResult<u32> {
    u32::try_from(n).map_err(|_| {
        let what = format!("`max_retries` cannot be {n}\nhint: 0 means a single attempt");
        PyValueError::new_err(what)
    })
}

/// The key of an API in the environment.
pub(crate) fn environment_key(api: Api) -> Option<String> {
    std::env::var(api.key_variable())
        .ok()
        .filter(|key| !key.is_empty())
}

/// A duration given in seconds.
pub(crate) fn seconds(what: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("`{what}` cannot be {seconds} seconds")))
}
