//! Endpoints that misbehave: every row ends scored or failed, and is counted.

use context_bench_testkit::{ChatServer, Fault, Reply, handlers};

use crate::program::{arg, questions, run};

#[test]
fn one_bad_request_of_200_fails_one_row_of_one_system() {
    let shaky = ChatServer::start(|request| {
        if request.last_user_content().starts_with("Number 57:") {
            Reply::status(400).message("context contains a forbidden word")
        } else {
            Reply::text("Paris")
        }
    });
    let steady = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(200);
    let (shaky_url, steady_url) = (shaky.url(), steady.url());
    let base = [
        "--proxy",
        &shaky_url,
        "--name",
        "shaky",
        "--proxy",
        &steady_url,
        "--name",
        "steady",
        "--dataset",
        arg(&path),
        "--max-workers",
        "16",
    ];
    let done = run(&[&base[..], &["--output", "json"]].concat());
    assert_eq!(done.code, 3, "{}", done.stderr);
    let result = done.json();
    let counts = &result["counts"]["shaky"];
    assert_eq!(
        (&counts["scored"], &counts["failed"]),
        (&199.into(), &1.into())
    );
    assert_eq!(result["counts"]["steady"]["scored"], 200);
    assert_eq!(result["counts"]["steady"]["failed"], 0);
    // The mean is over what was scored; the failed row is no zero.
    assert_eq!(result["summary"]["shaky"]["mean_score"], 1.0);
    assert_eq!(result["statistics"]["shaky"]["mean_score"]["n"], 199);
    let failed: Vec<_> = result["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row.get("error").is_some())
        .collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["example_id"], "q57");
    assert_eq!(failed[0]["error"]["kind"], "bad_request");
    let message = failed[0]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("HTTP 400") && message.contains("forbidden word"),
        "{message}"
    );
    assert_eq!(shaky.request_count(), 200);

    let table = run(&base);
    assert_eq!(table.code, 3, "{table}");
    assert!(
        table.stdout.contains("199/1") && table.stdout.contains("200/0"),
        "{table}"
    );
    assert!(
        table
            .stdout
            .contains("shaky: 1 of 200 failed (bad_request)"),
        "{table}"
    );
    assert!(table.stdout.contains("[q57]"), "{table}");

    let tolerant = run(&[&base[..], &["--max-error-rate", "0.01"]].concat());
    assert_eq!(tolerant.code, 0, "{tolerant}");
}

#[test]
fn a_fifth_of_replies_may_fail_and_all_rows_are_scored() {
    let faults = [
        Fault::RateLimited { retry_after: None },
        Fault::ServerError(500),
        Fault::Reset,
        Fault::Truncated,
    ];
    let server = ChatServer::start(handlers::flaky(7, 0.2, faults, handlers::constant("Paris")));
    let (_folder, path) = questions(200);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--max-workers",
        "100",
        "--max-retries",
        "6",
        "--output",
        "json",
    ]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let counts = &done.json()["counts"]["127.0.0.1"];
    assert_eq!(
        (&counts["planned"], &counts["scored"]),
        (&200.into(), &200.into())
    );
    let requests = counts["requests"].as_u64().unwrap();
    assert!((210..400).contains(&requests), "{requests}");
    // A reset can hit a request before the server has read it.
    assert!(
        server.request_count() as u64 <= requests,
        "{} of {requests}",
        server.request_count()
    );
}

#[test]
fn every_sort_of_fault_is_a_failed_row_with_its_reason() {
    let server = ChatServer::start(|request| match request.last_user_content() {
        text if text.starts_with("Number 0:") => Reply::hang(),
        text if text.starts_with("Number 1:") => Reply::invalid_json(),
        text if text.starts_with("Number 2:") => Reply::empty_choices(),
        text if text.starts_with("Number 3:") => Reply::status(500).message("on fire"),
        text if text.starts_with("Number 4:") => Reply::reset(),
        _ => Reply::text("Paris"),
    });
    let (_folder, path) = questions(8);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--max-workers",
        "8",
        "--max-retries",
        "0",
        "--timeout",
        "6",
        "--output",
        "jsonl",
    ]);
    assert_eq!(done.code, 3, "{done}");
    let kinds: Vec<String> = done
        .stdout
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            row["error"]["kind"].as_str().unwrap_or("scored").to_owned()
        })
        .collect();
    let expected = [
        "timeout",
        "bad_reply",
        "bad_reply",
        "server_error",
        "connection",
        "scored",
        "scored",
        "scored",
    ];
    assert_eq!(kinds, expected, "{done}");
}

#[test]
fn a_judge_that_fails_leaves_rows_unscored() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let judge = ChatServer::start(|request| {
        if request.last_user_content().contains("Number 2:") {
            Reply::text("I cannot say")
        } else {
            Reply::text("4")
        }
    });
    let (_folder, path) = questions(4);
    let done = run(&[
        "--proxy",
        &server.url(),
        "--dataset",
        arg(&path),
        "--judge-url",
        &judge.url(),
        "--score-field",
        "judge_score",
        "--output",
        "json",
        "--max-workers",
        "18446744073709551615",
    ]);
    assert_eq!(done.code, 3, "{done}");
    let result = done.json();
    let counts = &result["counts"]["127.0.0.1"];
    assert_eq!(
        (&counts["scored"], &counts["unscored"]),
        (&3.into(), &1.into())
    );
    assert_eq!(result["summary"]["127.0.0.1"]["mean_score"], 0.75);
    let reason = result["rows"][2]["unscored"]["judge_score"]
        .as_str()
        .unwrap();
    assert!(reason.contains("no rating (1 to 5)"), "{reason}");
    // The other evaluator of that row is untouched.
    assert_eq!(result["rows"][2]["scores"]["f1"], 1.0);
}
