//! Ctrl-C, SIGTERM and a closed terminal: the first finishes calls in flight, the second stops
//! at once.

use context_bench::Stop;

use crate::output;

/// What is said when calls in flight are finished.
pub(crate) const FINISHING: &str =
    "\ninterrupted: finishing the calls in flight; press Ctrl-C again to stop at once";

/// Lets these signals stop the run until the returned task is aborted; `said` is told then.
pub(crate) fn stop_on_interrupt(stop: Stop, said: &'static str) -> tokio::task::JoinHandle<()> {
    // Listening starts before the task does, so that no signal is missed.
    let interrupts = Interrupts::listen();
    tokio::spawn(async move {
        let Ok(mut interrupts) = interrupts else {
            return;
        };
        interrupts.next().await;
        output::note(said);
        stop.drain();
        interrupts.next().await;
        stop.abort();
    })
}

/// Signals that ask the program to end.
#[cfg(unix)]
pub(crate) struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` where the process ignores it, as under `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Interrupts {
    pub(crate) fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: match ignores_hangup() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
        })
    }

    pub(crate) async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether the process was started to outlive its terminal. Where that is unknown, the signal
/// keeps the effect that the system gave it.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return true;
    };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signal 1 is the lowest bit.
    ignored.is_none_or(|mask| mask & 1 == 1)
}

/// Signals that ask the program to end.
#[cfg(windows)]
pub(crate) struct Interrupts(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Interrupts {
    pub(crate) fn listen() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    pub(crate) async fn next(&mut self) {
        self.0.recv().await;
    }
}
