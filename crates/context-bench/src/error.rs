//! What errors share: hints apart from the fact, and places in files.

pub use context_bench_error::{Hint, Place};
