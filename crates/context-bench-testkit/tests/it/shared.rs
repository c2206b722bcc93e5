//! Whether tests know of the shared folder.

use context_bench_testkit::{needs_shared, shared, shared_was_present};

#[test]
fn tests_were_compiled_for_the_folder_that_is_there() {
    assert_eq!(
        shared::find("data").is_some(),
        shared_was_present!(),
        "the shared folder came after tests were compiled, so those that need it are ignored: \
         `touch crates/context-bench-testkit-macros/build.rs`"
    );
}

#[needs_shared("data")]
#[test]
fn what_is_needed_is_found() {
    assert!(shared::path("data").is_dir());
}

#[needs_shared("no/such/file")]
#[test]
fn what_is_absent_is_not_run() {
    shared::path("no/such/file");
}
