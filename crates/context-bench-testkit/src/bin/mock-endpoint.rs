//! `mock-endpoint`: the test server as a program, for demos, measurements and
//! tests that need a process of its own.
//!
//! Arguments are read by hand to keep the kit small. It prints one line with
//! its address and then only serves; it writes no files.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program whose address line is its interface"
)]

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use context_bench_testkit::{ChatServer, Fault, Reply, Request, handlers};

const USAGE: &str = "\
usage: mock-endpoint [options]
  --port N            port on 127.0.0.1 (0: a free one)          [0]
  --reply TEXT        the text of every answer                   [Paris]
  --latency-ms N      wait before every answer                   [0]
  --noop              preassembled answers, for throughput
  --workers N         threads that serve                         [1]
  --models LIST       the names that GET /v1/models lists        [none]
  --require-key KEY   401 without this key
  --fault-share X     share of requests that fail, 0 to 1        [0]
  --fault-kinds LIST  400,401,429,429:SECONDS,500..599,reset,close,
                      truncated,hang,invalid-json,empty-choices  [429,500,reset,truncated]
  --seed N            which requests fail                        [1]
  --stdin-close       end when stdin closes";

struct Options {
    port: u16,
    reply: String,
    latency: Duration,
    noop: bool,
    workers: usize,
    models: Vec<String>,
    key: Option<String>,
    fault_share: f64,
    fault_kinds: Vec<Fault>,
    seed: u64,
    stdin_close: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match parse(arguments) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("mock-endpoint: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let stdin_close = options.stdin_close;
    let server = start(options);
    println!("listening on {}", server.url());
    // Whoever does not read the address has no use for it.
    let _ = std::io::stdout().flush();
    if stdin_close {
        // An unreadable stdin is a closed one.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        return ExitCode::SUCCESS;
    }
    loop {
        std::thread::park();
    }
}

fn start(options: Options) -> ChatServer {
    let builder = ChatServer::builder()
        .port(options.port)
        .workers(options.workers)
        .latency(options.latency)
        .models(options.models)
        .counts_only();
    if options.noop {
        return builder.start_fixed(&Reply::text(options.reply));
    }
    let mut handler: Box<dyn Fn(&Request) -> Reply + Send + Sync> =
        Box::new(handlers::constant(options.reply));
    if options.fault_share > 0.0 {
        let (seed, share) = (options.seed, options.fault_share);
        handler = Box::new(handlers::flaky(seed, share, options.fault_kinds, handler));
    }
    if let Some(key) = options.key {
        handler = Box::new(handlers::require_key(key, handler));
    }
    builder.start(handler)
}

fn parse(arguments: Vec<String>) -> Result<Options, String> {
    let mut options = Options {
        port: 0,
        reply: "Paris".to_owned(),
        latency: Duration::ZERO,
        noop: false,
        workers: 1,
        models: Vec::new(),
        key: None,
        fault_share: 0.0,
        fault_kinds: kinds("429,500,reset,truncated")?,
        seed: 1,
        stdin_close: false,
    };
    let mut rest = arguments.into_iter();
    while let Some(name) = rest.next() {
        match name.as_str() {
            "--noop" => options.noop = true,
            "--stdin-close" => options.stdin_close = true,
            _ => {
                let value = rest
                    .next()
                    .ok_or_else(|| format!("{name} is unknown or needs a value"))?;
                set(&mut options, &name, value)?;
            }
        }
    }
    if !(0.0..=1.0).contains(&options.fault_share) {
        return Err("--fault-share must be within 0 and 1".to_owned());
    }
    if options.noop && (options.key.is_some() || options.fault_share > 0.0) {
        return Err("--noop excludes --require-key and --fault-share".to_owned());
    }
    Ok(options)
}

fn set(options: &mut Options, name: &str, value: String) -> Result<(), String> {
    match name {
        "--port" => options.port = number(name, &value)?,
        "--reply" => options.reply = value,
        "--latency-ms" => options.latency = Duration::from_millis(number(name, &value)?),
        "--workers" => options.workers = number(name, &value)?,
        "--models" => options.models = value.split(',').map(str::to_owned).collect(),
        "--require-key" => options.key = Some(value),
        "--fault-share" => options.fault_share = number(name, &value)?,
        "--fault-kinds" => options.fault_kinds = kinds(&value)?,
        "--seed" => options.seed = number(name, &value)?,
        _ => return Err(format!("unknown option {name}")),
    }
    Ok(())
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{name} needs a number, not '{value}'"))
}

fn kinds(list: &str) -> Result<Vec<Fault>, String> {
    list.split(',').map(|name| name.trim().parse()).collect()
}
