//! Chat completions, and plain ones: `POST /v1/chat/completions` and `/v1/completions`.

use context_bench_http::Event;
use serde_json::{Map, Value, json};

use super::{ReplyStream, broken_off, status_code};
use crate::chat::error::ChatFailure;
use crate::chat::reply::{ChatReply, EXCERPT, name, parse_json, server_message};
use crate::chat::secret::Secrets;

/// Reads a reply that came as one JSON body.
pub(super) fn parse(body: &[u8], secrets: &Secrets) -> Result<ChatReply, ChatFailure> {
    let mut reply = parse_json(body, secrets)?;
    let unexpected = || ChatFailure::Structure {
        found: secrets.excerpt(body, EXCERPT),
    };
    let first = match reply.get_mut("choices") {
        None => return Err(unexpected()),
        Some(Value::Null) => return Err(ChatFailure::EmptyChoices),
        Some(Value::Array(list)) => list.first_mut().ok_or(ChatFailure::EmptyChoices)?,
        Some(_) => return Err(unexpected()),
    };
    let finish_reason = finish_reason(first);
    let first_tokens = first_tokens(first);
    // A completion of plain text says `text` where a chat has a message.
    let content = match first.get("message") {
        Some(_) => first
            .get_mut("message")
            .and_then(|message| message.get_mut("content")),
        None => first.get_mut("text"),
    };
    let content = content.map(|content| joined(content.take()));
    let mut told = Value::Null;
    if let Some(message) = first.get_mut("message") {
        told = message.take();
    }
    let tool_calls = tool_calls(&mut told);
    let content = match content {
        Some(content) => content,
        // Some servers leave the content out when there are only calls.
        None if !tool_calls.is_empty() => Value::Null,
        None => return Err(unexpected()),
    };
    Ok(ChatReply {
        content,
        usage: usage(&mut reply),
        finish_reason,
        reasoning: reasoning(&mut told),
        refusal: refusal(&told),
        tool_calls,
        first_tokens,
        model: name(&reply, "model"),
        service_tier: name(&reply, "service_tier"),
        ..ChatReply::default()
    })
}

/// A list of parts as the text of its text parts; anything else as it is.
fn joined(content: Value) -> Value {
    let Value::Array(parts) = content else {
        return content;
    };
    let texts = parts
        .iter()
        .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
    Value::String(texts.collect())
}

/// Why a choice ended. Some servers send `""` with every piece, which is no
/// reason, and some send numbers.
fn finish_reason(choice: &Value) -> Option<String> {
    match choice.get("finish_reason")? {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        other => Some(other.to_string()),
    }
}

/// What a choice says about its first token: `logprobs.content[0].top_logprobs` of chats,
/// `logprobs.top_logprobs[0]` of plain completions.
fn first_tokens(choice: &Value) -> Vec<(String, f64)> {
    if let Some(Value::Array(list)) = choice.pointer("/logprobs/content/0/top_logprobs") {
        let tokens = list.iter().filter_map(|one| {
            let token = one.get("token")?.as_str()?;
            Some((token.to_owned(), one.get("logprob")?.as_f64()?))
        });
        return tokens.collect();
    }
    match choice.pointer("/logprobs/top_logprobs/0") {
        Some(Value::Object(map)) => {
            let tokens = map.iter();
            let tokens = tokens.filter_map(|(token, value)| Some((token.clone(), value.as_f64()?)));
            tokens.collect()
        }
        _ => Vec::new(),
    }
}

/// The thoughts that a message or a piece of one holds; servers have two names for them.
fn reasoning(message: &mut Value) -> Option<String> {
    ["reasoning_content", "reasoning"].iter().find_map(|name| {
        match message.get_mut(*name).map(Value::take) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    })
}

