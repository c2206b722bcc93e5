//! [`Script`]: what the upstream does with the calls of a probe.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::answer::{ToolCallAnswer, data, named};
use super::gemini;
use crate::wire::WireFormat;

/// What the upstream does with the calls of a probe, however many there are.
#[derive(Debug, Clone)]
pub(super) enum Script {
    /// It answers, whole or in a stream, as it is asked.
    Answer(Say),
    /// It refuses.
    Refuse(Refusal),
    /// It begins a stream and ends it with an error.
    FailInStream,
    /// It begins a stream and breaks off in the midst of it.
    CutStream,
    /// It never answers.
    Hang,
    /// It streams until it is hung up on.
    Endless,
}

/// How it answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Say {
    pub(super) thinking: Option<(&'static str, &'static str)>,
    pub(super) tool_call: Option<ToolCallAnswer>,
    /// Whether each event of a stream waits until the client has the one before.
    pub(super) in_step: bool,
    /// Answers wait until so many calls are there.
    pub(super) gather: Option<Arc<Gather>>,
}

/// Calls that wait for each other, so that they are under way at the same time.
#[derive(Debug)]
pub(super) struct Gather {
    wanted: usize,
    arrived: watch::Sender<usize>,
}

impl Gather {
    pub(super) fn new(wanted: usize) -> Arc<Self> {
        Arc::new(Self {
            wanted,
            arrived: watch::Sender::new(0),
        })
    }

    /// Waits until all are there.
    pub(super) async fn wait(&self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        let mut arrived = self.arrived.subscribe();
        // The sender is ours, so it cannot have gone.
        let _ = arrived.wait_for(|arrived| *arrived >= self.wanted).await;
    }
}

/// An error that the upstream answers with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// `error.type` of OpenAI and of Anthropic.
    pub(super) kinds: (&'static str, &'static str),
    /// `error.code`, which only OpenAI has.
    pub(super) code: Option<&'static str>,
    pub(super) message: &'static str,
    pub(super) retry_after: Option<&'static str>,
}

impl Refusal {
    /// The body in the shape of an API.
    pub(super) fn body(&self, format: WireFormat, request_id: &str) -> Value {
        match format {
            WireFormat::AnthropicMessages => json!({"type": "error",
                "error": {"type": self.kinds.1, "message": self.message},
                "request_id": request_id}),
            WireFormat::Gemini => gemini::error(self.status, self.message),
            _ => json!({"error": {"message": self.message, "type": self.kinds.0, "param": null,
                "code": self.code}}),
        }
    }
}

/// The event of an error inside of a stream.
pub(super) fn error_event(format: WireFormat, sequence: usize) -> String {
    match format {
        WireFormat::AnthropicMessages => named(&json!({"type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded"}})),
        WireFormat::OpenaiResponses => named(&json!({"type": "error", "code": "server_error",
            "message": "The server had an error while processing your request.", "param": null,
            "sequence_number": sequence})),
        WireFormat::Gemini => data(&gemini::error(503, "The model is overloaded.")),
        _ => data(&json!({"error": {
            "message": "The server had an error while processing your request.",
            "type": "server_error", "param": null, "code": "server_error"}})),
    }
}
