//! A disk without room: a clear error, and nothing broken left behind.

use std::process::Command;

use context_bench_error::Hint as _;
use context_bench_testkit::hub::{FakeHub, FakeRepo};

use crate::common::{content, files_ending, hub};

const LEN: usize = 2_000_000;

/// A limit on the size of files stands in for a full disk: the system refuses
/// the write in the middle of the file either way. It is a limit of a process,
/// so the client runs in one of its own (see `client_of_the_full_disk`).
#[cfg(unix)]
#[test]
fn a_full_disk_is_said_with_sizes_and_leaves_no_broken_file() {
    let repo = FakeRepo::new("org/set").large("big.jsonl", &content(LEN));
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let limits = "trap '' 25; ulimit -f 1000; exec \"$0\" \"$@\"";
    let program = std::env::current_exe().expect("this program");
    let child = Command::new("sh")
        .args(["-c", limits])
        .arg(program)
        .args([
            "disk::client_of_the_full_disk",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env("FULL_DISK_ENDPOINT", fake.url())
        .env("FULL_DISK_CACHE", cache.path())
        .output()
        .expect("the child runs");
    let said = String::from_utf8_lossy(&child.stdout);
    let folder = cache.path().join("hub/datasets--org--set/blobs");
    let expected = format!(
        "no room for `org/set/big.jsonl` in `{}`: ",
        folder.display()
    );
    assert!(said.contains(&expected), "{said}");
    assert!(said.contains(" needed"), "{said}");
    assert!(said.contains("hint: free some space"), "{said}");
    assert!(
        files_ending(&folder, "").is_empty(),
        "{:?}",
        files_ending(&folder, "")
    );
    // With room again, the same call succeeds.
    let client = hub(&fake, cache.path());
    let files = client
        .files("org/set", None, &["big.jsonl"])
        .expect("found");
    assert_eq!(client.fetch(&files, &()).expect("fetched").len(), 1);
}

#[test]
#[ignore = "the other process of the test above"]
fn client_of_the_full_disk() {
    let (Ok(endpoint), Some(cache)) = (
        std::env::var("FULL_DISK_ENDPOINT"),
        std::env::var_os("FULL_DISK_CACHE"),
    ) else {
        return;
    };
    let cache = std::path::PathBuf::from(cache);
    let mut settings = context_bench_hub::HubSettings::new(cache.join("hub"));
    settings.endpoint = endpoint;
    let client = context_bench_hub::Hub::new(settings).expect("valid");
    let files = client
        .files("org/set", None, &["big.jsonl"])
        .expect("found");
    let error = client.fetch(&files, &()).expect_err("no room");
    println!("{error}\nhint: {}", error.hint().expect("advice"));
}
