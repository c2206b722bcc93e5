//! FrontProbability: how sure it is that nobody beats a system on quality, tokens and latency.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::sample::numbered_attempts;
use super::token_means::tokens;
use super::{ComparedSystem, Comparison};
use crate::model::{EvalRow, Measurement, Summary, Unit};
use crate::price::RowPrices;
use crate::stats::{Contender, Resampling, SweepExamples, front_probabilities};

/// How much work resampling may be: rows times columns times resamples.
const MAX_WORK: usize = 600_000_000;

/// `front_probability`: the share of resamples of the examples in which no other system is at least
/// as good in quality, cost and latency, and better in one. Cost is money where it is known of every
/// row, else prompt tokens.
///
/// Over the examples that every system has a score for. Tokens count where all of them are known and
/// of one kind (reported or counted), latency where no answer came from a store.
#[derive(Debug, Clone)]
pub struct FrontProbability {
    score_field: String,
    prices: Option<Arc<RowPrices>>,
}

impl FrontProbability {
    /// With that score as quality.
    pub fn of(score_field: impl Into<String>) -> Self {
        Self {
            score_field: score_field.into(),
            prices: None,
        }
    }

    /// With these prices of what rows cost.
    #[must_use]
    pub fn priced_by(mut self, prices: Option<Arc<RowPrices>>) -> Self {
        self.prices = prices;
        self
    }

    /// What rows cost, where that is known of all of them.
    fn money(&self, columns: &[Vec<&EvalRow>]) -> Option<Vec<Vec<f64>>> {
        let prices = self.prices.as_ref()?;
        let mut is_priced = false;
        let mut cost = |row: &&EvalRow| {
            let cost = prices.cost(row);
            is_priced |= cost.is_priced;
            cost.exact().map(|money| money.to_f64())
        };
        let mut found = Vec::with_capacity(columns.len());
        for rows in columns {
            found.push(rows.iter().map(&mut cost).collect::<Option<Vec<f64>>>()?);
        }
        is_priced.then_some(found)
    }
}

impl Comparison for FrontProbability {
    fn name(&self) -> &str {
        "front_probability"
    }

