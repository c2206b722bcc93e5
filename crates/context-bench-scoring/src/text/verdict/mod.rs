//! What a judge said: a rating on a scale, or which of two answers it prefers.
//!
//! Judges are asked for one number and write essays, fences, bold type and second
//! thoughts. The strongest kind of statement decides (an announced or bracketed
//! verdict before a number in passing), and among equals the last. Whatever stays
//! unclear is not a verdict: a guess would be a score that nobody gave.

mod cue;
mod json;
mod preference;
mod rating;
mod scale;
mod token;

pub use preference::{NoPreference, Preference, preference};
pub use rating::{NoRating, Rating, rating};
pub use scale::{Scale, ScaleError};

/// Raised whenever the same reply may be read differently than before.
pub const VERDICT_VERSION: u32 = 1;

/// The reply without the thoughts that some models put in front of it; `None`
/// when the thoughts do not end.
fn spoken(reply: &str) -> Option<&str> {
    let mut rest = reply;
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        match rest.rfind(close) {
            Some(end) => rest = &rest[end + close.len()..],
            None if rest.trim_start().starts_with(open) => return None,
            None => {}
        }
    }
    Some(rest)
}
