//! `Reporting`: what a dataset's authors report of it, and by which rule, as a run goes by
//! it; `DatasetReport`: what came out of that.

use std::cmp::Ordering;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dataset::catalog::{AppliedRule, Figure};
use crate::model::Measurement;

/// What is reported of a dataset beside the mean of each score. Kept with the plan, so that
/// a stored run is summed up as it was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reporting {
    /// The figures, by name. One that has the name of a score stands in place of its mean.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub figures: IndexMap<String, Figure>,
    /// The figure or score that the authors quote; the mean of the dataset's score unless
    /// said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// By which rule it is scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<AppliedRule>,
}

impl Reporting {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is quoted of a dataset for one system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatasetReport {
    /// The name of the figure that the authors quote.
    pub headline: Option<String>,
    /// The score whose mean over rows stands for the dataset elsewhere.
    pub score_field: Option<String>,
    /// Whether the headline is that mean.
    pub is_row_mean: bool,
    /// The headline and the figures of the dataset, the headline first.
    pub figures: IndexMap<String, Measurement>,
    /// Figures that are one for each value of a field: by name, then by value.
    pub by_value: IndexMap<String, IndexMap<String, Measurement>>,
    /// By which rule it is scored.
    pub rule: Option<AppliedRule>,
}

impl DatasetReport {
    /// The rule as results have it, with what the scores of the run are in words.
    pub fn rule_json(&self) -> Option<Value> {
        let rule = self.rule.as_ref()?;
        let mut json = serde_json::to_value(rule).ok()?;
        json["standing"] = rule.standing().into();
        Some(json)
    }
}

/// Numbers by value, and before texts.
pub(crate) fn in_order(one: &str, other: &str) -> Ordering {
    let number = |text: &str| text.parse::<f64>().ok();
    match (number(one), number(other)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}
