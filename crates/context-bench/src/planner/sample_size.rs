//! How many examples a verdict takes, before they are paid for: from what is expected, or from a
//! stored pilot run.

use serde::Serialize;

use super::PlanError;
use crate::aligned::{mark, rows_of_all};
use crate::model::EvalRow;
use crate::result::EvalResult;
use crate::stats::{Discordance, PairedDifferences, SampleSize, StatsError};

/// What is to be shown, and what is known of differences.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeQuestion {
    /// How much may be lost.
    pub margin: f64,
    /// The true difference that is expected.
    pub expected: f64,
    /// The probability with which the run is to decide.
    pub power: f64,
}

/// How much two systems differ from example to example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// The share of examples that only one of them gets right.
    Discordance(f64),
    /// The standard deviation of paired differences.
    Deviation(f64),
}

/// How many examples it takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExamplesNeeded {
    /// The system of a pilot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The dataset of a pilot run; `None` for all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Examples of the pilot run that both systems have a score for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pilot: Option<usize>,
    /// What it is computed from.
    pub spread: Spread,
    /// Examples needed for the margin and power that were asked about; `None` when no number
    /// suffices, because the expected loss is the margin or more.
    pub examples: Option<u64>,
    /// The same for other margins and powers.
    pub table: Vec<SizeCell>,
}

/// A margin, a power, and how many examples they take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizeCell {
    /// How much may be lost.
    pub margin: f64,
    /// The probability with which it is shown.
    pub power: f64,
    /// Examples needed; `None` when no number suffices.
    pub examples: Option<u64>,
}

impl SizeQuestion {
    /// How many examples a spread takes.
    ///
    /// # Errors
    ///
    /// When a number means nothing, such as a margin of 0.
    pub fn needed(&self, spread: Spread) -> Result<ExamplesNeeded, PlanError> {
        let mut powers = vec![0.8, 0.9, 0.95];
        if !powers.contains(&self.power) {
            powers.push(self.power);
            powers.sort_by(f64::total_cmp);
        }
        let mut table = Vec::new();
        for part in [0.5, 1.0, 2.0, 4.0] {
            for power in &powers {
                let (margin, power) = (self.margin * part, *power);
                table.push(SizeCell {
                    margin,
                    power,
                    examples: self.count(spread, margin, power)?,
                });
            }
        }
        Ok(ExamplesNeeded {
            system: None,
            dataset: None,
            pilot: None,
            spread,
            examples: self.count(spread, self.margin, self.power)?,
            table,
        })
    }

    fn count(&self, spread: Spread, margin: f64, power: f64) -> Result<Option<u64>, PlanError> {
        let size = SampleSize {
            expected: self.expected,
            power,
            ..SampleSize::new(margin)
        };
        let found = match spread {
            Spread::Discordance(share) => size.for_discordance(share),
            Spread::Deviation(deviation) => size.for_deviation(deviation),
        };
        found.map_err(|error| unfit(&error))
    }

    /// How many examples each system of a pilot run takes beside its baseline, over everything and for
    /// each dataset.
    ///
    /// # Errors
    ///
    /// When the run has no two systems with scores.
    pub fn from_pilot(&self, pilot: &EvalResult) -> Result<Vec<ExamplesNeeded>, PlanError> {
        let field = pilot.measures.score_field.as_deref();
        let (Some(baseline), Some(field)) = (pilot.baseline(), field) else {
            return Err(no_pairs());
        };
        let mut found = Vec::new();
        for system in pilot.summary.keys().filter(|name| *name != baseline) {
            let rows = [pilot.rows_of(baseline), pilot.rows_of(system)];
            let pairs = rows_of_all(&rows, |row| row.score(field).is_some());
            let mut tags: Vec<&str> = pairs.iter().map(|pair| &*pair[0].dataset).collect();
            tags.sort_unstable();
            tags.dedup();
            let mut parts = vec![None];
            if tags.len() > 1 {
                parts.extend(tags.into_iter().map(Some));
            }
            for tag in parts {
                let own = |pair: &&Vec<&EvalRow>| tag.is_none_or(|tag| *pair[0].dataset == *tag);
                let own: Vec<&Vec<&EvalRow>> = pairs.iter().filter(own).collect();
                let Some(spread) = spread(&own, field) else {
                    continue;
                };
                found.push(ExamplesNeeded {
                    system: Some(system.clone()),
                    dataset: tag.map(str::to_owned),
                    pilot: Some(own.len()),
                    ..self.needed(spread)?
                });
            }
        }
        match found.is_empty() {
            true => Err(no_pairs()),
            false => Ok(found),
        }
    }
}

