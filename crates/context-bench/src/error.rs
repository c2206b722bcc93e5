//! What errors share: hints apart from the fact, places in files, and what a panic said.

use std::any::Any;

pub use context_bench_error::{Hint, Place};

/// The text of a panic, if it has one.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
