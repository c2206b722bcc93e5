//! WireUsageSaved: what was saved on the wire by the provider's own count.

use indexmap::IndexMap;

use super::saved::{Counted, baseline, beside, counted};
use super::{ComparedSystem, Comparison};
use crate::model::{EvalRow, Measurement, Summary};

/// `wire_saved_usage` = 1 − Σ input tokens of the primary calls / Σ those of the baseline, as
/// the provider counted them, over the examples of which both are known. Only systems whose
/// calls passed a tap have it; the baseline is the first system, or the one that is named.
#[derive(Debug, Clone, Default)]
pub struct WireUsageSaved {
    baseline: Option<String>,
}

impl WireUsageSaved {
    /// Compares with this system.
    pub fn against(baseline: impl Into<String>) -> Self {
        Self {
            baseline: Some(baseline.into()),
        }
    }
}

impl Comparison for WireUsageSaved {
    fn name(&self) -> &str {
        "wire_saved_usage"
    }

    fn compare(&self, systems: &[ComparedSystem<'_>]) -> IndexMap<String, Summary> {
        let baseline = baseline(systems, self.baseline.as_deref());
        let mut added = IndexMap::new();
        let Some(baseline) = baseline.filter(|_| systems.len() > 1) else {
            return added;
        };
        for one in systems {
            let saved = saved(one.rows, baseline.rows);
            if saved.value.is_some() {
                let summary = Summary::new().with(self.name(), saved);
                added.insert(one.name.to_owned(), summary);
            }
        }
        added
    }
}

/// The share of input tokens that a system spared the provider, beside another one.
pub(super) fn saved(rows: &[EvalRow], baseline: &[EvalRow]) -> Measurement {
    let known: Counted<'_, ()> = counted(baseline, usage_input).collect();
    beside(counted(rows, usage_input), &known).measurement()
}

/// Only the provider counts here.
fn usage_input(row: &EvalRow) -> Option<(u64, ())> {
    let facts = row.wire.as_deref().filter(|_| row.is_completed())?;
    Some((facts.usage_input()?, ()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::TokensSaved;
    use crate::model::{Scores, WireFacts, WireUsage};

    fn row(id: usize, usage: Option<u64>, tokens: Option<(u64, u64)>) -> EvalRow {
        let mut row = EvalRow::new("s", id, Scores::new(), 0, 0);
        row.wire = Some(Box::new(WireFacts {
            usage: usage.map(|uncached| WireUsage {
                uncached,
                ..WireUsage::default()
            }),
            client_tokens: tokens.map(|tokens| tokens.0),
            upstream_tokens: tokens.map(|tokens| tokens.1),
            ..WireFacts::default()
        }));
        row
    }

    fn compared(
        comparison: &dyn Comparison,
        key: &str,
        systems: &[(&str, Vec<EvalRow>)],
    ) -> Vec<Option<f64>> {
        let summary = Summary::new();
        let all: Vec<ComparedSystem<'_>> = systems
            .iter()
            .map(|(name, rows)| ComparedSystem {
                name,
                rows,
                summary: &summary,
            })
            .collect();
        let found = comparison.compare(&all);
        let value = |name: &&str| found.get(*name).and_then(|one| one.value(key));
        systems.iter().map(|(name, _)| value(name)).collect()
    }

    #[test]
    fn usage_is_paired_with_the_baseline_over_what_both_know() {
        let direct = vec![
            row(1, Some(100), None),
            row(2, Some(100), None),
            row(3, None, None),
        ];
        let proxy = vec![
            row(1, Some(60), None),
            row(2, None, None),
            row(3, Some(5), None),
        ];
        let systems = [("direct", direct), ("proxy", proxy)];
        let usual = WireUsageSaved::default();
        let key = "wire_saved_usage";
        assert_eq!(compared(&usual, key, &systems), [Some(0.0), Some(0.4)]);
        assert_eq!(compared(&usual, key, &systems[..1]), [None]);
        // Without a local count, what is saved rests on the same figure.
        let saved = TokensSaved::default();
        assert_eq!(
            compared(&saved, "tokens_saved", &systems),
            [Some(0.0), Some(0.4)]
        );
    }

    #[test]
    fn behind_a_tap_tokens_saved_are_those_of_the_wire() {
        let direct = vec![row(1, Some(100), Some((80, 80)))];
        let proxy = vec![row(1, Some(90), Some((80, 20)))];
        let systems = [("direct", direct), ("proxy", proxy)];
        let saved = TokensSaved::default();
        assert_eq!(
            compared(&saved, "tokens_saved", &systems),
            [Some(0.0), Some(0.75)]
        );
    }
}