/// What the model said instead of an answer.
fn refusal(message: &Value) -> Option<String> {
    let text = message.get("refusal").and_then(Value::as_str);
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The calls of tools in a message, `function_call` of old included.
fn tool_calls(message: &mut Value) -> Vec<Value> {
    match message.get_mut("tool_calls").map(Value::take) {
        Some(Value::Array(calls)) if !calls.is_empty() => calls,
        _ => match message.get_mut("function_call").map(Value::take) {
            Some(call @ Value::Object(_)) => vec![json!({"type": "function", "function": call})],
            _ => Vec::new(),
        },
    }
}

/// Joins a further piece of a call to those that have come.
fn add_call(calls: &mut Vec<Value>, mut piece: Value) {
    let index = piece.get("index").and_then(Value::as_u64);
    let known = calls
        .iter_mut()
        .find(|call| index.is_some() && call.get("index").and_then(Value::as_u64) == index);
    let Some(known) = known else {
        calls.push(piece);
        return;
    };
    if let Some(Value::String(more)) = piece.pointer_mut("/function/arguments").map(Value::take) {
        match known
            .get_mut("function")
            .and_then(|call| call.get_mut("arguments"))
        {
            Some(Value::String(arguments)) => arguments.push_str(&more),
            Some(other) => *other = Value::String(more),
            None => {}
        }
    }
}

fn usage(reply: &mut Value) -> Option<Map<String, Value>> {
    match reply.get_mut("usage")?.take() {
        Value::Object(usage) if !usage.is_empty() => Some(usage),
        _ => None,
    }
}

/// A streamed reply while it comes in.
#[derive(Debug, Default)]
pub(super) struct StreamedReply {
    content: Option<String>,
    usage: Option<Map<String, Value>>,
    finish_reason: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Vec<Value>,
    model: Option<String>,
    service_tier: Option<String>,
    saw_choice: bool,
    done: bool,
}

impl ReplyStream for StreamedReply {
    fn event(&mut self, event: &Event, secrets: &Secrets) -> Result<(), ChatFailure> {
        let data = event.data.as_str();
        if data.trim() == "[DONE]" {
            self.done = true;
        }
        if self.done || data.trim().is_empty() {
            return Ok(());
        }
        let mut chunk = parse_json(data.as_bytes(), secrets)?;
        if !chunk.is_object() {
            return Err(ChatFailure::Structure {
                found: secrets.excerpt(data.as_bytes(), EXCERPT),
            });
        }
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(ChatFailure::InStream {
                message: server_message(data.as_bytes(), secrets),
                code: error.get("code").and_then(status_code),
            });
        }
        if let Some(usage) = usage(&mut chunk) {
            self.usage = Some(usage);
        }
        if self.model.is_none() {
            self.model = name(&chunk, "model");
        }
        self.service_tier = name(&chunk, "service_tier").or(self.service_tier.take());
        let choices = chunk.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            // With `n` above 1 the choices come mixed; only the first counts.
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.choice(choice);
            }
        }
        Ok(())
    }

    fn has_text(&self) -> bool {
        self.content.as_ref().is_some_and(|text| !text.is_empty())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn is_whole(&self) -> bool {
        self.done || self.finish_reason.is_some()
    }

    fn finish(self: Box<Self>) -> Result<ChatReply, ChatFailure> {
        if !self.is_whole() {
            return Err(broken_off());
        }
        if !self.saw_choice {
            return Err(ChatFailure::EmptyChoices);
        }
        Ok(ChatReply {
            content: self.content.map_or(Value::Null, Value::String),
            usage: self.usage,
            finish_reason: self.finish_reason,
            reasoning: self.reasoning,
            refusal: self.refusal,
            tool_calls: self.tool_calls,
            model: self.model,
            service_tier: self.service_tier,
            ..ChatReply::default()
        })
    }
}

