//! Tasks and groups in our pipeline: which there are, and where their records come from.
//!
//! What tasks are (files, prompts, filters, metrics, results) is in the crate
//! `context-bench-tasks`; here they meet the catalogue of datasets.

pub mod catalog;
pub mod data;
mod files;
mod slice;

pub use context_bench_tasks as tasks;

pub use catalog::{CatalogSettings, TaskCatalog};
pub use data::{DataSettings, TaskData};
