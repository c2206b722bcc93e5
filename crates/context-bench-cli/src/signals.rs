//! Ctrl-C: once finishes what is in flight, twice stops now.

use context_bench::Stop;

use crate::output;

/// Lets Ctrl-C (and a polite kill) stop the run, until the returned task is dropped.
pub(crate) fn stop_on_interrupt(stop: Stop) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        if interrupted().await.is_err() {
            return;
        }
        output::note("\ninterrupted: finishing what is in flight; press Ctrl-C again to stop now");
        stop.drain();
        if interrupted().await.is_ok() {
            stop.abort();
        }
    })
}

#[cfg(unix)]
async fn interrupted() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupt = tokio::signal::ctrl_c() => interrupt,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn interrupted() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
