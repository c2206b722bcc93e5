//! The guard: runs a program and kills everything below it when its own input ends.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, kill_process_group,
    set_child_subreaper, wait,
};

use super::super::tree::Tree;
use super::{AtStep as _, FailedStep, own_session};

/// How often it is checked that our parent is the same, should somebody else hold the
/// other end of the input too.
const PARENT_CHECK: Duration = Duration::from_millis(500);

/// How long those that were killed may take to be gone before they are looked for again.
const AGAIN: Duration = Duration::from_millis(2);

/// The exit code of a program that cannot be started, as shells have it.
const NOT_STARTED: u8 = 127;

/// Runs the program of these words and gives its exit code once nothing of it is left.
pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> Result<ExitCode, FailedStep> {
    let parent = getppid();
    own_session()?;
    // Orphans come to us instead of the first process. The value only has to be there.
    set_child_subreaper(Some(getpid())).at("orphans")?;
    let program = words.next().unwrap_or_default();
    let child = Command::new(&program)
        .args(words)
        .stdin(Stdio::null())
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            let name = program.to_string_lossy();
            super::say("", &format!("`{name}` cannot be started: {error}"), true);
            return Ok(ExitCode::from(NOT_STARTED));
        }
    };
    let main = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    thread::spawn(move || {
        let mut bytes = [0; 64];
        while matches!(io::stdin().read(&mut bytes), Ok(1..)) {}
        kill_all_below();
    });
    thread::spawn(move || {
        while getppid() == parent {
            thread::sleep(PARENT_CHECK);
        }
        kill_all_below();
    });
    let mut code = 0;
    // Every child is waited for, those that we inherited too, until there is none.
    while let Ok(Some((pid, status))) = wait(WaitOptions::empty()) {
        if Some(pid) == main {
            let status = std::process::ExitStatus::from_raw(status.as_raw());
            code = match (status.code(), status.signal()) {
                (Some(code), _) => code,
                (None, Some(signal)) => 128 + signal,
                (None, None) => 1,
            };
            // What it started means nothing without it.
            thread::spawn(kill_all_below);
        }
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Kills until this process ends, which it does when there is nobody left.
fn kill_all_below() {
    loop {
        for process in Tree::below(std::process::id())
            .processes
            .into_iter()
            .skip(1)
        {
            if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
                // An error means that it is gone.
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        thread::sleep(AGAIN);
    }
}
