//! `JudgeModel`: the one way in which judges ask their model.
//!
//! It knows the endpoint, the model and what is merged into every request; what is asked
//! and how the reply is read is for the judges.

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::{LlmJudgeError, LlmJudgeSettings};
use crate::chat::{ChatClient, ChatReply, ChatRequest, ClientSettings, Endpoint, RetryPolicy};
use crate::evaluator::EvaluatorError;
use crate::model::JudgeUsage;

/// How much of a verdict that cannot be read is shown.
const EXCERPT: usize = 80;

/// A model that is asked for verdicts, a few at a time.
pub(crate) struct JudgeModel {
    client: ChatClient,
    model: String,
    temperature: Option<f64>,
    extra_body: Map<String, Value>,
    in_flight: Semaphore,
}

impl JudgeModel {
    pub(crate) fn new(settings: &LlmJudgeSettings) -> Result<Self, LlmJudgeError> {
        let mut policy = RetryPolicy::default();
        policy.max_retries = settings.max_retries;
        policy.base_delay = settings.retry_base_delay;
        let client = ChatClient::new(ClientSettings {
            api_key: settings.api_key.clone(),
            timeout: settings.timeout,
            pace: settings.pace.clone(),
            policy,
            ..ClientSettings::new(Endpoint::parse(&settings.base_url)?)
        })?;
        Ok(Self {
            client,
            model: settings.model.clone(),
            temperature: settings.temperature,
            extra_body: settings.extra_body.clone(),
            in_flight: Semaphore::new(settings.max_in_flight.clamp(1, Semaphore::MAX_PERMITS)),
        })
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        self.client.endpoint()
    }

    /// Asks once. What it cost is known whether or not it worked.
    pub(crate) async fn ask(
        &self,
        question: &Question,
    ) -> (Result<ChatReply, EvaluatorError>, JudgeUsage) {
        let request = ChatRequest::new(self.body(question), false);
        let _turn = self.in_flight.acquire().await;
        match self.client.send(&request).await {
            Ok(reply) => {
                let usage = JudgeUsage::of_call(&reply.call, reply.usage.as_ref());
                (Ok(reply), usage)
            }
            Err(error) => {
                let usage = JudgeUsage::of_call(&error.call, None);
                (
                    Err(EvaluatorError(format!("the judge failed: {error}"))),
                    usage,
                )
            }
        }
    }

    fn body(&self, question: &Question) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("model".into(), json!(self.model));
        let user = json!({"role": "user", "content": question.user});
        let messages = match question.system {
            Some(system) => json!([{"role": "system", "content": system}, user]),
            None => json!([user]),
        };
        body.insert("messages".into(), messages);
        if let Some(temperature) = self.temperature {
            // 0 as endpoints know it, not 0.0.
            let whole = temperature.fract() == 0.0;
            let temperature = if whole {
                json!(temperature as i64)
            } else {
                json!(temperature)
            };
            body.insert("temperature".into(), temperature);
        }
        body.insert("max_tokens".into(), json!(question.max_tokens));
        if let Some(tokens) = question.top_tokens {
            body.insert("logprobs".into(), json!(true));
            body.insert("top_logprobs".into(), json!(tokens));
        }
        for (key, value) in &self.extra_body {
            match value {
                Value::Null => body.shift_remove(key),
                value => body.insert(key.clone(), value.clone()),
            };
        }
        body
    }
}

/// What a judge is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Question {
    pub(crate) system: Option<&'static str>,
    pub(crate) user: String,
    pub(crate) max_tokens: u32,
    /// How many of the likeliest first tokens are asked for, with their probabilities.
    pub(crate) top_tokens: Option<u32>,
}

/// Why a verdict cannot be read, with its beginning.
pub(crate) fn unreadable(why: &str, reply: &ChatReply, text: &str, limit: u32) -> String {
    let mut excerpt: String = text.trim().chars().take(EXCERPT).collect();
    if excerpt.len() < text.trim().len() {
        excerpt.push('…');
    }
    let mut reason = format!("{why} in the judge's reply `{excerpt}`");
    if was_cut(reply) {
        reason.push_str(&format!(", which was cut after {limit} tokens"));
    } else if !has_ended(reply) {
        reason.push_str(", which a filter ended");
    }
    reason
}

/// Whether it ended because no more tokens were allowed, in the words of several servers.
pub(crate) fn was_cut(reply: &ChatReply) -> bool {
    let reason = reply.finish_reason.as_deref();
    matches!(reason, Some("length" | "max_tokens"))
}

/// Whether a reply ended by itself: neither cut at its limit nor by a filter.
pub(crate) fn has_ended(reply: &ChatReply) -> bool {
    let reason = reply.finish_reason.as_deref();
    !was_cut(reply) && !matches!(reason, Some("content_filter" | "refusal"))
}
