//! `JudgeRule`: which fixed rule a judge is asked by, with its names and limits.

use context_bench_memory::judge as memory;

use crate::official::{alpaca_eval, frames, longmemeval, mt_bench};

/// How many characters an answer is longer than the baseline's.
pub(super) const LENGTH: &str = "alpaca_length";

/// A fixed rule by which a judge scores: that of a benchmark's authors, or one for answers
/// from memory.
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
    /// Does an answer from memory hold what the right one says.
    Memory,
    /// Does an answer from memory claim what was never said.
    FalseMemory,
}

impl JudgeRule {
    /// All of them, with the name of the evaluator and what it says.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
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
        (
            Self::Memory,
            "memory_judge",
            "a model says whether an answer from memory is right: memory_judge, memory_judge_raw",
        ),
        (
            Self::FalseMemory,
            "false_memory_rate",
            "a model says whether an answer claims what was never said: false_memory, lower is better",
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
            Self::Memory => &["memory_judge", "memory_judge_raw"],
            Self::FalseMemory => &["false_memory"],
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

    /// Changes with how replies are read, so that stored scores of before are not reused.
    pub(super) fn version(self) -> u32 {
        match self {
            Self::LongMemEval => 2,
            _ => 1,
        }
    }

    /// The most tokens of a verdict, as the authors have it.
    pub(super) fn verdict_tokens(self) -> u32 {
        match self {
            Self::Frames => frames::VERDICT_TOKENS,
            Self::LongMemEval => longmemeval::VERDICT_TOKENS,
            Self::MtBench => mt_bench::VERDICT_TOKENS,
            Self::AlpacaEval => alpaca_eval::VERDICT_TOKENS,
            Self::Memory | Self::FalseMemory => memory::REPLY_TOKENS,
        }
    }
}
