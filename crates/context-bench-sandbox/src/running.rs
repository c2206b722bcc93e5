//! A running process: its pipes, its end, and the end of everything that it started.
//!
//! Three threads keep the pipes moving; the caller's thread waits and watches.
//! It stays for the whole run, because the launcher asks the kernel to die with
//! the thread that started it.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Launcher;
use super::clock::{Clock, Time};
use super::tree::Tree;
use super::warden::Warden;
use super::watch::{Excess, Watch};

/// How often memory and files are looked at, and whether the process has ended.
const TICK: Duration = Duration::from_millis(50);

/// The same once a pipe is closed, which mostly means that it has.
const SHORT_TICK: Duration = Duration::from_millis(1);

/// How long a process may take to end after its report; and how long pipes may stay
/// open after everything was killed, when no more is needed than the end of the output.
const GRACE: Duration = Duration::from_secs(2);

/// The same when the report is not whole. What was killed with much memory, on a busy
/// machine, can take long to be gone, and its pipes are open until then.
const REPORT_GRACE: Duration = Duration::from_secs(10);

/// How long the killed may take to be gone. In containers whose first process does
/// not collect orphans they never are, so this is short.
#[cfg(unix)]
const GROUP_GRACE: Duration = Duration::from_millis(500);

/// How much is kept of the report, and of the end of the output.
const KEPT: usize = 8 * 1024;

/// More processes that want to run at once than honest programs have; they have to
/// give way to others.
#[cfg(target_os = "linux")]
const MANY_RUNNING: usize = 3;

/// The lowest priority that there is.
#[cfg(target_os = "linux")]
const LAST: i32 = 19;

/// How a process ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself; `None` when its status could not be read.
    Exited(Option<ExitStatus>),
    /// With a whole report; what it started may have taken longer and was killed.
    Reported,
    /// Killed, because its time was over; whether that is in doubt.
    Timeout { in_doubt: bool },
    /// Killed, because it took too much.
    Excess(Excess),
}

/// What is left of a process that has ended.
#[derive(Debug)]
pub(super) struct ProcessResult {
    pub(super) end: End,
    /// The beginning of what it wrote to standard output.
    pub(super) report: Vec<u8>,
    /// The end of what it wrote to standard error.
    pub(super) output: Vec<u8>,
}

/// Under which terms a process runs.
pub(super) struct Terms<'a> {
    pub(super) input: Vec<u8>,
    pub(super) clock: Clock,
    pub(super) watch: Watch<'a>,
    /// How many lines a whole report has.
    pub(super) report_lines: usize,
    /// Who ends the process when we cannot.
    pub(super) warden: Option<(&'a Warden, &'a Launcher)>,
}

/// What the reading threads report.
enum Event {
    /// There is more of the report.
    Report,
    TooMuch,
    Closed,
}

/// What a thread has read so far.
type ReadBuffer = Arc<Mutex<Vec<u8>>>;

/// Starts the command, hands it the input and waits for its end.
pub(super) fn run(mut command: Command, terms: Terms<'_>) -> io::Result<ProcessResult> {
    let mut child = command.spawn()?;
    let guarded = terms
        .warden
        .map(|(warden, launcher)| warden.guard(launcher, child.id()));
    let ward = match guarded.transpose() {
        Ok(ward) => ward,
        Err(error) => {
            kill_all(&mut child);
            let _ = child.wait();
            return Err(error);
        }
    };
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("the child has no pipes"));
    };
    let input = terms.input;
    std::thread::spawn(move || {
        // A process that is gone needs no input; its end is noticed elsewhere.
        let _ = stdin.write_all(&input);
    });
    let (events, received) = channel();
    let mut pipes = Pipes {
        events: received,
        open: 2,
        report: ReadBuffer::default(),
        report_lines: terms.report_lines,
        output: ReadBuffer::default(),
    };
    let (report, also) = (Arc::clone(&pipes.report), events.clone());
    std::thread::spawn(move || read_report(stdout, &report, &also));
    let (output, limit) = (Arc::clone(&pipes.output), terms.watch.limits.output);
    std::thread::spawn(move || read_output(stderr, limit, &output, &events));

    let end = wait(&mut child, &mut pipes, terms.clock, &terms.watch);
    kill_all(&mut child);
    // Its number is its own until its end is collected, so nobody else can be meant.
    drop(ward);
    let status = child.wait().ok();
    wait_for_group(&child);
    let killed = Instant::now();
    while pipes.open > 0 {
        let is_enough = end.is_some() || pipes.has_report();
        let grace = if is_enough { GRACE } else { REPORT_GRACE };
        if killed.elapsed() >= grace {
            break;
        }
        pipes.next(TICK);
    }
    Ok(ProcessResult {
        end: end.unwrap_or(End::Exited(status)),
        report: lock(&pipes.report).clone(),
        output: lock(&pipes.output).clone(),
    })
}