/// How much the rows of pairs differ; `None` of fewer than two pairs.
fn spread(pairs: &[&Vec<&EvalRow>], field: &str) -> Option<Spread> {
    let scores = |at: usize| pairs.iter().filter_map(move |pair| pair[at].score(field));
    let values: Vec<f64> = scores(1)
        .zip(scores(0))
        .map(|(new, old)| new - old)
        .collect();
    let marks: Vec<_> = pairs.iter().map(|pair| mark(pair[0])).collect();
    let n = values.len();
    let is_binary = scores(0)
        .chain(scores(1))
        .all(|score| score == 0.0 || score == 1.0);
    let mean = PairedDifferences::new(values)
        .and_then(|made| made.clustered_by(&marks))
        .ok()?
        .mean();
    if n < 2 {
        return None;
    }
    if is_binary && mean.clusters == n {
        let passed = scores(0)
            .zip(scores(1))
            .map(|(old, new)| (old == 1.0, new == 1.0));
        let counts = Discordance::count(passed);
        // One imagined example that differs: a pilot that shows none does not rule them out.
        let differ = (counts.gained + counts.lost) as f64 + 1.0;
        return Some(Spread::Discordance((differ / (n as f64 + 1.0)).min(1.0)));
    }
    // With clusters the deviation is that of as many examples on their own.
    let deviation = mean.stderr? * (n as f64).sqrt();
    if deviation > 0.0 {
        return Some(Spread::Deviation(deviation));
    }
    // One imagined example here too, on which one system has everything and the other nothing.
    let largest = scores(0).chain(scores(1)).map(f64::abs).fold(0.0, f64::max);
    let largest = if largest > 0.0 { largest } else { 1.0 };
    Some(Spread::Deviation(largest / (n as f64 + 1.0).sqrt()))
}

fn unfit(error: &StatsError) -> PlanError {
    PlanError::new(error.to_string()).with_hint(
        "a margin of 0.02 is two points; a discordance of 0.1 means that the systems differ on one \
         example of ten",
    )
}

fn no_pairs() -> PlanError {
    PlanError::new("the pilot run has no two systems with scores for the same examples")
        .with_hint("run the baseline and the system together, over 50 examples or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        let question = SizeQuestion {
            margin: 0.02,
            expected: 0.0,
            power: 0.8,
        };
        let found = question.needed(Spread::Discordance(0.1)).unwrap();
        // (1.959964 + 0.841621)² · 0.1 / 0.02².
        assert_eq!(found.examples, Some(1963));
        let at = |margin: f64, power: f64| {
            let mut cells = found.table.iter();
            let same =
                |cell: &&SizeCell| (cell.margin - margin).abs() < 1e-12 && cell.power == power;
            cells.find(same).unwrap().examples.unwrap()
        };
        assert_eq!(at(0.02, 0.8), 1963);
        assert!(at(0.04, 0.8) < at(0.02, 0.8) && at(0.02, 0.95) > at(0.02, 0.9));
        let loses = SizeQuestion {
            expected: -0.02,
            ..question
        };
        assert_eq!(
            loses.needed(Spread::Discordance(0.1)).unwrap().examples,
            None
        );
        assert!(question.needed(Spread::Discordance(1.5)).is_err());
    }
}
