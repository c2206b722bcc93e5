//! Cold, warm, offline, pinned: how many requests each of them costs.

use context_bench_error::Hint as _;
use context_bench_hub::HubError;
use context_bench_testkit::hub::{FakeHub, FakeRepo};

use crate::common::{EventLog, content, hub, offline, read};

const CARD: &[u8] = b"---\nconfigs:\n- config_name: main\n  data_files:\n  - split: test\n    path: data/test-*\n---\n# A dataset\n";

fn repo() -> FakeRepo {
    FakeRepo::new("org/set")
        .file("README.md", CARD)
        .large("data/test-00000-of-00002.parquet", &content(300_000))
        .large("data/test-00001-of-00002.parquet", &content(200_001))
}

#[test]
fn a_cold_fetch_gets_everything_and_a_warm_one_asks_once() {
    let fake = FakeHub::start([repo()]);
    let cache = tempfile::tempdir().expect("a folder");
    let events = EventLog::default();
    let split = hub(&fake, cache.path())
        .resolve("org/set", None, None, "test")
        .expect("the split exists");
    assert_eq!(
        (split.config.as_str(), split.split.as_str()),
        ("main", "test")
    );
    assert_eq!(split.commit, fake.commit("org/set", "main"));
    let paths = hub(&fake, cache.path())
        .fetch(&split.files, &events)
        .expect("it can be fetched");
    assert_eq!(read(&paths), [content(300_000), content(200_001)]);
    assert_eq!((events.about("Began"), events.about("Done")), (2, 2));
    assert_eq!(events.about("files: 2, bytes: 500001, cached_files: 0"), 1);

    fake.forget_requests();
    let warm = hub(&fake, cache.path());
    let again = warm
        .resolve("org/set", None, None, "test")
        .expect("the split exists");
    assert_eq!(again, split);
    let events = EventLog::default();
    assert_eq!(warm.fetch(&again.files, &events).expect("all there"), paths);
    assert_eq!(events.about("cached_files: 2, cached_bytes: 500001"), 1);
    let asked = fake.requests();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(asked[0].path.ends_with("/revision/main"));
    assert!(asked[0].query.contains("sha"));

    fake.forget_requests();
    let pinned = warm
        .resolve("org/set", Some(&split.commit), Some("main"), "test")
        .expect("a commit stays");
    warm.fetch(&pinned.files, &()).expect("all there");
    assert_eq!(fake.requests().len(), 0);
}

/// Whoever needs only the first files must not lose a whole split of an earlier commit.
#[test]
fn some_files_of_a_newer_commit_do_not_replace_all_of_an_older_one() {
    let fake = FakeHub::start([repo()]);
    let cache = tempfile::tempdir().expect("a folder");
    let online = hub(&fake, cache.path());
    let resolve = || online.resolve("org/set", None, None, "test");
    let known = || {
        let cached = offline(&fake, cache.path()).cached("org/set", None, None, "test");
        (cached.commit.clone(), cached.is_complete())
    };
    // Where nothing is known yet, some files are better than none.
    let first = resolve().expect("exists");
    online.fetch_some(&first.files[..1], &()).expect("fetched");
    assert_eq!(known(), (Some(first.commit.clone()), false));
    online.fetch(&first.files, &()).expect("fetched");
    assert_eq!(known(), (Some(first.commit.clone()), true));

    fake.push(repo().large("data/test-00000-of-00002.parquet", &content(1000)));
    let second = resolve().expect("exists");
    assert_ne!(second.commit, first.commit);
    let paths = online.fetch_some(&second.files[..1], &()).expect("fetched");
    assert_eq!(read(&paths), [content(1000)]);
    assert_eq!(known(), (Some(first.commit), true));
}

