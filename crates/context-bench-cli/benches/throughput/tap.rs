//! What the tap costs: the same run with it and without, and long bodies in little memory.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use context_bench::evaluator::AnswerQuality;
use context_bench::metric::{Latency, MeanScore};
use context_bench::store::Store;
use context_bench::system::{OpenAiProxy, OpenAiProxySettings, System};
use context_bench::tap::{DirectHost, RunTap, RunTapSettings, TappedSystem};
use context_bench::{Dataset, EvalRow, evaluate};
use context_bench_tap::record::LogWriter;
use context_bench_tap::{Tap, TapSettings, Upstream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use context_bench_testkit::{ChatServer, Reply, handlers};

use super::tap_relay::processor;
use super::{examples, line, long_examples};

/// How long the bodies are, and how many calls there are at once.
const BODY: usize = 100_000_000;
const AT_ONCE: usize = 4;
/// How often each run is made.
const TURNS: usize = 5;

/// An endpoint in a process of its own, as providers are: it takes its share of the cores in both
/// runs alike, and none of its time counts as ours.
struct OtherProcess {
    child: Child,
    url: String,
}

impl OtherProcess {
    fn start(milliseconds: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--tap-upstream", &milliseconds.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let said = child.stdout.take().unwrap();
        BufReader::new(said).read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        Self { child, url }
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        // It ends when its input does.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The endpoint: it answers after so many milliseconds until its input ends.
pub(crate) fn upstream_child(milliseconds: u64) {
    let builder = ChatServer::builder().counts_only();
    let server = match milliseconds {
        0 => builder.start(handlers::noop()),
        after => {
            let after = Duration::from_millis(after);
            builder.start(move |_| Reply::text("Paris").after(after))
        }
    };
    println!("{}", server.url());
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// What a run costs: rows a second, the middle of the latencies, and seconds of the processor
/// that this process takes for a row. The best of several turns, since the cores are shared.
#[derive(Clone, Copy)]
struct Cost {
    rate: f64,
    middle: f64,
    processor: f64,
}

impl Cost {
    const NONE: Self = Self {
        rate: 0.0,
        middle: f64::MAX,
        processor: f64::MAX,
    };

    fn take(&mut self, other: Self) {
        self.rate = self.rate.max(other.rate);
        self.middle = self.middle.min(other.middle);
        self.processor = self.processor.min(other.processor);
    }
}

/// What one way reaches of another: the middle of the turns, and the least and the most of any.
/// Runs of one turn follow each other at once: shared cores are slow for seconds at a time, and
/// the best rates of different turns would be set against each other.
struct Share {
    middle: f64,
    range: (f64, f64),
}

impl Share {
    fn of(mut turns: Vec<f64>) -> Self {
        turns.sort_by(f64::total_cmp);
        Self {
            middle: turns[turns.len() / 2],
            range: (turns[0], turns[turns.len() - 1]),
        }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [middle, least, most] =
            [self.middle, self.range.0, self.range.1].map(|share| 100.0 * share);
        write!(out, "{middle:.1} % ({least:.1} to {most:.1})")
    }
}

/// How the endpoint of a run is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Straight,
    /// Through a relay that copies bytes and looks at none: the most that any tap can reach.
    Copied,
    Tapped,
}

/// A run that is made in every way.
struct Case {
    what: &'static str,
    /// After so many milliseconds the endpoint answers.
    milliseconds: u64,
    workers: usize,
    rows: usize,
    examples: fn(usize) -> Dataset,
    /// Whether rows go into a store, as those of the program always do.
    is_stored: bool,
}

impl Case {
    const fn new(what: &'static str, milliseconds: u64, workers: usize, rows: usize) -> Self {
        Self {
            what,
            milliseconds,
            workers,
            rows,
            examples,
            is_stored: false,
        }
    }

    const fn long(self) -> Self {
        Self {
            examples: long_examples,
            ..self
        }
    }

    const fn stored(self) -> Self {
        Self {
            is_stored: true,
            ..self
        }
    }
}

const CASES: [Case; 7] = [
    Case::new("64 in flight, 0 ms, short prompts", 0, 64, 20_000),
    Case::new("64 in flight, 0 ms, prompts of 740 tokens", 0, 64, 20_000).long(),
    Case::new("64 in flight, 0 ms, short prompts, stored", 0, 64, 20_000).stored(),
    Case::new(
        "64 in flight, 0 ms, prompts of 740 tokens, stored",
        0,
        64,
        20_000,
    )
    .long()
    .stored(),
    Case::new("64 in flight, 50 ms, prompts of 740 tokens", 50, 64, 12_800).long(),
    Case::new("1 in flight, 0 ms, short prompts", 0, 1, 4000),
    Case::new("1 in flight, 0 ms, prompts of 740 tokens", 0, 1, 4000).long(),
];

/// The same run, asking the endpoint itself, through a relay that only copies, and through the
/// tap, in turns. `BENCH_CASE=0` makes the first case alone, `BENCH_WAY=tapped` one way, and
/// `BENCH_TURNS` and `BENCH_ROWS` say how often and how long, as a profile needs it.
pub(crate) async fn runs() {
    let is_left_out = |name, value: &str| std::env::var(name).is_ok_and(|only| only != value);
    for (at, case) in CASES.iter().enumerate() {
        if is_left_out("BENCH_CASE", &at.to_string()) {
            continue;
        }
        let upstream = OtherProcess::start(case.milliseconds);
        let (mut plain, mut copied, mut tapped) = (Cost::NONE, Cost::NONE, Cost::NONE);
        let mut shares: [Vec<f64>; 3] = Default::default();
        for _ in 0..number("BENCH_TURNS").unwrap_or(TURNS) {
            let ways = [
                (&mut plain, Way::Straight, "straight"),
                (&mut copied, Way::Copied, "copied"),
                (&mut tapped, Way::Tapped, "tapped"),
            ];
            let mut rates = [f64::NAN; 3];
            for ((best, way, name), rate) in ways.into_iter().zip(&mut rates) {
                if !is_left_out("BENCH_WAY", name) {
                    let cost = run(&upstream.url, case, way).await;
                    *rate = cost.rate;
                    best.take(cost);
                }
            }
            let [straight, copied, tapped] = rates;
            let ratios = [copied / straight, tapped / straight, tapped / copied];
            let shares = shares.iter_mut().zip(ratios);
            shares.for_each(|(shares, ratio)| shares.push(ratio));
        }
        let [of_copied, of_tapped, of_both] = shares.map(Share::of);
        line(
            &format!("run through the tap, {}: rows/s", case.what),
            format!("{:.0}", tapped.rate),
            format!("without it {:.0}", plain.rate),
            &of_tapped.to_string(),
        );
        line(
            "the same through a relay that copies bytes and does nothing else",
            format!("{:.0}", copied.rate),
            format!("without it {:.0}", plain.rate),
            &format!("{of_copied}, of which the tap reaches {of_both}"),
        );
        line(
            "the same: latency p50, and processor per row without the endpoint's",
            format!(
                "{:.3} ms, {:.0} µs",
                tapped.middle * 1e3,
                tapped.processor * 1e6
            ),
            format!(
                "without it {:.3} ms, {:.0} µs",
                plain.middle * 1e3,
                plain.processor * 1e6
            ),
            &format!(
                "+{:.3} ms, +{:.0} µs",
                (tapped.middle - plain.middle) * 1e3,
                (tapped.processor - plain.processor) * 1e6
            ),
        );
    }
}

/// A number that the environment gives.
fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// A relay that copies bytes: where it is reached, and its task.
async fn copying_relay(upstream: &str) -> (String, tokio::task::JoinHandle<()>) {
    let (_, rest) = upstream.split_once("://").unwrap();
    let to: SocketAddr = rest.split('/').next().unwrap().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().to_string();
    let own = upstream.replacen(&to.to_string(), &own, 1);
    let task = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut upstream = TcpStream::connect(to).await.unwrap();
                client.set_nodelay(true).unwrap();
                upstream.set_nodelay(true).unwrap();
                // It ends with either side.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
            });
        }
    });
    (own, task)
}

