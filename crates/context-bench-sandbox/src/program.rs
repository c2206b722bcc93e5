//! `Program`: what is run, and how it is handed to the driver in the process.
//!
//! The driver (`driver.py`) reads the program and, after the last test, a secret
//! from its standard input. It reports on its standard output; what the program
//! itself prints goes to standard error.

use std::path::Path;

/// The Python part: runs a program and reports how it ended.
pub(super) const DRIVER: &str = include_str!("driver.py");

/// What the driver says before it reads the program.
pub(super) const STARTED: &str = "started";

/// Code and its tests, run one after the other in one module called `solution`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Readings of the code, best first; the first one that compiles is run.
    pub candidates: Vec<String>,
    /// What proves the code right: no exception until its end.
    pub tests: String,
}

impl Program {
    /// One reading of the code, and its tests.
    pub fn new(code: impl Into<String>, tests: impl Into<String>) -> Self {
        Self {
            candidates: vec![code.into()],
            tests: tests.into(),
        }
    }

    /// What the driver reads: how many texts, then each with its length in bytes.
    pub(super) fn frame(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        let texts = self.candidates.iter().chain([&self.tests]);
        frame.extend_from_slice(format!("{}\n", self.candidates.len() + 1).as_bytes());
        for text in texts {
            frame.extend_from_slice(format!("{}\n", text.len()).as_bytes());
            frame.extend_from_slice(text.as_bytes());
        }
        frame
    }

    /// A program that passes when Python works and the sandbox holds: common
    /// modules can be imported, a temporary file can be used, a file of the user
    /// cannot be read and no socket can be made.
    pub(super) fn probe(canary: &Path) -> Self {
        // The path is hex so that no character needs quoting.
        let path: String = canary
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let tests = format!(
            r#"
import collections, heapq, itertools, json, math, random, re, string, typing
import socket, tempfile

with tempfile.TemporaryFile() as file:
    file.write(b"x")

def refused(action):
    try:
        action()
    except OSError:
        return True
    return False

assert refused(lambda: open(bytes.fromhex("{path}"))), "files can be read"
assert refused(lambda: open(bytes.fromhex("{path}"), "w")), "files can be written"
assert refused(lambda: socket.socket()), "sockets can be made"
"#
        );
        Self::new("", tests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_count_bytes() {
        assert_eq!(Program::new("é", "t").frame(), "2\n2\né1\nt".as_bytes());
    }
}
