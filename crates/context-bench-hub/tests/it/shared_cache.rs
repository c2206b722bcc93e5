//! One cache for us and for Python's `huggingface_hub`.
//!
//! The layouts below were compared with what huggingface_hub 2.4.0 wrote against
//! this same fake hub. `the_python_client_shares_our_cache` repeats that with
//! the real client where `CONTEXT_BENCH_HF_PYTHON` names a Python that has it.

use std::path::Path;
use std::process::Command;

use context_bench_error::Hint as _;
use context_bench_testkit::hub::{FakeHub, FakeRepo};

use crate::common::{content, files_ending, hub, offline, read};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, bytes).expect("written");
}

/// A file as Python's `hf_hub_download` leaves it.
#[cfg(unix)]
fn python_download(repo: &Path, path: &str, etag: &str, bytes: &[u8]) {
    write(&repo.join("blobs").join(etag), bytes);
    write(&repo.join("refs/main"), COMMIT.as_bytes());
    let pointer = repo.join("snapshots").join(COMMIT).join(path);
    std::fs::create_dir_all(pointer.parent().expect("a folder")).expect("made");
    let up = "../".repeat(2 + path.matches('/').count());
    std::os::unix::fs::symlink(format!("{up}blobs/{etag}"), pointer).expect("linked");
}

#[cfg(unix)]
#[test]
fn files_of_python_are_used_without_a_request() {
    let fake = FakeHub::start([]);
    let cache = tempfile::tempdir().expect("a folder");
    let repo = cache.path().join("hub/datasets--org--set");
    // `printf "PAR1" | sha256sum`, `printf "{}\n" | git hash-object --stdin`.
    let one = "fbc62d3b511368ee275ddc74117d8689b430e1427220e25d30816201d89ca7b6".to_owned();
    let two = "0967ef424bce6791893e9a57bb952f80fd536e93".to_owned();
    python_download(&repo, "data/train-00000-of-00002.parquet", &one, b"PAR1");
    python_download(&repo, "test.jsonl", &two, b"{}\n");
    let alone = offline(&fake, cache.path());
    let files = alone
        .files("org/set", None, &["test.jsonl"])
        .expect("there");
    assert_eq!(files[0].commit, COMMIT);
    assert_eq!(
        files[0].checksum.as_ref().map(|sum| sum.as_str()),
        Some(two.as_str())
    );
    let paths = alone.fetch(&files, &()).expect("there");
    assert_eq!(read(&paths), [b"{}\n".to_vec()]);
    // A split of which Python fetched one of two files is not passed off as whole.
    let error = alone
        .resolve("org/set", None, None, "train")
        .expect_err("half");
    assert!(
        error.to_string().contains("train-00000-of-00002.parquet"),
        "{error}"
    );
    assert!(
        error
            .hint()
            .expect("advice")
            .starts_with("1 of 2 files are there")
    );
    python_download(&repo, "data/train-00001-of-00002.parquet", &one, b"PAR1");
    let split = alone
        .resolve("org/set", None, None, "train")
        .expect("whole");
    assert_eq!(split.files.len(), 2);
    assert!(alone.cached("org/set", None, None, "train").is_complete());
    assert_eq!(fake.requests().len(), 0);
}

#[test]
fn a_blob_that_is_there_is_linked_and_a_cut_one_is_replaced() {
    let repo = FakeRepo::new("org/set").large("train.jsonl", &content(9000));
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let files = client
        .files("org/set", None, &["train.jsonl"])
        .expect("found");
    let sum = files[0].checksum.as_ref().expect("known").as_str();
    let blob = cache.path().join("hub/datasets--org--set/blobs").join(sum);
    write(&blob, &content(9000));
    let paths = client.fetch(&files, &()).expect("linked");
    assert_eq!(
        (read(&paths), fake.bytes_sent("train.jsonl")),
        (vec![content(9000)], 0)
    );
    write(&blob, &content(100));
    let paths = client.fetch(&files, &()).expect("fetched");
    assert_eq!(
        (read(&paths), fake.bytes_sent("train.jsonl")),
        (vec![content(9000)], 9000)
    );
}

