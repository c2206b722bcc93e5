//! `Job`: what the launcher is asked to do, as one framed JSON text on its standard input.
//!
//! The program and the secret follow on the same stream and are left for Python.

use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::level::SandboxLevel;

/// No job is larger; a longer one is not from us.
const MAX_BYTES: u64 = 1 << 20;

/// What the launcher has to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// Proves to the parent that a message comes from the launcher.
    pub(super) key: String,
    /// Which mechanisms to apply.
    pub(super) level: SandboxLevel,
    /// The interpreter.
    pub(super) python: PathBuf,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// All of its environment, besides the private folder.
    pub(super) environment: Vec<(String, String)>,
    /// Files and folders that it needs to read.
    pub(super) readable: Vec<PathBuf>,
    /// An empty folder of this run.
    pub(super) folder: PathBuf,
    /// Address space in bytes.
    pub(super) memory: u64,
    /// Processor time in seconds.
    pub(super) cpu_s: u64,
    /// Processes and threads.
    pub(super) processes: u64,
    /// Bytes of one file.
    pub(super) file: u64,
    /// Bytes of the folder.
    pub(super) folder_bytes: u64,
    /// Open files.
    pub(super) open_files: u64,
}

impl Job {
    /// The job as the launcher reads it.
    pub(super) fn frame(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let mut frame = (json.len() as u64).to_be_bytes().to_vec();
        frame.extend_from_slice(&json);
        Ok(frame)
    }

    /// Reads a job and not a byte more.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no launcher"))]
    pub(super) fn read(mut input: impl Read) -> io::Result<Self> {
        let mut length = [0; 8];
        input.read_exact(&mut length)?;
        let length = u64::from_be_bytes(length);
        if length > MAX_BYTES {
            return Err(io::Error::other("the job is too long"));
        }
        let mut json = vec![0; length as usize];
        input.read_exact(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}
