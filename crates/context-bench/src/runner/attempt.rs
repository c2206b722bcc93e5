//! One example through one system, timed.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use crate::model::{Example, FailureKind, Output};
use crate::system::{System, SystemError};

/// What a call gave and when it ran.
pub(super) struct Attempt {
    pub(super) result: Result<Output, SystemError>,
    pub(super) started: Instant,
    /// From the start to the end of the call.
    pub(super) elapsed: Duration,
    /// The time inside the system only.
    pub(super) latency: Duration,
}

impl Attempt {
    /// Whether the endpoint said that it has too much to do.
    pub(super) fn was_throttled(&self) -> bool {
        let call = match &self.result {
            Ok(output) => output.call(),
            Err(error) => error.call,
        };
        call.is_some_and(|call| call.throttled > 0)
    }
}

/// Calls the system; a panic inside it, or taking longer than `limit`, becomes
/// an error.
pub(super) async fn attempt(
    system: &dyn System,
    example: &Example,
    limit: Option<Duration>,
) -> Attempt {
    let started = Instant::now();
    let calling = AssertUnwindSafe(call(system, example)).catch_unwind();
    let result = match limit {
        None => calling.await,
        Some(limit) => match tokio::time::timeout(limit, calling).await {
            Ok(result) => result,
            Err(_) => {
                let message = format!(
                    "no answer within {} s for this example",
                    limit.as_secs_f64()
                );
                Ok(Err(SystemError::new(FailureKind::Timeout, message)))
            }
        },
    };
    let elapsed = started.elapsed();
    let result = result.unwrap_or_else(|panic| {
        let message = format!("the system panicked: {}", panic_message(&*panic));
        Err(SystemError::new(FailureKind::Panic, message))
    });
    let call = match &result {
        Ok(output) => output.call(),
        Err(error) => error.call,
    };
    // Waiting for our own rate limits is not the system's time.
    let paced = call.map_or(Duration::ZERO, |call| call.pace_wait);
    Attempt {
        result,
        started,
        elapsed,
        latency: elapsed.saturating_sub(paced),
    }
}

async fn call(system: &dyn System, example: &Example) -> Result<Output, SystemError> {
    let conversation = example
        .conversation()
        .map_err(|error| SystemError::new(FailureKind::BadExample, error.to_string()))?;
    match (conversation, system.as_conversation()) {
        (Some(turns), Some(talker)) => {
            let replies = talker.process_conversation(&turns).await?;
            let mut output = Output::conversation(example, &replies.turns);
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

/// The text of a panic, as far as there is one.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
