//! A call under a stopwatch: it ends by itself, by its limit, or by the stop of
//! the run, if that finds it waiting for us.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

use super::stop::Stop;
use crate::stopwatch::Stopwatch;

/// Why a call gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// It took longer than its limit, pauses apart.
    Late,
    /// The run was stopped while the call waited for one of our own limits.
    Stopped,
}

/// Waits for a call, at most `limit` of its own time.
pub(super) async fn timed<F: Future>(
    watch: &Stopwatch,
    call: F,
    limit: Option<Duration>,
    stop: &Stop,
) -> Result<F::Output, CallEnd> {
    let started = Instant::now();
    let mut call = pin!(watch.time(call));
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    let mut stopped: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
    std::future::poll_fn(|context| {
        // Before the call: a pause that ends right after it must not be missed.
        watch.wake(context.waker());
        if let Poll::Ready(output) = call.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        let reading = watch.read();
        if reading.is_paused {
            let mut is_stopped = stop.is_stopped();
            if !is_stopped {
                let stopped = stopped.get_or_insert_with(|| Box::pin(stop.draining()));
                is_stopped = stopped.as_mut().poll(context).is_ready();
            }
            // The pause may just have ended; then the call goes on.
            if is_stopped && watch.give_up() {
                return Poll::Ready(Err(CallEnd::Stopped));
            }
            return Poll::Pending;
        }
        match limit {
            Some(limit) => {
                let due = started.checked_add(reading.paused.saturating_add(limit));
                expired(&mut timer, due, context).map(|()| Err(CallEnd::Late))
            }
            None => Poll::Pending,
        }
    })
    .await
}

/// Ready once the time has come; a time that does not exist never comes.
fn expired(
    timer: &mut Option<Pin<Box<Sleep>>>,
    due: Option<Instant>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let Some(due) = due.map(tokio::time::Instant::from_std) else {
        return Poll::Pending;
    };
    let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
    if timer.deadline() != due {
        timer.as_mut().reset(due);
    }
    timer.as_mut().poll(context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stopwatch::pausing;
    use std::future::pending;
    use tokio::time::sleep;

    const TICK: Duration = Duration::from_millis(40);
    /// Longer than any machine needs.
    const HOUR: Duration = Duration::from_secs(3600);

    async fn ends(
        call: impl Future<Output = ()>,
        limit: Duration,
        stop: &Stop,
    ) -> Result<(), CallEnd> {
        timed(&Stopwatch::default(), call, Some(limit), stop).await
    }

    #[tokio::test]
    async fn only_the_time_of_the_system_counts() {
        let stop = Stop::new();
        assert_eq!(ends(sleep(TICK), HOUR, &stop).await, Ok(()));
        let hangs = pending();
        assert_eq!(ends(hangs, TICK, &stop).await, Err(CallEnd::Late));
        // No time of its own at all: a pause may be as long as it likes.
        let waits = pausing(sleep(TICK));
        assert_eq!(ends(waits, Duration::ZERO, &stop).await, Ok(()));
        // What comes after a pause has all the time that was left before it.
        let began = Instant::now();
        let waits_and_hangs = async {
            pausing(sleep(4 * TICK)).await;
            pending::<()>().await;
        };
        let ended = ends(waits_and_hangs, 2 * TICK, &stop).await;
        assert_eq!(ended, Err(CallEnd::Late));
        assert!(began.elapsed() >= 6 * TICK, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_stop_ends_what_waits_and_nothing_else() {
        let stop = Stop::new();
        stop.drain();
        assert_eq!(ends(sleep(TICK), HOUR, &stop).await, Ok(()));
        // Without the stop it would end well at some point.
        let waits = pausing(sleep(HOUR));
        assert_eq!(ends(waits, HOUR, &stop).await, Err(CallEnd::Stopped));
    }

    #[tokio::test]
    async fn a_pause_may_end_on_another_thread() {
        let watch = Stopwatch::default();
        let pause = watch.pause();
        let began = Instant::now();
        let other = std::thread::spawn(move || {
            std::thread::sleep(4 * TICK);
            pause.end()
        });
        let ended = timed(&watch, pending::<()>(), Some(TICK), &Stop::new()).await;
        assert_eq!(ended, Err(CallEnd::Late));
        assert!(began.elapsed() >= 4 * TICK, "{:?}", began.elapsed());
        assert!(other.join().unwrap_or_default());
    }
}
