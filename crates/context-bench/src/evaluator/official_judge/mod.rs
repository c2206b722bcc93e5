//! `OfficialJudge`: a model asked for a verdict by a fixed rule, as the authors of a benchmark
//! ask one, or about an answer from memory.
//!
//! What is asked and how the reply is read are pure functions in [`crate::official`] and
//! [`context_bench_memory::judge`]; here they meet the fields of examples and an endpoint. A
//! call that fails and a verdict that cannot be read leave the score unscored, never at 0,
//! unless the authors' own script says what an unclear reply counts as.

mod comparison;
mod conversation;
mod memory;
mod rule;
mod settings;

use std::borrow::Cow;
use std::collections::BTreeMap;

use async_trait::async_trait;
use context_bench_memory::judge as memory_judge;
use serde_json::{Value, json};

pub use self::rule::JudgeRule;
pub use self::settings::OfficialJudgeSettings;

use self::conversation::questions;
use self::rule::LENGTH;
use super::llm_judge::{JudgeModel, LlmJudgeError, Question, has_ended, reference, unreadable};
use super::{Evaluator, EvaluatorError, has_field};
use crate::chat::ChatReply;
use crate::mask::Mask;
use crate::model::{Example, Identity, JudgeUsage, Output, Score, ScoreName, Scores};
use crate::official::{frames, longmemeval};
use crate::text::reasoning;
use crate::text::stringify::python_str;

/// Scores by the verdict of a model, asked by a fixed rule.
pub struct OfficialJudge {
    asking: JudgeModel,
    settings: OfficialJudgeSettings,
    names: Vec<ScoreName>,
}

type JudgedScores = (Result<Scores, EvaluatorError>, JudgeUsage);

impl OfficialJudge {
    /// A judge at the endpoint of the settings.
    ///
    /// # Errors
    ///
    /// When the URL or the key cannot be used.
    pub fn new(settings: OfficialJudgeSettings) -> Result<Self, LlmJudgeError> {
        let names = settings.rule.score_names();
        Ok(Self {
            asking: JudgeModel::new(&settings.judge)?,
            names: names.iter().map(|name| ScoreName::from(*name)).collect(),
            settings,
        })
    }

    fn verdict_tokens(&self) -> u32 {
        let usual = self.settings.rule.verdict_tokens();
        self.settings.judge.max_tokens.unwrap_or(usual)
    }

    async fn ask(
        &self,
        system: Option<&'static str>,
        user: String,
        top_tokens: Option<u32>,
    ) -> (Result<ChatReply, EvaluatorError>, JudgeUsage) {
        let question = Question {
            system,
            user,
            max_tokens: self.verdict_tokens(),
            top_tokens,
        };
        self.asking.ask(&question).await
    }

    fn unreadable(&self, why: &str, reply: &ChatReply, text: &str) -> Score {
        Score::unscored(unreadable(why, reply, text, self.verdict_tokens()))
    }

    /// The same for each score of the rule, of which most have one.
    fn each(&self, score: &Score) -> Scores {
        let names = self.names.iter().cloned();
        names.map(|name| (name, score.clone())).collect()
    }

    async fn frames(&self, example: &Example, response: &str) -> JudgedScores {
        let (question, gold) = (asked(example), reference(example));
        let prompt = frames::prompt(&question, &gold, response);
        let (reply, usage) = self.ask(None, prompt, None).await;
        let scores = reply.map(|reply| {
            let text = spoken(&reply);
            self.each(&match frames::verdict(&text) {
                Some(decided) => Score::from(decided),
                None => self.unreadable("neither TRUE nor FALSE", &reply, &text),
            })
        });
        (scores, usage)
    }

