//! `Wiring`: which evaluators score which examples.
//!
//! An evaluator scores an example that has the fields it needs; if the dataset
//! has evaluators of its own, it must be one of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::evaluator::Evaluator;
use crate::model::{Example, Output, RowContexts, RowText, ScoreName, Scores, TextsKept};

/// The evaluators of a run, and for which datasets they are.
#[derive(Clone, Default)]
pub(crate) struct Wiring {
    /// All evaluators, in the order of their scores.
    pub(crate) evaluators: Vec<Arc<dyn Evaluator>>,
    by_dataset: HashMap<String, DatasetWiring>,
    /// The score under which every row has that of its own dataset, and which
    /// one that is for datasets that are not wired.
    common: Option<(ScoreName, String)>,
    /// Evaluators that are not to be asked, and why.
    given_up: HashMap<usize, String>,
    texts: TextsKept,
    /// Bytes of contexts that were kept so far, in all clones.
    contexts: Arc<AtomicUsize>,
}

/// Most bytes of contexts that rows keep. They are shown as examples of what layers do; a run may
/// have a thousand times as much.
const MAX_CONTEXTS: usize = 96 * 1024 * 1024;

/// How one dataset is scored.
#[derive(Clone, Default)]
struct DatasetWiring {
    evaluators: Vec<usize>,
    score_field: Option<String>,
    holds_answers: bool,
}

impl Wiring {
    /// Scores the examples of a dataset by these evaluators and no others.
    pub(crate) fn wire(
        &mut self,
        dataset: String,
        evaluators: impl IntoIterator<Item = Arc<dyn Evaluator>>,
        score_field: Option<String>,
    ) {
        let mut own = DatasetWiring {
            score_field,
            ..DatasetWiring::default()
        };
        for evaluator in evaluators {
            own.evaluators.push(self.number(evaluator));
        }
        self.by_dataset.insert(dataset, own);
    }

    /// Keeps the answers to the examples of a dataset in memory until the run is summed up.
    pub(crate) fn hold_answers(&mut self, dataset: &str) {
        let own = self.by_dataset.get_mut(dataset);
        if let Some(own) = own {
            own.holds_answers = true;
        }
    }

    /// Whether the answers to the examples of a dataset are kept in memory.
    pub(crate) fn holds_answers(&self, dataset: &str) -> bool {
        self.by_dataset
            .get(dataset)
            .is_some_and(|own| own.holds_answers)
    }

    /// Keeps what was asked and answered with every row.
    pub(crate) fn keep_text(&mut self, kept: TextsKept) {
        self.texts = kept;
    }

    /// The same with room for contexts again, for a reader that keeps no row.
    pub(crate) fn with_room(&self) -> Self {
        Self {
            contexts: Arc::default(),
            ..self.clone()
        }
    }

    /// Whether rows keep what was asked and answered.
    pub(crate) fn keeps_text(&self) -> bool {
        self.texts != TextsKept::None
    }

    /// The texts of a row, with its contexts if those are kept and there is room.
    pub(crate) fn row_text(&self, example: &Arc<Example>, output: Option<&Output>) -> RowText {
        let mut text = RowText::of(example, output);
        if self.texts == TextsKept::Contexts
            && let Some(contexts) = RowContexts::of(example, output)
        {
            let before = self.contexts.fetch_add(contexts.size(), Ordering::Relaxed);
            text.contexts = (before < MAX_CONTEXTS).then(|| Box::new(contexts));
        }
        text
    }

    /// Does not ask an evaluator.
    pub(crate) fn give_up(&mut self, evaluator: &Arc<dyn Evaluator>, reason: &str) {
        let known = self.evaluators.iter();
        let known = known.enumerate().filter(|(_, e)| Arc::ptr_eq(e, evaluator));
        let numbers: Vec<usize> = known.map(|(number, _)| number).collect();
        let given_up = numbers
            .into_iter()
            .map(|number| (number, reason.to_owned()));
        self.given_up.extend(given_up);
    }

    /// Why the evaluator of that number is not to be asked, if it is not.
    pub(crate) fn given_up(&self, index: usize) -> Option<&str> {
        self.given_up.get(&index).map(String::as_str)
    }

    /// The place of an evaluator among all of them.
    fn number(&mut self, evaluator: Arc<dyn Evaluator>) -> usize {
        let mut known = self.evaluators.iter();
        known
            .position(|one| Arc::ptr_eq(one, &evaluator))
            .unwrap_or_else(|| {
                self.evaluators.push(evaluator);
                self.evaluators.len() - 1
            })
    }

    /// Gives every row the score of its own dataset under this name as well;
    /// of datasets that are not wired, the score `otherwise`.
    pub(crate) fn share(&mut self, name: ScoreName, otherwise: String) {
        self.common = Some((name, otherwise));
    }

    /// The name of the score that all rows share.
    pub(crate) fn common(&self) -> Option<&ScoreName> {
        self.common.as_ref().map(|(name, _)| name)
    }

    /// Whether the evaluator of that number scores this example.
    pub(crate) fn applies(&self, index: usize, example: &Example) -> bool {
        let evaluator = self.evaluators.get(index);
        self.is_wired(index, example.dataset())
            && evaluator.is_some_and(|evaluator| evaluator.applies_to(example))
    }

    /// Whether the evaluator of that number is one for that dataset.
    pub(crate) fn is_wired(&self, index: usize, dataset: &str) -> bool {
        let own = self.by_dataset.get(dataset);
        own.is_none_or(|own| own.evaluators.contains(&index))
    }

    /// Adds the common score to those of a row.
    pub(crate) fn complete(&self, dataset: &str, scores: &mut Scores) {
        let Some((common, otherwise)) = &self.common else {
            return;
        };
        let own = self.by_dataset.get(dataset);
        let field = own.and_then(|own| own.score_field.as_deref());
        if let Some(score) = scores.get(field.unwrap_or(otherwise)).cloned() {
            scores.set(common.clone(), score);
        }
    }
}
