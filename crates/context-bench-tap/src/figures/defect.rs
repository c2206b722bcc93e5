//! [`Defect`]: what a proxy that only relays would not do.

use serde::{Deserialize, Serialize};

/// A kind of defect, by the number that reports give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Defect {
    /// A message was dropped, added or moved.
    #[serde(rename = "T01")]
    Messages,
    /// A role was changed.
    #[serde(rename = "T02")]
    Role,
    /// A system text was changed.
    #[serde(rename = "T03")]
    SystemText,
    /// Ids of tool calls and results do not fit any more.
    #[serde(rename = "T04")]
    ToolCallIds,
    /// A tool was changed, added, removed or moved.
    #[serde(rename = "T05")]
    Tools,
    /// A part of a message was lost.
    #[serde(rename = "T06")]
    Parts,
    /// A parameter or the model was changed.
    #[serde(rename = "T07")]
    Parameters,
    /// A mark for the provider's cache was added, moved or dropped.
    #[serde(rename = "T08")]
    CacheMarks,
    /// The stream is not what its API promises.
    #[serde(rename = "T09")]
    StreamProtocol,
    /// Status or shape of an error was changed.
    #[serde(rename = "T10")]
    ErrorShape,
    /// The answer is not what the provider said.
    #[serde(rename = "T11")]
    AnswerText,
    /// The usage is not what the provider said.
    #[serde(rename = "T12")]
    Usage,
    /// There was an answer without the provider.
    #[serde(rename = "T13")]
    LocalAnswer,
    /// The text of a request for probabilities was changed.
    #[serde(rename = "T14")]
    Likelihood,
    /// The proxy asked again by itself.
    #[serde(rename = "T15")]
    HiddenRetry,
    /// Headers were lost, or are wrong.
    #[serde(rename = "T16")]
    Headers,
    /// Text of one example was in a request of another.
    #[serde(rename = "T17")]
    CrossTalk,
    /// A client that hung up did not end the call upstream.
    #[serde(rename = "T18")]
    Cancellation,
}

impl Defect {
    /// Its number, such as `T02`.
    pub fn code(self) -> String {
        format!("T{:02}", self as u8 + 1)
    }
}

/// A defect that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What kind of defect it is.
    pub defect: Defect,
    /// What is different, in a few words.
    pub what: String,
}

impl Change {
    pub(super) fn new(defect: Defect, what: impl Into<String>) -> Self {
        Self {
            defect,
            what: what.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_reports() {
        for (defect, code) in [
            (Defect::Messages, "T01"),
            (Defect::Usage, "T12"),
            (Defect::Cancellation, "T18"),
        ] {
            assert_eq!(defect.code(), code);
            assert_eq!(serde_json::to_value(defect).unwrap(), code);
        }
    }
}
