//! What merging says: other data, parts, conflicts, what is new, and files.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::{SYSTEMS, merge, results, shard};
use crate::program::{arg, command, one_line, questions, run};

#[test]
fn one_line_that_differs_is_refused() {
    let (folder, path) = questions(20);
    let dir = folder.path().join("bench");
    let with = ["--system", "passthrough", "-q", "--dataset", arg(&path)];
    assert_eq!(shard("0/2", &dir, &with).code, 0);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Number 13:", "Number 13 :")).unwrap();
    assert_eq!(shard("1/2", &dir, &with).code, 0);
    let merged = merge(&dir, &[]);
    merged.is_error(&["read different data", "20 examples (digest"]);
    assert!(!merged.stderr.contains("plans"), "{merged}");
}

#[test]
fn a_plan_that_nobody_knows_is_an_error_and_no_whole_run() {
    let (folder, path) = questions(4);
    let dir = folder.path().join("bench");
    let with = ["--system", "passthrough", "-q", "--dataset", arg(&path)];
    assert_eq!(shard("0/1", &dir, &with).code, 0);
    let merged = merge(&dir, &["--plan", "nobody"]);
    merged.is_error(&["there is nothing of a plan `nobody`", "folders in `shards`"]);
    assert_eq!(merge(&dir, &[]).code, 0);
}

#[test]
fn a_part_is_told_in_tables_json_pages_and_exit_codes() {
    let (folder, path) = questions(64);
    let dir = folder.path().join("bench");
    let with = [&SYSTEMS[..], &["--dataset", arg(&path)]].concat();
    for index in 0..8 {
        if index != 5 {
            let done = shard(&format!("{index}/8"), &dir, &with);
            assert_eq!(done.code, 0, "{done}");
        }
    }
    let merged = merge(&dir, &[]);
    assert_eq!(merged.code, 3, "{merged}");
    let told = merged.stdout.split(": ").nth(1).unwrap();
    let told = told.split(" (").next().unwrap();
    assert!(told.starts_with("7 of 8 shards, "), "{merged}");
    assert!(told.ends_with(" % of rows"), "{merged}");
    let rows = results_of_part(&dir);
    let share = format!("{} % of rows", rows * 100 / 256);
    assert!(told.ends_with(&share), "{told}: {rows} rows");
    for format in ["table", "json", "markdown", "html"] {
        let args = ["export", "merged", "--cache-dir", arg(&dir), "--output"];
        let shown = run(&[&args[..], &[format]].concat());
        assert_eq!(shown.code, 3, "{shown}");
        let text = one_line(&shown.stdout);
        assert!(text.contains(told), "{format}: {text}");
    }
    let page = folder.path().join("page.html");
    let args = ["report", "merged", "--cache-dir", arg(&dir)];
    let shown = run(&[&args[..], &["--output-file", arg(&page)]].concat());
    assert_eq!(shown.code, 3, "{shown}");
    assert!(fs::read_to_string(&page).unwrap().contains(told));
    // Somebody who knows that it is a part, and says so.
    let allowed = merge(&dir, &["--allow-partial"]);
    assert_eq!(allowed.code, 0, "{allowed}");
    assert!(allowed.stderr.contains("5/8"), "{allowed}");
}

fn results_of_part(dir: &std::path::Path) -> usize {
    let done = run(&["export", "merged", "--cache-dir", arg(dir)]);
    done.json()["rows"].as_array().unwrap().len()
}

/// Segments of shards that end later are taken up; what is there can be reported meanwhile.
#[test]
fn a_merge_that_watches_ends_with_the_last_shard() {
    let (folder, path) = questions(40);
    let dir = folder.path().join("bench");
    let with = [&SYSTEMS[..], &["--dataset", arg(&path)]].concat();
    assert_eq!(shard("0/3", &dir, &with).code, 0);
    let mut watch = command()
        .args(["merge", arg(&dir), "--watch", "0.05"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().contains("1 of 3 shards, "));
    let shown = run(&["export", "merged", "--cache-dir", arg(&dir)]);
    assert_eq!(shown.code, 3, "{shown}");
    assert!(shown.stdout.contains("is merged from 1 of 3 shards, "));
    assert_eq!(shard("2/3", &dir, &with).code, 0);
    // A segment may be seen before the one that ends the shard.
    while !next().contains("2 of 3 shards, ") {}
    assert!(watch.try_wait().unwrap().is_none());
    assert_eq!(shard("1/3", &dir, &with).code, 0);
    while !next().contains("3 of 3 shards, 100 % of rows") {}
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    assert_eq!(
        results(&dir, "merged")["counts"]["passthrough"]["scored"],
        80
    );
}

#[test]
fn what_is_merged_is_written_to_files_too() {
    let (folder, path) = questions(30);
    let dir = folder.path().join("bench");
    let with = [&SYSTEMS[..], &["--dataset", arg(&path)]].concat();
    for which in ["0/2", "1/2"] {
        assert_eq!(shard(which, &dir, &with).code, 0);
    }
    let [parquet, lines] = ["rows.parquet", "rows.jsonl"].map(|name| folder.path().join(name));
    let to = [
        format!("parquet:{}", parquet.display()),
        format!("jsonl:{}", lines.display()),
    ];
    let merged = merge(&dir, &["--to", &to[0], "--to", &to[1]]);
    assert_eq!(merged.code, 0, "{merged}");
    let written = fs::read_to_string(&lines).unwrap();
    assert_eq!(written.lines().count(), 120);
    let exported = folder.path().join("exported.parquet");
    let args = [
        "export",
        "merged",
        "--cache-dir",
        arg(&dir),
        "--output",
        "parquet",
    ];
    let done = run(&[&args[..], &["--output-file", arg(&exported)]].concat());
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(fs::read(&parquet).unwrap(), fs::read(&exported).unwrap());
    for (to, texts) in [
        (
            "parquet",
            ["`parquet` does not say", "--to parquet:rows.parquet"],
        ),
        ("parket:x", ["parket", "parquet"]),
    ] {
        merge(&dir, &["--to", to]).is_error(&texts);
    }
}
