//! A sandbox for Python programs that a model wrote.
//!
//! [`Sandbox::run`] starts a separate process that cannot use the network, read
//! the user's files, write outside a private folder, outlive its time or take
//! the machine down, and reports how the program ended as a [`Verdict`]. The
//! restrictions are applied by a *launcher*: a program that restricts itself and
//! then becomes Python, so nothing unsafe runs between fork and exec. Which
//! mechanisms hold is found out by trying them once; see [`SandboxLevel`] and
//! `docs/adr/0007-sandbox.md`.
//!
//! This module knows Python but no benchmark: what a program consists of is
//! decided by the evaluator.

mod clock;
mod error;
mod guard;
mod interpreter;
mod job;
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod launcher;
mod level;
mod process;
mod program;
mod running;
mod settings;
mod tree;
mod verdict;
mod warden;
mod watch;

pub use error::SandboxError;
pub use guard::{GuardedProcess, GuardedProgram};
pub use level::SandboxLevel;
pub use program::Program;
pub use settings::{Launcher, Limits, SandboxSettings};
pub use verdict::Verdict;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use self::interpreter::Interpreter;
use self::level::PLANS;
use self::process::Start;
use self::warden::Warden;

/// The first argument that makes a program the launcher.
const LAUNCHER_ARGUMENT: &str = "__sandbox";

/// Read by everyone who runs a program, written by who runs one alone.
static TURN: RwLock<()> = RwLock::new(());

/// Acts as the launcher of the sandbox when the arguments say so, and gives its
/// exit code; it does not come back when all goes well. `None` means that the
/// program was started for its own work.
///
/// To be called first thing in `main`, before any thread exists:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     if let Some(code) = context_bench_sandbox::run_if_launcher(std::env::args_os()) {
///         return code;
///     }
///     std::process::ExitCode::SUCCESS // the program's own work
/// }
/// ```
pub fn run_if_launcher(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != LAUNCHER_ARGUMENT {
        return None;
    }
    #[cfg(all(
        target_os = "linux",
        any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64"
        )
    ))]
    return Some(launcher::run(args.next().as_deref(), args));
    #[cfg(not(all(
        target_os = "linux",
        any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64"
        )
    )))]
    Some(ExitCode::FAILURE)
}

/// A sandbox that works on this machine.
#[derive(Debug)]
pub struct Sandbox {
    interpreter: Interpreter,
    launcher: Option<Launcher>,
    limits: Limits,
    level: SandboxLevel,
    warden: Warden,
}

/// How one program ended, and what it took.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// How the program ended.
    pub verdict: Verdict,
    /// Wall time, the start of the interpreter included.
    pub took: Duration,
    /// The last lines that the program wrote to its output.
    pub output: String,
}

impl Sandbox {
    /// Finds the interpreter and the strongest level that holds here, by running
    /// a small program that tries to get out. Takes some tenths of a second and
    /// starts processes, so it is not for async code.
    ///
    /// # Errors
    ///
    /// When there is no Python, or when no level holds and
    /// [`allow_unsandboxed`](SandboxSettings::allow_unsandboxed) is not set.
    pub fn new(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        let interpreter = Interpreter::find(settings.python.as_deref(), settings.site_packages)?;
        let mut sandbox = Self {
            interpreter,
            launcher: settings.launcher.clone().or_else(Launcher::current),
            limits: settings.limits.clone(),
            level: SandboxLevel::Unsandboxed,
            warden: Warden::default(),
        };
        let mut failures = Vec::new();
        if cfg!(target_os = "linux") && sandbox.launcher.is_some() {
            let wanted = |level: &SandboxLevel| settings.level.is_none_or(|only| only == *level);
            for level in PLANS.into_iter().filter(wanted) {
                sandbox.level = level;
                match sandbox.check() {
                    Ok(()) => return Ok(sandbox),
                    Err(reason) => failures.push((level, reason)),
                }
            }
        }
        if settings.allow_unsandboxed {
            sandbox.level = SandboxLevel::Unsandboxed;
            return Ok(sandbox);
        }
        Err(match (&sandbox.launcher, cfg!(target_os = "linux")) {
            (_, false) => SandboxError::Unsupported,
            (None, true) => SandboxError::NoLauncher,
            (Some(_), true) => SandboxError::NoLevel { failures },
        })
    }

    /// Which mechanisms hold the programs.
    pub fn level(&self) -> SandboxLevel {
        self.level
    }

    /// The limits that programs run under.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The interpreter, as far as it decides how programs end: its kind and version,
    /// and the packages that programs can import.
    pub fn python(&self) -> &str {
        &self.interpreter.version
    }

    /// Runs a program and everything it starts to its end. Blocks until its time
    /// is over: the wall time of the limits, to which the time is added in which it was
    /// ready and others had the processors, and the time to kill it.
    ///
    /// When the time ran out and other programs may have had it, the program is run
    /// again, for which all programs of this process wait: then it is alone, and what
    /// comes of that is the outcome.
    pub fn run(&self, program: &Program) -> Outcome {
        let beside = {
            let _turn = TURN.read().unwrap_or_else(PoisonError::into_inner);
            process::run(&self.start(false), program)
        };
        beside.unwrap_or_else(|| {
            let _turn = TURN.write().unwrap_or_else(PoisonError::into_inner);
            let alone = process::run(&self.start(true), program);
            // A run alone is never in doubt.
            alone.unwrap_or_else(|| Outcome {
                verdict: Verdict::Timeout,
                took: self.limits.wall,
                output: String::new(),
            })
        })
    }

    fn start(&self, alone: bool) -> Start<'_> {
        Start {
            interpreter: &self.interpreter,
            launcher: self.launcher.as_ref(),
            limits: &self.limits,
            level: self.level,
            warden: &self.warden,
            alone,
        }
    }

    /// Whether this level runs Python and keeps it in.
    fn check(&self) -> Result<(), String> {
        let unreachable = |error: std::io::Error| format!("no temporary file: {error}");
        let canary = tempfile::NamedTempFile::new().map_err(unreachable)?;
        let program = Program::probe(canary.path());
        match self.run(&program).verdict {
            Verdict::Passed => Ok(()),
            Verdict::CannotRun(reason) => Err(reason),
            other => Err(format!("the trial program ended with: {other}")),
        }
    }
}

/// The example of the README, compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
