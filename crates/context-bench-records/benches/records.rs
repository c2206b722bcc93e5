//! `make bench`: how fast records are read, beside pyarrow on the same file.
//!
//! The file is made here, everything is measured in one run and printed as rows
//! of a Markdown table. Nothing here asserts. pyarrow is measured when the
//! interpreter that `BENCH_PYTHON` names (or `python3`) has it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a measuring program, not part of the product"
)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use context_bench_records::{ReadSettings, RecordSet, Records as _};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

const N_ROWS: usize = 200_000;
const ROWS_PER_GROUP: usize = 50_000;
const N_CHECKED: usize = 100_000;
const N_LINES: usize = 1_000_000;

fn main() {
    // `cargo test --all-targets` runs benches too; only `make bench` measures.
    let args: Vec<String> = std::env::args().collect();
    if let Some(n) = args.iter().position(|arg| arg == "--peak-of") {
        println!("{}", peak_of(Path::new(&args[n + 1])));
        return;
    }
    if !args.iter().any(|arg| arg == "--bench") {
        println!("nothing measured: run `make bench`");
        return;
    }
    println!("| What | Measured | Beside | Ratio |");
    println!("|---|---|---|---|");
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![parquet_file(folder.path())];
    // Other files to measure, such as the real ones of the tests.
    files.extend(std::env::var_os("BENCH_PARQUET").map(PathBuf::from));
    for file in files {
        measure(&file);
    }
    checksums(folder.path());
    json_lines(folder.path());
}

/// What it costs to verify the checksums of pages: the same rows with and without.
fn checksums(folder: &Path) {
    let text = "A line of a context that somebody has to read. ".repeat(10);
    let rows: Vec<Vec<String>> = (0..N_CHECKED)
        .map(|n| vec![format!("question {n}"), format!("{n}: {text}")])
        .collect();
    let mut seconds = [0.0; 2];
    for (seconds, with) in seconds.iter_mut().zip([false, true]) {
        let path = folder.join(format!("checksums-{with}.parquet"));
        let file = context_bench_testkit::parquet::texts(&["question", "context"], &rows, with);
        std::fs::write(&path, file.bytes).unwrap();
        *seconds = best(|| count(&path)).1;
    }
    let [without, with] = seconds;
    line(
        &format!("parquet with checksums of pages, {N_CHECKED} rows"),
        format!("{:.0} ms", with * 1e3),
        format!("without {:.0} ms", without * 1e3),
        &format!("{:.2} × the time", with / without),
    );
}

fn line(what: &str, measured: impl std::fmt::Display, beside: impl std::fmt::Display, ratio: &str) {
    println!("| {what} | {measured} | {beside} | {ratio} |");
    let _ = std::io::stdout().flush();
}

/// The shortest of three times.
fn best(mut run: impl FnMut() -> usize) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for _ in 0..3 {
        let started = Instant::now();
        let n = run();
        best = (n, best.1.min(started.elapsed().as_secs_f64()));
    }
    best
}

fn count(path: &Path) -> usize {
    RecordSet::open(path, ReadSettings::default())
        .unwrap()
        .map(|found| assert!(!found.unwrap().record.is_empty()))
        .count()
}

fn measure(path: &Path) {
    let (n, ours) = best(|| count(path));
    let (beside, ratio) = match pyarrow(path) {
        Some((version, theirs)) => (
            format!("pyarrow {version} `to_pylist` {:.0} ms", theirs * 1e3),
            format!("{:.1} × as fast", theirs / ours),
        ),
        None => ("pyarrow not found".into(), String::new()),
    };
    let name = path.file_name().unwrap().to_string_lossy();
    line(
        &format!("parquet → records, {n} rows of `{name}`"),
        format!("{:.0} ms", ours * 1e3),
        beside,
        &ratio,
    );
}

/// The version of pyarrow and its shortest of three times on the same files.
fn pyarrow(path: &Path) -> Option<(String, f64)> {
    const PROGRAM: &str = "
import glob, os, sys, time
import pyarrow, pyarrow.parquet
path = sys.argv[1]
files = sorted(glob.glob(path + '/*.parquet')) if os.path.isdir(path) else [path]
best = float('inf')
for _ in range(3):
    started = time.perf_counter()
    for file in files:
        pyarrow.parquet.ParquetFile(file).read().to_pylist()
    best = min(best, time.perf_counter() - started)
print(pyarrow.__version__, best)
";
    let python = std::env::var("BENCH_PYTHON").unwrap_or_else(|_| "python3".into());
    let output = Command::new(python)
        .args(["-c", PROGRAM])
        .arg(path)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (version, seconds) = text.trim().split_once(' ')?;
    Some((version.into(), seconds.parse().ok()?))
}

