//! Real data that is shared between checkouts but never part of the repo.

use std::path::{Path, PathBuf};

/// A path inside `../shared` (or what `CONTEXT_BENCH_SHARED` names), or `None` with a
/// message when it is absent.
pub(crate) fn path(relative: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("CONTEXT_BENCH_SHARED").map_or(beside, PathBuf::from);
    let path = root.join(relative);
    if !path.exists() {
        eprintln!("skipped: shared file `{relative}` is not present");
        return None;
    }
    Some(path)
}
