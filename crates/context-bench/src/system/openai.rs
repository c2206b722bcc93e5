//! `OpenAiProxy`: a system behind an endpoint of any of the APIs.
//!
//! It turns examples into messages (or, where the address ends in plain
//! `/completions`, into a prompt) and replies into outputs; sending, waiting and
//! retrying are the chat client's. It never reads the environment: a key
//! is passed in or there is none.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::layout::{Layout, message};
use super::openai_settings::OpenAiProxySettings;
use super::request_content::RequestContent;
use super::{Conversation, Posting, Replies, System, SystemError, generation};
use crate::chat::{
    Api, ChatClient, ChatError, ChatReply, ChatRequest, ClientError, Endpoint, host_part,
};
use crate::mask::Mask;
use crate::model::{
    API_REPLY, CallStats, Example, Identity, ModelUse, Output, Turn, UsageShape, WireUsage,
};
use crate::text::stringify;

/// A system behind a chat endpoint: OpenAI-compatible unless its settings name another API.
#[derive(Debug)]
pub struct OpenAiProxy {
    name: String,
    client: ChatClient,
    settings: OpenAiProxySettings,
    /// The endpoint has refused the usual temperature.
    refuses_temperature: AtomicBool,
}

impl OpenAiProxy {
    /// A proxy with default settings.
    ///
    /// ```
    /// use context_bench::system::OpenAiProxy;
    /// use context_bench::System as _;
    ///
    /// let proxy = OpenAiProxy::new("http://localhost:7878/v1")?;
    /// assert_eq!(proxy.name(), "openai_proxy_localhost:7878");
    /// # Ok::<(), context_bench::chat::ClientError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`OpenAiProxy::with_settings`].
    pub fn new(base_url: impl Into<String>) -> Result<Self, ClientError> {
        Self::with_settings(OpenAiProxySettings::new(base_url))
    }

    /// A proxy with these settings; no connection is opened yet.
    ///
    /// # Errors
    ///
    /// When the URL is wrong or the key cannot be sent.
    pub fn with_settings(settings: OpenAiProxySettings) -> Result<Self, ClientError> {
        let name = match &settings.name {
            Some(name) => Mask::Dots.text(name),
            None => default_name(&settings.base_url),
        };
        let client = ChatClient::new(settings.client()?)?;
        Ok(Self {
            name,
            client,
            settings,
            refuses_temperature: AtomicBool::new(false),
        })
    }

    /// Where requests go.
    pub fn endpoint(&self) -> &Endpoint {
        self.client.endpoint()
    }

    fn request(&self, messages: Vec<Value>, asked: &RequestContent) -> ChatRequest {
        let body = self.body(messages, asked, self.settings.extra_body.clone());
        self.posted(body)
    }

    fn posted(&self, body: Map<String, Value>) -> ChatRequest {
        ChatRequest::of(self.settings.api, body, self.settings.stream)
    }

    fn body(
        &self,
        messages: Vec<Value>,
        asked: &RequestContent,
        extra: Map<String, Value>,
    ) -> Map<String, Value> {
        let model = &self.settings.model;
        let mut settings = asked.members(self.endpoint(), model);
        settings.extend(self.own_members(settings.contains_key("temperature")));
        if self.endpoint().is_chat() {
            return self.settings.api.body(model, messages, settings, extra);
        }
        let mut body = Map::new();
        body.insert("model".into(), json!(model));
        body.insert("prompt".into(), json!(generation::prompt(&messages)));
        body.extend(settings);
        body.extend(extra);
        body
    }

    /// How answers are generated here, whatever an example says.
    fn own_members(&self, has_temperature: bool) -> Map<String, Value> {
        let mut asked = self.settings.generation.clone();
        if self.sends_usual_temperature() && !has_temperature {
            asked.entry("temperature").or_insert_with(|| json!(0.0));
        }
        let mut members = generation::members(&asked, self.endpoint(), &self.settings.model);
        if !asked.contains_key("temperature") {
            members.shift_remove("temperature");
        }
        members
    }

