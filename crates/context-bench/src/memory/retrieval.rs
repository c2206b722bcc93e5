//! `RetrievalMemory`: the memories of `context-bench-memory` with somebody who answers.
//!
//! The memory recalls turns; an endpoint, or the baseline reader, answers from them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use context_bench_memory::{
    CountTokens, Memory, MemoryError, MemoryKind, MemorySettings, Query, Recalled, Tools, Turn,
    TurnId,
};
use serde_json::json;

use super::system::{Ingest, MemoryAnswer, MemoryProvider, MemoryQuery, MemorySystem, StageTimes};
use crate::error::Hint as _;
use crate::model::{FailureKind, Identity};
use crate::system::{System, SystemError};
use crate::tokens::TokenCounter;

/// Raised whenever a memory recalls or saves differently.
const VERSION: u32 = 1;

/// A memory that recalls turns, and who answers from them.
pub struct RetrievalMemory {
    name: String,
    settings: MemorySettings,
    tools: Tools,
    answerer: Arc<dyn System>,
}

impl RetrievalMemory {
    /// A memory of that name with these settings.
    ///
    /// # Errors
    ///
    /// When the memory needs an embedding model and there is none.
    pub fn new(
        name: impl Into<String>,
        settings: MemorySettings,
        tools: Tools,
        answerer: Arc<dyn System>,
    ) -> Result<Self, MemoryError> {
        settings.build(&tools)?;
        Ok(Self {
            name: name.into(),
            settings,
            tools,
            answerer,
        })
    }

    /// What makes vectors, where the memory needs that.
    fn embedder(&self) -> Option<&str> {
        let embedder = self.tools.embedder.as_ref();
        let needed = embedder.filter(|_| self.settings.kind.needs_embedder());
        needed.map(|embedder| embedder.name())
    }
}

#[async_trait]
impl MemoryProvider for RetrievalMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({
            "memory": self.settings,
            "embedding_model": self.embedder(),
            "answerer": self.answerer.identity()?.to_json(),
        });
        Some(Identity::new("retrieval_memory", VERSION, settings))
    }

    fn state_identity(&self) -> Option<Identity> {
        // Other settings choose among what was taken in and do not change it.
        let settings = json!({
            "kind": self.settings.kind,
            "embedding_model": self.embedder(),
            "tokens": self.tools.counter.name(),
        });
        // The others keep the turns as they are, which is done before a file is read.
        let builds = !matches!(
            self.settings.kind,
            MemoryKind::Naive | MemoryKind::Window | MemoryKind::Oracle | MemoryKind::None
        );
        builds.then(|| Identity::new("retrieval_memory", VERSION, settings))
    }

    fn queries_overlap(&self) -> bool {
        true
    }

    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        let memory = self
            .settings
            .build(&self.tools)
            .map_err(|error| failed(&error))?;
        Ok(Arc::new(Retrieval {
            memory: Arc::new(RwLock::new(memory)),
            answerer: Arc::clone(&self.answerer),
            is_slow: self.settings.kind.needs_embedder(),
        }))
    }
}

struct Retrieval {
    memory: SharedMemory,
    answerer: Arc<dyn System>,
    /// Whether recalling takes so long that other calls would wait for it.
    is_slow: bool,
}

impl Retrieval {
    /// Works on the memory off the threads that serve requests.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Memory) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, SystemError> {
        let memory = Arc::clone(&self.memory);
        let work = move || {
            let mut memory = memory.write().unwrap_or_else(PoisonError::into_inner);
            work(&mut **memory)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| panicked(&error))?
            .map_err(|error| failed(&error))
    }

    /// What the memory recalls, and how long that took it: waiting for a thread is our doing.
    async fn recall(&self, query: &MemoryQuery<'_>) -> Result<(Recalled, Duration), SystemError> {
        // A question without marks has nothing that the oracle could hand over.
        let evidence = query.evidence.unwrap_or_default();
        let budget_tokens = query.budget_tokens;
        if !self.is_slow {
            return recall(&self.memory, query.question, evidence, budget_tokens)
                .map_err(|error| failed(&error));
        }
        let memory = Arc::clone(&self.memory);
        let (text, evidence) = (query.question.to_owned(), evidence.to_vec());
        let work = move || recall(&memory, &text, &evidence, budget_tokens);
        let recalled = tokio::task::spawn_blocking(work).await;
        recalled
            .map_err(|error| panicked(&error))?
            .map_err(|error| failed(&error))
    }
}

type SharedMemory = Arc<RwLock<Box<dyn Memory>>>;

fn recall(
    memory: &SharedMemory,
    text: &str,
    evidence: &[TurnId],
    budget_tokens: Option<u64>,
) -> Result<(Recalled, Duration), MemoryError> {
    let memory = memory.read().unwrap_or_else(PoisonError::into_inner);
    let started = Instant::now();
    let recalled = memory.recall(&Query {
        text,
        evidence: Some(evidence),
        budget_tokens,
    })?;
    Ok((recalled, started.elapsed()))
}

#[async_trait]
impl MemorySystem for Retrieval {
    async fn reset(&self) -> Result<(), SystemError> {
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        memory.reset();
        Ok(())
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        let turns = turns.to_vec();
        let ingested = self.with(move |memory| memory.ingest(&turns)).await?;
        Ok(Ingest {
            tokens: Some(ingested.tokens),
            ..Ingest::default()
        })
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        let (recalled, retrieve) = self.recall(query).await?;
        let asked = query
            .example
            .clone()
            .with("context", recalled.text.as_str());
        let started = Instant::now();
        let output = self.answerer.process(&asked).await?;
        Ok(MemoryAnswer {
            answer: output.response().into_owned(),
            output: Some(output),
            context_tokens: Some(recalled.tokens),
            context: Some(recalled.text),
            recalled: Some(recalled.turns.into_iter().map(|turn| turn.id).collect()),
            times: StageTimes {
                retrieve: Some(retrieve),
                answer: Some(started.elapsed()),
            },
            ..MemoryAnswer::default()
        })
    }

    async fn save(&self) -> Result<Option<Vec<u8>>, SystemError> {
        self.with(|memory| Ok(Some(memory.save()))).await
    }

    async fn load(&self, state: &[u8]) -> Result<bool, SystemError> {
        let state = state.to_vec();
        self.with(move |memory| memory.load(&state)).await?;
        Ok(true)
    }
}

fn failed(error: &MemoryError) -> SystemError {
    let hint = error
        .hint()
        .map_or(String::new(), |hint| format!("; {hint}"));
    SystemError::new(FailureKind::Other, format!("{error}{hint}"))
}

fn panicked(error: &tokio::task::JoinError) -> SystemError {
    let kind = match error.is_panic() {
        true => FailureKind::Panic,
        false => FailureKind::Other,
    };
    SystemError::new(kind, format!("the memory failed: {error}"))
}

/// The counter of a run, for memories.
pub struct RunCounter(pub Arc<dyn TokenCounter>);

impl CountTokens for RunCounter {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self, text: &str) -> u64 {
        // Counters that fail do so for rows as well, where it is reported.
        self.0.try_count(text).unwrap_or(0)
    }
}
