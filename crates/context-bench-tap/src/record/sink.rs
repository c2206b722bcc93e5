//! [`CallSink`]: where the records of a run go.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::CallRecord;
use crate::wire::WireReply;

/// Takes the records of a run, one after the other.
pub trait CallSink: Send {
    /// Takes a call with its bodies, of which each is there at most once.
    ///
    /// # Errors
    ///
    /// When it cannot be kept. The run goes on; failures are counted.
    fn call(&mut self, call: CallRecord, bodies: Vec<StoredBody>) -> std::io::Result<()>;

    /// The same, with what the answer says if it was read: who would read it again need not.
    ///
    /// # Errors
    ///
    /// As for [`CallSink::call`].
    fn call_read(
        &mut self,
        call: CallRecord,
        bodies: Vec<StoredBody>,
        reply: Option<WireReply>,
    ) -> std::io::Result<()> {
        drop(reply);
        self.call(call, bodies)
    }

    /// The call that it took last has left those in flight: who waited for it may look.
    fn settled(&mut self) {}

    /// Whether requests are summed up even where calls say themselves whose they are. Reading
    /// them costs more than all the rest of a record.
    fn wants_requests(&self) -> bool {
        true
    }

    /// Whether it takes a short call in next to no time. The relay then hands it over itself,
    /// instead of waking a thread for it.
    fn takes_at_once(&self) -> bool {
        false
    }
}

/// A body as it may be written down.
#[derive(Debug)]
pub enum StoredBody {
    /// In memory.
    Bytes {
        /// What records call it.
        digest: String,
        /// Its bytes, without secrets.
        bytes: Vec<u8>,
    },
    /// In a file, because it is long.
    File {
        /// What records call it.
        digest: String,
        /// The file, to be read from its beginning.
        file: std::fs::File,
    },
}

impl StoredBody {
    /// What records call it.
    pub fn digest(&self) -> &str {
        match self {
            Self::Bytes { digest, .. } | Self::File { digest, .. } => digest,
        }
    }
}

/// Keeps records in memory, for programs that look at them at once.
#[derive(Debug, Clone, Default)]
pub struct MemorySink {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    calls: Vec<CallRecord>,
    bodies: HashMap<String, Vec<u8>>,
}

impl MemorySink {
    /// The calls so far, in the order in which they ended.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.kept().calls.clone()
    }

    /// A body by its digest.
    pub fn body(&self, digest: &str) -> Option<Vec<u8>> {
        self.kept().bodies.get(digest).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallSink for MemorySink {
    fn call(&mut self, call: CallRecord, bodies: Vec<StoredBody>) -> std::io::Result<()> {
        for body in bodies {
            let (digest, bytes) = match body {
                StoredBody::Bytes { digest, bytes } => (digest, bytes),
                StoredBody::File { digest, mut file } => {
                    let mut bytes = Vec::new();
                    file.read_to_end(&mut bytes)?;
                    (digest, bytes)
                }
            };
            self.kept().bodies.insert(digest, bytes);
        }
        self.kept().calls.push(call);
        Ok(())
    }
}
