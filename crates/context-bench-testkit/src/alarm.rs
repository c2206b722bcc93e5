//! Waiting to a fraction of a millisecond.
//!
//! The runtime's own timer rounds up to whole milliseconds, which makes a reply
//! "after 50 ms" one after 51 ms: too coarse to measure a harness by. Here one
//! thread sleeps for all waits of a server.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Instant;

use tokio::sync::oneshot;

/// The waits of one server; dropping it ends its thread.
#[derive(Default)]
pub(crate) struct Alarm {
    waits: Arc<Waits>,
    started: OnceLock<()>,
}

#[derive(Default)]
struct Waits {
    state: Mutex<State>,
    /// The first of the waits is another one, or the server is gone.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waits: BTreeMap<(Instant, u64), oneshot::Sender<()>>,
    n: u64,
    closed: bool,
}

impl Alarm {
    /// Waits until then.
    pub(crate) async fn wait_until(&self, then: Instant) {
        self.started.get_or_init(|| {
            let waits = Arc::clone(&self.waits);
            let thread = std::thread::Builder::new().name("alarm".to_owned());
            drop(
                thread
                    .spawn(move || waits.ring())
                    .expect("the system has a thread for the alarm"),
            );
        });
        let (sender, receiver) = oneshot::channel();
        let first = {
            let mut state = self.waits.lock();
            let key = (then, state.n);
            state.n += 1;
            state.waits.insert(key, sender);
            state.waits.first_key_value().map(|(first, _)| *first) == Some(key)
        };
        if first {
            self.waits.changed.notify_one();
        }
        // An error means that the server ends, and this connection with it.
        let _ = receiver.await;
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.waits.lock().closed = true;
        self.waits.changed.notify_one();
    }
}

impl Waits {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Rings for those whose time has come, for as long as the server lives.
    fn ring(&self) {
        let mut state = self.lock();
        while !state.closed {
            let now = Instant::now();
            let Some(first) = state.waits.first_entry() else {
                state = self.changed.wait(state).unwrap_or_else(|e| e.into_inner());
                continue;
            };
            let left = first.key().0.saturating_duration_since(now);
            if left.is_zero() {
                // Whoever no longer waits has closed the connection.
                let _ = first.remove().send(());
                continue;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(|e| e.into_inner());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn waits_end_in_the_order_of_their_times_and_not_before() {
        let alarm = Arc::new(Alarm::default());
        // Until all of them wait before the first of them is due.
        for lead in [50, 500, 5_000, 50_000] {
            let started = Instant::now() + Duration::from_millis(lead);
            let (sender, mut ended) = tokio::sync::mpsc::unbounded_channel();
            for ms in [30, 10, 20, 10, 0] {
                let (alarm, sender) = (alarm.clone(), sender.clone());
                tokio::spawn(async move {
                    let then = started + Duration::from_millis(ms);
                    alarm.wait_until(then).await;
                    assert!(Instant::now() >= then);
                    // Nobody listens where they began too late.
                    let _ = sender.send(ms);
                });
            }
            drop(sender);
            tokio::task::yield_now().await;
            if Instant::now() >= started {
                continue;
            }
            let mut order = Vec::new();
            while let Some(ms) = ended.recv().await {
                order.push(ms);
            }
            assert_eq!(order, [0, 10, 10, 20, 30]);
            return;
        }
        panic!("it is always too late");
    }
}
