//! Scores as they lie in the store: JSON that ordinary tools can read.
//!
//! `{"f1": 1.0, "judge": null}` with the reasons apart, `{"judge": "no rating"}`.
//! An unscored entry is `null`, which SQL leaves out of averages by itself; so is
//! evidence, which stands among the reasons as `{"evidence": …}`. JSON has no
//! infinities; they are written as text.

use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::Damaged;
use crate::model::{Score, ScoreName, Scores};

/// What evidence is called among the reasons.
const EVIDENCE: &str = "evidence";

/// The two columns of a set of scores.
pub(super) struct ScoreColumns {
    pub(super) scores: String,
    pub(super) reasons: Option<String>,
}

impl ScoreColumns {
    pub(super) fn of(scores: &Scores) -> Self {
        let mut values = String::from("{");
        let mut reasons = String::new();
        for (name, score) in scores.iter() {
            if values.len() > 1 {
                values.push(',');
            }
            push_json(&mut values, name.as_str());
            values.push(':');
            match score.get() {
                None => values.push_str("null"),
                Some(value) if value.is_finite() => push_json(&mut values, &value),
                Some(value) => push_json(&mut values, &value.to_string()),
            }
            let evidence = score.as_evidence();
            if score.reason().is_some() || evidence.is_some() {
                reasons.push(if reasons.is_empty() { '{' } else { ',' });
                push_json(&mut reasons, name.as_str());
                reasons.push(':');
            }
            if let Some(reason) = score.reason() {
                push_json(&mut reasons, reason);
            } else if let Some(evidence) = evidence {
                push_json(&mut reasons, &serde_json::json!({ EVIDENCE: evidence }));
            }
        }
        values.push('}');
        if !reasons.is_empty() {
            reasons.push('}');
        }
        Self {
            scores: values,
            reasons: Some(reasons).filter(|reasons| !reasons.is_empty()),
        }
    }
}

fn push_json<T: serde::Serialize + ?Sized>(out: &mut String, value: &T) {
    // Text and finite numbers always have a JSON form.
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
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
            let columns = ScoreColumns::of(&scores);
            let read = ScoreNames::default().read(&columns.scores, columns.reasons.as_deref());
            assert_eq!(read, Ok(scores), "{}", columns.scores);
        }
    }

    #[test]
    fn plain_scores_are_plain_json() {
        let columns = ScoreColumns::of(&[("f1", 1.0), ("recall", 0.5)].into_iter().collect());
        assert_eq!(columns.scores, r#"{"f1":1.0,"recall":0.5}"#);
        assert_eq!(columns.reasons, None);
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
