//! The instances of a memory in a run: which conversation each has taken in.
//!
//! A conversation is taken in when the first question about it comes, once, whatever comes
//! at the same time. What goes wrong with that is the failure of every question about it.
//! An instance is dropped when nobody asks about its conversation any more.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use indexmap::IndexMap;
use serde_json::Value;
use tokio::sync::{Notify, OnceCell, OwnedSemaphorePermit, Semaphore};

use super::kept_ingests::{IngestFigures, KeptIngests};
use super::system::{Ingest, MemoryProvider, MemorySystem};
use super::{History, Instances};
use crate::error::panic_message;
use crate::model::FailureKind;
use crate::stopwatch::{Stopwatch, pausing};
use crate::system::{Announcement, SystemError};
use crate::tokens::TokenCounter;

/// All instances of one memory.
pub(super) struct InstancePool {
    pub(super) provider: Arc<dyn MemoryProvider>,
    pub(super) kept: Option<KeptIngests>,
    pub(super) counter: Arc<dyn TokenCounter>,
    /// One that was opened to see whether that works.
    first: Mutex<Option<Arc<dyn MemorySystem>>>,
    many: Mutex<HashMap<String, Arc<Place>>>,
    one: Arc<Turns>,
}

/// An instance for one question.
pub(super) struct Taken<'a> {
    pub(super) ready: Ready,
    _alone: Option<OwnedSemaphorePermit>,
    _turn: Option<Turn<'a>>,
}

/// An instance with its conversation.
struct Place {
    history: Weak<History>,
    ready: OnceCell<Result<Ready, SystemError>>,
    /// Held during a query by memories that answer one question at a time.
    alone: Arc<Semaphore>,
}

/// An instance that has taken in a conversation, and what that took.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) instance: Arc<dyn MemorySystem>,
    pub(super) figures: IngestFigures,
    /// Whether the state was kept from an earlier run.
    pub(super) was_kept: bool,
}

impl InstancePool {
    pub(super) fn new(
        provider: Arc<dyn MemoryProvider>,
        kept: Option<KeptIngests>,
        counter: Arc<dyn TokenCounter>,
    ) -> Self {
        Self {
            provider,
            kept,
            counter,
            first: Mutex::default(),
            many: Mutex::default(),
            one: Arc::default(),
        }
    }

    /// Opens the first instance, which waits for its conversation.
    pub(super) async fn prepare(&self) -> Result<(), SystemError> {
        let first = self.provider.open().await?;
        *self.first.lock().unwrap_or_else(|e| e.into_inner()) = Some(first);
        Ok(())
    }

