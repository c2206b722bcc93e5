//! A streamed reply of Anthropic.

use context_bench_http::Event;
use serde_json::{Map, Value};

use super::reply::Gathered;
use crate::chat::api::{ReplyStream, broken_off, in_stream};
use crate::chat::error::ChatFailure;
use crate::chat::reply::{ChatReply, EXCERPT, name, parse_json};
use crate::chat::secret::Secrets;

/// A streamed reply while it comes in.
#[derive(Debug, Default)]
pub(crate) struct StreamedReply {
    gathered: Gathered,
    /// Cumulative: the last value of each member counts.
    usage: Map<String, Value>,
    stop_reason: Option<String>,
    model: Option<String>,
    has_begun: bool,
    done: bool,
}

impl ReplyStream for StreamedReply {
    fn event(&mut self, event: &Event, secrets: &Secrets) -> Result<(), ChatFailure> {
        let data = event.data.trim();
        // Proxies that translate put the end of another API after ours.
        if self.done || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let value = parse_json(data.as_bytes(), secrets)?;
        if !value.is_object() {
            return Err(ChatFailure::Structure {
                found: secrets.excerpt(data.as_bytes(), EXCERPT),
            });
        }
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(in_stream(error, data, secrets));
        }
        let kind = value.get("type").and_then(Value::as_str);
        let index = value.get("index").and_then(Value::as_u64);
        match kind.unwrap_or(&event.name) {
            "message_start" => {
                self.has_begun = true;
                self.count(value.pointer("/message/usage"));
                self.model = value
                    .get("message")
                    .and_then(|message| name(message, "model"));
            }
            "content_block_start" => {
                self.has_begun = true;
                let block = value.get("content_block").unwrap_or(&Value::Null);
                // A block without a number is still a block of a stream.
                self.gathered.begin(Some(index.unwrap_or(0)), block);
            }
            "content_block_delta" => {
                self.has_begun = true;
                let delta = value.get("delta").unwrap_or(&Value::Null);
                self.gathered.go_on(Some(index.unwrap_or(0)), delta);
            }
            "message_delta" => {
                let reason = value.pointer("/delta/stop_reason").and_then(Value::as_str);
                self.stop_reason = reason.map(str::to_owned).or(self.stop_reason.take());
                self.count(value.get("usage"));
            }
            "message_stop" => self.done = true,
            "error" => return Err(in_stream(&value, data, secrets)),
            _ => {}
        }
        Ok(())
    }

    fn has_text(&self) -> bool {
        self.gathered.has_text()
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_whole(&self) -> bool {
        self.done || self.stop_reason.is_some()
    }

    fn finish(self: Box<Self>) -> Result<ChatReply, ChatFailure> {
        if !self.is_whole() {
            return Err(broken_off());
        }
        if !self.has_begun {
            return Err(ChatFailure::Structure {
                found: "a stream without a message".into(),
            });
        }
        Ok(ChatReply {
            model: self.model,
            ..self.gathered.into_reply(self.stop_reason, self.usage)
        })
    }
}

impl StreamedReply {
    fn count(&mut self, usage: Option<&Value>) {
        let members = usage.and_then(Value::as_object).into_iter().flatten();
        let said = members.filter(|(_, value)| !value.is_null());
        let said = said.map(|(name, value)| (name.clone(), value.clone()));
        self.usage.extend(said);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn streamed(events: &[Value]) -> Result<ChatReply, ChatFailure> {
        let mut reply = Box::new(StreamedReply::default());
        for value in events {
            let event = Event {
                name: String::new(),
                data: value.to_string(),
                end: 0,
            };
            reply.event(&event, &Secrets::default())?;
        }
        reply.finish()
    }

    fn start() -> Value {
        json!({"type": "message_start", "message": {"id": "m", "content": [], "usage":
            {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 1}}})
    }

    fn end(reason: &str) -> Value {
        json!({"type": "message_delta", "delta": {"stop_reason": reason},
            "usage": {"output_tokens": 9, "input_tokens": null}})
    }

    #[test]
    fn streams_are_put_together() {
        let delta = |index: u64, kind: &str, member: &str, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, member: text}});
        let begin = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let reply = streamed(&[
            json!({"type": "ping"}),
            start(),
            begin(0, json!({"type": "thinking", "thinking": ""})),
            delta(0, "thinking_delta", "thinking", "hm"),
            delta(0, "signature_delta", "signature", "s"),
            begin(1, json!({"type": "text", "text": ""})),
            delta(1, "text_delta", "text", "Par"),
            json!({"type": "ping"}),
            delta(1, "text_delta", "text", "is"),
            json!({"type": "content_block_stop", "index": 1}),
            begin(
                2,
                json!({"type": "tool_use", "id": "t", "name": "look", "input": {}}),
            ),
            delta(2, "input_json_delta", "partial_json", "{\"a\":"),
            begin(
                3,
                json!({"type": "tool_use", "id": "u", "name": "look", "input": {}}),
            ),
            delta(2, "input_json_delta", "partial_json", "1}"),
            end("tool_use"),
            json!({"type": "message_stop"}),
            json!("whatever"),
        ])
        .expect("a reply");
        assert_eq!(reply.content, "Paris");
        assert_eq!(reply.reasoning.as_deref(), Some("hm"));
        let arguments: Vec<&Value> = reply
            .tool_calls
            .iter()
            .map(|call| &call["function"]["arguments"])
            .collect();
        assert_eq!(arguments, [r#"{"a":1}"#, "{}"]);
        let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 9});
        assert_eq!(reply.usage, usage.as_object().cloned());
        assert_eq!(reply.finish_reason.as_deref(), Some("tool_calls"));
    }

    #[test]
    fn streams_that_end_badly_are_errors() {
        let cut = streamed(&[start()]).expect_err("cut");
        assert!(cut.is_retryable(), "{cut}");
        // The reason has come: only the end is missing.
        assert_eq!(
            streamed(&[start(), end("end_turn")]).map(|r| r.content),
            Ok(Value::Null)
        );
        assert!(streamed(&[json!({"type": "message_stop"})]).is_err());
        for (kind, retried) in [
            ("overloaded_error", true),
            ("rate_limit_error", true),
            ("api_error", true),
            ("invalid_request_error", false),
        ] {
            let event = json!({"type": "error", "error": {"type": kind, "message": "sorry"}});
            let error = streamed(&[start(), event]).expect_err("an error");
            assert!(error.to_string().ends_with("stream: sorry"), "{error}");
            assert_eq!(error.is_retryable(), retried, "{kind}");
        }
    }
}