async fn run(url: &str, case: &Case, way: Way) -> Cost {
    let n = number("BENCH_ROWS").unwrap_or(case.rows);
    let relay = match way {
        Way::Copied => Some(copying_relay(url).await),
        Way::Straight | Way::Tapped => None,
    };
    let mut settings = OpenAiProxySettings::new(relay.as_ref().map_or(url, |(url, _)| url));
    settings.name = Some("p".into());
    let is_tapped = way == Way::Tapped;
    let tap = is_tapped.then(|| RunTap::new(RunTapSettings::new(url).unwrap()));
    let system: Arc<dyn System> = match &tap {
        None => Arc::new(OpenAiProxy::with_settings(settings).unwrap()),
        Some(tap) => {
            let make = Box::new(|settings| {
                let proxy = OpenAiProxy::with_settings(settings)?;
                Ok(Arc::new(proxy) as Arc<dyn System>)
            });
            Arc::new(TappedSystem::new(tap, Arc::new(DirectHost), settings, make).unwrap())
        }
    };
    let mut evaluation = evaluate()
        .systems([system])
        .dataset((case.examples)(n))
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .metric(Latency)
        .max_workers(case.workers)
        .tap(tap);
    let folder = tempfile::tempdir().unwrap();
    if case.is_stored {
        evaluation = evaluation.store(Store::open(folder.path()).unwrap().store);
    }
    let (started, before) = (std::time::Instant::now(), processor());
    let result = evaluation.run().await.unwrap();
    let rate = n as f64 / started.elapsed().as_secs_f64();
    if let Some((_, relay)) = relay {
        relay.abort();
    }
    assert_eq!(result.counts["p"].scored, n, "the endpoint failed");
    let is_seen = |row: &EvalRow| {
        row.wire
            .as_ref()
            .is_some_and(|wire| wire.calls.primary == 1)
    };
    let seen = result.rows.iter().filter(|row| is_seen(row)).count();
    assert_eq!(seen, if is_tapped { n } else { 0 }, "the tap missed calls");
    let mut times: Vec<f64> = result.rows.iter().map(|row| row.latency).collect();
    times.sort_by(f64::total_cmp);
    Cost {
        rate,
        middle: times[n / 2],
        processor: (processor() - before) / n as f64,
    }
}

