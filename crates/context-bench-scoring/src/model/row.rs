//! `EvalRow`: one example through one system.
//!
//! Runs keep a million of these in memory, so names are shared and what most
//! rows lack (failure, metadata) is behind a pointer.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{CallStats, DocumentMark, ExampleId, Failure, Reply, RowText, Scores, WireFacts};

/// The member of a row's metadata that names its conversation, in runs of memories.
pub const CONVERSATION_ID: &str = "conversation_id";

/// One example through one system: its scores and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalRow {
    /// Name of the system.
    pub system: Arc<str>,
    /// Id of the example, or its position in the dataset.
    pub example_id: ExampleId,
    /// What the evaluators said, unscored entries included.
    pub scores: Scores,
    /// Tokens of the example.
    pub input_tokens: u64,
    /// Tokens of the processed map; 0 for a failed row.
    pub output_tokens: u64,
    /// What programs add to rows; see [`metadata`](Self::metadata).
    pub added: Option<Box<Map<String, Value>>>,
    /// What is known of the answer beside its text; `None` without an answer.
    pub reply: Option<Box<Reply>>,
    /// What was asked and answered, where the run keeps that.
    pub text: Option<Box<RowText>>,
    /// Seconds inside the system: without waits of our own (rate limits, back-off,
    /// connections).
    pub latency: f64,
    /// Dataset tag; empty when the example had none.
    pub dataset: Arc<str>,
    /// Why there is no output, when the call failed.
    pub failure: Option<Box<Failure>>,
    /// What the call cost besides time, when the system knows.
    pub call: Option<Box<CallStats>>,
    /// What a tap saw of it, where there is one.
    pub wire: Option<Box<WireFacts>>,
    /// Whether the output was reused from an earlier run.
    pub cached: bool,
    /// How many evaluators do not apply to the example.
    pub not_applicable: u16,
    /// The document that the example is about, by which rows that belong together are found.
    pub document: DocumentMark,
}

impl EvalRow {
    /// A row with scores, for building results by hand.
    pub fn new(
        system: impl Into<Arc<str>>,
        example_id: impl Into<ExampleId>,
        scores: Scores,
        input_tokens: u64,
        output_tokens: u64,
    ) -> Self {
        Self {
            system: system.into(),
            example_id: example_id.into(),
            scores,
            input_tokens,
            output_tokens,
            added: None,
            reply: None,
            text: None,
            latency: 0.0,
            dataset: "".into(),
            failure: None,
            call: None,
            wire: None,
            cached: false,
            not_applicable: 0,
            document: DocumentMark::default(),
        }
    }

    /// Whether the system produced an output.
    pub fn is_completed(&self) -> bool {
        self.failure.is_none()
    }

    /// Whether the system produced no output, or an evaluator no value.
    pub fn has_error(&self) -> bool {
        !self.is_completed() || self.scores.unscored().next().is_some()
    }

    /// Whether the system produced an output and every evaluator that applies a
    /// value. An example to which none applies is neither scored nor an error.
    pub fn is_scored(&self) -> bool {
        let none_applies = self.scores.is_empty() && self.not_applicable > 0;
        !self.has_error() && !none_applies
    }

    /// The value of a score; `None` when missing, unscored or not a number.
    pub fn score(&self, name: &str) -> Option<f64> {
        self.scores.value(name)
    }

    /// The conversation that the row is about, in runs of memories.
    pub fn conversation(&self) -> Option<&str> {
        self.added.as_ref()?.get(CONVERSATION_ID)?.as_str()
    }

    /// Usage as users know it from rows (three counts, where an endpoint reported any),
    /// or what a program put in its place.
    pub fn metadata(&self) -> Map<String, Value> {
        match (&self.added, &self.reply) {
            (Some(added), _) => (**added).clone(),
            (None, Some(reply)) if reply.tokens.reported => reply.tokens.members(),
            _ => Map::new(),
        }
    }

