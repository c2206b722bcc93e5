//! RowCosts: what rows cost, in money.

use std::sync::Arc;

use super::row_sum::{RowSum, RowValues, of_rows};
use super::sample::attempts;
use super::{Metric, Passing, mean_measurement};
use crate::model::{EvalRow, Measurement, Summary, Unit};
use crate::price::{Cost, RowPrices};

/// `cost`: what all rows cost together, by a price book; `mean_cost`: the mean of a row, with error
/// and interval; `cost_per_pass`: the total over the number of passing rows.
///
/// Where rows have no price, or may have cost more than is known, there is no `cost`:
/// `cost_at_least` is what is known, and `unpriced_rows` how many rows that is about. Where no row has
/// a price there is nothing at all.
#[derive(Debug, Clone)]
pub struct RowCosts {
    prices: Arc<RowPrices>,
    passing: Option<(f64, String)>,
}

impl RowCosts {
    /// All names that it may give.
    pub const NAMES: [&'static str; 5] = [
        "cost",
        "mean_cost",
        "cost_per_pass",
        "cost_at_least",
        "unpriced_rows",
    ];

    /// By these prices.
    pub fn new(prices: Arc<RowPrices>) -> Self {
        Self {
            prices,
            passing: None,
        }
    }

    /// Also per passing row: one whose `score_field` is at or above `threshold`.
    #[must_use]
    pub fn per_pass(mut self, threshold: f64, score_field: impl Into<String>) -> Self {
        self.passing = Some((threshold, score_field.into()));
        self
    }

    fn sum(&self) -> CostSum<'_> {
        CostSum {
            metric: self,
            n_rows: 0,
            total: Cost::NOTHING,
            unpriced: 0,
            values: RowValues::default(),
            passing: Passing::default(),
        }
    }

    /// Puts a total into a summary, in place of another one: with `rows` rows of which `unpriced` have
    /// no exact price.
    pub fn put(summary: &mut Summary, total: &Cost, rows: usize, unpriced: usize) {
        let of_rows = |value: Option<f64>, unit, n| Measurement {
            value,
            n: Some(n),
            unit,
            ..Measurement::default()
        };
        let exact = total.exact().map(|money| money.to_f64());
        summary.set("cost", of_rows(exact, Unit::Money, rows));
        if exact.is_none() {
            let least = Some(total.least.to_f64());
            summary.set(
                "cost_at_least",
                of_rows(least, Unit::Money, rows - unpriced.min(rows)),
            );
            summary.set(
                "unpriced_rows",
                of_rows(Some(unpriced as f64), Unit::Count, rows),
            );
        }
    }
}

impl Metric for RowCosts {
    fn name(&self) -> &str {
        "cost"
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        of_rows(Box::new(self.sum()), rows, attempts(rows).as_deref())
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(self.sum()))
    }
}

struct CostSum<'a> {
    metric: &'a RowCosts,
    n_rows: usize,
    total: Cost,
    unpriced: usize,
    values: RowValues,
    passing: Passing,
}

impl RowSum for CostSum<'_> {
    fn add(&mut self, row: &EvalRow) {
        let cost = self.metric.prices.cost(row);
        self.total += cost;
        match cost.exact() {
            Some(money) => self.values.push(money.to_f64(), self.n_rows),
            None => self.unpriced += 1,
        }
        self.n_rows += 1;
        if let Some((threshold, field)) = &self.metric.passing
            && let Some(value) = row.score(field)
        {
            self.passing.add(value, *threshold);
        }
    }

    fn finish(self: Box<Self>, attempts: Option<&[u32]>) -> Summary {
        let mut summary = Summary::new();
        if !self.total.is_priced {
            return summary;
        }
        RowCosts::put(&mut summary, &self.total, self.n_rows, self.unpriced);
        let mean = Measurement {
            unit: Unit::Money,
            ..mean_measurement(self.values.mean(attempts), self.n_rows)
        };
        summary.set("mean_cost", mean);
        if self.passing.n > 0 {
            let total = self.total.exact().map(|money| money.to_f64());
            let per_pass = |total: f64| match self.passing.passing {
                0 => f64::INFINITY,
                passing => total / passing as f64,
            };
            let measurement = Measurement {
                value: total.map(per_pass),
                n: Some(self.passing.n),
                unit: Unit::Money,
                ..Measurement::default()
            };
            summary.set("cost_per_pass", measurement);
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Reply, Scores, TokenUse};
    use crate::price::{BookFile, PriceBook};

    fn prices() -> Arc<RowPrices> {
        let text = "schema: 1\nmodels: [{id: m, input: 1, output: 2}]\n";
        let file = BookFile::parse(text, "p").expect("valid");
        let book = PriceBook::new(vec![file]).expect("one currency");
        Arc::new(RowPrices::new(book, PriceBook::default()))
    }

    fn row(id: usize, model: Option<&str>, score: f64) -> EvalRow {
        let scores: Scores = [("f1", score)].into_iter().collect();
        let mut row = EvalRow::new("s", id, scores, 0, 0);
        let tokens = TokenUse {
            prompt: Some(1_000_000 * (id as u64 + 1)),
            completion: Some(500_000),
            reported: true,
            ..TokenUse::default()
        };
        row.reply = Some(Box::new(Reply {
            tokens,
            model: model.map(Into::into),
            ..Reply::default()
        }));
        row
    }

    #[test]
    fn totals_means_and_what_a_pass_costs() {
        let metric = RowCosts::new(prices()).per_pass(0.7, "f1");
        let rows = [row(0, Some("m"), 1.0), row(1, Some("m"), 0.0)];
        let found = metric.compute(&rows);
        assert_eq!(found.value("cost"), Some(5.0));
        assert_eq!(found.value("mean_cost"), Some(2.5));
        assert_eq!(found.value("cost_per_pass"), Some(5.0));
        assert_eq!(found.get("unpriced_rows"), None);
        let none = metric.compute(&[row(0, Some("m"), 0.0)]);
        assert_eq!(none.value("cost_per_pass"), Some(f64::INFINITY));
    }

    #[test]
    fn what_is_unknown_is_no_number_and_never_zero() {
        let metric = RowCosts::new(prices()).per_pass(0.7, "f1");
        let rows = [
            row(0, Some("m"), 1.0),
            row(1, Some("other"), 1.0),
            row(2, None, 1.0),
        ];
        let found = metric.compute(&rows);
        assert_eq!(found.value("cost"), None);
        assert_eq!(found.value("cost_at_least"), Some(2.0));
        assert_eq!(found.value("unpriced_rows"), Some(2.0));
        assert_eq!(found.value("mean_cost"), Some(2.0));
        assert_eq!(found.get("mean_cost").and_then(|one| one.n), Some(1));
        assert_eq!(found.value("cost_per_pass"), None);
        // Nothing known, nothing shown.
        assert_eq!(metric.compute(&rows[1..]), Summary::new());
        assert_eq!(metric.compute(&[]), Summary::new());
    }
}