    /// An instance that has taken in nothing.
    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        let first = self.first.lock().unwrap_or_else(|e| e.into_inner()).take();
        match first {
            Some(first) => Ok(first),
            None => self.provider.open().await,
        }
    }

    /// Takes note of a question to come. The only instance of a memory must know of all
    /// questions about a conversation before it turns to another.
    pub(super) fn announce(&self, history: &History) -> Option<Announcement> {
        let is_one = self.provider.instances() == Instances::One;
        is_one.then(|| -> Announcement { Box::new(self.one.expect(&history.digest)) })
    }

    /// The instance for a question about a conversation. Waiting for it is not the time of
    /// the question.
    pub(super) async fn take(&self, history: &Arc<History>) -> Result<Taken<'_>, SystemError> {
        pausing(async {
            match self.provider.instances() {
                Instances::Many => self.take_one_of_many(history).await,
                Instances::One => self.take_the_one(history).await,
            }
        })
        .await
    }

    async fn take_one_of_many(&self, history: &Arc<History>) -> Result<Taken<'_>, SystemError> {
        let place = {
            let mut places = self.places();
            places.retain(|_, place| place.history.strong_count() > 0);
            let place = places.entry(history.digest.clone()).or_insert_with(|| {
                Arc::new(Place {
                    history: Arc::downgrade(history),
                    ready: OnceCell::new(),
                    alone: Arc::new(Semaphore::new(1)),
                })
            });
            Arc::clone(place)
        };
        let ready = place.ready.get_or_init(|| async {
            let instance = self.open().await?;
            self.fill(instance, history).await
        });
        let ready = ready.await.clone()?;
        let alone = match self.provider.queries_overlap() {
            true => None,
            false => Arc::clone(&place.alone).acquire_owned().await.ok(),
        };
        Ok(Taken {
            ready,
            _alone: alone,
            _turn: None,
        })
    }

    async fn take_the_one(&self, history: &Arc<History>) -> Result<Taken<'_>, SystemError> {
        let turn = self.one.wait(&history.digest).await;
        let known = self.one.ready(&history.digest);
        let ready = match known {
            Some(ready) => ready,
            None => {
                let instance = self.open().await?;
                // Whatever becomes of this, it has forgotten what it knew.
                self.one.forget();
                let ready = self.fill(instance, history).await;
                self.one.set(&history.digest, ready.clone());
                ready
            }
        }?;
        Ok(Taken {
            ready,
            _alone: None,
            _turn: Some(turn),
        })
    }

    /// Has an instance take in a conversation, or take back what it had saved of it. Requests
    /// and waits of that are not those of the question that happens to come first.
    async fn fill(
        &self,
        instance: Arc<dyn MemorySystem>,
        history: &Arc<History>,
    ) -> Result<Ready, SystemError> {
        let watch = Stopwatch::default();
        let filling = self.take_in(instance, history, &watch);
        let filling = AssertUnwindSafe(watch.time(filling)).catch_unwind();
        filling.await.unwrap_or_else(|panic| {
            // Kept as an error: the next question would only run into it again.
            let message = format!("ingest: the memory panicked: {}", panic_message(&*panic));
            Err(SystemError::new(FailureKind::Panic, message))
        })
    }

    async fn take_in(
        &self,
        instance: Arc<dyn MemorySystem>,
        history: &Arc<History>,
        watch: &Stopwatch,
    ) -> Result<Ready, SystemError> {
        let kept = self.kept.clone().zip(self.provider.state_identity());
        let kept = kept.map(|(kept, identity)| (kept, Arc::new(identity)));
        if let Some((kept, identity)) = &kept
            && let Some((figures, state)) = kept.load(identity, history).await
            // What cannot be loaded is taken in again, as if nothing had been kept.
            && instance.load(&state).await.unwrap_or(false)
        {
            return Ok(Ready {
                instance,
                figures,
                was_kept: true,
            });
        }
        let during = |stage: &str, error: SystemError| SystemError {
            failure: crate::model::Failure::new(
                error.failure.kind,
                format!("{stage}: {}", error.failure.message),
            ),
            ..error
        };
        let reset = instance.reset().await;
        reset.map_err(|error| during("reset", error))?;
        let (started, before) = (Instant::now(), watch.read());
        let ingest = instance.ingest(&history.turns).await;
        let (elapsed, after) = (started.elapsed(), watch.read());
        let ingest = ingest.map_err(|error| during("ingest", error))?;
        // As with the latency of rows: our own limits, counting and connecting are not the
        // memory's time, and memories of other languages may know more about waits.
        let told = ingest.call.map(|call| call.pace_wait + call.retry_wait);
        let paused = after.paused.saturating_sub(before.paused);
        let paused = paused.max(told.unwrap_or_default());
        let seconds = elapsed.saturating_sub(paused + after.aside.saturating_sub(before.aside));
        let figures = self.figures(ingest, seconds, history);
        if let Some((kept, identity)) = kept
            && let Ok(Some(state)) = instance.save().await
        {
            // A full disk costs another ingest some day, and nothing now.
            kept.keep(identity, history, figures.clone(), state).await;
        }
        Ok(Ready {
            instance,
            figures,
            was_kept: false,
        })
    }

    fn figures(&self, ingest: Ingest, seconds: Duration, history: &History) -> IngestFigures {
        IngestFigures {
            seconds: seconds.as_secs_f64(),
            tokens: match ingest.tokens {
                Some(tokens) => tokens,
                None => history.tokens(&*self.counter),
            },
            requests: ingest.call.map_or(0, |call| call.attempts),
            usage: ingest.usage.map_or(Value::Null, Value::Object),
            details: match ingest.details.is_empty() {
                true => Value::Null,
                false => Value::Object(ingest.details),
            },
        }
    }

    fn places(&self) -> MutexGuard<'_, HashMap<String, Arc<Place>>> {
        // Held for looking up only; a poisoned lock changes nothing.
        self.many.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Turns at the only instance: conversations one after the other as they come, questions one
