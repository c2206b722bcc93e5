//! `Summary`: the notes on one conversation.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use context_bench_memory::Turn;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Shared, prompt};
use crate::memory::{Ingest, MemoryAnswer, MemoryQuery, MemorySystem, StageTimes};
use crate::model::{CallStats, FailureKind, Output, UsageShape};
use crate::system::transform::{End, fit};
use crate::system::{SystemError, add_usage};

/// The notes on one conversation.
pub(super) struct Summary {
    shared: Arc<Shared>,
    held: RwLock<Arc<Held>>,
}

/// What is known of a conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Held {
    summary: String,
    turns: Vec<Turn>,
}

/// Turns that the model is told of at once.
#[derive(Debug, PartialEq, Eq)]
struct Chunk {
    lines: String,
    tokens: u64,
}

/// What the calls of a model took together.
#[derive(Debug, Default)]
struct Spent {
    calls: u64,
    call: CallStats,
    usage: Option<Map<String, Value>>,
    time: Duration,
    /// Notes that were longer than they may be.
    cut: u64,
}

impl Summary {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            held: RwLock::default(),
        }
    }

    fn held(&self) -> Arc<Held> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&held)
    }

    fn hold(&self, held: Held) {
        let mut place = self.held.write().unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(held);
    }

    /// Tokens are counted off the threads that serve requests.
    async fn count_off<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, String> + Send + 'static,
    ) -> Result<T, SystemError> {
        let shared = Arc::clone(&self.shared);
        let counted = tokio::task::spawn_blocking(move || work(&shared)).await;
        Ok(counted.map_err(|error| error.to_string())??)
    }

    /// The notes after one more chunk.
    async fn note(
        &self,
        summary: String,
        chunk: &Chunk,
        spent: &mut Spent,
    ) -> Result<String, SystemError> {
        let most = self.shared.settings.summary_tokens;
        let asked = prompt::request(&summary, &chunk.lines, most);
        let started = Instant::now();
        let output = self.shared.model.process(&asked).await;
        spent.calls += 1;
        spent.time += started.elapsed();
        let output = output.map_err(|mut error| {
            let of_this = error
                .call
                .take()
                .map_or_else(CallStats::default, |call| *call);
            spent.call.add(of_this);
            error.with_call(spent.call)
        })?;
        spent.call.add(output.call().unwrap_or_default());
        if let Some(usage) = output.api_usage() {
            // Figures of ingests are in the words of chat completions.
            let usage = UsageShape::of(&output).to_chat(usage);
            add_usage(spent.usage.get_or_insert_default(), &usage);
        }
        let Some(notes) = notes_of(&output) else {
            return Err(nothing_written(&output).with_call(spent.call));
        };
        let (notes, is_cut) = self
            .count_off(move |shared| {
                let kept = fit(&notes, End::Head, most, &*shared.counter).len();
                Ok((notes[..kept].to_owned(), kept < notes.len()))
            })
            .await?;
        spent.cut += u64::from(is_cut);
        Ok(notes)
    }
}

#[async_trait]
impl MemorySystem for Summary {
    async fn reset(&self) -> Result<(), SystemError> {
        self.hold(Held::default());
        Ok(())
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        let mut held = (*self.held()).clone();
        let new = turns.to_vec();
        let chunks = self
            .count_off(move |shared| {
                let count = |line: &str| shared.counter.try_count(line);
                chunks(&new, shared.settings.chunk_tokens, count)
            })
            .await?;
        let mut spent = Spent::default();
        for chunk in &chunks {
            let before = std::mem::take(&mut held.summary);
            held.summary = self.note(before, chunk, &mut spent).await?;
        }
        let summary = held.summary.clone();
        let summary_tokens = self
            .count_off(move |shared| shared.counter.try_count(&summary))
            .await?;
        held.turns.extend_from_slice(turns);
        self.hold(held);
        let mut details = Map::new();
        details.insert("model_calls".into(), json!(spent.calls));
        details.insert("model_seconds".into(), json!(spent.time.as_secs_f64()));
        details.insert("summary_tokens".into(), json!(summary_tokens));
        if spent.cut > 0 {
            details.insert("summaries_cut".into(), json!(spent.cut));
        }
        Ok(Ingest {
            tokens: Some(chunks.iter().map(|chunk| chunk.tokens).sum()),
            call: (spent.calls > 0).then_some(spent.call),
            usage: spent.usage,
            details,
        })
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        let started = Instant::now();
        let held = self.held();
        let budgets = [query.budget_tokens, self.shared.settings.budget_tokens];
        let budget = budgets.into_iter().flatten().min();
        let (context, tokens) = self
            .count_off(move |shared| recall(shared, &held, budget))
            .await?;
        let retrieve = started.elapsed();
        let asked = query.example.clone().with("context", context.as_str());
        let started = Instant::now();
        let output = self.shared.answerer.process(&asked).await?;
        Ok(MemoryAnswer {
            answer: output.response().into_owned(),
            output: Some(output),
            context: Some(context),
            context_tokens: Some(tokens),
            times: StageTimes {
                retrieve: Some(retrieve),
                answer: Some(started.elapsed()),
            },
            ..MemoryAnswer::default()
        })
    }

