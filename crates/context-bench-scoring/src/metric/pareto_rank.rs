//! ParetoRank: which systems nobody beats on both quality and cost.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::token_means::tokens;
use super::{ComparedSystem, Comparison, TOKENS_PER_PASS};
use crate::model::{EvalRow, Measurement, Summary, Unit};

/// `pareto_rank` = 1 + the number of systems that dominate this one.
///
/// B dominates A when it is at least as good and at most as costly, and better
/// in one of the two. Missing quality counts as 0, missing cost as infinite.
#[derive(Debug, Clone)]
pub struct ParetoRank {
    quality_field: String,
    cost_field: String,
}

impl ParetoRank {
    /// Ranks by those two keys of the summaries.
    pub fn new(quality_field: impl Into<String>, cost_field: impl Into<String>) -> Self {
        Self {
            quality_field: quality_field.into(),
            cost_field: cost_field.into(),
        }
    }

    /// The rank of each system.
    pub fn rank_systems(&self, summaries: &IndexMap<String, Summary>) -> IndexMap<String, usize> {
        let points: Vec<(f64, f64)> = summaries
            .values()
            .map(|summary| {
                let value = |field: &str| summary.value(field).filter(|value| !value.is_nan());
                let quality = value(&self.quality_field).unwrap_or(0.0);
                let cost = value(&self.cost_field).unwrap_or(f64::INFINITY);
                (quality, cost)
            })
            .collect();
        let dominates =
            |b: &(f64, f64), a: &(f64, f64)| b.0 >= a.0 && b.1 <= a.1 && (b.0 > a.0 || b.1 < a.1);
        summaries
            .keys()
            .zip(&points)
            .map(|(name, point)| {
                let better = points
                    .iter()
                    .filter(|other| dominates(other, point))
                    .count();
                (name.clone(), 1 + better)
            })
            .collect()
    }
}

/// Whether the tokens of a system are reported; `None` when none are known.
fn reports_tokens(rows: &[EvalRow]) -> Option<bool> {
    let known = rows.iter().filter_map(tokens);
    let mut known = known.filter(|tokens| tokens.prompt.is_some());
    known.next().map(|tokens| tokens.reported)
}

impl Default for ParetoRank {
    fn default() -> Self {
        Self::new("mean_score", "cost_of_pass")
    }
}

impl Comparison for ParetoRank {
    fn name(&self) -> &str {
        "pareto_rank"
    }

    fn needs_rows(&self) -> bool {
        false
    }

    fn compare(&self, systems: &[ComparedSystem<'_>]) -> IndexMap<String, Summary> {
        // A number that was looked for and not found is not a bad one: such a system is
        // not ranked, and pushes no other down.
        let is_missing = |summary: &Summary, field: &str| {
            summary.get(field).is_some_and(|one| one.value.is_none())
        };
        let fields = [&*self.quality_field, &*self.cost_field];
        let ranked: IndexMap<String, Summary> = systems
            .iter()
            .filter(|one| !fields.iter().any(|field| is_missing(one.summary, field)))
            .map(|one| (one.name.to_owned(), one.summary.clone()))
            .collect();
        // Tokens that endpoints report and those counted here are not comparable.
        let is_ranked = |one: &&ComparedSystem<'_>| ranked.contains_key(one.name);
        let sources = systems.iter().filter(is_ranked);
        let sources: HashSet<bool> = sources.filter_map(|one| reports_tokens(one.rows)).collect();
        let is_mixed = self.cost_field == TOKENS_PER_PASS && sources.len() > 1;
        let ranks = match is_mixed {
            true => IndexMap::new(),
            false => self.rank_systems(&ranked),
        };
        let rank = |name: &str| match ranks.get(name) {
            Some(rank) => Measurement::new(*rank as f64, Unit::Rank),
            None => Measurement::missing(Unit::Rank),
        };
        systems
            .iter()
            .map(|one| {
                let summary = Summary::new().with("pareto_rank", rank(one.name));
                (one.name.to_owned(), summary)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Reply, Scores, TokenUse};

    #[test]
    fn reported_and_counted_tokens_are_not_ranked_together() {
        let rows = |reported: bool| {
            let mut row = EvalRow::new("s", 1_usize, Scores::new(), 0, 0);
            let tokens = TokenUse {
                prompt: Some(1),
                reported,
                ..TokenUse::default()
            };
            row.reply = Some(Box::new(Reply {
                tokens,
                ..Reply::default()
            }));
            vec![row]
        };
        let summary = Summary::new()
            .with("mean_score", 1.0)
            .with(TOKENS_PER_PASS, 10.0);
        let ranks = |reported: [bool; 2]| {
            let rows = reported.map(rows);
            let systems = ["a", "b"]
                .iter()
                .zip(&rows)
                .map(|(name, rows)| ComparedSystem {
                    name,
                    rows,
                    summary: &summary,
                });
            let compared = ParetoRank::new("mean_score", TOKENS_PER_PASS)
                .compare(&systems.collect::<Vec<_>>());
            let ranks = compared.values().map(|s| s.value("pareto_rank"));
            ranks.collect::<Vec<_>>()
        };
        assert_eq!(ranks([true, true]), [Some(1.0), Some(1.0)]);
        assert_eq!(ranks([true, false]), [None, None]);
    }

    #[test]
    fn a_dead_system_has_no_rank() {
        let summary = |quality: Option<f64>, cost: f64| {
            let quality = quality.map_or(Measurement::missing(Unit::Number), Measurement::from);
            Summary::new()
                .with("mean_score", quality)
                .with("cost_of_pass", cost)
        };
        let summaries = [
            ("good", summary(Some(0.9), 10.0)),
            ("dead", summary(None, 0.0)),
            ("bad", summary(Some(0.0), f64::INFINITY)),
        ];
        let compared: Vec<ComparedSystem<'_>> = summaries
            .iter()
            .map(|(name, summary)| ComparedSystem {
                name,
                rows: &[],
                summary,
            })
            .collect();
        let compared = ParetoRank::default().compare(&compared);
        let ranks: Vec<Option<f64>> = compared.values().map(|s| s.value("pareto_rank")).collect();
        assert_eq!(ranks, [Some(1.0), None, Some(2.0)]);
    }
}
