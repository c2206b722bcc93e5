//! `--fail-if`, `--policy` and `--baseline-run`: gates in runs and stored runs, their reports and
//! exit codes.

use std::path::Path;
use std::process::Command;

use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::Value;

use crate::program::{Done, arg, one_line, questions, run};

/// Answers `Paris` but to questions whose number is in `wrong`.
fn server(wrong: &'static [usize]) -> ChatServer {
    ChatServer::start(move |request: &Request| {
        let text = request.last_user_content();
        let is_wrong = wrong.iter().any(|n| text.contains(&format!("Number {n}:")));
        Reply::text(if is_wrong { "Rome" } else { "Paris" })
    })
}

struct Two {
    direct: ChatServer,
    layer: ChatServer,
    folder: tempfile::TempDir,
    file: std::path::PathBuf,
}

impl Two {
    fn start() -> Self {
        let (folder, file) = questions(10);
        Self {
            direct: server(&[7]),
            layer: server(&[2, 4, 6]),
            folder,
            file,
        }
    }

    fn run(&self, more: &[&str]) -> Done {
        let (direct, layer) = (self.direct.url(), self.layer.url());
        let (direct, layer) = (format!("direct={direct}"), format!("layer={layer}"));
        let mut args = vec!["--proxy", &direct, "--proxy", &layer, "--dataset"];
        args.extend([arg(&self.file), "-q"]);
        args.extend(more);
        run(&args)
    }
}

fn gates(done: &Done) -> Vec<Value> {
    done.json()["gates"].as_array().unwrap().clone()
}