/// Peak memory of a process with a tap while long bodies pass both ways, with a log.
pub(crate) fn memory() {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--tap-memory")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>());
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(f64::NAN);
    let (before, after, seconds) = (next(), next(), next());
    line(
        &format!("peak memory, {AT_ONCE} calls at once with 100 MB each way, with a log"),
        format!("{:.0} MB", after / 1024.0),
        format!("before the first {:.0} MB", before / 1024.0),
        &format!(
            "+{:.0} MB for {} MB of bodies; {:.0} MB/s",
            (after - before) / 1024.0,
            2 * AT_ONCE * BODY / 1_000_000,
            (2 * AT_ONCE * BODY) as f64 / 1e6 / seconds
        ),
    );
}

/// The process that is looked at. Its client and upstream hold no body either.
pub(crate) fn memory_child() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(give_back(stream));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let log = LogWriter::create(&folder.path().join("run.jsonl")).unwrap();
        let url = format!("http://{address}").parse().unwrap();
        let settings = TapSettings::new(Upstream::new(url).with_credential("the-real-key"));
        let tap = Tap::start(settings, Box::new(log)).await.unwrap();
        let before = peak();
        let began = std::time::Instant::now();
        let address = tap.address();
        let got = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..AT_ONCE)
            .map(|_| tokio::spawn(ask(address, Arc::clone(&got))))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let seconds = began.elapsed().as_secs_f64();
        let report = tap.finish().await;
        assert_eq!((report.recorded, report.not_kept), (AT_ONCE as u64, 0));
        assert!(got.load(Ordering::Relaxed) > AT_ONCE * BODY);
        println!("{before} {} {seconds}", peak());
    });
}

/// A part of a long text.
fn piece() -> Vec<u8> {
    b"In part 7 of the report the committee noted that rivers and roads meet. ".repeat(1000)
}

async fn write_body(stream: &mut (impl tokio::io::AsyncWrite + Unpin)) {
    let piece = piece();
    let mut left = BODY;
    while left > 0 {
        let now = left.min(piece.len());
        if stream.write_all(&piece[..now]).await.is_err() {
            return;
        }
        left -= now;
    }
}

/// Reads a request of the known length and answers with as much.
async fn give_back(mut stream: TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    let mut seen = 0;
    while seen < BODY {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => seen += read,
            _ => return,
        }
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    write_body(&mut stream).await;
}

async fn ask(address: std::net::SocketAddr, got: Arc<AtomicUsize>) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let sending = tokio::spawn(async move {
        let head = format!(
            "POST /a/x/v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {BODY}\r\nConnection: close\r\n\r\n"
        );
        write.write_all(head.as_bytes()).await.unwrap();
        write_body(&mut write).await;
        write
    });
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length) = read.read(&mut buffer).await {
        if length == 0 {
            break;
        }
        got.fetch_add(length, Ordering::Relaxed);
    }
    drop(sending.await);
}

/// The peak memory of this process, in KiB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
    peak.unwrap_or(f64::NAN)
}
