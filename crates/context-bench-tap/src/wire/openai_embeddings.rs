//! `POST /v1/embeddings`.

use serde_json::{Map, Value};

use super::message::Message;
use super::openai_chat::plain;
use super::reply::WireReply;
use super::request::WireRequest;
use super::route::WireFormat;
use super::usage::{Usage, UsageShape};

pub(super) fn request(members: &Map<String, Value>) -> WireRequest {
    let mut request = WireRequest::base(WireFormat::OpenaiEmbeddings, members, &["input", "model"]);
    let texts: Vec<String> = match members.get("input") {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => {
            let texts = texts.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        Some(other) => vec![other.to_string()],
        None => Vec::new(),
    };
    let message = |text| Message {
        role: "user".to_owned(),
        name: None,
        parts: vec![plain(text)],
    };
    request.messages = texts.into_iter().map(message).collect();
    request
}

/// The vectors themselves are of no interest here.
pub(super) fn reply(value: &Value, shape: UsageShape, reply: &mut WireReply) {
    reply.openai_members(value);
    reply.error_member(value);
    reply.usage = value.get("usage").and_then(|raw| Usage::read(shape, raw));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{ReplyReader, Route};

    #[test]
    fn texts_and_usage_are_read() {
        let body = json!({"model": "e", "input": ["a", "b"], "dimensions": 8});
        let request = WireRequest::of(&Route::of("POST", "/v1/embeddings"), &body).unwrap();
        assert_eq!(request.messages.len(), 2);
        let mut reader = ReplyReader::new(WireFormat::OpenaiEmbeddings, None);
        reader.whole(br#"{"data":[],"model":"e","usage":{"prompt_tokens":8,"total_tokens":8}}"#);
        let usage = reader.finish().usage.unwrap();
        assert_eq!((usage.input(), usage.output), (8, 0));
    }
}
