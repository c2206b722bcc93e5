//! What a proxy did to one request: compares the body that a client sent with every call of an
//! arm to the same path, in a log of the example `tap`.
//!
//!     cargo run -p context-bench-tap --example changes -- run.jsonl kompact /v1/messages body.json

#![allow(
    clippy::print_stdout,
    reason = "a program for people, unlike the library"
)]

use std::path::PathBuf;

use context_bench_tap::figures::{DeclaredChanges, engagement, request_changes};
use context_bench_tap::record::{CallLog, Purpose};
use context_bench_tap::wire::Route;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, arm, path, body] = arguments.as_slice() else {
        return Err("usage: changes LOG ARM PATH BODY".into());
    };
    let log = CallLog::read(&PathBuf::from(log))?;
    let client = std::fs::read(body)?;
    let declared = DeclaredChanges::default();
    for call in &log.calls {
        let is_meant = call.arm.as_deref() == Some(arm.as_str())
            && call.request.path == *path
            && call.purpose == Purpose::Generation;
        if !is_meant {
            continue;
        }
        let Some(sent) = log.body(&call.request.body) else {
            println!("call {}: its body is not in the log", call.id);
            continue;
        };
        let route = Route::of(&call.request.method, &call.request.path);
        let how = engagement(&route, &client, sent, &declared);
        println!(
            "call {}: {how:?}, {} bytes became {}",
            call.id,
            client.len(),
            sent.len()
        );
        for change in request_changes(&route, &client, sent, &declared) {
            println!("  {} {}", change.defect.code(), change.what);
        }
    }
    Ok(())
}
