//! The notices of third parties name every crate that is linked in.

/// The products are built for Linux; elsewhere cargo has not downloaded all of it.
#[cfg(target_os = "linux")]
#[test]
fn every_crate_that_is_linked_in_has_its_notice() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked = std::process::Command::new("python3")
        .args(["scripts/notices.py", "--check"])
        .current_dir(root)
        .env("CARGO", env!("CARGO"))
        .output()
        .expect("Python is there for the other tests, too");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}
