//! `SandboxError`: why programs cannot be run here.

use context_bench_error::Hint;

use super::SandboxLevel;

/// Why programs cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The interpreter does not start.
    #[error("no Python to run generated code with: `{python}` {reason}")]
    NoPython {
        /// The interpreter as named.
        python: String,
        /// What went wrong.
        reason: String,
    },
    /// The operating system has no mechanism that we use.
    #[error("generated code cannot be contained on this operating system")]
    Unsupported,
    /// Nobody said which program applies the restrictions.
    #[error("generated code cannot be contained: this program is not a launcher for the sandbox")]
    NoLauncher,
    /// Every mechanism failed.
    #[error("generated code cannot be contained here: {}", list(failures))]
    NoLevel {
        /// What was tried and why it did not hold.
        failures: Vec<(SandboxLevel, String)>,
    },
}

fn list(failures: &[(SandboxLevel, String)]) -> String {
    let each = failures
        .iter()
        .map(|(level, reason)| format!("{level}: {reason}"));
    each.collect::<Vec<_>>().join("; ")
}

impl Hint for SandboxError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoPython { .. } => {
                "install Python 3.8 or later, or name one: `code_execution:python=/usr/bin/python3`"
                    .into()
            }
            Self::NoLauncher => "call `context_bench_sandbox::run_if_launcher` first in `main`, \
                                 or name the `context-bench` program as launcher"
                .into(),
            Self::NoLevel { failures }
                if failures.iter().any(|(_, why)| why.contains("python")) =>
            {
                "the interpreter must be readable for other users, such as \
                 `code_execution:python=/usr/bin/python3`; or run without protection: \
                 `--allow-unsandboxed-code`"
                    .into()
            }
            Self::Unsupported | Self::NoLevel { .. } => {
                "on a machine that you can spare, `--allow-unsandboxed-code` runs it with a time \
                 limit and no protection"
                    .into()
            }
        })
    }
}
