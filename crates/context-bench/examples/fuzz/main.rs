//! `make fuzz SECONDS=120`: mutated texts through every pure evaluator.
//!
//! Each input is a function of the seed and its number, so that a failure can be reproduced
//! whatever it did to the process. A child process does the work: when it dies (a stack overflow
//! cannot be caught), the parent reads from a file which inputs it was working on. A failing
//! input is written to a file, and the exit code is 1.
//!
//! ```text
//! cargo run --example fuzz -- --seconds 120 [--seed 1] [--only math] [--threads 2]
//! cargo run --example fuzz -- --again 12345 --seed 1      # one input again
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::exit,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a program for developers, not part of the product"
)]

mod corpus;
mod mutate;
mod targets;

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use corpus::Corpus;
use mutate::Chance;
use targets::{TARGETS, Target};

/// The time limit of one input: a second, and more without optimization.
const SLOW: Duration = Duration::from_secs(if cfg!(debug_assertions) { 3 } else { 1 });
/// After this time an input counts as hanging, and the process is ended.
const HANGS: Duration = Duration::from_secs(30);

struct Args {
    seconds: u64,
    seed: u64,
    threads: usize,
    only: Option<String>,
    out: PathBuf,
    again: Option<u64>,
    worker: bool,
}

fn args() -> Result<Args, String> {
    let mut args = Args {
        seconds: 60,
        seed: 1,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        only: None,
        out: PathBuf::from("target/fuzz"),
        again: None,
        worker: false,
    };
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        if flag == "--worker" {
            args.worker = true;
            continue;
        }
        let value = given.next().ok_or(format!("`{flag}` needs a value"))?;
        let number = || {
            value
                .parse()
                .map_err(|_| format!("`{flag} {value}` is no number"))
        };
        match flag.as_str() {
            "--seconds" => args.seconds = number()?,
            "--seed" => args.seed = number()?,
            "--threads" => args.threads = number()?.max(1) as usize,
            "--again" => args.again = Some(number()?),
            "--out" => args.out = value.into(),
            "--only" => args.only = Some(value),
            _ => return Err(format!("unknown flag `{flag}`")),
        }
    }
    Ok(args)
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let targets: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| {
            args.only
                .as_ref()
                .is_none_or(|only| target.name.contains(only))
        })
        .collect();
    if targets.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("error: no such target; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    fs::create_dir_all(&args.out).expect("the folder for failures can be made");
    if let Some(number) = args.again {
        return again(&args, &targets, number);
    }
    if args.worker {
        return work(&args, &targets);
    }
    supervise(&args, &targets)
}

/// Runs the worker and explains its death.
fn supervise(args: &Args, targets: &[&Target]) -> ExitCode {
    let state = args.out.join("state");
    fs::write(&state, vec![0_u8; args.threads * 8]).expect("the state can be written");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(std::env::args().skip(1))
        .arg("--worker")
        .status()
        .expect("the worker starts");
    match status.code() {
        Some(0) => ExitCode::SUCCESS,
        Some(1) => ExitCode::FAILURE,
        _ => {
            eprintln!("the worker died: {status}; it was working on");
            let corpus = Corpus::load();
            for number in fs::read(&state).unwrap().chunks_exact(8) {
                let number = u64::from_le_bytes(number.try_into().unwrap());
                let target = targets[pick(targets, args.seed, number)];
                let input = corpus.input(args.seed, number);
                keep(
                    &args.out,
                    args.seed,
                    target,
                    number,
                    &input,
                    "the process died",
                );
            }
            ExitCode::FAILURE
        }
    }
}

/// The target of an input. They do not simply alternate, or each thread would only see some of
/// them.
fn pick(targets: &[&Target], seed: u64, number: u64) -> usize {
    Chance::new(!seed, number).below(targets.len())
}

/// The statistics of one target.
#[derive(Default)]
struct Tally {
    inputs: AtomicU64,
    nanos: AtomicU64,
    slowest: Mutex<(Duration, u64)>,
}

