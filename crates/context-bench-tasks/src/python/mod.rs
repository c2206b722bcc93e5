//! Python functions and classes of tasks, run by child processes.
//!
//! [`PythonPool`] is the [`Host`](crate::Host) that the program uses; [`LocalHost`] is for
//! programs that run inside an interpreter already. A child runs the
//! small program in `child/`, needs nothing but CPython 3.8 or later, and speaks JSON
//! lines over pipes; what functions print goes elsewhere. There is no sandbox: functions
//! of a task may do whatever the user may.

mod channel;
mod error;
mod local;
mod object;
mod pool;
mod process;
mod request;
pub mod value;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

pub use error::{Exception, Problem, PythonError};
pub use local::{Interpreter, LocalHost, Session, program};
pub use object::PythonObject;
pub use pool::{Outcome, PythonPool};

/// How functions are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSettings {
    /// The interpreter: a path, or a name to be looked up.
    pub interpreter: PathBuf,
    /// The most processes at once; objects have their own.
    pub processes: NonZeroUsize,
    /// The longest wait for one call, or for the next portion of a long result.
    pub call_timeout: Duration,
}

impl Default for PythonSettings {
    /// `python3`, a process per processor, five minutes.
    fn default() -> Self {
        Self {
            interpreter: "python3".into(),
            processes: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            call_timeout: Duration::from_secs(300),
        }
    }
}