    fn sends_usual_temperature(&self) -> bool {
        let refused = self.refuses_temperature.load(Ordering::Relaxed);
        self.has_usual_temperature() && !refused
    }

    /// Whether the temperature is the default and was not chosen.
    fn has_usual_temperature(&self) -> bool {
        self.settings.usual_temperature && !self.settings.generation.contains_key("temperature")
    }

    /// Sends a request; once more, and from then on, without the usual temperature if
    /// that is what the endpoint refuses.
    async fn send(
        &self,
        messages: Vec<Value>,
        asked: &RequestContent,
    ) -> Result<(ChatReply, Map<String, Value>), ChatError> {
        let request = self.request(messages.clone(), asked);
        let mut reply = self.client.send(&request).await;
        if let Err(error) = &reply
            && self.has_usual_temperature()
            && error.failure.refuses("temperature")
        {
            let spent = error.call;
            self.refuses_temperature.store(true, Ordering::Relaxed);
            let request = self.request(messages, asked);
            reply = self.client.send(&request).await;
            match &mut reply {
                Ok(reply) => reply.call.add(spent),
                Err(error) => error.call.add(spent),
            }
        }
        let reply = reply?;
        let mut remarks = reply.remarks();
        // Endpoints say back what they are asked for, and that may be a key in the wrong place.
        if let Some(model) = &reply.model {
            remarks.insert("model".into(), Mask::Dots.text(model).into());
        }
        remarks.extend(asked.remarks());
        if self.has_usual_temperature() && !self.sends_usual_temperature() {
            remarks.insert("without_temperature".into(), json!(true));
        }
        Ok((reply, remarks))
    }

    /// What goes before the turns of a conversation.
    fn opening(&self, asked: &RequestContent) -> Vec<Value> {
        let texts = [self.settings.system_prompt.as_deref(), asked.system()];
        let texts = texts.into_iter().flatten();
        texts.map(|text| message("system", text)).collect()
    }

    /// What is asked about an example, and how its answer is generated.
    fn asked(&self, example: &Example) -> Result<(Vec<Value>, RequestContent), SystemError> {
        // A function that makes the messages decides everything about them.
        if let Some(build) = &self.settings.build_messages {
            return Ok((build(example), RequestContent::plain(example)));
        }
        let asked = RequestContent::of(example)?;
        let layout = match self.endpoint().is_chat() {
            true => self.settings.layout,
            false => Layout::default(),
        };
        let system_prompt = self.settings.system_prompt.as_deref();
        Ok((asked.messages(example, system_prompt, layout), asked))
    }
}

/// The field of an example with a system message that goes before all else. Only tasks
/// set it; the name is one that records of users do not have by chance.
pub const SYSTEM_INSTRUCTION: &str = "task_system_instruction";

/// The messages that an endpoint gets for an example without a prompt: its turns, else its
/// messages if it has no context, else its context and question as `layout` says, after
/// the system prompt and the example's own [`SYSTEM_INSTRUCTION`] if there are any.
pub fn messages(example: &Example, system_prompt: Option<&str>, layout: Layout) -> Vec<Value> {
    let present = |key: &str| example.get(key).filter(|value| !value.is_null());
    let mut messages = instructions(example, system_prompt);
    if let Some(turns) = present("turns") {
        match turns {
            Value::Array(turns) => messages.extend(turns.iter().cloned()),
            // The endpoint will say what it thinks of it.
            other => messages.push(other.clone()),
        }
        return messages;
    }
    if let (None, Some(Value::Array(list))) = (present("context"), present("messages")) {
        messages.extend(list.iter().cloned());
        return messages;
    }
    messages.extend(layout.messages(example));
    messages
}

/// What the run puts before everything that is asked.
pub(super) fn instructions(example: &Example, system_prompt: Option<&str>) -> Vec<Value> {
    let own = example.get(SYSTEM_INSTRUCTION);
    let own = own.filter(|text| !text.is_null()).cloned();
    let texts = system_prompt.map(Value::from).into_iter().chain(own);
    texts.map(|text| message("system", text)).collect()
}

