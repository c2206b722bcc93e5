//! The JSON shapes of OpenAI's Responses.

use serde_json::{Value, json};

use crate::completion::{Completion, StreamEvent};

fn envelope(completion: &Completion<'_>, status: &str, output: &Value) -> Value {
    json!({
        "id": completion.id,
        "object": "response",
        "created_at": completion.created,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": completion.model,
        "output": output,
        "usage": null,
    })
}

/// The whole response as one object; no text is a response without items.
pub(crate) fn whole(completion: &Completion<'_>, text: Option<&str>) -> Value {
    let items: Vec<Value> = text
        .map(|text| {
            let part = json!({"type": "output_text", "text": text, "annotations": []});
            json!({"id": format!("msg-{}", completion.id), "type": "message", "role": "assistant",
                "status": "completed", "content": [part]})
        })
        .into_iter()
        .collect();
    let reason = match completion.finish_reason {
        "length" => Some("max_output_tokens"),
        "content_filter" => Some("content_filter"),
        _ => None,
    };
    let status = if reason.is_some() {
        "incomplete"
    } else {
        "completed"
    };
    let mut response = envelope(completion, status, &json!(items));
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({ "reason": reason });
    }
    if let Some(tokens) = completion.tokens {
        let (read, written) = tokens.cache.unwrap_or_default();
        response["usage"] = json!({
            "input_tokens": tokens.prompt,
            "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
            "output_tokens": tokens.completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens.prompt + tokens.completion,
        });
    }
    response
}

pub(crate) fn opening(completion: &Completion<'_>) -> Vec<StreamEvent> {
    let response = envelope(completion, "in_progress", &json!([]));
    let item = json!({"type": "message", "role": "assistant", "content": []});
    let events = [
        json!({"type": "response.created", "response": response}),
        json!({"type": "response.in_progress", "response": response}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.content_part.added", "output_index": 0, "content_index": 0,
            "part": {"type": "output_text", "text": ""}}),
    ];
    events.iter().map(StreamEvent::named).collect()
}

pub(crate) fn token(token: &str) -> StreamEvent {
    StreamEvent::named(
        &json!({"type": "response.output_text.delta", "output_index": 0,
        "content_index": 0, "delta": token}),
    )
}

pub(crate) fn closing(completion: &Completion<'_>, text: Option<&str>) -> Vec<StreamEvent> {
    let response = whole(completion, text);
    let end = format!(
        "response.{}",
        response["status"].as_str().unwrap_or_default()
    );
    let events = [
        json!({"type": "response.output_text.done", "output_index": 0, "text": text}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": response["output"][0]}),
        json!({"type": end, "response": response}),
    ];
    events.iter().map(StreamEvent::named).collect()
}

pub(crate) fn error_event(status: u16, message: &str) -> StreamEvent {
    let code = match status {
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_prompt",
    };
    StreamEvent::named(&json!({"type": "error", "code": code, "message": message, "param": null}))
}
