//! Likelihoods from an endpoint that continues plain text: it is asked to repeat the
//! prompt with the log-probability of every token (`echo` and `logprobs`).
//!
//! One example is one document; its texts go in requests of `batch_size` each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use context_bench_tasks::likelihood::{disjoint, rolling_windows};
use serde_json::{Map, Value, json};

use super::logprobs::{Echo, Likelihood, MissingLogprobs};
use crate::benchmark::examples::{CONTEXTS, CONTINUATIONS, TEXT, UNCONDITIONAL};
use crate::benchmark::response::{LIKELIHOODS, UNCONDITIONAL_LIKELIHOODS};
use crate::chat::{ChatClient, ChatError, ChatFailure, ChatRequest, ClientError, ClientSettings};
use crate::mask::Mask;
use crate::model::{CallStats, Example, FailureKind, Output};
use crate::system::{Posting, SystemError};

/// What the reference sends with every such request.
const SEED: u32 = 1234;
/// Tokens of a window over a long text: what the reference's default leaves.
const MAX_LENGTH: usize = 2047;

/// How likelihoods are asked for.
#[derive(Debug, Clone)]
pub struct LikelihoodSettings {
    /// Texts per request.
    pub batch_size: usize,
    /// Tokens of a window over a text that is too long for one.
    pub max_length: usize,
    /// What begins a document for the model, for texts without a context.
    pub prefix: Option<String>,
}

impl Default for LikelihoodSettings {
    fn default() -> Self {
        Self {
            batch_size: 1,
            max_length: MAX_LENGTH,
            prefix: None,
        }
    }
}

/// Asks one endpoint for likelihoods.
#[derive(Debug)]
pub(super) struct LikelihoodClient {
    client: ChatClient,
    /// At the root of the server; long texts need it.
    tokenizer: ChatClient,
    model: String,
    extra_body: Map<String, Value>,
    settings: LikelihoodSettings,
    /// Whether a likelihood has come.
    works: AtomicBool,
    /// Why none will come.
    refusal: OnceLock<SystemError>,
    /// Why none will come of a text without a context.
    no_context: OnceLock<SystemError>,
    no_tokenizer: AtomicBool,
}

/// A text, and how many bytes of it are context.
struct LikelihoodPrompt {
    prompt: String,
    from: usize,
}

/// What requests cost together.
#[derive(Default)]
struct Cost {
    call: CallStats,
    usage: Map<String, Value>,
}

impl LikelihoodClient {
    /// A client for the address beside that of the chat, if it is one.
    pub(super) fn new(
        chat: &ClientSettings,
        model: String,
        extra_body: Map<String, Value>,
        settings: LikelihoodSettings,
    ) -> Result<Self, ClientError> {
        let client = ChatClient::new(ClientSettings {
            endpoint: chat.endpoint.completions(),
            ..chat.clone()
        })?;
        let tokenizer = ChatClient::new(ClientSettings {
            endpoint: chat.endpoint.at_root("tokenize"),
            ..chat.clone()
        })?;
        Ok(Self {
            client,
            tokenizer,
            model,
            extra_body,
            settings,
            works: AtomicBool::new(false),
            refusal: OnceLock::new(),
            no_context: OnceLock::new(),
            no_tokenizer: AtomicBool::new(false),
        })
    }

    /// What of the settings can change an answer, when it is not as usual.
    pub(super) fn identity(&self) -> Map<String, Value> {
        let mut map = Map::new();
        if let Some(prefix) = &self.settings.prefix {
            map.insert("prefix".into(), json!(prefix));
        }
        if self.settings.max_length != MAX_LENGTH {
            map.insert("max_length".into(), json!(self.settings.max_length));
        }
        map
    }

