//! Shards whose segments are in a bucket, with moto for S3: it checks every signature, and faults
//! stand in the way to it. `make test` installs it; where it cannot, these tests are ignored.

mod emitted;
mod server;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_bench::bucket::{Bucket, BucketSettings, PutCondition, PutOutcome};
use context_bench_testkit::{ChatServer, Reply, needs_moto};
use serde_json::Value;

use self::server::S3Server;
use crate::program::{Done, arg, command, questions, run, run_with};

const SYSTEMS: [&str; 7] = [
    "--system",
    "passthrough",
    "--system",
    "truncate:ratio=0.5",
    "--repeats",
    "2",
    "-q",
];

/// The rows and summaries of the merged run, or of the last one, but for times.
fn results(dir: &Path, id: &str) -> Value {
    let done = run(&["export", id, "--cache-dir", arg(dir), "--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    let mut result = done.json();
    for row in result["rows"].as_array_mut().unwrap() {
        let row = row.as_object_mut().unwrap();
        row.retain(|key, _| !["latency", "call", "cached"].contains(&key.as_str()));
    }
    for summary in result["summary"].as_object_mut().unwrap().values_mut() {
        let summary = summary.as_object_mut().unwrap();
        summary.retain(|key, _| !key.starts_with("latency") && !key.starts_with("connect"));
    }
    let members = result.as_object_mut().unwrap();
    members.retain(|key, _| ["rows", "summary", "counts"].contains(&key.as_str()));
    result
}

fn shard(server: &S3Server, which: &str, cache: &str, more: &[&str]) -> Done {
    let args = [&["run", "--shard", which, "--cache-dir", cache], more].concat();
    run_with(server.program().args(args))
}

fn merge(server: &S3Server, args: &[&str]) -> Done {
    run_with(server.program().arg("merge").args(args))
}

#[needs_moto]
#[test]
fn merged_from_a_bucket_is_merged_from_a_folder_and_one_process() {
    let server = S3Server::start();
    let (folder, path) = questions(60);
    let own = [&SYSTEMS[..], &["--dataset", arg(&path)]].concat();
    let single = folder.path().join("single");
    let done = run(&[&own[..], &["--cache-dir", arg(&single)]].concat());
    assert_eq!(done.code, 0, "{done}");
    let expected = results(&single, "last");
    assert_eq!(expected["rows"].as_array().unwrap().len(), 240);

    // What a shard and a merge meet on the way: each is tried again, and nothing is there twice.
    server.faults(&[
        ("PUT", ".sqlite", "busy"),
        ("PUT", ".sqlite", "busy"),
        ("PUT", "-000001.sqlite", "lost"),
        ("GET", "/bench", "busy"),
        ("GET", "/bench", "broken"),
    ]);
    let cache = "s3://bench/team a/é";
    let files = folder.path().join("files");
    let mut said = String::new();
    for which in ["0/3", "2/3", "1/3"] {
        let done = shard(&server, which, cache, &own);
        assert_eq!(done.code, 0, "{done}");
        said += &done.to_string();
        assert_eq!(shard(&server, which, arg(&files), &own).code, 0);
    }
    assert_eq!(run(&["merge", arg(&files)]).code, 0);
    assert_eq!(results(&files, "merged"), expected);

    // Into a folder: each segment is fetched once, and nothing is written to the bucket.
    server.faults(&[("GET", ".sqlite", "broken"), ("GET", ".sqlite", "busy")]);
    let before = server.seen();
    let local = folder.path().join("local");
    let done = merge(&server, &[cache, "--into", arg(&local)]);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("merged 3 sources"), "{done}");
    said += &done.to_string();
    assert_eq!(results(&local, "merged"), expected);
    let new = server.seen().split_off(before.len());
    let gets = |line: &&String| line.starts_with("200 GET") && line.ends_with(".sqlite");
    // One more for the answer that broke off.
    assert_eq!(new.iter().filter(gets).count(), 3 + 1, "{new:#?}");
    assert!(!new.iter().any(|line| line.contains("PUT")), "{new:#?}");

    // In the bucket itself, an answer being lost; then it is a source like any other.
    server.faults(&[("PUT", "/store.sqlite", "lost")]);
    for sources in ["merged 3 sources", "merged 0 sources"] {
        let done = merge(&server, &[cache]);
        assert_eq!(done.code, 0, "{done}");
        assert!(done.stderr.contains(sources), "{done}");
        said += &done.to_string();
    }
    // A store that goes to another place of the bucket, and comes back from there.
    assert_eq!(
        merge(&server, &[cache, "--into", "s3://bench/other"]).code,
        0
    );
    let back = folder.path().join("back");
    let done = merge(&server, &["s3://bench/other", "--into", arg(&back)]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(results(&back, "merged"), expected);

    // Another number of shards finds everything there.
    let done = shard(&server, "0/1", cache, &own);
    assert!(done.stderr.contains("240 answers are there"), "{done}");
    said += &done.to_string();

    let keys = [server.id.as_str(), server.key.as_str()];
    assert!(!keys.iter().any(|key| said.contains(key)), "{said}");
    for file in files_below(folder.path()) {
        let bytes = std::fs::read(&file).unwrap();
        for key in keys {
            let found = bytes.windows(key.len()).any(|part| part == key.as_bytes());
            assert!(!found, "a key is in {}", file.display());
        }
    }
}

fn files_below(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found
}

#[needs_moto]
#[test]
fn a_merge_that_is_overtaken_takes_over_what_the_other_made() {
    let server = S3Server::start();
    let (folder, path) = questions(40);
    let own = [&SYSTEMS[..], &["--dataset", arg(&path)]].concat();
    let single = folder.path().join("single");
    run(&[&own[..], &["--cache-dir", arg(&single)]].concat());
    let cache = "s3://bench/raced";
    // At first there is no store to compare with, then there is.
    for (first, second, n) in [("0/4", "1/4", 2), ("2/4", "3/4", 4)] {
        assert_eq!(shard(&server, first, cache, &own).code, 0);
        server.faults(&[("PUT", "/store.sqlite", "hold")]);
        let slow = server
            .program()
            .args(["merge", cache])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        server.until(|line| line.starts_with("held"), n / 2);
        assert_eq!(shard(&server, second, cache, &own).code, 0);
        let fast = merge(&server, &[cache]);
        assert_eq!(fast.code, if n == 4 { 0 } else { 3 }, "{fast}");
        server.release();
        let slow = slow.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&slow.stderr);
        assert_eq!(slow.status.code(), fast.code.into(), "{said}");
        assert!(said.contains("another merge was faster"), "{said}");
        let stdout = String::from_utf8_lossy(&slow.stdout);
        assert!(stdout.contains(&format!("{n} of 4 shards")), "{stdout}");
    }
    let refused = server.seen();
    let refused = refused.iter().filter(|line| line.starts_with("412 PUT"));
    assert_eq!(refused.count(), 2);
    let local = folder.path().join("local");
    // Of the bucket's store alone: without segments beside it.
    assert_eq!(
        merge(&server, &[cache, "--into", "s3://bench/alone"]).code,
        0
    );
    assert_eq!(
        merge(&server, &["s3://bench/alone", "--into", arg(&local)]).code,
        0
    );
    assert_eq!(results(&local, "merged"), results(&single, "last"));
}

#[needs_moto]
#[test]
fn a_killed_shard_goes_on_from_the_bucket() {
    const N: usize = 200;
    let server = S3Server::start();
    // A shard that is to be killed cannot end before.
    let (answers, asked) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let most = Arc::clone(&answers);
    let model = ChatServer::start(move |_| {
        match asked.fetch_add(1, Ordering::Relaxed) < most.load(Ordering::Relaxed) {
            true => Reply::text("Paris"),
            false => Reply::hang(),
        }
    });
    let (folder, path) = questions(N);
    let (cache, url) = ("s3://bench/killed", model.url());
    let own = [
        "--proxy",
        &url,
        "--name",
        "p",
        "--dataset",
        arg(&path),
        "-q",
        "--publish-every",
        "0.1",
    ];
    let is_put = |line: &str| line.starts_with("200 PUT") && line.ends_with(".sqlite");
    for _ in 0..2 {
        let before = server.seen().iter().filter(|line| is_put(line)).count();
        answers.store(model.request_count() + N / 4, Ordering::Relaxed);
        let mut child = server
            .program()
            .args(["run", "--shard", "0/1", "--cache-dir", cache])
            .args(own)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        server.until(is_put, before + 1);
        let _ = child.kill();
        let _ = child.wait();
    }
    let local = folder.path().join("part");
    let part = merge(&server, &[cache, "--into", arg(&local)]);
    assert_eq!(part.code, 3, "{part}");
    let sent = model.request_count();
    answers.store(usize::MAX, Ordering::Relaxed);
    let done = shard(&server, "0/1", cache, &own);
    assert_eq!(done.code, 0, "{done}");
    let (before, _) = done.stderr.split_once(" answers are there").unwrap();
    let known: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((1..N).contains(&known), "{done}");
    assert_eq!(model.request_count() - sent, N - known);
    let whole = merge(&server, &[cache, "--into", arg(&local)]);
    assert_eq!(whole.code, 0, "{whole}");
    let single = folder.path().join("single");
    let done = run(&[&own[..7], &["--cache-dir", arg(&single)]].concat());
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(results(&local, "merged"), results(&single, "last"));
}

#[needs_moto]
#[test]
fn conditions_hold_and_lists_have_pages() {
    let server = S3Server::start();
    let settings = BucketSettings::from_variables(&|name| {
        Some(match name {
            "AWS_ENDPOINT_URL" => server.url.clone(),
            "AWS_ACCESS_KEY_ID" => server.id.clone(),
            "AWS_SECRET_ACCESS_KEY" => server.key.clone(),
            _ => return None,
        })
    });
    let address = "s3://bench/many".parse().unwrap();
    let bucket = Bucket::new(address, settings.unwrap()).unwrap();
    assert!(bucket.list("").unwrap().is_empty());
    server.post("/test/fill", "");
    let names = bucket.list("").unwrap();
    assert_eq!(names.len(), 1001);
    assert_eq!(names.last().unwrap(), "1000 <&> é");
    assert_eq!(bucket.list("099").unwrap().len(), 10);

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (one, other, copy) = (
        file("one", "1"),
        file("other", "2"),
        folder.path().join("copy"),
    );
    let put = |path: &Path, when| bucket.put("segment", path, when).unwrap();
    assert_eq!(bucket.get("segment", &copy).unwrap(), None);
    assert_eq!(
        put(&one, PutCondition::Version("\"x\"")),
        PutOutcome::Refused
    );
    let PutOutcome::Stored(first) = put(&one, PutCondition::Absent) else {
        panic!("it is not there");
    };
    // The same segment twice is one; another under its name is refused.
    assert_eq!(
        put(&one, PutCondition::Absent),
        PutOutcome::Stored(first.clone())
    );
    assert_eq!(put(&other, PutCondition::Absent), PutOutcome::Refused);
    assert_eq!(bucket.get("segment", &copy).unwrap().as_ref(), Some(&first));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "1");
    // Compare and set; the version of before is stale then.
    let PutOutcome::Stored(second) = put(&other, PutCondition::Version(&first)) else {
        panic!("the version is the right one");
    };
    assert_ne!(first, second);
    assert_eq!(
        put(&one, PutCondition::Version(&first)),
        PutOutcome::Refused
    );
    assert_eq!(bucket.get("segment", &copy).unwrap(), Some(second));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "2");
    bucket.remove("segment").unwrap();
    bucket.remove("segment").unwrap();
    assert!(!bucket.has("segment").unwrap());
}

