//! `ControlSystem`: a system a second time, as an arm of its own (A/A). Whatever the two differ by is
//! noise.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::{Announcement, Conversation, Posting, System, SystemError};
use crate::model::{Example, Identity, Output};

/// Raised when stored answers of a control must not be reused.
const VERSION: u32 = 1;

/// A system under another name, whose stored answers are its own: one that reused those of the
/// system itself would never differ from it.
pub(crate) struct ControlSystem {
    name: String,
    system: Arc<dyn System>,
}

impl ControlSystem {
    pub(crate) fn new(name: impl Into<String>, system: Arc<dyn System>) -> Self {
        Self {
            name: name.into(),
            system,
        }
    }
}

#[async_trait]
impl System for ControlSystem {
    fn name(&self) -> &str {
        &self.name
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        self.system.process(example).await
    }

    fn identity(&self) -> Option<Identity> {
        let of = self.system.identity()?.to_json();
        Some(Identity::new("control", VERSION, json!({"of": of})))
    }

    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        self.system.prompt(example)
    }

    fn requests(&self, example: &Example) -> Option<Vec<Posting>> {
        self.system.requests(example)
    }

    fn counts_tokens(&self) -> bool {
        self.system.counts_tokens()
    }

    fn changes_context(&self) -> bool {
        self.system.changes_context()
    }

    async fn ready(&self) -> Result<(), SystemError> {
        self.system.ready().await
    }

    fn announce(&self, example: &Example) -> Option<Announcement> {
        self.system.announce(example)
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.system.as_conversation()
    }
}
