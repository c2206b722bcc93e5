//! The crate as its users see it.

// Helpers of tests are tests too, which the settings of clippy do not see.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod dataset;
mod embedding;
mod judged;
mod locomo;
mod memories;
mod transformer;
mod worked;
