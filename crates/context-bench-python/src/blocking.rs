//! The runtime of calls that Python makes directly, such as `proxy.process`.
//!
//! Each run has its own runtime, which ends with the run. This one stays for the life of the
//! process; a forked child makes its own, because threads are not inherited.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::error::bug;

static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

/// Waits for a future without blocking other threads of Python. Ctrl-C is noticed at once.
pub(crate) fn wait<T: Send>(py: Python<'_>, future: impl Future<Output = T> + Send) -> PyResult<T> {
    let runtime = runtime()?;
    let mut future = Box::pin(future);
    loop {
        let done = py.detach(|| {
            runtime.block_on(async {
                tokio::time::timeout(crate::executor::SIGNAL_INTERVAL, &mut future)
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
    // Held only briefly, because the caller also holds the interpreter.
    let mut slot = RUNTIME.lock().unwrap_or_else(|e| e.into_inner());
    let process = std::process::id();
    if let Some((owner, runtime)) = slot.take() {
        if owner == process {
            *slot = Some((owner, Arc::clone(&runtime)));
            return Ok(runtime);
        }
        // Its threads belong to the parent process; dropping it would wait for them forever.
        std::mem::forget(runtime);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("context-bench")
        .enable_all()
        .build()
        .map_err(|error| bug(&format!("cannot start threads: {error}")))?;
    let runtime = Arc::new(runtime);
    *slot = Some((process, Arc::clone(&runtime)));
    Ok(runtime)
}
