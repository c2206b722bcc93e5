//! [`Measure`]: what is compared, and what a pair of rows says about it.

use context_bench_scoring::price::RowPrices;
use indexmap::IndexSet;

use super::MeasureKind;
use crate::model::{EvalRow, TokenUse};

/// The name of tokens on the wire.
pub(super) const UPSTREAM_TOKENS: &str = "upstream_tokens";

/// The name of money.
pub(super) const COST: &str = "cost";

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Measure {
    Score(String),
    PromptTokens,
    CompletionTokens,
    /// Of the requests that reached the provider, where a tap saw them.
    UpstreamTokens,
    Latency,
    /// What a row cost, by the prices of the comparison.
    Cost,
}

/// What a row says about a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Value(f64),
    /// There should be a value, but the call failed or the answer has no score.
    Missing,
    /// The measure does not apply to the row.
    Absent,
}

/// The costs that rows know, which are compared like scores.
const COSTS: [Measure; 3] = [
    Measure::PromptTokens,
    Measure::CompletionTokens,
    Measure::Latency,
];

/// The costs that rows of systems know: those on the wire where a tap saw them, and money where a
/// price book knows some of it.
pub(super) fn costs<'a>(
    mut rows: impl Iterator<Item = &'a EvalRow> + Clone,
    prices: Option<&RowPrices>,
) -> Vec<Measure> {
    let is_priced = |prices: &RowPrices| rows.clone().any(|row| prices.cost(row).is_priced);
    let money = prices.is_some_and(is_priced).then_some(Measure::Cost);
    let on_wire = rows.any(|row| upstream(row).is_some());
    let on_wire = on_wire.then_some(Measure::UpstreamTokens);
    COSTS.into_iter().chain(on_wire).chain(money).collect()
}

impl Measure {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Score(name) => name,
            Self::PromptTokens => "prompt_tokens",
            Self::CompletionTokens => "completion_tokens",
            Self::UpstreamTokens => UPSTREAM_TOKENS,
            Self::Latency => "latency",
            Self::Cost => COST,
        }
    }

    pub(super) fn kind(&self) -> MeasureKind {
        match self {
            Self::Score(_) => MeasureKind::Score,
            Self::PromptTokens | Self::CompletionTokens | Self::UpstreamTokens => {
                MeasureKind::Tokens
            }
            Self::Latency => MeasureKind::Seconds,
            Self::Cost => MeasureKind::Money,
        }
    }

    /// The values of a pair of rows, of baseline and system; `None` when the measure does not apply
    /// to it. Of costs only pairs count that are known on both sides.
    pub(super) fn values(
        &self,
        baseline: &EvalRow,
        system: &EvalRow,
        prices: Option<&RowPrices>,
    ) -> Option<(Option<f64>, Option<f64>)> {
        let money = |row: &EvalRow| Some(prices?.cost(row).exact()?.to_f64());
        let both = |old: Option<f64>, new: Option<f64>| Some((Some(old?), Some(new?)));
        match self {
            Self::Score(name) => match (score(baseline, name), score(system, name)) {
                (Side::Absent, _) | (_, Side::Absent) => None,
                (old, new) => Some((old.value(), new.value())),
            },
            Self::PromptTokens => tokens(baseline, system, |tokens| tokens.prompt),
            Self::CompletionTokens => tokens(baseline, system, |tokens| tokens.completion),
            Self::UpstreamTokens => both(upstream(baseline), upstream(system)),
            Self::Latency => both(seconds(baseline), seconds(system)),
            Self::Cost => both(money(baseline), money(system)),
        }
    }
}

impl Side {
    fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing | Self::Absent => None,
        }
    }
}

fn score(row: &EvalRow, name: &str) -> Side {
    match row.scores.get(name) {
        Some(score) if score.as_evidence().is_some() => Side::Absent,
        Some(score) => match score.get().filter(|value| value.is_finite()) {
            Some(value) => Side::Value(value),
            None => Side::Missing,
        },
        None if row.is_completed() => Side::Absent,
        None => Side::Missing,
    }
}

/// Tokens that an endpoint reported are not compared with those of our own count.
fn tokens(
    baseline: &EvalRow,
    system: &EvalRow,
    pick: fn(&TokenUse) -> Option<u64>,
) -> Option<(Option<f64>, Option<f64>)> {
    let used = |row: &EvalRow| {
        let reply = row.reply.as_deref().filter(|_| row.is_completed())?;
        Some((pick(&reply.tokens)? as f64, reply.tokens.reported))
    };
    let ((old, is_reported), (new, is_same)) = (used(baseline)?, used(system)?);
    (is_reported == is_same).then_some((Some(old), Some(new)))
}

/// The tokens of the requests that reached the provider, by our own count.
fn upstream(row: &EvalRow) -> Option<f64> {
    let facts = row.wire.as_deref().filter(|_| row.is_completed())?;
    facts.upstream_tokens.map(|tokens| tokens as f64)
}

/// The latency of a row that was answered in this run.
fn seconds(row: &EvalRow) -> Option<f64> {
    let is_timed = row.is_completed() && !row.cached && row.latency.is_finite();
    is_timed.then_some(row.latency)
}

/// The names of all scores of which a row has a value, in order of first appearance.
pub(super) fn score_names<'a>(rows: impl Iterator<Item = &'a EvalRow>) -> IndexSet<String> {
    let mut names: IndexSet<String> = IndexSet::new();
    for row in rows {
        for (name, score) in row.scores.iter() {
            if score.get().is_some() && !names.contains(name.as_str()) {
                names.insert(name.as_str().to_owned());
            }
        }
    }
    names
}