    /// Answers an example that asks for likelihoods.
    pub(super) async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let no_context = self.no_context.get().filter(|_| lacks_context(example));
        if let Some(refusal) = self.refusal.get().or(no_context) {
            // It was reported once; thousands of calls would report the same.
            return Err(refusal.clone());
        }
        let mut cost = Cost::default();
        let done = self.answer(example, &mut cost).await;
        match done {
            Ok(output) => {
                self.works.store(true, Ordering::Relaxed);
                let output = match cost.usage.is_empty() {
                    true => output,
                    false => output.with("api_usage", cost.usage),
                };
                Ok(output.with_call(cost.call))
            }
            Err(error) => {
                let no_context = self.no_context.get();
                let unsupported = error.failure.kind == FailureKind::Unsupported
                    && no_context.is_none_or(|known| known.failure != error.failure);
                if unsupported && !self.works.load(Ordering::Relaxed) {
                    let refusal = SystemError {
                        call: None,
                        ..error.clone()
                    };
                    // Another call may have said the same before.
                    let _ = self.refusal.set(refusal);
                }
                let mut call = cost.call;
                if let Some(last) = error.call.as_deref().copied() {
                    call.add(last);
                }
                Err(error.with_call(call))
            }
        }
    }

    async fn answer(&self, example: &Example, cost: &mut Cost) -> Result<Output, SystemError> {
        if let Some(continuations) = example.get(CONTINUATIONS) {
            return self.continuations(example, continuations, cost).await;
        }
        let text = example.text(TEXT).unwrap_or_default();
        let (ll, greedy) = self.rolling(text, cost).await?;
        Ok(Output::reply(example, "").with(LIKELIHOODS, json!([[ll, greedy]])))
    }

    async fn continuations(
        &self,
        example: &Example,
        continuations: &Value,
        cost: &mut Cost,
    ) -> Result<Output, SystemError> {
        if example.get("messages").is_some() {
            return Err(self.unsupported("likelihoods are asked for after plain text"));
        }
        let (continuations, pairs) = self.pairs(example, continuations)?;
        let found = self.ask(&pairs, cost).await?;
        let mut best = 0;
        for (at, (ll, _)) in found.iter().enumerate() {
            if *ll > found[best].0 {
                best = at;
            }
        }
        // What the system would have chosen, for people who read rows.
        let chosen = match example.get(CONTEXTS) {
            Some(_) => "",
            None => continuations.get(best).map_or("", |text| text.trim()),
        };
        let mut output = Output::reply(example, chosen).with(LIKELIHOODS, json!(found));
        if example.get(UNCONDITIONAL) == Some(&json!(true)) {
            let found = self.ask(&self.alone(&continuations), cost).await?;
            let lls: Vec<f64> = found.iter().map(|(ll, _)| *ll).collect();
            output = output.with(UNCONDITIONAL_LIKELIHOODS, lls);
        }
        Ok(output)
    }

    /// The continuations of an example, and the texts that are asked about.
    fn pairs(
        &self,
        example: &Example,
        continuations: &Value,
    ) -> Result<(Vec<String>, Vec<LikelihoodPrompt>), SystemError> {
        let texts = |value: &Value| -> Option<Vec<String>> {
            let list = value.as_array()?.iter();
            list.map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let bad = |field: &str| {
            let message = format!("`{field}` must be a list of texts");
            SystemError::new(FailureKind::BadExample, message)
        };
        let continuations = texts(continuations).ok_or_else(|| bad(CONTINUATIONS))?;
        let pairs: Vec<LikelihoodPrompt> = match example.get(CONTEXTS) {
            Some(contexts) => {
                let contexts = texts(contexts).ok_or_else(|| bad(CONTEXTS))?;
                let continuation = continuations.first().map_or("", String::as_str);
                let pair = |context: &String| self.asked(context, continuation);
                contexts.iter().map(pair).collect()
            }
            None => {
                let context = example.context();
                let pair = |continuation: &String| self.asked(context, continuation);
                continuations.iter().map(pair).collect()
            }
        };
        Ok((continuations, pairs))
    }

    /// The continuations without their context.
    fn alone(&self, continuations: &[String]) -> Vec<LikelihoodPrompt> {
        let alone = continuations.iter().map(|text| self.asked("", text));
        alone.collect()
    }

    /// The requests about an example; `None` where the server's tokens decide.
    pub(super) fn requests(&self, example: &Example) -> Option<Vec<Posting>> {
        let mut lists = Vec::new();
        match example.get(CONTINUATIONS) {
            Some(continuations) => {
                let (continuations, pairs) = self.pairs(example, continuations).ok()?;
                lists.push(pairs);
                if example.get(UNCONDITIONAL) == Some(&json!(true)) {
                    lists.push(self.alone(&continuations));
                }
            }
            None => {
                let text = example.text(TEXT).unwrap_or_default();
                if text.len() > self.settings.max_length {
                    return None;
                }
                lists.push(vec![self.asked("", text)]);
            }
        }
        let extra = Mask::Dots.map(&self.extra_body);
        let batches = lists.iter().flat_map(|list| self.batches(list));
        let postings = batches.map(|batch| {
            let request = self.request(prompt(batch), extra.clone());
            Posting::new(self.client.endpoint(), &request)
        });
        Some(postings.collect())
    }

    fn batches<'a>(
        &self,
        asked: &'a [LikelihoodPrompt],
    ) -> std::slice::Chunks<'a, LikelihoodPrompt> {
        asked.chunks(self.settings.batch_size.max(1))
    }

    fn request(&self, prompt: Value, extra: Map<String, Value>) -> ChatRequest {
        let mut body = Map::new();
        body.insert("model".into(), json!(self.model));
        body.insert("prompt".into(), prompt);
        body.insert("temperature".into(), json!(0));
        body.insert("max_tokens".into(), json!(1));
        body.insert("logprobs".into(), json!(1));
        body.insert("seed".into(), json!(SEED));
        body.insert("echo".into(), json!(true));
        body.extend(extra);
        ChatRequest::new(body, false)
    }

    /// White space at the end of a context belongs to what follows; without a context
    /// stands what begins a document.
    fn asked(&self, context: &str, continuation: &str) -> LikelihoodPrompt {
        let context = match context {
            "" => self.settings.prefix.as_deref().unwrap_or_default(),
            context => context,
        };
        LikelihoodPrompt {
            prompt: format!("{context}{continuation}"),
            from: context_bench_template::python::strip_end(context).len(),
        }
    }

    async fn ask(
        &self,
        asked: &[LikelihoodPrompt],
        cost: &mut Cost,
    ) -> Result<Vec<Likelihood>, SystemError> {
        let mut found = Vec::with_capacity(asked.len());
        for batch in self.batches(asked) {
            let choices = self.send(prompt(batch), batch.len(), cost).await?;
            for (one, choice) in batch.iter().zip(&choices) {
                let likelihood =
                    Echo::read(choice).and_then(|echo| echo.after(&one.prompt, one.from));
                found.push(likelihood.map_err(|lack| self.lacking(lack))?);
            }
        }
        Ok(found)
    }

    /// Every token of a text exactly once, in windows when it is long.
    async fn rolling(&self, text: &str, cost: &mut Cost) -> Result<Likelihood, SystemError> {
        // No token is less than a byte, so this much fits in any case.
        if text.len() > self.settings.max_length
            && let Some(tokens) = self.tokens(text, cost).await?
            && tokens.len() > self.settings.max_length
        {
            return self.windows(&tokens, cost).await;
        }
        let asked = self.asked("", text);
        let found = self.ask(&[asked], cost).await?;
        found.into_iter().next().ok_or_else(|| {
            SystemError::new(FailureKind::BadReply, "the endpoint gave no likelihood")
        })
    }

    async fn windows(&self, tokens: &[u32], cost: &mut Cost) -> Result<Likelihood, SystemError> {
        let prefix = self.settings.prefix.as_deref().unwrap_or_default();
        let first = match self.tokens(prefix, cost).await? {
            Some(first) if !prefix.is_empty() => first.last().copied(),
            _ => None,
        };
        let Some(first) = first else {
            return Err(SystemError::new(
                FailureKind::BadExample,
                format!(
                    "the text has {} tokens and needs several windows; name the text that begins \
                     a document for the model: `--model-args prefix=TEXT`",
                    tokens.len()
                ),
            ));
        };
        let mut total = (0.0, true);
        for window in rolling_windows(tokens, first, self.settings.max_length, 1) {
            let (before, predicted) = disjoint(window);
            let prompt: Vec<u32> = before.iter().chain(&predicted).copied().collect();
            let range = before.len()..prompt.len();
            let choices = self.send(json!(prompt), 1, cost).await?;
            for choice in &choices {
                let found = Echo::read(choice).and_then(|echo| echo.of_tokens(range.clone()));
                let (ll, greedy) = found.map_err(|lack| self.lacking(lack))?;
                total = (total.0 + ll, total.1 && greedy);
            }
        }
        Ok(total)
    }

    /// The tokens of a text; `None` when the server does not tell.
    async fn tokens(&self, text: &str, cost: &mut Cost) -> Result<Option<Vec<u32>>, SystemError> {
        if self.no_tokenizer.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut body = Map::new();
        body.insert("model".into(), json!(self.model));
        body.insert("prompt".into(), json!(text));
        body.insert("add_special_tokens".into(), json!(false));
        let reply = match self
            .tokenizer
            .send_json(&ChatRequest::new(body, false))
            .await
        {
            Ok(reply) => reply,
            Err(error)
                if matches!(
                    error.failure,
                    ChatFailure::Status {
                        code: 400..=499,
                        ..
                    }
                ) =>
            {
                self.no_tokenizer.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        cost.call.add(reply.call);
        let tokens = reply.body.get("tokens").and_then(Value::as_array);
        let number = |token: &Value| u32::try_from(token.as_u64()?).ok();
        Ok(tokens.and_then(|tokens| tokens.iter().map(number).collect()))
    }

    /// The choices of a reply, one per prompt.
    async fn send(
        &self,
        prompt: Value,
        n: usize,
        cost: &mut Cost,
    ) -> Result<Vec<Value>, SystemError> {
        let request = self.request(prompt, self.extra_body.clone());
        let sent = self.client.send_json(&request).await;
        let mut reply = sent.map_err(|error| self.refused(error))?;
        cost.call.add(reply.call);
        if let Some(Value::Object(usage)) = reply.body.get("usage") {
            crate::system::add_usage(&mut cost.usage, usage);
        }
        let choices = reply.body.get_mut("choices").map(Value::take);
        let Some(Value::Array(mut choices)) = choices else {
            let message = "the endpoint's reply has no `choices`";
            return Err(SystemError::new(FailureKind::BadReply, message));
        };
        choices.sort_by_key(|choice| choice.get("index").and_then(Value::as_u64));
        if choices.len() != n {
            let message = format!("{n} texts were asked about, {} came back", choices.len());
            return Err(SystemError::new(FailureKind::BadReply, message));
        }
        Ok(choices)
    }

    /// An endpoint that does not know the address, or what is asked, cannot do it.
    fn refused(&self, error: ChatError) -> SystemError {
        let unsupported = match &error.failure {
            ChatFailure::Status { code, message, .. } => match code {
                404 | 405 | 501 => true,
                400 | 422 => ["logprobs", "echo"]
                    .iter()
                    .any(|name| message.contains(name)),
                _ => false,
            },
            _ => false,
        };
        if unsupported {
            let call = error.call;
            return self.unsupported(&error.to_string()).with_call(call);
        }
        error.into()
    }

    fn lacking(&self, lack: MissingLogprobs) -> SystemError {
        match lack {
            MissingLogprobs::Unsupported(what) => self.unsupported(&what),
            MissingLogprobs::NoContext(what) => {
                let error = self.unsupported(&what);
                // Another call may have said the same before.
                let _ = self.no_context.set(error.clone());
                error
            }
            MissingLogprobs::Unreadable(what) => SystemError::new(FailureKind::BadReply, what),
        }
    }

    fn unsupported(&self, what: &str) -> SystemError {
        let at = self.client.endpoint();
        let message = format!("`{at}` gives no likelihoods: {what}");
        SystemError::new(FailureKind::Unsupported, message)
    }
}

/// The texts of a request.
fn prompt(batch: &[LikelihoodPrompt]) -> Value {
    match batch {
        [one] => json!(one.prompt),
        several => several.iter().map(|one| one.prompt.as_str()).collect(),
    }
}

/// Whether an example asks for the likelihood of a text that nothing comes before.
fn lacks_context(example: &Example) -> bool {
    let given = |field: &str| example.get(field).filter(|value| !value.is_null());
    let empty = match (given(CONTEXTS), given(CONTINUATIONS)) {
        (Some(Value::Array(contexts)), _) => contexts.contains(&json!("")),
        (_, Some(_)) => example.context().is_empty(),
        _ => true,
    };
    empty || given(UNCONDITIONAL) == Some(&json!(true))
}