#[async_trait]
impl System for OpenAiProxy {
    fn name(&self) -> &str {
        &self.name
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let (messages, asked) = self.asked(example)?;
        let (reply, remarks) = self.send(messages, &asked).await?;
        let mut output = Output::reply(example, asked.cut(reply.content));
        if !remarks.is_empty() {
            output = output.with(API_REPLY, remarks);
        }
        if let Some(usage) = reply.usage {
            output = output.with("api_usage", usage);
        }
        Ok(output.with_call(reply.call))
    }

    fn identity(&self) -> Option<Identity> {
        // Messages made by code that we cannot see have no identity.
        if self.settings.build_messages.is_some() {
            return None;
        }
        let mut settings = json!({
            "url": self.endpoint().identity(),
            "model": Mask::Digest.text(&self.settings.model),
            "system_prompt": self.settings.system_prompt.as_deref().map(|text| Mask::Digest.text(text)),
            "extra_body": Mask::Digest.map(&self.settings.extra_body),
            "stream": self.settings.stream,
        });
        // What is not sent is not named, so that earlier stored answers stay usable.
        let mut put = |key: &str, value: Option<Value>| {
            if let (Value::Object(settings), Some(value)) = (&mut settings, value) {
                settings.insert(key.to_owned(), value);
            }
        };
        // Answers stored before there were other APIs belong to chat completions.
        let api = Some(self.settings.api).filter(|api| *api != Api::default());
        put("api", api.map(|api| json!(api)));
        let most = self.settings.api.default_max_tokens();
        put("default_max_tokens", most.map(|most| json!(most)));
        // One form, wherever it was said: the answers are the same.
        let mut generation = self.settings.generation.clone();
        if self.settings.usual_temperature {
            generation
                .entry("temperature")
                .or_insert_with(|| json!(0.0));
        }
        put(
            "generation",
            Some(generation)
                .filter(|map| !map.is_empty())
                .map(|map| Mask::Digest.map(&map).into()),
        );
        let headers = self.settings.headers.iter();
        let headers: Map<String, Value> = headers
            .map(|(name, value)| (name.to_ascii_lowercase(), json!(value)))
            .collect();
        let headers = (!headers.is_empty()).then(|| Mask::Digest.map(&headers));
        put("headers", headers.map(Value::from));
        // Answers stored before there were layouts belong to the default layout.
        let layout = Some(self.settings.layout).filter(|layout| *layout != Layout::default());
        put(
            "layout",
            layout
                .filter(|_| self.endpoint().is_chat())
                .map(|layout| json!(layout)),
        );
        Some(Identity::new("openai_proxy", 1, settings))
    }

    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        let text = |message: Value| match message.get("content")? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let (messages, _) = self.asked(example).ok()?;
        Some(messages.into_iter().filter_map(text).collect())
    }

    fn requests(&self, example: &Example) -> Option<Vec<Posting>> {
        // Of a conversation, what follows depends on what comes back.
        let (messages, asked) = match example.conversation().ok()? {
            Some(turns) => {
                let asked = RequestContent::of_conversation(example).ok()?;
                let mut messages = self.opening(&asked);
                messages.extend(turns.first().map(said));
                (messages, asked)
            }
            None => self.asked(example).ok()?,
        };
        // Exactly what is sent, but for keys that are in it.
        let extra = Mask::Dots.map(&self.settings.extra_body);
        let body = self.body(messages, &asked, extra);
        let request = self.posted(body);
        Some(vec![Posting::new(self.endpoint(), &request)])
    }

    fn counts_tokens(&self) -> bool {
        false
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        Some(self)
    }
}

#[async_trait]
impl Conversation for OpenAiProxy {
    async fn process_conversation(&self, turns: &[Turn]) -> Result<Replies, SystemError> {
        self.converse(turns, &RequestContent::default()).await
    }

    async fn answer_conversation(
        &self,
        example: &Example,
        turns: &[Turn],
    ) -> Result<Replies, SystemError> {
        let asked = RequestContent::of_conversation(example)?;
        self.converse(turns, &asked).await
    }
}

