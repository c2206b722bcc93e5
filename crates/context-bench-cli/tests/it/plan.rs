//! `plan`: how many examples a verdict takes, from what is expected or from a pilot run.

use context_bench_testkit::{ChatServer, Reply, Request};

use crate::program::{arg, questions, run};

#[test]
fn what_is_expected_gives_a_number_and_a_table() {
    let done = run(&["plan", "--margin", "0.02", "--discordance", "0.1"]);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout.contains("1,963 examples show"), "{done}");
    assert!(
        done.stdout
            .contains("margin        80 %        90 %        95 %"),
        "{done}"
    );
    let args = [
        "plan",
        "--margin",
        "0.02",
        "--deviation",
        "0.3",
        "--power",
        "0.85",
        "--output",
        "json",
    ];
    let json = run(&args).json();
    let needed = &json["needed"][0];
    assert_eq!(needed["spread"]["deviation"], 0.3);
    assert_eq!(needed["table"].as_array().unwrap().len(), 16);
    // (1.95996 + 1.03643)² · 0.3² / 0.02² + 1.95996² / 2.
    assert_eq!(needed["examples"], 2023);
    // A loss of the margin is never ruled out.
    let never = run(&[
        "plan",
        "--margin",
        "0.02",
        "--discordance",
        "0.1",
        "--expected",
        "-0.02",
    ]);
    assert!(never.stdout.contains("no number of examples"), "{never}");
}

#[test]
fn a_pilot_run_says_how_much_systems_differ() {
    let (folder, file) = questions(40);
    let cache = folder.path().join("cache");
    let server = |every: usize| {
        ChatServer::start(move |request: &Request| {
            let text = request.last_user_content();
            let digits = text
                .split("Number ")
                .nth(1)
                .unwrap()
                .split(':')
                .next()
                .unwrap();
            let is_wrong = digits.parse::<usize>().unwrap() % every == 0;
            Reply::text(if is_wrong { "Rome" } else { "Paris" })
        })
    };
    let (direct, layer) = (server(100), server(8));
    let (direct, layer) = (
        format!("direct={}", direct.url()),
        format!("layer={}", layer.url()),
    );
    let pilot = run(&[
        "--proxy",
        &direct,
        "--proxy",
        &layer,
        "--dataset",
        arg(&file),
        "-q",
        "--cache-dir",
        arg(&cache),
    ]);
    assert_eq!(pilot.code, 0, "{pilot}");
    let plan = |more: &[&str]| {
        let mut args = vec![
            "plan",
            "--margin",
            "0.05",
            "--run",
            "last",
            "--cache-dir",
            arg(&cache),
        ];
        args.extend(more);
        run(&args)
    };
    let json = plan(&["--output", "json"]).json();
    let needed = &json["needed"][0];
    assert_eq!(
        (&needed["system"], &needed["pilot"]),
        (&"layer".into(), &40.into())
    );
    // Questions 8, 16, 24 and 32, and one that is imagined: 5 of 41.
    let share = needed["spread"]["discordance"].as_f64().unwrap();
    assert!((share - 5.0 / 41.0).abs() < 1e-12, "{needed}");
    let table = plan(&[]);
    assert!(
        table.stdout.contains("layer, from a pilot of 40 examples"),
        "{table}"
    );
}

#[test]
fn a_pilot_run_without_a_difference_does_not_rule_any_out() {
    let (folder, file) = questions(20);
    let cache = folder.path().join("cache");
    // The same answers, in scores that are no yes or no.
    let systems = ["--system", "passthrough", "--system", "extractive:ratio=1"];
    let stored = ["-q", "--dataset", arg(&file), "--cache-dir", arg(&cache)];
    let done = run(&[&systems[..], &stored[..]].concat());
    assert_eq!(done.code, 0, "{done}");
    let args = [
        "plan", "--margin", "0.05", "--run", "last", "--output", "json",
    ];
    let planned = run(&[&args[..], &["--cache-dir", arg(&cache)]].concat());
    assert_eq!(planned.code, 0, "{planned}");
    let needed = &planned.json()["needed"][0];
    assert!(
        needed["examples"].as_u64().is_some_and(|n| n > 20),
        "{needed}"
    );
}

#[test]
fn what_is_missing_or_means_nothing_is_an_error() {
    run(&["plan", "--margin", "0.02"]).is_error(&["needs one of `--discordance`"]);
    run(&["plan", "--margin", "0.02", "--discordance", "0"]).is_error(&["discordance"]);
    let unknown = run(&[
        "plan",
        "--margin",
        "0.02",
        "--run",
        "last",
        "--cache-dir",
        "no such folder",
    ]);
    unknown.is_error(&["there is no run store"]);
}
