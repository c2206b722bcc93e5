//! Scoring: from what a system gave to a finished row.
//!
//! Runs on its own runtime, one thread per core: evaluators may burn CPU or wait
//! for a judge, and neither may delay a call that is being timed.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::attempt::Attempt;
use super::prepared::{Counted, Prepared};
use super::reuse::{AnswerToStore, Reuse, ReusedAnswer, RowToStore};
use super::stop::Stop;
use super::timed::timed;
use super::unanswered_rows::StoredFailure;
use super::wiring::Wiring;
use crate::error::panic_message;
use crate::evaluator::Evaluator;
use crate::memory::{self, row::MemoryTokens};
use crate::model::Answer as Answered;
use crate::model::{
    CallStats, EvalRow, Failure, FailureKind, JudgeUsage, Output, Reply, RowText, Score, Scores,
    TokenUse, WireFacts,
};
use crate::stopwatch::Stopwatch;
use crate::tokens::{KnownPart, TextFields, TokenCounter};

/// Everything needed to score any row of a run.
pub(super) struct RowScoring {
    pub(super) wiring: Arc<Wiring>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) text_fields: TextFields,
    pub(super) counts_all: bool,
    pub(super) reuse: Option<Arc<Reuse>>,
    pub(super) stop: Stop,
}

impl RowScoring {
    /// The row of a finished call, of a stored answer, or of an example that
    /// cannot be used. What is new is put into the store.
    pub(super) async fn row(
        &self,
        system: usize,
        name: Arc<str>,
        prepared: &Prepared,
        source: Source,
    ) -> Row {
        let mut row = self.blank_row(name, prepared);
        let mut source = source;
        if let Source::Call(called) = &mut source
            && let Some(probe) = called.probe.take()
        {
            // What a tap saw is no part of the answer: whoever scores it now or later must see
            // the same.
            let counted = prepared.longest_counted(&self.text_fields, &*self.counter);
            let counter = KnownPart::new(&*self.counter, counted);
            row.wire = probe.facts(&counter).await.map(Box::new);
        }
        let mut fresh = Vec::new();
        let mut judged = JudgeUsage::default();
        let mut counts_tokens = false;
        let (output, known) = match &source {
            Source::Call(called) => {
                row.latency = called.latency.as_secs_f64();
                match &called.result {
                    Ok(output) => {
                        row.call = output.call().filter(CallStats::made_requests).map(Box::new);
                        (Some(output), &[][..])
                    }
                    Err(error) => {
                        // The store has no place for it, and no figure needs it.
                        let call = error.call.as_deref().map(|call| CallStats {
                            connect: Duration::ZERO,
                            ..*call
                        });
                        row.call = call.filter(CallStats::made_requests).map(Box::new);
                        row.failure = Some(Box::new(error.failure.clone()));
                        (None, &[][..])
                    }
                }
            }
            Source::Store(stored) => {
                stored.fill(&mut row);
                if row.wire.is_none() {
                    row.wire = self.counted_here(stored.wire.as_deref());
                }
                (stored.output.as_ref(), &stored.scores[..])
            }
            Source::StoredFailure(stored) => {
                row.latency = stored.latency;
                row.call = stored.call.filter(CallStats::made_requests).map(Box::new);
                row.failure = Some(Box::new(stored.failure.clone()));
                row.wire = self.counted_here(stored.wire.as_deref());
                // Nothing was sent for it this time.
                row.cached = !stored.is_fresh;
                (None, &[][..])
            }
            Source::Unread(failure) => {
                row.failure = Some(Box::new((**failure).clone()));
                (None, &[][..])
            }
            Source::Unusable => {
                row.failure = Some(Box::new(unusable(prepared)));
                (None, &[][..])
            }
        };
        if let Some(output) = output {
            let mut reply = Reply::of(output);
            let answer = without_reasoning(output);
            // Scores from when reasoning was scored with the answer are no longer right.
            let known = match (&answer, row.reply.is_some()) {
                (Cow::Owned(_), false) => &[],
                _ => known,
            };
            let scored = self.score(prepared, &answer, known).await;
            row.scores = scored.scores;
            row.not_applicable = scored.not_applicable;
            fresh = scored.fresh;
            judged = scored.judged;
            let memory = MemoryTokens::of(output);
            let is_counted = self.counts_all || !reply.tokens.reported || memory.is_some();
            let counted = match is_counted {
                true => prepared
                    .tokens(output, &self.text_fields, &*self.counter)
                    .map(Some),
                false => Ok(None),
            };
            match counted {
                Ok(None) => row.reply = Some(Box::new(reply)),
                Ok(Some(counted)) => {
                    (row.input_tokens, row.output_tokens) = (counted.input, counted.output);
                    take_tokens(&mut reply.tokens, &counted, row.call.is_some());
                    if let Some(memory) = memory {
                        take_memory_tokens(&mut row, &mut reply.tokens, &counted, memory);
                    }
                    row.reply = Some(Box::new(reply));
                    counts_tokens = true;
                }
                Err(problem) => {
                    let what = format!("tokens cannot be counted: {problem}");
                    row.failure = Some(Box::new(Failure::new(FailureKind::Other, what)));
                    row.scores = Scores::new();
                    row.not_applicable = 0;
                }
            }
        }
        if row.added.is_none() {
            memory::row::describe(&mut row, &prepared.example, output);
        }
        row.text = self.text(prepared, output);
        if let Some(reuse) = &self.reuse {
            let answer = match &source {
                Source::Call(called) => AnswerToStore::of(Some(called)),
                Source::Store(stored) => AnswerToStore::Stored(stored.at),
                Source::StoredFailure(_) | Source::Unread(_) | Source::Unusable => {
                    AnswerToStore::None
                }
            };
            let kept = RowToStore {
                row: &row,
                answer,
                scores: fresh,
                counts_tokens,
            };
            reuse.keep(system, prepared, kept).await;
        }
        let answer = match source {
            _ if !self.wiring.holds_answers(&prepared.dataset) => None,
            Source::Call(called) => called.result.ok(),
            Source::Store(stored) => stored.output,
            Source::StoredFailure(_) | Source::Unusable | Source::Unread(_) => None,
        };
        Row {
            answer: answer.as_ref().map(|output| held(prepared, output)),
            row,
            judged,
        }
    }

