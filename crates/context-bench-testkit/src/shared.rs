//! Finds material that lies beside checkouts and is never part of the repo.
//!
//! A test that needs it says so with [`crate::needs_shared`], and is *ignored* where it is absent.

use std::path::{Path, PathBuf};

/// A path inside the shared folder.
///
/// # Panics
///
/// When it is absent: a test names what it needs with [`crate::needs_shared`].
pub fn path(relative: &str) -> PathBuf {
    find(relative).unwrap_or_else(|| panic!("shared file `{relative}` is not present"))
}

/// A path inside the shared folder, if it is there.
///
/// The folder is `../shared` seen from the root of the repo, or what
/// `CONTEXT_BENCH_SHARED` names.
pub fn find(relative: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("CONTEXT_BENCH_SHARED").map_or(beside, PathBuf::from);
    Some(root.join(relative)).filter(|path| path.exists())
}
