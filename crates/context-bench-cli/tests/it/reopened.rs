//! Stored runs in other processes: exported and scored anew to the last digit, whether
//! they ended or were killed, and whoever wrote them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{BENCHMARKS, Bench, rows_of, same, tasks_of};
use crate::program::{answers_in, arg, command, run_with};
use crate::task_runs::files;

/// The summary of a result, but for how long things took.
fn summary_of(result: &Value) -> Value {
    let mut summary = result["summary"].clone();
    for one in summary.as_object_mut().unwrap().values_mut() {
        let one = one.as_object_mut().unwrap();
        one.retain(|key, _| {
            // How likely a system is on the front hangs on latencies.
            let timed = ["latency", "connect", "front_probability"];
            !timed.iter().any(|start| key.starts_with(start))
        });
    }
    summary
}

#[test]
fn a_killed_run_ends_as_if_nothing_had_happened_and_is_made_again_from_its_store() {
    let bench = Bench::new(Duration::from_millis(5));
    let whole = bench.run("whole", &[]);
    assert_eq!(whole.code, 0, "{whole}");
    let whole = whole.json();
    let in_one_go = bench.requests();
    for system in ["direct", "layered"] {
        let results = whole["tasks"][system]["results"].as_object().unwrap();
        for name in BENCHMARKS {
            assert!(results.contains_key(name), "no `{name}` in {results:?}");
        }
        assert!(results.contains_key("arithmetic"), "{results:?}");
        let rows = whole["rows"].as_array().unwrap();
        for name in BENCHMARKS {
            let of = |row: &&Value| row["system"] == system && row["dataset"] == name;
            assert!(rows.iter().any(|row| of(&row)), "no rows of `{name}`");
        }
    }

    // Killed as soon as somebody is asked, and twice in the middle.
    for asked in [1, in_one_go / 3, in_one_go / 3] {
        let before = bench.requests();
        let mut child = bench.command("cache");
        let child = child.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        while bench.requests() < before + asked && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // What is not stored yet is lost; the later ones leave something.
        let cache = bench.tasks.folder.path().join("cache");
        while asked > 1 && answers_in(&cache) == 0 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let preview = bench.run("cache", &["--dry-run"]).json();
    let before = bench.requests();
    let resumed = bench.run("cache", &[]);
    assert_eq!(resumed.code, 0, "{resumed}");
    let resumed = resumed.json();
    let mut cached = 0;
    for system in preview["systems"].as_array().unwrap() {
        let name = system["name"].as_str().unwrap();
        let counts = &resumed["counts"][name];
        assert_eq!(system["stored"], counts["cached"], "{name}");
        cached += counts["cached"].as_u64().unwrap() as usize;
    }
    assert!(cached > 0, "{preview}");
    // Only choices take more than one request.
    let asked = bench.requests() - before;
    assert!(asked <= in_one_go - cached, "{asked} {in_one_go} {cached}");
    // The store has another name.
    let mut expected = tasks_of(&whole);
    for system in expected.as_object_mut().unwrap().values_mut() {
        system["config"]["use_cache"] = json!("cache");
    }
    same("resumed", &expected, &tasks_of(&resumed));
    same("rows", &json!(rows_of(&whole)), &json!(rows_of(&resumed)));

    let before = bench.requests();
    for verb in ["export", "rescore"] {
        for (cache, before) in [("whole", &whole), ("cache", &resumed)] {
            let done = bench.reopened(verb, cache, &[]);
            let again = done.json();
            same(verb, &tasks_of(before), &tasks_of(&again));
            same(verb, &json!(rows_of(before)), &json!(rows_of(&again)));
            same(verb, &summary_of(before), &summary_of(&again));
        }
    }
    assert_eq!(bench.requests(), before, "nobody is asked");
}

/// Puts something into a file of a folder in place of something else.
fn change(bench: &Bench, name: &str, from: &str, to: &str) {
    let path = bench.tasks.folder.path().join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(path, text.replace(from, to)).unwrap();
}

/// The samples of a folder by the names of their files, without the time in those.
fn samples(bench: &Bench, folder: &str) -> BTreeMap<String, Vec<Value>> {
    let found = files(&bench.tasks.folder.path().join(folder));
    let found = found.iter().filter(|name| name.ends_with(".jsonl"));
    let read = |path: &String| {
        let below = path.split(&format!("/{folder}/")).nth(1).unwrap();
        let name = below.rsplit_once("_20").unwrap().0.to_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let read = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (name, read.collect())
    };
    found.map(read).collect()
}

#[test]
fn a_changed_task_is_scored_as_if_it_had_always_been_so() {
    let bench = Bench::new(Duration::ZERO);
    assert_eq!(bench.run("cache", &[]).code, 0);
    let asked = bench.requests();
    let exported = bench.reopened("export", "cache", &[]).json();
    // Another metric, another filter, another function, another class.
    change(
        &bench,
        "tasks/corpus.yaml",
        "- {metric: bleu",
        "- {metric: chrf, aggregation: chrf, higher_is_better: true}\n  - {metric: bleu",
    );
    change(
        &bench,
        "tasks/thrice.yaml",
        "  - {name: majority",
        "  - {name: second, filter: [{function: regex, regex_pattern: \"(.)$\"}, {function: take_first}]}\n  - {name: majority",
    );
    change(&bench, "tasks/utils.py", "said / 3", "said / 5");
    change(
        &bench,
        "tasks/classes.py",
        "abs(yes - no) / 3",
        "abs(yes - no) / 7",
    );
    let logged = ["--log-samples", "--output-path", "rescored"];
    let rescored = bench.reopened("rescore", "cache", &logged);
    assert_eq!(rescored.code, 0, "{rescored}");
    let rescored = rescored.json();
    assert_eq!(bench.requests(), asked, "nobody is asked");
    let again = bench.run("other", &["--log-samples", "--output-path", "anew"]);
    assert_eq!(again.code, 0, "{again}");
    let again = again.json();
    let results = |result: &Value, system: &str| result["tasks"][system]["results"].clone();
    for system in ["direct", "layered"] {
        same(
            system,
            &results(&again, system),
            &results(&rescored, system),
        );
        let (now, then) = (results(&rescored, system), results(&exported, system));
        assert!(now["corpus"]["chrf,none"].is_number(), "{now}");
        assert!(now["thrice"]["exact_match,second"].is_number(), "{now}");
        assert_ne!(now["tuples"]["pair,none"], then["tuples"]["pair,none"]);
        assert_ne!(now["yes_no"]["gap,none"], then["yes_no"]["gap,none"]);
    }
    same("rows", &json!(rows_of(&again)), &json!(rows_of(&rescored)));
    let (now, expected) = (samples(&bench, "rescored"), samples(&bench, "anew"));
    assert!(now.len() >= 2 * 6, "{:?}", now.keys());
    same("samples", &json!(expected), &json!(now));
    // The run itself is as it was.
    let runs = bench
        .program()
        .args(["runs", "--cache-dir", "cache", "--output", "json"])
        .output();
    let runs: Value = serde_json::from_slice(&runs.unwrap().stdout).unwrap();
    let first = runs[0]["id"].as_str().unwrap();
    let still = bench
        .program()
        .args(["export", first, "--cache-dir", "cache"])
        .output()
        .unwrap();
    let still: Value = serde_json::from_slice(&still.stdout).unwrap();
    same("rows", &json!(rows_of(&exported)), &json!(rows_of(&still)));
}

#[test]
fn a_task_whose_files_are_gone_costs_only_itself() {
    let bench = Bench::new(Duration::ZERO);
    let whole = bench.run("cache", &[]).json();
    std::fs::remove_dir_all(bench.tasks.folder.path().join("tasks")).unwrap();
    let done = bench.reopened("export", "cache", &[]);
    assert_eq!(done.code, 0, "{done}");
    let again = done.json();
    same("rows", &json!(rows_of(&whole)), &json!(rows_of(&again)));
    let kept = [
        "questions.jsonl",
        "thrice",
        "corpus",
        "last_word",
        "colours",
    ];
    for system in ["direct", "layered"] {
        for name in kept {
            let of = |result: &Value| result["tasks"][system]["results"][name].clone();
            same(name, &of(&whole), &of(&again));
        }
    }
    for name in ["tuples", "yes_no"] {
        assert!(done.stderr.contains(name), "{done}");
    }
}

#[test]
fn what_a_stored_run_has_decided_is_not_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let go = |args: &[&str]| run_with(command().current_dir(folder.path()).args(args));
    let line = [
        "run",
        "--system",
        "passthrough",
        "--dataset",
        "demo",
        "-n",
        "2",
    ];
    assert_eq!(go(&[&line[..], &["--cache-dir", "cache"]].concat()).code, 0);
    for (flags, text) in [
        (
            &["--system", "passthrough"][..],
            "takes its systems from the stored run",
        ),
        (
            &["--dataset", "demo"],
            "takes its examples from the stored run",
        ),
        (
            &["--tasks", "mmlu"],
            "takes its examples from the stored run",
        ),
        (&["--dry-run"], "does not take `--dry-run`"),
        (&["--print-config"], "does not take `--print-config`"),
    ] {
        let rescore = ["rescore", "last", "--cache-dir", "cache"];
        go(&[&rescore[..], flags].concat()).is_error(&[text]);
    }
    let runs = go(&["runs", "--cache-dir", "cache", "--output", "json"]).json();
    assert_eq!(runs.as_array().unwrap().len(), 1, "nothing was scored");
}

