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

/// How long what is in flight may go on after the time of a run is over.
const GRACE: std::time::Duration = std::time::Duration::from_secs(30);

/// Ends the run after some seconds; the task is finished once that happened.
pub(crate) fn stop_after(seconds: Option<f64>, stop: Stop) -> Option<tokio::task::JoinHandle<()>> {
    let limit = std::time::Duration::from_secs_f64(seconds?);
    Some(tokio::spawn(async move {
        tokio::time::sleep(limit).await;
        output::warning("the time of `--max-time` is over: finishing what is in flight");
        stop.drain();
        tokio::spawn(async move {
            tokio::time::sleep(GRACE).await;
            stop.abort();
        });
    }))
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
