//! `make bench ONLY=scale`: runs beyond one machine, and large runs that are stored. Parts by
//! themselves: `scale-merge`, `scale-segments`, `scale-exports`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{example, line};

/// Rows of the run that is exported. It takes about half a kilobyte of disk for each, and as much
/// memory while it is made, so another number may be wanted.
const ROWS: &str = "CONTEXT_BENCH_SCALE_ROWS";
/// A folder with such a run, which is made there if there is none; it stays.
const STORE: &str = "CONTEXT_BENCH_SCALE_STORE";
/// Rows that are merged.
const MERGED: &str = "CONTEXT_BENCH_MERGED_ROWS";
/// Shards that they come from.
const SHARDS: usize = 8;

fn number(variable: &str, otherwise: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.and_then(|set| set.parse().ok()).unwrap_or(otherwise)
}

/// A file with so many examples.
fn dataset(path: &Path, n: usize) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    for i in 0..n {
        serde_json::to_writer(&mut file, &example(i)).unwrap();
        std::io::Write::write_all(&mut file, b"\n").unwrap();
    }
}

/// The program, about to run two systems that need no endpoint.
fn shard(dataset: &Path, cache: &Path, which: &str, publish_every: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_context-bench"));
    command.args(["--system", "passthrough", "--system", "truncate:ratio=0.5"]);
    command.args(["-q", "--output", "json", "--output-file", "/dev/null"]);
    command.args(["--shard", which, "--publish-every", publish_every]);
    command
        .arg("--dataset")
        .arg(dataset)
        .arg("--cache-dir")
        .arg(cache);
    command
}

/// What merging the shards of a run takes, and doing it again.
pub(crate) fn merge() {
    let rows = number(MERGED, 1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let (questions, cache) = (folder.path().join("q.jsonl"), folder.path().join("bench"));
    dataset(&questions, rows / 2);
    for index in 0..SHARDS {
        let which = format!("{index}/{SHARDS}");
        measured(&mut shard(&questions, &cache, &which, "3600"));
    }
    let merge = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_context-bench"));
        command.arg("merge").arg(&cache);
        command
    };
    let (first, peak) = measured(&mut merge());
    let (again, _) = measured(&mut merge());
    let size = std::fs::metadata(cache.join("store.sqlite")).map_or(0, |known| known.len());
    line(
        &format!("merge of {rows} rows from {SHARDS} shards"),
        format!("{first:.1} s, peak {:.0} MB", peak / 1024.0),
        format!("again, nothing new {again:.2} s"),
        &format!("{:.0} rows/s, {} MB", rows as f64 / first, size / 1_000_000),
    );
}

/// What publishing segments costs a shard that computes: as often as possible, as by default, and
/// only at the end.
pub(crate) fn segments() {
    let rows = 400_000;
    let folder = tempfile::tempdir().unwrap();
    let questions = folder.path().join("q.jsonl");
    dataset(&questions, rows / 2);
    let run = |every: &str| {
        let cache = folder.path().join(format!("every-{every}"));
        let (seconds, _) = measured(&mut shard(&questions, &cache, "0/1", every));
        let _ = std::fs::remove_dir_all(&cache);
        seconds
    };
    // The first one reads the file into memory.
    run("3600");
    let end = run("3600");
    for every in ["10", "1"] {
        let seconds = run(every);
        line(
            &format!("a shard of {rows} rows that publishes every {every} s"),
            format!("{seconds:.1} s"),
            format!("only at the end {end:.1} s"),
            &format!("{:+.1} %", 100.0 * (seconds / end - 1.0)),
        );
    }
}

/// Runs a program to its end, and says how long that took and the most memory, in KiB.
fn measured(command: &mut Command) -> (f64, f64) {
    command.stderr(Stdio::null()).stdout(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = f64::NAN;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let now = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = now.and_then(|now| now.trim().trim_end_matches(" kB").parse().ok());
        peak = now.unwrap_or(peak);
        match child.try_wait().unwrap() {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(ended.success(), "{command:?} failed: {ended}");
    (started.elapsed().as_secs_f64(), peak)
}

/// Exports of a stored run: figures and rows.
pub(crate) fn exports() {
    let rows = number(ROWS, 10_000_000);
    let folder = tempfile::tempdir().unwrap();
    let kept = std::env::var_os(STORE).map(std::path::PathBuf::from);
    let store = kept.as_deref().unwrap_or(folder.path());
    if !store.join("store.sqlite").exists() {
        let made = Command::new(std::env::current_exe().unwrap())
            .args(["--peak-memory-of", &rows.to_string()])
            .arg(store)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "the run was not stored: {made}");
    }
    for (what, format, more) in [
        ("summary", "table", &[][..]),
        ("rows without texts", "jsonl", &["--no-text"]),
        ("rows", "jsonl", &[]),
        ("rows", "csv", &[]),
        ("rows", "parquet", &[]),
        ("everything", "json", &[]),
    ] {
        let file = folder.path().join("export");
        let (seconds, peak) = export(store, &file, format, more);
        let size = std::fs::metadata(&file).map_or(0, |known| known.len());
        line(
            &format!("export of {rows} rows, {what} as {format}"),
            format!("peak {:.0} MB", peak / 1024.0),
            format!("{:.0} rows/s", rows as f64 / seconds),
            &format!("{} MB written", size / 1_000_000),
        );
    }
}

/// Exports the last run of a store, and says how long that took and the most memory, in KiB.
fn export(cache: &Path, file: &Path, format: &str, more: &[&str]) -> (f64, f64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_context-bench"));
    command.args(["export", "last", "--output", format, "--output-file"]);
    command.arg(file).arg("--cache-dir").arg(cache).args(more);
    measured(&mut command)
}
