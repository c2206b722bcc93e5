//! The JSON shapes of Anthropic's Messages.

use serde_json::{Value, json};

use crate::completion::{Completion, StreamEvent, Tokens};

/// A reason to stop in the words of this API; unknown ones as they are.
fn stop_reason(finish_reason: &str) -> &str {
    match finish_reason {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        other => other,
    }
}

/// Input without what the cache has to do with, and that beside it.
fn input(tokens: Tokens) -> Value {
    let (read, written) = tokens.cache.unwrap_or_default();
    let mut usage = json!({"input_tokens": tokens.prompt.saturating_sub(read + written)});
    if tokens.cache.is_some() {
        usage["cache_read_input_tokens"] = json!(read);
        usage["cache_creation_input_tokens"] = json!(written);
        usage["cache_creation"] =
            json!({"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0});
    }
    usage
}

fn envelope(completion: &Completion<'_>, content: &Value) -> Value {
    json!({
        "id": completion.id,
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": content,
        "stop_reason": null,
        "stop_sequence": null,
    })
}

/// The whole message as one object; no text is a message without blocks.
pub(crate) fn whole(completion: &Completion<'_>, text: Option<&str>) -> Value {
    let blocks: Vec<Value> = text
        .map(|text| json!({"type": "text", "text": text}))
        .into_iter()
        .collect();
    let mut message = envelope(completion, &json!(blocks));
    message["stop_reason"] = json!(stop_reason(completion.finish_reason));
    if let Some(tokens) = completion.tokens {
        message["usage"] = input(tokens);
        message["usage"]["output_tokens"] = json!(tokens.completion);
    }
    message
}

pub(crate) fn opening(completion: &Completion<'_>) -> Vec<StreamEvent> {
    let mut message = envelope(completion, &json!([]));
    if let Some(tokens) = completion.tokens {
        message["usage"] = input(tokens);
        message["usage"]["output_tokens"] = json!(1);
    }
    let block = json!({"type": "text", "text": ""});
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "ping"}),
    ];
    events.iter().map(StreamEvent::named).collect()
}

pub(crate) fn token(token: &str) -> StreamEvent {
    let delta = json!({"type": "text_delta", "text": token});
    StreamEvent::named(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

pub(crate) fn closing(completion: &Completion<'_>) -> Vec<StreamEvent> {
    let reason = stop_reason(completion.finish_reason);
    let mut end = json!({"type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": null}});
    if let Some(tokens) = completion.tokens {
        end["usage"] = json!({"output_tokens": tokens.completion});
    }
    let events = [
        json!({"type": "content_block_stop", "index": 0}),
        end,
        json!({"type": "message_stop"}),
    ];
    events.iter().map(StreamEvent::named).collect()
}

/// The body of an error.
pub(crate) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"})
}
