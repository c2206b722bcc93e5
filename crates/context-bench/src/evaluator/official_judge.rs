//! `OfficialJudge`: a model asked for a verdict as the authors of a benchmark ask one.
//!
//! What is asked and how the reply is read are pure functions in [`crate::official`]; here
//! they meet the fields of examples and an endpoint. A call that fails and a verdict that
//! cannot be read leave the score unscored, never at 0, unless the authors' own script says
//! what an unclear reply counts as.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::llm_judge::{
    JudgeModel, LlmJudgeError, LlmJudgeSettings, Question, reference, unreadable,
};
use super::{Evaluator, EvaluatorError, has_field};
use crate::chat::ChatReply;
use crate::mask::Mask;
use crate::model::{Example, Identity, JudgeUsage, Output, Score, ScoreName, Scores};
use crate::official::{alpaca_eval, frames, longmemeval, mt_bench};
use crate::text::reasoning;
use crate::text::stringify::python_str;

/// How many characters an answer is longer than the baseline's.
const LENGTH: &str = "alpaca_length";

/// A benchmark whose authors score by a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JudgeRule {
    /// Does the answer hold the gold answer.
    Frames,
    /// Yes or no, asked by the type of the question.
    LongMemEval,
    /// Each of two turns from 1 to 10.
    MtBench,
    /// Preferred to a baseline, with what probability.
    AlpacaEval,
}

impl JudgeRule {
    /// All of them, with the name of the evaluator and what it says.
    pub const ALL: [(Self, &'static str, &'static str); 4] = [
        (
            Self::Frames,
            "frames_judge",
            "a model decides whether the gold answer is there (Krishna et al. 2024): frames",
        ),
        (
            Self::LongMemEval,
            "longmemeval_judge",
            "a model says yes or no, asked by type of question (Wu et al. 2024): longmemeval",
        ),
        (
            Self::MtBench,
            "mt_bench_judge",
            "a model rates both turns from 1 to 10 (Zheng et al. 2023): mt_bench",
        ),
        (
            Self::AlpacaEval,
            "alpaca_eval_judge",
            "a model prefers a baseline or the answer (Dubois et al. 2024): alpaca_eval; baseline=answer",
        ),
    ];

    /// The rule whose evaluator has that name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(_, known, _)| *known == name);
        found.map(|(rule, _, _)| rule)
    }

    /// The name of the evaluator.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(rule, _, _)| *rule == self);
        found.map_or("", |(_, name, _)| name)
    }

    /// The scores that it gives, the main one first.
    pub fn score_names(self) -> &'static [&'static str] {
        match self {
            Self::Frames => &["frames"],
            Self::LongMemEval => &["longmemeval"],
            Self::MtBench => &["mt_bench", "mt_bench_turn1", "mt_bench_turn2"],
            Self::AlpacaEval => &["alpaca_eval", "alpaca_eval_discrete", LENGTH],
        }
    }

    /// The highest value of a score: 10 for ratings, else 1.
    pub(crate) fn highest(score: Option<&str>) -> f64 {
        let ratings = Self::MtBench.score_names();
        match score.is_some_and(|score| ratings.contains(&score)) {
            true => 10.0,
            false => 1.0,
        }
    }

    /// The most tokens of a verdict, as the authors have it.
    fn verdict_tokens(self) -> u32 {
        match self {
            Self::Frames => frames::VERDICT_TOKENS,
            Self::LongMemEval => longmemeval::VERDICT_TOKENS,
            Self::MtBench => mt_bench::VERDICT_TOKENS,
            Self::AlpacaEval => alpaca_eval::VERDICT_TOKENS,
        }
    }
}

/// How the judge of a benchmark is reached, and what it is given beside the example.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OfficialJudgeSettings {
    /// The benchmark.
    pub rule: JudgeRule,
    /// The endpoint, model, key and limits. The parts that say what a judge is asked (mode,
    /// template, rubric, reference, score) are the rule's and not looked at.
    pub judge: LlmJudgeSettings,
    /// The field of the example with the baseline's answer, for [`JudgeRule::AlpacaEval`].
    pub baseline: String,
    /// How difficult instructions are, by the id of the example, for the length-controlled
    /// win rate of [`JudgeRule::AlpacaEval`]; empty when the authors' figures are not given.
    pub difficulties: Arc<BTreeMap<String, f64>>,
}

