//! Measures what memories recall of LoCoMo or LongMemEval: recall@k, MRR and nDCG with 95 %
//! intervals that rest on conversations, per kind of question, and the time of each stage.
//!
//!     cargo run -p context-bench-memory --example locomo -- PATH [MODEL_FOLDER] [MEMORY...]
//!
//! MODEL_FOLDER has a static model or a transformer (`-` for none); without it `embedding` and
//! `hybrid` compare how words are spelled, and know no meanings. A MEMORY is written as
//! `bm25:top_k=5`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use context_bench_error::Hint;
use context_bench_memory::embedding::{self, Embed, HashedNgrams};
use context_bench_memory::measure::{ByKind, KindFigures, Retrieval};
use context_bench_memory::{MemoryDataset, MemoryKind, MemorySettings, Query, Tools};
use context_bench_scoring::model::Measurement;

const K: usize = 10;

type Failure = (String, Option<String>);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err((message, hint)) => {
            eprintln!("error: {message}");
            if let Some(hint) = hint {
                eprintln!("hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

// By value, for `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn failure<E: std::fmt::Display + Hint>(error: E) -> Failure {
    (error.to_string(), error.hint())
}

fn run() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        let usage = "give the path of locomo10.json or of a file of LongMemEval";
        return Err((usage.into(), None));
    };
    let folder = arguments.next().filter(|folder| folder != "-");
    let mut settings: Vec<MemorySettings> = Vec::new();
    for memory in arguments {
        settings.push(memory.parse().map_err(failure)?);
    }
    if settings.is_empty() {
        settings.extend(MemoryKind::ALL.map(MemorySettings::new));
    }

    let start = Instant::now();
    let dataset = MemoryDataset::read(&path).map_err(failure)?;
    let read = start.elapsed();
    let start = Instant::now();
    let embedder: Arc<dyn Embed> = match folder {
        Some(folder) => embedding::load(folder).map_err(failure)?,
        None => Arc::new(HashedNgrams),
    };
    let opened = start.elapsed();
    let turns: usize = dataset
        .examples
        .iter()
        .map(|one| one.conversation.n_turns())
        .sum();
    println!(
        "{}: {} conversations, {turns} turns, {} questions, {} left out; digest {}",
        dataset.benchmark.name(),
        dataset.examples.len(),
        dataset.questions().count(),
        dataset.skipped.len(),
        dataset.digest(),
    );
    println!(
        "vectors: {}; tokens: words between white space",
        embedder.name()
    );
    println!("read in {read:.0?}, model opened in {opened:.0?}\n");
    let tools = Tools {
        embedder: Some(embedder),
        ..Tools::default()
    };

    println!(
        "| memory | kind | n | recall@{K} | MRR | nDCG@{K} | recall of all | tokens |\n\
         |---|---|---|---|---|---|---|---|"
    );
    let mut times = Vec::new();
    for settings in settings {
        let (by_kind, spent) = measured(&dataset, &settings, &tools)?;
        for kind in by_kind.kinds() {
            print_row(&settings, kind, &by_kind.of(kind));
        }
        print_row(&settings, "all", &by_kind.all());
        times.push((settings, spent));
    }
    println!("\n| memory | ingest | per turn | recall | per question | save | load | state |");
    println!("|---|---|---|---|---|---|---|---|");
    let questions = dataset.questions().count();
    for (settings, spent) in times {
        println!(
            "| {settings} | {:.1?} | {:.1?} | {:.1?} | {:.1?} | {:.1?} | {:.1?} | {} KB |",
            spent.ingest,
            spent.ingest / u32::try_from(turns.max(1)).unwrap_or(u32::MAX),
            spent.recall,
            spent.recall / u32::try_from(questions.max(1)).unwrap_or(u32::MAX),
            spent.save,
            spent.load,
            spent.state / 1024,
        );
    }
    Ok(())
}

#[derive(Default)]
struct Spent {
    ingest: Duration,
    recall: Duration,
    save: Duration,
    load: Duration,
    state: usize,
}

fn measured(
    dataset: &MemoryDataset,
    settings: &MemorySettings,
    tools: &Tools,
) -> Result<(ByKind, Spent), Failure> {
    let mut memory = settings.build(tools).map_err(failure)?;
    let (mut by_kind, mut spent) = (ByKind::default(), Spent::default());
    for (at, example) in (0_u32..).zip(&dataset.examples) {
        let turns: Vec<_> = example.conversation.turns().cloned().collect();
        memory.reset();
        let start = Instant::now();
        memory.ingest(&turns).map_err(failure)?;
        spent.ingest += start.elapsed();
        let start = Instant::now();
        let state = memory.save();
        spent.save += start.elapsed();
        spent.state += state.len();
        let start = Instant::now();
        memory.load(&state).map_err(failure)?;
        spent.load += start.elapsed();
        for asked in &example.questions {
            let start = Instant::now();
            let recalled = memory.recall(&Query::from(asked)).map_err(failure)?;
            spent.recall += start.elapsed();
            let served = Retrieval::of(&recalled, &asked.evidence, K);
            by_kind.add(&asked.kind, at, served);
        }
    }
    Ok((by_kind, spent))
}

fn print_row(settings: &MemorySettings, kind: &str, figures: &KindFigures) {
    let with_interval = |figure: &Measurement| match (figure.value, figure.interval) {
        (Some(value), Some(interval)) => {
            format!("{value:.3} [{:.3}, {:.3}]", interval.low, interval.high)
        }
        (Some(value), None) => format!("{value:.3}"),
        _ => "—".into(),
    };
    let tokens = figures.tokens.value.unwrap_or(0.0);
    println!(
        "| {settings} | {kind} | {} | {} | {} | {} | {} | {tokens:.0} |",
        figures.n,
        with_interval(&figures.recall_at_k),
        with_interval(&figures.mrr),
        with_interval(&figures.ndcg_at_k),
        with_interval(&figures.recall),
    );
}
