//! Has tests compiled anew when material of the shared folder comes or goes.
//!
//! Cargo can watch what is there, and looks for what is not there at every build, which would
//! compile all tests each time. So what comes later is noticed by a test of the test kit.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CONTEXT_BENCH_SHARED");
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("CONTEXT_BENCH_SHARED").map_or(beside, PathBuf::from);
    if root.join("data").exists() {
        println!("cargo::rerun-if-changed={}", root.join("data").display());
    }
}