impl OfficialJudgeSettings {
    /// The usual settings of a rule for a judge.
    pub fn new(rule: JudgeRule, judge: LlmJudgeSettings) -> Self {
        Self {
            rule,
            judge,
            baseline: "answer".into(),
            difficulties: Arc::default(),
        }
    }
}

/// Scores by the verdict of a model, as the authors of a benchmark do.
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

    /// The only score of a rule.
    fn only(&self, score: Score) -> Scores {
        self.names.iter().cloned().zip([score]).collect()
    }

    async fn frames(&self, example: &Example, response: &str) -> JudgedScores {
        let (question, gold) = (asked(example), reference(example));
        let prompt = frames::prompt(&question, &gold, response);
        let (reply, usage) = self.ask(None, prompt, None).await;
        let scores = reply.map(|reply| {
            let text = spoken(&reply);
            self.only(match frames::verdict(&text) {
                Some(decided) => Score::from(decided),
                None => self.unreadable("neither TRUE nor FALSE", &reply, &text),
            })
        });
        (scores, usage)
    }

    async fn longmemeval(&self, example: &Example, response: &str) -> JudgedScores {
        let question_type = example.stringified("type");
        let Some(kind) = longmemeval::Kind::of(&example.stringified("id"), &question_type) else {
            let reason = format!("LongMemEval has no questions of the type `{question_type}`");
            return (Err(EvaluatorError(reason)), JudgeUsage::default());
        };
        let prompt = kind.prompt(&asked(example), &reference(example), response);
        let (reply, usage) = self.ask(None, prompt, None).await;
        let scores = reply.map(|reply| {
            let said = spoken(&reply);
            let reason = format!("the judge said `{}`", said.trim());
            self.only(Score::from(longmemeval::verdict(&said)).because(reason))
        });
        (scores, usage)
    }

    async fn mt_bench(&self, example: &Example, output: &Output) -> JudgedScores {
        let turns = match exchanges(example, output) {
            Ok(turns) => turns,
            Err(reason) => return (Err(EvaluatorError(reason)), JudgeUsage::default()),
        };
        let shown: Vec<_> = turns.iter().map(OwnExchange::shown).collect();
        let [first, ..] = &shown[..] else {
            let reason = "the conversation has no turn".to_owned();
            return (Err(EvaluatorError(reason)), JudgeUsage::default());
        };
        let first = std::slice::from_ref(first);
        let about = |turns| self.ask(Some(mt_bench::system(turns)), mt_bench::prompt(turns), None);
        let (one, both) = tokio::join!(about(first), about(&shown));
        let mut usage = one.1;
        usage += both.1;
        let ratings = [one.0, both.0].map(|reply| {
            reply.map(|reply| {
                let text = spoken(&reply);
                match mt_bench::rating(&text) {
                    Some(rating) => Score::value(rating),
                    None => self.unreadable("no rating in brackets", &reply, &text),
                }
            })
        });
        // Of a pair of which one call failed, a mean would be that of another benchmark.
        let scores = match ratings {
            [Ok(first), Ok(second)] => {
                let rated: Vec<f64> = [&first, &second].iter().filter_map(|s| s.get()).collect();
                let mean = match rated.len() {
                    0 => Score::unscored(first.reason().unwrap_or_default()),
                    n => Score::value(rated.iter().sum::<f64>() / n as f64),
                };
                let scores = [mean, first, second];
                Ok(self.names.iter().cloned().zip(scores).collect())
            }
            [Err(error), _] => Err(EvaluatorError(format!("turn 1: {error}"))),
            [_, Err(error)] => Err(EvaluatorError(format!("turn 2: {error}"))),
        };
        (scores, usage)
    }

    async fn alpaca_eval(&self, example: &Example, response: &str) -> JudgedScores {
        let baseline = example.stringified(&self.settings.baseline);
        if baseline == response {
            let scores = self.preferred(example, &baseline, response, alpaca_eval::DRAW);
            return (Ok(scores), JudgeUsage::default());
        }
        let instruction = asked(example);
        let model_first = alpaca_eval::is_shown_first(&instruction, &baseline, response);
        let (first, second) = match model_first {
            true => (response, &*baseline),
            false => (&*baseline, response),
        };
        let prompt = alpaca_eval::prompt(&instruction, first, second);
        let system = Some(alpaca_eval::SYSTEM);
        let (reply, usage) = self
            .ask(system, prompt, Some(alpaca_eval::TOP_TOKENS))
            .await;
        let scores = reply.and_then(|reply| {
            let text = spoken(&reply);
            let shown = match reply.first_tokens.is_empty() {
                true => alpaca_eval::discrete(&text),
                false => alpaca_eval::weighted(&reply.first_tokens),
            };
            let Some(shown) = shown else {
                let score = self.unreadable("neither `m` nor `M`", &reply, &text);
                return Err(EvaluatorError(
                    score.reason().unwrap_or_default().to_owned(),
                ));
            };
            let preference = alpaca_eval::unshuffled(shown, model_first);
            Ok(self.preferred(example, &baseline, response, preference))
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

    /// The scores of a preference, with what the win rate at equal length is fitted to: how
    /// many characters the answer is longer, and how difficult the instruction is.
    fn preferred(
        &self,
        example: &Example,
        baseline: &str,
        response: &str,
        preference: f64,
    ) -> Scores {
        let length = response.chars().count() as f64 - baseline.chars().count() as f64;
        let scores = [preference - 1.0, alpaca_eval::win(preference), length];
        let mut scores: Scores = self.names.iter().cloned().zip(scores).collect();
        let id = example.stringified("id");
        if let Some(difficulty) = self.settings.difficulties.get(&*id) {
            scores.set("alpaca_difficulty", *difficulty);
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
            JudgeRule::Frames | JudgeRule::LongMemEval => {
                has_field(example, "answer") || has_field(example, "answers")
            }
            JudgeRule::MtBench => questions(example).len() == 2,
            JudgeRule::AlpacaEval => has_field(example, &self.settings.baseline),
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
            ..
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
        Some(Identity::new(self.name(), 1, settings))
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

/// One turn with its reference, as the example and the output have it.
struct OwnExchange {
    question: String,
    answer: String,
    reference: Option<String>,
}

impl OwnExchange {
    fn shown(&self) -> mt_bench::Exchange<'_> {
        mt_bench::Exchange {
            question: &self.question,
            answer: &self.answer,
            reference: self.reference.as_deref(),
        }
    }
}

/// What the user asks, turn by turn.
fn questions(example: &Example) -> Vec<String> {
    let turns = example.get("turns").and_then(Value::as_array);
    let turns = turns
        .into_iter()
        .flatten()
        .filter(|turn| turn["role"] == "user");
    turns
        .map(|turn| python_str(&turn["content"]).into_owned())
        .collect()
}

/// The turns of a conversation with the answers to them.
fn exchanges(example: &Example, output: &Output) -> Result<Vec<OwnExchange>, String> {
    let questions = questions(example);
    let answers = output.get("turn_responses").and_then(Value::as_array);
    let answers = answers.filter(|answers| answers.len() == questions.len());
    let Some(answers) = answers else {
        return Err(format!(
            "the system answered no {} turns: the second question follows its own first answer, \
             which only a system that holds conversations can do",
            questions.len()
        ));
    };
    let category = example.stringified("category");
    let references = example.get("reference").and_then(Value::as_array);
    let references = references.filter(|_| mt_bench::needs_reference(&category));
    let turns = questions.into_iter().zip(answers).enumerate();
    Ok(turns
        .map(|(at, (question, answer))| {
            let text = python_str(answer);
            let answer = reasoning::split(&text).map_or(&*text, |(_, answer)| answer);
            let reference = references.and_then(|list| list.get(at)?.as_str());
            OwnExchange {
                question,
                answer: answer.to_owned(),
                reference: reference.filter(|text| !text.is_empty()).map(str::to_owned),
            }
        })
        .collect())
}
