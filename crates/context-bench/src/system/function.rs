//! A closure as a system.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::{System, SystemError};
use crate::mask::Mask;
use crate::model::{Example, Identity, Output};

/// A system made of a name and a closure; see [`from_fn`].
pub struct FnSystem<F> {
    name: Arc<str>,
    version: Option<String>,
    process: F,
}

/// Makes a system of a closure.
///
/// ```
/// use context_bench::{Output, system};
///
/// let shout = system::from_fn("shout", |example| {
///     Ok(Output::reply(example, example.context().to_uppercase()))
/// });
/// ```
pub fn from_fn<F>(name: impl Into<Arc<str>>, process: F) -> FnSystem<F>
where
    F: Fn(&Example) -> Result<Output, SystemError> + Send + Sync,
{
    FnSystem {
        name: name.into(),
        version: None,
        process,
    }
}

impl<F> FnSystem<F> {
    /// Lets stored answers be reused. Code cannot be told apart by its content,
    /// so you vouch for it: give another version whenever answers may differ.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }
}

#[async_trait]
impl<F> System for FnSystem<F>
where
    F: Fn(&Example) -> Result<Output, SystemError> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({
            "name": *self.name,
            "version": Mask::Digest.setting(self.version.as_ref()?),
        });
        Some(Identity::new("function", 1, settings))
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        (self.process)(example)
    }
}