    async fn longmemeval(&self, example: &Example, response: &str) -> JudgedScores {
        let question_type = example.stringified("type");
        let kind = match example.get("abstention") {
            Some(Value::Bool(true)) => Some(longmemeval::Kind::Abstention),
            _ => longmemeval::Kind::of(&example.stringified("id"), &question_type),
        };
        let Some(kind) = kind else {
            let reason = format!("LongMemEval has no questions of the type `{question_type}`");
            return (Err(EvaluatorError(reason)), JudgeUsage::default());
        };
        let prompt = kind.prompt(&asked(example), &reference(example), response);
        let (reply, usage) = self.ask(None, prompt, None).await;
        let scores = reply.map(|reply| {
            let said = spoken(&reply);
            let right = longmemeval::verdict(&said);
            // The authors' script counts all but `yes` as wrong. A reply that was cut or
            // withheld before it said anything is no verdict by theirs either: their judge
            // answers within its ten tokens.
            let withheld = reply.content.is_null() || !has_ended(&reply);
            if withheld && !right && memory_judge::verdict(&said, true).is_none() {
                return self.each(&self.unreadable("neither yes nor no", &reply, &said));
            }
            let reason = format!("the judge said `{}`", said.trim());
            self.each(&Score::from(right).because(reason))
        });
        (scores, usage)
    }

    /// The scores of an empty response, which needs no judge.
    fn nothing_said(&self, example: &Example) -> Scores {
        let mut scores = match self.settings.rule {
            JudgeRule::AlpacaEval => {
                let baseline = example.stringified(&self.settings.baseline);
                self.preferred(example, &baseline, "", 1.0)
            }
            _ => Scores::new(),
        };
        for name in self.names.iter().filter(|name| name.as_str() != LENGTH) {
            scores.set(name.clone(), Score::value(0.0).because("empty response"));
        }
        scores
    }
}

#[async_trait]
impl Evaluator for OfficialJudge {
    fn name(&self) -> &str {
        self.settings.rule.name()
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn applies_to(&self, example: &Example) -> bool {
        match self.settings.rule {
            JudgeRule::Frames | JudgeRule::LongMemEval | JudgeRule::Memory => {
                has_field(example, "answer") || has_field(example, "answers")
            }
            JudgeRule::MtBench => questions(example).len() == 2,
            JudgeRule::AlpacaEval => has_field(example, &self.settings.baseline),
            JudgeRule::FalseMemory => true,
        }
    }

    fn endpoint(&self) -> Option<String> {
        Some(self.asking.endpoint().to_string())
    }

    fn identity(&self) -> Option<Identity> {
        let OfficialJudgeSettings {
            judge,
            baseline,
            difficulties,
            rule,
        } = &self.settings;
        let difficulties: &BTreeMap<String, f64> = difficulties;
        let settings = json!({
            "url": self.asking.endpoint().identity(),
            "model": Mask::Digest.text(&judge.model),
            "max_tokens": self.verdict_tokens(),
            "temperature": judge.temperature,
            "extra_body": Mask::Digest.map(&judge.extra_body),
            "baseline": baseline,
            "difficulties": difficulties,
        });
        Some(Identity::new(self.name(), rule.version(), settings))
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        self.score_and_usage(example, output).await.0
    }

    async fn score_and_usage(&self, example: &Example, output: &Output) -> JudgedScores {
        let response = output.response();
        let rule = self.settings.rule;
        // A conversation is judged turn by turn, whatever its last answer is.
        if response.trim().is_empty() && rule != JudgeRule::MtBench {
            return (Ok(self.nothing_said(example)), JudgeUsage::default());
        }
        match rule {
            JudgeRule::Frames => self.frames(example, &response).await,
            JudgeRule::LongMemEval => self.longmemeval(example, &response).await,
            JudgeRule::MtBench => self.mt_bench(example, output).await,
            JudgeRule::AlpacaEval => self.alpaca_eval(example, &response).await,
            JudgeRule::Memory => self.memory(example, &response).await,
            JudgeRule::FalseMemory => self.false_memory(example, &response).await,
        }
    }
}

/// What a judge said, without what it thought before.
fn spoken(reply: &ChatReply) -> String {
    let text = python_str(&reply.content);
    match (&reply.content, reasoning::split(&text)) {
        (Value::Null, _) => String::new(),
        (_, Some((_, answer))) => answer.to_owned(),
        (_, None) => text.into_owned(),
    }
}

fn asked(example: &Example) -> Cow<'_, str> {
    match example.get("question") {
        Some(question) => python_str(question),
        None => example.stringified("context"),
    }
}
