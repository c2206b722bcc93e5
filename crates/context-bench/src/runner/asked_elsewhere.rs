//! `AskedElsewhere`: a run whose systems were asked in other processes.
//!
//! Their answers are in the store, and what failed there is here. No system is called: what is
//! in neither is a failure too, so that no row is lost without a word.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::prepared::Prepared;
use super::reuse::StoreLookup;
use super::unanswered_rows::StoredFailure;
use crate::model::Failure;

/// What became of rows that other processes asked about, by system and position.
#[derive(Debug, Clone)]
pub struct AskedElsewhere {
    failed: HashMap<(String, usize), Arc<StoredFailure>>,
    /// What is said about rows that are in neither.
    otherwise: Arc<StoredFailure>,
    /// Positions that were asked about for this run, and not for an earlier one.
    fresh: HashSet<usize>,
    /// The examples of the run, when not all of them were dealt with.
    planned: Option<usize>,
}

impl AskedElsewhere {
    /// Rows without an answer in the store failed like this, unless something else is known.
    pub fn new(otherwise: Failure) -> Self {
        Self {
            failed: HashMap::new(),
            otherwise: Arc::new(StoredFailure {
                failure: otherwise,
                latency: 0.0,
                call: None,
                wire: None,
                is_fresh: true,
            }),
            fresh: HashSet::new(),
            planned: None,
        }
    }

    /// Says that asking ended before all of so many examples were dealt with.
    #[must_use]
    pub fn ended_early(mut self, planned: usize) -> Self {
        self.planned = Some(planned);
        self
    }

    /// Notes that a system failed at an example after so many seconds.
    pub fn failed(
        &mut self,
        system: impl Into<String>,
        position: usize,
        failure: Failure,
        latency: f64,
    ) {
        let stored = StoredFailure {
            failure,
            latency,
            call: None,
            wire: None,
            is_fresh: true,
        };
        let at = (system.into(), position);
        self.failed.insert(at, Arc::new(stored));
    }

    /// Notes that an example was asked about for this run.
    pub fn asked(&mut self, position: usize) {
        self.fresh.insert(position);
    }

    /// The examples of the run, when not all of them were dealt with.
    pub(crate) fn planned(&self) -> Option<usize> {
        self.planned
    }

    /// Says what became of an example that was looked up.
    pub(super) fn settle(&self, prepared: &mut Prepared, names: &[String]) {
        if prepared.problem.is_some() {
            return;
        }
        let position = prepared.position;
        for (name, lookup) in names.iter().zip(&mut prepared.lookups) {
            match lookup {
                StoreLookup::Nothing => {
                    let known = self.failed.get(&(name.clone(), position));
                    let known = known.unwrap_or(&self.otherwise);
                    *lookup = StoreLookup::Failure(Arc::clone(known));
                }
                StoreLookup::Answer(answer) => {
                    answer.is_fresh = self.fresh.contains(&position);
                }
                _ => {}
            }
        }
    }
}
