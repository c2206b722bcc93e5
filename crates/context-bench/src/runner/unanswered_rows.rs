//! `UnansweredRows`: the rows without an answer in a run that is rescored.
//!
//! Rescoring leaves these rows as they are. No system is asked about them, so they
//! say nothing about whether a system works.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::reuse::StoreLookup;
use crate::model::{CallStats, Failure, FailureKind, WireFacts};
use crate::store::Key;

/// The rows of a stored run without an answer, by system and position.
#[derive(Debug, Default)]
pub(crate) struct UnansweredRows {
    failed: HashMap<(usize, usize), Arc<StoredFailure>>,
    absent: HashSet<(usize, usize)>,
    /// The keys of the examples, in their order. They cannot be computed again: a key covers how
    /// an example was asked, and the store keeps only its fields.
    keys: Vec<Key>,
    /// Examples that turned out to be damaged while they were read.
    damaged: Mutex<HashSet<usize>>,
}

/// A call that failed in an earlier run.
#[derive(Debug)]
pub(crate) struct StoredFailure {
    pub(crate) failure: Failure,
    /// Seconds inside the system.
    pub(crate) latency: f64,
    /// What the call cost besides time, when known.
    pub(crate) call: Option<CallStats>,
    /// What a tap saw of it, if there was one.
    pub(crate) wire: Option<Box<WireFacts>>,
    /// Whether it failed for this run, in another process.
    pub(crate) is_fresh: bool,
}

impl UnansweredRows {
    /// Notes the keys of the examples, in their order.
    pub(crate) fn found_by(&mut self, keys: Vec<Key>) {
        self.keys = keys;
    }

    /// The key of an example.
    pub(super) fn key(&self, position: usize) -> Option<Key> {
        self.keys.get(position).copied()
    }

    /// Notes that a system failed at an example.
    pub(crate) fn failed(&mut self, system: usize, position: usize, stored: StoredFailure) {
        self.failed.insert((system, position), Arc::new(stored));
    }

    /// Notes that the run has no row of a system for an example.
    pub(crate) fn absent(&mut self, system: usize, position: usize) {
        self.absent.insert((system, position));
    }

    /// Notes that an example cannot be read any more, before it is handed out.
    pub(crate) fn damaged(&self, position: usize) {
        self.damages().insert(position);
    }

    /// What is stored for a system and an example, if that is not an answer.
    pub(super) fn lookup(&self, system: usize, position: usize) -> Option<StoreLookup> {
        let at = (system, position);
        if self.absent.contains(&at) {
            return Some(StoreLookup::NoRow);
        }
        if let Some(stored) = self.failed.get(&at) {
            return Some(StoreLookup::Failure(Arc::clone(stored)));
        }
        self.damages().contains(&position).then(|| {
            StoreLookup::Failure(Arc::new(StoredFailure {
                failure: Failure::new(
                    FailureKind::BadExample,
                    "the stored example is damaged or no longer there",
                ),
                latency: 0.0,
                call: None,
                wire: None,
                is_fresh: false,
            }))
        })
    }

    fn damages(&self) -> MutexGuard<'_, HashSet<usize>> {
        // Held for a look only; a poisoned lock changes nothing.
        self.damaged.lock().unwrap_or_else(|e| e.into_inner())
    }
}
