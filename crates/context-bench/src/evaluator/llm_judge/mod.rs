//! LlmJudge: a model rates the response, or compares it with a baseline.
//!
//! It talks through the shared chat client, with its retries and deadlines. A
//! judge that fails or gives no clear verdict leaves the row unscored, never at 0.
//! What it costs is counted apart from what the system costs.

mod judge_model;
mod prompt;
mod settings;
mod template;

use std::borrow::Cow;

use async_trait::async_trait;
use serde_json::{Value, json};

pub use settings::{JudgeMode, LlmJudgeError, LlmJudgeSettings, Reference};
pub use template::{JudgeTemplate, TemplateError};

pub(super) use judge_model::{JudgeModel, Question, has_ended, unreadable};

use super::{Evaluator, EvaluatorError, has_field};
use crate::chat::ChatReply;
use crate::mask::Mask;
use crate::model::{Example, Identity, JudgeUsage, Output, Score, ScoreName, Scores};
use crate::text::stringify::python_str;
use crate::text::verdict::{self, Preference, Scale, VERDICT_VERSION};
use template::Place;

/// `judge_score`: a rating by a model, scaled to 0..1; in pairwise mode the
/// chance to win against a baseline, with `judge_consistency` beside it.
///
/// An empty response scores 0 without a request.
pub struct LlmJudge {
    asking: JudgeModel,
    settings: LlmJudgeSettings,
    /// For examples with a reference, and for those without.
    templates: (JudgeTemplate, JudgeTemplate),
    rubric: String,
    names: Vec<ScoreName>,
}

impl LlmJudge {
    /// A judge at that endpoint.
    ///
    /// # Errors
    ///
    /// When the URL, the key or the template cannot be used.
    pub fn new(settings: LlmJudgeSettings) -> Result<Self, LlmJudgeError> {
        let asking = JudgeModel::new(&settings)?;
        let templates = templates(&settings)?;
        let scale = match settings.mode {
            JudgeMode::Rating { scale } => Some(scale),
            JudgeMode::Pairwise { .. } => None,
        };
        let rubric = settings.rubric.clone();
        let mut names = vec![ScoreName::from(settings.score.as_str())];
        if scale.is_none() {
            let stem = settings.score.strip_suffix("_score");
            let stem = stem.unwrap_or(&settings.score);
            names.push(format!("{stem}_consistency").into());
        }
        Ok(Self {
            asking,
            templates,
            rubric: rubric.unwrap_or_else(|| prompt::rubric(scale)),
            names,
            settings,
        })
    }

    fn prompt(&self, example: &Example, outputs: [&str; 2]) -> String {
        let reference = match self.settings.reference {
            Reference::Off => Cow::Borrowed(""),
            Reference::Auto | Reference::On => reference(example),
        };
        let template = if reference.is_empty() {
            &self.templates.1
        } else {
            &self.templates.0
        };
        let scale = match self.settings.mode {
            JudgeMode::Rating { scale } => scale,
            JudgeMode::Pairwise { .. } => Scale::default(),
        };
        template.render(|place| match place {
            Place::Question => match example.get("question") {
                Some(question) => python_str(question),
                None => example.stringified("context"),
            },
            Place::Context => example.stringified("context"),
            Place::Reference => reference.clone(),
            Place::Response | Place::Output1 => outputs[0].into(),
            Place::Output2 => outputs[1].into(),
            Place::Rubric => self.rubric.as_str().into(),
            Place::Scale => scale.to_string().into(),
            Place::Min => scale.min().to_string().into(),
            Place::Max => scale.max().to_string().into(),
        })
    }

    async fn ask(&self, prompt: String) -> (Result<ChatReply, EvaluatorError>, JudgeUsage) {
        let question = Question {
            user: prompt,
            max_tokens: self.settings.verdict_tokens(),
            ..Question::default()
        };
        self.asking.ask(&question).await
    }

    async fn rate(&self, example: &Example, response: &str, scale: Scale) -> JudgedScores {
        let (reply, usage) = self.ask(self.prompt(example, [response, ""])).await;
        let scores = reply.map(|reply| {
            let text = python_str(&reply.content);
            let cut = judge_model::was_cut(&reply);
            let score = match verdict::rating(&text, scale) {
                // The last number of a reply that was cut may be any number.
                Ok(rating) if rating.announced || !cut => {
                    let reason = format!("rated {} on {scale}", rating.value);
                    Score::value(scale.share(rating.value)).because(reason)
                }
                Ok(_) => self.unreadable("no rating", &reply, &text),
                Err(none) => self.unreadable(&format!("{none} ({scale})"), &reply, &text),
            };
            self.names.iter().cloned().zip([score]).collect()
        });
        (scores, usage)
    }

    /// Asks in both orders, since judges favour a position.
    async fn compare(&self, example: &Example, response: &str, baseline: &str) -> JudgedScores {
        let (ours, theirs) = (
            self.prompt(example, [response, baseline]),
            self.prompt(example, [baseline, response]),
        );
        let (first, second) = tokio::join!(self.ask(ours), self.ask(theirs));
        let mut usage = first.1;
        usage += second.1;
        let verdicts = [(first.0, false), (second.0, true)].map(|(reply, swapped)| {
            let order = if swapped {
                "baseline first"
            } else {
                "response first"
            };
            let reply = reply.map_err(|error| format!("{order}: {error}"))?;
            let text = python_str(&reply.content);
            let found = verdict::preference(&text).map_err(|none| {
                let score = self.unreadable(&none.to_string(), &reply, &text);
                format!("{order}: {}", score.reason().unwrap_or_default())
            })?;
            Ok(if swapped { found.swapped() } else { found })
        });
        let scores = match verdicts {
            [Ok(first), Ok(second)] => Ok(self.compared(first, second)),
            [Err(reason), _] | [_, Err(reason)] => Err(EvaluatorError(reason)),
        };
        (scores, usage)
    }

