//! (h) From files to examples: compared with pyarrow, and over a slow network.
//!
//! A Python with pyarrow writes the tables: `BENCH_PYTHON`, otherwise `python3`. Without one,
//! nothing is measured and a line says so.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use context_bench::dataset::catalog::{Hub, HubAccess, HubSettings};
use context_bench::registry::{DatasetRequest, Registry};
use context_bench_testkit::hub::{FakeHub, FakeRepo};

use super::line;

/// Writes the table of the first argument to the path of the second.
const MAKE: &str = r#####"
import random, sys
import pyarrow as pa, pyarrow.parquet as pq
kind, path = sys.argv[1:3]
random.seed(1)
words = [f"word{i}" for i in range(5000)]
def text(n): return " ".join(random.choices(words, k=n))
if kind == "plain":
    rows = [{"question": text(40), "answer": text(60) + f"\n#### {i}"} for i in range(100_000)]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=10_000)
elif kind == "real":
    table = pq.read_table(sys.argv[3])
    times = max(1, 20_000_000 // max(1, table.nbytes))
    pq.write_table(pa.concat_tables([table] * times), path, row_group_size=10_000)
elif kind == "nested":
    def row(i):
        return {"id": str(i), "question": text(15), "answer": text(2), "type": "bridge", "level": "hard",
                "supporting_facts": {"title": [text(2), text(2)], "sent_id": [0, 1]},
                "context": {"title": [text(2) for _ in range(10)],
                            "sentences": [[text(20) for _ in range(4)] for _ in range(10)]}}
    pq.write_table(pa.Table.from_pylist([row(i) for i in range(10_000)]), path, row_group_size=1000)
else:
    schema = pa.schema([("question", pa.string()), ("answer", pa.string())])
    with pq.ParquetWriter(path, schema, compression="none") as out:
        for group in range(100):
            texts = [random.randbytes(1024).hex() for _ in range(10_000)]
            answers = [f"#### {i}" for i in range(10_000)]
            out.write_table(pa.table([texts, answers], schema=schema))
"#####;

/// The time of `to_pylist`, the better of two runs: the first one warms up.
const READ: &str = r#"
import sys, time
import pyarrow.parquet as pq
best = 1e9
for _ in range(2):
    start = time.perf_counter()
    rows = pq.read_table(sys.argv[1]).to_pylist()
    best = min(best, time.perf_counter() - start)
    n = len(rows); del rows
print(best, n)
"#;

/// Both are measured alternately this many times, so that a busy moment of the machine does not
/// affect only one of them. The best of each counts.
const TURNS: usize = 4;

pub(super) fn datasets() {
    let python = std::env::var("BENCH_PYTHON").unwrap_or_else(|_| "python3".into());
    let has_pyarrow = Command::new(&python)
        .args(["-c", "import pyarrow"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_pyarrow {
        line(
            "from files to examples",
            "not measured",
            "needs a Python with pyarrow; `BENCH_PYTHON` names one",
            "",
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (kind, dataset) in [("plain", "gsm8k"), ("nested", "hotpotqa")] {
        let path = folder.path().join(format!("{kind}.parquet"));
        python_run(&python, MAKE, &[kind.as_ref(), &path]);
        let compared = Compared::read(&python, dataset, &path);
        compared.line(&format!("parquet → {} examples of {dataset}", compared.n));
    }
    real(&python, folder.path());
    remote(&python, folder.path());
}

/// The time for the same table here and with `to_pylist`.
#[derive(Default)]
struct Compared {
    n: usize,
    ours: f64,
    beside: f64,
}

impl Compared {
    fn read(python: &str, dataset: &str, path: &Path) -> Self {
        let mut best = Self {
            n: 0,
            ours: f64::MAX,
            beside: f64::MAX,
        };
        for _ in 0..TURNS {
            let beside = python_run(python, READ, &[path]);
            let (beside, n) = beside.trim().split_once(' ').unwrap();
            best.n = n.parse().unwrap();
            best.beside = best.beside.min(beside.parse().unwrap());
            let ours = (0..2).map(|_| read(dataset, path)).min().unwrap();
            best.ours = best.ours.min(ours.as_secs_f64());
        }
        best
    }

    fn line(&self, what: &str) {
        line(
            what,
            format!("{:.0} ms", self.ours * 1e3),
            format!("pyarrow `to_pylist` {:.0} ms", self.beside * 1e3),
            &format!("{:.1} × as fast", self.beside / self.ours),
        );
    }
}

/// Real records of the datasets of the catalog, repeated to some 20 MB each.
fn real(python: &str, folder: &Path) {
    let Some(source) = context_bench_testkit::shared::find("data/parquet") else {
        return;
    };
    let mut total = Compared::default();
    let mut n_datasets = 0;
    let mut files: Vec<_> = std::fs::read_dir(source).unwrap().collect();
    files.sort_by_key(|file| file.as_ref().unwrap().file_name());
    for file in files {
        let file = file.unwrap().path();
        let name = file
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .replacen('.', ":", 1);
        // Its other table does not hold examples.
        if name.starts_with("scifact") {
            continue;
        }
        // It has a single config, which the spec does not name.
        let name = name.replace("truthfulqa:generation", "truthfulqa");
        let path = folder.join(file.file_name().unwrap());
        python_run(python, MAKE, &["real".as_ref(), &path, &file]);
        let compared = Compared::read(python, &name, &path);
        std::fs::remove_file(&path).unwrap();
        if std::env::var_os("BENCH_EACH").is_some() {
            compared.line(&format!("parquet → {} examples of {name}", compared.n));
        }
        total.n += compared.n;
        total.ours += compared.ours;
        total.beside += compared.beside;
        n_datasets += 1;
    }
    total.line(&format!(
        "parquet → {} examples of {n_datasets} datasets (their real records, repeated)",
        total.n
    ));
}

fn python_run(python: &str, script: &str, args: &[&Path]) -> String {
    let output = Command::new(python)
        .args(["-c", script])
        .args(args)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Reads all examples of a local copy.
fn read(dataset: &str, path: &Path) -> Duration {
    let typed = format!("{dataset}={}", path.display());
    let started = Instant::now();
    let opened = Registry::builtin().open_dataset(&typed, &DatasetRequest::default());
    let examples = opened.unwrap().into_iter().flat_map(|o| o.dataset);
    assert!(examples.map(Result::unwrap).count() > 0);
    started.elapsed()
}

/// The first example of a remote table of two gigabytes.
fn remote(python: &str, folder: &Path) {
    let path = folder.join("large.parquet");
    python_run(python, MAKE, &["large".as_ref(), &path]);
    let size = path.metadata().unwrap().len();
    let file = "main/test-00000-of-00001.parquet";
    let hub = FakeHub::start([FakeRepo::new("openai/gsm8k").large_from(file, path, None)]);
    let mut settings = HubSettings::new(folder.join("cache"));
    settings.endpoint = hub.url().into();
    let request = DatasetRequest {
        max_examples: Some(50),
        hub: Some(HubAccess::new(Hub::new(settings).unwrap())),
        ..DatasetRequest::default()
    };
    let started = Instant::now();
    let opened = Registry::builtin().open_dataset("gsm8k", &request).unwrap();
    let mut examples = opened.into_iter().flat_map(|o| o.dataset);
    examples.next().unwrap().unwrap();
    let (first, sent) = (started.elapsed(), hub.bytes_sent(file));
    line(
        "first example of a remote parquet file",
        format!("{:.0} ms", first.as_secs_f64() * 1e3),
        format!(
            "{:.1} of {:.0} MB fetched",
            sent as f64 / 1e6,
            size as f64 / 1e6
        ),
        &format!("{:.2} %", 100.0 * sent as f64 / size as f64),
    );
    let rest = examples.map(Result::unwrap).count();
    let sent = hub.bytes_sent(file);
    line(
        &format!("all {} examples of `-n 50` of it", rest + 1),
        format!("{:.0} ms", started.elapsed().as_secs_f64() * 1e3),
        format!(
            "{:.1} of {:.0} MB fetched",
            sent as f64 / 1e6,
            size as f64 / 1e6
        ),
        &format!("{:.2} %", 100.0 * sent as f64 / size as f64),
    );
}
