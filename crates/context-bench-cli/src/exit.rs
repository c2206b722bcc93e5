//! The exit codes of the program: done, bad input, failed rows, not now, an interrupted run. Scripts and CI jobs rely on them, so they never change their
//! meaning.

use std::process::ExitCode;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: everything was done.
    Done,
    /// 1: a bug in context-bench.
    Bug,
    /// 2: bad input or configuration; not everything was run.
    BadInput,
    /// 3: more rows failed than `--max-error-rate` allows, or a log lacks calls.
    RowsFailed,
    /// 4: a gate or a check failed.
    ThresholdMissed,
    /// 75: not now. An endpoint is away, or the time is up: the same command later may go on.
    NotNow,
    /// 130: interrupted, after printing what was finished.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Bug => 1,
            Self::BadInput => 2,
            Self::RowsFailed => 3,
            Self::ThresholdMissed => 4,
            Self::NotNow => 75,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
