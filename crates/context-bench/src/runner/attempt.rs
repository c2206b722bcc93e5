//! One example through one system, timed: the latency of a row.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use super::stop::Stop;
use super::timed::{CallEnd, timed};
use crate::chat::observed;
use crate::error::panic_message;
use crate::model::{API_REPLY, CallStats, Example, FailureKind, Output};
use crate::stopwatch::Stopwatch;
use crate::system::{CallProbe, System, SystemError};

/// What a call gave and when it ran.
pub(super) struct Attempt {
    pub(super) result: Result<Output, SystemError>,
    pub(super) started: Instant,
    /// From the start to the end of the call.
    pub(super) elapsed: Duration,
    /// The time inside the system only.
    pub(super) latency: Duration,
    /// Who watched its calls, where somebody did.
    pub(super) probe: Option<Arc<dyn CallProbe>>,
}

impl Attempt {
    /// Whether the endpoint said that it has too much to do.
    pub(super) fn was_throttled(&self) -> bool {
        let call = match &self.result {
            Ok(output) => output.call(),
            Err(error) => error.call.as_deref().copied(),
        };
        call.is_some_and(|call| call.throttled > 0)
    }
}

/// Calls the system; a panic inside it, or taking longer than `limit` of its own
/// time, becomes an error. `None` when the run was stopped before anything was
/// sent: the example was then not begun.
pub(super) async fn attempt(
    system: &dyn System,
    example: &Example,
    limit: Option<Duration>,
    stop: &Stop,
    watch: Stopwatch,
) -> Option<Attempt> {
    let started = Instant::now();
    let probe = system.observe(example);
    let observer = probe.clone().map(CallProbe::observer);
    let calling = observed(observer, call(system, example));
    let calling = AssertUnwindSafe(calling).catch_unwind();
    let result = timed(&watch, calling, limit, stop).await;
    let elapsed = started.elapsed();
    let given_up = |kind, message: String| {
        let stats = Some(watch.stats()).filter(CallStats::made_requests);
        let error = SystemError::new(kind, message);
        Err(SystemError {
            call: stats.map(Box::new),
            ..error
        })
    };
    let result = match result {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => {
            let message = format!("the system panicked: {}", panic_message(&*panic));
            given_up(FailureKind::Panic, message)
        }
        Err(CallEnd::Late) => {
            let limit = limit.unwrap_or_default().as_secs_f64();
            watch.timed_out();
            let message = format!("no answer within {limit} s for this example");
            given_up(FailureKind::Timeout, message)
        }
        Err(CallEnd::Stopped) if watch.stats().made_requests() => {
            let message = "the run was stopped while the example waited for its next request";
            given_up(FailureKind::Other, message.into())
        }
        Err(CallEnd::Stopped) => return None,
    };
    let call = match &result {
        Ok(output) => output.call(),
        Err(error) => error.call.as_deref().copied(),
    };
    // Waiting for our own limits and threads, before the next attempt and for a
    // connection is not the system's time. Systems of
    // other languages may know more about it than the stopwatch.
    let paced = call.map_or(Duration::ZERO, |call| call.pace_wait);
    let reading = watch.read();
    let paused = reading.paused.max(paced);
    Some(Attempt {
        result,
        started,
        elapsed,
        latency: elapsed.saturating_sub(paused + reading.aside),
        probe,
    })
}

async fn call(system: &dyn System, example: &Example) -> Result<Output, SystemError> {
    let conversation = example
        .conversation()
        .map_err(|error| SystemError::new(FailureKind::BadExample, error.to_string()))?;
    match (conversation, system.as_conversation()) {
        (Some(turns), Some(talker)) => {
            let replies = talker.answer_conversation(example, &turns).await?;
            let mut output = Output::conversation(example, &replies.turns);
            if !replies.remarks.is_empty() {
                output = output.with(API_REPLY, replies.remarks);
            }
            if let Some(usage) = replies.usage {
                output = output.with("api_usage", usage);
            }
            Ok(match replies.call {
                Some(call) => output.with_call(call),
                None => output,
            })
        }
        _ => system.process(example).await,
    }
}