#[test]
fn a_gate_on_every_benchmark_is_checked_once_on_each() {
    let two = Two::start();
    let done = two.run(&["--fail-if", "f1 < 0.1 on *", "--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(gates(&done).len(), 1, "{done}");
}

#[test]
fn a_failed_gate_is_exit_code_4_and_says_by_how_much_and_which_examples_turned() {
    let two = Two::start();
    let rules = ["f1 < baseline - 0.02", "error_rate > 5%", "upper(f1) < 0.1"];
    let rules: Vec<&str> = rules.iter().flat_map(|rule| ["--fail-if", rule]).collect();
    let json = two.run(&[&rules[..], &["--output", "json"]].concat());
    assert_eq!(json.code, 4, "{json}");
    let found = gates(&json);
    assert_eq!(found.len(), 3, "only the layer is checked: {json}");
    assert_eq!(found[0]["status"], "failed");
    assert_eq!(
        (&found[0]["system"], &found[0]["baseline"]),
        (&"layer".into(), &"direct".into())
    );
    // 0.7 against 0.9 − 0.02.
    for (key, expected) in [("left", 0.7), ("right", 0.88), ("missed_by", 0.18)] {
        let value = found[0][key].as_f64().unwrap();
        assert!((value - expected).abs() < 1e-9, "{key}: {json}");
    }
    let flips = &found[0]["flips"];
    assert_eq!(flips["lost"], serde_json::json!(["q2", "q4", "q6"]));
    assert_eq!(flips["gained"], serde_json::json!(["q7"]));
    assert_eq!(
        (&found[1]["status"], &found[2]["status"]),
        (&"passed".into(), &"passed".into())
    );

    let table = two.run(&rules);
    assert_eq!(table.code, 4, "{table}");
    let line = "gate failed: f1 < baseline - 0.02 (layer against direct): 0.7 and 0.88, missed by";
    let text = one_line(&table.stdout);
    for part in [
        line,
        "3 lost: q2, q4, q6",
        "1 gained: q7",
        "gate passed: error_rate > 5%",
    ] {
        assert!(text.contains(part), "no `{part}` in {table}");
    }
    assert!(
        table.stderr.contains("error: 1 of 3 gates did not pass"),
        "{table}"
    );

    let markdown = two.run(&[&rules[..], &["--output", "markdown"]].concat());
    for part in [
        "**1 of 3 did not pass.**",
        "| ❌ | `f1 < baseline - 0.02` | layer | all | 0.7 | 0.88 | 0.18 |",
        "- `f1 < baseline - 0.02` (layer against direct): 3 lost: q2, q4, q6; 1 gained: q7",
    ] {
        assert!(markdown.stdout.contains(part), "no `{part}` in {markdown}");
    }

    let passes = two.run(&[
        "--fail-if",
        "f1 < baseline - 0.3",
        "--fail-if",
        "f1 < 0.1 for direct",
    ]);
    assert_eq!(passes.code, 0, "{passes}");
}

#[test]
fn rules_are_checked_before_anything_is_sent() {
    let two = Two::start();
    let policy = two.folder.path().join("my policy.txt");
    std::fs::write(&policy, "# quality\n\n  f1 < < 2\n").unwrap();
    for (more, texts) in [
        (
            &["--fail-if", "f2 < 0.5"][..],
            &[
                "there is no metric `f2`",
                "at column 1",
                "did you mean `f1`?",
            ][..],
        ),
        (
            &["--fail-if", "f1 < baseline - 2%"],
            &["percentage", "at column 17"],
        ),
        (
            &["--fail-if", "f1 < 0.5 for lyer"],
            &["there is no system `lyer`", "did you mean `layer`?"],
        ),
        (
            &["--fail-if", "latency_p59 > 1"],
            &["there is no metric `latency_p59`", "latency_p95"],
        ),
        (
            &["--policy", arg(&policy)],
            &["my policy.txt:3:8", "expected a number or a metric"],
        ),
        (
            &["--policy", "no such file"],
            &["cannot read the policy `no such file`"],
        ),
        (
            &["--baseline-run", "last"],
            &["`--baseline-run` is for gates"],
        ),
        (
            &["--fail-if", "f1 < baseline", "--baseline-run", "last"],
            &["there is no store to find the baseline run `last` in"],
        ),
    ] {
        let done = two.run(more);
        done_is_error(&done, texts);
    }
    // Datasets of the catalog and the bundled one have names; a single system has no baseline.
    for (args, texts) in [
        (
            "--system passthrough --system dedup --dataset demo|f1 < 0.5 on dmo",
            &[
                "there is no dataset, task or group `dmo`",
                "did you mean `demo`?",
            ][..],
        ),
        (
            "--system passthrough --dataset demo|f1 < baseline",
            &["`passthrough` is the only system", "--baseline-run"],
        ),
    ] {
        let (args, rule) = args.split_once('|').unwrap();
        let mut args: Vec<&str> = args.split(' ').collect();
        args.extend(["--fail-if", rule, "-q"]);
        done_is_error(&run(&args), texts);
    }
    assert_eq!(
        (two.direct.request_count(), two.layer.request_count()),
        (0, 0)
    );
}

fn done_is_error(done: &Done, texts: &[&str]) {
    assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{done}");
    for text in texts {
        assert!(done.stderr.contains(text), "no `{text}` in {done}");
    }
}

#[test]
fn a_policy_has_places_and_what_was_not_measured_does_not_pass() {
    let two = Two::start();
    let policy = two.folder.path().join("policy.txt");
    let rules =
        "# what the layer may lose\nf1 < baseline - 0.5   # half\nlower(latency_p95) > 99\n";
    std::fs::write(&policy, rules).unwrap();
    let done = two.run(&["--policy", arg(&policy), "--output", "json"]);
    assert_eq!(done.code, 4, "{done}");
    let found = gates(&done);
    let place = found[1]["place"].as_str().unwrap();
    assert!(place.ends_with("policy.txt:3"), "{place}");
    assert_eq!(found[0]["status"], "passed");
    // Percentiles have no interval.
    assert_eq!(found[1]["status"], "not_measured");
    assert_eq!(found[1]["not_measured"], "lower(latency_p95)");
}

#[test]
fn stored_runs_are_baselines_and_can_be_checked_later() {
    let (folder, file) = questions(10);
    let cache = folder.path().join("cache");
    let ask = |server: &ChatServer, more: &[&str]| {
        let url = format!("app={}", server.url());
        let mut args = vec!["--proxy", &url, "--dataset", arg(&file), "-q"];
        args.extend(["--cache-dir", arg(&cache), "--output", "json"]);
        args.extend(more);
        run(&args)
    };
    let before = server(&[7]);
    let first = ask(&before, &[]);
    let id = first.json()["store"]["run"].as_str().unwrap().to_owned();
    let after = server(&[2, 4, 6]);
    let rule = ["--fail-if", "f1 < baseline - 0.1", "--baseline-run"];
    let second = ask(&after, &[&rule[..], &["last"]].concat());
    assert_eq!(second.code, 4, "{second}");
    assert_eq!(gates(&second)[0]["flips"]["n_lost"], 3);
    assert_eq!(after.request_count(), 10);

    let checked = |command: &str, more: &[&str]| {
        let mut args = vec![
            command,
            "last",
            "--cache-dir",
            arg(&cache),
            "--output",
            "json",
        ];
        args.extend(more);
        run(&args)
    };
    // The gates that it had, against the run that `last` meant then.
    let again = checked("export", &[]);
    assert_eq!((again.code, gates(&again)), (4, gates(&second)), "{again}");
    let other = checked("export", &[&rule[..], &[&id]].concat());
    assert_eq!((other.code, gates(&other)), (4, gates(&second)), "{other}");
    let passes = checked("export", &["--fail-if", "f1 < 0.5"]);
    assert_eq!(passes.code, 0, "{passes}");
    let rescored = checked("rescore", &["-q", "--fail-if", "f1 < 0.8"]);
    assert_eq!(
        (rescored.code, gates(&rescored).len()),
        (4, 1),
        "{rescored}"
    );
    let wrong = checked("export", &["--fail-if", "f2 < 0.5"]);
    done_is_error(&wrong, &["there is no metric `f2`"]);
    let gone = ask(&after, &[&rule[..], &["nosuchrun"]].concat());
    done_is_error(&gone, &["nosuchrun"]);
    assert_eq!(after.request_count(), 10);
}

/// The outcome of reading XML with a parser that accepts nothing else: (class, name, failure).
fn read_xml(path: &Path) -> Vec<(String, String, Option<String>)> {
    let script = "import json, sys, xml.etree.ElementTree as E\n\
                  root = E.parse(sys.argv[1]).getroot()\n\
                  assert root.tag == 'testsuites', root.tag\n\
                  assert int(root.get('tests')) == len(list(root.iter('testcase')))\n\
                  assert int(root.get('failures')) == len(list(root.iter('failure')))\n\
                  print(json.dumps([[c.get('classname'), c.get('name'), (lambda f: None if f is None \
                  else f.get('message') + chr(10) + (f.text or ''))(c.find('failure'))] \
                  for c in root.iter('testcase')]))";
    let done = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {errors}"))
}

#[test]
fn junit_has_a_case_per_gate_and_per_benchmark_and_stays_well_formed() {
    let (folder, file) = questions(4);
    let hostile = "]]><b>&\"'\u{1b}[31m\u{0}\u{ffff} é";
    let server = ChatServer::start(move |request: &Request| {
        match request.last_user_content().contains("Number 2:") {
            true => Reply::status(400).message(hostile),
            false => Reply::text("Paris"),
        }
    });
    let url = format!("a<b>&\"c\"={}", server.url());
    let out = folder.path().join("report.xml");
    let done = run(&[
        "--proxy",
        &url,
        "--dataset",
        arg(&file),
        "-q",
        "--output",
        "junit",
        "--output-file",
        arg(&out),
        "--fail-if",
        "f1 < 2",
        "--fail-if",
        "f1 < 0.5",
    ]);
    // Failed rows come first: a run that could not be done says little about quality.
    assert_eq!(done.code, 3, "{done}");
    let cases = read_xml(&out);
    let names: Vec<&str> = cases.iter().map(|case| case.1.as_str()).collect();
    assert_eq!(names, ["f1 < 2", "f1 < 0.5", "a<b>&\"c\""], "{cases:?}");
    assert!(
        cases[0].2.as_deref().unwrap().contains("missed by 1"),
        "{cases:?}"
    );
    assert_eq!(cases[1].2, None);
    let failed = cases[2].2.as_deref().unwrap();
    assert!(failed.starts_with("1 of 4 rows failed"), "{failed}");
    assert!(
        failed.contains("q2: ") && failed.contains("]]><b>&\"'"),
        "{failed}"
    );
}

/// Questions with these numbers, in this order.
fn write_moved(path: &Path, numbers: &[usize]) {
    let line = |i: &usize| {
        let example = serde_json::json!({
            "id": format!("q{i}"),
            "context": format!("Document {i}. Paris is the capital of France."),
            "question": format!("Number {i}: what is the capital of France?"),
            "answer": "Paris",
        });
        format!("{example}\n")
    };
    let lines: String = numbers.iter().map(line).collect();
    std::fs::write(path, lines).unwrap();
}

#[test]
fn stored_baselines_are_matched_by_content_and_both_sides_are_about_the_same_examples() {
    let folder = tempfile::tempdir().unwrap();
    let (file, cache) = (folder.path().join("é.jsonl"), folder.path().join("cache"));
    let ask = |wrong: &'static [usize], numbers: &[usize], more: &[&str]| {
        write_moved(&file, numbers);
        let server = server(wrong);
        let url = format!("app={}", server.url());
        let args = ["--proxy", &url, "--dataset", arg(&file), "-q"];
        let rest = ["--cache-dir", arg(&cache), "--output", "json"];
        run(&[&args[..], &rest, more].concat())
    };
    let first = ask(&[8, 9], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], &[]);
    assert_eq!(first.code, 0, "{first}");
    // The other way round; 8 and 9, which were wrong, are gone, and two others are new and right.
    let numbers = [11, 10, 7, 6, 5, 4, 3, 2, 1, 0];
    let rule = ["--fail-if", "f1 < baseline - 0.1", "--baseline-run", "last"];
    let second = ask(&[3, 5], &numbers, &rule);
    assert_eq!(second.code, 4, "{second}");
    let gate = &gates(&second)[0];
    let matched = &gate["matched"];
    let counts = ["paired", "only_baseline", "only_system"].map(|key| matched[key].clone());
    assert_eq!(counts, [8, 2, 2].map(Value::from), "{second}");
    // Over all rows both are right 8 times of 10; on the eight in common 6 and 8 times.
    for (key, expected) in [("left", 0.75), ("right", 0.9), ("missed_by", 0.15)] {
        let value = gate[key].as_f64().unwrap();
        assert!((value - expected).abs() < 1e-9, "{key}: {second}");
    }
    let lost = serde_json::json!(["q3", "q5"]);
    assert_eq!(gate["flips"]["lost"], lost, "{second}");
    let left_out = "2 rows of it and 2 of the baseline without a partner left out";
    assert!(second.stderr.contains(left_out), "{second}");

    // `compare` takes the same rules, about stored runs, and nobody is asked.
    let base = first.json()["store"]["run"].as_str().unwrap().to_owned();
    let compare = |more: &[&str]| {
        let args = ["compare", &base, "last", "--cache-dir", arg(&cache)];
        run(&[&args[..], more].concat())
    };
    let rule = ["--fail-if", "f1 < baseline - 0.1"];
    let found = compare(&[&rule[..], &["--output", "json"]].concat());
    assert_eq!(found.code, 4, "{found}");
    let again = &gates(&found)[0];
    for key in ["left", "right", "missed_by", "flips", "matched", "status"] {
        assert_eq!(again[key], gate[key], "{key}: {found}");
    }
    assert_eq!(again["run"], second.json()["store"]["run"], "{found}");
    let table = compare(&rule);
    assert_eq!(table.code, 4, "{table}");
    let words = one_line(&table.stdout);
    assert!(
        words.contains("gate failed: f1 < baseline - 0.1 (app of run "),
        "{table}"
    );
    assert!(words.contains("2 lost: q3, q5"), "{table}");
    let last = table.stdout.trim_end().lines().last().unwrap();
    assert!(last.ends_with('.'), "a sentence comes last: {table}");
    let markdown = compare(&[&rule[..], &["--output", "markdown"]].concat());
    assert!(
        markdown.stdout.contains("**1 of 1 did not pass.**"),
        "{markdown}"
    );
    let policy = folder.path().join("policy.txt");
    std::fs::write(&policy, "f1 < baseline - 0.5\nerror_rate > 0\n").unwrap();
    let passes = compare(&["--policy", arg(&policy)]);
    assert_eq!(passes.code, 0, "{passes}");
    for (rule, text) in [
        ("f2 < baseline", "did you mean `f1`?"),
        ("f1 < 0.5 on nowhere", "no dataset, task or group `nowhere`"),
    ] {
        let done = compare(&["--fail-if", rule]);
        done_is_error(&done, &[text]);
    }
}

