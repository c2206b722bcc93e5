//! `Verdict`: how a program ended, and how that is known from what it left.

use std::fmt;
use std::process::ExitStatus;

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// All tests ran and held.
    Passed,
    /// A test did not hold; the message, or the line of the test.
    Assertion(String),
    /// An exception ended the program, or a crash of the interpreter.
    Exception {
        /// The type of the exception, or the name of the signal.
        kind: String,
        /// Its message.
        message: String,
    },
    /// The code is not Python.
    SyntaxError(String),
    /// The time ran out.
    Timeout,
    /// The memory ran out.
    Memory,
    /// It wrote too much, to its output or to files.
    OutputLimit,
    /// It tried what the sandbox forbids, or hit the limit of processes.
    SandboxViolation(String),
    /// There is no code to run.
    NoCode,
    /// It ended before the tests were through, without an error.
    ExitedEarly,
    /// It could not be run; says nothing about the program.
    CannotRun(String),
}

impl Verdict {
    /// Whether the tests held.
    pub fn passed(&self) -> bool {
        *self == Self::Passed
    }

    /// A short name for tables.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Assertion(_) => "assertion",
            Self::Exception { .. } => "exception",
            Self::SyntaxError(_) => "syntax_error",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::OutputLimit => "output_limit",
            Self::SandboxViolation(_) => "sandbox_violation",
            Self::NoCode => "no_code",
            Self::ExitedEarly => "exited_early",
            Self::CannotRun(_) => "cannot_run",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Assertion(message) => write!(f, "assertion failed: {message}"),
            Self::Exception { kind, message } if message.is_empty() => f.write_str(kind),
            Self::Exception { kind, message } => write!(f, "{kind}: {message}"),
            Self::SyntaxError(message) => write!(f, "not valid Python: {message}"),
            Self::Timeout => f.write_str("time limit reached"),
            Self::Memory => f.write_str("memory limit reached"),
            Self::OutputLimit => f.write_str("wrote more than allowed"),
            Self::SandboxViolation(message) => write!(f, "not allowed in the sandbox: {message}"),
            Self::NoCode => f.write_str("no code in the response"),
            Self::ExitedEarly => f.write_str("ended before the tests were through"),
            Self::CannotRun(reason) => f.write_str(reason),
        }
    }
}

/// How many lines a report of the driver has.
pub(super) const REPORT_LINES: usize = 4;

/// The verdict that the driver inside the process reported, if it is one that
/// can be believed: only a report with the secret counts as a pass.
pub(super) fn from_report(report: &str, secret: &str) -> Option<Verdict> {
    let mut lines = report.lines();
    let (token, kind) = (lines.next()?, lines.next()?);
    let name = lines.next().unwrap_or_default().to_owned();
    let message = lines.next().unwrap_or_default().to_owned();
    Some(match kind {
        "passed" if token == secret => Verdict::Passed,
        "assertion" => Verdict::Assertion(message),
        "exception" => Verdict::Exception {
            kind: name,
            message,
        },
        "syntax" => Verdict::SyntaxError(message),
        "memory" => Verdict::Memory,
        "output" => Verdict::OutputLimit,
        "violation" => Verdict::SandboxViolation(message),
        "exit" => Verdict::ExitedEarly,
        // Reported before any generated code ran, so it needs the secret too.
        "tests" if token == secret => {
            Verdict::CannotRun(format!("the tests are not valid Python: {message}"))
        }
        _ => return None,
    })
}

/// The verdict on a process that ended without a report.
pub(super) fn from_status(status: Option<ExitStatus>) -> Verdict {
    match status.and_then(signal) {
        None => Verdict::ExitedEarly,
        Some("SIGSYS") => Verdict::SandboxViolation("a forbidden system call".into()),
        Some("SIGXCPU") => Verdict::Timeout,
        Some(name @ "SIGKILL") => Verdict::Exception {
            kind: name.to_owned(),
            message: "it killed itself, or the system ran out of memory".into(),
        },
        Some(name) => Verdict::Exception {
            kind: name.to_owned(),
            message: "the interpreter crashed".into(),
        },
    }
}

/// The signal that ended the process; the launcher passes one on as 128 and its number.
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<&'static str> {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::Signal;

    let above = |code: i32| (code > 128).then_some(code - 128);
    let number = status.signal().or_else(|| status.code().and_then(above))?;
    let names = [
        (Signal::SYS, "SIGSYS"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::ILL, "SIGILL"),
        (Signal::TERM, "SIGTERM"),
        (Signal::ALARM, "SIGALRM"),
    ];
    let known = names
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map(|(_, name)| *name);
    // An exit code beyond the signals is the program's own.
    known.or_else(|| status.signal().map(|_| "a signal"))
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_proves_a_pass() {
        let cases = [
            ("s3cret\npassed\n\n\n", Some(Verdict::Passed)),
            ("guess\npassed\n\n\n", None),
            ("\npassed\n\n\n", None),
            ("passed", None),
            ("", None),
            ("\nexit\n\n\n", Some(Verdict::ExitedEarly)),
            (
                "\nassertion\n\nassert f(1) == 2\n",
                Some(Verdict::Assertion("assert f(1) == 2".into())),
            ),
            ("\ntests\n\nbroken\n", None),
        ];
        for (report, expected) in cases {
            assert_eq!(from_report(report, "s3cret"), expected, "{report:?}");
        }
    }
}