#[test]
fn offline_sends_nothing_and_says_what_is_missing() {
    let fake = FakeHub::start([repo()]);
    let cache = tempfile::tempdir().expect("a folder");
    let error = offline(&fake, cache.path())
        .resolve("org/set", None, None, "test")
        .expect_err("nothing is there");
    assert!(matches!(error, HubError::Offline { .. }));
    assert!(
        error
            .to_string()
            .starts_with("the dataset repo `org/set` is not in the cache")
    );
    assert!(
        error
            .hint()
            .expect("advice")
            .contains("context-bench fetch")
    );

    let online = hub(&fake, cache.path());
    let split = online
        .resolve("org/set", None, None, "test")
        .expect("exists");
    let paths = online.fetch(&split.files, &()).expect("fetched");
    fake.forget_requests();
    let alone = offline(&fake, cache.path());
    let again = alone
        .resolve("org/set", None, None, "test")
        .expect("cached");
    assert_eq!(alone.fetch(&again.files, &()).expect("cached"), paths);
    let cached = alone.cached("org/set", None, Some("main"), "test");
    assert!(cached.is_complete());
    assert_eq!((cached.files, cached.bytes), (2, 500_001));

    std::fs::remove_file(&paths[1]).expect("removed");
    let error = alone.fetch(&again.files, &()).expect_err("one is gone");
    assert_eq!(
        error.to_string(),
        format!(
            "`org/set/data/test-00001-of-00002.parquet` is not in the cache at `{}`, and offline mode is on",
            cache.path().join("hub").display()
        )
    );
    assert!(
        error
            .hint()
            .expect("advice")
            .starts_with("1 of 2 files are there")
    );
    let cached = alone.cached("org/set", None, Some("main"), "test");
    assert_eq!((cached.files, cached.of_files), (1, Some(2)));
    assert!(!cached.is_complete());
    assert_eq!(fake.requests().len(), 0);
}

#[test]
fn a_commit_stays_what_it_was_when_the_branch_moves() {
    let fake = FakeHub::start([repo()]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let before = client
        .resolve("org/set", None, None, "test")
        .expect("exists");
    client.fetch(&before.files, &()).expect("fetched");
    let newer = b"{\"a\": 1}\n";
    fake.push(FakeRepo::new("org/set").large("test.jsonl", newer));
    let pinned = client
        .resolve("org/set", Some(&before.commit), None, "test")
        .expect("the commit is still there");
    assert_eq!(pinned.files.len(), 2);
    let moved = client
        .resolve("org/set", None, None, "test")
        .expect("exists");
    assert_ne!(moved.commit, before.commit);
    // Until the new commit is fetched, offline use stays with the old one.
    let alone = offline(&fake, cache.path());
    let old = alone
        .resolve("org/set", None, None, "test")
        .expect("cached");
    assert_eq!(old.commit, before.commit);
    let paths = client.fetch(&moved.files, &()).expect("fetched");
    assert_eq!(read(&paths), [newer.to_vec()]);
    let new = alone
        .resolve("org/set", None, None, "test")
        .expect("cached");
    assert_eq!(new.commit, moved.commit);
}

#[test]
fn calls_work_inside_another_runtime() {
    let fake = FakeHub::start([repo()]);
    let cache = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = hub(&fake, cache.path());
        let split = client
            .resolve("org/set", None, None, "test")
            .expect("exists");
        client.fetch(&split.files, &()).expect("fetched");
        let file = client.open_ranged(&split.files[0]).expect("opened");
        assert_eq!(file.read_at(0, 3).expect("read")[..], content(3));
    });
}

#[test]
fn nothing_reachable_is_said_with_what_is_cached() {
    let fake = FakeHub::start([repo()]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let split = client
        .resolve("org/set", None, None, "test")
        .expect("exists");
    client.fetch(&split.files, &()).expect("fetched");
    let url = fake.url().to_owned();
    drop(fake);
    let error = client
        .resolve("org/set", None, None, "test")
        .expect_err("the hub is gone");
    assert_eq!(
        error.to_string(),
        format!("cannot reach {url}: connection refused")
    );
    let hint = error.hint().expect("advice");
    assert!(hint.contains(&format!(
        "commit {:.7} of `org/set` is in the cache",
        split.commit
    )));
    assert!(error.is_temporary());
}

#[test]
fn one_client_serves_many_threads() {
    let fake = FakeHub::start([repo()]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let split = client
                    .resolve("org/set", None, None, "test")
                    .expect("exists");
                let paths = client.fetch(&split.files, &()).expect("fetched");
                assert_eq!(read(&paths), [content(300_000), content(200_001)]);
            });
        }
    });
    assert_eq!(fake.bytes_sent(".parquet"), 500_001);
}
