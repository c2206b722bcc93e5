//! What a fetch reports while it works.

use std::time::Duration;

/// Something that happened during a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The fetch begins: what it needs, and what of it is there already.
    Plan {
        /// Files in all.
        files: usize,
        /// Their size in bytes, as far as known.
        bytes: u64,
        /// How many of them are in the cache.
        cached_files: usize,
        /// The size in bytes of those.
        cached_bytes: u64,
    },
    /// A download begins, or goes on where an earlier one stopped.
    Began {
        /// The file.
        path: &'a str,
        /// Its size in bytes, when known.
        size: Option<u64>,
        /// How many bytes of it are there from an earlier attempt.
        resumed_at: u64,
    },
    /// More bytes of a file came in.
    Received {
        /// The file.
        path: &'a str,
        /// How many.
        bytes: u64,
    },
    /// Bytes that were counted are not valid after all: the file starts anew.
    Restarted {
        /// The file.
        path: &'a str,
    },
    /// Another process downloads this file; we wait for it.
    Waiting {
        /// The file.
        path: &'a str,
    },
    /// An attempt failed and is repeated after a wait.
    Retrying {
        /// The file.
        path: &'a str,
        /// What failed.
        reason: &'a str,
        /// How long until the next attempt.
        wait: Duration,
    },
    /// A file is in its place.
    Done {
        /// The file.
        path: &'a str,
    },
}

/// Receives the progress of a fetch, from several threads at once.
pub trait Progress: Sync {
    /// Something happened. Must return quickly: downloads wait for it.
    fn event(&self, event: &Event<'_>);
}

/// Reports to nobody.
impl Progress for () {
    fn event(&self, _event: &Event<'_>) {}
}

/// Any function can receive progress.
impl<F: Fn(&Event<'_>) + Sync> Progress for F {
    fn event(&self, event: &Event<'_>) {
        self(event);
    }
}
