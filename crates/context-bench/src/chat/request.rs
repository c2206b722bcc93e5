//! `ChatRequest`: a request as it is sent, the same for all its attempts.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::api::Api;

/// A request, serialised once for all its attempts.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    pub(crate) body: Bytes,
    pub(crate) stream: bool,
}

impl ChatRequest {
    /// A request of chat completions with this body. With `stream` it asks for a stream with
    /// usage, unless the body says otherwise: what the body holds is never changed.
    pub fn new(body: Map<String, Value>, stream: bool) -> Self {
        Self::of(Api::Openai, body, stream)
    }

    /// A request of this API.
    pub fn of(api: Api, mut body: Map<String, Value>, stream: bool) -> Self {
        if stream {
            body.entry("stream").or_insert(Value::Bool(true));
        }
        let stream = body.get("stream") == Some(&Value::Bool(true));
        // The others report it in any case, and refuse the wish.
        if stream && api == Api::Openai {
            body.entry("stream_options")
                .or_insert_with(|| json!({"include_usage": true}));
        }
        Self {
            body: Value::Object(body).to_string().into(),
            stream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(request: &ChatRequest) -> Value {
        serde_json::from_slice(&request.body).expect("JSON")
    }

    #[test]
    fn a_body_overrides_the_stream_flag() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let plain = ChatRequest::new(map(json!({"model": "m"})), false);
        assert_eq!(
            (body_of(&plain), plain.stream),
            (json!({"model": "m"}), false)
        );
        let asked = ChatRequest::new(Map::new(), true);
        let expected = json!({"stream": true, "stream_options": {"include_usage": true}});
        assert_eq!((body_of(&asked), asked.stream), (expected, true));
        let refused = ChatRequest::new(map(json!({"stream": false})), true);
        assert_eq!(
            (body_of(&refused), refused.stream),
            (json!({"stream": false}), false)
        );
        let hidden = ChatRequest::new(map(json!({"stream": true, "stream_options": null})), false);
        assert_eq!(body_of(&hidden)["stream_options"], Value::Null);
        assert!(hidden.stream);
        let other = ChatRequest::of(Api::Anthropic, Map::new(), true);
        assert_eq!(body_of(&other), json!({"stream": true}));
    }
}
