//! `Identity`: what decides the answers of a system or the scores of an evaluator.
//!
//! Stored results are keyed by it, so it must name every setting that can change
//! an outcome, and never a secret. Something that cannot name them has no
//! identity and is never reused.

use serde_json::Value;

/// What decides an outcome, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// What sort of thing it is, such as `openai_proxy` or `answer_quality`.
    pub kind: String,
    /// Raised whenever the code changes so that outcomes may differ.
    pub version: u32,
    /// Every setting that can change an outcome. Holds no keys or passwords.
    pub settings: Value,
}

impl Identity {
    /// An identity of that kind.
    pub fn new(kind: impl Into<String>, version: u32, settings: impl Into<Value>) -> Self {
        Self {
            kind: kind.into(),
            version,
            settings: settings.into(),
        }
    }

    /// The whole identity as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "kind": self.kind,
            "version": self.version,
            "settings": self.settings,
        })
    }
}
