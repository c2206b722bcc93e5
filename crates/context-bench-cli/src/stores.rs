//! Opening the run store.

use std::path::{Path, PathBuf};

use context_bench::store::Store;

use crate::failure::Failure;
use crate::{env, output};

/// The folder of the store: as typed, else as the environment says.
pub(crate) fn folder(typed: Option<&Path>) -> Option<PathBuf> {
    let said = || env::get("CONTEXT_BENCH_CACHE_DIR").map(PathBuf::from);
    typed.map(Path::to_owned).or_else(said)
}

/// Opens the store that a command is about.
pub(crate) fn open(cache_dir: Option<&Path>) -> Result<Store, Failure> {
    let Some(dir) = cache_dir else {
        return Err(Failure::bad_input("no store given")
            .hint("pass `--cache-dir DIR`, or set `CONTEXT_BENCH_CACHE_DIR`"));
    };
    if !dir.exists() {
        return Err(
            Failure::bad_input(format!("there is no store at `{}`", dir.display()))
                .hint("check `--cache-dir`; a run with it makes the store"),
        );
    }
    let opened = Store::open(dir)?;
    for note in &opened.notes {
        output::warning(note);
    }
    Ok(opened.store)
}
