//! `Score`: a value, or unscored with a reason. A missing score is not a number.
//!
//! Some scores exist only over many rows (BLEU, a correlation). What one row
//! contributes to them is evidence: neither a value nor a missing one.
//!
//! Runs hold millions of scores, so a score is two words: everything but a plain
//! value lives behind a pointer that most scores do not have.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// The name of a score, such as `f1`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScoreName(Arc<str>);

impl ScoreName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for ScoreName {
    fn from(name: T) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for ScoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value, or unscored with a reason. A value may carry a reason too (why it is 0, say).
#[derive(Debug, Clone, PartialEq)]
pub struct Score(Repr);

#[derive(Debug, Clone, PartialEq)]
enum Repr {
    Plain(f64),
    Reasoned(Arc<(Option<f64>, Box<str>)>),
    Evidence(Arc<Value>),
}

impl Score {
    /// A score with a value.
    pub fn value(value: f64) -> Self {
        Self(Repr::Plain(value))
    }

    /// No score, and why.
    pub fn unscored(reason: impl Into<Box<str>>) -> Self {
        Self(Repr::Reasoned(Arc::new((None, reason.into()))))
    }

    /// What a row contributes to scores that only many rows together have. It is
    /// not shown and not averaged; whoever wrote it reads it again.
    pub fn evidence(value: Value) -> Self {
        Self(Repr::Evidence(Arc::new(value)))
    }

    /// The same score with a reason.
    #[must_use]
    pub fn because(self, reason: impl Into<Box<str>>) -> Self {
        Self(Repr::Reasoned(Arc::new((self.get(), reason.into()))))
    }

    /// The value, or `None` when unscored or evidence.
    pub fn get(&self) -> Option<f64> {
        match &self.0 {
            Repr::Plain(value) => Some(*value),
            Repr::Reasoned(both) => both.0,
            Repr::Evidence(_) => None,
        }
    }

    /// What the row contributes to scores over many rows, if this is that.
    pub fn as_evidence(&self) -> Option<&Value> {
        match &self.0 {
            Repr::Evidence(value) => Some(value),
            Repr::Plain(_) | Repr::Reasoned(_) => None,
        }
    }

    /// Whether there should be a value but is not.
    pub fn is_unscored(&self) -> bool {
        matches!(&self.0, Repr::Reasoned(both) if both.0.is_none())
    }

    /// Why the score is missing, or what explains its value.
    pub fn reason(&self) -> Option<&str> {
        match &self.0 {
            Repr::Plain(_) | Repr::Evidence(_) => None,
            Repr::Reasoned(both) => Some(&both.1),
        }
    }
}

impl From<f64> for Score {
    fn from(value: f64) -> Self {
        Self::value(value)
    }
}

impl From<bool> for Score {
    fn from(passed: bool) -> Self {
        Self::value(f64::from(u8::from(passed)))
    }
}

/// The scores of one row by name, in the order in which they were given.
///
/// A row has a handful of scores, so look-up is a scan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores(Vec<(ScoreName, Score)>);

impl Scores {
    /// The name of the evidence that holds the fields of an example by which figures are
    /// grouped. A row that has nothing else has no score.
    pub const FIELDS: &str = "fields";

    /// No scores.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a score; an earlier one of the same name is replaced in its place.
    pub fn set(&mut self, name: impl Into<ScoreName>, score: impl Into<Score>) {
        let (name, score) = (name.into(), score.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = score,
            None => self.0.push((name, score)),
        }
    }

    /// Takes over all scores of `other`; equal names are replaced.
    pub fn merge(&mut self, other: Self) {
        self.0.reserve_exact(other.0.len());
        for (name, score) in other.0 {
            self.set(name, score);
        }
    }

    /// The score of that name, unscored ones included.
    pub fn get(&self, name: &str) -> Option<&Score> {
        self.0
            .iter()
            .find(|(known, _)| known.as_str() == name)
            .map(|(_, score)| score)
    }

    /// The value of that name; `None` when there is no such score or it is unscored.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Score::get)
    }

    /// All scores in order.
    pub fn iter(&self) -> impl Iterator<Item = (&ScoreName, &Score)> {
        self.0.iter().map(|(name, score)| (name, score))
    }

    /// Those without a value, with their reasons.
    pub fn unscored(&self) -> impl Iterator<Item = (&ScoreName, &str)> {
        self.iter()
            .filter(|(_, score)| score.is_unscored())
            .map(|(name, score)| (name, score.reason().unwrap_or_default()))
    }

    /// Whether there is no score at all.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(name, _)| name.as_str() == Self::FIELDS)
    }

    /// Gives back spare capacity; rows are kept by the million.
    pub fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Values by name as a JSON map; unscored ones are left out.
    pub fn to_json(&self) -> Map<String, Value> {
        self.iter()
            .filter_map(|(name, score)| Some((name.to_string(), Value::from(score.get()?))))
            .collect()
    }
}

impl<N: Into<ScoreName>, S: Into<Score>> FromIterator<(N, S)> for Scores {
    fn from_iter<I: IntoIterator<Item = (N, S)>>(iter: I) -> Self {
        let mut scores = Self::new();
        for (name, score) in iter {
            scores.set(name, score);
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_two_words() {
        assert_eq!(size_of::<Score>(), 16);
    }

    #[test]
    fn unscored_is_not_zero() {
        let score = Score::unscored("judge timed out");
        assert_eq!(score.get(), None);
        assert_eq!(score.reason(), Some("judge timed out"));
        let wrong = Score::value(0.0).because("no letter found");
        assert_eq!(wrong.get(), Some(0.0));
        assert_eq!(wrong.reason(), Some("no letter found"));
    }

    #[test]
    fn evidence_is_neither_a_value_nor_missing() {
        let pair = Value::from(vec![1, 0]);
        let scores: Scores = [("task", Score::evidence(pair.clone()))]
            .into_iter()
            .collect();
        let score = scores.get("task").expect("set");
        assert_eq!((score.get(), score.reason()), (None, None));
        assert_eq!(score.as_evidence(), Some(&pair));
        assert_eq!(scores.unscored().count(), 0);
        assert!(scores.to_json().is_empty() && !scores.is_empty());
    }

    #[test]
    fn later_scores_replace_equal_names_in_place() {
        let mut scores: Scores = [("f1", 0.5), ("recall", 1.0)].into_iter().collect();
        scores.merge([("extra", 2.0), ("f1", 0.25)].into_iter().collect());
        let names: Vec<_> = scores.iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(names, ["f1", "recall", "extra"]);
        assert_eq!(scores.value("f1"), Some(0.25));
        assert_eq!(scores.value("nothing"), None);
    }
}
