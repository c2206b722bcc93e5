//! `make bench`: the overhead of the harness, compared with what is possible.
//!
//! Everything is measured in one process and one run and printed as ratios, because machines
//! differ and are shared. The endpoint is that of the test kit, on loopback; client and server
//! share the cores. Nothing is asserted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::exit,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a measuring program, not part of the product"
)]

// In a separate folder, or cargo would take the files for benches.
#[path = "throughput/datasets.rs"]
mod datasets;
#[path = "throughput/memories.rs"]
mod memories;
#[path = "throughput/scale.rs"]
mod scale;
#[path = "throughput/scoring.rs"]
mod scoring;
#[path = "throughput/tap.rs"]
mod tap;
#[path = "throughput/tap_relay.rs"]
mod tap_relay;
#[path = "throughput/tasks.rs"]
mod tasks;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use context_bench::chat::{ChatClient, ChatRequest, ClientSettings, Endpoint};
use context_bench::evaluator::AnswerQuality;
use context_bench::metric::{Latency, MeanScore};
use context_bench::store::Store;
use context_bench::system::{OpenAiProxy, OpenAiProxySettings, System, from_fn};
use context_bench::{Dataset, EvalResult, Example, Output, evaluate};
use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::json;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // `cargo test --all-targets` runs benches too; only `make bench` measures.
    let args: Vec<String> = std::env::args().collect();
    if let Some(n) = args.iter().position(|arg| arg == "--peak-memory-of") {
        return peak_memory_child(args[n + 1].parse().unwrap(), args.get(n + 2).map(Path::new));
    }
    if let Some(n) = args.iter().position(|arg| arg == "--index-of") {
        return tasks::memory_child(Path::new(&args[n + 1]));
    }
    if args.iter().any(|arg| arg == "--tap-memory") {
        return tap::memory_child();
    }
    if let Some(n) = args.iter().position(|arg| arg == "--tap-upstream") {
        return tap::upstream_child(args[n + 1].parse().unwrap());
    }
    if !args.iter().any(|arg| arg == "--bench") {
        println!("nothing measured: run `make bench`");
        return;
    }
    let only = args.iter().position(|arg| arg == "--only");
    let only = only.and_then(|at| args.get(at + 1)).map(String::as_str);
    let parts = [
        "requests",
        "latency",
        "program",
        "peak-memory",
        "store",
        "scoring",
        "datasets",
        "tasks",
        "memory",
        "tap",
        "tap-relay",
        "tap-runs",
        "tap-memory",
        "start-up",
        "scale",
        "scale-merge",
        "scale-segments",
        "scale-exports",
    ];
    if let Some(unknown) = only.filter(|only| !parts.contains(only)) {
        eprintln!("no part `{unknown}`; there are {}", parts.join(", "));
        std::process::exit(2);
    }
    let wanted = |part: &str| {
        only.is_none_or(|only| {
            only == part
                || part
                    .strip_prefix(only)
                    .is_some_and(|rest| rest.starts_with('-'))
        })
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("| What | Measured | Beside | Ratio |");
    println!("|---|---|---|---|");
    if wanted("requests") {
        runtime.block_on(requests());
    }
    if wanted("latency") {
        runtime.block_on(ideal_rate());
    }
    if wanted("program") {
        program();
    }
    if wanted("peak-memory") {
        peak_memory();
    }
    if wanted("store") {
        runtime.block_on(store());
    }
    if wanted("scoring") {
        scoring::scoring();
    }
    if wanted("datasets") {
        datasets::datasets();
    }
    if wanted("tasks") {
        tasks::tasks();
    }
    if wanted("memory") {
        memories::memories();
    }
    if wanted("tap-relay") {
        runtime.block_on(tap_relay::relay());
    }
    if wanted("tap-runs") {
        runtime.block_on(tap::runs());
    }
    if wanted("tap-memory") {
        tap::memory();
    }
    if wanted("start-up") {
        start_up();
    }
    // Ten million rows take minutes and gigabytes: only when asked for.
    let is_asked_for = only.is_some_and(|only| only.starts_with("scale"));
    if is_asked_for && wanted("scale-merge") {
        scale::merge();
    }
    if is_asked_for && wanted("scale-segments") {
        scale::segments();
    }
    if is_asked_for && wanted("scale-exports") {
        scale::exports();
    }
}

fn line(what: &str, measured: impl std::fmt::Display, beside: impl std::fmt::Display, ratio: &str) {
    println!("| {what} | {measured} | {beside} | {ratio} |");
    let _ = std::io::stdout().flush();
}

fn example(i: usize) -> Example {
    Example::new()
        .with("id", i)
        .with(
            "context",
            format!("Document {i}. Paris is the capital of France."),
        )
        .with("question", "What is the capital of France?")
        .with("answer", "Paris")
}

