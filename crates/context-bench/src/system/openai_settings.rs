//! `OpenAiProxySettings`: how to talk to an endpoint.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::layout::Layout;
use crate::chat::{
    Api, ClientError, ClientSettings, DEFAULT_MODEL, Endpoint, Pace, RetryPolicy, Secret, TIMEOUT,
    host_part,
};
use crate::model::Example;

/// Makes the messages for an example, instead of the default ones.
pub type BuildMessages = Arc<dyn Fn(&Example) -> Vec<Value> + Send + Sync>;

/// How to talk to an OpenAI-compatible endpoint.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenAiProxySettings {
    /// The base URL, with or without `/v1`; see [`Endpoint::of`].
    pub base_url: String,
    /// The format in which it is asked; chat completions unless set.
    pub api: Api,
    /// The model to ask for; [`DEFAULT_MODEL`] unless set.
    pub model: String,
    /// The name that reports show; `openai_proxy_<host:port>` unless set.
    pub name: Option<String>,
    /// The key; `None` or an empty one sends none.
    pub api_key: Option<Secret>,
    /// A system message before all others, even an empty one.
    pub system_prompt: Option<String>,
    /// Where the context of an example stands. Endpoints that continue plain text get
    /// it before the question in any case.
    pub layout: Layout,
    /// How long one attempt may take; 30 seconds unless set. In a stream, how
    /// long it may stay silent.
    pub timeout: Duration,
    /// How answers are generated, in the words of chat completions (`temperature`,
    /// `max_tokens`, `stop` …), also where another API is asked; they replace what tasks ask for. Likelihoods do not use them.
    pub generation: Map<String, Value>,
    /// Whether a temperature of 0 is sent where neither that nor an example says one, so
    /// that answers can be compared; none where the endpoint refuses it.
    pub usual_temperature: bool,
    /// Headers of every request.
    pub headers: IndexMap<String, String>,
    /// Members of the request body, in the words of the API; they replace ours of the same
    /// name.
    pub extra_body: Map<String, Value>,
    /// Attempts after the first one; 3 unless set.
    pub max_retries: u32,
    /// The delay before the first retry, doubled with each further one; 1 second
    /// unless set.
    pub retry_base_delay: Duration,
    /// The time for a whole call, retries and waits included. Unless set, five
    /// minutes, or as long as all attempts may take when that is longer.
    pub deadline: Option<Duration>,
    /// How fast requests may leave, shared with other systems of a run.
    pub pace: Option<Arc<Pace>>,
    /// Whether to ask for a stream, so that the time to the first token is known.
    pub stream: bool,
    /// The HTTP proxy that requests go through, whatever the environment says.
    pub http_proxy: Option<String>,
    /// Whether a tap watches its calls.
    pub(crate) is_tapped: bool,
    /// Makes the messages of an example; conversations do not use it.
    pub build_messages: Option<BuildMessages>,
}

impl OpenAiProxySettings {
    /// The defaults for this base URL.
    pub fn new(base_url: impl Into<String>) -> Self {
        let policy = RetryPolicy::default();
        Self {
            base_url: base_url.into(),
            api: Api::default(),
            model: DEFAULT_MODEL.into(),
            name: None,
            api_key: None,
            system_prompt: None,
            layout: Layout::default(),
            timeout: TIMEOUT,
            generation: Map::new(),
            usual_temperature: false,
            headers: IndexMap::new(),
            extra_body: Map::new(),
            max_retries: policy.max_retries,
            retry_base_delay: policy.base_delay,
            deadline: None,
            pace: None,
            stream: false,
            http_proxy: None,
            is_tapped: false,
            build_messages: None,
        }
    }

    /// How its endpoint is reached.
    pub(crate) fn client(&self) -> Result<ClientSettings, ClientError> {
        Ok(ClientSettings {
            api_key: self.api_key.clone(),
            headers: self.headers.clone(),
            timeout: self.timeout,
            policy: self.policy(),
            pace: self.pace.clone(),
            http_proxy: self.http_proxy.clone(),
            is_observed: self.is_tapped,
            ..ClientSettings::new(Endpoint::of(self.api, &self.base_url)?)
        })
    }

    pub(super) fn policy(&self) -> RetryPolicy {
        let mut policy = RetryPolicy::default();
        let all_attempts = self
            .timeout
            .saturating_mul(self.max_retries.saturating_add(1));
        policy.max_retries = self.max_retries;
        policy.base_delay = self.retry_base_delay;
        policy.max_delay = policy.max_delay.max(self.retry_base_delay);
        policy.deadline = self.deadline.unwrap_or(policy.deadline.max(all_attempts));
        policy
    }
}

/// Shows neither the key nor credentials in the URL.
impl fmt::Debug for OpenAiProxySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiProxySettings")
            .field("host", &host_part(&self.base_url))
            .field("api", &self.api)
            .field("model", &self.model)
            .field("name", &self.name)
            .field("api_key", &self.api_key)
            .field("timeout", &self.timeout)
            .field("max_retries", &self.max_retries)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
