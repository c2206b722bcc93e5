//! Memory systems, without a runtime.
//!
//! What [context-bench](https://github.com/context-bench/context-bench) measures memories
//! with, for use on its own: no tokio, no network, no database. Given the same bytes,
//! everything here gives the same answer.
//!
//! | Module | What it holds |
//! |---|---|
//! | (root) | [`Conversation`], [`MemoryQuestion`], [`MemoryDataset`]: LoCoMo's and LongMemEval's own files |
//! | (root) | [`Memory`]: takes in turns and recalls some for a question, by [`MemorySettings`] |
//! | [`embedding`] | texts as vectors: static models and transformers from a local folder |
//! | (root) | [`RetrievalQuality`]: scores what was recalled against marked evidence, as an evaluator |
//! | [`measure`] | recall@k, MRR and nDCG against marked evidence, per kind of question; LoCoMo's own F1 |
//! | [`metric`] | metrics over the rows of a run |
//! | [`judge`] | what judges of answers are asked, and what their replies mean |
//!
//! | Memory | Recalls |
//! |---|---|
//! | `naive` | the whole history |
//! | `window` | the last turns |
//! | `bm25` | turns that share telling words with the question |
//! | `keyword` | the same by TF-IDF over plain words |
//! | `embedding` | turns whose vectors are near |
//! | `hybrid` | the ranks of `bm25` and `embedding` fused |
//! | `oracle` | the marked evidence, as an upper bound |
//! | `none` | nothing, as a lower bound |
//!
//! Not built yet: `summary`, a rolling summary, which needs a model; answers, and with them
//! everything that a run needs (`evaluate_memory` and the command `memory`).

#![deny(missing_docs)]

mod conversation;
mod dataset;
pub mod embedding;
mod evaluator;
mod excerpt;
mod item;
pub mod judge;
pub mod measure;
pub mod metric;
mod question;
mod recall;
mod tokens;

pub use conversation::{Conversation, Session, Turn, TurnId};
pub use dataset::{
    Benchmark, MemoryDataError, MemoryDataset, MemoryExample, SkippedQuestion, locomo_question,
};
pub use evaluator::RetrievalQuality;
pub use excerpt::{EXCERPT_CHARS, excerpt};
pub use item::MemoryItem;
pub use question::MemoryQuestion;
pub use recall::{
    Ingested, Memory, MemoryError, MemoryKind, MemorySettings, Query, Recalled, RecalledTurn,
    SettingsError, Tools, keyword_search,
};
pub use tokens::{CountTokens, CountWords};
