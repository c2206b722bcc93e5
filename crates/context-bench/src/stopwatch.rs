//! `Stopwatch`: which part of a call is the system's own time.
//!
//! The runner starts one for every call and hands it down with the task, so that
//! no signature in between has to know. Whoever waits for something that is our
//! own doing (a rate limit, a free thread) stops it meanwhile: such waiting is no
//! latency, never makes an example too late, and need not be waited out when the
//! run is stopped. It also remembers what was sent, for calls that never return.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

use crate::model::CallStats;

tokio::task_local! {
    static CURRENT: Stopwatch;
}

/// The time of one call. Clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct Stopwatch(Arc<Inner>);

/// What is told when an attempt takes too long.
type OnTimeout = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    on_timeout: Option<OnTimeout>,
    /// The task that makes the call: pauses may begin and end on other threads.
    caller: AtomicWaker,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Inner");
        shown.field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    paused: Spans,
    /// Time that is not latency either, but in which the call is at work.
    aside: Spans,
    /// Nobody waits for the call any more.
    given_up: bool,
    sent: CallStats,
}

/// Spans of time that may overlap, without their overlaps.
#[derive(Debug, Default)]
struct Spans {
    /// Those that have not ended.
    open: usize,
    /// When the first of them began.
    since: Option<Instant>,
    /// Those that have ended.
    ended: Duration,
}

impl Spans {
    fn begin(&mut self) {
        if self.open == 0 {
            self.since = Some(Instant::now());
        }
        self.open += 1;
    }

    fn end(&mut self) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0
            && let Some(since) = self.since.take()
        {
            self.ended += since.elapsed();
        }
    }

    fn total(&self) -> Duration {
        let since = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.ended + since
    }
}

/// What a stopwatch shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Whether it stands still.
    pub(crate) is_paused: bool,
    /// For how long it has stood still.
    pub(crate) paused: Duration,
    /// For how long connections were set up.
    pub(crate) aside: Duration,
}

impl Stopwatch {
    /// The stopwatch of the call that this task makes, if it makes one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// One that reports every attempt that takes too long, as soon as it does: a call may be
    /// tried for a long time before it ends.
    pub(crate) fn telling(on_timeout: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            on_timeout: Some(Box::new(on_timeout)),
            ..Inner::default()
        }))
    }

    /// Tells that an attempt of the call that this task makes took too long.
    pub(crate) fn tell_timeout() {
        let _ = CURRENT.try_with(Self::timed_out);
    }

    /// Tells that an attempt took too long.
    pub(crate) fn timed_out(&self) {
        if let Some(tell) = &self.0.on_timeout {
            tell();
        }
    }

    /// Stops until the pause ends.
    #[must_use = "a pause ends when it is dropped"]
    pub fn pause(&self) -> Pause {
        self.state().paused.begin();
        Pause(Some(self.clone()))
    }

    /// Runs a call under this stopwatch.
    pub(crate) fn time<F: Future>(&self, call: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.clone(), call)
    }

    /// Wakes this task whenever a pause ends.
    pub(crate) fn wake(&self, waker: &std::task::Waker) {
        self.0.caller.register(waker);
    }

    /// Takes note of what a call is sending.
    pub(crate) fn sent(&self, note: impl FnOnce(&mut CallStats)) {
        note(&mut self.state().sent);
    }

    /// What was sent so far.
    pub(crate) fn stats(&self) -> CallStats {
        let Reading { paused, aside, .. } = self.read();
        let sent = self.state().sent;
        CallStats {
            pace_wait: paused.saturating_sub(sent.retry_wait),
            connect: aside,
            ..sent
        }
    }

    pub(crate) fn read(&self) -> Reading {
        let state = self.state();
        Reading {
            is_paused: state.paused.open > 0,
            paused: state.paused.total(),
            aside: state.aside.total(),
        }
    }

    /// Gives the call up, if it is waiting; whoever it waits for is told so by
    /// [`Pause::end`].
    pub(crate) fn give_up(&self) -> bool {
        let mut state = self.state();
        state.given_up |= state.paused.open > 0;
        state.given_up
    }

    fn resume(&self) -> bool {
        let mut state = self.state();
        state.paused.end();
        let wanted = !state.given_up;
        drop(state);
        self.0.caller.wake();
        wanted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Held for arithmetic only; a poisoned lock changes nothing.
        self.0.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A stopwatch that stands still until this is dropped.
#[derive(Debug)]
pub struct Pause(Option<Stopwatch>);

impl Pause {
    /// Lets the time go on; whether the call is still wanted.
    #[must_use = "a call that is not wanted should not be made"]
    pub fn end(mut self) -> bool {
        self.0.take().is_none_or(|watch| watch.resume())
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        if let Some(watch) = self.0.take() {
            watch.resume();
        }
    }
}

/// Waits for something that is not the doing of the system under test.
pub(crate) async fn pausing<F: Future>(waiting: F) -> F::Output {
    let _pause = Stopwatch::current().map(|watch| watch.pause());
    waiting.await
}

/// Does something whose time does not count as latency, although the call is at work.
pub(crate) async fn setting_aside<F: Future>(work: F) -> F::Output {
    let mut aside = Stopwatch::current().map(Aside::new);
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|cx| {
        // Somebody else finishes the work, because the call went on without it.
        if Stopwatch::current().is_none() {
            aside = None;
        }
        work.as_mut().poll(cx)
    })
    .await
}

struct Aside(Stopwatch);

impl Aside {
    fn new(watch: Stopwatch) -> Self {
        watch.state().aside.begin();
        Self(watch)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.0.state().aside.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pauses_are_counted_once_where_they_overlap() {
        let watch = Stopwatch::default();
        assert!(Stopwatch::current().is_none());
        let started = Instant::now();
        watch
            .time(async {
                let pause = || pausing(tokio::time::sleep(Duration::from_millis(30)));
                tokio::join!(pause(), pause(), pause());
            })
            .await;
        let Reading {
            is_paused, paused, ..
        } = watch.read();
        assert!(!is_paused && paused >= Duration::from_millis(30));
        assert!(paused <= started.elapsed(), "{paused:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(watch.read().paused, paused);
    }

    #[tokio::test]
    async fn what_is_set_aside_ends_with_the_call_that_waits_for_it() {
        let watch = Stopwatch::default();
        let nap = || tokio::time::sleep(Duration::from_millis(20));
        watch.time(setting_aside(nap())).await;
        let aside = watch.read().aside;
        assert!(aside >= Duration::from_millis(20));
        // Begun in the call, finished by somebody else.
        let mut left = Box::pin(setting_aside(async {
            nap().await;
            nap().await;
        }));
        let begun = async {
            let begin = std::future::poll_fn(|cx| {
                let _ = left.as_mut().poll(cx);
                std::task::Poll::Ready(())
            });
            begin.await;
        };
        watch.time(begun).await;
        left.await;
        let after = watch.read().aside;
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(watch.read().aside, after);
    }

    #[test]
    fn only_a_call_that_waits_can_be_given_up() {
        let watch = Stopwatch::default();
        assert!(!watch.give_up());
        let pause = watch.pause();
        assert!(pause.end());
        let pause = watch.pause();
        assert!(watch.give_up());
        assert!(!pause.end());
    }
}
