//! The run store in a browser: a small HTTP server on loopback.
//!
//! [`View`] serves the list of runs, the page of a run (the assets of `context-bench-page`, with
//! rows that are read when they are looked at), a run that is still going, and two runs beside each
//! other. It only reads the store. `docs/adr/0024-viewer.md` has the decisions.
//!
//! What is asked passes three doors: `http` reads one request and nothing else, `guard` lets
//! only pages of this very server with its token through, `routes` knows the addresses.

mod assets;
mod compared;
mod figures;
mod found_rows;
mod guard;
mod http;
mod query;
mod routes;
mod row_index;
mod run_list;
mod selection;
mod server;
mod shown_rows;
#[cfg(test)]
mod tests;
mod watched_run;

pub use server::{View, ViewSettings};
