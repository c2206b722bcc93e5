//! One example through one system, timed.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use crate::model::{Example, FailureKind, Output};
use crate::system::{System, SystemError};

/// What a call gave and when it ran. `latency` is the time inside the system only.
pub(super) struct Attempt {
    pub(super) result: Result<Output, SystemError>,
    pub(super) started: Instant,
    pub(super) latency: Duration,
}

/// Calls the system; a panic inside it becomes an error.
pub(super) async fn attempt(system: &dyn System, example: &Example) -> Attempt {
    let started = Instant::now();
    let result = AssertUnwindSafe(call(system, example)).catch_unwind().await;
    let latency = started.elapsed();
    let result = result.unwrap_or_else(|panic| {
        let message = format!("the system panicked: {}", panic_message(&*panic));
        Err(SystemError::new(FailureKind::Panic, message))
    });
    Attempt {
        result,
        started,
        latency,
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
