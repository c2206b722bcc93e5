//! Clients in processes of their own: killed in the middle, or two at once.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use context_bench_testkit::hub::{FakeHub, FakeRepo, HubFault};

use crate::common::{content, files_ending, hub, read};

const LEN: usize = 4_000_000;

fn fake() -> FakeHub {
    FakeHub::start([FakeRepo::new("org/set").large("big.jsonl", &content(LEN))])
}

fn start(fake: &FakeHub, cache: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["process::client", "--exact", "--ignored", "--nocapture"])
        .env("CLIENT_ENDPOINT", fake.url())
        .env("CLIENT_CACHE", cache)
        .stdout(Stdio::null())
        .spawn()
        .expect("the child runs")
}

#[test]
#[ignore = "the other process of the tests here"]
fn client() {
    let (Ok(endpoint), Some(cache)) = (
        std::env::var("CLIENT_ENDPOINT"),
        std::env::var_os("CLIENT_CACHE"),
    ) else {
        return;
    };
    let mut settings = context_bench_hub::HubSettings::new(PathBuf::from(cache).join("hub"));
    settings.endpoint = endpoint;
    let client = context_bench_hub::Hub::new(settings).expect("valid");
    let files = client
        .files("org/set", None, &["big.jsonl"])
        .expect("found");
    let paths = client.fetch(&files, &()).expect("fetched");
    assert_eq!(read(&paths), [content(LEN)]);
}

#[test]
fn what_a_killed_process_downloaded_is_not_downloaded_again() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    // All of it would take a quarter of a minute.
    fake.fault("/blobs/", HubFault::Slow(Duration::from_millis(250)));
    let mut child = start(&fake, cache.path());
    let begun = || -> u64 {
        let parts = files_ending(cache.path(), ".incomplete");
        let size = |part: &PathBuf| std::fs::metadata(part).map_or(0, |there| there.len());
        parts.first().map_or(0, size)
    };
    let until = Instant::now() + Duration::from_secs(120);
    while begun() < 500_000 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let there = begun();
    assert!((500_000..LEN as u64).contains(&there), "{there}");
    fake.forget_requests();
    let client = hub(&fake, cache.path());
    let files = client
        .files("org/set", None, &["big.jsonl"])
        .expect("found");
    let paths = client.fetch(&files, &()).expect("the rest comes");
    assert_eq!(read(&paths), [content(LEN)]);
    let asked = fake.requests();
    let range = asked
        .last()
        .and_then(|request| request.headers.get("range"));
    assert_eq!(range, Some(format!("bytes={there}-").as_str()));
    assert_eq!(fake.bytes_sent("big.jsonl"), LEN as u64 - there);
}

#[test]
fn two_processes_at_once_download_once() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    fake.fault("/blobs/", HubFault::Slow(Duration::from_millis(20)));
    let mut children = [start(&fake, cache.path()), start(&fake, cache.path())];
    for child in &mut children {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(fake.bytes_sent("big.jsonl"), LEN as u64);
}
