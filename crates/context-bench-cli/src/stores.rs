//! Opening the run store.

use std::path::{Path, PathBuf};

use context_bench::bucket::BucketAddress;
use context_bench::store::{Store, StoreError};

use crate::failure::Failure;
use crate::{env, output};

/// The folder of the store: from the flag, otherwise from the environment.
pub(crate) fn folder(typed: Option<&Path>) -> Option<PathBuf> {
    let from_env = || env::get("CONTEXT_BENCH_CACHE_DIR").map(PathBuf::from);
    typed.map(Path::to_owned).or_else(from_env)
}

/// That there is no store.
pub(crate) fn none_at(dir: &Path) -> Failure {
    Failure::bad_input(format!("there is no run store at `{}`", dir.display()))
        .hint("check `--cache-dir`; the first run with it creates the store")
}

/// Opens the store of a command that needs one.
pub(crate) fn open(cache_dir: Option<&Path>) -> Result<Store, Failure> {
    let Some(dir) = cache_dir else {
        return Err(Failure::bad_input("no run store given")
            .hint("pass `--cache-dir DIR`, or set `CONTEXT_BENCH_CACHE_DIR`"));
    };
    if BucketAddress::of_setting(dir)?.is_some() {
        let path = dir.to_owned();
        return Err(StoreError::Bucket { path }.into());
    }
    if !dir.exists() {
        return Err(none_at(dir));
    }
    let opened = Store::open(dir)?;
    for note in &opened.notes {
        output::warning(note);
    }
    Ok(opened.store)
}
