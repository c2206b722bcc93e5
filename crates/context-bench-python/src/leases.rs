//! `NativeLeases`: requests that a quota outside this process allows, a few at a time.

use std::sync::Arc;

use context_bench::chat::{Leases, Pace};
use pyo3::prelude::*;

/// Requests of a run that wait until they are granted.
#[pyclass(frozen, name = "NativeLeases", module = "context_bench._native")]
#[derive(Default)]
pub(crate) struct NativeLeases(Arc<Leases>);

#[pymethods]
impl NativeLeases {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Lets so many requests leave.
    fn grant(&self, requests: usize) {
        self.0.grant(requests);
    }

    /// The number of requests that wait.
    fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

impl NativeLeases {
    /// The pace of clients that wait for these leases.
    pub(crate) fn pace(&self) -> Arc<Pace> {
        Arc::new(Pace::leased(Arc::clone(&self.0)))
    }
}
