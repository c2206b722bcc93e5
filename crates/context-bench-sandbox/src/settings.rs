//! `SandboxSettings`: interpreter, limits, and what happens without a sandbox.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::{LAUNCHER_ARGUMENT, SandboxLevel};

/// How to run programs.
#[derive(Debug, Clone, Default)]
pub struct SandboxSettings {
    /// The interpreter, a name on the search path or a path; `python3` unless set.
    pub python: Option<PathBuf>,
    /// The program that applies the restrictions; unless set, this program when
    /// it is `context-bench`.
    pub launcher: Option<Launcher>,
    /// Time, memory and the like.
    pub limits: Limits,
    /// The only level to try; unless set, the strongest one that holds.
    pub level: Option<SandboxLevel>,
    /// Whether programs may import the packages installed for the interpreter.
    pub site_packages: bool,
    /// Whether programs run with a time limit only when nothing can contain
    /// them. They then can do whatever the user can.
    pub allow_unsandboxed: bool,
}

/// The program that applies the restrictions to itself and becomes Python: one
/// that calls [`run_if_launcher`](super::run_if_launcher) first thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// What comes before the launcher's own arguments.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// A program that is the launcher when its first argument says so.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: vec![LAUNCHER_ARGUMENT.into()],
        }
    }

    /// This program, when it is `context-bench`.
    pub fn current() -> Option<Self> {
        let program = std::env::current_exe().ok()?;
        let is_ours = program.file_stem()? == "context-bench";
        is_ours.then(|| Self::new(program))
    }
}

/// What a program may use. All limits but the wall time and the output hold for
/// contained programs only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall time on a free processor, the start of the interpreter included; 10 seconds
    /// unless set. Time in which a program was ready to run and others had the
    /// processors does not count. Once it has passed, all processes of a program
    /// together may not have used as much processor time.
    pub wall: Duration,
    /// Address space of each process in bytes; all of them together may hold
    /// twice as much memory, what they share included. 1 GiB unless set.
    pub memory: u64,
    /// Processes and threads at a time; 64 unless set.
    pub processes: u64,
    /// Bytes that one file may have; 16 MiB unless set.
    pub file: u64,
    /// Bytes that all files in the private folder may have; 64 MiB unless set.
    pub folder: u64,
    /// Open files of each process; 64 unless set.
    pub open_files: u64,
    /// Bytes that may be written to the output; 16 MiB unless set.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            wall: Duration::from_secs(10),
            memory: 1024 * MIB,
            processes: 64,
            file: 16 * MIB,
            folder: 64 * MIB,
            open_files: 64,
            output: 16 * MIB,
        }
    }
}
