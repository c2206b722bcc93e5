//! What goes over the pipes of a memory: requests and replies, one line each.

use context_bench_memory::Turn;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::memory::MemoryQuery;
use crate::text::stringify;

/// A request to a child.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Request<'a> {
    Hello,
    Reset,
    Ingest {
        turns: Vec<SentTurn<'a>>,
    },
    Query {
        question: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        asked: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget_tokens: Option<u64>,
    },
    Save,
    Load {
        state: &'a str,
    },
}

/// A turn as a child gets it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct SentTurn<'a> {
    id: &'a str,
    role: &'a str,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
}

impl<'a> Request<'a> {
    pub(super) fn ingest(turns: &'a [Turn]) -> Self {
        let turns = turns.iter().map(|turn| SentTurn {
            id: turn.id.as_str(),
            role: &turn.role,
            content: turn.content(),
            speaker: turn.speaker.as_deref(),
            timestamp: turn.time.as_deref(),
            session_id: turn.session.as_deref(),
        });
        Self::Ingest {
            turns: turns.collect(),
        }
    }

    pub(super) fn query(query: &MemoryQuery<'a>) -> Self {
        Self::Query {
            question: query.question,
            asked: query.asked,
            budget_tokens: query.budget_tokens,
        }
    }

    /// What is asked for.
    pub(super) fn op(&self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Reset => "reset",
            Self::Ingest { .. } => "ingest",
            Self::Query { .. } => "query",
            Self::Save => "save",
            Self::Load { .. } => "load",
        }
    }

    /// Whether it takes as long as a conversation is.
    pub(super) fn takes_in(&self) -> bool {
        matches!(self, Self::Ingest { .. } | Self::Load { .. })
    }
}

/// Whether a reply is one of success, and what it says.
pub(super) enum Outcome {
    Success(Map<String, Value>),
    Failure(String),
}

impl Outcome {
    /// `None` when `ok` is missing: then it is no reply of this protocol.
    pub(super) fn of(mut reply: Map<String, Value>) -> Option<Self> {
        match reply.shift_remove("ok")? {
            Value::Bool(true) => Some(Self::Success(reply)),
            Value::Bool(false) => Some(Self::Failure(match reply.get("error") {
                None | Some(Value::Null) => "the memory failed and did not say why".to_owned(),
                Some(error) => stringify::python_str(error).into_owned(),
            })),
            _ => None,
        }
    }
}

/// What a child says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub(super) struct Hello {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) version: Option<String>,
    #[serde(default)]
    pub(super) saves: bool,
}

/// A reply without content.
#[derive(Debug, Deserialize)]
pub(super) struct Done {}

/// What a child says when it has taken a conversation in, or a state of one.
#[derive(Debug, Deserialize)]
pub(super) struct Ingested {
    #[serde(default)]
    pub(super) loaded: Option<bool>,
    #[serde(default)]
    pub(super) usage: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) details: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Saved {
    #[serde(default)]
    pub(super) state: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Loaded {
    pub(super) loaded: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Example;
    use serde_json::json;

    #[test]
    fn requests_are_as_documented() {
        let mut turn = Turn::new("D1:1", "user", "Look!");
        let plain = Turn::new("D1:2", "assistant", "Nice");
        turn.picture = Some("a cat".into());
        turn.speaker = Some("Ann".into());
        turn.time = Some("8 May".into());
        turn.session = Some("1".into());
        let example = Example::new();
        let mut query = MemoryQuery {
            question: "Who?",
            asked: None,
            budget_tokens: None,
            evidence: Some(&[]),
            example: &example,
        };
        let short = Request::query(&query);
        query.asked = Some("9 May");
        query.budget_tokens = Some(100);
        for (request, expected) in [
            (Request::Hello, json!({"op": "hello"})),
            (Request::Reset, json!({"op": "reset"})),
            (
                Request::ingest(&[turn, plain]),
                json!({"op": "ingest", "turns": [
                    {"id": "D1:1", "role": "user", "content": "Look! [shares a cat]",
                     "speaker": "Ann", "timestamp": "8 May", "session_id": "1"},
                    {"id": "D1:2", "role": "assistant", "content": "Nice"},
                ]}),
            ),
            (short, json!({"op": "query", "question": "Who?"})),
            (
                Request::query(&query),
                json!({"op": "query", "question": "Who?", "asked": "9 May", "budget_tokens": 100}),
            ),
            (Request::Save, json!({"op": "save"})),
            (
                Request::Load { state: "aGk=" },
                json!({"op": "load", "state": "aGk="}),
            ),
        ] {
            let sent = serde_json::to_value(&request).expect("JSON");
            assert_eq!(sent, expected);
            assert_eq!(sent["op"], request.op());
        }
    }

    #[test]
    fn a_reply_says_whether_it_worked() {
        let read = |value: Value| match Outcome::of(value.as_object().expect("a map").clone()) {
            Some(Outcome::Success(rest)) => format!("success {}", Value::Object(rest)),
            Some(Outcome::Failure(message)) => format!("failure {message}"),
            None => "none".to_owned(),
        };
        for (reply, expected) in [
            (json!({"ok": true, "a": 1}), r#"success {"a":1}"#),
            (json!({"ok": false, "error": "no"}), "failure no"),
            (
                json!({"ok": false}),
                "failure the memory failed and did not say why",
            ),
            (json!({"ok": 1}), "none"),
            (json!({"op": "reset"}), "none"),
        ] {
            assert_eq!(read(reply), expected);
        }
    }
}
