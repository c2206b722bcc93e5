//! `AnswerReply`: an answer as memories in other languages give it, as JSON.

use std::time::Duration;

use context_bench_memory::TurnId;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{MemoryAnswer, StageTimes};

/// What such a memory says to a question.
#[derive(Debug, Deserialize)]
pub struct AnswerReply {
    answer: String,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    context_tokens: Option<u64>,
    #[serde(default)]
    recalled: Option<Vec<TurnId>>,
    #[serde(default)]
    usage: Option<Map<String, Value>>,
    #[serde(default)]
    retrieve_seconds: Option<f64>,
    #[serde(default)]
    answer_seconds: Option<f64>,
    #[serde(default)]
    details: Option<Map<String, Value>>,
}

impl From<AnswerReply> for MemoryAnswer {
    fn from(reply: AnswerReply) -> Self {
        // A time that is none is as good as none told.
        let time = |seconds: Option<f64>| seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        Self {
            answer: reply.answer,
            context: reply.context,
            context_tokens: reply.context_tokens,
            recalled: reply.recalled,
            times: StageTimes {
                retrieve: time(reply.retrieve_seconds),
                answer: time(reply.answer_seconds),
            },
            usage: reply.usage,
            details: reply.details.unwrap_or_default(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_keep_what_they_are_told() {
        let reply = json!({
            "answer": "A", "context": "C", "context_tokens": 3, "recalled": ["1", "2"],
            "usage": {"prompt_tokens": 5}, "retrieve_seconds": 0.5, "answer_seconds": -1.0,
            "details": {"k": 1},
        });
        let read: AnswerReply = serde_json::from_value(reply).expect("a reply");
        let answer = MemoryAnswer::from(read);
        assert_eq!(answer.answer, "A");
        assert_eq!(answer.context_tokens, Some(3));
        assert_eq!(answer.recalled, Some(vec!["1".into(), "2".into()]));
        assert_eq!(answer.times.retrieve, Some(Duration::from_millis(500)));
        assert_eq!(answer.times.answer, None);
        assert_eq!(answer.details["k"], json!(1));
        let short: AnswerReply = serde_json::from_value(json!({"answer": ""})).expect("a reply");
        assert_eq!(MemoryAnswer::from(short), MemoryAnswer::from(""));
        assert!(serde_json::from_value::<AnswerReply>(json!({"answer": null})).is_err());
    }
}
