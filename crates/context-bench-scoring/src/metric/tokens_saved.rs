//! TokensSaved: how many prompt tokens a system spares its model.

use indexmap::IndexMap;

use super::row_sum::RowSum;
use super::saved::{Counted, SavedShare, baseline, beside, counted};
use super::token_means::tokens;
use super::{ComparedSystem, Comparison, wire, wire_usage};
use crate::model::{EvalRow, Summary};

/// `tokens_saved` = 1 − Σ prompt tokens / Σ prompt tokens of the baseline, over the
/// examples of which both are known. Negative when a system sends more.
///
/// Where a tap saw the calls of a system, this is what was saved on the wire: 1 − Σ tokens of
/// the requests that went out / Σ tokens of those that came in, by the local tokenizer; if
/// that cannot tell, by what the provider counted for the same examples of the baseline.
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

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        let is_alone = self.baseline.is_none();
        is_alone.then(|| Box::new(GivenSum::default()) as _)
    }

    fn compare(&self, systems: &[ComparedSystem<'_>]) -> IndexMap<String, Summary> {
        let named = self.baseline.as_deref();
        let baseline = baseline(systems, named);
        // A system that is compared only with itself says nothing.
        let known: Option<Counted<'_, bool>> = baseline
            .filter(|_| systems.len() > 1)
            .map(|one| counted(one.rows, prompt).collect());
        let saved = |one: &ComparedSystem<'_>| {
            if one.rows.iter().any(|row| row.wire.is_some()) {
                let local = wire::saved(one.rows);
                return match (local.value, baseline) {
                    (None, Some(baseline)) => wire_usage::saved(one.rows, baseline.rows),
                    _ => local,
                };
            }
            let is_counted = one.rows.iter().filter_map(tokens).any(|t| !t.reported);
            let sums = match (&known, is_counted && named.is_none()) {
                (_, true) => given(one.rows),
                (Some(known), false) => beside(counted(one.rows, prompt), known),
                (None, false) => SavedShare::default(),
            };
            sums.measurement()
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

/// The prompt tokens of a row, and whether they were reported.
fn prompt(row: &EvalRow) -> Option<(u64, bool)> {
    let tokens = tokens(row)?;
    Some((tokens.prompt?, tokens.reported))
}

fn given(rows: &[EvalRow]) -> SavedShare {
    let mut sum = GivenSum::default();
    rows.iter().for_each(|row| sum.add(row));
    sum.sums
}

/// What a system saved of what it was given.
#[derive(Default)]
struct GivenSum {
    sums: SavedShare,
    is_counted: bool,
}

impl RowSum for GivenSum {
    fn add(&mut self, row: &EvalRow) {
        let Some(tokens) = tokens(row) else { return };
        self.is_counted |= !tokens.reported;
        if let (Some(own), Some(given)) = (tokens.prompt, tokens.given) {
            self.sums.add(given, own);
        }
    }

    fn finish(self: Box<Self>, _: Option<&[u32]>) -> Summary {
        // Tokens that an endpoint reports are compared with those of a baseline.
        let sums = match self.is_counted {
            true => self.sums,
            false => SavedShare::default(),
        };
        Summary::new().with("tokens_saved", sums.measurement())
    }
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
