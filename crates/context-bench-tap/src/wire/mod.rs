//! The APIs that the tap understands, one file each: pure functions from JSON to what a request
//! asks for and what an answer says. What a format does not name is left alone; what cannot be
//! read is said to be unknown, never guessed.

mod anthropic_messages;
mod field;
mod gemini;
mod message;
mod openai_chat;
mod openai_chat_plain;
mod openai_completions;
mod openai_embeddings;
mod openai_models;
mod openai_responses;
mod reply;
mod request;
mod route;
mod summary;
mod usage;

pub use context_bench_http::{Event, EventReader};
pub use message::{CacheMark, Message, Part, PartKind, Tool, ToolCall};
pub use reply::{Choice, ReplyReader, WireError, WireReply};
pub use request::{CountedRequest, WireRequest};
pub use route::{Route, WireFormat};
pub use summary::{MessageSummary, ReplySummary, RequestSummary, output_digest};
pub use usage::{Usage, UsageShape};
