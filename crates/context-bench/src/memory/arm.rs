//! `MemoryArm`: a memory as a system of a run.
//!
//! Its examples are questions. Each is answered by an instance that has taken in the
//! conversation before; the latency of a row is that of the query alone, and what taking in
//! took stands beside it.

use std::sync::Arc;

use async_trait::async_trait;
use context_bench_memory::TurnId;
use serde_json::{Map, Value, json};

use super::instances::{InstancePool, Ready, no_conversation};
use super::questions::EVIDENCE;
use super::system::{MemoryAnswer, MemoryProvider, MemoryQuery};
use super::{History, KeptIngests};
use crate::model::{Example, Identity, Output};
use crate::stopwatch::pausing;
use crate::system::{Announcement, System, SystemError};
use crate::tokens::TokenCounter;

/// The field of an output with what the memory did for it.
pub const MEMORY: &str = "memory";
/// The field of an output with the turns that were recalled, best first.
pub const RECALLED: &str = "recalled";

/// Contexts above this size are not kept with answers: whole histories would be stored once
/// for every question.
const MAX_KEPT_CONTEXT: usize = 64 * 1024;

/// Raised whenever answers may differ although the memory is the same.
const VERSION: u32 = 1;

/// A memory as a system of a run.
pub struct MemoryArm {
    pool: InstancePool,
    budget_tokens: Option<u64>,
}

impl MemoryArm {
    /// A memory whose answers may rest on at most so many tokens; states of conversations
    /// are kept where that is given.
    pub fn new(
        provider: Arc<dyn MemoryProvider>,
        counter: Arc<dyn TokenCounter>,
        budget_tokens: Option<u64>,
        kept: Option<KeptIngests>,
    ) -> Self {
        Self {
            pool: InstancePool::new(provider, kept, counter),
            budget_tokens,
        }
    }

    fn output(
        &self,
        example: &Example,
        history: &History,
        ready: &Ready,
        answer: MemoryAnswer,
    ) -> Output {
        let counter = &*self.pool.counter;
        let counted = || counter.try_count(answer.context.as_deref()?).ok();
        let context_tokens = answer.context_tokens.or_else(counted);
        let mut memory = Map::new();
        let mut put = |key: &str, value: Value| {
            memory.insert(key.to_owned(), value);
        };
        put("context_tokens", json!(context_tokens));
        put("history_tokens", json!(history.tokens(counter)));
        put("ingest", json!(ready.figures));
        if ready.was_kept {
            put("ingest_kept", json!(true));
        }
        let times = answer.times;
        for (key, time) in [
            ("retrieve_seconds", times.retrieve),
            ("answer_seconds", times.answer),
        ] {
            if let Some(time) = time {
                put(key, json!(time.as_secs_f64()));
            }
        }
        if !answer.details.is_empty() {
            put("details", Value::Object(answer.details));
        }
        let mut output = match answer.output {
            Some(output) => output,
            None => Output::reply(example, answer.answer),
        };
        if let Some(usage) = answer.usage {
            output = output.with("api_usage", usage);
        }
        // As evaluators get it; what the answer rests on is another text.
        output = output.with("context", example.context());
        if let Some(context) = answer.context {
            match context.len() <= MAX_KEPT_CONTEXT {
                true => output = output.with("recalled_context", context),
                false => put("context_bytes", json!(context.len())),
            }
        }
        if let Some(recalled) = answer.recalled {
            output = output.with(RECALLED, json!(recalled));
        }
        output = output.with(MEMORY, memory);
        match answer.call.or(output.call()) {
            Some(call) => output.with_call(call),
            None => output,
        }
    }
}

#[async_trait]
impl System for MemoryArm {
    fn name(&self) -> &str {
        self.pool.provider.name()
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({
            "memory": self.pool.provider.identity()?.to_json(),
            "budget_tokens": self.budget_tokens,
            // Budgets and figures are counted with it.
            "tokens": self.pool.counter.name(),
        });
        Some(Identity::new("memory", VERSION, settings))
    }

    fn announce(&self, example: &Example) -> Option<Announcement> {
        let history = History::of(example)?;
        self.pool.announce(&history)
    }

    async fn ready(&self) -> Result<(), SystemError> {
        self.pool.prepare().await
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let history = History::of(example).ok_or_else(no_conversation)?;
        let taken = self.pool.take(&history).await?;
        let evidence: Option<Vec<TurnId>> = example.get(EVIDENCE).and_then(|marks| {
            let marks = marks.as_array()?.iter().filter_map(Value::as_str);
            Some(marks.map(TurnId::from).collect())
        });
        let query = MemoryQuery {
            question: example.question().unwrap_or_default(),
            asked: example.text("question_date"),
            budget_tokens: self.budget_tokens,
            evidence: evidence.as_deref(),
            example,
        };
        let answer = taken.ready.instance.query(&query).await?;
        // Counting is our own work, not the memory's.
        Ok(pausing(async { self.output(example, &history, &taken.ready, answer) }).await)
    }
}
