//! Tasks and groups in our pipeline.
//!
//! What tasks are (files, prompts, filters, metrics, results) is in the crate
//! `context-bench-tasks`. Here they meet the catalog of datasets (`index`, `data`),
//! and models are asked for answers and likelihoods (`model`, `likelihood`). How they
//! are run and summed up is in `benchmark`.

mod builder;
pub mod data;
mod files;
pub mod index;
mod kwargs;
mod likelihood;
mod logprobs;
mod model;
mod replaced;
mod shared_files;
mod slice;
mod typed;

pub use context_bench_tasks as tasks;

pub use data::{DataSettings, TaskData, is_called};
pub use index::{TaskIndex, TaskIndexSettings};
pub use likelihood::LikelihoodSettings;
pub use model::TaskModel;