#[cfg(unix)]
#[test]
fn our_layout_is_that_of_python() {
    let repo = FakeRepo::new("org/set")
        .large("data/train.jsonl", &content(9000))
        .file("README.md", b"# Set\n");
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let files = client
        .files("org/set", None, &["data/*", "README.md"])
        .expect("found");
    client.fetch(&files, &()).expect("fetched");
    let root = cache.path().join("hub");
    let folder = root.join("datasets--org--set");
    let commit = fake.commit("org/set", "main");
    let text = |path: &Path| std::fs::read_to_string(path).expect("a file");
    assert_eq!(text(&folder.join("refs/main")), commit);
    assert!(
        text(&root.join("CACHEDIR.TAG")).starts_with("Signature: 8a477f597d28d172789f06886806bc55")
    );
    for (file, up) in files.iter().zip(["../../../", "../../"]) {
        let sum = file.checksum.as_ref().expect("known").as_str();
        let link = folder.join("snapshots").join(&commit).join(&file.path);
        let target = std::fs::read_link(&link).expect("a link");
        assert_eq!(target, Path::new(&format!("{up}blobs/{sum}")));
        assert!(link.exists());
        let lock = root
            .join(".locks/datasets--org--set")
            .join(format!("{sum}.lock"));
        assert!(lock.exists());
    }
    let tree = text(&folder.join(format!("trees/{commit}.json")));
    let tree: serde_json::Value = serde_json::from_str(&tree).expect("JSON");
    assert_eq!(tree["format_version"], 1);
    let train = &tree["files"]["data/train.jsonl"];
    assert_eq!(
        (&train["size"], &train["lfs_size"]),
        (&9000.into(), &9000.into())
    );
}

/// Every file of a cache with what it holds: the target of a link, JSON without
/// its spacing, the text of all others.
#[cfg(unix)]
fn layout(cache: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = files_ending(cache, "")
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(cache).expect("inside");
            let name = name.to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).expect("a file");
            let holds = match (std::fs::read_link(&path), serde_json::from_slice(&bytes)) {
                (Ok(target), _) => target.to_string_lossy().into_owned(),
                (_, Ok::<serde_json::Value, _>(json)) => json.to_string(),
                _ if name == "CACHEDIR.TAG" => String::new(),
                _ => format!("{bytes:?}"),
            };
            (name, holds)
        })
        .collect();
    found.sort();
    assert!(found.len() > 7, "{found:?}");
    found
}

/// The real Python client against the same hub and cache, both ways round.
#[cfg(unix)]
#[test]
fn the_python_client_shares_our_cache() {
    let Some(python) = std::env::var_os("CONTEXT_BENCH_HF_PYTHON") else {
        eprintln!("skipped: CONTEXT_BENCH_HF_PYTHON names no Python with huggingface_hub");
        return;
    };
    let make = || {
        FakeRepo::new("org/set")
            .large("data/train-00000-of-00001.parquet", &content(9000))
            .file("README.md", b"# Set\n")
    };
    let fake = FakeHub::start([make()]);
    let run = |cache: &Path, script: &str| {
        let done = Command::new(&python)
            .args(["-c", script])
            .env("HF_ENDPOINT", fake.url())
            .env("HF_HUB_CACHE", cache.join("hub"))
            .env("HF_HUB_DISABLE_TELEMETRY", "1")
            .env("HF_HUB_DISABLE_XET", "1")
            .output()
            .expect("Python runs");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{errors}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    };
    const DOWNLOAD: &str = "from huggingface_hub import hf_hub_download as get
print(get('org/set', 'data/train-00000-of-00001.parquet', repo_type='dataset'))";
    const SNAPSHOT: &str = "from huggingface_hub import snapshot_download as get
print(get('org/set', repo_type='dataset'))";

    // Both fetch everything: the same files, links and contents.
    let ours = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, ours.path());
    let files = client
        .files("org/set", None, &["**", "README.md"])
        .expect("found");
    client.fetch(&files, &()).expect("fetched");
    let theirs = tempfile::tempdir().expect("a folder");
    run(theirs.path(), SNAPSHOT);
    assert_eq!(
        layout(&ours.path().join("hub")),
        layout(&theirs.path().join("hub"))
    );

    // Ours first: Python downloads nothing.
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let split = client
        .resolve("org/set", None, None, "train")
        .expect("found");
    let paths = client.fetch(&split.files, &()).expect("fetched");
    fake.forget_requests();
    assert_eq!(Path::new(&run(cache.path(), DOWNLOAD)), paths[0]);
    assert_eq!(fake.bytes_sent("train-00000-of-00001.parquet"), 0);

    // Python first: we download nothing, and offline nothing is asked.
    let cache = tempfile::tempdir().expect("a folder");
    run(cache.path(), SNAPSHOT);
    fake.forget_requests();
    let alone = offline(&fake, cache.path());
    let split = alone
        .resolve("org/set", None, None, "train")
        .expect("there");
    assert_eq!(
        read(&alone.fetch(&split.files, &()).expect("there")),
        [content(9000)]
    );
    assert_eq!(fake.requests().len(), 0);
    let split = hub(&fake, cache.path()).resolve("org/set", None, None, "train");
    assert_eq!(split.expect("found").files.len(), 1);
    assert_eq!(fake.bytes_sent("train"), 0);
}
