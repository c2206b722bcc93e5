//! What the whole program says: each snapshot in `approved/` is a transcript of commands with
//! their exit code, stdout and stderr, so that a change of wording shows up as a diff in review.
//!
//! Other tests say why an output is right; these say that it did not change by accident.
//! `make snapshots` writes them anew (see CONTRIBUTING).

mod compare;
mod emit;
mod errors_data;
mod errors_endpoints;
mod errors_flags;
mod errors_names;
mod errors_run_files;
mod errors_scoring;
mod errors_store;
mod errors_tasks;
mod filters;
mod help;
mod lists;
mod reports;
mod session;
mod stores;
mod tasks;
