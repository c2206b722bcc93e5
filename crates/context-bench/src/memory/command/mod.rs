//! `CommandMemory`: a memory in any language, as child processes that speak JSON lines.
//!
//! Each instance is a child of its own. The child reads one request per line and writes
//! one reply per line, in order (`docs/reference/memory-protocol.md`). No shell is involved.

mod instance;
mod protocol;
mod saved_state;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::instance::CommandInstance;
use super::{MemoryProvider, MemorySystem};
use crate::model::Identity;
use crate::system::command::{Program, identity};
use crate::system::{CommandError, CommandSettings, SystemError};

/// How to run a command as a memory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CommandMemorySettings {
    /// The command, its variables and secrets. `timeout` is for everything but taking a
    /// conversation in; `processes` means nothing here, as the run decides how many
    /// instances it opens.
    pub command: CommandSettings,
    /// How long a conversation may take to be taken in; one hour unless set, because
    /// memories ask models about every turn.
    pub ingest_timeout: Duration,
}

impl CommandMemorySettings {
    /// The defaults for this command.
    pub fn new(command: CommandSettings) -> Self {
        Self {
            command,
            ingest_timeout: Duration::from_secs(60 * 60),
        }
    }
}

/// A memory that is a command; see [`CommandMemorySettings`].
///
/// A child that crashes, writes something else than JSON or takes too long is killed with
/// all it started, and the question that it was asked fails, with what it wrote to
/// standard error last. For the next question a new child takes the conversation in
/// again. Dropping an instance kills its child.
#[derive(Debug)]
pub struct CommandMemory {
    shared: Arc<Shared>,
}

/// What the instances of a command have in common.
#[derive(Debug)]
struct Shared {
    program: Program,
    settings: CommandMemorySettings,
}

impl CommandMemory {
    /// Makes a memory; no child is started yet.
    ///
    /// # Errors
    ///
    /// When the command is empty or its program cannot be found.
    pub fn new(settings: CommandMemorySettings) -> Result<Self, CommandError> {
        let program = Program::new(&settings.command, "a request")?;
        Ok(Self {
            shared: Arc::new(Shared { program, settings }),
        })
    }
}

#[async_trait]
impl MemoryProvider for CommandMemory {
    fn name(&self) -> &str {
        self.shared.program.name()
    }

    fn identity(&self) -> Option<Identity> {
        let command = identity::describe(&self.shared.settings.command);
        Some(Identity::new("memory_command", 1, command))
    }

    /// Whether a child saves anything it says itself, and a state says which version it is of.
    fn state_identity(&self) -> Option<Identity> {
        let command = identity::describe(&self.shared.settings.command);
        Some(Identity::new("memory_command_state", 1, command))
    }

    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        let instance = CommandInstance::start(Arc::clone(&self.shared)).await?;
        Ok(Arc::new(instance))
    }
}
