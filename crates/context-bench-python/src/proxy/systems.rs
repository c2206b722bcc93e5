//! The systems behind an `OpenAIProxy` in a run.

use std::sync::Arc;

use async_trait::async_trait;
use context_bench::system::{Conversation, OpenAiProxy, Replies, SystemError};
use context_bench::{Example, FailureKind, Identity, Output, System, Turn};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::{Value, json};

use crate::convert;
use crate::example_dict::DeferredDict;
use crate::executor::{CallError, Object, PythonExecutor};
use crate::python_object::describe_type;

/// The fields of an example that a proxy sends.
pub(super) const SENT: [&str; 3] = ["turns", "context", "question"];

/// A proxy that refuses examples whose fields JSON cannot represent.
pub(super) struct CheckedProxy(pub(super) OpenAiProxy);

#[async_trait]
impl System for CheckedProxy {
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

/// A proxy whose messages a function of the user builds.
pub(super) struct CustomMessagesProxy {
    /// Holds conversations.
    pub(super) proxy: OpenAiProxy,
    /// Sends the messages unchanged.
    pub(super) bare: OpenAiProxy,
    pub(super) build_messages: Object,
    pub(super) executor: Arc<PythonExecutor>,
    /// The user's `cache_key`, which identifies the function.
    pub(super) key: Option<Identity>,
}

#[async_trait]
impl System for CustomMessagesProxy {
    fn name(&self) -> &str {
        self.proxy.name()
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let deferred = DeferredDict::example(example);
        let built = self.executor.call(
            &self.build_messages,
            "__call__",
            move |py| PyTuple::new(py, [deferred.build(py)?]),
            |messages| read_messages(messages).map_err(CallError::Invalid),
        );
        let messages = built.await.result.map_err(|call_error| {
            let what = format!("`build_messages` failed: {}", call_error.message());
            let mut error = SystemError::new(FailureKind::Other, what);
            if let CallError::Raised(exception) = call_error {
                error.failure.traceback = exception.traceback.map(Into::into);
            }
            error
        })?;
        let output = self.bare.process(&with_messages(example, messages)).await?;
        Ok(answer(example, &output))
    }

    fn identity(&self) -> Option<Identity> {
        // Nobody can tell what a function does, so only the user can identify it.
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
impl Conversation for CustomMessagesProxy {
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

pub(super) fn read_messages(messages: &Bound<'_, PyAny>) -> Result<Vec<Value>, String> {
    match convert::to_sendable("build_messages", messages) {
        Ok(Value::Array(messages)) => Ok(messages),
        Ok(_) => {
            let found = describe_type(messages);
            Err(format!(
                "`build_messages` must return a list of messages, found {found}"
            ))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// An example for which a proxy sends exactly these messages.
pub(super) fn with_messages(example: &Example, messages: Vec<Value>) -> Example {
    let id = example.get("id").cloned().unwrap_or(Value::Null);
    Example::new().with("id", id).with("turns", messages)
}

/// The original example with the answer to its messages.
pub(super) fn answer(example: &Example, output: &Output) -> Output {
    let call = output.call();
    let response = output.get("response").cloned().unwrap_or(Value::Null);
    let mut answer = Output::reply(example, response);
    for key in ["api_reply", "api_usage"] {
        if let Some(value) = output.get(key) {
            answer = answer.with(key, value.clone());
        }
    }
    match call {
        Some(call) => answer.with_call(call),
        None => answer,
    }
}
