//! `OfficialJudgeSettings`: whom to ask by which rule.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::JudgeRule;
use crate::evaluator::LlmJudgeSettings;

/// How a judge with a fixed rule is reached, and what it is given beside the example.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OfficialJudgeSettings {
    /// What it is asked.
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
