//! The bytes of a saved memory.
//!
//! A line that names format and version with a digest of the rest, a line of JSON, then
//! what the ranker keeps. Damaged bytes are found before anything is taken from them.

use context_bench_scoring::digest;
use serde::{Deserialize, Serialize};

use super::MemoryError;
use crate::Turn;

const MAGIC: &str = "context-bench-memory 1 ";

/// What a memory took in.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    /// Whose state it is.
    pub(super) identity: String,
    /// The turns, in order.
    pub(super) turns: Vec<Turn>,
    /// What the ranker keeps.
    pub(super) ranker: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    identity: String,
    turns: Vec<Turn>,
}

impl State {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            identity: self.identity.clone(),
            turns: self.turns.clone(),
        };
        // Text keys and no maps: writing cannot fail.
        let mut rest = serde_json::to_vec(&head).unwrap_or_default();
        rest.push(b'\n');
        rest.extend_from_slice(&self.ranker);
        let mut bytes = format!("{MAGIC}{}\n", digest::hex(&rest)).into_bytes();
        bytes.append(&mut rest);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, MemoryError> {
        let damaged = |problem: &str| MemoryError::DamagedState {
            problem: problem.to_owned(),
        };
        let (first, rest) = line(bytes).ok_or_else(|| damaged("it has no first line"))?;
        let named = first.strip_prefix(MAGIC.as_bytes());
        let named = named.ok_or_else(|| damaged("it is not a state of this version"))?;
        if named != digest::hex(rest).as_bytes() {
            return Err(damaged("its digest does not fit its content"));
        }
        let (head, ranker) = line(rest).ok_or_else(|| damaged("it ends early"))?;
        let Head { identity, turns } =
            serde_json::from_slice(head).map_err(|error| damaged(&error.to_string()))?;
        Ok(Self {
            identity,
            turns,
            ranker: ranker.to_vec(),
        })
    }
}

/// The first line without its end, and what follows.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_or_missing_byte_is_found() {
        let state = State {
            identity: "bm25".into(),
            turns: vec![Turn::new("1", "user", "two\nlines")],
            ranker: vec![0, 10, 255],
        };
        let bytes = state.to_bytes();
        assert_eq!(State::from_bytes(&bytes), Ok(state));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(State::from_bytes(&changed).is_err(), "byte {at}");
            assert!(State::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
    }
}
