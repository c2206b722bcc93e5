//! `JudgeUsage`: what asking a judge cost. Never part of a system's own cost.

use std::ops::AddAssign;

use serde_json::{Map, Value};

use super::CallStats;

/// Requests and tokens that went to a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JudgeUsage {
    /// Requests sent, retries included.
    pub requests: u64,
    /// Tokens of the prompts, as far as the endpoint reports them.
    pub prompt_tokens: u64,
    /// Tokens of the verdicts, as far as the endpoint reports them.
    pub completion_tokens: u64,
}

impl JudgeUsage {
    /// What one call cost.
    pub fn of_call(call: &CallStats, usage: Option<&Map<String, Value>>) -> Self {
        let tokens = |key: &str| {
            let count = usage.and_then(|usage| usage.get(key));
            count.and_then(Value::as_u64).unwrap_or(0)
        };
        Self {
            requests: u64::from(call.attempts),
            prompt_tokens: tokens("prompt_tokens"),
            completion_tokens: tokens("completion_tokens"),
        }
    }

    /// Prompt and completion together.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

impl AddAssign for JudgeUsage {
    fn add_assign(&mut self, other: Self) {
        // An endpoint may report any number.
        self.requests = self.requests.saturating_add(other.requests);
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self
            .completion_tokens
            .saturating_add(other.completion_tokens);
    }
}
