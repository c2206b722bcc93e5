//! Downloads that break, arrive damaged, stall, or are wanted twice at once.

use std::time::{Duration, Instant};

use context_bench_error::Hint as _;
use context_bench_hub::{Event, Hub, HubError, Progress, RemoteFile};
use context_bench_testkit::hub::{FakeHub, FakeRepo, HubFault};

use crate::common::{EventLog, content, files_ending, hub, hub_with, read};

const LEN: usize = 3_000_000;

fn fake() -> FakeHub {
    let repo = FakeRepo::new("org/set")
        .large("big.jsonl", &content(LEN))
        .file("small.jsonl", b"{\"a\": 1}\n");
    FakeHub::start([repo])
}

fn file(hub: &Hub, path: &str) -> Vec<RemoteFile> {
    hub.files("org/set", None, &[path])
        .expect("the file exists")
}

#[test]
fn a_cut_download_goes_on_where_it_stopped() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let files = file(&client, "big.jsonl");
    fake.fault("big.jsonl", HubFault::CutAt(1_250_000));
    let events = EventLog::default();
    let paths = client.fetch(&files, &events).expect("the rest comes");
    assert_eq!(read(&paths), [content(LEN)]);
    assert_eq!(events.about("Retrying"), 1);
    let on_cdn: Vec<_> = fake.requests().into_iter().filter(|r| r.on_cdn).collect();
    assert_eq!(on_cdn.len(), 2);
    assert_eq!(
        (on_cdn[1].status, on_cdn[1].headers.get("range")),
        (206, Some("bytes=1250000-"))
    );
    assert_eq!(fake.bytes_sent("big.jsonl"), LEN as u64);
}

#[test]
fn a_failed_fetch_leaves_what_the_next_one_goes_on_with() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub_with(&fake, cache.path(), |settings| {
        settings.retry.max_retries = 0
    });
    let files = file(&client, "big.jsonl");
    fake.fault("big.jsonl", HubFault::CutAt(900_000));
    let error = client.fetch(&files, &()).expect_err("it was cut");
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    assert_eq!(files_ending(cache.path(), ".incomplete").len(), 1);
    fake.forget_requests();
    let paths = hub(&fake, cache.path())
        .fetch(&files, &())
        .expect("it goes on");
    assert_eq!(read(&paths), [content(LEN)]);
    let asked = fake.requests();
    let last = asked.last().expect("a request");
    assert_eq!(last.headers.get("range"), Some("bytes=900000-"));
    assert_eq!(fake.bytes_sent("big.jsonl"), LEN as u64 - 900_000);
    assert!(files_ending(cache.path(), ".incomplete").is_empty());
}

#[test]
fn a_server_that_cannot_continue_is_asked_for_all() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let files = file(&client, "big.jsonl");
    fake.fault("big.jsonl", HubFault::CutAt(700_000));
    fake.fault("big.jsonl", HubFault::NoRange);
    let paths = client.fetch(&files, &()).expect("all of it comes");
    assert_eq!(read(&paths), [content(LEN)]);
}

#[test]
fn damage_is_noticed_and_repaired_once() {
    for path in ["big.jsonl", "small.jsonl"] {
        let fake = fake();
        let cache = tempfile::tempdir().expect("a folder");
        let client = hub(&fake, cache.path());
        let files = file(&client, path);
        fake.fault(path, HubFault::Corrupt(3));
        let events = EventLog::default();
        let paths = client
            .fetch(&files, &events)
            .expect("the second one is whole");
        assert_eq!(events.about("Restarted"), 1);
        assert_eq!(
            std::fs::metadata(&paths[0]).expect("there").len(),
            files[0].size
        );

        let cache = tempfile::tempdir().expect("a folder");
        let client = hub(&fake, cache.path());
        fake.fault(path, HubFault::Corrupt(3));
        fake.fault(path, HubFault::Corrupt(4));
        let error = client.fetch(&files, &()).expect_err("damaged twice");
        let shown = error.to_string();
        assert!(
            shown.starts_with(&format!("`org/set/{path}` arrived damaged twice")),
            "{shown}"
        );
        let sum = files[0].checksum.as_ref().expect("known").as_str();
        assert!(shown.ends_with(&format!("and should be {sum}")), "{shown}");
        assert!(files_ending(cache.path(), sum).is_empty(), "no broken blob");
        assert!(files_ending(cache.path(), ".incomplete").is_empty());
    }
}

