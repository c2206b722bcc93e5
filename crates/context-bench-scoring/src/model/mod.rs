//! The data that flows through a run: example, output, score, row, measurement.
//!
//! Nothing here does I/O, waits or knows a clock. Layers above fill these
//! types; reports and stores read them.

mod answer;
mod counts;
mod example;
mod failure;
pub mod generation;
mod identity;
mod judge_usage;
mod measurement;
mod output;
mod prompt;
mod reply;
mod row;
mod row_text;
mod score;

pub use answer::Answer;
pub use counts::Counts;
pub use example::{
    Example, ExampleError, ExampleId, OPTIONS_APART, QUESTION_IN_CONTEXT, Source, Turn,
};
pub use failure::{Failure, FailureKind};
pub use identity::Identity;
pub use judge_usage::JudgeUsage;
pub use measurement::{Interval, Measurement, Summary, Unit};
pub use output::API_REPLY;
pub use output::{CallStats, Output};
pub use prompt::{Prompt, PromptError, PromptLimit, PromptParts, RenderedPrompt, Shorten};
pub use reply::PROMPT_CUT;
pub use reply::{Ending, Reply, TokenUse};
pub use row::{CONVERSATION_ID, EvalRow};
pub use row_text::RowText;
pub use score::{Score, ScoreName, Scores};