fn examples(n: usize) -> Dataset {
    Dataset::from_results((0..n).map(|i| Ok(example(i)))).with_len(n)
}

/// An example with a prompt of about 740 tokens, like real ones.
fn long_example(i: usize) -> Example {
    let mut context = format!("Document {i}. Paris is the capital of France. ");
    for sentence in 0..40 {
        context += &format!(
            "In part {sentence} of report {}, the committee noted that rivers and roads meet. ",
            i % 977
        );
    }
    example(i).with("context", context)
}

fn long_examples(n: usize) -> Dataset {
    Dataset::from_results((0..n).map(|i| Ok(long_example(i)))).with_len(n)
}

fn proxy(server: &ChatServer) -> OpenAiProxy {
    OpenAiProxy::with_settings({
        let mut settings = OpenAiProxySettings::new(server.url());
        settings.name = Some("p".into());
        settings
    })
    .unwrap()
}

async fn run(system: &Arc<OpenAiProxy>, n: usize, workers: usize) -> (EvalResult, f64) {
    run_over(system, examples(n), n, workers).await
}

async fn run_over(
    system: &Arc<OpenAiProxy>,
    examples: Dataset,
    n: usize,
    workers: usize,
) -> (EvalResult, f64) {
    let started = Instant::now();
    let result = evaluate()
        .systems([Arc::clone(system) as Arc<dyn System>])
        .dataset(examples)
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .metric(Latency)
        .max_workers(workers)
        .run()
        .await
        .unwrap();
    assert_eq!(result.counts["p"].scored, n, "the endpoint failed");
    (result, n as f64 / started.elapsed().as_secs_f64())
}

/// (a) Requests per second at 0 ms latency, compared with a bare loop on the same client.
async fn requests() {
    for (workers, n) in [(1, 4_000), (64, 30_000), (1024, 30_000)] {
        let server = ChatServer::builder().counts_only().start(handlers::noop());
        let bare = bare_loop(&server, n, workers).await;
        let (_, ours) = run(&Arc::new(proxy(&server)), n, workers).await;
        let again = bare_loop(&server, n, workers).await;
        let bare = bare.max(again);
        line(
            &format!("requests/s, endpoint at 0 ms, {workers} workers"),
            format!("{ours:.0}"),
            format!("bare loop {bare:.0}"),
            &format!("{:.0} %", 100.0 * ours / bare),
        );
    }
}

