//! In place of `planned.rs` in a library without the feature `tasks`: nothing is planned.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use crate::gate::BaselineRun;
use crate::measures::Measures;
use crate::model::Answer;
use crate::reopened_run::ReopenedRun;
use crate::result::EvalResult;

/// A run that was put together by hand.
#[derive(Default)]
pub(super) struct Planned {
    /// Whether this is a part of a larger run.
    pub(super) is_part: bool,
}

impl Planned {
    pub(super) fn rows(&self) -> Option<usize> {
        None
    }

    pub(super) fn take(_: &mut Map<String, Value>) {}

    pub(super) fn put(&self, _: &mut Map<String, Value>) {}

    pub(super) fn hides(&self, _: &str) -> bool {
        false
    }

    pub(super) fn provenance(&self) -> Map<String, Value> {
        Map::new()
    }

    pub(super) fn measures(&self) -> Measures {
        Measures::default()
    }

    pub(super) fn judge(
        &self,
        _: &mut EvalResult,
        _: Option<&BaselineRun>,
        _: Option<&ReopenedRun>,
    ) {
    }

    pub(super) fn sum_up(
        &self,
        _: &mut EvalResult,
        _: &[HashMap<usize, Answer>],
        _: SystemTime,
        _: Duration,
    ) {
    }
}
