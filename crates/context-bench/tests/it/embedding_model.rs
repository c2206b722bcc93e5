//! Embedding models from a folder and from a hub on loopback.

use std::path::{Path, PathBuf};

use context_bench::dataset::catalog::{Hub, HubAccess, HubSettings};
use context_bench::error::Hint as _;
use context_bench::memory::{EmbeddingModel, EmbeddingModelError};
use context_bench_testkit::hub::{FakeHub, FakeRepo};

const REPO: &str = "sentence-transformers/tiny-bert";

/// The small transformer of the crate `context-bench-memory`.
fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../context-bench-memory/tests/fixtures/tiny-bert")
}

fn file(path: &str) -> Vec<u8> {
    std::fs::read(tiny().join(path)).unwrap()
}

/// The same as a repo, with what models also have there.
fn repo(name: &str) -> FakeRepo {
    let mut repo = FakeRepo::model(name)
        .file("README.md", b"# A model")
        .large("onnx/model.onnx", &[7; 9000])
        .large("pytorch_model.bin", &[8; 9000])
        .large("model.safetensors", &file("model.safetensors"));
    for path in [
        "1_Pooling/config.json",
        "config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ] {
        repo = repo.file(path, &file(path));
    }
    repo
}

fn access(hub: &FakeHub, cache: &Path, offline: bool) -> HubAccess {
    let mut settings = HubSettings::new(cache);
    settings.endpoint = hub.url().to_owned();
    settings.offline = offline;
    HubAccess::new(Hub::new(settings).unwrap())
}

#[test]
fn a_folder_is_read_without_a_hub() {
    let folder = tiny();
    let folder = folder.to_str().unwrap();
    assert!(EmbeddingModel::is_local(folder));
    let model = EmbeddingModel::resolve(folder, None).unwrap();
    assert_eq!(model.source(), folder);
    assert_eq!(model.revision(), None);
    assert_eq!(model.embedder().embed("the dog").len(), 32);
}

#[test]
fn a_model_of_the_hub_is_the_same_as_its_folder() {
    let hub = FakeHub::start([repo(REPO)]);
    let cache = tempfile::tempdir().unwrap();
    let online = access(&hub, cache.path(), false);
    let model = EmbeddingModel::resolve(REPO, Some(&online)).unwrap();
    let local = EmbeddingModel::resolve(tiny().to_str().unwrap(), None).unwrap();
    assert_eq!(model.embedder().name(), local.embedder().name());
    let commit = hub.commit(&format!("models/{REPO}"), "main");
    assert_eq!(model.source(), format!("hf://{REPO}"));
    assert_eq!(model.revision(), Some(commit.as_str()));
    for unneeded in ["README", ".onnx", ".bin"] {
        assert_eq!(hub.bytes_sent(unneeded), 0, "{unneeded}");
    }

    // As sentence-transformers writes it.
    let bare = EmbeddingModel::resolve("tiny-bert", Some(&online)).unwrap();
    assert_eq!(bare.source(), model.source());

    // By a revision, from the cache alone.
    hub.forget_requests();
    let pinned = format!("{REPO}@{commit}");
    let pinned = EmbeddingModel::resolve(&pinned, Some(&online)).unwrap();
    assert_eq!(pinned.embedder().name(), model.embedder().name());
    let offline = access(&hub, cache.path(), true);
    let again = EmbeddingModel::resolve(REPO, Some(&offline)).unwrap();
    assert_eq!(again.embedder().name(), model.embedder().name());
    assert_eq!(hub.requests().len(), 0);

    // Other weights are another model, and the earlier ones stay.
    let mut weights = file("model.safetensors");
    let last = weights.len() - 4;
    weights[last] ^= 1;
    hub.push(repo(REPO).large("model.safetensors", &weights));
    let newer = EmbeddingModel::resolve(REPO, Some(&online)).unwrap();
    assert_ne!(newer.embedder().name(), model.embedder().name());
    let earlier = EmbeddingModel::resolve(&format!("{REPO}@{commit}"), Some(&online)).unwrap();
    assert_eq!(earlier.embedder().name(), model.embedder().name());
}

#[test]
fn what_is_no_model_is_said() {
    let hub = FakeHub::start([
        FakeRepo::model("org/old")
            .file("config.json", b"{\"model_type\": \"bert\"}")
            .large("pytorch_model.bin", b"x"),
        FakeRepo::model("org/other")
            .file("config.json", b"{\"model_type\": \"mpnet\"}")
            .file("tokenizer.json", b"{}")
            .large("model.safetensors", b"x"),
        FakeRepo::new("org/data").file("config.json", b"{}"),
    ]);
    let cache = tempfile::tempdir().unwrap();
    let online = access(&hub, cache.path(), false);
    let offline = access(&hub, cache.path(), true);
    for (given, hub, what, hint) in [
        (
            "minilm",
            Some(&online),
            "no folder `minilm`, and it cannot be fetched: the model repo \
             `sentence-transformers/minilm` does not exist",
            "check the name",
        ),
        (
            "./no/such",
            Some(&online),
            "no such folder",
            "name a folder",
        ),
        (
            "org/name@",
            Some(&online),
            "no embedding model `org/name@`",
            "name a folder",
        ),
        (
            "org/name",
            None,
            "there is no folder `org/name`",
            "name a folder",
        ),
        (
            "org/data",
            Some(&online),
            "the model repo `org/data` does not exist",
            "check the name",
        ),
        (
            "org/old@v2",
            Some(&online),
            "the model repo `org/old` has no revision `v2`",
            "leave the revision out",
        ),
        (
            "org/old",
            Some(&online),
            "the model repo `org/old` has no `model.safetensors`",
            "its `pytorch_model.bin` is not read",
        ),
        (
            "org/other",
            Some(&online),
            "the architecture `mpnet` is not supported",
            "BERT family",
        ),
        (
            "org/new",
            Some(&offline),
            "the model repo `org/new` is not in the cache",
            "run the same command once with a network",
        ),
    ] {
        let error: EmbeddingModelError = EmbeddingModel::resolve(given, hub).unwrap_err();
        assert!(error.to_string().contains(what), "{given}: {error}");
        let said = error.hint().unwrap();
        assert!(said.contains(hint), "{given}: {said}");
    }
}
