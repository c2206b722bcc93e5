//! Repos of models: their own addresses, their own place in the cache.

use context_bench_error::Hint as _;
use context_bench_hub::{HubError, RemoteFile, RepoKind};
use context_bench_testkit::hub::{FakeHub, FakeRepo};

use crate::common::{content, hub, offline, read, with_token};

fn model() -> FakeRepo {
    FakeRepo::model("org/name")
        .file("config.json", b"{}")
        .file("1_Pooling/config.json", b"{}")
        .large("model.safetensors", &content(50_000))
}

fn paths(files: &[RemoteFile]) -> Vec<&str> {
    files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn a_model_is_fetched_once_and_read_offline() {
    // A dataset of the same name is another repo.
    let data = FakeRepo::new("org/name").file("train.jsonl", b"{}\n");
    let fake = FakeHub::start([data, model()]);
    fake.page_size(2);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let files = client.model_files("org/name", None).expect("listed");
    assert_eq!(
        paths(&files),
        ["1_Pooling/config.json", "config.json", "model.safetensors"]
    );
    assert_eq!(files[0].repo.kind(), RepoKind::Model);
    let fetched = client.fetch(&files, &()).expect("fetched");
    assert_eq!(read(&fetched)[2], content(50_000));
    let commit = fake.commit("models/org/name", "main");
    let folder = cache.path().join("hub/models--org--name/snapshots");
    assert_eq!(fetched[1], folder.join(commit).join("config.json"));
    let asked: Vec<String> = fake
        .requests()
        .into_iter()
        .map(|request| request.path)
        .collect();
    assert!(
        asked
            .iter()
            .any(|path| path.starts_with("/api/models/org/name/tree/"))
    );
    assert!(
        asked
            .iter()
            .any(|path| path.starts_with("/org/name/resolve/"))
    );

    fake.forget_requests();
    let without = offline(&fake, cache.path());
    let again = without.model_files("org/name", None).expect("kept");
    assert_eq!(without.fetch(&again, &()).expect("cached"), fetched);
    let data = without.files("org/name", None, &["train.jsonl"]);
    assert!(matches!(data, Err(HubError::Offline { .. })), "{data:?}");
    assert_eq!(fake.requests().len(), 0);

    let dataset = client.files("org/name", None, &["train.jsonl"]);
    assert_eq!(dataset.expect("listed")[0].repo.kind(), RepoKind::Dataset);
}

#[test]
fn errors_speak_of_models() {
    let gated = FakeRepo::model("org/gated")
        .file("config.json", b"{}")
        .gated();
    let fake = FakeHub::start([model(), gated, FakeRepo::new("org/data")]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let error = |found: Result<Vec<RemoteFile>, HubError>| found.expect_err("an error").to_string();
    for (repo, revision, expected) in [
        ("org/none", None, "the model repo `org/none` does not exist"),
        ("org/data", None, "the model repo `org/data` does not exist"),
        (
            "org/name",
            Some("v9"),
            "the model repo `org/name` has no revision `v9`",
        ),
        ("a b", None, "`a b` is not the name of a model repo"),
    ] {
        let said = error(client.model_files(repo, revision));
        assert!(said.contains(expected), "{said}");
    }
    let said = error(offline(&fake, cache.path()).model_files("org/name", None));
    assert!(
        said.contains("the model repo `org/name` is not in the cache"),
        "{said}"
    );

    let other = with_token(&fake, cache.path(), context_bench_testkit::hub::OTHER_TOKEN);
    let files = other.model_files("org/gated", None).expect("listed");
    let refused = other.fetch(&files, &()).expect_err("refused");
    assert!(
        refused
            .to_string()
            .contains("the model repo `org/gated` is gated"),
        "{refused}"
    );
    // The page of a model stands at the top.
    let hint = refused.hint().expect("a hint");
    assert!(
        hint.contains(&format!("{}/org/gated", fake.url())),
        "{hint}"
    );
}