#[needs_moto]
#[test]
fn what_is_wrong_with_a_bucket_is_told() {
    let server = S3Server::start();
    let (_folder, path) = questions(3);
    let own = ["--system", "passthrough", "-q", "--dataset", arg(&path)];
    let tell = |cache: &str, variables: &[(&str, &str)]| {
        let mut command = server.program();
        command.envs(variables.iter().copied());
        let shard = ["run", "--shard", "0/2", "--cache-dir", cache];
        let ran = run_with(command.args(shard).args(own));
        assert!(!ran.to_string().contains("planted"), "{ran}");
        ran
    };
    for (cache, variables, texts) in [
        (
            "s3://bench/x",
            &[("AWS_SECRET_ACCESS_KEY", "planted")][..],
            &["SignatureDoesNotMatch", "not accepted"][..],
        ),
        (
            "s3://bench/x",
            &[("AWS_ACCESS_KEY_ID", "planted")],
            &["InvalidAccessKeyId"],
        ),
        (
            "s3://bench/x",
            &[("AWS_SECRET_ACCESS_KEY", "")],
            &["`AWS_SECRET_ACCESS_KEY` is not set"],
        ),
        (
            "s3://bench/x",
            &[("AWS_SECRET_ACCESS_KEY", "planted\nkey")],
            &["refuses"],
        ),
        ("s3://absent/x", &[], &["there is no bucket `absent`"]),
        ("s3://denied/x", &[], &["AccessDenied", "s3:PutObject"]),
        ("s3://bench/../x", &[], &["not the address of a bucket"]),
        (
            "s3://bench/x",
            &[("AWS_ENDPOINT_URL", "http://192.0.2.1")],
            &["not encrypted", "AWS_ALLOW_HTTP"],
        ),
    ] {
        tell(cache, variables).is_error(texts);
    }
    // Nobody there, and a service that stays busy: not now.
    let nobody = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9")];
    tell("s3://bench/x", &nobody).is_not_now(&["cannot be reached", "connection refused"]);
    server.faults(&[("PUT", "-000001.sqlite", "busy"); 6]);
    let busy = tell("s3://bench/x", &[]);
    assert_eq!(busy.code, 75, "{busy}");
    assert!(
        busy.stderr.contains("could not store an object: SlowDown"),
        "{busy}"
    );
    assert_eq!(tell("s3://bench/x", &[]).code, 0);

    // A bucket is no store.
    let plain = ["run", "--cache-dir", "s3://bench/x"];
    run_with(server.program().args(plain).args(own)).is_error(&["is a bucket", "--shard i/n"]);
    let runs = ["runs", "--cache-dir", "s3://bench/x"];
    run_with(server.program().args(runs)).is_error(&["is a bucket", "--into DIR"]);
    merge(&server, &["s3://bench/nothing"]).is_error(&["no segment in `s3://bench/nothing`"]);
    let mut without = command();
    server::without_variables(&mut without);
    run_with(without.args(["merge", "s3://bench/x"])).is_error(&["`AWS_ACCESS_KEY_ID` is not set"]);
}
