//! `LlmJudgeSettings`: whom to ask, and what.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::chat::{ClientError, DEFAULT_MODEL, EndpointError, Pace, Secret};
use crate::error::Hint;
use crate::mask::Mask;
use crate::text::verdict::Scale;

use super::template::{JudgeTemplate, TemplateError};

/// How to reach the judge and what to ask it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LlmJudgeSettings {
    /// Base URL of an OpenAI-compatible endpoint.
    pub base_url: String,
    /// The model; [`DEFAULT_MODEL`] unless set.
    pub model: String,
    /// The key; `None` sends none.
    pub api_key: Option<Secret>,
    /// How long an attempt may take; 60 seconds unless set.
    pub timeout: Duration,
    /// Further attempts after a failed one; 3 unless set.
    pub max_retries: u32,
    /// The wait before the first of them, which doubles with each; 1 second unless set.
    pub retry_base_delay: Duration,
    /// How many verdicts may be asked for at the same time; 8 unless set.
    pub max_in_flight: usize,
    /// How fast requests may leave, shared with the systems of a run.
    pub pace: Option<Arc<Pace>>,
    /// What the judge is asked for; a rating unless set.
    pub mode: JudgeMode,
    /// The prompt; `None` takes the one that fits the mode.
    pub template: Option<JudgeTemplate>,
    /// What the judge goes by; `None` takes a general one.
    pub rubric: Option<String>,
    /// Whether the judge sees the reference answer.
    pub reference: Reference,
    /// How long a verdict may be, in tokens; `None` is 16 for the built-in
    /// prompts, which ask for one word, and 1024 for a template.
    pub max_tokens: Option<u32>,
    /// The temperature, 0 unless set; `None` leaves it to the endpoint.
    pub temperature: Option<f64>,
    /// Merged last into every request; a `null` takes a member out.
    pub extra_body: Map<String, Value>,
    /// The name of the score; `judge_score` unless set.
    pub score: String,
}

impl LlmJudgeSettings {
    /// The defaults for this base URL: a rating from 1 to 5.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: DEFAULT_MODEL.into(),
            api_key: None,
            timeout: Duration::from_secs(60),
            max_retries: 3,
            retry_base_delay: Duration::from_secs(1),
            max_in_flight: 8,
            pace: None,
            mode: JudgeMode::default(),
            template: None,
            rubric: None,
            reference: Reference::default(),
            max_tokens: None,
            temperature: Some(0.0),
            extra_body: Map::new(),
            score: "judge_score".into(),
        }
    }

    /// How long a verdict may be.
    pub(super) fn verdict_tokens(&self) -> u32 {
        let default = if self.template.is_some() { 1024 } else { 16 };
        self.max_tokens.unwrap_or(default)
    }

    /// Every setting that can change a score besides address, prompt and rubric.
    pub(super) fn identity(&self) -> Map<String, Value> {
        let (mode, scale, baseline) = match &self.mode {
            JudgeMode::Rating { scale } => ("rating", Some(scale.to_string()), None),
            JudgeMode::Pairwise { baseline } => ("pairwise", None, Some(baseline)),
        };
        let settings = json!({
            "model": Mask::Digest.text(&self.model),
            "mode": mode,
            "scale": scale,
            "baseline": baseline,
            "reference": format!("{:?}", self.reference),
            "max_tokens": self.verdict_tokens(),
            "temperature": self.temperature,
            "extra_body": Mask::Digest.map(&self.extra_body),
            "score": self.score,
        });
        match settings {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

/// What a judge is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeMode {
    /// A rating of the response, reported as its place on the scale from 0 to 1.
    Rating {
        /// From the worst to the best.
        scale: Scale,
    },
    /// Whether the response is better than a baseline: asked twice, with the
    /// answers in both orders.
    Pairwise {
        /// The field of the example that holds the baseline.
        baseline: String,
    },
}

impl JudgeMode {
    /// A comparison with the field `answer`.
    pub fn pairwise() -> Self {
        Self::Pairwise {
            baseline: "answer".into(),
        }
    }
}

impl Default for JudgeMode {
    fn default() -> Self {
        Self::Rating {
            scale: Scale::default(),
        }
    }
}

/// Whether a judge sees the reference answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reference {
    /// Where the example has one.
    #[default]
    Auto,
    /// Always; examples without one are not applicable.
    On,
    /// Never.
    Off,
}

/// Why a judge cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlmJudgeError {
    /// The URL cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The template cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl Hint for LlmJudgeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Endpoint(error) => error.hint(),
            Self::Client(error) => error.hint(),
            Self::Template(error) => error.hint(),
        }
    }
}
