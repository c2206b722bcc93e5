//! [`WireRequest`]: what a request asks for, in one shape for every API.

use serde_json::{Map, Value};

use super::message::{CacheMark, Message, Part, PartKind, Tool};
use super::route::{Route, WireFormat};
use super::{
    anthropic_messages, gemini, openai_chat, openai_chat_plain, openai_completions,
    openai_embeddings, openai_responses,
};

/// What a request asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct WireRequest {
    /// The API.
    pub format: WireFormat,
    /// The model, from the body or the path.
    pub model: Option<String>,
    /// Whether the answer is to be streamed.
    pub streams: bool,
    /// The conversation, system texts first where they stand apart.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// Every other member of the body, as it is.
    pub parameters: Map<String, Value>,
    /// Whether the provider adds a conversation of its own to the body, so that the body does
    /// not show what is billed.
    pub is_stateful: bool,
    /// Whether probabilities of the given text are asked for: any change of it voids them.
    pub wants_likelihoods: bool,
}

/// What a request looks like to whoever counts its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedRequest {
    /// The whole request, as [`WireRequest::rendered`] gives it.
    pub text: String,
    /// Whether the provider adds a conversation of its own to the body.
    pub is_stateful: bool,
    /// Whether there are pictures and other attachments, which have no text.
    pub has_pictures: bool,
}

impl WireRequest {
    /// Reads the body of a request; none for a format without one, and for a body that is no
    /// JSON object.
    pub fn read(route: &Route, body: &[u8]) -> Option<Self> {
        if route.format == WireFormat::OpenaiChat
            && let Some(usual) = openai_chat_plain::request(body)
        {
            return Some(usual.at(route));
        }
        let value: Value = serde_json::from_slice(body).ok()?;
        Self::of(route, &value)
    }

    /// What the body of a request looks like to whoever counts its tokens; the rest of it is not
    /// read where that can be avoided.
    pub fn to_count(route: &Route, body: &[u8]) -> Option<CountedRequest> {
        if route.format == WireFormat::OpenaiChat
            && let Some(text) = openai_chat_plain::rendered(body)
        {
            return Some(CountedRequest {
                text,
                is_stateful: false,
                has_pictures: false,
            });
        }
        let request = Self::read(route, body)?;
        let mut parts = request.messages.iter().flat_map(|one| &one.parts);
        Some(CountedRequest {
            text: request.rendered(),
            is_stateful: request.is_stateful,
            has_pictures: parts.any(|part| matches!(part.kind, PartKind::Attached(_))),
        })
    }

    /// With what the path says.
    fn at(mut self, route: &Route) -> Self {
        self.model = self.model.or_else(|| route.model.clone());
        self.streams |= route.streams;
        self
    }

    /// The same of a body that is JSON already.
    pub fn of(route: &Route, body: &Value) -> Option<Self> {
        let members = body.as_object()?;
        let request = match route.format {
            WireFormat::OpenaiChat => openai_chat::request(members),
            WireFormat::OpenaiResponses => openai_responses::request(members),
            WireFormat::OpenaiCompletions => openai_completions::request(members),
            WireFormat::OpenaiEmbeddings => openai_embeddings::request(members),
            WireFormat::AnthropicMessages => anthropic_messages::request(members),
            WireFormat::Gemini => gemini::request(members),
            WireFormat::OpenaiModels | WireFormat::Unknown => return None,
        };
        Some(request.at(route))
    }

    /// What every API has, with the members that are no conversation and no tools.
    pub(super) fn base(format: WireFormat, members: &Map<String, Value>, apart: &[&str]) -> Self {
        let parameters = members
            .iter()
            .filter(|(name, _)| !apart.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
        let flag = |name: &str| members.get(name).and_then(Value::as_bool).unwrap_or(false);
        Self {
            format,
            model: text("model"),
            streams: flag("stream"),
            messages: Vec::new(),
            tools: Vec::new(),
            parameters,
            is_stateful: false,
            wants_likelihoods: false,
        }
    }

    /// The text of the newest message that is not the model's own.
    pub fn newest_text(&self) -> String {
        let mut newest = self.messages.iter().rev();
        let newest = newest.find(|message| !matches!(message.role.as_str(), "assistant" | "model"));
        newest.map(Message::text).unwrap_or_default()
    }

    /// The whole request as text in the order in which providers read it: tools, system
    /// texts, conversation. Parameters are no part of it.
    pub fn rendered(&self) -> String {
        let texts = self.messages.iter().flat_map(|message| &message.parts);
        let bytes: usize = texts.map(|part| part.text.len() + 1).sum();
        let mut out = String::with_capacity(bytes + 16 * self.messages.len());
        let mut line = |text: &str| {
            out.push_str(text);
            out.push('\n');
        };
        for tool in &self.tools {
            line(&tool.definition);
        }
        let system = self.messages.iter().filter(|one| one.is_system());
        let rest = self.messages.iter().filter(|one| !one.is_system());
        for message in system.chain(rest) {
            line(&message.role);
            for part in &message.parts {
                match &part.kind {
                    PartKind::Attached(_) => continue,
                    PartKind::ToolCall { name, .. } => line(name),
                    _ => {}
                }
                line(&part.text);
            }
        }
        out
    }

    /// Where marks for the cache of the provider stand: tools, then parts in their order.
    pub fn cache_marks(&self) -> Vec<(String, CacheMark)> {
        let tools = self.tools.iter().enumerate();
        let mut marks: Vec<(String, CacheMark)> = tools
            .filter_map(|(at, tool)| Some((format!("tools/{at}"), tool.cache.clone()?)))
            .collect();
        for (at, message) in self.messages.iter().enumerate() {
            let parts = message.parts.iter();
            let parts = parts.filter(|part| !matches!(part.kind, PartKind::Attached(_)));
            let parts = parts.enumerate();
            marks.extend(parts.filter_map(|(part, Part { cache, .. })| {
                Some((format!("messages/{at}/{part}"), cache.clone()?))
            }));
        }
        for (name, value) in &self.parameters {
            if name == "cache_control" || name.starts_with("prompt_cache_") {
                let ttl = value.to_string();
                marks.push((name.clone(), CacheMark { ttl }));
            }
        }
        marks
    }
}
