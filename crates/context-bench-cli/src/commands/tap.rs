//! `tap`: relays the calls of any client and keeps what passed.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_bench::chat::Endpoint;
use context_bench::mask;
use context_bench_tap::record::{CallBodies, CallLog, CallRecord, CallSink, CallTotals, LogWriter};
use context_bench_tap::{Tap, TapReport, TapSettings, Upstream};
use serde_json::{Value, json};

use super::tap_text;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::ListFormat;
use crate::signals::Interrupts;
use crate::tap_args::TapArgs;
use crate::{env, open_files, output};

/// How many connections there may be at once, both sides of each relay counted.
const CONNECTIONS: usize = 4096;

pub(crate) fn main(args: &TapArgs) -> Result<Exit, Failure> {
    if let Some(log) = &args.summary {
        return sum_up(log, args.output);
    }
    // Fewer are enough for most clients; a connection that finds no room waits.
    let _ = open_files::allow_connections(CONNECTIONS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::bad_input(format!("no runtime: {error}")))?;
    runtime.block_on(relay(args))
}

/// The totals of every arm; calls without one stand under `None`.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) all: CallTotals,
    pub(super) by_arm: BTreeMap<Option<Arc<str>>, CallTotals>,
}

impl Totals {
    fn add(&mut self, call: &CallRecord) {
        self.all.add(call);
        self.by_arm.entry(call.arm.clone()).or_default().add(call);
    }

    fn to_json(&self) -> Value {
        let arms = self.by_arm.iter();
        let arms =
            arms.filter_map(|(arm, totals)| Some((arm.as_deref()?.to_owned(), json!(totals))));
        let mut all = json!(self.all);
        all["arms"] = arms.collect::<serde_json::Map<_, _>>().into();
        all
    }
}

fn sum_up(log: &Path, format: ListFormat) -> Result<Exit, Failure> {
    let mut totals = Totals::default();
    CallLog::each_call(log, |call| totals.add(&call))?;
    show(&totals, format)?;
    Ok(Exit::Done)
}

fn show(totals: &Totals, format: ListFormat) -> Result<(), Failure> {
    match format {
        ListFormat::Json => output::json(&totals.to_json()),
        ListFormat::Table => output::stdout(&tap_text::summary(totals)),
    }
}

async fn relay(args: &TapArgs) -> Result<Exit, Failure> {
    let mut settings = TapSettings::new(upstream(args)?);
    // As long as an upstream may be silent: whoever does not want to wait interrupts again.
    settings.grace = settings.silence_timeout;
    settings.listen = args.listen.unwrap_or(settings.listen);
    let log = args.log.as_deref().map(new_log).transpose()?;
    let sink = Watcher {
        totals: Arc::default(),
        log,
        has_failed: false,
        shows: args.verbose || std::io::stderr().is_terminal(),
    };
    let totals = Arc::clone(&sink.totals);
    // Listening for signals starts before anybody can know that the tap is there.
    let mut interrupts = Interrupts::listen()
        .map_err(|error| Failure::bad_input(format!("cannot listen for Ctrl-C: {error}")))?;
    let tap = Tap::start(settings, Box::new(sink)).await?;
    greet(args, tap.address())?;
    interrupts.next().await;
    output::note("\nending after the calls in flight; press Ctrl-C again to end at once");
    let mut is_cut = false;
    let cut = async {
        interrupts.next().await;
        is_cut = true;
    };
    let report = tap.finish_before(cut).await;
    show(&locked(&totals), args.output)?;
    Ok(ended(args, &report, is_cut))
}

/// Says what the log lacks, and how the program ends.
fn ended(args: &TapArgs, report: &TapReport, is_cut: bool) -> Exit {
    let is_whole = report.not_kept == 0;
    if let Some(log) = args.log.as_deref().filter(|_| !is_whole) {
        let why = report.first_failure.as_deref().unwrap_or("unknown");
        output::warning(&format!(
            "{} of {} calls are not in the log `{}`: {why}",
            report.not_kept,
            report.calls,
            log.display()
        ));
    }
    if report.held_back > 0 {
        output::warning(&format!(
            "{} calls had to wait because they came faster than they can be recorded: their times \
             are longer than client and provider made them",
            report.held_back
        ));
    }
    match (is_cut, is_whole) {
        (true, _) => Exit::Interrupted,
        (false, false) => Exit::RowsFailed,
        (false, true) => Exit::Done,
    }
}

fn upstream(args: &TapArgs) -> Result<Upstream, Failure> {
    // The arguments demand one unless there is a summary to make.
    let typed = args.upstream.as_deref().unwrap_or_default();
    let upstream = Upstream::parse(typed)?;
    match args.api_key_env.as_deref() {
        None => Ok(upstream),
        Some(name) => Ok(upstream.with_credential(key(name)?)),
    }
}

fn key(name: &str) -> Result<String, Failure> {
    match env::get(name) {
        Some(key) => {
            output::hide([key.clone()]);
            Ok(key)
        }
        // Often it is the key itself, which must not be shown.
        None if !mask::names_variable(name) => Err(Failure::bad_input(
            "`--api-key-env` takes the name of a variable, and what it was given is none",
        )
        .hint("export the key in a variable, such as MY_KEY, and pass `--api-key-env MY_KEY`")),
        None => Err(Failure::bad_input(format!(
            "the variable `{name}` that `--api-key-env` names is not set"
        ))
        .hint("export the key in that variable before the run")),
    }
}

/// A log where none is: what an earlier tap recorded is not replaced.
fn new_log(path: &Path) -> Result<LogWriter, Failure> {
    let is_there = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0);
    if is_there {
        let what = format!("the log `{}` exists already", path.display());
        return Err(Failure::bad_input(what).hint("name another file, or remove it first"));
    }
    Ok(LogWriter::create(path)?)
}

/// Says where the tap listens and how a client is pointed at it.
fn greet(args: &TapArgs, address: SocketAddr) -> Result<(), Failure> {
    let typed = args.upstream.as_deref().unwrap_or_default();
    // Without credentials and query, which may hold keys.
    let upstream = Endpoint::parse(typed).map(|endpoint| endpoint.authority());
    let upstream = upstream.unwrap_or_else(|_| "the upstream".to_owned());
    if !address.ip().is_loopback() {
        let whose = match args.api_key_env {
            Some(_) => ", and whoever reaches it asks with your key",
            None => "",
        };
        output::warning(&format!(
            "{address} can be reached from other machines{whose}"
        ));
    }
    let log = args.log.as_ref().map(|log| log.display().to_string());
    output::stdout(&tap_text::greeting(
        address,
        &upstream,
        &args.arm,
        log.as_deref(),
    ))
}

/// Counts and shows calls as they end, and writes them to the log.
struct Watcher {
    totals: Arc<Mutex<Totals>>,
    log: Option<LogWriter>,
    has_failed: bool,
    shows: bool,
}

impl CallSink for Watcher {
    fn call(&mut self, call: Box<CallRecord>, bodies: CallBodies) -> std::io::Result<()> {
        let id = call.id;
        locked(&self.totals).add(&call);
        if self.shows {
            output::note(&tap_text::line(&call));
        }
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let written = log.call(call, bodies);
        if let Err(error) = &written
            && !std::mem::replace(&mut self.has_failed, true)
        {
            output::warning(&format!(
                "call {id} cannot be written to the log: {error}; calls are relayed all the same"
            ));
        }
        written
    }
}

fn locked(totals: &Mutex<Totals>) -> MutexGuard<'_, Totals> {
    totals.lock().unwrap_or_else(PoisonError::into_inner)
}
