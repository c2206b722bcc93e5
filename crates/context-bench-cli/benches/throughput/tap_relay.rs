//! The relay of the tap alone: a client and an upstream that do nothing but write and read, with
//! the tap between them and without.
//!
//! Both ends are as fast as sockets are, and share the cores with the tap. A call through the tap
//! is two calls on the wire, so that half of the direct rate is the most that any relay reaches
//! here; what counts is the time of the processor that a call costs more.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use context_bench_tap::record::{CallBodies, CallRecord, CallSink, LogWriter};
use context_bench_tap::{Tap, TapSettings, Upstream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::line;

/// Keeps nothing, so that the relay is seen without the disk.
struct Forget;

impl CallSink for Forget {
    fn call(&mut self, _: Box<CallRecord>, _: CallBodies) -> std::io::Result<()> {
        Ok(())
    }
}

/// An upstream that answers every request alike after a while.
struct Upstreams {
    address: SocketAddr,
}

impl Upstreams {
    async fn start(answer: Vec<u8>, after: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(answer_all(stream, Arc::clone(&answer), after));
            }
        });
        Self { address }
    }
}

async fn answer_all(mut stream: TcpStream, answer: Arc<Vec<u8>>, after: Duration) {
    let mut buffer = Vec::with_capacity(64 * 1024);
    while let Some(length) = message(&mut stream, &mut buffer).await {
        buffer.drain(..length);
        if !after.is_zero() {
            tokio::time::sleep(after).await;
        }
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

fn place_of(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Reads until a whole message with a length is there; how long it is.
async fn message(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<usize> {
    loop {
        if let Some(head) = place_of(buffer, b"\r\n\r\n") {
            let name = b"\r\nContent-Length: ";
            let at = place_of(&buffer[..head], name)? + name.len();
            let digits = buffer[at..].iter().take_while(|byte| byte.is_ascii_digit());
            let length = digits.fold(0, |sum, byte| sum * 10 + usize::from(byte - b'0'));
            if buffer.len() >= head + 4 + length {
                return Some(head + 4 + length);
            }
        }
        buffer.reserve(16 * 1024);
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// Calls, so many at once; the rate and the middle of their times.
async fn load(address: SocketAddr, request: &Arc<Vec<u8>>, n: usize, at_once: usize) -> (f64, f64) {
    let left = Arc::new(AtomicUsize::new(n));
    let started = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let (request, left) = (Arc::clone(request), Arc::clone(&left));
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut buffer = Vec::new();
                let mut times = Vec::new();
                let one_less = |n: usize| n.checked_sub(1);
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                    .is_ok()
                {
                    let asked = Instant::now();
                    stream.write_all(&request).await.unwrap();
                    let length = message(&mut stream, &mut buffer).await.unwrap();
                    buffer.drain(..length);
                    times.push(asked.elapsed().as_secs_f64());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let rate = n as f64 / started.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    (rate, times[times.len() / 2])
}

/// Seconds of the processor that this process has taken.
pub(crate) fn processor() -> f64 {
    // utime and stime of all threads, in ticks of a hundredth.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    (ticks(11).unwrap_or(f64::NAN) + ticks(12).unwrap_or(f64::NAN)) / 100.0
}

/// A chat of about 740 tokens, and an answer to it.
fn messages() -> (Arc<Vec<u8>>, Vec<u8>) {
    let text: String = (0..40)
        .map(|n| {
            format!("In part {n} of report 7, the committee noted that rivers and roads meet. ")
        })
        .collect();
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"system","content":"{text}"}},{{"role":"user","content":"What is the capital of France?"}}]}}"#
    );
    let request = format!(
        "POST /a/direct/v1/chat/completions HTTP/1.1\r\nHost: tap\r\nContent-Type: application/json\r\n\
        Accept: */*\r\nAuthorization: Bearer sk-cb-aaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx-cb-call: 7\r\n\
        Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let body = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Paris"},"finish_reason":"stop"}],"usage":{"prompt_tokens":740,"completion_tokens":1,"total_tokens":741}}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    (Arc::new(request.into_bytes()), answer.into_bytes())
}

async fn through(upstream: SocketAddr, log: Option<&Path>) -> Tap {
    let url = format!("http://{upstream}").parse().unwrap();
    let settings = TapSettings::new(Upstream::new(url).with_credential("the-real-key"));
    let sink: Box<dyn CallSink> = match log {
        Some(path) => Box::new(LogWriter::create(path).unwrap()),
        None => Box::new(Forget),
    };
    Tap::start(settings, sink).await.unwrap()
}

/// Rates, times and cost of calls with the tap and without, each measured twice, in turns.
pub(crate) async fn relay() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.jsonl");
    for (what, milliseconds, at_once, n, log) in [
        ("1 at once", 0, 1, 20_000, None),
        ("64 at once", 0, 64, 60_000, None),
        ("64 at once, with a log", 0, 64, 60_000, Some(log.as_path())),
        ("64 at once, upstream at 50 ms", 50, 64, 12_800, None),
    ] {
        let (request, answer) = messages();
        let upstream = Upstreams::start(answer, Duration::from_millis(milliseconds)).await;
        load(upstream.address, &request, at_once * 4, at_once).await;
        let tap = through(upstream.address, log).await;
        load(tap.address(), &request, at_once * 4, at_once).await;
        let (mut direct, mut tapped) = ((0.0, f64::MAX, f64::MAX), (0.0, f64::MAX, f64::MAX));
        for _ in 0..2 {
            for (address, best) in [
                (upstream.address, &mut direct),
                (tap.address(), &mut tapped),
            ] {
                let before = processor();
                let (rate, middle) = load(address, &request, n, at_once).await;
                let cost = (processor() - before) / n as f64;
                *best = (rate.max(best.0), middle.min(best.1), cost.min(best.2));
            }
        }
        let started = Instant::now();
        let report = tap.finish().await;
        let late = started.elapsed().as_secs_f64();
        assert_eq!((report.recorded, report.not_kept), (report.calls, 0));
        line(
            &format!("relay alone, {what}: calls/s"),
            format!("{:.0}", tapped.0),
            format!("direct {:.0}", direct.0),
            &format!("{:.1} %", 100.0 * tapped.0 / direct.0),
        );
        line(
            &format!("relay alone, {what}: p50, and processor per call"),
            format!("{:.3} ms, {:.0} µs", tapped.1 * 1e3, tapped.2 * 1e6),
            format!("direct {:.3} ms, {:.0} µs", direct.1 * 1e3, direct.2 * 1e6),
            &format!(
                "+{:.3} ms, +{:.0} µs; recorder done {late:.2} s after the last call",
                (tapped.1 - direct.1) * 1e3,
                (tapped.2 - direct.2) * 1e6
            ),
        );
    }
}
