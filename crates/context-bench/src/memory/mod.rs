//! Memories under test: what takes in a conversation and answers questions about it.
//!
//! A run sees a memory as one more system whose examples are questions ([`questions()`]):
//! [`MemoryArm`] finds the instance that has taken in the conversation of a question, or
//! makes one, and asks it.

mod answer_reply;
mod arm;
pub mod check;
mod command;
mod embedding_model;
mod history;
mod instances;
mod kept_ingests;
mod questions;
mod retrieval;
pub(crate) mod row;
mod summary;
mod system;

#[doc(hidden)]
pub use answer_reply::AnswerReply;
pub use arm::{MEMORY, MemoryArm, RECALLED};
pub use command::{CommandMemory, CommandMemorySettings};
pub use context_bench_memory::embedding;
pub use context_bench_memory::metric::{PerQATypeMetric, TokenEfficiencyMetric};
pub use context_bench_memory::{Conversation, MemoryQuestion, Session, Turn, TurnId};
pub use embedding_model::{EmbeddingModel, EmbeddingModelError};
pub use history::History;
pub use kept_ingests::{IngestFigures, KeptIngests};
pub use questions::{KindCounts, QuestionSettings, questions};
pub use retrieval::{RetrievalMemory, RunCounter};
pub use summary::{SummaryError, SummaryMemory, SummarySettings};
pub use system::{
    Ingest, Instances, MemoryAnswer, MemoryProvider, MemoryQuery, MemorySystem, StageTimes,
};
