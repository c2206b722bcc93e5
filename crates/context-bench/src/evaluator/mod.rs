//! Evaluators: the pure ones of `context-bench-scoring` and `context-bench-memory`, and those that leave the process to
//! ask a model or to run code.

#[cfg(feature = "sandbox")]
pub mod code_execution;
mod llm_judge;
mod official_judge;

#[cfg(feature = "sandbox")]
pub use code_execution::{CodeExecution, CodeExecutionSettings};
pub use context_bench_memory::RetrievalQuality;
pub use context_bench_scoring::evaluator::*;
pub use llm_judge::{
    JudgeMode, JudgeTemplate, LlmJudge, LlmJudgeError, LlmJudgeSettings, Reference, TemplateError,
};
pub use official_judge::{JudgeRule, OfficialJudge, OfficialJudgeSettings};
