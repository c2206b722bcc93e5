//! [`ArmReport`]: what a check found about one arm of a proxy, as data. How it is shown is a
//! matter of reports.

use serde::Serialize;

use super::ProxyApi;
use crate::figures::{ArmEngagement, Defect};

/// What an arm is for, and so what it is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmKind {
    /// It is to change nothing.
    Passthrough,
    /// It is to change texts of requests.
    Transform,
    /// Nobody said.
    Unknown,
}

impl ArmKind {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passthrough => "passthrough",
            Self::Transform => "transform",
            Self::Unknown => "unknown",
        }
    }
}

/// What a check found about one arm of a proxy.
#[derive(Debug, Clone, Serialize)]
pub struct ArmReport {
    /// What the arm is for.
    pub arm: ArmKind,
    /// How many requests the client sent.
    pub requests: usize,
    /// How many calls the upstream got that asked a model.
    pub upstream_calls: usize,
    /// The APIs that were asked, and whether the proxy has them.
    pub apis: Vec<ApiReport>,
    /// How many requests went out changed.
    pub engagement: ArmEngagement,
    /// Whether the arm does what it is for: a pass-through changes nothing, a transform
    /// something.
    pub purpose: Property,
    /// Every defect in the order of their numbers.
    pub properties: Vec<Property>,
}

impl ArmReport {
    /// Whether nothing was found that does not hold.
    pub fn passed(&self) -> bool {
        let all = self.properties.iter().chain([&self.purpose]);
        all.into_iter()
            .all(|property| property.verdict != Verdict::DoesNotHold)
    }

    /// What was found about a defect.
    pub fn property(&self, defect: Defect) -> Option<&Property> {
        let mut properties = self.properties.iter();
        properties.find(|property| property.defect == Some(defect))
    }

    /// The defects that do not hold.
    pub fn defects(&self) -> Vec<Defect> {
        let properties = self.properties.iter();
        let found = properties.filter(|property| property.verdict == Verdict::DoesNotHold);
        found.filter_map(|property| property.defect).collect()
    }
}

/// An API that was asked.
#[derive(Debug, Clone, Serialize)]
pub struct ApiReport {
    /// Which one.
    pub api: ProxyApi,
    /// Why the proxy cannot be asked in it, if it cannot.
    pub not_offered: Option<String>,
}

/// Something that a proxy in good order does.
#[derive(Debug, Clone, Serialize)]
pub struct Property {
    /// The defect that it would be not to do so; none for what an arm is for.
    pub defect: Option<Defect>,
    /// What holds, if it holds.
    pub means: &'static str,
    /// Whether it does.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How many probes tell something about it.
    pub judged: usize,
    /// What speaks against it.
    pub findings: Vec<Finding>,
    /// Probes that would have told something and could not be judged, and why.
    pub untested: Vec<String>,
}

/// Whether a property holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not.
    DoesNotHold,
    /// The proxy has nothing that it could be seen at.
    NotApplicable {
        /// Why.
        why: String,
    },
    /// It could not be tested.
    NotTested {
        /// Why.
        why: String,
    },
}

/// Something that speaks against a property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The API that was asked.
    pub api: ProxyApi,
    /// The probe.
    pub probe: &'static str,
    /// What is different, in a few words.
    pub what: String,
    /// The two sides where they differ.
    pub evidence: Evidence,
}

/// Two texts that should be the same: requests, answers, headers, or what happened when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What went in.
    pub before: Side,
    /// What came out.
    pub after: Side,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// What it is.
    pub title: &'static str,
    /// Its text, line by line.
    pub text: String,
}

/// What holds where there is no such defect.
pub(super) fn meaning(defect: Defect) -> &'static str {
    match defect {
        Defect::Messages => "every message goes out, in its order, and no other",
        Defect::Role => "messages keep their role",
        Defect::SystemText => "system texts go out as they are",
        Defect::ToolCallIds => "ids of tool calls and results stay and fit",
        Defect::Tools => "tools go out as they are, in their order, and no other",
        Defect::Parts => "images, files, thoughts, names and error marks stay",
        Defect::Parameters => "model and parameters stay",
        Defect::CacheMarks => "marks for the provider's cache stay where they are",
        Defect::StreamProtocol => "streams arrive event by event, in order, to their end",
        Defect::ErrorShape => "errors keep status, type, code and retry-after",
        Defect::AnswerText => "answers arrive as the provider gave them",
        Defect::Usage => "the usage is the provider's",
        Defect::LocalAnswer => "every request reaches the provider",
        Defect::Likelihood => "texts whose probabilities are asked stay as they are",
        Defect::HiddenRetry => "one request is one call: no retries of its own",
        Defect::Headers => "request ids, rate limits and encodings arrive",
        Defect::CrossTalk => "conversations stay apart",
        Defect::Cancellation => "a client that hangs up ends the call",
    }
}

/// All defects in the order of their numbers.
pub(super) const DEFECTS: [Defect; 18] = [
    Defect::Messages,
    Defect::Role,
    Defect::SystemText,
    Defect::ToolCallIds,
    Defect::Tools,
    Defect::Parts,
    Defect::Parameters,
    Defect::CacheMarks,
    Defect::StreamProtocol,
    Defect::ErrorShape,
    Defect::AnswerText,
    Defect::Usage,
    Defect::LocalAnswer,
    Defect::Likelihood,
    Defect::HiddenRetry,
    Defect::Headers,
    Defect::CrossTalk,
    Defect::Cancellation,
];
