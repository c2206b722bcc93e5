//! `--stop-when-decided`, `--control` and `--sweep`: runs with arms and an end of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::Value;

use crate::program::{Done, arg, one_line, questions, run};

/// The number of the question that is asked.
fn number(request: &Request) -> usize {
    let text = request.last_user_content();
    let digits = text.split("Number ").nth(1).unwrap_or_default();
    digits.split(':').next().unwrap().parse().unwrap()
}

/// Answers right but to every n-th question.
fn server(every: usize) -> ChatServer {
    ChatServer::start(move |request: &Request| {
        let is_wrong = number(request).is_multiple_of(every);
        Reply::text(if is_wrong { "Rome" } else { "Paris" })
    })
}

fn ask(systems: &[(&str, &ChatServer)], file: &std::path::Path, more: &[&str]) -> Done {
    let urls: Vec<String> = systems
        .iter()
        .map(|(name, server)| format!("{name}={}", server.url()))
        .collect();
    let mut args: Vec<&str> = urls.iter().flat_map(|url| ["--proxy", url]).collect();
    args.extend(["--dataset", arg(file), "-q"]);
    if !more.contains(&"--output") {
        args.extend(["--output", "json"]);
    }
    args.extend(more);
    run(&args)
}

/// What was shown about a system; how many calls were in flight by then is chance.
fn shown(done: &Done, system: &str) -> Value {
    let json = done.json();
    let mut shown = json["stopping"]["systems"][system].clone();
    shown.as_object_mut().unwrap().remove("saved");
    shown
}

const STOP: [&str; 3] = ["--stop-when-decided", "--margin", "0.1"];

