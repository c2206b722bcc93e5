//! `Answer`: what a system was asked together with what it answered.

use std::sync::Arc;

use super::{Example, Output};

/// What a system was asked, and what it answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The example; systems that were asked the same share it.
    pub example: Arc<Example>,
    /// The processed map.
    pub output: Output,
}