    /// What a tap saw of a stored call, without tokens that another tokenizer counted.
    fn counted_here(&self, facts: Option<&WireFacts>) -> Option<Box<WireFacts>> {
        let facts = facts.cloned()?;
        Some(Box::new(facts.counted_by(self.counter.name())))
    }

    /// The row of an answer for which the store holds everything.
    pub(super) async fn stored_row(
        &self,
        system: usize,
        name: Arc<str>,
        prepared: &Prepared,
        stored: &ReusedAnswer,
    ) -> Row {
        let mut row = EvalRow::new(name, prepared.id.clone(), Scores::new(), 0, 0);
        row.dataset = Arc::clone(&prepared.dataset);
        row.document = prepared.document;
        stored.fill(&mut row);
        row.text = self.text(prepared, stored.output.as_ref());
        for (index, _) in self.wiring.evaluators.iter().enumerate() {
            if !self.wiring.is_wired(index, &prepared.dataset) {
                continue;
            }
            let known = stored.scores.get(index).and_then(Option::as_ref);
            if !self.wiring.applies(index, &prepared.example) || known.is_some_and(is_inapplicable)
            {
                row.not_applicable += 1;
            } else if let Some(scores) = known {
                row.scores.merge(scores.clone());
            }
        }
        self.wiring.complete(&prepared.dataset, &mut row.scores);
        row.scores.shrink();
        if let Some(reuse) = &self.reuse {
            let kept = RowToStore {
                row: &row,
                answer: AnswerToStore::Stored(stored.at),
                scores: Vec::new(),
                counts_tokens: false,
            };
            reuse.keep(system, prepared, kept).await;
        }
        let answer = match self.wiring.holds_answers(&prepared.dataset) {
            true => stored.output.clone(),
            false => None,
        };
        Row {
            row,
            judged: JudgeUsage::default(),
            answer: answer.as_ref().map(|output| held(prepared, output)),
        }
    }

    fn text(&self, prepared: &Prepared, output: Option<&Output>) -> Option<Box<RowText>> {
        let kept = self.wiring.keeps_text();
        kept.then(|| Box::new(self.wiring.row_text(&prepared.example, output)))
    }

    fn blank_row(&self, name: Arc<str>, prepared: &Prepared) -> EvalRow {
        // A row with an output says why there is no count.
        let tokens = match self.counts_all {
            true => prepared.input_tokens(&self.text_fields, &*self.counter),
            false => Ok(0),
        };
        let tokens = tokens.unwrap_or_default();
        let mut row = EvalRow::new(name, prepared.id.clone(), Scores::new(), tokens, 0);
        row.dataset = Arc::clone(&prepared.dataset);
        row.document = prepared.document;
        row
    }

