//! `GuardedProgram`: a trusted program that runs beside us and ends with us, together with
//! everything that it started, whatever happens to us.
//!
//! The launcher in a third role (`launcher/guard.rs`) stands between us and the program: it
//! leads a session, inherits the orphans below it, and kills all of them when its input
//! ends, be it because we closed it or because we are gone. Where there is no launcher, the
//! program leads a group and a shell watches our end; what leaves the group is then not seen.
//!
//! Nothing is restricted here: this is for the user's own programs.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::Launcher;

/// The argument that makes the launcher a guard.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "Linux only"))]
pub(super) const STAGE: &str = "guard";

/// How long a guard may take to end what it watches over.
const END: Duration = Duration::from_secs(10);

/// Ends the group in `$1` when its input ends.
#[cfg(unix)]
const WATCHER: &str = "read -r _; kill -KILL -- \"-$1\"";

/// A program, and what it is started with.
#[derive(Debug, Clone, Default)]
pub struct GuardedProgram {
    /// The program, a path or a name on the search path of its own environment.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder that it starts in; ours unless set.
    pub folder: Option<PathBuf>,
    /// The program that can be a guard; unless set, this program when it is
    /// `context-bench`.
    pub launcher: Option<Launcher>,
}

/// A program that runs; dropping this ends it and everything that it started.
#[derive(Debug)]
pub struct GuardedProcess {
    child: Child,
    /// The guard's input, or that of the watcher.
    lifeline: Option<ChildStdin>,
    watcher: Option<Child>,
    is_guarded: bool,
    ended: Option<ExitStatus>,
}

impl GuardedProgram {
    /// Starts it, with its output in pipes and no input.
    ///
    /// # Errors
    ///
    /// When it cannot be started. With a guard this shows in its exit code (127) instead.
    pub fn start(&self) -> io::Result<GuardedProcess> {
        let launcher = self.launcher.clone().or_else(Launcher::current);
        let can_guard = cfg!(all(
            target_os = "linux",
            any(
                target_arch = "x86_64",
                target_arch = "aarch64",
                target_arch = "riscv64"
            )
        ));
        match launcher.filter(|_| can_guard) {
            Some(launcher) => self.with_guard(&launcher),
            None => self.without_guard(),
        }
    }

    fn with_guard(&self, launcher: &Launcher) -> io::Result<GuardedProcess> {
        let mut command = Command::new(&launcher.program);
        command.args(&launcher.arguments).arg(STAGE);
        command.arg(&self.program).args(&self.arguments);
        command.stdin(Stdio::piped());
        let mut child = self.piped(command).spawn()?;
        Ok(GuardedProcess {
            lifeline: child.stdin.take(),
            child,
            watcher: None,
            is_guarded: true,
            ended: None,
        })
    }

    fn without_guard(&self) -> io::Result<GuardedProcess> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = self.piped(command).spawn()?;
        // Without a shell nobody sees our end; everything else still works.
        let mut watcher = watcher(child.id()).ok();
        Ok(GuardedProcess {
            lifeline: watcher.as_mut().and_then(|watcher| watcher.stdin.take()),
            child,
            watcher,
            is_guarded: false,
            ended: None,
        })
    }

    fn piped(&self, mut command: Command) -> Command {
        command.env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

#[cfg(unix)]
fn watcher(group: u32) -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WATCHER, "sh"]).arg(group.to_string());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

#[cfg(not(unix))]
fn watcher(_group: u32) -> io::Result<Child> {
    Err(io::ErrorKind::Unsupported.into())
}

impl GuardedProcess {
    /// What the program writes, once: its standard output and its standard error.
    pub fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// How the program ended, if it has: of a program with a guard, 128 and the number of
    /// the signal that ended it.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Ends the program and everything that it started, and waits for that.
    pub fn end(&mut self) {
        if self.is_guarded {
            self.lifeline = None;
            let begun = Instant::now();
            while self.ended().is_none() && begun.elapsed() < END {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        self.kill_group();
        if self.ended.is_none() {
            let _ = self.child.kill();
            self.ended = self.child.wait().ok();
        }
        if let Some(mut watcher) = self.watcher.take() {
            // It would end a group of the same number that is not ours any more.
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }

    /// What a guard that was killed left, or a program without one.
    fn kill_group(&self) {
        // Once both are gone the number may be somebody else's.
        let is_needed = !self.is_guarded || self.ended.is_none();
        #[cfg(unix)]
        if is_needed
            && let Ok(number) = i32::try_from(self.child.id())
            && let Some(group) = rustix::process::Pid::from_raw(number)
        {
            // An error means that nothing of the group is left.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        let _ = is_needed;
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    fn shell(text: &str) -> GuardedProgram {
        GuardedProgram {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), text.into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            ..GuardedProgram::default()
        }
    }

    fn is_there(pid: &str) -> bool {
        Command::new("kill")
            .args(["-0", pid])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    #[test]
    fn without_a_launcher_a_program_ends_with_its_group() {
        let mut process = shell("sleep 600 & echo $!; wait").start().expect("started");
        let (out, _) = process.take_output();
        let mut line = String::new();
        BufReader::new(out.expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        let pid = line.trim();
        assert!(is_there(pid), "{pid}");
        assert_eq!(process.ended(), None);
        process.end();
        // Whoever inherited it may take a moment to notice that it is dead.
        let begun = Instant::now();
        while is_there(pid) {
            assert!(begun.elapsed() < Duration::from_secs(300), "{pid} lives");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn the_environment_is_what_was_given_and_the_end_is_told() {
        let mut program = shell("echo \"$A-$HOME-$PWD\"; exit 7");
        program.environment.push(("A".into(), "b c".into()));
        program.folder = Some("/".into());
        let mut process = program.start().expect("started");
        let (out, _) = process.take_output();
        let mut line = String::new();
        BufReader::new(out.expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        assert_eq!(line.trim(), "b c--/");
        let begun = Instant::now();
        let status = loop {
            match process.ended() {
                Some(status) => break status,
                None => assert!(begun.elapsed() < Duration::from_secs(300)),
            }
        };
        assert_eq!(status.code(), Some(7));
        assert!(shell("").start().is_ok());
        program.program = "/no/such/program".into();
        assert!(program.start().is_err());
    }
}
