//! A streamed reply of Responses.

use context_bench_http::Event;
use serde_json::Value;

use super::reply::{Gathered, call};
use crate::chat::api::tool::{ToolCall, text};
use crate::chat::api::{ReplyStream, broken_off, in_stream};
use crate::chat::error::ChatFailure;
use crate::chat::reply::{ChatReply, EXCERPT, parse_json};
use crate::chat::secret::Secrets;

/// A streamed reply while it comes in.
#[derive(Debug, Default)]
pub(crate) struct StreamedReply {
    gathered: Gathered,
    /// The response as the last event has it, which says how it ended.
    last: Option<Value>,
}

impl ReplyStream for StreamedReply {
    fn event(&mut self, event: &Event, secrets: &Secrets) -> Result<(), ChatFailure> {
        let data = event.data.trim();
        // There is no such end in this API, but proxies that translate send it.
        if self.last.is_some() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let mut value = parse_json(data.as_bytes(), secrets)?;
        if !value.is_object() {
            return Err(ChatFailure::Structure {
                found: secrets.excerpt(data.as_bytes(), EXCERPT),
            });
        }
        let error = [value.get("error"), value.pointer("/response/error")];
        let error = error.into_iter().flatten().find(|error| !error.is_null());
        if let Some(error) = error {
            return Err(in_stream(error, &json_of(error), secrets));
        }
        let kind = value.get("type").and_then(Value::as_str);
        let kind = kind.unwrap_or(&event.name).to_owned();
        let index = value.get("output_index").and_then(Value::as_u64);
        match kind.as_str() {
            "response.output_text.delta" => self.gathered.say(&text(&value, "delta")),
            "response.refusal.delta" => self.gathered.refusal.push_str(&text(&value, "delta")),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.gathered.reasoning.push_str(&text(&value, "delta"));
            }
            "response.output_item.added" | "response.output_item.done" => {
                let item = value.get("item").unwrap_or(&Value::Null);
                if item.get("type").is_some_and(|kind| kind == "function_call") {
                    self.take_call(index, call(item));
                }
            }
            "response.function_call_arguments.delta" => {
                let mut calls = self.gathered.calls.iter_mut();
                if let Some((_, call)) = calls.find(|(of, _)| *of == index) {
                    call.arguments.push_str(&text(&value, "delta"));
                }
            }
            "response.completed" | "response.incomplete" => {
                let response = value.get_mut("response").map(Value::take);
                self.last = Some(response.unwrap_or_default());
            }
            "response.failed" | "response.cancelled" | "error" => {
                return Err(in_stream(&value, data, secrets));
            }
            _ => {}
        }
        Ok(())
    }

    fn has_text(&self) -> bool {
        let text = self.gathered.text.as_ref();
        text.is_some_and(|text| !text.is_empty())
    }

    fn is_done(&self) -> bool {
        self.last.is_some()
    }

    fn is_whole(&self) -> bool {
        self.last.is_some()
    }

    fn finish(self: Box<Self>) -> Result<ChatReply, ChatFailure> {
        let mut gathered = self.gathered;
        let Some(last) = self.last else {
            return Err(broken_off());
        };
        // A server that does not stream by pieces has everything at the end.
        if gathered.is_empty() {
            let output = last.get("output").and_then(Value::as_array);
            output
                .into_iter()
                .flatten()
                .for_each(|item| gathered.item(item));
        }
        Ok(gathered.into_reply(&last))
    }
}

impl StreamedReply {
    /// A call as it begins, or again as it has ended.
    fn take_call(&mut self, index: Option<u64>, call: ToolCall) {
        let mut calls = self.gathered.calls.iter_mut();
        match calls.find(|(of, _)| *of == index) {
            Some((_, known)) if !call.arguments.is_empty() => *known = call,
            Some(_) => {}
            None => self.gathered.calls.push((index, call)),
        }
    }
}

/// An error as a body that has nothing else.
fn json_of(error: &Value) -> String {
    serde_json::json!({ "error": error }).to_string()
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

    fn text_of(delta: &str) -> Value {
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": delta})
    }

    #[expect(clippy::needless_pass_by_value, reason = "`json!` is passed as it is")]
    fn end(kind: &str, response: Value) -> Value {
        json!({"type": kind, "response": response})
    }

    #[test]
    fn streams_are_put_together() {
        let item = |arguments: &str| {
            json!({"type": "function_call", "call_id": "c", "name": "look",
            "arguments": arguments})
        };
        let reply = streamed(&[
            end("response.created", json!({"status": "in_progress", "error": null})),
            json!({"type": "response.reasoning_summary_text.delta", "delta": "hm"}),
            text_of("Par"),
            text_of("is"),
            json!({"type": "response.output_text.done", "text": "Paris"}),
            json!({"type": "response.output_item.added", "output_index": 1, "item": item("")}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"a\""}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}"}),
            json!({"type": "response.output_item.done", "output_index": 1, "item": item("{\"a\":1}")}),
            end("response.completed", json!({"status": "completed", "usage": {"input_tokens": 3}})),
            json!("whatever"),
        ])
        .expect("a reply");
        assert_eq!(reply.content, "Paris");
        assert_eq!(reply.reasoning.as_deref(), Some("hm"));
        assert_eq!(reply.tool_calls.len(), 1);
        assert_eq!(reply.tool_calls[0]["function"]["arguments"], r#"{"a":1}"#);
        assert_eq!(reply.usage, json!({"input_tokens": 3}).as_object().cloned());
        assert_eq!(reply.finish_reason.as_deref(), Some("tool_calls"));
        // All of it in the last event.
        let output =
            json!([{"type": "message", "content": [{"type": "output_text", "text": "A"}]}]);
        let late = end(
            "response.completed",
            json!({"status": "completed", "output": output}),
        );
        assert_eq!(streamed(&[late]).map(|reply| reply.content), Ok(json!("A")));
    }

    #[test]
    fn streams_that_end_badly_are_errors() {
        let cut = streamed(&[text_of("Par")]).expect_err("cut");
        assert!(cut.is_retryable(), "{cut}");
        let short = end(
            "response.incomplete",
            json!({"status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"}}),
        );
        let reply = streamed(&[text_of("Par"), short]).expect("a reply");
        assert_eq!(reply.finish_reason.as_deref(), Some("length"));
        for (event, retried) in [
            (
                json!({"type": "error", "code": "server_error", "message": "sorry"}),
                true,
            ),
            (
                json!({"type": "error", "code": "invalid_prompt", "message": "sorry"}),
                false,
            ),
            (
                end(
                    "response.failed",
                    json!({"status": "failed",
                "error": {"code": "rate_limit_exceeded", "message": "sorry"}}),
                ),
                true,
            ),
            (
                json!({"error": {"type": "overloaded_error", "message": "sorry"}}),
                true,
            ),
        ] {
            let error = streamed(&[text_of("Par"), event.clone()]).expect_err("an error");
            assert!(error.to_string().ends_with("stream: sorry"), "{error}");
            assert_eq!(error.is_retryable(), retried, "{event}");
        }
    }
}
