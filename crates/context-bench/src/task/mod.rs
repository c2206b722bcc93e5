//! Tasks and groups in our pipeline.
//!
//! What tasks are (files, prompts, filters, metrics, results) is in the crate
//! `context-bench-tasks`; here their documents become examples, models are asked for
//! answers and likelihoods, and rows become results.

mod class;
mod evaluator;
pub mod examples;
mod likelihood;
mod logprobs;
mod model;
pub mod outcome;
mod plan;
pub mod response;

pub use class::ClassTask;
pub use evaluator::TaskEvaluator;
pub use likelihood::LikelihoodSettings;
pub use model::TaskModel;
pub use outcome::{DocumentCounts, SumUp, TaskOutcome, results};
pub use plan::{Native, SCORE, TaskPlan, check_likelihoods};
