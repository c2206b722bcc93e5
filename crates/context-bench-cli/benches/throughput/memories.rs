//! (j) Memory runs: what taking in, recalling and answering take in the program, beside the same
//! calls without it.
//!
//! Beside the program stand direct calls of `context-bench-memory` and of the baseline reader, in
//! this process and on one thread: no plan, no rows, no scores. A ratio near 1 says that a run
//! costs what its memory costs. Both take turns, and of each the fastest counts: what else the
//! machine does only ever adds time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use context_bench::memory::RunCounter;
use context_bench::tokens::Tokenizer;
use context_bench_memory::embedding::HashedNgrams;
use context_bench_memory::{MemoryDataset, MemorySettings, Query, Tools};
use context_bench_reader::Reader;
use context_bench_testkit::shared;
use serde_json::{Value, json};

use super::line;

/// How often a memory is measured.
const TURNS: usize = 3;

const MEMORIES: [&str; 7] = [
    "naive",
    "window",
    "bm25",
    "embedding",
    "hybrid",
    "oracle",
    "none",
];

pub(super) fn memories() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whose) = conversations(folder.path());
    let dataset = MemoryDataset::read(&path).unwrap();
    let questions = dataset.questions().count();
    let turns = dataset
        .examples
        .iter()
        .map(|one| one.conversation.n_turns());
    let turns: usize = turns.sum();
    let data = format!(
        "{whose}: {} conversations, {turns} turns, {questions} questions",
        dataset.examples.len()
    );
    line("memory runs", data, "direct calls on one thread", "");
    for memory in MEMORIES {
        let (mut runs, mut beside) = (Vec::new(), Direct::MAX);
        for _ in 0..TURNS {
            runs.push(run(&path, &[memory], folder.path(), &[]));
            beside = beside.fastest(direct(&dataset, memory));
        }
        let least = |figure: &dyn Fn(&Run) -> f64| runs.iter().map(figure).fold(f64::NAN, f64::min);
        let stage = |name: &str| least(&|run| run.of(memory, name));
        let each = 1e3 / dataset.examples.len() as f64;
        for (stage, measured, direct, unit) in [
            (
                "ingest, per conversation",
                stage("ingest_seconds") * 1e3,
                beside.ingest.as_secs_f64() * each,
                "ms",
            ),
            (
                "retrieve, per question",
                stage("retrieve_seconds") * 1e6,
                beside.recall.as_secs_f64() * 1e6 / questions as f64,
                "µs",
            ),
            (
                "answer, per question",
                stage("answer_seconds") * 1e6,
                beside.answer.as_secs_f64() * 1e6 / questions as f64,
                "µs",
            ),
        ] {
            line(
                &format!("memory {memory}, {stage}"),
                format!("{measured:.1} {unit}"),
                format!("direct {direct:.1} {unit}"),
                &format!("{:.2} ×", measured / direct),
            );
        }
        let direct = beside.ingest + beside.recall + beside.answer;
        let seconds = least(&|run| run.seconds);
        line(
            &format!(
                "memory {memory}, whole command, 1 worker, peak {}",
                runs[0].peak()
            ),
            format!("{seconds:.2} s"),
            format!("direct {:.2} s", direct.as_secs_f64()),
            &format!("{:.2} ×", seconds / direct.as_secs_f64()),
        );
    }
    all_at_once(&path, folder.path());
}

/// All memories in one command, and the same again from its store.
fn all_at_once(path: &Path, folder: &Path) {
    let cache = folder.join("cache");
    let cache = ["--cache-dir", cache.to_str().unwrap()];
    let first = run(path, &MEMORIES, folder, &cache);
    let again = run(path, &MEMORIES, folder, &cache);
    line(
        &format!("all memories in one command, stored, peak {}", first.peak()),
        format!("{:.2} s", first.seconds),
        "",
        "",
    );
    line(
        &format!("the same again from its store, peak {}", again.peak()),
        format!("{:.2} s", again.seconds),
        format!("first run {:.2} s", first.seconds),
        &format!("{:.0} %", 100.0 * again.seconds / first.seconds),
    );
}

/// The file of LoCoMo where it is there, else one of that size and shape.
fn conversations(folder: &Path) -> (PathBuf, &'static str) {
    if let Some(real) = shared::find("data/full/locomo10.json") {
        return (real, "the real locomo10");
    }
    let path = folder.join("generated.json");
    let made: Vec<Value> = (0..10).map(conversation).collect();
    std::fs::write(&path, Value::Array(made).to_string()).unwrap();
    (path, "generated, of the size of locomo10")
}

