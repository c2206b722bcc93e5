//! What there is to say about the examples of a run.

use crate::failure::Failure;

/// There is nothing to run.
pub(crate) fn nothing_loaded() -> Failure {
    Failure::bad_input("no examples loaded")
        .hint("check the `--dataset` arguments and `--max-examples`")
}