    fn compared(&self, first: Preference, second: Preference) -> Scores {
        let same = first == second;
        let value = if same {
            first.value()
        } else {
            Preference::Tie.value()
        };
        let said = |preference| match preference {
            Preference::First => "the response",
            Preference::Second => "the baseline",
            Preference::Tie => "neither",
        };
        let reason = if same {
            format!("prefers {} in both orders", said(first))
        } else {
            format!(
                "prefers {} when the response comes first, {} when the baseline does",
                said(first),
                said(second)
            )
        };
        let scores = [Score::value(value).because(reason), Score::from(same)];
        self.names.iter().cloned().zip(scores).collect()
    }

    /// A verdict that cannot be read, with its beginning.
    fn unreadable(&self, why: &str, reply: &ChatReply, text: &str) -> Score {
        Score::unscored(unreadable(why, reply, text, self.settings.verdict_tokens()))
    }

    /// The same scores for a row that needs no request.
    fn without_request(&self, value: f64, reason: &str) -> JudgedScores {
        let score = Score::value(value).because(reason);
        // Both orders would end alike.
        let scores = [score, Score::value(1.0)];
        (
            Ok(self.names.iter().cloned().zip(scores).collect()),
            JudgeUsage::default(),
        )
    }
}

type JudgedScores = (Result<Scores, EvaluatorError>, JudgeUsage);

#[async_trait]
impl Evaluator for LlmJudge {
    fn name(&self) -> &str {
        "llm_judge"
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn applies_to(&self, example: &Example) -> bool {
        let referenced = self.settings.reference != Reference::On || !reference(example).is_empty();
        referenced
            && match &self.settings.mode {
                JudgeMode::Rating { .. } => true,
                JudgeMode::Pairwise { baseline } => has_field(example, baseline),
            }
    }

    fn endpoint(&self) -> Option<String> {
        Some(self.asking.endpoint().to_string())
    }

    fn identity(&self) -> Option<Identity> {
        let mut settings = self.settings.identity();
        settings.insert("url".into(), json!(self.asking.endpoint().identity()));
        let texts = [self.templates.0.text(), self.templates.1.text()];
        let texts = Mask::Digest.prose(&json!(texts));
        settings.insert("templates".into(), texts);
        settings.insert("rubric".into(), Mask::Digest.prose(&json!(self.rubric)));
        settings.insert("parser".into(), json!(VERDICT_VERSION));
        Some(Identity::new(self.name(), 2, settings))
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        self.score_and_usage(example, output).await.0
    }

    async fn score_and_usage(&self, example: &Example, output: &Output) -> JudgedScores {
        let response = output.response();
        if response.is_empty() {
            return self.without_request(0.0, "empty response");
        }
        match &self.settings.mode {
            JudgeMode::Rating { scale } => self.rate(example, &response, *scale).await,
            JudgeMode::Pairwise { baseline } => {
                let baseline = example.stringified(baseline);
                if baseline == response {
                    return self.without_request(0.5, "response and baseline are the same text");
                }
                self.compare(example, &response, &baseline).await
            }
        }
    }
}

/// The reference answer; several accepted ones stand one per line.
pub(super) fn reference(example: &Example) -> Cow<'_, str> {
    if has_field(example, "answer") {
        return example.stringified("answer");
    }
    match example.get("answers") {
        Some(Value::Array(list)) => {
            let texts: Vec<_> = list.iter().map(python_str).collect();
            texts.join("\n").into()
        }
        _ => Cow::Borrowed(""),
    }
}

/// The prompts of a judge, checked against its settings.
fn templates(settings: &LlmJudgeSettings) -> Result<(JudgeTemplate, JudgeTemplate), TemplateError> {
    let Some(template) = &settings.template else {
        return match settings.mode {
            JudgeMode::Rating { scale } => prompt::rating(scale, settings.reference),
            JudgeMode::Pairwise { .. } => prompt::pairwise().map(|one| (one.clone(), one)),
        };
    };
    let (needed, foreign): (&[_], &[_]) = match settings.mode {
        JudgeMode::Rating { .. } => (
            &[("response", Place::Response)],
            &[("output_1", Place::Output1), ("output_2", Place::Output2)],
        ),
        JudgeMode::Pairwise { .. } => (
            &[("output_1", Place::Output1), ("output_2", Place::Output2)],
            &[("response", Place::Response), ("scale", Place::Scale)],
        ),
    };
    for (name, place) in needed {
        if !template.has(*place) {
            return Err(TemplateError::Missing(name));
        }
    }
    for (name, place) in foreign {
        if template.has(*place) {
            return Err(TemplateError::Unfilled(
                name,
                "the judge's mode has no such thing",
            ));
        }
    }
    if settings.reference == Reference::Off && template.has(Place::Reference) {
        return Err(TemplateError::Unfilled(
            "reference",
            "the reference is switched off",
        ));
    }
    if settings.rubric.is_some() && !template.has(Place::Rubric) {
        return Err(TemplateError::Unused("rubric"));
    }
    Ok((template.clone(), template.clone()))
}
