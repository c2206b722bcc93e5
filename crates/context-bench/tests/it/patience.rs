//! Work that must end, however slow the machine is.

use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Hundreds of times what it takes: it tells what ends from what does not, and
/// keeps a hang from hanging the tests. It measures nothing.
const PATIENCE: Duration = Duration::from_secs(300);

/// Does some work; the test fails if it does not end.
pub(crate) fn ends(name: &str, work: impl FnOnce() + Send + 'static) {
    let (working, is_working) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        work();
        drop(working);
    });
    if is_working.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        panic!("{name}: this does not end");
    }
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}
