//! The data that flows through a run: example, output, score, row, measurement.
//!
//! Nothing here does I/O, waits or knows a clock. Layers above fill these
//! types; reports and stores read them.

mod answer;
mod arm_wire;
mod counts;
mod document_mark;
mod example;
mod failure;
pub mod generation;
mod identity;
mod judge_usage;
mod measurement;
mod model_use;
mod output;
mod prompt;
mod reply;
mod row;
mod row_text;
mod score;
mod stored_facts;
mod usage_shape;
mod wire;

pub use answer::Answer;
pub use arm_wire::{ArmWire, EarlierCalls, UnattributedCalls};
pub use counts::Counts;
pub use document_mark::{DOCUMENT_ID, DocumentMark};
pub use example::REPEAT;
pub use example::{
    Example, ExampleError, ExampleId, OPTIONS_APART, QUESTION_IN_CONTEXT, Source, Turn,
};
pub use failure::{Failure, FailureKind};
pub use identity::Identity;
pub use judge_usage::JudgeUsage;
pub use measurement::{Interval, Measurement, Summary, Unit};
pub use model_use::ModelUse;
pub use output::API_REPLY;
pub use output::{CallStats, Output};
pub use prompt::{Prompt, PromptError, PromptLimit, PromptParts, RenderedPrompt, Shorten};
pub use reply::PROMPT_CUT;
pub use reply::{Ending, Reply, TokenUse};
pub use row::{CONVERSATION_ID, EvalRow};
pub use row_text::{RowContexts, RowText, SentContext, TextsKept};
pub use score::{Score, ScoreName, Scores};
pub use stored_facts::StoredFacts;
pub use usage_shape::UsageShape;
pub use wire::{
    ArmRole, UnsentCalls, WIRE, WireAdded, WireCalls, WireClaim, WireDefects, WireEngagement,
    WireFacts, WireMethods, WireStream, WireUsage,
};
