//! `Api`: the format in which an endpoint is asked, and everything that depends on it.
//!
//! A file for each. All of them make a body out of the same messages and settings, and the
//! same `ChatReply` out of what comes back. Nothing here sends or waits.

mod anthropic;
mod chat_completions;
mod responses;
mod tool;

use std::fmt;
use std::str::FromStr;

use context_bench_error::suggest::did_you_mean;
use context_bench_http::Event;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::error::ChatFailure;
use super::reply::{ChatReply, server_message};
use super::secret::Secrets;
use crate::error::Hint;

/// The format in which an endpoint is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// OpenAI's chat completions, which most servers speak.
    #[default]
    Openai,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Openai, Self::Responses, Self::Anthropic];

    /// The name, as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
        }
    }

    /// Where it is asked, after the base URL and `/v1`.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Openai => "/chat/completions",
            Self::Responses => "/responses",
            Self::Anthropic => "/messages",
        }
    }

    /// The header that carries a key.
    pub(super) fn key_header(self) -> HeaderName {
        match self {
            Self::Openai | Self::Responses => AUTHORIZATION,
            Self::Anthropic => HeaderName::from_static("x-api-key"),
        }
    }

    /// Headers of every request beside the key.
    pub(super) fn headers(self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self == Self::Anthropic {
            let version = HeaderValue::from_static(anthropic::VERSION);
            headers.insert("anthropic-version", version);
        }
        headers
    }

    /// The variable that holds the key where none is named.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Openai | Self::Responses => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }

    /// The most tokens of an answer that are asked for where nobody says: only an API that
    /// demands a number has one.
    pub fn default_max_tokens(self) -> Option<u64> {
        match self {
            Self::Openai | Self::Responses => None,
            Self::Anthropic => Some(anthropic::DEFAULT_MAX_TOKENS),
        }
    }

    /// Whether it has this setting of chat completions, so that it is sent.
    pub fn has_setting(self, name: &str) -> bool {
        match self {
            Self::Openai => true,
            Self::Responses => !["seed", "stop"].contains(&name),
            Self::Anthropic => name != "seed",
        }
    }

    /// The body of a request, out of messages and settings in the words of chat completions,
    /// with members in its own words that replace all others of their name.
    pub(crate) fn body(
        self,
        model: &str,
        messages: Vec<Value>,
        settings: Map<String, Value>,
        extra: Map<String, Value>,
    ) -> Map<String, Value> {
        let mut body = match self {
            Self::Openai => {
                let mut body = Map::new();
                body.insert("model".into(), json!(model));
                body.insert("messages".into(), Value::Array(messages));
                body.extend(settings);
                body
            }
            Self::Responses => responses::body(model, messages, settings),
            Self::Anthropic => {
                let mut body = anthropic::body(model, messages, settings);
                if !extra.contains_key("tools") {
                    anthropic::define_called_tools(&mut body);
                }
                body
            }
        };
        body.extend(extra);
        body
    }

    /// Reads a reply that came as one JSON body.
    pub(crate) fn parse(self, body: &[u8], secrets: &Secrets) -> Result<ChatReply, ChatFailure> {
        match self {
            Self::Openai => chat_completions::parse(body, secrets),
            Self::Responses => responses::parse(body, secrets),
            Self::Anthropic => anthropic::parse(body, secrets),
        }
    }

    /// What takes the events of a streamed reply.
    pub(crate) fn stream(self) -> Box<dyn ReplyStream> {
        match self {
            Self::Openai => Box::<chat_completions::StreamedReply>::default(),
            Self::Responses => Box::<responses::StreamedReply>::default(),
            Self::Anthropic => Box::<anthropic::StreamedReply>::default(),
        }
    }
}

/// A streamed reply while it comes in.
pub(crate) trait ReplyStream: Send {
    /// Takes one event.
    fn event(&mut self, event: &Event, secrets: &Secrets) -> Result<(), ChatFailure>;

