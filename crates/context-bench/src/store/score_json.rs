//! Scores as they lie in the store: JSON that ordinary tools can read.
//!
//! `{"f1": 1.0, "judge": null}` with the reasons apart, `{"judge": "no rating"}`.
//! An unscored entry is `null`, which SQL leaves out of averages by itself; so is
//! evidence, which stands among the reasons as `{"evidence": …}`. JSON has no
//! infinities; they are written as text.

use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::Damaged;
use crate::model::{Score, ScoreName, Scores};

/// The member of [`Evidence`].
const EVIDENCE: &str = "evidence";

/// A set of scores as the texts of its two columns.
#[derive(Debug, Clone)]
pub(crate) struct ScoreTexts {
    pub(super) values: String,
    pub(super) reasons: Option<String>,
}

impl ScoreTexts {
    pub(crate) fn of(scores: &Scores) -> Self {
        let mut values = Members::default();
        let mut reasons = Members::default();
        for (name, score) in scores.iter() {
            let name = name.as_str();
            values.put_value(name, score.get());
            if let Some(reason) = score.reason() {
                reasons.put(name, reason);
            } else if let Some(evidence) = score.as_evidence() {
                reasons.put(name, &Evidence { evidence });
            }
        }
        Self::from(values, reasons)
    }

    /// Of numbers, and of evidence that need not become a value first.
    pub(crate) fn with_evidence(
        numbers: &[(&str, f64)],
        name: &str,
        evidence: &impl Serialize,
    ) -> Self {
        let mut values = Members::default();
        let mut reasons = Members::default();
        for (name, number) in numbers {
            values.put_value(name, Some(*number));
        }
        values.put_value(name, None);
        reasons.put(name, &Evidence { evidence });
        Self::from(values, reasons)
    }

    /// How long the texts are.
    pub(super) fn bytes(&self) -> usize {
        self.values.len() + self.reasons.as_ref().map_or(0, String::len)
    }

    fn from(values: Members, reasons: Members) -> Self {
        let has_reasons = !reasons.0.is_empty();
        Self {
            values: values.finish(),
            reasons: has_reasons.then(|| reasons.finish()),
        }
    }
}

/// Evidence among the reasons.
#[derive(Serialize)]
struct Evidence<'a, T: ?Sized> {
    evidence: &'a T,
}

/// The members of a JSON map, as text.
#[derive(Default)]
struct Members(Vec<u8>);

impl Members {
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        // Memory never fails to be written to, and what is stored has a JSON form: text, finite
        // numbers, maps of values.
        let _ = serde_json::to_writer(&mut self.0, name);
        self.0.push(b':');
        let before = self.0.len();
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.truncate(before);
            self.0.extend_from_slice(b"null");
        }
    }

    fn put_value(&mut self, name: &str, value: Option<f64>) {
        match value {
            Some(value) if !value.is_finite() => self.put(name, &value.to_string()),
            value => self.put(name, &value),
        }
    }

    fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        // JSON is text.
        String::from_utf8(self.0).unwrap_or_default()
    }
}

/// Names of scores, each kept once however many rows have it.
#[derive(Default)]
pub(super) struct ScoreNames(Vec<ScoreName>);

impl ScoreNames {
    fn get(&mut self, name: &str) -> ScoreName {
        if let Some(known) = self.0.iter().find(|known| known.as_str() == name) {
            return known.clone();
        }
        let name = ScoreName::from(name);
        // A run has a handful of names. Whoever makes them up per row pays for it.
        if self.0.len() < 256 {
            self.0.push(name.clone());
        }
        name
    }

    /// The scores again.
    pub(super) fn read(&mut self, scores: &str, reasons: Option<&str>) -> Result<Scores, Damaged> {
        let mut deserializer = serde_json::Deserializer::from_str(scores);
        let mut scores = Values(self)
            .deserialize(&mut deserializer)
            .map_err(|_| Damaged)?;
        if let Some(reasons) = reasons {
            let reasons: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(reasons).map_err(|_| Damaged)?;
            for (name, mut reason) in reasons {
                let value = scores.get(&name).and_then(Score::get);
                let score = match (value, reason.as_str()) {
                    (Some(value), Some(reason)) => Score::value(value).because(reason),
                    (None, Some(reason)) => Score::unscored(reason),
                    (_, None) => match reason.get_mut(EVIDENCE) {
                        Some(evidence) => Score::evidence(evidence.take()),
                        None => return Err(Damaged),
                    },
                };
                scores.set(self.get(&name), score);
            }
        }
        scores.shrink();
        Ok(scores)
    }
}

