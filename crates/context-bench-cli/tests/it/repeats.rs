//! `--repeats`: every system is asked several times about each example.

use std::sync::atomic::{AtomicUsize, Ordering};

use context_bench_testkit::{ChatServer, Reply};

use crate::program::{arg, questions, run};

#[test]
fn repeats_are_asked_stored_and_summed_up_as_pass_at_k() {
    let (folder, file) = questions(4);
    let cache = folder.path().join("cache");
    let calls = AtomicUsize::new(0);
    // Every third answer is wrong.
    let server = ChatServer::start(move |_| {
        let n = calls.fetch_add(1, Ordering::SeqCst);
        Reply::text(if n % 3 == 2 { "Rome" } else { "Paris" })
    });
    let ask = |repeats: &str| {
        let url = server.url();
        let done = run(&[
            "--proxy",
            &url,
            "--dataset",
            arg(&file),
            "--cache-dir",
            arg(&cache),
            "--max-workers",
            "1",
            "--score-field",
            "contains",
            "--repeats",
            repeats,
            "--output",
            "json",
        ]);
        let json = done.json();
        let summary = json["summary"].as_object().unwrap();
        (json.clone(), summary.values().next().unwrap().clone())
    };
    let (once, summary) = ask("1");
    assert_eq!(once["rows"].as_array().unwrap().len(), 4);
    assert!(summary.get("pass_at_1").is_none());
    assert_eq!(server.request_count(), 4);

    // The first answers are there already.
    let (thrice, summary) = ask("3");
    assert_eq!(server.request_count(), 12);
    let rows = thrice["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    assert_eq!(rows[0]["example_id"], rows[2]["example_id"]);
    // Right answers of three: 2, 3, 1, 2.
    let value = |name: &str| summary[name].as_f64().unwrap();
    assert!((value("pass_at_1") - 2.0 / 3.0).abs() < 1e-9, "{summary}");
    assert!((value("pass_at_3") - 1.0).abs() < 1e-9, "{summary}");
    // Attempts at one example are no findings of their own: four examples, with
    // shares of 2/3, 1, 1/3 and 2/3, and their error by hand.
    let statistics = thrice["statistics"].as_object().unwrap();
    let statistics = statistics.values().next().unwrap();
    for name in ["mean_score", "pass_rate"] {
        let found = &statistics[name];
        assert_eq!((&found["n"], &found["examples"]), (&12.into(), &4.into()));
        let stderr = found["stderr"].as_f64().unwrap();
        assert!((stderr - (2.0_f64 / 108.0).sqrt()).abs() < 1e-9, "{found}");
    }
    assert_eq!(statistics["pass_at_1"]["n"], 4);

    // Nothing is missing now.
    ask("3");
    assert_eq!(server.request_count(), 12);
}