impl StreamedReply {
    fn choice(&mut self, choice: &mut Value) {
        self.saw_choice = true;
        if let Some(reason) = finish_reason(choice) {
            self.finish_reason = Some(reason);
        }
        // Some servers say `message` in streams too.
        let delta = match choice.get("delta") {
            Some(Value::Object(_)) => choice.get_mut("delta"),
            _ if choice.get("message").is_some() => choice.get_mut("message"),
            _ => None,
        };
        let content = match delta {
            Some(delta) => {
                if let Some(more) = refusal(delta) {
                    self.refusal.get_or_insert_default().push_str(&more);
                }
                if let Some(more) = reasoning(delta) {
                    self.reasoning.get_or_insert_default().push_str(&more);
                }
                for piece in tool_calls(delta) {
                    add_call(&mut self.tool_calls, piece);
                }
                delta.get_mut("content")
            }
            None => choice.get_mut("text"),
        };
        if let Some(Value::String(text)) = content.map(|content| joined(content.take())) {
            match &mut self.content {
                Some(known) => known.push_str(&text),
                None => self.content = Some(text),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<ChatReply, ChatFailure> {
        parse(body.as_bytes(), &Secrets::default())
    }

    fn streamed(events: &[&str]) -> Result<ChatReply, ChatFailure> {
        let mut reply = Box::new(StreamedReply::default());
        for data in events {
            let event = Event {
                name: String::new(),
                data: (*data).to_owned(),
                end: 0,
            };
            reply.event(&event, &Secrets::default())?;
        }
        reply.finish()
    }

    #[test]
    fn first_tokens_of_both_kinds_of_servers() {
        for (choice, expected) in [
            (
                json!({"logprobs": {"content": [{"token": "M", "top_logprobs": [
                    {"token": "M", "logprob": -0.25}, {"token": "m"}, {"token": "The", "logprob": -9},
                ]}]}}),
                vec![("M".to_owned(), -0.25), ("The".to_owned(), -9.0)],
            ),
            (
                json!({"logprobs": {"top_logprobs": [{"m": -0.5}]}}),
                vec![("m".to_owned(), -0.5)],
            ),
            (json!({"logprobs": null}), vec![]),
            (json!({"logprobs": {"content": []}}), vec![]),
            (json!({}), vec![]),
        ] {
            assert_eq!(first_tokens(&choice), expected, "{choice}");
        }
    }

    #[test]
    fn contents_come_through() {
        for (content, expected) in [
            (json!("R"), json!("R")),
            (json!(null), json!(null)),
            (json!(""), json!("")),
            (
                json!([{"type": "text", "text": "a"}, {"type": "image"}, "b"]),
                json!("ab"),
            ),
            (json!(5), json!(5)),
        ] {
            let body = json!({"choices": [{"message": {"content": content}}]});
            let reply = read(&body.to_string()).expect("a reply");
            assert_eq!(reply.content, expected);
            assert_eq!((reply.usage, reply.finish_reason), (None, None));
        }
    }

    #[test]
    fn usage_and_reason_are_kept_when_they_say_something() {
        let with = |usage: Value, reason: Value| {
            let choice = json!({"message": {"content": "R"}, "finish_reason": reason});
            read(&json!({"choices": [choice], "usage": usage}).to_string()).expect("a reply")
        };
        let reply = with(json!({"prompt_tokens": 3}), json!("stop"));
        assert_eq!(
            reply.usage,
            json!({"prompt_tokens": 3}).as_object().cloned()
        );
        assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
        for nothing in [json!({}), json!(null), json!([1])] {
            assert_eq!(with(nothing, json!("")).usage, None);
        }
        assert_eq!(
            with(json!({}), json!(2)).finish_reason.as_deref(),
            Some("2")
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        use ChatFailure::{EmptyChoices, Structure};
        for body in [r#"{"choices": []}"#, r#"{"choices": null}"#] {
            assert_eq!(read(body), Err(EmptyChoices), "{body}");
        }
        for body in [
            "{}",
            "[]",
            "5",
            r#"{"error": "x"}"#,
            r#"{"choices": {}}"#,
            r#"{"choices": [{}]}"#,
            r#"{"choices": [{"message": {}}]}"#,
        ] {
            assert_eq!(read(body), Err(Structure { found: body.into() }), "{body}");
        }
        let text = |body| read(body).expect_err("not JSON").to_string();
        let beginning = "OpenAI proxy returned invalid JSON: ";
        assert!(text("not json").starts_with(beginning));
        assert_eq!(text(""), format!("{beginning}the reply is empty"));
    }

    #[test]
    fn only_json_that_looks_cut_is_tried_again() {
        for (body, expected) in [
            (r#"{"choices": [{"mess"#, true),
            ("", true),
            ("not json", false),
            ("<html>", false),
            ("{} {}", false),
        ] {
            assert_eq!(
                read(body).expect_err(body).is_retryable(),
                expected,
                "{body}"
            );
        }
    }

    #[test]
    fn streams_are_put_together() {
        let reply = streamed(&[
            r#"{"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": ""}]}"#,
            r#"{"choices": [{"index": 1, "delta": {"content": "other"}}]}"#,
            r#"{"choices": [{"delta": {"content": "Par"}}]}"#,
            r#"{"choices": [{"index": 0, "delta": {"content": "is"}, "finish_reason": "stop"}]}"#,
            r#"{"choices": [], "usage": {"total_tokens": 3}}"#,
            "[DONE]",
            "whatever",
        ])
        .expect("a reply");
        assert_eq!(reply.content, "Paris");
        assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
        assert_eq!(reply.usage, json!({"total_tokens": 3}).as_object().cloned());
    }

    #[test]
    fn refusals_are_kept_beside_the_text() {
        let message = json!({"content": null, "refusal": "I will not."});
        let whole = read(&json!({"choices": [{"message": message}]}).to_string());
        let delta = json!({"choices": [{"delta": message, "finish_reason": "stop"}]});
        for reply in [whole, streamed(&[&delta.to_string()])] {
            let reply = reply.expect("a reply");
            assert_eq!(reply.content, Value::Null);
            assert_eq!(reply.remarks()["refusal"], "I will not.");
        }
    }

    #[test]
    fn streams_that_end_badly_are_errors() {
        let text = r#"{"choices": [{"delta": {"content": "Par"}}]}"#;
        let cut = streamed(&[text]).expect_err("cut");
        assert!(cut.is_retryable(), "{cut}");
        assert_eq!(streamed(&["[DONE]"]), Err(ChatFailure::EmptyChoices));
        let finished = r#"{"choices": [{"delta": {}, "finish_reason": "stop"}]}"#;
        assert_eq!(
            streamed(&[text, finished]).map(|r| r.content),
            Ok(json!("Par"))
        );
        assert_eq!(streamed(&[finished]).map(|r| r.content), Ok(Value::Null));
        for (code, retried) in [
            (json!(502), true),
            (json!("429"), true),
            (json!("x"), false),
        ] {
            let event = json!({"error": {"message": "overloaded", "code": code}}).to_string();
            let error = streamed(&[text, &event]).expect_err("an error");
            assert!(error.to_string().ends_with("stream: overloaded"), "{error}");
            assert_eq!(error.is_retryable(), retried, "{code}");
        }
    }
}