    /// Asks every evaluator whose scores are not known yet.
    async fn score(
        &self,
        prepared: &Prepared,
        output: &Output,
        known: &[Option<Scores>],
    ) -> Scored {
        let mut scored = Scored::default();
        for (index, evaluator) in self.wiring.evaluators.iter().enumerate() {
            // Evaluators of other datasets say nothing about this one.
            if !self.wiring.is_wired(index, &prepared.dataset) {
                continue;
            }
            let is_known = known.get(index).is_some_and(Option::is_some);
            if !self.wiring.applies(index, &prepared.example)
                || !evaluator.applies_to_output(output)
            {
                scored.not_applicable += 1;
                if self.reuse.is_some() && !is_known {
                    scored.fresh.push((index, inapplicable(&**evaluator)));
                }
                continue;
            }
            if let Some(Some(scores)) = known.get(index) {
                scored.scores.merge(scores.clone());
                continue;
            }
            if let Some(reason) = self.wiring.given_up(index) {
                scored.scores.merge(unscored(&**evaluator, reason));
                continue;
            }
            let scoring = evaluator.score_and_usage(&prepared.example, output);
            let scoring = AssertUnwindSafe(scoring).catch_unwind();
            let watch = Stopwatch::default();
            let scores = match timed(&watch, scoring, None, &self.stop).await {
                Ok(Ok((given, usage))) => {
                    scored.judged += usage;
                    match given {
                        Ok(given) => checked(&**evaluator, given),
                        Err(error) => unscored(&**evaluator, &error.0),
                    }
                }
                Ok(Err(panic)) => {
                    let reason = format!("panicked: {}", panic_message(&*panic));
                    unscored(&**evaluator, &reason)
                }
                Err(_) => {
                    let sent = watch.stats().attempts;
                    scored.judged += JudgeUsage {
                        requests: u64::from(sent),
                        ..JudgeUsage::default()
                    };
                    unscored(&**evaluator, "the run was stopped while it waited to ask")
                }
            };
            // Only whole scores are kept: what failed is tried again next time.
            if self.reuse.is_some() && scores.unscored().next().is_none() {
                scored.fresh.push((index, scores.clone()));
            }
            scored.scores.merge(scores);
        }
        self.wiring.complete(&prepared.dataset, &mut scored.scores);
        scored.scores.shrink();
        scored
    }
}

/// A finished row.
pub(super) struct Row {
    pub(super) row: EvalRow,
    /// What judging it cost.
    pub(super) judged: JudgeUsage,
    /// What was asked and answered, if benchmarks need it at the end.
    pub(super) answer: Option<Box<Answered>>,
}

fn held(prepared: &Prepared, output: &Output) -> Box<Answered> {
    Box::new(Answered {
        example: Arc::clone(&prepared.example),
        output: without_reasoning(output).into_owned(),
    })
}

/// The output as evaluators see it: what a model thought aloud is not part of its answer.
pub(crate) fn without_reasoning(output: &Output) -> Cow<'_, Output> {
    match output.thought() {
        Some((_, answer)) => {
            let answer = answer.to_owned();
            Cow::Owned(output.clone().with("response", answer))
        }
        None => Cow::Borrowed(output),
    }
}

/// Completes the reported token counts with what is counted here. If an endpoint reports
/// nothing, it is not known what went to its model.
fn take_tokens(tokens: &mut TokenUse, counted: &Counted, made_requests: bool) {
    tokens.given = Some(counted.given);
    if !tokens.reported && !made_requests {
        tokens.prompt = Some(counted.handed_on);
        tokens.completion = Some(counted.response);
    }
}

/// A memory is given a whole history and hands on what it recalls.
fn take_memory_tokens(
    row: &mut EvalRow,
    tokens: &mut TokenUse,
    counted: &Counted,
    memory: MemoryTokens,
) {
    let context = memory.context.unwrap_or(memory.history);
    let question = counted.given.saturating_sub(counted.context);
    (row.input_tokens, row.output_tokens) = (context, counted.response);
    tokens.given = Some(memory.history + question);
    if !tokens.reported && row.call.is_none() {
        tokens.prompt = Some(context + question);
    }
}

/// Where the answer of a row comes from.
pub(super) enum Source {
    /// A call that was just made.
    Call(Attempt),
    /// The store, with something left to score.
    Store(ReusedAnswer),
    /// Nowhere: the call failed in the run that is rescored.
    StoredFailure(Arc<StoredFailure>),
    /// Nowhere: the store that may hold the answer cannot be read.
    Unread(Arc<Failure>),
    /// Nowhere: the example cannot be used.
    Unusable,
}