/// Questions with contexts, as benchmarks have them.
fn parquet_file(folder: &Path) -> PathBuf {
    let schema = "message schema {
        REQUIRED INT64 id;
        OPTIONAL BYTE_ARRAY question (UTF8);
        REQUIRED BYTE_ARRAY context (UTF8);
        OPTIONAL group answers (LIST) { REPEATED group list { OPTIONAL BYTE_ARRAY element (UTF8); } }
        OPTIONAL group source { OPTIONAL BYTE_ARRAY title (UTF8); REQUIRED INT64 page; }
    }";
    let path = folder.join("questions.parquet");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let file = File::create(&path).unwrap();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, properties.into()).unwrap();
    for start in (0..N_ROWS).step_by(ROWS_PER_GROUP) {
        let mut group = writer.next_row_group().unwrap();
        let rows = start..start + ROWS_PER_GROUP;
        let text = |text: String| ByteArray::from(text.into_bytes());
        let ids: Vec<i64> = rows.clone().map(|i| i as i64).collect();
        integers(&mut group, &ids, None);
        let questions: Vec<ByteArray> = rows
            .clone()
            .map(|i| text(format!("Who wrote document number {i}, and when?")))
            .collect();
        texts(&mut group, &questions, Some(&vec![1; ROWS_PER_GROUP]), None);
        let contexts: Vec<ByteArray> = rows
            .clone()
            .map(|i| text(format!("Document {i}. It was written in {}. ", i % 300).repeat(5)))
            .collect();
        texts(&mut group, &contexts, None, None);
        let answers: Vec<ByteArray> = rows
            .clone()
            .flat_map(|i| [text(format!("answer {i}")), text(format!("{}", i % 100))])
            .collect();
        let repetitions: Vec<i16> = rows.clone().flat_map(|_| [0, 1]).collect();
        texts(
            &mut group,
            &answers,
            Some(&vec![3; 2 * ROWS_PER_GROUP]),
            Some(&repetitions),
        );
        let titles: Vec<ByteArray> = rows.map(|i| text(format!("Title {}", i % 1000))).collect();
        texts(&mut group, &titles, Some(&vec![2; ROWS_PER_GROUP]), None);
        integers(&mut group, &ids, Some(&vec![1; ROWS_PER_GROUP]));
        group.close().unwrap();
    }
    writer.close().unwrap();
    path
}

fn integers(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[i64],
    levels: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    let writer = column.typed::<Int64Type>();
    writer.write_batch(values, levels, None).unwrap();
    column.close().unwrap();
}

fn texts(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[ByteArray],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    let writer = column.typed::<ByteArrayType>();
    writer
        .write_batch(values, definitions, repetitions)
        .unwrap();
    column.close().unwrap();
}

/// Speed of both ways over JSON Lines, and peak memory in a process of its own.
fn json_lines(folder: &Path) {
    let small = lines_file(folder, "small.jsonl", N_LINES / 10);
    let large = lines_file(folder, "large.jsonl", N_LINES);
    let megabytes = std::fs::metadata(&large).unwrap().len() as f64 / 1e6;
    let (_, read) = best(|| count(&large));
    let (_, check) = best(|| {
        let mut records = RecordSet::open(&large, ReadSettings::default()).unwrap();
        let mut n = 0;
        while let Some(checked) = records.check_next("id") {
            checked.unwrap();
            n += 1;
        }
        n
    });
    line(
        &format!("{N_LINES} lines of JSON, {megabytes:.0} MB"),
        format!("read {:.0} MB/s", megabytes / read),
        format!("checked {:.0} MB/s", megabytes / check),
        "",
    );
    let peak = |path: &Path| -> f64 {
        let output = Command::new(std::env::current_exe().unwrap())
            .arg("--peak-of")
            .arg(path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().unwrap_or(f64::NAN)
    };
    let (few, many) = (peak(&small), peak(&large));
    line(
        &format!("{N_LINES}-row JSONL streamed, peak memory"),
        format!("{:.1} MB", many / 1024.0),
        format!("{} rows {:.1} MB", N_LINES / 10, few / 1024.0),
        &format!(
            "{:+.0} bytes/row",
            (many - few) * 1024.0 / (N_LINES as f64 * 0.9)
        ),
    );
}

fn lines_file(folder: &Path, name: &str, n: usize) -> PathBuf {
    let path = folder.join(name);
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for i in 0..n {
        let context = format!("Document {i}. It was written in {}. ", i % 300).repeat(5);
        writeln!(
            file,
            r#"{{"id":{i},"question":"Who wrote document number {i}?","context":"{context}","answers":["answer {i}","{}"]}}"#,
            i % 100
        )
        .unwrap();
    }
    file.flush().unwrap();
    path
}

/// Peak resident memory in kB after reading all records; 0 where it is unknown.
fn peak_of(path: &Path) -> u64 {
    count(path);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap_or(0)
}