impl OpenAiProxy {
    async fn converse(
        &self,
        turns: &[Turn],
        asked: &RequestContent,
    ) -> Result<Replies, SystemError> {
        let mut messages = self.opening(asked);
        let mut replies = Replies::default();
        let mut total = CallStats::default();
        for turn in turns {
            messages.push(said(turn));
            let sent = self.send(messages.clone(), asked).await;
            let (reply, remarks) = sent.map_err(|error| {
                let mut error = SystemError::from(error);
                if let Some(call) = error.call.as_deref() {
                    total.add(*call);
                }
                error.call = Some(Box::new(total));
                error
            })?;
            let ChatReply {
                api,
                content,
                usage,
                call,
                ..
            } = reply;
            replies.calls.push(used(api, usage.as_ref(), &remarks));
            replies.remarks = remarks;
            let content = asked.cut(content);
            total.add(call);
            if let Some(usage) = usage {
                add_usage(replies.usage.get_or_insert_default(), &usage);
            }
            let text = match &content {
                Value::Null => String::new(),
                other => stringify::python_str(other).into_owned(),
            };
            messages.push(message("assistant", content));
            replies.turns.push(Turn::assistant(text));
        }
        replies.call = Some(total);
        if let [_, _, ..] = &replies.calls[..] {
            let calls = serde_json::to_value(&replies.calls).unwrap_or_default();
            replies.remarks.insert("calls".into(), calls);
        }
        Ok(replies)
    }
}

impl From<ChatError> for SystemError {
    fn from(error: ChatError) -> Self {
        Self::new(error.failure.kind(), error.to_string()).with_call(error.call)
    }
}

/// What one call of several took, as prices need it.
fn used(api: Api, usage: Option<&Map<String, Value>>, remarks: &Map<String, Value>) -> ModelUse {
    let text = |key: &str| remarks.get(key).and_then(Value::as_str);
    let unknown = || WireUsage {
        unknown: 1,
        ..WireUsage::default()
    };
    let shape = UsageShape::named(Some(api.as_str()));
    let usage = usage.map_or_else(unknown, |usage| shape.buckets(usage));
    ModelUse::call(text("model").map(Into::into), usage).with_service(text("service_tier"))
}

fn said(turn: &Turn) -> Value {
    message(&turn.role, turn.content.as_str())
}

/// The name of a proxy that was given none.
fn default_name(base_url: &str) -> String {
    format!("openai_proxy_{}", host_part(base_url.trim()))
}

