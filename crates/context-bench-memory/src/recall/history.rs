//! `History`: the turns that a memory took in, with their lines and tokens.

use std::collections::HashMap;

use super::ranker::{Candidate, TooLarge};
use super::{Ingested, MemoryError, Recalled, RecalledTurn};
use crate::tokens::CountTokens;
use crate::{Turn, TurnId};

/// The turns that a memory took in.
#[derive(Default)]
pub(super) struct History {
    turns: Vec<Turn>,
    lines: Vec<String>,
    tokens: Vec<u64>,
    positions: HashMap<TurnId, usize>,
}

impl History {
    pub(super) fn of(turns: &[Turn], counter: &dyn CountTokens) -> Result<Self, MemoryError> {
        let mut history = Self::default();
        history.add(turns, counter)?;
        Ok(history)
    }

    /// Takes turns in; all or, where two have the same id, none.
    pub(super) fn add(
        &mut self,
        turns: &[Turn],
        counter: &dyn CountTokens,
    ) -> Result<Ingested, MemoryError> {
        let before = self.turns.len();
        for (n, turn) in turns.iter().enumerate() {
            if self.positions.contains_key(&turn.id) {
                self.positions.retain(|_, position| *position < before);
                let id = turn.id.clone();
                return Err(MemoryError::DuplicateTurn { id });
            }
            self.positions.insert(turn.id.clone(), before + n);
        }
        for turn in turns {
            let line = turn.line();
            self.tokens.push(counter.count(&line));
            self.lines.push(line);
        }
        self.turns.extend_from_slice(turns);
        Ok(Ingested {
            turns: turns.len(),
            tokens: self.tokens[before..].iter().sum(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(super) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    pub(super) fn position(&self, id: &TurnId) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// The candidates that fit, and their lines in the order of the conversation.
    pub(super) fn recall(
        &self,
        candidates: impl Iterator<Item = Candidate>,
        budget: Option<u64>,
        too_large: TooLarge,
    ) -> Recalled {
        let mut left = budget.unwrap_or(u64::MAX);
        let mut recalled = Recalled::default();
        for Candidate { position, score } in candidates {
            let tokens = self.tokens[position];
            if tokens > left {
                match too_large {
                    TooLarge::Stop => break,
                    TooLarge::Skip => continue,
                }
            }
            left -= tokens;
            recalled.tokens += tokens;
            recalled.turns.push(RecalledTurn {
                id: self.turns[position].id.clone(),
                position,
                score,
                tokens,
            });
        }
        let mut positions: Vec<usize> = recalled.turns.iter().map(|turn| turn.position).collect();
        positions.sort_unstable();
        let lines: Vec<&str> = positions
            .iter()
            .map(|at| self.lines[*at].as_str())
            .collect();
        recalled.text = lines.join("\n");
        recalled
    }
}
