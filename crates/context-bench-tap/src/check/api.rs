//! [`ProxyApi`]: an API in which a proxy is asked.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::wire::WireFormat;

/// An API in which a proxy is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProxyApi {
    /// `POST /v1/chat/completions`
    #[serde(rename = "openai")]
    Chat,
    /// `POST /v1/messages`
    #[serde(rename = "anthropic")]
    Messages,
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/completions`, which only log-probabilities are asked of.
    Completions,
    /// `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`
    Gemini,
}

impl ProxyApi {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Messages,
        Self::Responses,
        Self::Completions,
        Self::Gemini,
    ];

    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "openai",
            Self::Messages => "anthropic",
            Self::Responses => "responses",
            Self::Completions => "completions",
            Self::Gemini => "gemini",
        }
    }

    /// Where a request for this model goes, query included.
    pub fn path(self, model: &str, streams: bool) -> String {
        let path = match (self, streams) {
            (Self::Chat, _) => "/v1/chat/completions",
            (Self::Messages, _) => "/v1/messages",
            (Self::Responses, _) => "/v1/responses",
            (Self::Completions, _) => "/v1/completions",
            (Self::Gemini, false) => return format!("/v1beta/models/{model}:generateContent"),
            (Self::Gemini, true) => {
                return format!("/v1beta/models/{model}:streamGenerateContent?alt=sse");
            }
        };
        path.to_owned()
    }

    /// The model that is asked for unless the settings name another.
    pub fn default_model(self) -> &'static str {
        match self {
            Self::Messages => "claude-sonnet-4-5",
            Self::Completions => "gpt-3.5-turbo-instruct",
            Self::Chat | Self::Responses => "gpt-4o-mini",
            Self::Gemini => "gemini-2.5-flash",
        }
    }

    pub(super) fn format(self) -> WireFormat {
        match self {
            Self::Chat => WireFormat::OpenaiChat,
            Self::Messages => WireFormat::AnthropicMessages,
            Self::Responses => WireFormat::OpenaiResponses,
            Self::Completions => WireFormat::OpenaiCompletions,
            Self::Gemini => WireFormat::Gemini,
        }
    }

    /// Headers that clients of this API send, with a key that opens nothing.
    pub(super) fn headers(self, key: &str, accepts: &str) -> Vec<(String, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json".to_owned()),
            ("accept-encoding", accepts.to_owned()),
            ("user-agent", "context-bench".to_owned()),
        ];
        match self {
            Self::Messages => headers.extend([
                ("x-api-key", key.to_owned()),
                ("anthropic-version", "2023-06-01".to_owned()),
            ]),
            Self::Gemini => headers.push(("x-goog-api-key", key.to_owned())),
            _ => headers.push(("authorization", format!("Bearer {key}"))),
        }
        let headers = headers.into_iter();
        headers
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Members that a request needs, and as many others as have a place in every probe.
    pub(super) fn least(self) -> Map<String, Value> {
        members(match self {
            Self::Chat => json!({"temperature": 0.5, "max_completion_tokens": 300}),
            Self::Messages => json!({"max_tokens": 300, "temperature": 0.5}),
            Self::Responses => json!({"max_output_tokens": 300, "temperature": 0.5}),
            Self::Completions => {
                json!({"max_tokens": 1, "temperature": 0, "echo": true, "logprobs": 1})
            }
            Self::Gemini => {
                json!({"generationConfig": {"temperature": 0.5, "maxOutputTokens": 300}})
            }
        })
    }
}

/// The members of an object.
pub(super) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
