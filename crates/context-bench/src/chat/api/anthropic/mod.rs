//! Anthropic's Messages: `POST /v1/messages`.

mod reply;
mod request;
mod stream;

pub(super) use reply::parse;
pub(super) use request::{body, define_called_tools};
pub(super) use stream::StreamedReply;

/// The most tokens of an answer where nobody says, since the API demands a number: what
/// every model of theirs can write.
pub(crate) const DEFAULT_MAX_TOKENS: u64 = 4096;

/// The version of the API that is spoken, for the header `anthropic-version`.
pub(super) const VERSION: &str = "2023-06-01";

/// A reason to stop in the words of chat completions; unknown ones as they are.
fn finish_reason(stop_reason: &str) -> &str {
    match stop_reason {
        "end_turn" | "stop_sequence" => "stop",
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "tool_calls",
        "refusal" => "content_filter",
        other => other,
    }
}
