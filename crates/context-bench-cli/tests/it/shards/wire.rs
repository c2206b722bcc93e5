//! What a tap saw of rows that failed travels with segments and merged stores.

use context_bench_testkit::proxy::TestProxy;
use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::Value;

use super::kit::number_in;
use super::merge;
use crate::program::{arg, command, questions, run, run_with};

/// What was seen of failed rows, by system and example, without times.
fn failed(result: &Value) -> Vec<(String, String, u64, u64)> {
    let rows = result["rows"].as_array().unwrap().iter();
    let failed = rows.filter(|row| !row["error"].is_null());
    let mut found: Vec<_> = failed
        .map(|row| {
            let wire = &row["wire"];
            let calls = wire["calls"]
                .as_object()
                .unwrap_or_else(|| panic!("no facts: {row}"));
            let calls = calls.values().filter_map(Value::as_u64).sum();
            let bytes = wire["all_upstream_bytes"].as_u64().unwrap();
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            (text("system"), text("example_id"), calls, bytes)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn what_a_tap_saw_of_failed_rows_is_merged() {
    let server = ChatServer::start(|request: &Request| match number_in(request) % 3 {
        0 => Reply::status(400).message("no threes"),
        _ => Reply::text("Paris").usage(request.prompt_words(), 1),
    });
    let proxy = TestProxy::pass_through();
    let listen = crate::tap_arms::free_address();
    proxy.point_at(&format!("http://{listen}/a/relayed"));
    let (folder, path) = questions(24);
    let (url, named) = (server.url(), format!("relayed={}", proxy.url()));
    let asked = |dir: &str, more: &[&str]| {
        let cache = folder.path().join(dir);
        let mut command = command();
        command.args([
            "--proxy",
            &named,
            "--upstream",
            &url,
            "--tap-listen",
            &listen,
        ]);
        command.args(["--dataset", arg(&path), "--cache-dir", arg(&cache)]);
        command.args([
            "--output",
            "json",
            "--max-retries",
            "0",
            "--max-error-rate",
            "1",
        ]);
        run_with(command.args(more))
    };
    let single = asked("single", &[]);
    assert_eq!(single.code, 0, "{single}");
    let expected = failed(&single.json());
    // Every third example, with both systems.
    assert_eq!(expected.len(), 16);
    assert!(
        expected
            .iter()
            .all(|(_, _, calls, bytes)| *calls > 0 && *bytes > 0)
    );
    for which in ["0/2", "1/2"] {
        let done = asked("shards", &["--shard", which, "--publish-every", "0.02"]);
        assert_eq!(done.code, 0, "{done}");
    }
    let dir = folder.path().join("shards");
    let exported = |dir: &std::path::Path| {
        let done = run(&["export", "merged", "--cache-dir", arg(dir)]);
        failed(&done.json())
    };
    assert_eq!(merge(&dir, &[]).code, 3);
    assert_eq!(exported(&dir), expected);
    // A merged store is a source like any other.
    let again = folder.path().join("again");
    assert_eq!(merge(&dir, &["--into", arg(&again)]).code, 3);
    std::fs::remove_dir_all(dir.join("shards")).unwrap();
    let moved = folder.path().join("moved");
    assert_eq!(merge(&dir, &["--into", arg(&moved)]).code, 3);
    assert_eq!(exported(&moved), expected);
    assert_eq!(exported(&again), expected);
}
