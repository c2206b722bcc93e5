//! Bodies, listings and redirects without end: refused, and nothing is left of them.

use std::path::Path;

use context_bench_hub::HubError;
use context_bench_testkit::hub::{FakeHub, FakeRepo, HubFault, Pages};

use crate::common::{content, files_ending, hub, hub_with, offline, read};

/// Far more than any of these tests may take.
const MUCH: u64 = 200_000_000;

fn fake() -> FakeHub {
    let repo = FakeRepo::new("org/set")
        .large("big.parquet", &content(500_000))
        .file("small.jsonl", b"{\"a\": 1}\n");
    FakeHub::start([repo])
}

/// How many bytes there are below a folder.
fn stored(folder: &Path) -> u64 {
    let there = files_ending(folder, "");
    there
        .iter()
        .map(|path| std::fs::symlink_metadata(path).map_or(0, |file| file.len()))
        .sum()
}

#[test]
fn a_file_that_is_longer_than_listed_is_refused_and_removed() {
    for path in ["big.parquet", "small.jsonl"] {
        for fault in [HubFault::Endless(MUCH), HubFault::Longer(1)] {
            let fake = fake();
            let cache = tempfile::tempdir().expect("a folder");
            let client = hub(&fake, cache.path());
            let files = client.files("org/set", None, &[path]).expect("listed");
            fake.fault(path, fault);
            let error = client.fetch(&files, &()).expect_err("too long");
            let announced = format!("more than the {} bytes", files[0].size);
            assert!(error.to_string().contains(&announced), "{error}");
            assert_eq!(files_ending(cache.path(), ".incomplete").len(), 0);
            assert!(stored(cache.path()) < 10_000, "nothing is left of it");
            assert!(fake.bytes_sent(path) < MUCH / 2, "and little was read");
            // It was the server, not the file.
            let paths = client.fetch(&files, &()).expect("whole this time");
            assert_eq!(read(&paths)[0].len() as u64, files[0].size);
        }
    }
}

#[test]
fn a_file_of_an_address_is_bounded_by_what_it_says_or_by_a_limit() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub_with(&fake, cache.path(), |settings| {
        settings.longest_unannounced = 1_000_000;
    });
    let address = fake.web_file("a.jsonl", &content(5000), None);
    fake.fault("a.jsonl", HubFault::Endless(MUCH));
    let error = client.fetch_url(&address, &()).expect_err("endless");
    assert!(
        error
            .to_string()
            .contains("more than 1.0 MB and never said how much"),
        "{error}"
    );
    assert!(stored(cache.path()) < 10_000, "nothing is left of it");
    assert!(fake.bytes_sent("a.jsonl") < MUCH / 2);
    let path = client.fetch_url(&address, &()).expect("whole this time");
    assert_eq!(read(&[path]), [content(5000)]);

    fake.fault("a.jsonl", HubFault::Endless(MUCH));
    let ranged = hub(&fake, &cache.path().join("other")).open_url_ranged(&address);
    assert!(ranged.is_err(), "the end of the file is not where it says");
}

#[test]
fn a_listing_without_end_is_refused() {
    for (pages, most) in [
        (Pages::Same, 3),
        (Pages::Repeated, 3),
        (Pages::Empty, 3),
        (Pages::New, 1010),
    ] {
        let fake = fake();
        let cache = tempfile::tempdir().expect("a folder");
        fake.endless_pages(pages);
        let error = hub(&fake, cache.path())
            .files("org/set", None, &["big.parquet"])
            .expect_err("endless");
        assert!(
            error.to_string().contains("the listing does not end"),
            "{error}"
        );
        let asked = fake.requests().len();
        assert!(asked <= most, "{pages:?}: {asked} requests");
        assert!(stored(cache.path()) < 10_000, "no listing is kept");
    }
}

#[test]
fn documents_and_redirects_without_end_are_refused() {
    let fake = fake();
    let cache = tempfile::tempdir().expect("a folder");
    for (path, fault, expected) in [
        ("/revision/", HubFault::Endless(MUCH), "longer than 33.6 MB"),
        ("/tree/", HubFault::Endless(MUCH), "longer than 33.6 MB"),
        ("/tree/", HubFault::Encoded("gzip"), ""),
    ] {
        fake.fault(path, fault);
        let listed = hub(&fake, cache.path()).files("org/set", None, &["big.parquet"]);
        match expected {
            // We asked for no compression and take bytes for what they are.
            "" => assert!(listed.is_ok()),
            _ => {
                let error = listed.expect_err("endless");
                assert!(error.to_string().contains(expected), "{error}");
            }
        }
        fake.forget_requests();
    }
    let client = hub(&fake, cache.path());
    let files = client
        .files("org/set", None, &["big.parquet"])
        .expect("listed");
    fake.always("/resolve/", HubFault::Redirects);
    let error = client.fetch(&files, &()).expect_err("round and round");
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("redirects"), "{error}");
    let asked = fake.requests().len();
    assert!(asked < 40, "{asked} requests");
}

/// A hub that was asked before: what is in its cache has changed since.
#[test]
fn a_file_that_changed_in_the_cache_is_fetched_again() {
    for path in ["big.parquet", "small.jsonl"] {
        let fake = fake();
        let cache = tempfile::tempdir().expect("a folder");
        let client = hub(&fake, cache.path());
        let files = client.files("org/set", None, &[path]).expect("listed");
        let paths = client.fetch(&files, &()).expect("fetched");
        let whole = std::fs::read(&paths[0]).expect("there");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 4;
        let damage = || std::fs::write(&paths[0], &damaged).expect("written");

        damage();
        let error = offline(&fake, cache.path())
            .fetch(&files, &())
            .expect_err("damaged");
        assert!(
            error.to_string().contains("damaged in the cache"),
            "{error}"
        );
        let error = offline(&fake, cache.path())
            .open_ranged(&files[0])
            .expect_err("damaged");
        assert!(matches!(error, HubError::Damaged { .. }), "{error}");
        let again = hub(&fake, cache.path()).fetch(&files, &()).expect("again");
        assert_eq!(read(&again), std::slice::from_ref(&whole));

        damage();
        let file = hub(&fake, cache.path())
            .open_ranged(&files[0])
            .expect("from the hub");
        let part = file.read_at(0, whole.len());
        assert!(part.is_err() || part.is_ok_and(|part| part[..] == whole[..]));
    }
}
