//! What a proxy changed, added and delayed: pure functions over recorded calls. A figure that
//! is not known is absent, never zero.

mod calls;
mod canonical;
mod claim;
mod compression;
mod defect;
mod engagement;
mod latency;
mod message_changes;
mod progress;
mod reply_changes;
mod request_changes;
mod stream_changes;
mod tool_changes;

pub use calls::{ExtraCalls, UsageTotal, may_be_billed};
pub use canonical::{CanonicalError, canonical_json};
pub use claim::Claim;
pub use compression::{Calibration, CompressionPair, WireCompression};
pub use defect::{Change, Defect};
pub use engagement::{ArmEngagement, DeclaredChanges, Engagement, engagement};
pub use latency::{AddedTime, ClientTimes};
pub use message_changes::aligned;
pub use progress::{OutputProgress, StreamFidelity};
pub use reply_changes::{Delivered, reply_changes};
pub use request_changes::{cross_talk, request_changes};
pub use stream_changes::stream_changes;