/// What the evaluators said about one output.
#[derive(Default)]
struct Scored {
    scores: Scores,
    not_applicable: u16,
    judged: JudgeUsage,
    /// What is worth keeping, by the number of the evaluator.
    fresh: Vec<(usize, Scores)>,
}

fn unusable(prepared: &Prepared) -> Failure {
    let problem = prepared.problem.as_ref().map(ToString::to_string);
    Failure::new(FailureKind::BadExample, problem.unwrap_or_default())
}

/// Declared scores that did not come, or came as NaN, are unscored, not numbers.
fn checked(evaluator: &dyn Evaluator, mut scores: Scores) -> Scores {
    let not_numbers: Vec<_> = scores
        .iter()
        .filter(|(_, score)| score.get().is_some_and(f64::is_nan))
        .map(|(name, _)| name.clone())
        .collect();
    for name in not_numbers {
        let reason = format!("{} gave a value that is not a number", evaluator.name());
        scores.set(name, Score::unscored(reason));
    }
    for name in evaluator.score_names() {
        if scores.get(name.as_str()).is_none() {
            let reason = format!("{} gave no value", evaluator.name());
            scores.set(name.clone(), Score::unscored(reason));
        }
    }
    scores
}

/// All scores of an evaluator that failed. If the names of its scores are not known in
/// advance, a mark under its own name makes the row count as unscored.
pub(crate) fn unscored(evaluator: &dyn Evaluator, reason: &str) -> Scores {
    let score = Score::unscored(format!("{}: {reason}", evaluator.name()));
    let names = evaluator.score_names();
    if names.is_empty() {
        return [(evaluator.name(), score)].into_iter().collect();
    }
    names
        .iter()
        .map(|name| (name.clone(), score.clone()))
        .collect()
}

/// What is stored in place of the scores of an evaluator that does not apply: whoever
/// reads the store cannot ask the evaluator.
fn inapplicable(evaluator: &dyn Evaluator) -> Scores {
    let mark = Score::evidence(json!({ NOT_APPLICABLE: true }));
    [(evaluator.name(), mark)].into_iter().collect()
}

/// Whether stored scores say that their evaluator does not apply.
pub(crate) fn is_inapplicable(scores: &Scores) -> bool {
    let mut evidence = scores.iter().filter_map(|(_, score)| score.as_evidence());
    evidence.any(|evidence| evidence.get(NOT_APPLICABLE).is_some())
}

const NOT_APPLICABLE: &str = "not_applicable";

/// The runtime that scoring happens on. Dropping it never blocks.
pub(super) struct ScoringRuntime {
    runtime: Option<Runtime>,
    rows: mpsc::UnboundedSender<Scoring>,
}

/// One row being scored.
type Scoring = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Rows that are taken up for scoring in one go.
const AT_ONCE: usize = 256;
/// When fewer rows than this come at a time, it pays to wait for more: waking a
/// thread for a single row costs more than most evaluators.
pub(super) const FEW: usize = 32;
/// How long to wait for more. Nothing but the end of a run waits for a score.
pub(super) const PAUSE: Duration = Duration::from_millis(2);

impl ScoringRuntime {
    pub(super) fn start() -> std::io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("scoring")
            .on_thread_start(give_way)
            .enable_all()
            .build()?;
        let (rows, receiver) = mpsc::unbounded_channel();
        runtime.spawn(take_up(receiver));
        Ok(Self {
            runtime: Some(runtime),
            rows,
        })
    }

    pub(super) fn spawn(&self, row: impl Future<Output = ()> + Send + 'static) {
        // Fails only when the runtime is gone, and with it everyone who waits for rows.
        let _ = self.rows.send(Box::pin(row));
    }
}

/// Lets calls that are being timed go first where there are too few cores for
/// everything. It does not matter if that is not allowed.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 5);
}

/// Starts the scoring of rows, several at a time.
async fn take_up(mut rows: mpsc::UnboundedReceiver<Scoring>) {
    let mut batch = Vec::with_capacity(AT_ONCE);
    while rows.recv_many(&mut batch, AT_ONCE).await > 0 {
        let few = batch.len() < FEW;
        for row in batch.drain(..) {
            tokio::spawn(row);
        }
        if few {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Drop for ScoringRuntime {
    fn drop(&mut self) {
        // A plain drop would block, which async contexts forbid.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
