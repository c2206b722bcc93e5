//! Looking after every example: intervals and verdicts that stay valid whenever one stops.

mod confidence_sequence;
mod monitor;

pub use confidence_sequence::ConfidenceSequence;
pub use monitor::DifferenceMonitor;