/// Adds numbers of the same name, also inside details; anything else keeps the
/// first value that is not `null`.
pub(crate) fn add_usage(total: &mut Map<String, Value>, usage: &Map<String, Value>) {
    for (key, value) in usage {
        let known = total.entry(key.as_str()).or_insert(Value::Null);
        match (&mut *known, value) {
            (Value::Object(known), Value::Object(value)) => add_usage(known, value),
            (Value::Number(a), Value::Number(b)) => {
                *known = match (a.as_i64(), b.as_i64()) {
                    (Some(a), Some(b)) => json!(a.saturating_add(b)),
                    _ => json!(a.as_f64().unwrap_or(0.0) + b.as_f64().unwrap_or(0.0)),
                };
            }
            (Value::Null, value) => *known = value.clone(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::model::{Prompt, PromptParts};

    fn proxy(change: impl FnOnce(&mut OpenAiProxySettings)) -> OpenAiProxy {
        let mut settings = OpenAiProxySettings::new("http://localhost:1");
        change(&mut settings);
        OpenAiProxy::with_settings(settings).expect("valid settings")
    }

    fn example(value: Value) -> Example {
        Example::try_from(value).expect("a map")
    }

    #[test]
    fn names_show_the_host_and_no_credentials() {
        for (url, expected) in [
            ("http://localhost:8080/", "openai_proxy_localhost:8080"),
            ("http://myhost.com/prefix", "openai_proxy_myhost.com"),
            ("https://u:p@h:1/a", "openai_proxy_h:1"),
            ("h:9", "openai_proxy_h:9"),
        ] {
            assert_eq!(default_name(url), expected, "{url}");
        }
        assert_eq!(proxy(|s| s.name = Some("kompact".into())).name(), "kompact");
    }

    #[test]
    fn messages_follow_the_shape_of_the_example() {
        let system = |text: &str| message("system", text);
        let user = |text: &str| message("user", text);
        let turn = json!({"role": "user", "content": "T"});
        for (fields, prompt, expected) in [
            (
                json!({"context": "C", "question": "Q"}),
                None,
                vec![system("C"), user("Q")],
            ),
            (json!({"context": "C"}), None, vec![user("C")]),
            (
                json!({"context": "C", "question": ""}),
                None,
                vec![system("C"), user("")],
            ),
            (
                json!({"context": "C", "question": null}),
                None,
                vec![user("C")],
            ),
            (json!({}), None, vec![user("")]),
            (
                json!({"context": "C", "question": "Q", "turns": [turn]}),
                Some("SP"),
                vec![system("SP"), turn],
            ),
            (
                json!({"context": "C", "question": "Q"}),
                Some("SP"),
                vec![system("SP"), system("C"), user("Q")],
            ),
            (json!({"turns": [], "context": "C"}), None, vec![]),
            (
                json!({"context": "C"}),
                Some(""),
                vec![system(""), user("C")],
            ),
        ] {
            let proxy = proxy(|s| s.system_prompt = prompt.map(str::to_owned));
            assert_eq!(
                proxy
                    .asked(&example(fields.clone()))
                    .map(|(messages, _)| messages),
                Ok(expected),
                "{fields}"
            );
        }
    }

    #[test]
    fn own_messages_replace_all_others() {
        let proxy = proxy(|s| {
            s.system_prompt = Some("unused".into());
            s.build_messages = Some(Arc::new(|example| vec![json!(example.context())]));
        });
        let prompt = Prompt::new(PromptParts {
            user: Some("Read {{ context }}".into()),
            max_tokens: Some(3),
            ..PromptParts::default()
        });
        let prompt = Arc::new(prompt.expect("templates"));
        let prompted = example(json!({"context": "C"})).with_prompt(Some(prompt));
        for example in [example(json!({"context": "C"})), prompted] {
            let (messages, asked) = proxy.asked(&example).expect("messages");
            assert_eq!(messages, [json!("C")]);
            assert_eq!(asked, RequestContent::default());
        }
    }

    #[test]
    fn a_long_timeout_is_not_cut_by_the_default_deadline() {
        let deadline = |timeout: u64, retries: u32, deadline: Option<u64>| {
            let mut settings = OpenAiProxySettings::new("http://h");
            settings.timeout = Duration::from_secs(timeout);
            settings.max_retries = retries;
            settings.deadline = deadline.map(Duration::from_secs);
            settings.policy().deadline.as_secs()
        };
        assert_eq!(deadline(30, 3, None), 300);
        assert_eq!(deadline(600, 1, None), 1200);
        assert_eq!(deadline(600, 1, Some(10)), 10);
    }

    #[test]
    fn usage_is_summed_also_inside_details() {
        let mut total = Map::new();
        for usage in [
            json!({"prompt_tokens": 3, "d": {"cached": 1, "x": null}, "model": "m"}),
            json!({"prompt_tokens": 4, "d": {"cached": 2, "x": 5}, "cost": 0.5, "model": "n"}),
        ] {
            add_usage(&mut total, usage.as_object().expect("a map"));
        }
        let expected =
            json!({"prompt_tokens": 7, "d": {"cached": 3, "x": 5}, "model": "m", "cost": 0.5});
        assert_eq!(Value::Object(total), expected);
    }

    #[test]
    fn settings_show_no_secret() {
        let mut settings = OpenAiProxySettings::new("http://u:hunter22@h");
        settings.api_key = Some("sk-123456".into());
        let shown = format!("{settings:?}");
        assert!(
            !shown.contains("hunter22") && !shown.contains("sk-123456"),
            "{shown}"
        );
    }
}
