//! A tap for any client: relays to an upstream until it is interrupted and writes a log.
//!
//!     cargo run -p context-bench-tap --example tap -- http://127.0.0.1:8000 run.jsonl
//!
//! Point a client or a proxy at the address that it prints. `CONTEXT_BENCH_TAP_KEY` is the real
//! key, if the client is not to have it.

#![allow(
    clippy::print_stdout,
    reason = "a program for people, unlike the library"
)]

use std::path::PathBuf;

use context_bench_tap::record::LogWriter;
use context_bench_tap::{Tap, TapSettings, Upstream};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(upstream), Some(log)) = (arguments.next(), arguments.next()) else {
        return Err("usage: tap UPSTREAM LOG".into());
    };
    let mut upstream = Upstream::new(upstream.parse()?);
    if let Ok(key) = std::env::var("CONTEXT_BENCH_TAP_KEY") {
        upstream = upstream.with_credential(key);
    }
    let log = LogWriter::create(&PathBuf::from(log))?;
    let tap = Tap::start(TapSettings::new(upstream), Box::new(log)).await?;
    println!("http://{}", tap.address());
    tokio::signal::ctrl_c().await?;
    let report = tap.finish().await;
    println!(
        "{} calls, {} recorded, {} not kept{}",
        report.calls,
        report.recorded,
        report.not_kept,
        report
            .first_failure
            .map_or(String::new(), |reason| format!(": {reason}"))
    );
    Ok(())
}
