//! `SummaryMemory`: a rolling summary that a model keeps, and who answers from it.
//!
//! While a conversation is taken in, the model writes its notes anew after every session,
//! so every call needs the one before it. Answers rest on the notes and the last turns.

mod instance;
mod prompt;
mod settings;

pub use settings::{SummaryError, SummarySettings};

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use self::instance::Summary;
use super::{MemoryProvider, MemorySystem};
use crate::model::Identity;
use crate::system::{System, SystemError};
use crate::tokens::TokenCounter;

/// Raised whenever answers may differ although all settings are the same.
const VERSION: u32 = 1;

/// A rolling summary and who answers from it.
pub struct SummaryMemory {
    name: String,
    shared: Arc<Shared>,
}

/// What the instances have in common.
struct Shared {
    settings: SummarySettings,
    model: Arc<dyn System>,
    answerer: Arc<dyn System>,
    counter: Arc<dyn TokenCounter>,
}

impl SummaryMemory {
    /// A memory of that name whose notes `model` keeps and from which `answerer` answers.
    /// Tokens are those of `counter`.
    ///
    /// # Errors
    ///
    /// When there is no model.
    pub fn new(
        name: impl Into<String>,
        settings: SummarySettings,
        model: Option<Arc<dyn System>>,
        answerer: Arc<dyn System>,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Self, SummaryError> {
        let model = model.ok_or(SummaryError::NoModel)?;
        Ok(Self {
            name: name.into(),
            shared: Arc::new(Shared {
                settings,
                model,
                answerer,
                counter,
            }),
        })
    }
}

#[async_trait]
impl MemoryProvider for SummaryMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Option<Identity> {
        let Shared {
            settings, answerer, ..
        } = &*self.shared;
        let settings = json!({
            "state": self.state_identity()?.to_json(),
            "turns": settings.turns,
            "budget_tokens": settings.budget_tokens,
            "answerer": answerer.identity()?.to_json(),
        });
        Some(Identity::new("summary_memory", VERSION, settings))
    }

    fn state_identity(&self) -> Option<Identity> {
        // How many turns stand beside the notes, and who answers, does not change them.
        let Shared {
            settings, model, ..
        } = &*self.shared;
        let settings = json!({
            "summary_tokens": settings.summary_tokens,
            "chunk_tokens": settings.chunk_tokens,
            "tokens": self.shared.counter.name(),
            "prompt": prompt::VERSION,
            "model": model.identity()?.to_json(),
        });
        Some(Identity::new("summary_memory_state", VERSION, settings))
    }

    fn queries_overlap(&self) -> bool {
        true
    }

    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        Ok(Arc::new(Summary::new(Arc::clone(&self.shared))))
    }
}
