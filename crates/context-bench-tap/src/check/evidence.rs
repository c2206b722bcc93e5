//! [`Evidence`] of a finding: the part of two bodies, streams or lists of headers that matters,
//! line by line, so that reports can show where they differ.

use serde_json::{Map, Value};

use super::client::{ClientReply, ClientRequest};
use super::report::{Evidence, Side};
use super::upstream::UpstreamCall;
use crate::figures::{Defect, canonical_json};
use crate::http1::Headers;
use crate::wire::{EventReader, WireReply};

/// A text of more letters is not shown where it is not the text that matters.
const LONG_TEXT: usize = 160;

/// Two sides of a request.
pub(super) fn request(defect: Defect, request: &ClientRequest, upstream: &[u8]) -> Evidence {
    Evidence {
        before: Side {
            title: "what the client sent",
            text: request_part(defect, &request.body),
        },
        after: Side {
            title: "what reached the provider",
            text: request_part(defect, upstream),
        },
    }
}

/// The part of a request that a defect is about.
fn request_part(defect: Defect, body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return String::from_utf8_lossy(body).into_owned();
    };
    // Caches compare bytes, so the order of members counts in tools and nowhere else.
    let value = match defect {
        Defect::Tools => value,
        _ => sorted(&value),
    };
    let keeps = |name: &str| match defect {
        Defect::Tools => name == "tools" || name == "functions",
        Defect::Parameters => !TALK.contains(&name) && name != "tools",
        Defect::SystemText => TALK.contains(&name) && !["contents", "prompt"].contains(&name),
        Defect::CacheMarks => {
            TALK.contains(&name) || name == "tools" || name.starts_with("prompt_cache_")
        }
        _ => TALK.contains(&name),
    };
    let Value::Object(members) = value else {
        return pretty(&value);
    };
    let members: Map<String, Value> = members
        .into_iter()
        .filter(|(name, _)| keeps(name))
        .collect();
    let whole_texts = matches!(defect, Defect::SystemText | Defect::Likelihood);
    pretty(&shortened(Value::Object(members), whole_texts))
}

/// Members that hold the conversation.
const TALK: [&str; 7] = [
    "messages",
    "system",
    "input",
    "instructions",
    "prompt",
    "contents",
    "systemInstruction",
];

/// The same with members in the order of their names.
fn sorted(value: &Value) -> Value {
    let text = canonical_json(value.to_string().as_bytes());
    let sorted = text.ok().and_then(|text| serde_json::from_str(&text).ok());
    sorted.unwrap_or_else(|| value.clone())
}

/// The same with long texts left out, unless they are what matters.
fn shortened(value: Value, whole_texts: bool) -> Value {
    match value {
        Value::String(text) if !whole_texts && text.chars().count() > LONG_TEXT => {
            Value::String("(a long text)".to_owned())
        }
        Value::Array(items) => items
            .into_iter()
            .map(|item| shortened(item, whole_texts))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, member)| (name, shortened(member, whole_texts)))
            .collect::<Map<String, Value>>()
            .into(),
        other => other,
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Two sides of an answer.
pub(super) struct Answers<'a> {
    pub(super) call: &'a UpstreamCall,
    pub(super) reply: &'a ClientReply,
    /// The body that the client got, without compression.
    pub(super) content: &'a [u8],
    pub(super) sent: &'a WireReply,
    pub(super) got: &'a WireReply,
}

impl Answers<'_> {
    pub(super) fn evidence(&self, defect: Defect) -> Evidence {
        let (before, after) = match defect {
            Defect::Headers => (
                headers(&self.call.sent_headers, &ACTED_ON),
                headers(&self.reply.headers, &ACTED_ON),
            ),
            Defect::Usage => {
                let usage = |reply: &WireReply| match &reply.usage {
                    Some(usage) => pretty(&sorted(&usage.raw)),
                    None => "no usage".to_owned(),
                };
                (usage(self.sent), usage(self.got))
            }
            Defect::ErrorShape => {
                let status = |status: u16| format!("status {status}\n");
                let before = status(self.call.status)
                    + &headers(&self.call.sent_headers, &["retry"])
                    + &error_body(&self.call.sent, self.call.is_stream);
                let after = self.reply.status.map_or("no answer\n".to_owned(), status)
                    + &headers(&self.reply.headers, &["retry"])
                    + &error_body(self.content, self.reply.is_stream());
                (before, after)
            }
            _ => (
                body(&self.call.sent, self.call.is_stream),
                body(self.content, self.reply.is_stream()),
            ),
        };
        Evidence {
            before: Side {
                title: "what the provider sent",
                text: before,
            },
            after: Side {
                title: "what the client got",
                text: after,
            },
        }
    }
}

/// What is in the names of headers that clients act on.
const ACTED_ON: [&str; 4] = ["request-id", "ratelimit", "retry", "content-encoding"];

/// Headers with one of these parts in their name, one a line.
fn headers(headers: &Headers, parts: &[&str]) -> String {
    let counts = |name: &str| parts.iter().any(|part| name.contains(part));
    let mut lines: Vec<String> = headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), header.text()))
        .filter(|(name, _)| counts(name))
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    lines.sort();
    lines.concat()
}

/// What a body says about an error: of a stream only the events that have one.
fn error_body(bytes: &[u8], is_stream: bool) -> String {
    let text = body(bytes, is_stream);
    if !is_stream {
        return text;
    }
    let lines = text.lines().filter(|line| {
        let data = line.find('{').map_or("", |at| &line[at..]);
        let value: Value = serde_json::from_str(data).unwrap_or_default();
        value["error"].is_object() || value["type"] == "error" || value["type"] == "response.failed"
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// A body: events one a line, JSON with its members in order.
fn body(bytes: &[u8], is_stream: bool) -> String {
    if !is_stream {
        return match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => pretty(&sorted(&value)),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        };
    }
    let mut lines = String::new();
    let mut reader = EventReader::default();
    let mut take = |event: crate::wire::Event| {
        let data = canonical_json(event.data.as_bytes()).unwrap_or(event.data);
        if !event.name.is_empty() {
            lines.push_str(&format!("{}: ", event.name));
        }
        lines.push_str(&data);
        lines.push('\n');
    };
    reader.feed(bytes, &mut take);
    reader.finish(&mut take);
    lines
}

/// What should have happened, and what did.
pub(super) fn course(before: &[String], after: &[String]) -> Evidence {
    Evidence {
        before: Side {
            title: "what should have happened",
            text: before.join("\n"),
        },
        after: Side {
            title: "what happened",
            text: after.join("\n"),
        },
    }
}
