//! `RankedMemory`: a history, and a ranker that says which of it to hand over.

use std::sync::Arc;

use super::history::History;
use super::ranker::Ranker;
use super::state::State;
use super::{Ingested, Memory, MemoryError, MemorySettings, Query, Recalled, Tools};
use crate::Turn;
use crate::tokens::CountTokens;

/// A history, and a ranker that says which of it to hand over.
pub(super) struct RankedMemory {
    settings: MemorySettings,
    history: History,
    ranker: Box<dyn Ranker>,
    counter: Arc<dyn CountTokens>,
}

impl RankedMemory {
    pub(super) fn new(settings: MemorySettings, ranker: Box<dyn Ranker>, tools: &Tools) -> Self {
        Self {
            settings,
            history: History::default(),
            ranker,
            counter: Arc::clone(&tools.counter),
        }
    }

    /// What a state must agree with. How much is recalled is not part of it: that can
    /// change without taking the conversation in again.
    fn identity(&self) -> String {
        let kind = self.settings.kind;
        match self.ranker.belongs_to() {
            Some(model) => format!("{kind} with {model}"),
            None => kind.to_string(),
        }
    }
}

impl Memory for RankedMemory {
    fn name(&self) -> String {
        self.settings.to_string()
    }

    fn reset(&mut self) {
        self.history = History::default();
        self.ranker.clear();
    }

    fn ingest(&mut self, turns: &[Turn]) -> Result<Ingested, MemoryError> {
        let ingested = self.history.add(turns, &*self.counter)?;
        self.ranker.add(turns);
        Ok(ingested)
    }

    fn recall(&self, query: &Query<'_>) -> Result<Recalled, MemoryError> {
        let candidates = self.ranker.rank(query, &self.history)?;
        let most = match self.ranker.is_limited() {
            true => self.settings.top_k,
            false => usize::MAX,
        };
        let budgets = [self.settings.budget_tokens, query.budget_tokens];
        Ok(self.history.recall(
            candidates.into_iter().take(most),
            budgets.into_iter().flatten().min(),
            self.ranker.too_large(),
        ))
    }

    fn save(&self) -> Vec<u8> {
        let state = State {
            identity: self.identity(),
            turns: self.history.turns().to_vec(),
            ranker: self.ranker.save(),
        };
        state.to_bytes()
    }

    fn load(&mut self, state: &[u8]) -> Result<(), MemoryError> {
        let state = State::from_bytes(state)?;
        let expected = self.identity();
        if state.identity != expected {
            return Err(MemoryError::StateOfAnother {
                found: state.identity,
                expected,
            });
        }
        let history = History::of(&state.turns, &*self.counter)?;
        self.ranker.load(&state.turns, &state.ranker)?;
        self.history = history;
        Ok(())
    }
}
