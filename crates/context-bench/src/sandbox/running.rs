//! A process that runs: its pipes, its end, and the end of all that it started.
//!
//! Three threads keep the pipes moving; the caller's thread waits and watches.
//! It stays for the whole run, because the launcher asks the kernel to die with
//! the thread that started it.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::watch::{Excess, Watch};

/// How often memory and files are looked at, and whether the process has ended.
const TICK: Duration = Duration::from_millis(50);

/// The same once a pipe is closed, which mostly means that it has.
const SHORT_TICK: Duration = Duration::from_millis(1);

/// How long pipes may stay open after everything was killed.
const GRACE: Duration = Duration::from_secs(2);

/// How long the killed may take to be gone. In containers whose first process does
/// not collect orphans they never are, so this is short.
#[cfg(unix)]
const GROUP_GRACE: Duration = Duration::from_millis(500);

/// How much is kept of the report, and of the end of the output.
const KEPT: usize = 8 * 1024;

/// How a process ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself; `None` when its status could not be read.
    Exited(Option<ExitStatus>),
    /// Killed, because its time was over.
    Timeout,
    /// Killed, because it took too much.
    Excess(Excess),
}

/// All that is left of a process.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    /// The beginning of what it wrote to standard output.
    pub(super) report: Vec<u8>,
    /// The end of what it wrote to standard error.
    pub(super) output: Vec<u8>,
}

/// What the reading threads tell.
enum Event {
    Report(Vec<u8>),
    Output(Vec<u8>),
    TooMuch,
}

/// Starts the command, hands it the input and waits for its end.
pub(super) fn run(
    mut command: Command,
    input: Vec<u8>,
    wall: Duration,
    output_limit: u64,
    watch: &Watch<'_>,
) -> io::Result<Ended> {
    let deadline = Instant::now() + wall;
    let mut child = command.spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("the child has no pipes"));
    };
    let (report, events) = channel();
    let output = report.clone();
    std::thread::spawn(move || {
        // A process that is gone needs no input; its end is noticed elsewhere.
        let _ = stdin.write_all(&input);
    });
    std::thread::spawn(move || read_report(stdout, &report));
    std::thread::spawn(move || read_output(stderr, output_limit, &output));

    let mut pipes = Pipes {
        events,
        open: 2,
        report: Vec::new(),
        output: Vec::new(),
    };
    let end = wait(&mut child, &mut pipes, deadline, watch);
    kill_all(&mut child);
    let status = child.wait().ok();
    wait_for_group(&child);
    let grace = Instant::now() + GRACE;
    while pipes.open > 0 && Instant::now() < grace {
        pipes.next(TICK);
    }
    Ok(Ended {
        end: end.unwrap_or(End::Exited(status)),
        report: pipes.report,
        output: pipes.output,
    })
}

/// Waits until the process has ended (`None`) or must be killed.
fn wait(child: &mut Child, pipes: &mut Pipes, deadline: Instant, watch: &Watch<'_>) -> Option<End> {
    let mut next_look = Instant::now() + 2 * TICK;
    loop {
        let tick = if pipes.open < 2 { SHORT_TICK } else { TICK };
        let now = Instant::now();
        if pipes.next(tick.min(deadline.saturating_duration_since(now))) {
            return Some(End::Excess(Excess::Output));
        }
        if has_ended(child) {
            return None;
        }
        let now = Instant::now();
        if now >= deadline {
            return Some(End::Timeout);
        }
        if now >= next_look {
            if let Some(excess) = watch.excess(child.id()) {
                return Some(End::Excess(excess));
            }
            next_look = now + TICK;
        }
    }
}

/// The other ends of the two pipes that the process writes to.
struct Pipes {
    events: Receiver<Event>,
    open: usize,
    report: Vec<u8>,
    output: Vec<u8>,
}

impl Pipes {
    /// Waits for the next event; whether there was too much output.
    fn next(&mut self, wait: Duration) -> bool {
        match self.events.recv_timeout(wait) {
            Ok(Event::Report(bytes)) => {
                self.report = bytes;
                self.open -= 1;
            }
            Ok(Event::Output(bytes)) => {
                self.output = bytes;
                self.open -= 1;
            }
            Ok(Event::TooMuch) => return true,
            Err(RecvTimeoutError::Timeout) => {}
            // Both readers are gone, so this no longer waits by itself.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(wait),
        }
        false
    }
}

/// Keeps the beginning and reads on to the end.
fn read_report(mut pipe: impl Read, events: &Sender<Event>) {
    let mut kept = Vec::new();
    let mut buffer = [0; KEPT];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let room = KEPT - kept.len();
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
    let _ = events.send(Event::Report(kept));
}

/// Keeps the end and says so once when there is too much.
fn read_output(mut pipe: impl Read, limit: u64, events: &Sender<Event>) {
    let mut kept: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0_u64;
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let was_within = total <= limit;
        total += count as u64;
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
        if was_within && total > limit {
            let _ = events.send(Event::TooMuch);
        }
    }
    let _ = events.send(Event::Output(kept));
}

/// Whether the process has ended; it stays a zombie, so that its number, which
/// is the number of its group, is not given to another process.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match pid(child) {
        Some(pid) => !matches!(waitid(WaitId::Pid(pid), options), Ok(None)),
        None => true,
    }
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Kills the process and its whole group.
fn kill_all(child: &mut Child) {
    #[cfg(unix)]
    if let Some(pid) = pid(child) {
        // An error means that nothing of the group is left.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    // An error means that the child has ended.
    let _ = child.kill();
}

/// Waits a little until nothing of the group is left. Its number is not given
/// away as long as something is, and no signal is sent.
fn wait_for_group(child: &Child) {
    #[cfg(unix)]
    if let Some(pid) = pid(child) {
        let end = Instant::now() + GROUP_GRACE;
        while rustix::process::test_kill_process_group(pid).is_ok() && Instant::now() < end {
            std::thread::sleep(SHORT_TICK);
        }
    }
    #[cfg(not(unix))]
    let _ = child;
}

#[cfg(unix)]
fn pid(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?)
}