    async fn save(&self) -> Result<Option<Vec<u8>>, SystemError> {
        let state = serde_json::to_vec(&*self.held());
        Ok(Some(state.map_err(|error| error.to_string())?))
    }

    async fn load(&self, state: &[u8]) -> Result<bool, SystemError> {
        // What cannot be read is taken in again.
        let Ok(held) = serde_json::from_slice(state) else {
            return Ok(false);
        };
        self.hold(held);
        Ok(true)
    }
}

/// The notes in a reply, without what the model thought aloud before them.
fn notes_of(output: &Output) -> Option<String> {
    let response = output.response();
    let notes = output.thought().map_or(&*response, |(_, notes)| notes);
    let notes = notes.trim();
    (!notes.is_empty()).then(|| notes.to_owned())
}

/// Notes that are empty would forget everything.
fn nothing_written(output: &Output) -> SystemError {
    let reason = output
        .api_reply()
        .and_then(|reply| reply.get("finish_reason"));
    let reason = reason.and_then(Value::as_str);
    let reason = reason.map_or_else(String::new, |reason| {
        format!(" (it ended with `{reason}`; raise `summary_tokens` if that is `length`)")
    });
    SystemError::new(
        FailureKind::BadReply,
        format!("the model wrote an empty summary{reason}"),
    )
}

/// The turns in pieces that end with their session, or before they have more than `most`
/// tokens; a turn is never cut.
fn chunks(
    turns: &[Turn],
    most: u64,
    count: impl Fn(&str) -> Result<u64, String>,
) -> Result<Vec<Chunk>, String> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut session = None;
    for turn in turns {
        let line = turn.line();
        let tokens = count(&line)?;
        match chunks.last_mut() {
            Some(chunk) if session == Some(&turn.session) && chunk.tokens + tokens <= most => {
                chunk.lines.push('\n');
                chunk.lines.push_str(&line);
                chunk.tokens += tokens;
            }
            _ => chunks.push(Chunk {
                lines: line,
                tokens,
            }),
        }
        session = Some(&turn.session);
    }
    Ok(chunks)
}

/// The notes and the last turns, with their tokens. Under a budget turns go first, the
/// oldest before the others, and then the end of the notes.
fn recall(shared: &Shared, held: &Held, budget: Option<u64>) -> Result<(String, u64), String> {
    let most = usize::try_from(shared.settings.turns).unwrap_or(usize::MAX);
    let first = held.turns.len().saturating_sub(most);
    let lines: Vec<String> = held.turns[first..].iter().map(Turn::line).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let budget = budget.unwrap_or(u64::MAX);
    for skipped in 0..=lines.len() {
        let context = prompt::context(&held.summary, &lines[skipped..]);
        let tokens = shared.counter.try_count(&context)?;
        if tokens <= budget {
            return Ok((context, tokens));
        }
    }
    let context = prompt::context(&held.summary, &[]);
    let context = fit(&context, End::Head, budget, &*shared.counter).to_owned();
    let tokens = shared.counter.try_count(&context)?;
    Ok((context, tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_end_with_sessions_and_before_they_are_too_long() {
        let turn = |session: Option<&str>, text: &str| {
            let mut turn = Turn::new("1", "user", text);
            turn.session = session.map(Into::into);
            turn
        };
        let count = |line: &str| Ok(line.split_whitespace().count() as u64);
        for (turns, expected) in [
            (vec![], vec![]),
            (
                vec![
                    turn(Some("1"), "a"),
                    turn(Some("1"), "b"),
                    turn(Some("2"), "c"),
                ],
                vec![("user: a\nuser: b", 4), ("user: c", 2)],
            ),
            (
                vec![turn(None, "a"), turn(None, "b"), turn(None, "c d e f g h")],
                vec![("user: a\nuser: b", 4), ("user: c d e f g h", 7)],
            ),
        ] {
            let found = chunks(&turns, 5, count).expect("counted");
            let found: Vec<(&str, u64)> = found
                .iter()
                .map(|chunk| (&*chunk.lines, chunk.tokens))
                .collect();
            assert_eq!(found, expected);
        }
        let failing = chunks(&[turn(None, "a")], 5, |_| Err("no".into()));
        assert_eq!(failing, Err("no".into()));
    }
}