/// after the other.
#[derive(Default)]
struct Turns {
    state: Mutex<TurnState>,
    freed: Notify,
}

#[derive(Default)]
struct TurnState {
    busy: bool,
    /// The conversation that the instance has taken in.
    current: Option<(String, Ready)>,
    /// How many questions wait or are to come, by their conversation, in the order of these.
    waiting: IndexMap<String, usize>,
    /// Conversations that cannot be taken in.
    failed: HashMap<String, SystemError>,
}

/// The right to use the only instance.
struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().busy = false;
        self.0.freed.notify_waiters();
    }
}

/// A question that waits or is to come, until it is dropped.
struct Waiting {
    turns: Arc<Turns>,
    digest: String,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        if let Some(n) = state.waiting.get_mut(&self.digest) {
            *n -= 1;
            if *n == 0 {
                state.waiting.shift_remove(&self.digest);
            }
        }
        drop(state);
        self.turns.freed.notify_waiters();
    }
}

impl Turns {
    fn expect(self: &Arc<Self>, digest: &str) -> Waiting {
        *self.state().waiting.entry(digest.to_owned()).or_default() += 1;
        Waiting {
            turns: Arc::clone(self),
            digest: digest.to_owned(),
        }
    }

    async fn wait(self: &Arc<Self>, digest: &str) -> Turn<'_> {
        let waiting = self.expect(digest);
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // Before looking: what is freed in between must not be missed.
            freed.as_mut().enable();
            if self.state().begin(digest) {
                drop(waiting);
                return Turn(self);
            }
            freed.await;
        }
    }

    fn ready(&self, digest: &str) -> Option<Result<Ready, SystemError>> {
        let state = self.state();
        if let Some(error) = state.failed.get(digest) {
            return Some(Err(error.clone()));
        }
        let (current, ready) = state.current.as_ref()?;
        (current == digest).then(|| Ok(ready.clone()))
    }

    fn set(&self, digest: &str, ready: Result<Ready, SystemError>) {
        let mut state = self.state();
        match ready {
            Ok(ready) => state.current = Some((digest.to_owned(), ready)),
            Err(error) => {
                state.failed.insert(digest.to_owned(), error);
                state.current = None;
            }
        }
    }

    fn forget(&self) {
        self.state().current = None;
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        // Held for arithmetic only; a poisoned lock changes nothing.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl TurnState {
    /// Takes the instance for a question about that conversation, if it is its turn.
    /// Questions about the conversation that is there come first: another one would have to
    /// be taken in, and this one again.
    fn begin(&mut self, digest: &str) -> bool {
        let current = self.current.as_ref().map(|(current, _)| current.as_str());
        let comes_next = match current {
            Some(current) if self.waiting.contains_key(current) => current == digest,
            _ => self
                .waiting
                .keys()
                .next()
                .is_some_and(|next| next == digest),
        };
        let begins = comes_next && !self.busy;
        self.busy |= begins;
        begins
    }
}

/// The error for a question whose conversation is not at hand.
pub(super) fn no_conversation() -> SystemError {
    SystemError::new(
        FailureKind::BadExample,
        "the conversation of this question is not there: memories are asked about datasets \
         of conversations",
    )
}
