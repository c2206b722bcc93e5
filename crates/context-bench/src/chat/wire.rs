//! Requests and replies as JSON, read as leniently as the wild demands.
//!
//! Servers add, omit and mistype members, so replies are walked as JSON values
//! and only what is used is looked at. Nothing here sends or waits.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::error::ChatFailure;
use super::secret::Secrets;
use crate::model::CallStats;

/// How much of a reply that cannot be used is shown.
const EXCERPT: usize = 300;
/// How much of a server's own message is shown.
const MESSAGE: usize = 1000;

/// A request, serialised once for all its attempts.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    pub(crate) body: Bytes,
    pub(crate) stream: bool,
}

impl ChatReply {
    /// What is to be kept of the reply beside its text and usage.
    pub fn remarks(&self) -> Map<String, Value> {
        let mut remarks = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            remarks.extend(value.map(|value| (key.to_owned(), value)));
        };
        put("finish_reason", self.finish_reason.clone().map(Value::from));
        put("reasoning", self.reasoning.clone().map(Value::from));
        let calls = Some(&self.tool_calls).filter(|calls| !calls.is_empty());
        put("tool_calls", calls.cloned().map(Value::from));
        put("from_cache", self.from_cache.clone().map(Value::from));
        remarks
    }
}

impl ChatRequest {
    /// A request with this body. With `stream` it asks for a stream with usage,
    /// unless the body says otherwise: what the body holds is never changed.
    pub fn new(mut body: Map<String, Value>, stream: bool) -> Self {
        if stream {
            body.entry("stream").or_insert(Value::Bool(true));
        }
        let stream = body.get("stream") == Some(&Value::Bool(true));
        if stream {
            body.entry("stream_options")
                .or_insert_with(|| json!({"include_usage": true}));
        }
        Self {
            body: Value::Object(body).to_string().into(),
            stream,
        }
    }
}

/// The answer of a chat endpoint.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChatReply {
    /// The content of the first choice, as it came: mostly text, may be `null`.
    /// A list of parts is joined to the text of its text parts.
    pub content: Value,
    /// Usage as reported; `None` when there is none or it is empty.
    pub usage: Option<Map<String, Value>>,
    /// Why the text ended, in the words of the server.
    pub finish_reason: Option<String>,
    /// What the model thought, where the server gives it apart from the text.
    pub reasoning: Option<String>,
    /// Calls of tools that the model asks for.
    pub tool_calls: Vec<Value>,
    /// The likeliest first tokens with their log-probabilities, where the request asked
    /// for them and the server gives them. A stream never has them.
    pub first_tokens: Vec<(String, f64)>,
    /// The header that says that the reply is from a cache in between.
    pub from_cache: Option<String>,
    /// What the call cost.
    pub call: CallStats,
}

/// The answer of an endpoint that is not a chat completion, as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonReply {
    /// The whole body.
    pub body: Value,
    /// What the call cost.
    pub call: CallStats,
}

/// Reads a reply that may be any JSON.
pub(crate) fn parse_any(body: &[u8], secrets: &Secrets) -> Result<JsonReply, ChatFailure> {
    Ok(JsonReply {
        body: parse_json(body, secrets)?,
        call: CallStats::default(),
    })
}

/// Reads a reply that came as one JSON body.
pub(crate) fn parse(body: &[u8], secrets: &Secrets) -> Result<ChatReply, ChatFailure> {
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
        tool_calls,
        first_tokens,
        from_cache: None,
        call: CallStats::default(),
    })
}

