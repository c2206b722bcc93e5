//! What a script sees of one request.
//!
//! The body is parsed as JSON only when a script first asks for it, so that a
//! script which never looks costs no parsing. Nothing here touches a socket.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::headers::Headers;

/// One fully read completion request, as handed to a handler.
#[derive(Debug)]
pub struct Request {
    /// Arrival number among the completion requests of this server, from 0.
    pub index: usize,
    /// How many earlier completion requests had a byte-identical body.
    pub attempt: usize,
    /// The method as sent, such as `POST`.
    pub method: String,
    /// The path without its query, such as `/v1/chat/completions`.
    pub path: String,
    /// What followed the `?` of the target; empty if there was none.
    pub query: String,
    /// The headers as sent.
    pub headers: Arc<Headers>,
    /// The body, with any transfer encoding removed.
    pub body: Arc<[u8]>,
    json: OnceLock<Value>,
}

/// The parts of a request that are known before it is counted.
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Headers,
}

impl Request {
    pub(crate) fn new(index: usize, attempt: usize, details: Details, body: Arc<[u8]>) -> Self {
        Self {
            index,
            attempt,
            method: details.method,
            path: details.path,
            query: details.query,
            headers: Arc::new(details.headers),
            body,
            json: OnceLock::new(),
        }
    }

    /// A request made by hand, to try a handler without a server.
    pub fn post(path: &str, body: &Value, index: usize, attempt: usize) -> Self {
        let details = Details {
            method: "POST".to_owned(),
            path: path.to_owned(),
            ..Details::default()
        };
        Self::new(
            index,
            attempt,
            details,
            body.to_string().into_bytes().into(),
        )
    }

    /// The body as JSON, parsed at the first call; `Null` if it is not JSON.
    pub fn json(&self) -> &Value {
        self.json
            .get_or_init(|| serde_json::from_slice(&self.body).unwrap_or(Value::Null))
    }

    /// The `messages` of a chat request, or the `input` of a request to Responses; empty if
    /// there are none.
    pub fn messages(&self) -> &[Value] {
        let members = ["messages", "input"].map(|name| self.json()[name].as_array());
        members
            .into_iter()
            .flatten()
            .next()
            .map_or(&[], Vec::as_slice)
    }

    /// The text of the last `user` message that has one (its last text part if the content
    /// is a list), or the `prompt` of a plain completion; empty if there is none.
    pub fn last_user_content(&self) -> &str {
        self.messages()
            .iter()
            .rev()
            .filter(|message| message["role"] == "user")
            .find_map(|message| texts(&message["content"]).last())
            .or_else(|| texts(&self.json()["prompt"]).last())
            .or_else(|| self.json()["input"].as_str())
            .unwrap_or("")
    }

    /// The `model` asked for; empty if there is none.
    pub fn model(&self) -> &str {
        self.json()["model"].as_str().unwrap_or("")
    }

    /// Whether the body says `"stream": true`.
    pub fn is_stream(&self) -> bool {
        self.json()["stream"] == true
    }

    /// The token of an `Authorization: Bearer` header.
    pub fn bearer(&self) -> Option<&str> {
        self.headers.get("authorization")?.strip_prefix("Bearer ")
    }

    /// How many whitespace-separated words all messages (or the prompt) hold:
    /// the prompt tokens this server reports unless a script says otherwise.
    pub fn prompt_words(&self) -> u64 {
        let words = |content| -> u64 {
            texts(content)
                .map(|text| text.split_whitespace().count() as u64)
                .sum()
        };
        let messages = self.messages().iter().map(|message| {
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            let results: u64 = blocks.iter().map(|block| words(&block["content"])).sum();
            words(&message["content"]) + words(&message["output"]) + results
        });
        let apart = ["prompt", "system", "instructions"].map(|name| words(&self.json()[name]));
        let input = self.json()["input"].as_str();
        let input = input.map_or(0, |text| text.split_whitespace().count() as u64);
        messages.sum::<u64>() + apart.iter().sum::<u64>() + input
    }

    pub(crate) fn wants_stream_usage(&self) -> bool {
        self.json()["stream_options"]["include_usage"] == true
    }
}

/// The texts of a content value: a string, or a list of strings or text parts.
fn texts(content: &Value) -> impl DoubleEndedIterator<Item = &str> {
    let parts = content.as_array().map_or(&[][..], Vec::as_slice);
    content.as_str().into_iter().chain(
        parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part["text"].as_str())),
    )
}
