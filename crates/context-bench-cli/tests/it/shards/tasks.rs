//! Tasks and groups in shards: their results are made from merged rows.

use std::time::Duration;

use serde_json::Value;

use crate::bench::{Bench, rows_of, same, tasks_of};
use crate::program::{Done, run_with};

/// A group of two tasks (one asked thrice, one with a score over the whole corpus), likelihoods and
/// choices, with two systems of which one fails at a document.
fn asked(bench: &Bench, more: &[&str]) -> Done {
    let [one, two] = &bench.servers;
    let [one, two] = [one, two].map(|server| server.base_url_v1());
    let mut command = bench.program();
    command.args(["run", "--tasks", "arithmetic,last_word,colours"]);
    command.args(["--include-path", "tasks", "--quiet", "--output", "json"]);
    command.args(["--proxy", &format!("direct={one}")]);
    command.args(["--proxy", &format!("layered={two}")]);
    command.args(["--model", "large", "--max-retries", "0"]);
    command.args(["--max-error-rate", "0.5", "--bootstrap-iters", "200"]);
    run_with(command.args(more))
}

fn exported(bench: &Bench, id: &str, cache: &str) -> Done {
    let mut command = bench.program();
    command.args(["export", id, "--output", "json", "--cache-dir", cache]);
    run_with(&mut command)
}

#[test]
fn tasks_and_groups_of_merged_shards_are_those_of_one_process() {
    let bench = Bench::new(Duration::ZERO);
    let single = asked(&bench, &["--cache-dir", "single"]);
    assert_eq!(single.code, 0, "{single}");
    let asked_for = bench.requests();
    for index in 0..3 {
        let which = format!("{index}/3");
        let done = asked(&bench, &["--cache-dir", "shards", "--shard", &which]);
        assert_eq!(done.code, 0, "{done}");
    }
    assert_eq!(bench.requests(), 2 * asked_for);
    let merged = run_with(bench.program().args(["merge", "shards"]));
    assert_eq!(merged.code, 3, "{merged}");
    assert!(merged.stdout.contains("3 of 3 shards, 100 % of rows"));
    assert!(merged.stdout.contains("rows failed"), "{merged}");
    let (found, expected) = (exported(&bench, "merged", "shards"), single.json());
    let found: Value = found.json();
    // What the group comes to, of tasks that lie in several shards.
    let group = &expected["tasks"]["direct"]["groups"]["arithmetic"];
    assert!(
        group["exact_match,none"]
            .as_f64()
            .is_some_and(|mean| mean > 0.0),
        "{group}"
    );
    let tasks = |result: &Value| {
        let mut tasks = tasks_of(result);
        for one in tasks.as_object_mut().unwrap().values_mut() {
            // The folder is another one.
            one["config"]
                .as_object_mut()
                .unwrap()
                .shift_remove("use_cache");
        }
        tasks
    };
    same("tasks", &tasks(&expected), &tasks(&found));
    let rows = |result: &Value| Value::from(rows_of(result));
    same("rows", &rows(&expected), &rows(&found));
    same("counts", &expected["counts"], &found["counts"]);
    // The report as people see it, but for times.
    let table = |id: &str, cache: &str| {
        let mut command = bench.program();
        command.args(["export", id, "--output", "markdown", "--cache-dir", cache]);
        let done = run_with(&mut command);
        let lines = done.stdout.lines();
        let tasks = lines.skip_while(|line| !line.contains("arithmetic"));
        tasks
            .take_while(|line| line.starts_with('|'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let lines = table("last", "single");
    assert!(lines.len() > 2, "{lines:?}");
    assert_eq!(table("merged", "shards"), lines);
}