/// Reads `{"name": value}` with shared names and without a map in between.
struct Values<'a>(&'a mut ScoreNames);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Scores;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scores, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Scores;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("scores by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scores, A::Error> {
        let mut scores = Scores::new();
        while let Some(name) = map.next_key_seed(Name(self.0))? {
            scores.set(name, map.next_value::<Entry>()?.0);
        }
        Ok(scores)
    }
}

/// Reads a name without making a copy of one that is known.
struct Name<'a>(&'a mut ScoreNames);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = ScoreName;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ScoreName, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = ScoreName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a score")
    }

    fn visit_str<E>(self, name: &str) -> Result<ScoreName, E> {
        Ok(self.0.get(name))
    }
}

/// One value: a number, text for what is not finite, `null` for unscored.
struct Entry(Score);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl Visitor<'_> for One {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a score")
            }

            fn visit_f64<E>(self, value: f64) -> Result<Entry, E> {
                Ok(Entry(Score::value(value)))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Entry, E> {
                text.parse()
                    .map_err(E::custom)
                    .and_then(|value| self.visit_f64(value))
            }

            fn visit_unit<E>(self) -> Result<Entry, E> {
                Ok(Entry(Score::unscored("")))
            }
        }
        deserializer.deserialize_any(One)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_survive_with_order_and_reasons() {
        let mut scores = Scores::new();
        scores.set("f1", 0.857_142_857_142_857_1);
        scores.set("judge \"x\"", Score::unscored("no \"rating\""));
        scores.set("pass", Score::value(0.0).because("é"));
        scores.set("huge", f64::INFINITY);
        scores.set("empty", Score::unscored(""));
        scores.set(
            "task",
            Score::evidence(serde_json::json!({"f1": [1, "é", 0.1]})),
        );
        scores.set("nothing", Score::evidence(serde_json::Value::Null));
        for scores in [scores, Scores::new()] {
            let texts = ScoreTexts::of(&scores);
            let read = ScoreNames::default().read(&texts.values, texts.reasons.as_deref());
            assert_eq!(read, Ok(scores), "{}", texts.values);
        }
    }

    #[test]
    fn evidence_is_the_same_whether_it_was_a_value_or_not() {
        #[derive(Serialize)]
        struct Seen<'a> {
            text: &'a str,
            at: Option<f64>,
        }
        let seen = Seen {
            text: "é \"x\"",
            at: Some(1.0),
        };
        let texts = ScoreTexts::with_evidence(&[("n", 27.0), ("m", 0.5)], "seen", &seen);
        let mut scores: Scores = [("n", 27.0), ("m", 0.5)].into_iter().collect();
        let value = serde_json::to_value(&seen).expect("a value");
        scores.set("seen", Score::evidence(value));
        let same = ScoreTexts::of(&scores);
        assert_eq!(
            (&texts.values, &texts.reasons),
            (&same.values, &same.reasons)
        );
        let read = ScoreNames::default().read(&texts.values, texts.reasons.as_deref());
        assert_eq!(read, Ok(scores));
    }

    #[test]
    fn plain_scores_are_plain_json() {
        let texts = ScoreTexts::of(&[("f1", 1.0), ("recall", 0.5)].into_iter().collect());
        assert_eq!(texts.values, r#"{"f1":1.0,"recall":0.5}"#);
        assert_eq!(texts.reasons, None);
    }

    #[test]
    fn nonsense_is_damage() {
        for text in ["", "{", "[]", "{\"f1\":true}", "{\"f1\":\"x\"}", "3"] {
            assert_eq!(
                ScoreNames::default().read(text, None),
                Err(Damaged),
                "{text}"
            );
        }
    }
}
