//! Why a command cannot be a system, found before a run begins if possible.

use std::io;

use crate::error::Hint;

/// Why a command cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no program to run.
    #[error("the command is empty")]
    Empty,
    /// A quote is not closed, or nothing follows a backslash.
    #[error("the command `{command}` ends without {missing}")]
    Unfinished {
        /// The command as written.
        command: String,
        /// What is missing.
        missing: &'static str,
    },
    /// The program does not exist.
    #[error("there is no program `{program}`")]
    NotFound {
        /// The program as written.
        program: String,
    },
    /// The program exists but does not start.
    #[error("the program `{program}` cannot be started: {reason}")]
    NotStarted {
        /// The program as written.
        program: String,
        /// What the system says.
        reason: String,
    },
}

impl CommandError {
    /// What a failed start means.
    pub(super) fn from_start(program: &str, error: &io::Error) -> Self {
        let program = program.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { program },
            _ => Self::NotStarted {
                program,
                reason: error.to_string(),
            },
        }
    }
}

impl Hint for CommandError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Empty => {
                "write the program and its arguments, such as `python3 my_system.py`".into()
            }
            Self::Unfinished { .. } => "close the quote; no shell is involved".into(),
            Self::NotFound { program } if program.contains(char::is_whitespace) => {
                "give the program and its arguments as separate words".into()
            }
            Self::NotFound { program } if !program.contains('/') => {
                format!("check that it is installed; a program in this folder is `./{program}`")
            }
            Self::NotFound { .. } => "check the path; it is relative to the current folder".into(),
            Self::NotStarted { .. } => "check that the file is executable".into(),
        })
    }
}

/// Looks for the program where the system will, so that a wrong name is one
/// error before the run and not one per row.
#[cfg(unix)]
pub(super) fn check_program(program: &str, env: &[(String, String)]) -> Result<(), CommandError> {
    use std::path::Path;

    let found = if program.contains('/') {
        Path::new(program).is_file()
    } else {
        let given = env.iter().rfind(|(name, _)| name == "PATH");
        let path = given.map(|(_, value)| value.into());
        match path.or_else(|| std::env::var_os("PATH")) {
            Some(path) => std::env::split_paths(&path).any(|folder| folder.join(program).is_file()),
            // The system has a default of its own; the start will tell.
            None => true,
        }
    };
    if found {
        return Ok(());
    }
    Err(CommandError::NotFound {
        program: program.to_owned(),
    })
}

/// Elsewhere the rules are others; the start will tell.
#[cfg(not(unix))]
pub(super) fn check_program(_program: &str, _env: &[(String, String)]) -> Result<(), CommandError> {
    Ok(())
}
