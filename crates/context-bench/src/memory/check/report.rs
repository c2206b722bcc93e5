//! `CheckReport`: what a check found, as text and JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Property, Stage};
use crate::text::visible::visible_line;

/// How much of an answer is shown to people.
const SHOWN: usize = 200;

/// What a check of a memory found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// The name of the memory.
    pub memory: String,
    /// The seed of the conversations.
    pub seed: u64,
    /// How many conversations each stage had.
    pub conversations: usize,
    /// How many questions were answered.
    pub questions: usize,
    /// Every property, in the order of [`Property::ALL`].
    pub properties: Vec<PropertyReport>,
}

/// What was found about a property.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PropertyReport {
    /// Which one.
    pub property: Property,
    /// Whether it holds.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How many answers (of [`Property::Works`], calls) tell something about it.
    pub judged: usize,
    /// How many of them speak against it.
    pub failed: usize,
    /// The first of these.
    pub offences: Vec<Offence>,
    /// What else is to be known.
    pub remark: Option<String>,
}

/// Whether a property holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It does.
    Held,
    /// It does not.
    Failed,
    /// Nothing can be said about it.
    NotApplicable {
        /// Why.
        why: String,
    },
}

/// An answer, or a call, that speaks against a property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offence {
    /// How the memory was used.
    pub stage: Stage,
    /// The conversation that it had taken in, by its number in the stage.
    pub conversation: Option<usize>,
    /// What it was asked.
    pub question: Option<String>,
    /// What it said.
    pub answer: Option<String>,
    /// What it should have said, if it was told.
    pub expected: Option<String>,
    /// The value of another conversation in its answer.
    pub value: Option<String>,
    /// The conversation that this value is of, by its number.
    pub value_of: Option<usize>,
    /// What is wrong.
    pub problem: String,
}

impl CheckReport {
    /// Whether no property failed.
    pub fn passed(&self) -> bool {
        let mut properties = self.properties.iter();
        properties.all(|report| report.verdict != Verdict::Failed)
    }

    /// What was found about a property.
    pub fn property(&self, property: Property) -> Option<&PropertyReport> {
        let mut properties = self.properties.iter();
        properties.find(|report| report.property == property)
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        // Text keys only, so this cannot fail.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(members) = &mut value {
            members.insert("passed".into(), json!(self.passed()));
        }
        value
    }

    /// The report for people, ending in a line break.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "memory {}: {} conversations with conflicting facts per stage, {} questions answered (seed {})\n\n",
            visible_line(&self.memory),
            self.conversations,
            self.questions,
            self.seed
        );
        for report in &self.properties {
            report.write(&mut text);
        }
        let verdicts = self.properties.iter().map(|report| &report.verdict);
        let failed = verdicts.clone().filter(|v| **v == Verdict::Failed).count();
        let held = verdicts.filter(|v| **v == Verdict::Held).count();
        let rest = self.properties.len() - failed - held;
        let _ = writeln!(
            text,
            "\n{failed} failed, {held} held, {rest} not applicable"
        );
        text
    }
}

impl PropertyReport {
    fn write(&self, text: &mut String) {
        let what = match self.property {
            Property::Works => "calls",
            _ => "answers",
        };
        let good = self.judged - self.failed;
        let (word, rest) = match &self.verdict {
            Verdict::Held => ("held", format!("{good} of {} {what}", self.judged)),
            Verdict::Failed => (
                "FAILED",
                format!("{} of {} {what} speak against it", self.failed, self.judged),
            ),
            Verdict::NotApplicable { why } => ("not applicable", why.clone()),
        };
        let _ = writeln!(text, "  {:<17} {word:<15} {rest}", self.property);
        if let Some(remark) = &self.remark {
            let _ = writeln!(text, "    {remark}");
        }
        if self.verdict == Verdict::Failed {
            for offence in &self.offences {
                offence.write(text);
            }
        }
    }
}

impl Offence {
    fn write(&self, text: &mut String) {
        let shown = |value: &str| {
            let line = visible_line(value);
            match line.char_indices().nth(SHOWN) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line.into_owned(),
            }
        };
        let _ = write!(text, "    {}", self.stage);
        if let Some(conversation) = self.conversation {
            let _ = write!(text, ", conversation {conversation}");
        }
        let _ = writeln!(text, ": {}", shown(&self.problem));
        let lines = [
            ("asked", &self.question),
            ("expected", &self.expected),
            ("answer", &self.answer),
        ];
        for (name, value) in lines {
            match (name, value) {
                (_, Some(value)) => {
                    let _ = writeln!(text, "      {name:<9} {}", shown(value));
                }
                ("expected", None) if self.value.is_some() => {
                    let _ = writeln!(text, "      {name:<9} nothing of it: it was not told");
                }
                _ => {}
            }
        }
    }
}
