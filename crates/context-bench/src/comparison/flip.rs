//! [`Flip`]: an example that only one of two systems passed, with both answers where rows keep them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{EvalRow, ExampleId};
use crate::text::stringify::python_str;

/// How much of a text is kept, in characters.
const MOST_CHARS: usize = 500;

/// Which way an example went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlipDirection {
    /// Wrong with the baseline, right with the system.
    Gained,
    /// Right with the baseline, wrong with the system.
    Lost,
}

/// An example that only one of two systems passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Flip {
    /// Its dataset.
    pub dataset: String,
    /// Its id.
    pub example_id: ExampleId,
    /// Which way it went.
    pub direction: FlipDirection,
    /// The score of the baseline.
    pub baseline_score: f64,
    /// The score of the system.
    pub system_score: f64,
    /// What was asked, where rows keep texts; long texts are cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What the baseline said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_answer: Option<String>,
    /// What the system said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_answer: Option<String>,
}

impl Flip {
    /// The flip of a pair of rows; `None` when both passed or neither.
    pub(crate) fn of(
        (baseline, old): (&EvalRow, f64),
        (system, new): (&EvalRow, f64),
        threshold: f64,
    ) -> Option<Self> {
        let direction = match (old >= threshold, new >= threshold) {
            (false, true) => FlipDirection::Gained,
            (true, false) => FlipDirection::Lost,
            _ => return None,
        };
        let text = |row: &EvalRow, pick: fn(&crate::model::RowText) -> Option<&Value>| {
            let value = row.text.as_deref().and_then(pick)?;
            Some(cut(&python_str(value)))
        };
        Some(Self {
            dataset: system.dataset.to_string(),
            example_id: system.example_id.clone(),
            direction,
            baseline_score: old,
            system_score: new,
            question: text(system, |text| text.question.as_ref()),
            answer: text(system, |text| text.answer.as_ref()),
            baseline_answer: text(baseline, |text| text.response.as_ref()),
            system_answer: text(system, |text| text.response.as_ref()),
        })
    }
}

/// At most so many characters, the rest replaced by a mark.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
