//! One runtime for calls that Python makes directly, such as `proxy.process`.
//!
//! Runs have runtimes of their own that end with them. This one stays, so it is
//! bound to its process: after a fork the child makes its own, because threads
//! are not inherited.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::error::bug;

static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

/// Waits for a future without holding up other threads of Python. Ctrl-C is
/// heard at once.
pub(crate) fn wait<T: Send>(py: Python<'_>, future: impl Future<Output = T> + Send) -> PyResult<T> {
    let runtime = runtime()?;
    let mut future = Box::pin(future);
    loop {
        let done = py.detach(|| {
            runtime.block_on(async {
                tokio::time::timeout(crate::lane::TICK, &mut future)
                    .await
                    .ok()
            })
        });
        match done {
            Some(done) => return Ok(done),
            None => py.check_signals()?,
        }
    }
}

/// The runtime of this process.
fn runtime() -> PyResult<Arc<Runtime>> {
    // Held for a moment, by threads that hold the interpreter too.
    let mut slot = RUNTIME.lock().unwrap_or_else(|e| e.into_inner());
    let process = std::process::id();
    if let Some((owner, runtime)) = slot.take() {
        if owner == process {
            *slot = Some((owner, Arc::clone(&runtime)));
            return Ok(runtime);
        }
        // Its threads are those of the parent; ending it would wait for them.
        std::mem::forget(runtime);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("context-bench")
        .enable_all()
        .build()
        .map_err(|error| bug(&format!("no threads can be started: {error}")))?;
    let runtime = Arc::new(runtime);
    *slot = Some((process, Arc::clone(&runtime)));
    Ok(runtime)
}