    /// The row as written to files: the known members in their known order,
    /// then only those of our own that say something.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut row = Map::new();
        row.insert("system".into(), json!(self.system));
        row.insert("example_id".into(), json!(self.example_id));
        row.insert("dataset".into(), json!(self.dataset));
        row.insert("scores".into(), Value::Object(self.scores.to_json()));
        row.insert("input_tokens".into(), json!(self.input_tokens));
        row.insert("output_tokens".into(), json!(self.output_tokens));
        row.insert("latency".into(), json!(self.latency));
        row.insert("metadata".into(), Value::Object(self.metadata()));
        if let Some(text) = self.text.as_deref() {
            text.put(&mut row);
        }
        if let Some(reply) = self.reply.as_deref() {
            put_reply(&mut row, reply);
        }
        if let Some(failure) = &self.failure {
            row.insert("error".into(), json!(failure));
        }
        let reasons = |missing: bool| -> Map<String, Value> {
            self.scores
                .iter()
                .filter(|(_, score)| score.is_unscored() == missing)
                .filter_map(|(name, score)| Some((name.to_string(), json!(score.reason()?))))
                .collect()
        };
        for (key, missing) in [("unscored", true), ("reasons", false)] {
            let map = reasons(missing);
            if !map.is_empty() {
                row.insert(key.into(), Value::Object(map));
            }
        }
        if let Some(call) = self.call.as_deref() {
            row.insert("call".into(), call_json(call));
        }
        if let Some(wire) = self.wire.as_deref() {
            row.insert("wire".into(), wire.to_json());
        }
        if self.not_applicable > 0 {
            row.insert("not_applicable".into(), json!(self.not_applicable));
        }
        if self.cached {
            row.insert("cached".into(), json!(true));
        }
        row
    }
}

/// Members for what is known of an answer: those that say something. Counts of our own
/// are apart from those that an endpoint reported, which have other tokens.
fn put_reply(row: &mut Map<String, Value>, reply: &Reply) {
    let mut put = |key: &str, value: Option<Value>| {
        row.extend(value.map(|value| (key.to_owned(), value)));
    };
    put(
        "finish_reason",
        reply.finish_reason.as_ref().map(|r| json!(r)),
    );
    if !reply.ending.is_whole() {
        put("ending", Some(json!(reply.ending)));
    }
    if reply.reasoned {
        put("reasoned", Some(json!(true)));
    }
    put("from_cache", reply.from_cache.as_ref().map(|h| json!(h)));
    let tokens = &reply.tokens;
    put("given_tokens", tokens.given.map(Value::from));
    put("prompt_tokens", tokens.prompt.map(Value::from));
    put("cached_tokens", tokens.cached.map(Value::from));
    put("completion_tokens", tokens.completion.map(Value::from));
    let source = if tokens.reported { "usage" } else { "counted" };
    put("tokens_from", tokens.prompt.map(|_| json!(source)));
}

fn call_json(call: &CallStats) -> Value {
    let mut map = Map::new();
    map.insert("attempts".into(), json!(call.attempts));
    map.insert("retry_wait".into(), json!(call.retry_wait.as_secs_f64()));
    for (key, n) in [("throttled", call.throttled), ("timeouts", call.timeouts)] {
        if n > 0 {
            map.insert(key.into(), json!(n));
        }
    }
    let connect = Some(call.connect).filter(|connect| !connect.is_zero());
    for (key, seconds) in [
        ("connect", connect),
        ("first_byte", call.first_byte),
        ("first_token", call.first_token),
    ] {
        if let Some(seconds) = seconds {
            map.insert(key.into(), json!(seconds.as_secs_f64()));
        }
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailureKind, Score};

    #[test]
    fn a_row_stays_small() {
        assert!(size_of::<EvalRow>() <= 160, "{}", size_of::<EvalRow>());
    }

    #[test]
    fn extra_members_appear_only_when_they_say_something() {
        let mut row = EvalRow::new("s", "é", [("f1", 0.1)].into_iter().collect(), 1, 2);
        let keys = |row: &EvalRow| row.to_json().keys().cloned().collect::<Vec<_>>().join(" ");
        let plain = "system example_id dataset scores input_tokens output_tokens latency metadata";
        assert_eq!(keys(&row), plain);
        row.scores.set("judge_score", Score::unscored("no rating"));
        row.failure = Some(Box::new(Failure::new(FailureKind::Timeout, "late")));
        assert_eq!(keys(&row), format!("{plain} error unscored"));
        let json = row.to_json();
        assert_eq!(json["error"], json!({"kind": "timeout", "message": "late"}));
        assert_eq!(json["unscored"], json!({"judge_score": "no rating"}));
        assert_eq!(json["scores"], json!({"f1": 0.1}));
    }
}
