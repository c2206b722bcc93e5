//! `ChatReply`: what came back, whichever API it came by; and what servers say of errors.
//!
//! Servers add, omit and mistype members, so replies are walked as JSON values
//! and only what is used is looked at. Nothing here sends or waits.

use serde_json::{Map, Value};

use super::api::Api;
use super::error::ChatFailure;
use super::secret::Secrets;
use crate::model::CallStats;

/// How much of a reply that cannot be used is shown.
pub(super) const EXCERPT: usize = 300;
/// How much of a server's own message is shown.
const MESSAGE: usize = 1000;
/// The longest name of a model.
const NAME: usize = 200;

/// The answer of a chat endpoint.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ChatReply {
    /// The API by which it came, which says what the members of `usage` mean.
    pub api: Api,
    /// The content of the first choice, as it came: mostly text, may be `null`.
    /// A list of parts is joined to the text of its text parts.
    pub content: Value,
    /// Usage as reported; `None` when there is none or it is empty.
    pub usage: Option<Map<String, Value>>,
    /// Why the text ended, in the words of chat completions; a word that they do not have
    /// is the server's.
    pub finish_reason: Option<String>,
    /// Why it ended in the words of another API.
    pub stop_reason: Option<String>,
    /// What the model thought, where the server gives it apart from the text.
    pub reasoning: Option<String>,
    /// What the model said instead of an answer, where the server gives it apart from the
    /// text.
    pub refusal: Option<String>,
    /// Calls of tools that the model asks for, as chat completions have them.
    pub tool_calls: Vec<Value>,
    /// The likeliest first tokens with their log-probabilities, where the request asked
    /// for them and the server gives them. A stream never has them.
    pub first_tokens: Vec<(String, f64)>,
    /// The header that says that the reply is from a cache in between.
    pub from_cache: Option<String>,
    /// The model that answered, where the reply says so.
    pub model: Option<String>,
    /// What the provider calls the class of service that answered.
    pub service_tier: Option<String>,
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

impl ChatReply {
    /// What is to be kept of the reply beside its text and usage.
    pub fn remarks(&self) -> Map<String, Value> {
        let mut remarks = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            remarks.extend(value.map(|value| (key.to_owned(), value)));
        };
        put("finish_reason", self.finish_reason.clone().map(Value::from));
        // What is not said is that of chat completions, also in answers stored before there
        // were others.
        let api = Some(self.api).filter(|api| *api != Api::default());
        put("api", api.map(|api| api.as_str().into()));
        put("stop_reason", self.stop_reason.clone().map(Value::from));
        put("refusal", self.refusal.clone().map(Value::from));
        put("reasoning", self.reasoning.clone().map(Value::from));
        let calls = Some(&self.tool_calls).filter(|calls| !calls.is_empty());
        put("tool_calls", calls.cloned().map(Value::from));
        put("from_cache", self.from_cache.clone().map(Value::from));
        put("model", self.model.clone().map(Value::from));
        // The usual class goes without saying.
        let service = self.service_tier.as_deref();
        let service = service.filter(|name| !["default", "standard", "auto"].contains(name));
        put("service_tier", service.map(Value::from));
        remarks
    }
}

/// A name in a reply, cut where it is too long to be one.
pub(super) fn name(reply: &Value, member: &str) -> Option<String> {
    let text = reply.get(member)?.as_str()?.trim();
    let short: String = text.chars().take(NAME).collect();
    (!short.is_empty()).then_some(short)
}

/// Reads a reply that may be any JSON.
pub(crate) fn parse_any(body: &[u8], secrets: &Secrets) -> Result<JsonReply, ChatFailure> {
    Ok(JsonReply {
        body: parse_json(body, secrets)?,
        call: CallStats::default(),
    })
}

/// A body as JSON, or why it is none.
pub(super) fn parse_json(body: &[u8], secrets: &Secrets) -> Result<Value, ChatFailure> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