/// Waits until the process has ended by itself (`None`), has nothing more to say or must
/// be killed.
fn wait(child: &mut Child, pipes: &mut Pipes, mut clock: Clock, watch: &Watch<'_>) -> Option<End> {
    let mut next_look = Instant::now() + 2 * TICK;
    let mut reported = None;
    loop {
        let is_ending = pipes.open < 2 || reported.is_some();
        let tick = if is_ending { SHORT_TICK } else { TICK };
        let left = clock.until_limit();
        let tick = if left.is_zero() { tick } else { tick.min(left) };
        if pipes.next(tick) {
            return Some(End::Excess(Excess::Output));
        }
        if has_ended(child) {
            return None;
        }
        let now = Instant::now();
        if reported.is_none() && pipes.has_report() {
            reported = Some(now);
        }
        if reported.is_some_and(|reported| now >= reported + GRACE) {
            return Some(End::Reported);
        }
        if now < next_look && !clock.until_limit().is_zero() {
            continue;
        }
        next_look = now + TICK;
        let tree = Tree::below(child.id());
        clock.look(&tree);
        match clock.time() {
            // Its time ended with its report.
            _ if reported.is_some() => {}
            Time::Left => {}
            Time::Over => return Some(End::Timeout { in_doubt: false }),
            Time::InDoubt => return Some(End::Timeout { in_doubt: true }),
        }
        if let Some(excess) = watch.excess(&tree) {
            return Some(End::Excess(excess));
        }
        make_way(&tree, child);
    }
}

/// Lets programs that want many processors at once have what others leave.
fn make_way(tree: &Tree, child: &Child) {
    #[cfg(target_os = "linux")]
    {
        let running = tree.processes.iter().filter(|process| process.state == 'R');
        if running.count() >= MANY_RUNNING {
            // An error means that they are gone, or have that priority.
            let _ = rustix::process::setpriority_pgrp(pid(child), LAST);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (tree, child);
}

/// The other ends of the two pipes that the process writes to.
struct Pipes {
    events: Receiver<Event>,
    open: usize,
    report: ReadBuffer,
    report_lines: usize,
    output: ReadBuffer,
}

impl Pipes {
    /// Waits for the next event; whether there was too much output.
    fn next(&mut self, wait: Duration) -> bool {
        match self.events.recv_timeout(wait) {
            Ok(Event::Closed) => self.open -= 1,
            Ok(Event::TooMuch) => return true,
            Ok(Event::Report) | Err(RecvTimeoutError::Timeout) => {}
            // Both readers are gone, so this no longer waits by itself.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(wait),
        }
        false
    }

    /// Whether all of the report is there.
    fn has_report(&self) -> bool {
        let report = lock(&self.report);
        report.iter().filter(|byte| **byte == b'\n').count() >= self.report_lines
    }
}

fn lock(kept: &ReadBuffer) -> MutexGuard<'_, Vec<u8>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the beginning and reads on to the end.
fn read_report(mut pipe: impl Read, kept: &ReadBuffer, events: &Sender<Event>) {
    let mut buffer = [0; KEPT];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let mut kept = lock(kept);
        let room = KEPT - kept.len();
        kept.extend_from_slice(&buffer[..count.min(room)]);
        drop(kept);
        if room > 0 {
            let _ = events.send(Event::Report);
        }
    }
    let _ = events.send(Event::Closed);
}

/// Keeps the end and says so once when there is too much.
fn read_output(mut pipe: impl Read, limit: u64, kept: &ReadBuffer, events: &Sender<Event>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0_u64;
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let was_within = total <= limit;
        total += count as u64;
        let mut kept = lock(kept);
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
        drop(kept);
        if was_within && total > limit {
            let _ = events.send(Event::TooMuch);
        }
    }
    let _ = events.send(Event::Closed);
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