fn parse_json(body: &[u8], secrets: &Secrets) -> Result<Value, ChatFailure> {
    serde_json::from_slice(body).map_err(|error| {
        let begins = secrets.excerpt(body, 100);
        ChatFailure::InvalidJson {
            detail: if begins.is_empty() {
                "the reply is empty".into()
            } else {
                format!("{error}; it begins with `{begins}`")
            },
            cut: error.is_eof(),
        }
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

/// What the body of an error status says, without secrets; empty if nothing.
pub(crate) fn server_message(body: &[u8], secrets: &Secrets) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = json.get("error");
    let message = error
        .and_then(|error| error.get("message"))
        .into_iter()
        .chain(error)
        .chain(json.get("detail"))
        .chain(json.get("message"))
        .find_map(|value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Array(_) => Some(value.to_string()),
            _ => None,
        });
    match message {
        Some(text) => secrets.excerpt(text.as_bytes(), MESSAGE),
        None => secrets.excerpt(body, EXCERPT),
    }
}

/// A streamed reply while it comes in.
#[derive(Debug, Default)]
pub(crate) struct StreamedReply {
    content: Option<String>,
    usage: Option<Map<String, Value>>,
    finish_reason: Option<String>,
    reasoning: Option<String>,
    tool_calls: Vec<Value>,
    saw_choice: bool,
    done: bool,
}

impl StreamedReply {
    /// Takes the data of one event.
    pub(crate) fn event(&mut self, data: &str, secrets: &Secrets) -> Result<(), ChatFailure> {
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
        let choices = chunk.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            // With `n` above 1 the choices come mixed; only the first counts.
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.choice(choice);
            }
        }
        Ok(())
    }

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

    /// Whether some text has come.
    pub(crate) fn has_text(&self) -> bool {
        self.content.as_ref().is_some_and(|text| !text.is_empty())
    }

    /// Whether the end marker has come, after which nothing follows.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the text is known to be whole, even if the stream breaks now.
    pub(crate) fn is_whole(&self) -> bool {
        self.done || self.finish_reason.is_some()
    }

    /// The reply, when the stream has ended.
    pub(crate) fn finish(self) -> Result<ChatReply, ChatFailure> {
        if !self.is_whole() {
            return Err(ChatFailure::BrokenOff {
                reason: "the stream ended without an end marker".into(),
            });
        }
        if !self.saw_choice {
            return Err(ChatFailure::EmptyChoices);
        }
        Ok(ChatReply {
            content: self.content.map_or(Value::Null, Value::String),
            usage: self.usage,
            finish_reason: self.finish_reason,
            reasoning: self.reasoning,
            tool_calls: self.tool_calls,
            first_tokens: Vec::new(),
            from_cache: None,
            call: CallStats::default(),
        })
    }
}

/// A status in the `code` of an error, as a number or as text.
fn status_code(code: &Value) -> Option<u16> {
    let number = match code {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    u16::try_from(number)
        .ok()
        .filter(|code| (400..600).contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<ChatReply, ChatFailure> {
        parse(body.as_bytes(), &Secrets::default())
    }

    fn streamed(events: &[&str]) -> Result<ChatReply, ChatFailure> {
        let mut reply = StreamedReply::default();
        for event in events {
            reply.event(event, &Secrets::default())?;
        }
        reply.finish()
    }

    fn body_of(request: &ChatRequest) -> Value {
        serde_json::from_slice(&request.body).expect("JSON")
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
    fn messages_are_found_in_all_places() {
        for (body, expected) in [
            (r#"{"error": {"message": "too long"}}"#, "too long"),
            (r#"{"error": "too long"}"#, "too long"),
            (r#"{"detail": "too long"}"#, "too long"),
            (r#"{"detail": [{"msg": "bad"}]}"#, r#"[{"msg":"bad"}]"#),
            (r#"{"message": "too long"}"#, "too long"),
            (r#"{"code": 7}"#, r#"{"code": 7}"#),
            ("  upstream\n\u{1b}[31m gone ", "upstream [31m gone"),
            ("", ""),
        ] {
            let found = server_message(body.as_bytes(), &Secrets::default());
            assert_eq!(found, expected, "{body}");
        }
        let long = server_message("é".repeat(5000).as_bytes(), &Secrets::default());
        assert_eq!(long.chars().count(), EXCERPT + 1);
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
    }
}
