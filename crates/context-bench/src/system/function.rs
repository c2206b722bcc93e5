//! A closure as a system.

use std::sync::Arc;

use async_trait::async_trait;

use super::{System, SystemError};
use crate::model::{Example, Output};

/// A system made of a name and a closure; see [`from_fn`].
pub struct FnSystem<F> {
    name: Arc<str>,
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
        process,
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

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        (self.process)(example)
    }
}
