//! Who may read what: tokens, gates, names that changed, mirrors.

use context_bench_error::Hint as _;
use context_bench_hub::{Hub, HubError, RemoteFile};
use context_bench_testkit::hub::{FakeHub, FakeRepo, GOOD_TOKEN, OTHER_TOKEN};

use crate::common::{content, hub, read, with_token};

fn gated() -> FakeHub {
    FakeHub::start([
        FakeRepo::new("org/gated")
            .gated()
            .large("train.jsonl", b"{}\n"),
        FakeRepo::new("org/private")
            .private()
            .file("train.jsonl", b"{}\n"),
    ])
}

fn train(hub: &Hub, repo: &str) -> Result<Vec<RemoteFile>, HubError> {
    Ok(hub.resolve(repo, None, None, "train")?.files)
}

#[test]
fn a_gated_repo_says_what_to_do() {
    let fake = gated();
    let cache = tempfile::tempdir().expect("a folder");
    let page = format!("{}/datasets/org/gated", fake.url());
    let client = hub(&fake, cache.path());
    let files = train(&client, "org/gated").expect("its listing is public");
    let error = client.fetch(&files, &()).expect_err("no token");
    assert_eq!(error.to_string(), "the dataset repo `org/gated` is gated");
    let hint = error.hint().expect("advice");
    assert_eq!(
        hint,
        format!("accept the terms at {page}, then set `HF_TOKEN`")
    );

    let other = with_token(&fake, cache.path(), OTHER_TOKEN);
    let error = other.fetch(&files, &()).expect_err("no access");
    assert_eq!(
        error.to_string(),
        "the dataset repo `org/gated` is gated: this token has no access"
    );
    let hint = error.hint().expect("advice");
    assert_eq!(
        hint,
        format!("accept the terms at {page} with the account of this token")
    );

    let good = with_token(&fake, cache.path(), GOOD_TOKEN);
    let paths = good.fetch(&files, &()).expect("access");
    assert_eq!(read(&paths), [b"{}\n".to_vec()]);
}

#[test]
fn the_token_goes_to_the_hub_and_nowhere_else() {
    let fake = gated();
    let cache = tempfile::tempdir().expect("a folder");
    let client = with_token(&fake, cache.path(), GOOD_TOKEN);
    let files = train(&client, "org/gated").expect("found");
    client
        .open_ranged(&files[0])
        .expect("opened")
        .read_at(0, 2)
        .expect("read");
    client.fetch(&files, &()).expect("fetched");
    let address = fake.web_file("x.csv", b"a\n", Some("\"1\""));
    client.fetch_url(&address, &()).expect("fetched");
    let (cdn, own): (Vec<_>, Vec<_>) = fake.requests().into_iter().partition(|r| r.on_cdn);
    assert!(cdn.len() >= 3 && own.len() >= 3);
    assert!(
        own.iter()
            .all(|r| r.headers.get("authorization") == Some("Bearer hf_good"))
    );
    assert!(cdn.iter().all(|r| !r.headers.contains("authorization")));
    assert!(!format!("{client:?}").contains(GOOD_TOKEN));
}

#[test]
fn what_is_not_there_and_what_is_hidden_read_alike() {
    let fake = gated();
    let cache = tempfile::tempdir().expect("a folder");
    for (client, repo, hint) in [
        (
            hub(&fake, cache.path()),
            "org/nothing",
            "for a private repo set `HF_TOKEN`",
        ),
        (
            hub(&fake, cache.path()),
            "org/private",
            "for a private repo set `HF_TOKEN`",
        ),
        (
            with_token(&fake, cache.path(), OTHER_TOKEN),
            "org/private",
            "the token may read",
        ),
    ] {
        let error = train(&client, repo).expect_err("hidden");
        let expected = format!(
            "the dataset repo `{repo}` does not exist at {}, or is private",
            fake.url()
        );
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().expect("advice").contains(hint));
    }
    let good = with_token(&fake, cache.path(), GOOD_TOKEN);
    assert!(train(&good, "org/private").is_ok());
    let error = train(&with_token(&fake, cache.path(), "hf_wrong"), "org/gated");
    let error = error.expect_err("an unknown token");
    assert_eq!(
        error.to_string(),
        format!("{} does not accept the token", fake.url())
    );
}

#[test]
fn old_names_lead_to_the_repo() {
    let repo = FakeRepo::new("openai/gsm8k")
        .renamed_from("gsm8k")
        .large("test.jsonl", &content(1000));
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let split = client
        .resolve("gsm8k", None, None, "test")
        .expect("redirected");
    let paths = client.fetch(&split.files, &()).expect("redirected");
    assert_eq!(read(&paths), [content(1000)]);
    assert!(fake.requests().iter().any(|r| r.status == 307));
    // The name as written, as Python does.
    assert!(cache.path().join("hub/datasets--gsm8k/refs/main").exists());
}

#[test]
fn a_mirror_is_asked_instead_of_the_hub() {
    let fake = FakeHub::start([FakeRepo::new("org/set").file("train.csv", b"a\n1\n")]);
    let cache = tempfile::tempdir().expect("a folder");
    let folder = cache.path().to_str().expect("UTF-8").to_owned();
    let settings = context_bench_hub::HubSettings::from_vars(|name| match name {
        "HF_ENDPOINT" => Some(format!("{}/", fake.url())),
        "HF_HOME" => Some(folder.clone()),
        _ => None,
    });
    let client = Hub::new(settings.expect("valid")).expect("valid");
    let files = train(&client, "org/set").expect("found");
    let paths = client.fetch(&files, &()).expect("fetched");
    assert!(paths[0].starts_with(cache.path().join("hub/datasets--org--set/snapshots")));
    for (endpoint, reason) in [
        ("ftp://h", "it must begin with `https://` or `http://`"),
        ("mirror", "relative URL without a base"),
        (
            "http://me:secret@h",
            "it must hold no user name or password",
        ),
    ] {
        let mut settings = client.settings().clone();
        settings.endpoint = endpoint.to_owned();
        let error = Hub::new(settings).expect_err(endpoint).to_string();
        assert!(
            error.ends_with(reason) && !error.contains("secret"),
            "{error}"
        );
    }
}
