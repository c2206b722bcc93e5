//! One process at a time per file, by the same lock that Python's `filelock`
//! takes, so that both tools wait for each other.
//!
//! The lock ends with the process, however it ends. The lock file stays, as it
//! does with Python: removing it would let two processes hold two files of the
//! same name.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use crate::error::{At as _, HubError};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, however long that takes; `waiting` is called once if
    /// another process holds it.
    pub(crate) fn take(path: &Path, waiting: impl FnOnce()) -> Result<Self, HubError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).at("make the folder", folder)?;
        }
        let mut waiting = Some(waiting);
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(file) = attempt(path)? {
                return Ok(Self { _file: file });
            }
            if let Some(report) = waiting.take() {
                report();
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(unix)]
fn attempt(path: &Path) -> Result<Option<File>, HubError> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // Writable by the group, as Python makes it, for caches that users share.
    let file = options.mode(0o664).open(path).at("open the lock", path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
        // File systems without locks: downloads are verified and placed in one
        // step, so that the worst is a download done twice.
        Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK) => Ok(Some(file)),
        Err(error) => Err(HubError::io("lock", path, &error.into())),
    }
}

/// A file that nobody else can open is a lock; Python's attempt to
/// open it fails as if it were locked.
#[cfg(windows)]
fn attempt(path: &Path) -> Result<Option<File>, HubError> {
    use std::os::windows::fs::OpenOptionsExt as _;

    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    match options.share_mode(0).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(SHARING_VIOLATION | LOCK_VIOLATION)
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(HubError::io("open the lock", path, &error)),
    }
}
