//! Files of plain addresses.

use context_bench_hub::HubError;
use context_bench_testkit::hub::{FakeHub, HubFault};

use crate::common::{content, hub, hub_with, offline, read};

#[test]
fn a_file_is_fetched_once_per_version() {
    let fake = FakeHub::start([]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let address = fake.web_file("a.jsonl.gz", &content(5000), Some("\"v1\""));
    let error = offline(&fake, cache.path())
        .fetch_url(&address, &())
        .expect_err("not there yet");
    assert!(matches!(error, HubError::Offline { .. }), "{error}");
    let first = client.fetch_url(&address, &()).expect("fetched");
    assert!(first.ends_with("a.jsonl.gz"));
    fake.forget_requests();
    assert_eq!(client.fetch_url(&address, &()).expect("the same"), first);
    let asked = fake.requests();
    assert_eq!((asked.len(), asked[0].method.as_str()), (1, "HEAD"));
    fake.web_file("a.jsonl.gz", &content(7000), Some("\"v2\""));
    let second = client.fetch_url(&address, &()).expect("the new version");
    assert_eq!(read(std::slice::from_ref(&second)), [content(7000)]);
    assert!(!first.exists(), "the old version is of no use");
    fake.forget_requests();
    let alone = offline(&fake, cache.path());
    assert_eq!(alone.fetch_url(&address, &()).expect("there"), second);
    let file = alone.open_url_ranged(&address).expect("there");
    assert_eq!(
        file.read_at(6000, 10).expect("read")[..],
        content(7000)[6000..6010]
    );
    assert_eq!(fake.requests().len(), 0);
}

#[test]
fn a_download_goes_on_only_if_the_file_is_the_same() {
    let fake = FakeHub::start([]);
    let cache = tempfile::tempdir().expect("a folder");
    let once = hub_with(&fake, cache.path(), |settings| {
        settings.retry.max_retries = 0
    });
    let address = fake.web_file("a.csv", &content(500_000), Some("\"v1\""));
    fake.fault("a.csv", HubFault::CutAt(200_000));
    once.fetch_url(&address, &()).expect_err("it was cut");
    fake.forget_requests();
    let path = once.fetch_url(&address, &()).expect("the rest");
    assert_eq!(read(&[path]), [content(500_000)]);
    assert_eq!(fake.bytes_sent("a.csv"), 300_000);

    let address = fake.web_file("b.csv", &content(500_000), Some("\"v1\""));
    fake.fault("b.csv", HubFault::CutAt(200_000));
    once.fetch_url(&address, &()).expect_err("it was cut");
    let other: Vec<u8> = content(500_000).into_iter().rev().collect();
    fake.web_file("b.csv", &other, Some("\"v2\""));
    let path = once.fetch_url(&address, &()).expect("all of the new one");
    assert_eq!(read(&[path]), [other]);
}

#[test]
fn parts_of_a_file_can_be_read_by_address() {
    let fake = FakeHub::start([]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let address = fake.web_file("a.parquet", &content(2_000_000), Some("\"v1\""));
    let file = client.open_url_ranged(&address).expect("opened");
    assert_eq!(file.len(), 2_000_000);
    let found = file.read_at(1_999_000, 1000).expect("read");
    assert_eq!(found[..], content(2_000_000)[1_999_000..]);
    assert_eq!(file.requests(), 1);
    fake.web_file("a.parquet", &content(2_000_001), Some("\"v2\""));
    let error = file.read_at(0, 10).expect_err("another file");
    assert!(
        error
            .to_string()
            .contains("the file changed while it was read"),
        "{error}"
    );
}

#[test]
fn a_server_without_versions_is_asked_for_all_each_time() {
    let fake = FakeHub::start([]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let address = fake.web_file("a.csv", b"a\n1\n", None);
    client.fetch_url(&address, &()).expect("fetched");
    fake.web_file("a.csv", b"a\n2\n", None);
    let path = client.fetch_url(&address, &()).expect("fetched");
    assert_eq!(read(&[path]), [b"a\n2\n".to_vec()]);
}

#[test]
fn what_is_not_there_is_said() {
    let fake = FakeHub::start([]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let address = format!("{}/files/none.csv", fake.cdn_url());
    let error = client
        .fetch_url(&format!("{address}?key=secret"), &())
        .expect_err("nothing there");
    assert_eq!(
        error.to_string(),
        format!("there is nothing at {address} (HTTP 404)")
    );
    let error = client.open_url_ranged(&address).expect_err("nothing there");
    assert!(matches!(error, HubError::UrlNotFound { .. }), "{error}");
    let error = client
        .fetch_url("file:///etc/hosts", &())
        .expect_err("no address");
    assert!(matches!(error, HubError::BadUrl { .. }), "{error}");
}
