//! `System`: the thing under test, and those that come with the library.
//!
//! A system gets one example and returns the processed map. It never scores and
//! never counts tokens; its time is what the run reports as latency.

pub(crate) mod command;
mod context_layer;
mod control;
mod function;
pub(crate) mod generation;
mod layout;
mod offload;
mod openai;
mod openai_settings;
mod part;
mod reader;
mod request_content;
pub mod transform;

pub use command::{CommandError, CommandSettings, CommandSystem, split_command};
pub use context_layer::ContextLayer;
pub use function::{FnSystem, from_fn};
pub(crate) use generation::FIELD as GENERATION_SETTINGS;
pub use layout::{Layout, UnknownLayout};
pub use openai::{OpenAiProxy, SYSTEM_INSTRUCTION, messages};
pub use openai_settings::{BuildMessages, OpenAiProxySettings};
pub(crate) use part::{CONTEXT_FIELDS, ContextPart};
pub use reader::Reader;
pub use request_content::asked;

pub(crate) use control::ControlSystem;
pub(crate) use openai::add_usage;
pub(crate) use part::{CONTEXTS, RECORD};
pub(crate) use request_content::RequestContent;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::chat::{CallObserver, ChatRequest, Endpoint};
use crate::mask::Mask;
use crate::model::{
    CallStats, Example, Failure, FailureKind, Identity, ModelUse, Output, Turn, WireFacts,
};
use crate::tokens::TokenCounter;

/// Something between data and an answer: a compressor, a proxy, a retriever …
#[async_trait]
pub trait System: Send + Sync {
    /// The name that reports show; unique within a run.
    fn name(&self) -> &str;

    /// Processes one example. By convention the output keeps all fields of the
    /// example and adds `response`.
    async fn process(&self, example: &Example) -> Result<Output, SystemError>;

    /// Every setting that can change an answer, so that stored answers can be
    /// reused. `None` (the default) means that they never are.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// The texts that a model would be sent about an example, without sending them;
    /// `None` (the default) when that shows only in the run.
    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        let _ = example;
        None
    }

    /// The requests that would be posted about an example, without posting them, as far
    /// as they do not depend on replies; `None` (the default) when that shows only in the
    /// run.
    fn requests(&self, example: &Example) -> Option<Vec<Posting>> {
        let _ = example;
        None
    }

    /// Whether it counts tokens with the counter of the run, which is then loaded before the
    /// first call. The default is true.
    fn counts_tokens(&self) -> bool {
        true
    }

    /// Whether it changes the context of examples before a model is asked: there must then
    /// be one. The default is false.
    fn changes_context(&self) -> bool {
        false
    }

    /// Whether it can be asked at all, before anything is sent: what cannot start is a mistake
    /// of the run and not of its examples. The default says nothing against it.
    #[doc(hidden)]
    async fn ready(&self) -> Result<(), SystemError> {
        Ok(())
    }

    /// Tells of a call to come: in the order of the examples, before any of their calls. What
    /// it returns is kept until the call is over. The default does nothing.
    #[doc(hidden)]
    fn announce(&self, example: &Example) -> Option<Announcement> {
        let _ = example;
        None
    }

    /// Watches the calls that it is about to make about an example. The default does not.
    #[doc(hidden)]
    fn observe(&self, example: &Example) -> Option<Arc<dyn CallProbe>> {
        let _ = example;
        None
    }

    /// This system as one that can hold a conversation, if it can.
    fn as_conversation(&self) -> Option<&dyn Conversation> {
        None
    }
}

/// Watches the calls that a system makes about one example.
#[doc(hidden)]
#[async_trait]
pub trait CallProbe: Send + Sync {
    /// Who is told of the calls, while they are made.
    #[allow(private_interfaces, reason = "only this crate makes probes")]
    fn observer(self: Arc<Self>) -> Arc<dyn CallObserver>;

    /// What was seen, once they are over. May take a while, which is no latency.
    async fn facts(&self, counter: &dyn TokenCounter) -> Option<WireFacts>;
}

/// A call to come, until this is dropped.
#[doc(hidden)]
pub type Announcement = Box<dyn std::any::Any + Send + Sync>;

/// A request that a system would post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// Where to, without credentials.
    pub url: String,
    /// The body, byte for byte; only what looks like a key is `…`.
    pub body: String,
}

/// The members of bodies that hold what is asked, whatever the API.
const ASKED: [&str; 5] = ["messages", "prompt", "system", "input", "instructions"];

impl Posting {
    pub(crate) fn new(endpoint: &Endpoint, request: &ChatRequest) -> Self {
        let sent = String::from_utf8_lossy(&request.body);
        let body = match serde_json::from_str(&sent) {
            Ok(Value::Object(members)) => {
                // What is asked is data; everything else is settings.
                let masked = members.iter().map(|(name, value)| {
                    let is_asked = ASKED.contains(&name.as_str());
                    let one = Map::from_iter([(name.clone(), value.clone())]);
                    match is_asked {
                        true => one,
                        false => Mask::Dots.map(&one),
                    }
                });
                let masked: Map<String, Value> = masked.flatten().collect();
                (masked != members).then(|| Value::Object(masked).to_string())
            }
            _ => None,
        };
        Self {
            url: endpoint.to_string(),
            body: body.unwrap_or_else(|| sent.into_owned()),
        }
    }
}

/// A system that can hold a conversation turn by turn.
#[async_trait]
pub trait Conversation: Send + Sync {
    /// Answers each turn in order, seeing all earlier ones; one reply per turn.
    async fn process_conversation(&self, turns: &[Turn]) -> Result<Replies, SystemError>;

    /// The same for the turns of an example, which may say how its answers are generated.
    /// The default leaves that to the system.
    async fn answer_conversation(
        &self,
        example: &Example,
        turns: &[Turn],
    ) -> Result<Replies, SystemError> {
        let _ = example;
        self.process_conversation(turns).await
    }
}

/// The assistant messages of a conversation and what they cost together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replies {
    /// One assistant message per turn.
    pub turns: Vec<Turn>,
    /// Cost of all calls together, when the system knows.
    pub call: Option<CallStats>,
    /// Usage summed over all calls, when the endpoint reported it.
    pub usage: Option<serde_json::Map<String, serde_json::Value>>,
    /// What the endpoint said about the last reply beside its text; see
    /// [`Output::api_reply`].
    pub remarks: serde_json::Map<String, serde_json::Value>,
    /// What each call took, as far as the endpoint reported it.
    pub calls: Vec<ModelUse>,
}

/// Why a system gave no output for an example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", failure.message)]
pub struct SystemError {
    /// What happened.
    pub failure: Failure,
    /// What the failed call cost, when the system knows.
    pub call: Option<Box<CallStats>>,
}

impl SystemError {
    /// An error of that kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            failure: Failure::new(kind, message),
            call: None,
        }
    }

    /// Attaches what the failed call cost.
    #[must_use]
    pub fn with_call(mut self, call: CallStats) -> Self {
        self.call = Some(Box::new(call));
        self
    }
}

/// Any message becomes an error of kind [`FailureKind::Other`], so that user code can use `?`.
impl From<String> for SystemError {
    fn from(message: String) -> Self {
        Self::new(FailureKind::Other, message)
    }
}

impl From<&str> for SystemError {
    fn from(message: &str) -> Self {
        Self::new(FailureKind::Other, message)
    }
}
