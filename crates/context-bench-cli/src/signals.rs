//! Ctrl-C: once finishes what is in flight, twice stops now.

use context_bench::Stop;

use crate::output;

/// Lets Ctrl-C (and a polite kill) stop the run, until the returned task is dropped.
pub(crate) fn stop_on_interrupt(stop: Stop) -> tokio::task::JoinHandle<()> {
    // Listening begins here and never pauses, so that no signal goes unheard.
    let interrupts = Interrupts::listen();
    tokio::spawn(async move {
        let Ok(mut interrupts) = interrupts else {
            return;
        };
        interrupts.next().await;
        output::note("\ninterrupted: finishing what is in flight; press Ctrl-C again to stop now");
        stop.drain();
        interrupts.next().await;
        stop.abort();
    })
}

#[cfg(unix)]
struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Interrupts(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Interrupts {
    fn listen() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
