//! What is kept of a call: when things happened, what was sent and answered, and the log that
//! it is written to. Secrets are taken out before anything is written.

mod body;
mod call;
mod content_encoding;
mod in_flight;
mod log;
mod queue;
mod recorder;
mod scrub;
mod scrub_pattern;
mod scrub_stream;
mod sink;
mod timeline;
mod totals;

pub(crate) use body::{BodyBudget, BodyRecorder};
pub use call::{
    BodyRef, CallRecord, Carriers, EndState, Frame, Purpose, RequestRecord, ResponseRecord, Stored,
};
pub use content_encoding::{DecodeError, decoded};
pub use in_flight::{CallInFlight, CallsInFlight};
pub use log::{CallLog, LogError, LogWriter};
pub(crate) use queue::RecorderQueue;
pub(crate) use recorder::{BegunCall, FinishedAnswer, FinishedCall, Recorder};
pub use scrub::Scrubber;
pub use sink::{CallBodies, CallSink, MemorySink, StoredBody};
pub use timeline::{TapClock, Timeline};
pub use totals::{CallTotals, TokenTotals};