#[test]
fn a_stored_baseline_of_records_without_ids_is_matched_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let (file, cache) = (folder.path().join("é.jsonl"), folder.path().join("cache"));
    let ask = |wrong: &'static [usize], numbers: &[usize], more: &[&str]| {
        write_moved(&file, numbers);
        let lines = std::fs::read_to_string(&file).unwrap();
        let without_id = |line: &str| {
            let mut example: Value = serde_json::from_str(line).unwrap();
            example.as_object_mut().unwrap().remove("id").unwrap();
            format!("{example}\n")
        };
        std::fs::write(&file, lines.lines().map(without_id).collect::<String>()).unwrap();
        let server = server(wrong);
        let url = format!("app={}", server.url());
        let args = ["--proxy", &url, "--dataset", arg(&file), "-q"];
        let rest = ["--cache-dir", arg(&cache), "--output", "json"];
        run(&[&args[..], &rest, more].concat())
    };
    let first = ask(&[], &[0, 1, 2, 3, 4, 5, 6, 7], &[]);
    assert_eq!(first.code, 0, "{first}");
    let rule = ["--fail-if", "f1 < baseline - 0.1", "--baseline-run", "last"];
    let second = ask(&[6, 3], &[7, 6, 5, 4, 3, 2, 1, 8], &rule);
    assert_eq!(second.code, 4, "{second}");
    let gate = &gates(&second)[0];
    let expected = serde_json::json!({"paired": 7, "only_baseline": 1, "only_system": 1});
    assert_eq!(gate["matched"], expected, "{second}");
    // Their places in the file of now, in the order of the baseline.
    let lost = serde_json::json!([4, 1]).to_string();
    let turned = gate["flips"]["lost"].to_string().replace('"', "");
    assert_eq!(turned, lost, "{second}");
}

#[test]
fn compare_checks_the_systems_of_one_run_against_the_baseline_that_is_named() {
    let two = Two::start();
    let cache = two.folder.path().join("cache");
    let stored = two.run(&["--cache-dir", arg(&cache)]);
    assert_eq!(stored.code, 0, "{stored}");
    let check = |more: &[&str]| {
        let args = ["compare", "last", "--cache-dir", arg(&cache)];
        run(&[
            &args[..],
            &["--fail-if", "f1 < baseline", "--output", "json"],
            more,
        ]
        .concat())
    };
    let found = check(&[]);
    assert_eq!((found.code, gates(&found).len()), (4, 1), "{found}");
    assert_eq!(gates(&found)[0]["system"], "layer");
    let other = check(&["--baseline", "layer"]);
    assert_eq!((other.code, gates(&other).len()), (0, 1), "{other}");
    assert_eq!(gates(&other)[0]["system"], "direct");
}
