//! `POST /v1/completions`.

use serde_json::{Map, Value};

use super::field::{list, number, text};
use super::message::Message;
use super::openai_chat::plain;
use super::reply::WireReply;
use super::request::WireRequest;
use super::route::WireFormat;
use super::usage::{Usage, UsageShape};

pub(super) fn request(members: &Map<String, Value>) -> WireRequest {
    let apart = ["prompt", "model", "stream"];
    let mut request = WireRequest::base(WireFormat::OpenaiCompletions, members, &apart);
    let prompts = match members.get("prompt") {
        Some(Value::String(prompt)) => vec![prompt.clone()],
        // Several texts, or token ids, which are no text but still what was sent.
        Some(Value::Array(prompts)) if prompts.iter().all(Value::is_string) => prompts
            .iter()
            .filter_map(|prompt| prompt.as_str().map(str::to_owned))
            .collect(),
        Some(other) => vec![other.to_string()],
        None => Vec::new(),
    };
    let message = |prompt| Message {
        role: "user".to_owned(),
        name: None,
        parts: vec![plain(prompt)],
    };
    request.messages = prompts.into_iter().map(message).collect();
    let echoes = members
        .get("echo")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let likelihoods = members
        .get("logprobs")
        .is_some_and(|value| !value.is_null());
    request.wants_likelihoods = echoes || likelihoods;
    request
}

pub(super) fn reply(value: &Value, shape: UsageShape, reply: &mut WireReply) {
    chunk(value, shape, reply);
}

/// Takes a chunk of a stream, or a whole answer, which looks the same.
pub(super) fn chunk(value: &Value, shape: UsageShape, reply: &mut WireReply) -> bool {
    reply.openai_members(value);
    reply.error_member(value);
    if let Some(usage) = value.get("usage").and_then(|raw| Usage::read(shape, raw)) {
        reply.usage = Some(usage);
    }
    let mut is_output = false;
    for (at, choice) in list(value, "choices").iter().enumerate() {
        let index = number(choice, "index").map_or(at, |index| index as usize);
        let Some(out) = reply.choice(index) else {
            continue;
        };
        let content = text(choice, "text").unwrap_or_default();
        is_output |= !content.is_empty();
        out.text.push_str(&content);
        out.finish = text(choice, "finish_reason").or(out.finish.take());
    }
    is_output
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{ReplyReader, Route};

    #[test]
    fn prompts_of_every_kind_are_read() {
        let route = Route::of("POST", "/v1/completions");
        for (body, texts, wants) in [
            (json!({"prompt": "a"}), vec!["a"], false),
            (
                json!({"prompt": ["a", "b"], "logprobs": 1}),
                vec!["a", "b"],
                true,
            ),
            (json!({"prompt": [1, 2], "echo": true}), vec!["[1,2]"], true),
            (json!({"logprobs": null}), vec![], false),
        ] {
            let request = WireRequest::of(&route, &body).unwrap();
            let found: Vec<String> = request.messages.iter().map(Message::text).collect();
            assert_eq!(
                (found, request.wants_likelihoods),
                (texts.iter().map(|&t| t.to_owned()).collect(), wants)
            );
        }
    }

    #[test]
    fn answers_are_read() {
        let mut reader = ReplyReader::new(WireFormat::OpenaiCompletions, None);
        let body = json!({"id": "cmpl-1", "choices": [{"text": "a", "index": 0, "finish_reason": "length"},
            {"text": "b", "index": 1}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
        reader.whole(body.to_string().as_bytes());
        let reply = reader.finish();
        assert_eq!((reply.text(), reply.choices.len()), ("a", 2));
        assert_eq!(reply.choices[0].finish.as_deref(), Some("length"));
    }
}