/// The upper limit: the same client library and requests, and nothing else.
async fn bare_loop(server: &ChatServer, n: usize, workers: usize) -> f64 {
    let endpoint = Endpoint::parse(&server.url()).unwrap();
    let client = Arc::new(ChatClient::new(ClientSettings::new(endpoint)).unwrap());
    let left = Arc::new(AtomicUsize::new(n));
    let started = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..workers {
        let (client, left) = (Arc::clone(&client), Arc::clone(&left));
        tasks.push(tokio::spawn(async move {
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
            {
                let body = json!({"model": "m", "messages": [
                    {"role": "system", "content": "Document. Paris is the capital of France."},
                    {"role": "user", "content": "What is the capital of France?"},
                ]});
                let request = ChatRequest::new(body.as_object().unwrap().clone(), false);
                client.send(&request).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    n as f64 / started.elapsed().as_secs_f64()
}

/// (b) The share of `workers / latency`, and (c) our percentiles beside those of the server.
async fn ideal_rate() {
    for (workers, n) in [(256, 51_200), (1024, 51_200)] {
        let server = ChatServer::builder()
            .record_bodies(false)
            .start(|_| Reply::text("Paris").after(Duration::from_millis(50)));
        // Connections are opened first, because they do not matter in a long run.
        let system = Arc::new(proxy(&server));
        run(&system, workers, workers).await;
        let skip = server.latencies().len();
        let (result, rate) = run_over(&system, long_examples(n), n, workers).await;
        let ideal = workers as f64 / 0.050;
        line(
            &format!("requests/s, endpoint at 50 ms, {workers} workers"),
            format!("{rate:.0}"),
            format!("ideal {ideal:.0}"),
            &format!("{:.1} %", 100.0 * rate / ideal),
        );
        let mut theirs: Vec<f64> = server.latencies()[skip..]
            .iter()
            .map(|d| d.as_secs_f64() * 1e3)
            .collect();
        let mut ours: Vec<f64> = result.rows.iter().map(|row| row.latency * 1e3).collect();
        theirs.sort_by(f64::total_cmp);
        ours.sort_by(f64::total_cmp);
        for share in [0.50, 0.95, 0.99] {
            let at = |sorted: &[f64]| sorted[(sorted.len() as f64 * share) as usize];
            let (a, b) = (at(&ours), at(&theirs));
            line(
                &format!("latency p{:.0}, {workers} workers", share * 100.0),
                format!("{a:.1} ms"),
                format!("server {b:.1} ms"),
                &format!("+{:.1} ms", a - b),
            );
        }
    }
}

/// (b) again, for the whole program from start to end, including connections.
fn program() {
    for n in [2_000, 20_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("questions.jsonl");
        let lines: String = (0..n)
            .map(|i| format!("{}\n", serde_json::to_string(&long_example(i)).unwrap()))
            .collect();
        std::fs::write(&path, lines).unwrap();
        let server = ChatServer::builder()
            .record_bodies(false)
            .start(|_| Reply::text("Paris").after(Duration::from_millis(50)));
        let started = Instant::now();
        let done = Command::new(env!("CARGO_BIN_EXE_context-bench"))
            .args(["--proxy", &server.url(), "--max-workers", "256", "--quiet"])
            .arg("--dataset")
            .arg(&path)
            .output()
            .unwrap();
        let seconds = started.elapsed().as_secs_f64();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        let rounds = n.div_ceil(256) as f64 * 0.050;
        line(
            &format!("program, {n} prompts of 740 tokens, endpoint at 50 ms, 256 workers"),
            format!("{seconds:.2} s"),
            format!("ideal {rounds:.2} s"),
            &format!("{:.1} %", 100.0 * rounds / seconds),
        );
        let table = String::from_utf8_lossy(&done.stdout).into_owned();
        let shown = table.lines().find(|line| line.starts_with("127.0.0.1"));
        println!("  {}", shown.unwrap_or_default());
    }
}

/// (d) Peak memory, each size in a separate process.
fn peak_memory() {
    let mut last: Option<(usize, f64)> = None;
    for n in [10_000, 100_000, 1_000_000] {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--peak-memory-of", &n.to_string()])
            .arg(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let peak: f64 = text.trim().parse().unwrap_or(f64::NAN);
        let growth = last.map_or(String::new(), |(m, before)| {
            format!(
                "+{:.0} bytes/example",
                (peak - before) * 1024.0 / (n - m) as f64
            )
        });
        line(
            &format!("peak memory, {n} examples into the store"),
            format!("{:.0} MB", peak / 1024.0),
            "",
            &growth,
        );
        last = Some((n, peak));
    }
}

fn peak_memory_child(n: usize, dir: Option<&Path>) {
    let store = Store::open(dir.unwrap()).unwrap().store;
    let echo = from_fn("p", |e| Ok(Output::reply(e, "Paris"))).with_version("1");
    let run = evaluate()
        .system(echo)
        .dataset(examples(n))
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .store(store)
        .run();
    let result = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(run)
        .unwrap();
    assert_eq!(result.rows.len(), n);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.unwrap_or("NaN").trim().trim_end_matches(" kB"));
}

/// (e) Rows stored per second, and reopening and resuming a finished run.
async fn store() {
    let n = 1_000_000;
    let folder = tempfile::tempdir().unwrap();
    let mut seconds = Vec::new();
    for _ in 0..2 {
        let started = Instant::now();
        let store = Store::open(folder.path()).unwrap().store;
        let echo = from_fn("p", |e| Ok(Output::reply(e, "Paris"))).with_version("1");
        let result = evaluate()
            .system(echo)
            .dataset(examples(n))
            .evaluator(AnswerQuality)
            .metric(MeanScore::of("f1"))
            .store(store)
            .run()
            .await
            .unwrap();
        assert_eq!(result.counts["p"].scored, n);
        seconds.push(started.elapsed().as_secs_f64());
    }
    line(
        "rows/s run, scored and stored",
        format!("{:.0}", n as f64 / seconds[0]),
        "",
        "",
    );
    line(
        "reopen and resume a finished run of 1,000,000 rows",
        format!("{:.1} s", seconds[1]),
        format!("first run {:.1} s", seconds[0]),
        &format!("{:.0} %", 100.0 * seconds[1] / seconds[0]),
    );
}

/// (g) Start-up time: the best of several runs, because the machine is shared.
fn start_up() {
    let program = env!("CARGO_BIN_EXE_context-bench");
    for args in [&["--help"][..], &["ls"]] {
        let best = (0..15)
            .map(|_| {
                let started = Instant::now();
                Command::new(program).args(args).output().unwrap();
                started.elapsed()
            })
            .min()
            .unwrap();
        line(
            &format!("`context-bench {}`", args.join(" ")),
            format!("{:.1} ms", best.as_secs_f64() * 1e3),
            "",
            "",
        );
    }
}