    /// Whether some text has come.
    fn has_text(&self) -> bool;

    /// Whether the end marker has come, after which nothing follows.
    fn is_done(&self) -> bool;

    /// Whether the text is known to be whole, even if the stream breaks now.
    fn is_whole(&self) -> bool;

    /// The reply, when the stream has ended.
    fn finish(self: Box<Self>) -> Result<ChatReply, ChatFailure>;
}

/// A stream that stopped before it was whole.
fn broken_off() -> ChatFailure {
    ChatFailure::BrokenOff {
        reason: "the stream ended without an end marker".into(),
    }
}

/// An error in an event of a stream whose data is this.
fn in_stream(error: &Value, data: &str, secrets: &Secrets) -> ChatFailure {
    ChatFailure::InStream {
        message: server_message(data.as_bytes(), secrets),
        code: error_status(error),
    }
}

/// An error in a reply whose status is a success.
fn reported(error: &Value, body: &[u8], secrets: &Secrets) -> ChatFailure {
    ChatFailure::Reported {
        message: server_message(body, secrets),
        code: error_status(error),
    }
}

/// The HTTP status that an error stands for, by its number or its name.
fn error_status(error: &Value) -> Option<u16> {
    let said = |name: &str| error.get(name).filter(|value| !value.is_null());
    if let Some(status) = said("code").and_then(status_code) {
        return Some(status);
    }
    let names = [said("code"), said("type")];
    names
        .into_iter()
        .flatten()
        .find_map(|name| match name.as_str()? {
            "invalid_request_error" | "invalid_prompt" => Some(400),
            "authentication_error" => Some(401),
            "billing_error" | "insufficient_quota" => Some(402),
            "permission_error" => Some(403),
            "not_found_error" => Some(404),
            "request_too_large" => Some(413),
            "rate_limit_error" | "rate_limit_exceeded" => Some(429),
            "api_error" | "server_error" => Some(500),
            "timeout_error" => Some(504),
            "overloaded_error" => Some(529),
            _ => None,
        })
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

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No API has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no API `{0}`: expected openai, responses or anthropic")]
pub struct UnknownApi(String);

impl Hint for UnknownApi {
    fn hint(&self) -> Option<String> {
        let near = did_you_mean(&self.0, Api::ALL.map(Api::as_str));
        Some(near.unwrap_or_else(|| {
            "`openai` asks `/v1/chat/completions`, `responses` `/v1/responses`, `anthropic` \
             `/v1/messages`"
                .into()
        }))
    }
}

impl FromStr for Api {
    type Err = UnknownApi;

    fn from_str(text: &str) -> Result<Self, UnknownApi> {
        let named = Self::ALL.into_iter().find(|one| one.as_str() == text);
        named.ok_or_else(|| UnknownApi(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_are_read_by_name() {
        for api in Api::ALL {
            assert_eq!(api.to_string().parse(), Ok(api));
            assert_eq!(json!(api), json!(api.as_str()));
        }
        let error = "antropic".parse::<Api>().expect_err("a typo");
        assert_eq!(error.hint().as_deref(), Some("did you mean `anthropic`?"));
    }

    #[test]
    fn errors_stand_for_a_status() {
        for (error, expected) in [
            (json!({"type": "overloaded_error"}), Some(529)),
            (
                json!({"code": "rate_limit_exceeded", "type": "tokens"}),
                Some(429),
            ),
            (json!({"code": null, "type": "server_error"}), Some(500)),
            (
                json!({"code": 503, "type": "invalid_request_error"}),
                Some(503),
            ),
            (json!({"code": "503"}), Some(503)),
            (
                json!({"code": "insufficient_quota", "type": "insufficient_quota"}),
                Some(402),
            ),
            (json!({"code": "odd", "type": "error"}), None),
            (json!("odd"), None),
        ] {
            assert_eq!(error_status(&error), expected, "{error}");
        }
    }
}
