//! Ctrl-C, a polite kill and a terminal that goes away: once finishes what is in flight,
//! twice stops now.

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
    /// None where it is ignored, as under `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Interrupts {
    fn listen() -> std::io::Result<Self> {
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

    async fn next(&mut self) {
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

/// Whether the process was started to outlive its terminal. Where that cannot be told
/// the signal does what the system has it do.
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