/// Takes from the last run of a store what earlier versions did not keep, and `more`.
fn make_earlier(folder: &Path, more: &[&str]) {
    let mut python = Command::new("python3");
    python.args(["-c", include_str!("earlier.py"), "cache/store.sqlite"]);
    let done = run_with(python.current_dir(folder).args(more));
    assert_eq!(done.code, 0, "{done}");
}

#[test]
fn runs_of_earlier_versions_are_exported_and_scored_anew() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../context-bench/tests/fixtures");
    let gsm8k = format!("gsm8k={}", arg(&fixtures.join("datasets/gsm8k")));
    // Datasets with the same evaluators, and with different ones.
    for (datasets, lost) in [
        (vec!["demo"], vec![]),
        (vec!["demo"], vec!["scoring"]),
        (vec!["demo", &gsm8k], vec![]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let go = |args: &[&str]| {
            let done = run_with(command().current_dir(folder.path()).args(args));
            assert_eq!(done.code, 0, "{done}");
            done
        };
        let mut line = vec!["run", "--system", "passthrough", "--system"];
        line.extend([
            "truncate:ratio=0.5",
            "-n",
            "3",
            "-q",
            "--cache-dir",
            "cache",
        ]);
        line.extend(datasets.iter().flat_map(|dataset| ["--dataset", dataset]));
        go(&line);
        let export = ["export", "last", "--cache-dir", "cache"];
        let before = go(&export).json();
        make_earlier(folder.path(), &lost);
        let after = go(&export).json();
        for result in [&before, &after] {
            assert_eq!(result["rows"].as_array().unwrap().len() % 2, 0);
        }
        same("rows", &before["rows"], &after["rows"]);
        same("the summary", &before["summary"], &after["summary"]);
        same("counts", &before["counts"], &after["counts"]);
        let results = |result: &Value| result["tasks"]["passthrough"]["results"].clone();
        same("results", &results(&before), &results(&after));
        let rescored = go(&[
            "rescore",
            "last",
            "--cache-dir",
            "cache",
            "--output",
            "json",
        ])
        .json();
        same("rows", &json!(rows_of(&before)), &json!(rows_of(&rescored)));
        same("the summary", &summary_of(&before), &summary_of(&rescored));
    }
}

#[test]
fn tasks_of_earlier_versions_are_exported_and_not_scored_anew() {
    let bench = Bench::new(Duration::ZERO);
    let whole = bench.run("cache", &[]).json();
    make_earlier(bench.tasks.folder.path(), &[]);
    let done = bench.reopened("export", "cache", &[]);
    assert_eq!(done.code, 0, "{done}");
    same(
        "rows",
        &json!(rows_of(&whole)),
        &json!(rows_of(&done.json())),
    );
    let done = bench.reopened("rescore", "cache", &[]);
    done.is_error(&["the run is one of tasks", "`run --tasks`"]);
}