fn work(args: &Args, targets: &[&Target]) -> ExitCode {
    let corpus = Corpus::load();
    println!(
        "{} seed texts, {} targets, {} threads, {} s, seed {}",
        corpus.len(),
        targets.len(),
        args.threads,
        args.seconds,
        args.seed
    );
    let open_state = || {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(args.out.join("state"));
        file.expect("the state is there")
    };
    let tallies: Vec<Tally> = targets.iter().map(|_| Tally::default()).collect();
    let failures = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let started = Instant::now();
    let until = started + Duration::from_secs(args.seconds);
    // Per thread: the input and when it began, in milliseconds from the start.
    let current: Vec<(AtomicU64, AtomicU64)> =
        (0..args.threads).map(|_| Default::default()).collect();
    // Panics are reported with their input, which the default message lacks.
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        scope.spawn(|| watch(args, targets, &corpus, &current, started, &done));
        let mut workers = Vec::new();
        for (thread, (number_now, began_now)) in current.iter().enumerate() {
            let (corpus, tallies, failures) = (&corpus, &tallies, &failures);
            let mut state = open_state();
            // The stack size of a runtime's worker, not of the main thread.
            let builder = std::thread::Builder::new().stack_size(2 << 20);
            let worker = builder.spawn_scoped(scope, move || {
                let mut number = thread as u64;
                while Instant::now() < until && failures.load(Relaxed) < 20 {
                    number_now.store(number, Relaxed);
                    began_now.store(started.elapsed().as_millis() as u64, Relaxed);
                    let _ = state.seek(SeekFrom::Start(thread as u64 * 8));
                    let _ = state.write_all(&number.to_le_bytes());
                    let index = pick(targets, args.seed, number);
                    let (target, tally) = (targets[index], &tallies[index]);
                    let input = corpus.input(args.seed, number);
                    let (took, problem) = check(target, &input, number.is_multiple_of(16));
                    tally.inputs.fetch_add(1, Relaxed);
                    tally.nanos.fetch_add(took.as_nanos() as u64, Relaxed);
                    let mut slowest = tally.slowest.lock().unwrap();
                    if took > slowest.0 {
                        *slowest = (took, number);
                    }
                    drop(slowest);
                    if let Some(problem) = problem {
                        failures.fetch_add(1, Relaxed);
                        keep(&args.out, args.seed, target, number, &input, &problem);
                    }
                    number += args.threads as u64;
                }
            });
            workers.push(worker.expect("a thread starts"));
        }
        for worker in workers {
            worker.join().expect("the harness itself does not panic");
        }
        done.store(true, Relaxed);
    });
    report(args, targets, &tallies, &corpus);
    let failures = failures.load(Relaxed);
    if failures > 0 {
        println!("{failures} failures");
        return ExitCode::FAILURE;
    }
    println!("no failures");
    ExitCode::SUCCESS
}

/// Ends the process when an input hangs.
fn watch(
    args: &Args,
    targets: &[&Target],
    corpus: &Corpus,
    current: &[(AtomicU64, AtomicU64)],
    started: Instant,
    done: &AtomicBool,
) {
    while !done.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(200));
        for (number, began) in current {
            let began = Duration::from_millis(began.load(Relaxed));
            if !done.load(Relaxed) && started.elapsed().saturating_sub(began) > HANGS {
                let number = number.load(Relaxed);
                let input = corpus.input(args.seed, number);
                let target = targets[pick(targets, args.seed, number)];
                keep(&args.out, args.seed, target, number, &input, "hangs");
                std::process::exit(1);
            }
        }
    }
}

/// Runs one input; with `twice`, the result must be the same again.
fn check(target: &Target, input: &(String, String), twice: bool) -> (Duration, Option<String>) {
    let (a, b) = (input.0.as_str(), input.1.as_str());
    let run = || catch_unwind(AssertUnwindSafe(|| (target.run)(a, b)));
    let timed = || {
        let began = Instant::now();
        let outcome = run();
        (began.elapsed(), outcome)
    };
    let (mut took, first) = timed();
    // Measured again, because the machine may have been busy.
    for _ in 0..2 {
        if took > SLOW && first.is_ok() {
            took = took.min(timed().0);
        }
    }
    let problem = match first {
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or(panic.downcast_ref::<&str>().map(ToString::to_string));
            Some(format!("panicked: {}", message.unwrap_or_default()))
        }
        Ok(Err(broken)) => Some(broken),
        Ok(Ok(_)) if took > SLOW => Some(format!("took {took:?}")),
        Ok(Ok(outcome)) if twice => match run() {
            Ok(Ok(again)) if again == outcome => None,
            other => Some(format!("first {outcome}, then {other:?}")),
        },
        Ok(Ok(_)) => None,
    };
    (took, problem)
}

/// Writes a failing input to a file.
fn keep(out: &Path, seed: u64, target: &Target, number: u64, input: &(String, String), why: &str) {
    let path = out.join(format!("{}-{seed}-{number}.txt", target.name));
    let text = format!("{why}\n=== first\n{}\n=== second\n{}\n", input.0, input.1);
    fs::write(&path, text).expect("the failure can be written");
    println!(
        "FAILED {}: {why}\n  input in {}",
        target.name,
        path.display()
    );
}

fn report(args: &Args, targets: &[&Target], tallies: &[Tally], corpus: &Corpus) {
    println!("| Target | inputs | inputs/s per core | mean | slowest | of so many bytes |");
    println!("|---|---|---|---|---|---|");
    for (target, tally) in targets.iter().zip(tallies) {
        let n = tally.inputs.load(Relaxed).max(1);
        let seconds = tally.nanos.load(Relaxed) as f64 / 1e9;
        let (slowest, number) = *tally.slowest.lock().unwrap();
        let input = corpus.input(args.seed, number);
        println!(
            "| {} | {n} | {:.0} | {:.1} µs | {:.1} ms (number {number}) | {} |",
            target.name,
            n as f64 / seconds.max(1e-9),
            seconds * 1e6 / n as f64,
            slowest.as_secs_f64() * 1e3,
            input.0.len() + input.1.len(),
        );
    }
}

fn again(args: &Args, targets: &[&Target], number: u64) -> ExitCode {
    let target = targets[pick(targets, args.seed, number)];
    let input = Corpus::load().input(args.seed, number);
    println!("{}: {:?}\n{:?}", target.name, input.0, input.1);
    let began = Instant::now();
    let outcome = (target.run)(&input.0, &input.1);
    println!("{outcome:?} in {:?}", began.elapsed());
    if outcome.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
