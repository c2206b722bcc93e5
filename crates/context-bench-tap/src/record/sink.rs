//! [`CallSink`]: where the records of a run go.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::{BodyRef, CallRecord};
use crate::wire::WireReply;

/// Takes the records of a run, one after the other.
pub trait CallSink: Send {
    /// Takes a call with its bodies. A record is long and passes many hands, hence the box.
    ///
    /// # Errors
    ///
    /// When it cannot be kept. The run goes on; failures are counted.
    fn call(&mut self, call: Box<CallRecord>, bodies: CallBodies) -> std::io::Result<()>;

    /// The call that it took last has left those in flight: who waited for it may look.
    fn settled(&mut self) {}

    /// Whether records are written down. Then there is no secret in them, their bodies have
    /// digests, and their requests and answers are summed up. Who only counts and compares says no,
    /// and gets headers and bodies as they were on the wire, and of answers what is counted and
    /// what tells whose they are: all the rest costs more than relaying a call.
    fn writes_down(&self) -> bool {
        true
    }

    /// Whether it takes a short call in next to no time. The relay then hands it over itself,
    /// instead of waking a thread for it.
    fn takes_at_once(&self) -> bool {
        false
    }
}

/// The bodies of a call, as far as they could be kept.
#[derive(Debug, Default)]
pub struct CallBodies {
    /// What was asked.
    pub request: Option<StoredBody>,
    /// What was answered.
    pub response: Option<StoredBody>,
    /// What the answer says, if it was read: who would read it again need not.
    pub said: Option<Box<WireReply>>,
}

impl CallBodies {
    /// Those that a record names, by their digests.
    pub(super) fn by_digest(self, call: &CallRecord) -> impl Iterator<Item = (&str, StoredBody)> {
        let response = call.response.as_ref().map(|response| &response.body);
        let pairs = [
            (Some(&call.request.body), self.request),
            (response, self.response),
        ];
        pairs
            .into_iter()
            .filter_map(|(refers, body)| Some((refers?.digest.as_deref()?, body?)))
    }
}

/// A body that was kept.
#[derive(Debug)]
pub enum StoredBody {
    /// In memory.
    Bytes(Vec<u8>),
    /// In a file without secrets, because it is long; to be read from its beginning.
    File(File),
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

    /// The bytes of a body, if they were kept.
    pub fn body(&self, body: &BodyRef) -> Option<Vec<u8>> {
        self.kept().bodies.get(body.digest.as_ref()?).cloned()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallSink for MemorySink {
    fn call(&mut self, call: Box<CallRecord>, bodies: CallBodies) -> std::io::Result<()> {
        for (digest, body) in bodies.by_digest(&call) {
            let bytes = match body {
                StoredBody::Bytes(bytes) => bytes,
                StoredBody::File(mut file) => {
                    let mut bytes = Vec::new();
                    file.read_to_end(&mut bytes)?;
                    bytes
                }
            };
            self.kept().bodies.insert(digest.to_owned(), bytes);
        }
        self.kept().calls.push(*call);
        Ok(())
    }
}