#[test]
fn a_run_ends_when_everything_is_decided_and_is_complete() {
    let (_folder, file) = questions(400);
    let (direct, bad, same) = (server(1000), server(2), server(1000));
    let systems = [("direct", &direct), ("bad", &bad), ("same", &same)];
    let done = ask(&systems, &file, &STOP);
    assert_eq!(done.code, 0, "{done}");
    let json = done.json();
    assert!(
        json.get("interrupted").is_none() && json.get("part_of").is_none(),
        "{done}"
    );
    let stopping = &json["stopping"];
    let verdict = |name: &str| stopping["systems"][name]["verdict"].clone();
    assert_eq!(
        (verdict("bad"), verdict("same")),
        ("worse".into(), "not_worse".into())
    );
    assert_eq!(stopping["ended_early"], true);
    assert_eq!(stopping["examples"], 400);
    let rows = json["rows"].as_array().unwrap();
    let count = |name: &str| rows.iter().filter(|row| row["system"] == name).count();
    // The bad one is done first and asked no more; the baseline goes on for the other.
    assert!(
        count("bad") < count("same") && count("same") <= count("direct"),
        "{stopping}"
    );
    assert!(count("direct") < 400, "{stopping}");
    assert_eq!(count("bad"), bad.request_count());
    for name in ["direct", "bad", "same"] {
        let counts = &json["counts"][name];
        assert_eq!(counts["planned"], counts["scored"], "{counts}");
    }
    assert_eq!(stopping["saved"], 400 - count("direct"));
    // Examples come in random order, and rows stand in the order of the dataset.
    let ids: Vec<usize> = rows
        .iter()
        .filter(|row| row["system"] == "bad")
        .map(|row| row["example_id"].as_str().unwrap()[1..].parse().unwrap())
        .collect();
    assert!(ids.is_sorted() && ids.last().unwrap() > &200, "{ids:?}");

    let (folder, _) = questions(1);
    let table = folder.path().join("table.txt");
    let shown = ask(
        &systems,
        &file,
        &[
            &STOP[..],
            &["--output", "table", "--output-file", arg(&table)],
        ]
        .concat(),
    );
    assert_eq!(shown.code, 0, "{shown}");
    let text = one_line(&std::fs::read_to_string(&table).unwrap());
    for part in [
        "bad against direct: worse by more than 0.1 after",
        "same against direct: not worse by more than 0.1 after",
        "of 400 examples saved",
        "hold however often one looks",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_seed_decides_which_examples_are_asked_about_and_a_stopped_run_goes_on() {
    let (folder, file) = questions(300);
    let (direct, bad) = (server(1000), server(3));
    let systems = [("direct", &direct), ("bad", &bad)];
    let cache = folder.path().join("cache");
    let run = |more: &[&str]| ask(&systems, &file, &[&STOP[..], more].concat());
    let ids = |done: &Done| -> Vec<Value> {
        let json = done.json();
        let rows = json["rows"].as_array().unwrap().iter();
        rows.map(|row| row["example_id"].clone()).collect()
    };
    let first = run(&["--seed", "1", "--cache-dir", arg(&cache)]);
    assert_eq!(first.code, 0, "{first}");
    let asked = direct.request_count() + bad.request_count();
    // The same seed leads to the same rows, from the store alone.
    let again = run(&["--seed", "1", "--cache-dir", arg(&cache)]);
    assert_eq!(shown(&again, "bad"), shown(&first, "bad"));
    assert_eq!(direct.request_count() + bad.request_count(), asked);
    assert_ne!(ids(&run(&["--seed", "2"])), ids(&first));

    // A stored run is complete: exported as it was, and rescored.
    let stored = |command: &str| {
        let args = [
            command,
            "last",
            "--cache-dir",
            arg(&cache),
            "--output",
            "json",
        ];
        crate::program::run(&args)
    };
    let exported = stored("export");
    assert_eq!(exported.code, 0, "{exported}");
    assert_eq!(exported.json()["stopping"], again.json()["stopping"]);
    assert_eq!(
        exported.json()["counts"]["bad"]["planned"],
        again.json()["counts"]["bad"]["planned"]
    );
    let rescored = stored("rescore");
    assert_eq!(rescored.code, 0, "{rescored}");

    // Killed in the middle and run again, it ends where it would have ended.
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let flaky = ChatServer::start(move |request: &Request| {
        // After eight answers nothing works any more, until it is asked again.
        match counted.fetch_add(1, Ordering::SeqCst) {
            8..12 => Reply::status(400),
            _ => Reply::text(if number(request).is_multiple_of(3) {
                "Rome"
            } else {
                "Paris"
            }),
        }
    });
    let systems = [("direct", &direct), ("bad", &flaky)];
    let cache = folder.path().join("other");
    let flags = [
        "--seed",
        "1",
        "--cache-dir",
        arg(&cache),
        "--max-error-rate",
        "1",
    ];
    let broken = ask(&systems, &file, &[&STOP[..], &flags].concat());
    assert_eq!(broken.code, 0, "{broken}");
    let missing = broken.json()["stopping"]["systems"]["bad"]["missing"]
        .as_u64()
        .unwrap();
    assert!(missing > 0, "failed calls are left out: {broken}");
    let mended = ask(&systems, &file, &[&STOP[..], &flags].concat());
    assert_eq!(shown(&mended, "bad"), shown(&first, "bad"));
}

#[test]
fn what_stopping_needs_is_said_before_anything_is_sent() {
    let (_folder, file) = questions(3);
    let (direct, other) = (server(2), server(3));
    let both = [("direct", &direct), ("other", &other)];
    for (systems, flags, what) in [
        (&both[..], &["--stop-when-decided"][..], "needs a margin"),
        (&both[..1], &STOP, "there is only one"),
    ] {
        let done = ask(systems, &file, flags);
        done.is_error(&[what]);
    }
    assert_eq!(direct.request_count() + other.request_count(), 0);
}

#[test]
fn what_looks_leave_open_is_told_beside_what_the_end_shows() {
    // Six of fourteen are lost (p 0.031): enough for one look, too few for fourteen.
    let (_folder, file) = questions(14);
    let (direct, bad) = (server(1000), server(2));
    let systems = [("direct", &direct), ("bad", &bad)];
    let margin = ["--stop-when-decided", "--margin", "0.01"];
    let done = ask(
        &systems,
        &file,
        &[&margin[..], &["--output", "markdown"]].concat(),
    );
    assert_eq!(done.code, 0, "{done}");
    for part in [
        "bad against direct: nothing decided about a margin of 0.01 after 14 examples",
        "what looks after every example leave open, one look at all of them may show",
        ": worse by more than 1 point.",
    ] {
        assert!(done.stdout.contains(part), "no `{part}` in {done}");
    }
    assert!(!done.stdout.contains("ended early"), "{done}");
}

#[test]
fn a_control_shows_the_noise_and_shares_no_answers() {
    let (folder, file) = questions(60);
    let cache = folder.path().join("cache");
    // Noise: about every fourth answer is wrong, whoever asks.
    let calls = AtomicUsize::new(0);
    let direct = ChatServer::start(move |_: &Request| {
        let n = calls.fetch_add(1, Ordering::SeqCst);
        Reply::text(if n % 4 == 1 { "Rome" } else { "Paris" })
    });
    let bad = server(1);
    let systems = [("direct", &direct), ("bad", &bad)];
    let flags = ["--control", "direct", "--cache-dir", arg(&cache)];
    let done = ask(&systems, &file, &flags);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(direct.request_count(), 120, "asked twice about everything");
    let json = done.json();
    let control = &json["controls"][0];
    assert_eq!(
        (&control["system"], &control["control"]),
        (&"direct".into(), &"direct (control)".into())
    );
    assert_eq!(control["examples"], 60);
    let floor = control["floor"].as_f64().unwrap();
    assert!(floor > 0.05 && floor < 0.5, "{control}");
    assert!(
        control["beside"]["bad"].as_f64().unwrap() < -floor,
        "{control}"
    );
    // Each has stored answers of its own.
    let again = ask(&systems, &file, &flags);
    assert_eq!(again.json()["controls"], json["controls"]);
    assert_eq!(direct.request_count(), 120);
    let gate = ask(
        &systems,
        &file,
        &["--control", "direct", "--fail-if", "f1 > 2"],
    );
    assert_eq!(
        gate.json()["gates"].as_array().unwrap().len(),
        1,
        "no gate for the control"
    );
    ask(&systems, &file, &["--control", "drect"]).is_error(&["did you mean `direct`?"]);
}

#[test]
fn a_control_that_never_differs_says_so() {
    let (_folder, file) = questions(6);
    let args = ["--system", "passthrough", "--control", "passthrough"];
    let done = run(&[&args[..], &["--dataset", arg(&file), "--quiet"]].concat());
    assert_eq!(done.code, 0, "{done}");
    let text = one_line(&done.stdout);
    let said = "passthrough against itself: f1 +0.000 over 6 examples; it gave the same score for \
                every example, so that noise shows no difference";
    assert!(text.contains(said), "{done}");
    assert!(!text.contains("up to ±"), "{done}");
}

#[test]
fn a_sweep_draws_a_curve_and_finds_the_smallest_context() {
    let args = [
        "--system",
        "passthrough",
        "--sweep",
        "extractive:ratio=0.1..0.9/3",
        "--sweep",
        "truncate:keep=tail,ratio=0.1..0.9/3",
        "--dataset",
        "demo",
        "-n",
        "50",
        "-q",
        "--margin",
        "0.15",
    ];
    let done = run(&[&args[..], &["--output", "json"]].concat());
    assert_eq!(done.code, 0, "{done}");
    let json = done.json();
    let names: Vec<&str> = json["config"]["systems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_str().unwrap())
        .collect();
    assert_eq!(
        names[..4],
        [
            "passthrough",
            "extractive:ratio=0.1",
            "extractive:ratio=0.5",
            "extractive:ratio=0.9"
        ]
    );
    let sweep = &json["sweeps"][0];
    assert_eq!(
        (&sweep["name"], &sweep["examples"]),
        (&"extractive:ratio".into(), &50.into())
    );
    let points = sweep["points"].as_array().unwrap();
    let tokens: Vec<f64> = points
        .iter()
        .map(|point| point["tokens"].as_f64().unwrap())
        .collect();
    assert!(tokens.is_sorted() && tokens.len() == 3, "{tokens:?}");
    for point in points {
        let band = &point["quality_interval"];
        let quality = point["quality"].as_f64().unwrap();
        assert!(band["low"].as_f64().unwrap() <= quality, "{point}");
        assert!(band["high"].as_f64().unwrap() >= quality, "{point}");
    }
    assert!(
        points.iter().all(|point| point["verdict"].is_string()),
        "{sweep}"
    );
    assert!(sweep["area"]["area"].as_f64().unwrap() > 0.0);
    let beside = &json["sweeps"][1]["beside"][0];
    assert_eq!(beside["sweep"], "extractive:ratio");
    // Cutting the head off loses more than choosing sentences, at the same number of tokens.
    assert!(beside["difference"].as_f64().unwrap() < 0.0, "{beside}");

    let table = run(&args);
    for part in [
        "Sweep extractive:ratio: f1 against prompt tokens",
        "●",
        "area under the curve",
    ] {
        assert!(table.stdout.contains(part), "no `{part}` in {table}");
    }
    let markdown = run(&[&args[..], &["--output", "markdown"]].concat());
    assert!(
        markdown.stdout.contains("## Sweep extractive:ratio"),
        "{markdown}"
    );
    let wrong = run(&[
        "--system",
        "passthrough",
        "--sweep",
        "extractive:ratoi=0.1..0.9/3",
        "--dataset",
        "demo",
        "-q",
    ]);
    wrong.is_error(&["ratoi"]);
}

#[test]
fn endpoints_are_swept_by_their_settings() {
    let (_folder, file) = questions(6);
    let app = ChatServer::start(|request: &Request| {
        let most = request.json()["max_tokens"].as_u64().unwrap_or(0);
        Reply::text(if most >= 20 { "Paris" } else { "Rome" }).usage(most, 1)
    });
    let done = ask(
        &[("app", &app)],
        &file,
        &["--sweep", "app:max-tokens=10..40/4/log"],
    );
    assert_eq!(done.code, 0, "{done}");
    let json = done.json();
    let points = json["sweeps"][0]["points"].as_array().unwrap();
    let found: Vec<(f64, f64)> = points
        .iter()
        .map(|point| {
            (
                point["value"].as_f64().unwrap(),
                point["quality"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, [(10.0, 0.0), (16.0, 0.0), (25.0, 1.0), (40.0, 1.0)]);
}
