//! What went wrong in rows, counted as they come.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::model::{EvalRow, ExampleId};

/// How many examples are named per problem.
const NAMED: usize = 3;
/// Different problems of one system that are told apart; further ones are counted together.
const MOST: usize = 10_000;

/// The problems of each system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Problems(IndexMap<Arc<str>, IndexMap<(String, String), Problem>>);

/// Rows with one problem.
#[derive(Debug, Clone, Default)]
pub(crate) struct Problem {
    pub(crate) rows: usize,
    /// The first of them.
    pub(crate) named: Vec<ExampleId>,
}

impl Problems {
    /// Takes a row into account.
    pub(crate) fn add(&mut self, row: &EvalRow) {
        if let Some(failure) = &row.failure {
            let what = format!("failed ({})", failure.kind);
            self.note(row, what, &failure.message);
        }
        // One evaluator that fails leaves the same reason on all its scores.
        let mut reasons: Vec<&str> = row.scores.unscored().map(|(_, reason)| reason).collect();
        reasons.dedup();
        for reason in reasons {
            self.note(row, "not fully scored".to_owned(), reason);
        }
    }

    fn note(&mut self, row: &EvalRow, what: String, message: &str) {
        let own = match self.0.get_mut(&row.system) {
            Some(own) => own,
            None => self.0.entry(Arc::clone(&row.system)).or_default(),
        };
        let mut key = (what, message.to_owned());
        if own.len() >= MOST && !own.contains_key(&key) {
            key.1 = "other problems".to_owned();
        }
        let problem = own.entry(key).or_default();
        problem.rows += 1;
        if problem.named.len() < NAMED {
            problem.named.push(row.example_id.clone());
        }
    }

    /// Those of a system, the most frequent first: what it is, the message, and which rows.
    pub(crate) fn of(&self, system: &str) -> Vec<(&(String, String), &Problem)> {
        let mut own: Vec<_> = self.0.get(system).into_iter().flatten().collect();
        own.sort_by_key(|(_, problem)| std::cmp::Reverse(problem.rows));
        own
    }
}
