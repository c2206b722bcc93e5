//! The rows of a result, wherever they are: in memory, or in a store that is read when they are asked
//! for. Files of rows are written from either, one row at a time.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

use context_bench_scoring::price::Cost;
use indexmap::{IndexMap, IndexSet};

use super::EvalResult;
use super::problems::Problems;
use crate::model::EvalRow;

/// What is done with a row.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&EvalRow) -> io::Result<()>;

/// Where rows are read from, as often as they are asked for.
pub(crate) trait RowSource: Send + Sync {
    /// Every row, grouped by system, in dataset order.
    fn each(&self, visit: Visit<'_>) -> io::Result<()>;
}

/// Rows that are not in memory.
#[derive(Clone)]
pub(crate) struct KeptRows {
    pub(crate) source: Arc<dyn RowSource>,
    pub(crate) shape: Arc<RowShape>,
}

impl fmt::Debug for KeptRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptRows")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

/// What a table of rows must know before its first row is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowShape {
    pub(crate) n_rows: usize,
    /// Names of scores, in order of first appearance.
    pub(crate) scores: Vec<Arc<str>>,
    /// Names of what rows have in their metadata.
    pub(crate) metadata: IndexSet<String>,
    /// Whether a row has texts.
    pub(crate) has_text: bool,
    /// Whether a tap saw a row.
    pub(crate) has_wire: bool,
    /// Whether an answer has tokens that its endpoint reported, and whether one has tokens that were
    /// counted here.
    pub(crate) has_reported: bool,
    pub(crate) has_counted: bool,
    pub(crate) problems: Problems,
    /// Per system: how many requests a tap compared, and how many of them went out changed.
    pub(crate) engagement: IndexMap<Arc<str>, (usize, usize)>,
    /// The systems with the models that answered for them.
    pub(crate) models: IndexMap<Arc<str>, IndexSet<Arc<str>>>,
}

impl RowShape {
    /// Takes a row into account.
    pub(crate) fn add(&mut self, row: &EvalRow) {
        self.n_rows += 1;
        for (name, score) in row.scores.iter() {
            let is_known = self.scores.iter().any(|known| **known == *name.as_str());
            if !is_known && score.as_evidence().is_none() {
                self.scores.push(name.as_str().into());
            }
        }
        for key in row.metadata().keys() {
            if !self.metadata.contains(key) {
                self.metadata.insert(key.clone());
            }
        }
        if let Some(reply) = row.reply.as_deref()
            && reply.tokens.prompt.is_some()
        {
            self.has_reported |= reply.tokens.reported;
            self.has_counted |= !reply.tokens.reported;
        }
        self.problems.add(row);
        self.add_models(row);
        self.has_text |= row.text.is_some();
        self.has_wire |= row.wire.is_some();
        let wire = row.wire.as_deref();
        if let Some(engagement) = wire.and_then(|facts| facts.engagement) {
            let (compared, changed) = match self.engagement.get_mut(&row.system) {
                Some(known) => known,
                None => self.engagement.entry(Arc::clone(&row.system)).or_default(),
            };
            *compared += 1;
            *changed += usize::from(engagement.is_changed());
        }
    }
}

impl RowShape {
    fn add_models(&mut self, row: &EvalRow) {
        let reply = row.reply.as_deref();
        let own = reply.into_iter().flat_map(|reply| {
            let calls = reply.calls.iter().filter_map(|one| one.model.as_ref());
            reply.model.iter().chain(calls)
        });
        let wire = row.wire.as_deref().into_iter();
        let wire = wire.flat_map(|facts| facts.uses.iter().filter_map(|one| one.model.as_ref()));
        for model in own.chain(wire) {
            let known = match self.models.get_mut(&row.system) {
                Some(known) => known,
                None => self.models.entry(Arc::clone(&row.system)).or_default(),
            };
            if !known.contains(model) {
                known.insert(Arc::clone(model));
            }
        }
    }
}

impl EvalResult {
    /// What a row cost, where a price book knows some of it.
    pub(crate) fn cost(&self, row: &EvalRow) -> Option<Cost> {
        let cost = self.measures.prices.as_ref()?.cost(row);
        cost.is_priced.then_some(cost)
    }

    /// Gives every row to `visit`, in order. Rows of a result that was made to be written are read
    /// from its store, one at a time.
    ///
    /// # Errors
    ///
    /// The first error of `visit`, or that the store cannot be read.
    pub fn each_row(&self, mut visit: impl FnMut(&EvalRow) -> io::Result<()>) -> io::Result<()> {
        match &self.kept {
            Some(kept) => kept.source.each(&mut visit),
            None => self.rows.iter().try_for_each(visit),
        }
    }

    /// How many rows there are, in memory or not.
    pub fn n_rows(&self) -> usize {
        match &self.kept {
            Some(kept) => kept.shape.n_rows,
            None => self.rows.len(),
        }
    }

    /// What went wrong in the rows.
    pub(crate) fn problems(&self) -> Cow<'_, Problems> {
        match &self.kept {
            Some(kept) => Cow::Borrowed(&kept.shape.problems),
            None => {
                let mut problems = Problems::default();
                self.rows.iter().for_each(|row| problems.add(row));
                Cow::Owned(problems)
            }
        }
    }

    /// What the rows have in common.
    pub(crate) fn shape(&self) -> Cow<'_, RowShape> {
        match &self.kept {
            Some(kept) => Cow::Borrowed(&kept.shape),
            None => {
                let mut shape = RowShape::default();
                self.rows.iter().for_each(|row| shape.add(row));
                Cow::Owned(shape)
            }
        }
    }

    /// Names of all scores in the rows, in order of first appearance.
    pub fn score_names(&self) -> Vec<Arc<str>> {
        self.shape().scores.clone()
    }
}
