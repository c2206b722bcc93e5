//! `Counts`: what became of the plan, per system.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Ending, EvalRow, JudgeUsage};

/// What became of the planned rows of one system.
///
/// `planned = scored + unscored + not_applicable + failed + not_run()`. Cached
/// rows are counted among the others as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Rows that the run set out to produce.
    pub planned: usize,
    /// Rows with an output and a value from every evaluator that applies.
    pub scored: usize,
    /// Rows with an output for which at least one evaluator gave no value.
    pub unscored: usize,
    /// Rows without an output.
    pub failed: usize,
    /// Rows with an output and no score, because no evaluator applies to the example.
    pub not_applicable: usize,
    /// Rows whose output came from an earlier run.
    pub cached: usize,
    /// Answers without any text.
    #[serde(skip_serializing_if = "is_zero")]
    pub empty: usize,
    /// Answers that end in the middle because no more tokens were allowed.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: usize,
    /// Answers that a filter ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub filtered: usize,
    /// Answers that are calls of tools and no text.
    #[serde(skip_serializing_if = "is_zero")]
    pub tool_calls: usize,
    /// Answers that came with reasoning, which is not scored.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoned: usize,
    /// Answers that came out of a cache in between.
    #[serde(skip_serializing_if = "is_zero")]
    pub from_cache: usize,
    /// Answers that were asked for without a temperature, because the endpoint refuses it.
    #[serde(skip_serializing_if = "is_zero")]
    pub without_temperature: usize,
    /// Answers to prompts that were too long, so that their middle was left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub prompts_cut: usize,
    /// Requests sent, retries included, as far as systems report them.
    pub requests: u64,
    /// Requests that were sent again after a failed one.
    #[serde(skip_serializing_if = "is_zero_64")]
    pub retries: u64,
    /// Requests that took too long.
    #[serde(skip_serializing_if = "is_zero_64")]
    pub timeouts: u64,
    /// Requests sent to judges, retries included; no part of `requests`.
    pub judge_requests: u64,
    /// Tokens of the prompts of judges, as far as their endpoints report them.
    pub judge_prompt_tokens: u64,
    /// Tokens of the verdicts of judges, likewise.
    pub judge_completion_tokens: u64,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

fn is_zero_64(n: &u64) -> bool {
    *n == 0
}

impl Counts {
    /// Answers that are scored although something is wrong with them.
    pub fn odd(&self) -> usize {
        self.empty + self.cut + self.filtered + self.tool_calls
    }

    /// Adds one finished row.
    pub fn add(&mut self, row: &EvalRow) {
        if !row.is_completed() {
            self.failed += 1;
        } else if row.has_error() {
            self.unscored += 1;
        } else if row.is_scored() {
            self.scored += 1;
        } else {
            self.not_applicable += 1;
        }
        self.cached += usize::from(row.cached);
        if let Some(reply) = row.reply.as_deref() {
            match reply.ending {
                Ending::Whole => {}
                Ending::Empty => self.empty += 1,
                Ending::Cut => self.cut += 1,
                Ending::Filtered => self.filtered += 1,
                Ending::ToolCalls => self.tool_calls += 1,
            }
            self.reasoned += usize::from(reply.reasoned);
            self.without_temperature += usize::from(reply.without_temperature);
            self.prompts_cut += usize::from(reply.prompt_cut);
            self.from_cache += usize::from(reply.from_cache.is_some());
        }
        if let Some(call) = row.call.as_deref().filter(|_| !row.cached) {
            self.requests += u64::from(call.attempts);
            self.retries += u64::from(call.attempts.saturating_sub(1));
            self.timeouts += u64::from(call.timeouts);
        }
    }

    /// Adds what judging a row cost.
    pub fn add_judged(&mut self, usage: JudgeUsage) {
        let mut sum = self.judged();
        sum += usage;
        self.judge_requests = sum.requests;
        self.judge_prompt_tokens = sum.prompt_tokens;
        self.judge_completion_tokens = sum.completion_tokens;
    }

    /// What judging cost.
    pub fn judged(&self) -> JudgeUsage {
        JudgeUsage {
            requests: self.judge_requests,
            prompt_tokens: self.judge_prompt_tokens,
            completion_tokens: self.judge_completion_tokens,
        }
    }

    /// The counts as JSON, with the rows that were not begun among them.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut json = match serde_json::to_value(self) {
            Ok(Value::Object(json)) => json,
            _ => Map::new(),
        };
        json.insert("not_begun".into(), self.not_run().into());
        json
    }

    /// Rows that were never begun: the run was stopped, its time was over, or the system
    /// was given up.
    pub fn not_run(&self) -> usize {
        let done = self.scored + self.unscored + self.not_applicable + self.failed;
        self.planned.saturating_sub(done)
    }

    /// Rows that did not end as planned: failed or not fully scored.
    pub fn errors(&self) -> usize {
        self.failed + self.unscored
    }
}
