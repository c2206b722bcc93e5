//! Tasks and groups in our pipeline.
//!
//! What tasks are (files, prompts, filters, metrics, results) is in the crate
//! `context-bench-tasks`. Here they meet the catalogue of datasets (`catalog`, `data`),
//! their documents become examples (`plan`, `examples`), models are asked for answers
//! and likelihoods (`model`, `likelihood`), and rows become results (`evaluator`,
//! `outcome`).

mod builder;
pub mod catalog;
mod class;
pub mod data;
mod evaluator;
pub mod examples;
mod files;
mod kwargs;
mod likelihood;
mod logprobs;
mod model;
pub mod outcome;
mod plan;
mod replaced;
pub mod response;
mod slice;

pub use context_bench_tasks as tasks;

pub use catalog::{CatalogSettings, TaskCatalog};
pub use class::ClassTask;
pub use data::{DataSettings, TaskData, is_called};
pub use evaluator::TaskEvaluator;
pub use likelihood::LikelihoodSettings;
pub use model::TaskModel;
pub use outcome::{DocumentCounts, SumUp, TaskOutcome, results};
pub use plan::{Native, SCORE, TaskPlan, check_likelihoods};