/// 28 sessions of 21 turns, and 199 questions, each with the turn that answers it.
fn conversation(n: usize) -> Value {
    let (sessions, turns, questions) = (28, 21, 199);
    let mut said = json!({"speaker_a": "Ann", "speaker_b": "Bob"});
    for session in 1..=sessions {
        let texts = (1..=turns).map(|turn| {
            let number = session * turns + turn;
            json!({
                "speaker": if turn % 2 == 0 { "Ann" } else { "Bob" },
                "dia_id": format!("D{session}:{turn}"),
                "text": format!(
                    "By the way, in town{n} we met friend{number}, who keeps {} old clocks and \
                     told us about a walk along river{} that takes most of a day.",
                    number % 97,
                    number * 31 % 977
                ),
            })
        });
        said[format!("session_{session}")] = texts.collect();
        said[format!("session_{session}_date_time")] =
            json!(format!("1:56 pm on {session} May, 2023"));
    }
    let asked = (0..questions).map(|i| {
        let (session, turn) = (1 + i % sessions, 1 + i % turns);
        let number = session * turns + turn;
        json!({
            "question": format!("How many old clocks does friend{number} keep?"),
            "answer": number % 97,
            "evidence": [format!("D{session}:{turn}")],
            "category": 4,
        })
    });
    json!({"sample_id": format!("made-{n}"), "conversation": said, "qa": asked.collect::<Value>()})
}

struct Run {
    seconds: f64,
    /// The most memory that the process took, in kilobytes.
    peak: Option<f64>,
    result: Value,
}

impl Run {
    fn of(&self, memory: &str, figure: &str) -> f64 {
        let figure = &self.result["summary"][memory][figure];
        figure.as_f64().unwrap_or(f64::NAN)
    }

    fn peak(&self) -> String {
        let peak = self.peak.map(|peak| format!("{:.0} MB", peak / 1024.0));
        peak.unwrap_or_else(|| "unknown".into())
    }
}

fn run(path: &Path, memories: &[&str], folder: &Path, further: &[&str]) -> Run {
    let written = folder.join("result.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_context-bench"));
    command.args(["memory", "--quiet", "--no-text", "--output", "json"]);
    command.arg("--output-file").arg(&written);
    command.arg("--dataset");
    command.arg(format!("locomo={}", path.display()));
    command.args(further);
    command.env_remove("CONTEXT_BENCH_CACHE_DIR");
    for memory in memories {
        command.args(["--system", memory]);
    }
    let started = Instant::now();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut peak = None;
    let status = loop {
        // The figure is gone with the process, so it is read while that runs.
        let now = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let now = now.ok().and_then(|status| {
            let kilobytes = status
                .lines()
                .find_map(|line| line.strip_prefix("VmHWM:"))?;
            kilobytes.trim().trim_end_matches(" kB").parse::<f64>().ok()
        });
        peak = now.or(peak);
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    assert!(status.success(), "`context-bench memory` failed: {status}");
    let text = std::fs::read_to_string(&written).unwrap();
    Run {
        seconds,
        peak,
        result: serde_json::from_str(&text).unwrap(),
    }
}

#[derive(Clone, Copy, Default)]
struct Direct {
    ingest: Duration,
    recall: Duration,
    answer: Duration,
}

impl Direct {
    const MAX: Self = Self {
        ingest: Duration::MAX,
        recall: Duration::MAX,
        answer: Duration::MAX,
    };

    fn fastest(self, other: Self) -> Self {
        Self {
            ingest: self.ingest.min(other.ingest),
            recall: self.recall.min(other.recall),
            answer: self.answer.min(other.answer),
        }
    }
}

/// What a run does, without the run.
fn direct(dataset: &MemoryDataset, memory: &str) -> Direct {
    let settings: MemorySettings = memory.parse().unwrap();
    let tools = Tools {
        counter: Arc::new(RunCounter(Arc::new(Tokenizer::Cl100kBase))),
        embedder: Some(Arc::new(HashedNgrams)),
    };
    // The vocabulary is read on first use.
    tools.counter.count("warm");
    let mut memory = settings.build(&tools).unwrap();
    let mut spent = Direct::default();
    for example in &dataset.examples {
        let turns: Vec<_> = example.conversation.turns().cloned().collect();
        memory.reset();
        let started = Instant::now();
        memory.ingest(&turns).unwrap();
        spent.ingest += started.elapsed();
        for asked in &example.questions {
            let started = Instant::now();
            let recalled = memory.recall(&Query::from(asked)).unwrap();
            spent.recall += started.elapsed();
            let started = Instant::now();
            std::hint::black_box(Reader.answer(&recalled.text, &asked.question));
            spent.answer += started.elapsed();
        }
    }
    spent
}
