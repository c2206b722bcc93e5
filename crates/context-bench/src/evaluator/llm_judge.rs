//! LlmJudge: a model rates the response against the reference answer.
//!
//! It talks through the shared chat client, with its retries and deadlines. A
//! judge that fails or gives no rating leaves the row unscored, never at 0.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::{Evaluator, EvaluatorError};
use crate::chat::{
    ChatClient, ChatRequest, ClientError, ClientSettings, Endpoint, EndpointError, Secret,
};
use crate::error::Hint;
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::text::stringify::python_str;

/// How to reach the judge.
#[derive(Debug, Clone)]
pub struct LlmJudgeSettings {
    /// Base URL of an OpenAI-compatible endpoint.
    pub base_url: String,
    /// The model; `gpt-4` unless set.
    pub model: String,
    /// The key; `None` sends none.
    pub api_key: Option<Secret>,
    /// How long an attempt may take; 60 seconds unless set.
    pub timeout: Duration,
    /// How many ratings may be asked for at the same time; 8 unless set.
    pub max_in_flight: usize,
}

impl LlmJudgeSettings {
    /// The defaults for this base URL.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: "gpt-4".into(),
            api_key: None,
            timeout: Duration::from_secs(60),
            max_in_flight: 8,
        }
    }
}

/// `judge_score`: a rating from 1 to 5 by a model, scaled to 0..1.
pub struct LlmJudge {
    client: ChatClient,
    model: String,
    names: [ScoreName; 1],
    in_flight: Semaphore,
}

impl LlmJudge {
    /// A judge at that endpoint.
    ///
    /// # Errors
    ///
    /// When the URL or the key cannot be used.
    pub fn new(settings: LlmJudgeSettings) -> Result<Self, LlmJudgeError> {
        let client = ChatClient::new(ClientSettings {
            api_key: settings.api_key,
            timeout: settings.timeout,
            ..ClientSettings::new(Endpoint::parse(&settings.base_url)?)
        })?;
        Ok(Self {
            client,
            model: settings.model,
            names: ["judge_score".into()],
            in_flight: Semaphore::new(settings.max_in_flight.clamp(1, Semaphore::MAX_PERMITS)),
        })
    }

    /// Where the judge is asked.
    pub fn endpoint(&self) -> &Endpoint {
        self.client.endpoint()
    }

    fn body(&self, example: &Example, response: &str) -> Map<String, Value> {
        let question = match example.get("question") {
            Some(question) => python_str(question),
            None => example.stringified("context"),
        };
        let prompt = prompt(&question, &example.stringified("answer"), response);
        let mut body = Map::new();
        body.insert("model".into(), json!(self.model));
        body.insert(
            "messages".into(),
            json!([{"role": "user", "content": prompt}]),
        );
        body.insert("temperature".into(), json!(0));
        body.insert("max_tokens".into(), json!(16));
        body
    }
}

#[async_trait]
impl Evaluator for LlmJudge {
    fn name(&self) -> &str {
        "llm_judge"
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({
            "url": self.endpoint().identity(),
            "model": self.model,
            "prompt": prompt("", "", ""),
        });
        Some(Identity::new(self.name(), 1, settings))
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let response = output.response();
        let score = if response.is_empty() {
            Score::value(0.0).because("empty response")
        } else {
            let request = ChatRequest::new(self.body(example, &response), false);
            let _turn = self.in_flight.acquire().await;
            let reply = self.client.send(&request).await;
            let reply = reply.map_err(|error| EvaluatorError(error.to_string()))?;
            match parse_rating(&python_str(&reply.content)) {
                Some(rating) => Score::value((rating - 1.0) / 4.0),
                None => {
                    let reply: String = python_str(&reply.content).chars().take(80).collect();
                    Score::unscored(format!("no rating from 1 to 5 in the reply `{reply}`"))
                }
            }
        };
        Ok([(self.names[0].clone(), score)].into_iter().collect())
    }
}

fn prompt(question: &str, reference: &str, response: &str) -> String {
    // The inserted texts are never read as templates: they are only joined.
    [
        "Rate how well a response answers a question, compared with the reference answer.\n\n\
         Question:\n",
        question,
        "\n\nReference answer:\n",
        reference,
        "\n\nResponse:\n",
        response,
        "\n\nScale:\n\
         1 = completely wrong or unrelated\n\
         2 = mostly wrong, with a correct detail\n\
         3 = partly right, important parts missing or wrong\n\
         4 = right, with small gaps or errors\n\
         5 = excellent: right and complete\n\n\
         Reply with one integer from 1 to 5 and nothing else.",
    ]
    .concat()
}

/// The first number in the reply, when it lies on the scale.
pub fn parse_rating(reply: &str) -> Option<f64> {
    let start = reply.find(|c: char| c.is_ascii_digit())?;
    let rest = &reply[start..];
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let rating: f64 = rest[..end].trim_end_matches('.').parse().ok()?;
    (1.0..=5.0).contains(&rating).then_some(rating)
}

/// Why a judge cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum LlmJudgeError {
    /// The URL cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Hint for LlmJudgeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Endpoint(error) => error.hint(),
            Self::Client(error) => error.hint(),
        }
    }
}
