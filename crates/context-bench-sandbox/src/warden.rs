//! `Warden`: a process that outlives ours for a moment and ends what we left.
//!
//! A program dies with the thread that started it, but not what that program
//! started, and a killed program can clean up nothing. The warden is given the group
//! of each program before that gets its job, and when its input ends, because we
//! are gone, it kills the groups that it still has. It is the launcher in another
//! role (`launcher/warden.rs`), in a session of its own.

use std::io::{self, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::Launcher;

/// The argument that makes the launcher a warden.
pub(super) const STAGE: &str = "warden";

/// Watches over all programs of a sandbox; started with the first one.
#[derive(Debug, Default)]
pub(super) struct Warden {
    process: Mutex<Option<Watcher>>,
}

#[derive(Debug)]
struct Watcher {
    child: Child,
    input: ChildStdin,
}

/// A group that is killed when we are; let go when this is dropped.
#[derive(Debug)]
pub(super) struct Ward<'a> {
    warden: &'a Warden,
    group: u32,
}

impl Warden {
    /// Has that group killed when we are gone.
    pub(super) fn guard(&self, launcher: &Launcher, group: u32) -> io::Result<Ward<'_>> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was killed is replaced.
        let told = process.as_mut().map(|watcher| watcher.tell('+', group));
        if !matches!(told, Some(Ok(()))) {
            let mut watcher = Watcher::start(launcher)?;
            watcher.tell('+', group)?;
            *process = Some(watcher);
        }
        Ok(Ward {
            warden: self,
            group,
        })
    }
}

impl Drop for Ward<'_> {
    fn drop(&mut self) {
        let process = self.warden.process.lock();
        if let Some(watcher) = process.unwrap_or_else(PoisonError::into_inner).as_mut() {
            // When the warden has exited there is nothing to release.
            let _ = watcher.tell('-', self.group);
        }
    }
}

impl Watcher {
    fn start(launcher: &Launcher) -> io::Result<Self> {
        let mut command = Command::new(&launcher.program);
        command.args(&launcher.arguments).arg(STAGE).env_clear();
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        match child.stdin.take() {
            Some(input) => Ok(Self { child, input }),
            None => Err(io::Error::other("the warden has no input")),
        }
    }

    fn tell(&mut self, what: char, group: u32) -> io::Result<()> {
        self.input.write_all(format!("{what}{group}\n").as_bytes())
    }
}

impl Drop for Watcher {
    /// No program runs any more, so nobody is left without a warden.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
