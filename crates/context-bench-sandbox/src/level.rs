//! `SandboxLevel`: which mechanisms hold a program.

use std::fmt;

/// Which mechanisms hold a program. Every level but the last one keeps it from
/// the network, the user's files and other processes, and kills all it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SandboxLevel {
    /// Own user, mount, process, network and IPC namespaces with a file system
    /// of their own, plus Landlock, a system call filter and resource limits.
    Full,
    /// Landlock, a system call filter and resource limits. The program can tell
    /// whether a file exists, but not read, list or change it. That nothing outlives us
    /// is the work of a process of ours and not of the kernel: should that be killed
    /// together with us, what the program started goes on.
    Landlock,
    /// Namespaces with a file system of their own, a system call filter and
    /// resource limits, on kernels without Landlock.
    Namespaces,
    /// A time limit and an empty environment, nothing else.
    Unsandboxed,
}

/// The levels that contain a program, in the order in which they are tried.
pub(super) const PLANS: [SandboxLevel; 3] = [
    SandboxLevel::Full,
    SandboxLevel::Landlock,
    SandboxLevel::Namespaces,
];

impl SandboxLevel {
    /// Whether programs run in namespaces of their own.
    pub fn has_namespaces(self) -> bool {
        matches!(self, Self::Full | Self::Namespaces)
    }

    /// Whether Landlock guards the file system.
    pub fn has_landlock(self) -> bool {
        matches!(self, Self::Full | Self::Landlock)
    }

    /// Whether programs are contained at all.
    pub fn is_contained(self) -> bool {
        self != Self::Unsandboxed
    }

    /// What this level does not keep in, in words; `None` for the full one.
    pub fn not_contained(self) -> Option<&'static str> {
        match self {
            Self::Full => None,
            Self::Landlock => Some(
                "programs can tell which files exist, and what they started goes on if this \
                 process and its warden are killed together",
            ),
            Self::Namespaces => Some("files are hidden by a file system of their own alone"),
            Self::Unsandboxed => Some(
                "programs can read and change your files, use the network and start others; only \
                 time is limited",
            ),
        }
    }

    /// The name in settings and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "namespaces+landlock+seccomp",
            Self::Landlock => "landlock+seccomp",
            Self::Namespaces => "namespaces+seccomp",
            Self::Unsandboxed => "unsandboxed",
        }
    }
}

impl fmt::Display for SandboxLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
