//! `Recorded`: what a stored run says of rows that are no answers.
//!
//! A replay gives these rows as they are. No system is asked about them, so they
//! tell nothing about whether a system works.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::reuse::Held;
use crate::model::{CallStats, Failure, FailureKind};
use crate::store::Key;

/// The rows of a stored run without an answer, by system and position.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    failed: HashMap<(usize, usize), Arc<Lapse>>,
    absent: HashSet<(usize, usize)>,
    /// What the examples are found by in the store, in their order. A store keeps the fields
    /// of an example and not how it was asked, which is part of that.
    keys: Vec<Key>,
    /// Examples that turned out to be damaged while they were read.
    damaged: Mutex<HashSet<usize>>,
}

/// A call that failed in an earlier run.
#[derive(Debug)]
pub(crate) struct Lapse {
    pub(crate) failure: Failure,
    /// Seconds inside the system.
    pub(crate) latency: f64,
    /// What the call cost besides time, when known.
    pub(crate) call: Option<CallStats>,
}

impl Recorded {
    /// Notes what the examples are found by, in their order.
    pub(crate) fn found_by(&mut self, keys: Vec<Key>) {
        self.keys = keys;
    }

    /// What an example is found by.
    pub(super) fn key(&self, position: usize) -> Option<Key> {
        self.keys.get(position).copied()
    }

    /// Notes that a system failed at an example.
    pub(crate) fn failed(&mut self, system: usize, position: usize, lapse: Lapse) {
        self.failed.insert((system, position), Arc::new(lapse));
    }

    /// Notes that the run has no row of a system for an example.
    pub(crate) fn absent(&mut self, system: usize, position: usize) {
        self.absent.insert((system, position));
    }

    /// Notes that an example cannot be read any more, before it is handed out.
    pub(crate) fn damaged(&self, position: usize) {
        self.damages().insert(position);
    }

    /// What is recorded of a system and an example, if it is no answer.
    pub(super) fn held(&self, system: usize, position: usize) -> Option<Held> {
        let at = (system, position);
        if self.absent.contains(&at) {
            return Some(Held::NoRow);
        }
        if let Some(lapse) = self.failed.get(&at) {
            return Some(Held::Failure(Arc::clone(lapse)));
        }
        self.damages().contains(&position).then(|| {
            Held::Failure(Arc::new(Lapse {
                failure: Failure::new(
                    FailureKind::BadExample,
                    "the stored example is damaged or no longer there",
                ),
                latency: 0.0,
                call: None,
            }))
        })
    }

    fn damages(&self) -> MutexGuard<'_, HashSet<usize>> {
        // Held for a look only; a poisoned lock changes nothing.
        self.damaged.lock().unwrap_or_else(|e| e.into_inner())
    }
}
