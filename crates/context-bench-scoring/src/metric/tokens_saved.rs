//! TokensSaved: how many prompt tokens a system spares its model.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::token_means::tokens;
use super::{ComparedSystem, Comparison};
use crate::model::{EvalRow, ExampleId, Measurement, Summary, Unit};

/// `tokens_saved` = 1 − Σ prompt tokens / Σ prompt tokens of the baseline, over the
/// examples of which both are known. Negative when a system sends more.
///
/// The baseline is the first system, or the one that is named. Tokens that endpoints
/// report are compared with none of our own count: they are other tokens. A system
/// without an endpoint is compared with what it was given, unless a baseline is named.
#[derive(Debug, Clone, Default)]
pub struct TokensSaved {
    baseline: Option<String>,
}

impl TokensSaved {
    /// Compares with this system.
    pub fn against(baseline: impl Into<String>) -> Self {
        Self {
            baseline: Some(baseline.into()),
        }
    }
}

impl Comparison for TokensSaved {
    fn name(&self) -> &str {
        "tokens_saved"
    }

    fn compare(&self, systems: &[ComparedSystem<'_>]) -> IndexMap<String, Summary> {
        let named = self.baseline.as_deref();
        let baseline = match named {
            Some(name) => systems.iter().find(|one| one.name == name),
            None => systems.first(),
        };
        // A system that is compared only with itself says nothing.
        let known = baseline
            .filter(|_| systems.len() > 1)
            .map(|one| prompts(one.rows));
        let saved = |one: &ComparedSystem<'_>| {
            let is_counted = one.rows.iter().filter_map(tokens).any(|t| !t.reported);
            let sums = match (&known, is_counted && named.is_none()) {
                (_, true) => given(one.rows),
                (Some(known), false) => paired(one.rows, known),
                (None, false) => Sums::default(),
            };
            sums.saved()
        };
        systems
            .iter()
            .map(|one| {
                let summary = Summary::new().with("tokens_saved", saved(one));
                (one.name.to_owned(), summary)
            })
            .collect()
    }
}

/// Prompt tokens of a system and of what it is compared with.
#[derive(Default)]
struct Sums {
    n: usize,
    own: u64,
    other: u64,
}

impl Sums {
    fn add(&mut self, own: u64, other: u64) {
        self.n += 1;
        self.own += own;
        self.other += other;
    }

    fn saved(&self) -> Measurement {
        let share = 1.0 - self.own as f64 / self.other as f64;
        Measurement {
            value: (self.other > 0).then_some(share),
            unit: Unit::Share,
            n: Some(self.n),
            ..Measurement::default()
        }
    }
}

/// An attempt at an example: its dataset, its id, and the how manieth it is.
type Attempt<'a> = (&'a str, &'a ExampleId, u32);

/// All rows with their attempts.
fn attempts(rows: &[EvalRow]) -> impl Iterator<Item = (Attempt<'_>, &EvalRow)> {
    let mut seen: HashMap<(&str, &ExampleId), u32> = HashMap::with_capacity(rows.len());
    rows.iter().map(move |row| {
        let example = (&*row.dataset, &row.example_id);
        let number = seen.entry(example).or_default();
        *number += 1;
        ((example.0, example.1, *number), row)
    })
}

/// The prompt tokens of each attempt, and whether they were reported.
fn prompts(rows: &[EvalRow]) -> HashMap<Attempt<'_>, (u64, bool)> {
    let known = attempts(rows).filter_map(|(attempt, row)| {
        let tokens = tokens(row)?;
        Some((attempt, (tokens.prompt?, tokens.reported)))
    });
    known.collect()
}

fn paired(rows: &[EvalRow], baseline: &HashMap<Attempt<'_>, (u64, bool)>) -> Sums {
    let mut sums = Sums::default();
    for (attempt, row) in attempts(rows) {
        let own = tokens(row).and_then(|tokens| Some((tokens.prompt?, tokens.reported)));
        if let (Some((own, reported)), Some((other, is_same))) = (own, baseline.get(&attempt))
            && reported == *is_same
        {
            sums.add(own, *other);
        }
    }
    sums
}

