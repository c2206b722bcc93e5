//! One run of a program: what is started, and what its end means.

use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use super::clock::Clock;
use super::interpreter::Interpreter;
use super::job::Job;
use super::program::{DRIVER, STARTED};
use super::running::{self, End, ProcessResult, Terms};
use super::verdict::{REPORT_LINES, from_report, from_status};
use super::warden::Warden;
use super::watch::{Excess, Watch, remove};
use super::{Launcher, Limits, Outcome, Program, SandboxLevel, Verdict};

/// All of the environment that programs get, besides the private folder.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("PATH", "/usr/bin:/bin"),
    // Sets come out in the same order in every run.
    ("PYTHONHASHSEED", "0"),
    ("PYTHONUTF8", "1"),
    // Threads reserve much address space otherwise.
    ("MALLOC_ARENA_MAX", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
];

/// What a run needs to know.
pub(super) struct Start<'a> {
    pub(super) interpreter: &'a Interpreter,
    pub(super) launcher: Option<&'a Launcher>,
    pub(super) limits: &'a Limits,
    pub(super) level: SandboxLevel,
    pub(super) warden: &'a Warden,
    /// Whether nothing else of ours runs meanwhile.
    pub(super) alone: bool,
}

/// Runs a program to its end; `None` when its time ran out and nobody can say
/// whether it had that time. That does not happen to a program that runs alone.
pub(super) fn run(start: &Start<'_>, program: &Program) -> Option<Outcome> {
    let begun = Instant::now();
    let (verdict, output) = match start.run(program) {
        Ok(both) => both?,
        Err(error) => {
            let reason = format!("the sandbox cannot be started: {error}");
            (Verdict::CannotRun(reason), String::new())
        }
    };
    Some(Outcome {
        verdict,
        took: begun.elapsed(),
        output,
    })
}

impl Start<'_> {
    fn run(&self, program: &Program) -> io::Result<Option<(Verdict, String)>> {
        if program.candidates.is_empty() {
            return Ok(Some((Verdict::NoCode, String::new())));
        }
        let (secret, key) = (random_text()?, random_text()?);
        let folder = TempDir::with_prefix("context-bench-")?;
        // Where there is a launcher, it says a line of its own before the driver does.
        let contained = self.launcher.filter(|_| self.level.is_contained());
        let (command, mut input) = match contained {
            Some(launcher) => self.contained(launcher, &folder, &key)?,
            None => (self.plain(&folder), Vec::new()),
        };
        input.extend_from_slice(&program.frame());
        input.extend_from_slice(secret.as_bytes());
        let terms = Terms {
            input,
            clock: Clock::new(self.limits.wall, self.alone),
            watch: Watch {
                folder: folder.path(),
                limits: self.limits,
                level: self.level,
            },
            report_lines: usize::from(contained.is_some()) + 1 + REPORT_LINES,
            warden: contained.map(|launcher| (self.warden, launcher)),
        };
        let ended = running::run(command, terms);
        remove(folder);
        let ended = ended?;
        if matches!(ended.end, End::Timeout { in_doubt: true }) {
            return Ok(None);
        }
        let output = String::from_utf8_lossy(&ended.output).into_owned();
        let verdict = self.judge(&ended, &secret, &key, &output);
        Ok(Some((verdict, output)))
    }

    /// The launcher, which then becomes Python, and its job.
    fn contained(
        &self,
        launcher: &Launcher,
        folder: &TempDir,
        key: &str,
    ) -> io::Result<(Command, Vec<u8>)> {
        let limits = self.limits;
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let job = Job {
            key: key.to_owned(),
            level: self.level,
            python: self.interpreter.path.clone(),
            arguments: self.arguments(),
            environment: ENVIRONMENT.iter().map(owned).collect(),
            readable: self.interpreter.readable.clone(),
            folder: folder.path().to_owned(),
            memory: limits.memory,
            // More than the clock allows all processes together: it comes first, and
            // knows what it is about.
            cpu_s: limits.wall.as_secs().saturating_add(2),
            processes: limits.processes,
            file: limits.file,
            folder_bytes: limits.folder,
            open_files: limits.open_files,
        };
        let mut command = Command::new(&launcher.program);
        command.args(&launcher.arguments);
        command.arg(if self.level.has_namespaces() {
            "namespaces"
        } else {
            "restrict"
        });
        command.env_clear();
        Ok((piped(command), job.frame()?))
    }

    /// Python itself, without protection.
    fn plain(&self, folder: &TempDir) -> Command {
        let mut command = Command::new(&self.interpreter.path);
        command.args(self.arguments()).current_dir(folder.path());
        command.env_clear().envs(ENVIRONMENT);
        command.env("HOME", folder.path());
        command.env("TMPDIR", folder.path());
        // A group that is killed as a whole. The launcher makes its own, and the
        // system call filter keeps everybody in it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        piped(command)
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = self.interpreter.arguments();
        arguments.extend(["-c".into(), DRIVER.into()]);
        arguments
    }

    /// What the end of a process says about its program.
    fn judge(&self, ended: &ProcessResult, secret: &str, key: &str, output: &str) -> Verdict {
        let report = String::from_utf8_lossy(&ended.report);
        // Only the launcher knows the key, and the program runs only after it.
        let launched = if self.level.is_contained() {
            report.strip_prefix(&format!("{key} ready\n"))
        } else {
            Some(&*report)
        };
        let driver = launched.and_then(|rest| rest.strip_prefix(&format!("{STARTED}\n")));
        match (driver, &ended.end) {
            (_, End::Excess(Excess::Memory)) => Verdict::Memory,
            (_, End::Excess(Excess::Output)) => Verdict::OutputLimit,
            (_, End::Excess(Excess::Processes)) => {
                Verdict::SandboxViolation("more processes and threads than allowed".into())
            }
            (Some(_), End::Timeout { .. }) => Verdict::Timeout,
            (Some(report), End::Reported) => {
                from_report(report, secret).unwrap_or(Verdict::ExitedEarly)
            }
            (Some(report), End::Exited(status)) => {
                from_report(report, secret).unwrap_or_else(|| from_status(*status))
            }
            (None, End::Timeout { .. }) => {
                Verdict::CannotRun("python did not start in time".into())
            }
            (None, End::Exited(_) | End::Reported) => {
                let own = |line: &str| line.strip_prefix(key).map(|text| text.trim().to_owned());
                let failed = report.lines().filter_map(own).find(|text| text != "ready");
                let last = output.trim().lines().next_back().unwrap_or_default();
                Verdict::CannotRun(match (failed, launched) {
                    (Some(failed), _) => failed,
                    (None, Some(_)) => format!("python did not start: {last}"),
                    (None, None) => format!("the launcher failed: {last}"),
                })
            }
        }
    }
}

/// All three streams are pipes.
fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    command
}

/// 32 letters that nobody can guess.
fn random_text() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
