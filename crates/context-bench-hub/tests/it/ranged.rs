//! Parts of files: few requests, few bytes, and the right ones.

use std::sync::LazyLock;

use context_bench_hub::{HubError, RangedFile};
use context_bench_testkit::hub::{FakeHub, FakeRepo, HubFault};

use crate::common::{content, hub};

const LEN: usize = 5_000_000;

fn fake() -> FakeHub {
    FakeHub::start([FakeRepo::new("org/set").large("train.parquet", &content(LEN))])
}

fn open(fake: &FakeHub, cache: &std::path::Path) -> RangedFile {
    let client = hub(fake, cache);
    let files = client
        .files("org/set", None, &["train.parquet"])
        .expect("found");
    client.open_ranged(&files[0]).expect("opened")
}

#[track_caller]
fn check(file: &RangedFile, offset: usize, len: usize) {
    static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| content(LEN));
    let found = file.read_at(offset as u64, len).expect("read");
    // Not `assert_eq`: nobody wants to see megabytes.
    assert!(found[..] == WHOLE[offset..offset + len], "{offset} {len}");
}

#[test]
fn a_footer_and_a_column_cost_two_requests() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let file = open(&fake, cache.path());
    assert_eq!(file.len(), LEN as u64);
    check(&file, LEN - 8, 8);
    check(&file, LEN - 50_000, 49_992);
    assert_eq!(file.requests(), 1);
    check(&file, 1_000_000, 20);
    check(&file, 1_000_020, 30_000);
    check(&file, 1_000_000, 60_000);
    assert_eq!(file.requests(), 2);
    assert!(file.bytes_fetched() < 300_000, "{}", file.bytes_fetched());
    let sent = fake.bytes_sent("train.parquet");
    assert_eq!(file.bytes_fetched(), sent);
    // The hub is asked for the place once; then the CDN alone.
    let resolves = fake
        .requests()
        .iter()
        .filter(|r| r.path.contains("/resolve/"))
        .count();
    assert_eq!(resolves, 1);
}

#[test]
fn a_steady_reader_gets_longer_steps() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let file = open(&fake, cache.path());
    for at in (0..LEN - 1000).step_by(1000) {
        check(&file, at, 1000);
    }
    assert!(file.requests() < 12, "{}", file.requests());
    assert!(file.bytes_fetched() < LEN as u64 + 300_000);
}

#[test]
fn reads_past_the_end_and_of_nothing_send_nothing() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let file = open(&fake, cache.path());
    fake.forget_requests();
    for (offset, len) in [(LEN as u64, 1), (0, LEN + 1), (u64::MAX, 2)] {
        let error = file.read_at(offset, len).expect_err("past the end");
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    }
    assert!(file.read_at(LEN as u64, 0).expect("nothing").is_empty());
    assert_eq!(fake.requests().len(), 0);
}

#[test]
fn an_expired_address_is_asked_for_again() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let file = open(&fake, cache.path());
    check(&file, 0, 10);
    fake.expire_signatures();
    check(&file, 2_000_000, 10);
    let asked = fake.requests();
    assert!(asked.iter().any(|r| r.on_cdn && r.status == 403));
    let resolves = asked
        .iter()
        .filter(|r| r.path.contains("/resolve/"))
        .count();
    assert_eq!(resolves, 2);
}

#[test]
fn a_cut_part_is_completed() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let file = open(&fake, cache.path());
    fake.fault("/blobs/train.parquet", HubFault::CutAt(30_000));
    check(&file, 500_000, 60_000);
    let on_cdn: Vec<_> = fake.requests().into_iter().filter(|r| r.on_cdn).collect();
    assert_eq!(on_cdn[1].headers.get("range"), Some("bytes=530000-565535"));
}

#[test]
fn a_file_in_the_cache_is_read_from_there() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let files = client
        .files("org/set", None, &["train.parquet"])
        .expect("found");
    client.fetch(&files, &()).expect("fetched");
    fake.forget_requests();
    let file = client.open_ranged(&files[0]).expect("opened");
    check(&file, 123_456, 1000);
    assert_eq!((fake.requests().len(), file.bytes_fetched()), (0, 0));
}

#[test]
fn a_server_without_parts_is_an_error() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let file = open(&fake, cache.path());
    fake.fault("/blobs/train.parquet", HubFault::NoRange);
    let error = file.read_at(0, 10).expect_err("all of it came");
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<HubError>());
    assert!(matches!(inner, Some(HubError::BadReply { .. })), "{error}");
    assert!(file.bytes_fetched() < 100_000);
}