fn given(rows: &[EvalRow]) -> Sums {
    let mut sums = Sums::default();
    for tokens in rows.iter().filter_map(tokens) {
        if let (Some(own), Some(given)) = (tokens.prompt, tokens.given) {
            sums.add(own, given);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Reply, Scores, TokenUse};

    fn row(id: usize, given: u64, prompt: Option<u64>, reported: bool) -> EvalRow {
        let mut row = EvalRow::new("s", id, Scores::new(), 0, 0);
        let tokens = TokenUse {
            given: Some(given),
            prompt,
            reported,
            ..TokenUse::default()
        };
        row.reply = Some(Box::new(Reply {
            tokens,
            ..Reply::default()
        }));
        row
    }

    fn saved(comparison: &TokensSaved, systems: &[(&str, Vec<EvalRow>)]) -> Vec<Option<f64>> {
        let summary = Summary::new();
        let compared: Vec<ComparedSystem<'_>> = systems
            .iter()
            .map(|(name, rows)| ComparedSystem {
                name,
                rows,
                summary: &summary,
            })
            .collect();
        let compared = comparison.compare(&compared);
        let values = compared.values().map(|one| one.value("tokens_saved"));
        values.collect()
    }

    #[test]
    fn endpoints_are_compared_with_the_first_over_what_both_know() {
        let direct = vec![
            row(1, 9, Some(100), true),
            row(2, 9, Some(100), true),
            row(3, 9, None, true),
        ];
        // The third has no partner, and the second no count.
        let proxy = vec![
            row(1, 9, Some(60), true),
            row(2, 9, None, true),
            row(3, 9, Some(1), true),
        ];
        let systems = [("direct", direct), ("proxy", proxy)];
        assert_eq!(
            saved(&TokensSaved::default(), &systems),
            [Some(0.0), Some(0.4)]
        );
        let other = TokensSaved::against("proxy");
        let expected = Some(1.0 - 100.0 / 60.0);
        assert_eq!(saved(&other, &systems), [expected, Some(0.0)]);
    }

    #[test]
    fn nothing_is_saved_where_nothing_is_known() {
        let alone = [("direct", vec![row(1, 9, Some(100), true)])];
        assert_eq!(saved(&TokensSaved::default(), &alone), [None]);
        let silent = [
            ("a", vec![row(1, 9, None, true)]),
            ("b", vec![row(1, 9, None, true)]),
        ];
        assert_eq!(saved(&TokensSaved::default(), &silent), [None, None]);
    }

    #[test]
    fn a_layer_is_compared_with_what_it_was_given() {
        let layers = [
            ("head", vec![row(1, 10, Some(5), false)]),
            ("all", vec![row(1, 10, Some(10), false)]),
        ];
        let usual = TokensSaved::default();
        assert_eq!(saved(&usual, &layers), [Some(0.5), Some(0.0)]);
        assert_eq!(saved(&usual, &layers[..1]), [Some(0.5)]);
        // Our tokens are not those of an endpoint.
        let mixed = [
            ("direct", vec![row(1, 10, Some(40), true)]),
            ("head", vec![row(1, 10, Some(5), false)]),
        ];
        assert_eq!(saved(&usual, &mixed), [Some(0.0), Some(0.5)]);
        let named = TokensSaved::against("direct");
        assert_eq!(saved(&named, &mixed), [Some(0.0), None]);
    }

    #[test]
    fn repeats_are_paired_one_by_one() {
        let direct = vec![row(1, 9, Some(10), true), row(1, 9, Some(30), true)];
        let proxy = vec![row(1, 9, Some(10), true), row(1, 9, Some(10), true)];
        let systems = [("direct", direct), ("proxy", proxy)];
        assert_eq!(
            saved(&TokensSaved::default(), &systems),
            [Some(0.0), Some(0.5)]
        );
    }
}