/// Holds a download back until somebody waits for it.
#[derive(Default)]
struct SlowProgress(EventLog);

impl Progress for SlowProgress {
    fn event(&self, event: &Event<'_>) {
        self.0.event(event);
        let until = Instant::now() + Duration::from_secs(120);
        let is_received = matches!(event, Event::Received { .. });
        while is_received && self.0.about("Waiting") == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn two_clients_at_once_download_once() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let files = file(&hub(&fake, cache.path()), "big.jsonl");
    let events = SlowProgress::default();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let client = hub(&fake, cache.path());
                let paths = client.fetch(&files, &events).expect("fetched");
                assert_eq!(read(&paths), [content(LEN)]);
            });
        }
    });
    assert_eq!(fake.bytes_sent("big.jsonl"), LEN as u64);
    assert!(events.0.about("Waiting") >= 1);
}

#[test]
fn short_failures_are_survived() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    fake.fault("/revision/", HubFault::Status(500, None));
    fake.fault("/tree/", HubFault::Status(429, Some(0)));
    fake.fault("/resolve/", HubFault::Status(503, Some(0)));
    let paths = client
        .fetch(&file(&client, "*.jsonl"), &())
        .expect("in the end");
    assert_eq!(paths.len(), 2);
}

#[test]
fn rate_limits_are_waited_for_within_bounds() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    fake.fault("/revision/", HubFault::Status(429, Some(3600)));
    let error = client.files("org/set", None, &["*"]).expect_err("too long");
    assert_eq!(
        error.to_string(),
        format!(
            "{} refuses more requests for now (HTTP 429) and asks to wait 3600 s",
            fake.url()
        )
    );
    assert!(error.hint().expect("advice").contains("HF_TOKEN"));
    for _ in 0..3 {
        fake.fault("/revision/", HubFault::Status(502, None));
    }
    let error = client
        .files("org/set", None, &["*"])
        .expect_err("three times");
    assert!(
        matches!(error, HubError::Status { code: 502, .. }),
        "{error}"
    );
}

#[test]
fn a_stalled_download_is_taken_up_again() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub_with(&fake, cache.path(), |settings| {
        settings.stall_timeout = Duration::from_secs(3);
    });
    let files = file(&client, "big.jsonl");
    fake.fault("/blobs/big.jsonl", HubFault::Stall(1_000_000));
    let events = EventLog::default();
    let paths = client.fetch(&files, &events).expect("the rest comes");
    assert_eq!(read(&paths), [content(LEN)]);
    assert_eq!(events.about("nothing came for 3 s"), 1);
}

#[test]
fn strange_paths_are_fetched_under_their_names() {
    let path = "Daten für α/train file #1?.jsonl";
    let repo = FakeRepo::new("org/set")
        .large(path, b"{}\n")
        .file("a b/é.csv", b"a\n1\n");
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let files = client
        .files("org/set", None, &[path, "a b/*"])
        .expect("found");
    let paths = client.fetch(&files, &()).expect("fetched");
    assert!(paths[0].ends_with(path));
    assert_eq!(read(&paths), [b"{}\n".to_vec(), b"a\n1\n".to_vec()]);
}

#[test]
fn a_listing_of_several_pages_is_read_to_its_end() {
    let mut repo = FakeRepo::new("org/many");
    for number in 0..25 {
        repo = repo.file(&format!("f{number:02}.csv"), b"a\n");
    }
    let fake = FakeHub::start([repo]);
    fake.page_size(4);
    let cache = tempfile::tempdir().expect("a folder");
    let files = hub(&fake, cache.path()).files("org/many", None, &["*.csv"]);
    assert_eq!(files.expect("listed").len(), 25);
    let pages = fake
        .requests()
        .iter()
        .filter(|r| r.path.contains("/tree/"))
        .count();
    assert_eq!(pages, 7);
}
