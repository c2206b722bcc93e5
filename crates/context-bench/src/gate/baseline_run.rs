//! [`BaselineRun`]: a stored run that gates compare with, and the rows that it shares with a result.

use super::checked::counterpart;
use crate::comparison::{ComparedRows, ContentKey, Matched, Pairing};
use crate::example_keys::ExampleKeys;
use crate::model::EvalRow;
use crate::reopened_run::ReopenedRun;
use crate::result::EvalResult;

/// A result that gates compare with in place of a system of their own run.
pub struct BaselineRun {
    pub(crate) result: EvalResult,
    /// Where it is stored, so that examples can be matched by content. Otherwise they are by id.
    pub(crate) stored: Option<ReopenedRun>,
}

impl BaselineRun {
    /// The result of a stored run. Examples are matched by their content.
    pub(crate) fn stored(result: EvalResult, run: ReopenedRun) -> Self {
        Self {
            result,
            stored: Some(run),
        }
    }

    /// The keys of its examples, and those of another run; `None` when one of them is not stored, or
    /// cannot be read: then ids count.
    pub(crate) fn keys(&self, own: Option<&ReopenedRun>) -> Option<ExampleKeys> {
        ExampleKeys::read(&[self.stored.as_ref()?, own?]).ok()
    }
}

impl From<EvalResult> for BaselineRun {
    fn from(result: EvalResult) -> Self {
        Self {
            result,
            stored: None,
        }
    }
}

/// The examples that the rows of one system are about, in order.
pub(crate) type RowKeys = Vec<ContentKey>;

/// What the systems of a result are compared with.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a> {
    pub(crate) run: &'a EvalResult,
    /// Per system and row the example that it is about: of that run, and of the result.
    pub(crate) keys: Option<(&'a [RowKeys], &'a [RowKeys])>,
    /// The system of that run that all are compared with. Otherwise that of the same name, or the only
    /// one.
    pub(crate) system: Option<&'a str>,
}

impl<'a> Beside<'a> {
    /// Another result whose examples are matched by id.
    pub(crate) fn by_id(run: &'a EvalResult) -> Self {
        Self {
            run,
            keys: None,
            system: None,
        }
    }

    /// A run whose examples are matched by content where their keys are known.
    pub(crate) fn by_content(run: &'a EvalResult, keys: Option<&'a ExampleKeys>) -> Self {
        let keys = keys.and_then(|keys| Some((keys.runs.first()?, keys.runs.get(1)?)));
        Self {
            keys: keys.map(|(old, new)| (old.as_slice(), new.as_slice())),
            ..Self::by_id(run)
        }
    }

    /// The system of the run that a system is compared with.
    pub(super) fn counterpart(&self, system: &str) -> Option<&'a str> {
        match self.system {
            Some(name) => self
                .run
                .summary
                .get_key_value(name)
                .map(|(key, _)| key.as_str()),
            None => counterpart(self.run, system),
        }
    }
}

/// A system and its baseline on the examples that both were asked about: the n-th row of the one is
/// about the same attempt at the same example as the n-th row of the other.
pub(super) struct SharedRows {
    pub(super) own: EvalResult,
    pub(super) other: EvalResult,
    pub(super) matched: Matched,
}

impl SharedRows {
    pub(super) fn of(
        result: &EvalResult,
        system: &str,
        beside: &Beside<'_>,
        baseline: &str,
    ) -> Self {
        let old = compared(beside.run, baseline, beside.keys.map(|keys| keys.0));
        let new = compared(result, system, beside.keys.map(|keys| keys.1));
        let Pairing { pairs, matched, .. } = Pairing::of(&old, &new);
        let own = pairs.iter();
        let own: Vec<EvalRow> = own.map(|(_, at)| new.rows[*at as usize].clone()).collect();
        let other = pairs.iter().zip(&own).map(|((at, _), own)| EvalRow {
            // By these the two are found together again, in parts of them too.
            dataset: own.dataset.clone(),
            example_id: own.example_id.clone(),
            ..old.rows[*at as usize].clone()
        });
        let other: Vec<EvalRow> = other.collect();
        Self {
            own: shared(result, system, own, matched.only_system == 0),
            other: shared(beside.run, baseline, other, matched.only_baseline == 0),
            matched,
        }
    }
}

fn compared<'a>(
    result: &'a EvalResult,
    system: &'a str,
    keys: Option<&'a [Vec<ContentKey>]>,
) -> ComparedRows<'a> {
    let mut rows = ComparedRows::new(system, result.rows_of(system));
    let at = result.summary.get_index_of(system);
    rows.examples = keys
        .zip(at)
        .and_then(|(keys, at)| Some(keys.get(at)?.as_slice()));
    rows
}

/// The rows of a system that are shared, measured as the whole was. All of them are the whole.
fn shared(whole: &EvalResult, system: &str, rows: Vec<EvalRow>, is_whole: bool) -> EvalResult {
    let mut part = whole.with_rows(vec![(system.to_owned(), rows)]);
    if is_whole {
        part.tasks.clone_from(&whole.tasks);
        let summary = whole.summary.get(system).cloned();
        part.summary
            .extend(summary.map(|summary| (system.to_owned(), summary)));
    }
    // What was planned and never asked is in no row.
    let counts = whole.counts.get(system).copied();
    part.counts
        .extend(counts.map(|counts| (system.to_owned(), counts)));
    part
}