    fn compare(&self, systems: &[ComparedSystem<'_>]) -> IndexMap<String, Summary> {
        let found = self.probabilities(systems);
        let n = found.as_ref().map_or(0, |found| found.0);
        let of = |at: usize| found.as_ref().map(|found| found.1[at]);
        let each = systems.iter().enumerate().map(|(at, one)| {
            let measurement = Measurement {
                value: of(at),
                unit: Unit::Share,
                n: Some(n),
                ..Measurement::default()
            };
            let summary = Summary::new().with("front_probability", measurement);
            (one.name.to_owned(), summary)
        });
        each.collect()
    }
}

impl FrontProbability {
    /// How many examples all have, and the probability of each system.
    fn probabilities(&self, systems: &[ComparedSystem<'_>]) -> Option<(usize, Vec<f64>)> {
        let (first, others) = systems
            .split_first()
            .filter(|(_, others)| !others.is_empty())?;
        let scored = |row: &EvalRow| row.score(&self.score_field).is_some();
        let known: Vec<HashMap<_, &EvalRow>> = others
            .iter()
            .map(|one| numbered_attempts(one.rows).collect())
            .collect();
        let mut columns: Vec<Vec<&EvalRow>> = vec![Vec::new(); systems.len()];
        for (attempt, row) in numbered_attempts(first.rows).filter(|(_, row)| scored(row)) {
            let rest: Option<Vec<&EvalRow>> = known
                .iter()
                .map(|known| known.get(&attempt).copied().filter(|row| scored(row)))
                .collect();
            let Some(rest) = rest else { continue };
            for (column, row) in columns.iter_mut().zip(std::iter::once(row).chain(rest)) {
                column.push(row);
            }
        }
        let all = || columns.iter().flatten();
        let n = columns.first()?.len();
        let marks: Vec<_> = columns[0]
            .iter()
            .map(|row| {
                let own = row.conversation().is_none().then_some(&row.example_id);
                (&*row.dataset, row.conversation(), own)
            })
            .collect();
        let examples = SweepExamples::clustered_by(&marks).ok()?;
        let prompt = |row: &EvalRow| tokens(row).and_then(|tokens| tokens.prompt);
        let reported = |row: &EvalRow| tokens(row).is_some_and(|tokens| tokens.reported);
        let kind = all().next().map(|row| reported(row))?;
        let has_tokens = all().all(|row| prompt(row).is_some() && reported(row) == kind);
        let has_latency = all().all(|row| !row.cached);
        let mut money = self.money(&columns).map(Vec::into_iter);
        let contender = |rows: &Vec<&EvalRow>| {
            let mut costs: Vec<Vec<f64>> = Vec::new();
            if let Some(money) = &mut money {
                costs.extend(money.next());
            } else if has_tokens {
                let tokens = rows.iter().map(|row| prompt(row).unwrap_or(0) as f64);
                costs.push(tokens.collect());
            }
            if has_latency {
                costs.push(rows.iter().map(|row| row.latency).collect());
            }
            let quality = rows.iter().filter_map(|row| row.score(&self.score_field));
            Contender {
                quality: quality.collect(),
                costs,
            }
        };
        let contenders: Vec<Contender> = columns.iter().map(contender).collect();
        let work = n * systems.len() * 3;
        let resampling = Resampling {
            resamples: (MAX_WORK / work.max(1)).clamp(100, 2000),
            ..Resampling::default()
        };
        let found = front_probabilities(&examples, &contenders, &resampling).ok()?;
        Some((n, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Reply, Score, Scores, TokenUse};

    fn rows(n: usize, right: usize, prompt: u64, latency: f64) -> Vec<EvalRow> {
        let row = |id: usize| {
            let score = Score::value(f64::from(u8::from(id % 10 < right)));
            let scores: Scores = [("s", score)].into_iter().collect();
            let mut row = EvalRow::new("x", id, scores, 0, 0);
            row.latency = latency;
            row.reply = Some(Box::new(Reply {
                tokens: TokenUse {
                    prompt: Some(prompt),
                    ..TokenUse::default()
                },
                ..Reply::default()
            }));
            row
        };
        (0..n).map(row).collect()
    }

    fn found(systems: &[Vec<EvalRow>]) -> Vec<Option<f64>> {
        let names = ["a", "b", "c"];
        let summary = Summary::new();
        let compared: Vec<ComparedSystem<'_>> = systems
            .iter()
            .zip(names)
            .map(|(rows, name)| ComparedSystem {
                name,
                rows,
                summary: &summary,
            })
            .collect();
        let found = FrontProbability::of("s").compare(&compared);
        found
            .values()
            .map(|one| one.value("front_probability"))
            .collect()
    }

    #[test]
    fn who_is_beaten_is_not_on_the_front_and_who_is_cheaper_is() {
        // The second is worse, dearer and slower; the third worse and cheaper.
        let systems = [
            rows(60, 8, 100, 1.0),
            rows(60, 3, 200, 2.0),
            rows(60, 3, 10, 1.0),
        ];
        assert_eq!(found(&systems), [Some(1.0), Some(0.0), Some(1.0)]);
    }

    #[test]
    fn money_counts_where_it_is_known_of_all() {
        use crate::price::{BookFile, PriceBook};
        // The second has fewer tokens of a dearer model.
        let named = |model: &str, prompt: u64| {
            let mut rows = rows(30, 8, prompt, 1.0);
            for row in &mut rows {
                let reply = row.reply.as_deref_mut().expect("a reply");
                reply.model = Some(model.into());
                reply.tokens.completion = Some(1);
                reply.tokens.reported = true;
            }
            rows
        };
        let text =
            "schema: 1\nmodels: [{id: m, input: 1, output: 1}, {id: dear, input: 9, output: 1}]";
        let file = BookFile::parse(text, "p").expect("valid");
        let book = PriceBook::new(vec![file]).expect("one currency");
        let prices = Arc::new(RowPrices::new(book, PriceBook::default()));
        let front = |systems: [Vec<EvalRow>; 2], prices: Option<Arc<RowPrices>>| {
            let summary = Summary::new();
            let names = ["a", "b"];
            let compared: Vec<ComparedSystem<'_>> = systems
                .iter()
                .zip(names)
                .map(|(rows, name)| ComparedSystem {
                    name,
                    rows,
                    summary: &summary,
                })
                .collect();
            let found = FrontProbability::of("s")
                .priced_by(prices)
                .compare(&compared);
            let found = found.values().map(|one| one.value("front_probability"));
            found.collect::<Vec<_>>()
        };
        let known = || [named("m", 100), named("dear", 50)];
        assert_eq!(front(known(), None), [Some(0.0), Some(1.0)]);
        assert_eq!(
            front(known(), Some(Arc::clone(&prices))),
            [Some(1.0), Some(0.0)]
        );
        let unknown = [named("m", 100), named("unheard", 50)];
        assert_eq!(front(unknown, Some(prices)), [Some(0.0), Some(1.0)]);
    }

    #[test]
    fn without_pairs_there_is_no_probability() {
        assert_eq!(found(&[rows(5, 8, 1, 1.0)]), [None]);
        assert_eq!(found(&[rows(5, 8, 1, 1.0), Vec::new()]), [None, None]);
        // Stored answers have no latency; tokens still count.
        let mut cached = rows(30, 8, 100, 9.0);
        cached.iter_mut().for_each(|row| row.cached = true);
        let systems = [cached, rows(30, 8, 101, 1.0)];
        assert_eq!(found(&systems), [Some(1.0), Some(0.0)]);
    }
}
