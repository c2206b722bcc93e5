//! The documents of a task in a run: prompts that are made when they are needed.
//!
//! All of them are made once while a run is planned, so that what is wrong with a
//! record shows before anything is paid for. What is made is kept as long as it is
//! not too much; else it is made again, one document at a time, when the run asks.

use std::sync::Arc;

use context_bench_records::map_bytes;
use context_bench_tasks::filter::Record;
use context_bench_tasks::request::{Ask, Context};
use context_bench_tasks::{Dataset as Records, Host, Options, Request, Result, Task, Warning};

use super::examples::example;
use crate::dataset::{Dataset, DatasetError};

/// So much of the prompts of a task is kept from planning to the run.
const KEPT_BYTES: usize = 64 << 20;

/// The documents of a task in a run.
#[derive(Default)]
pub struct TaskDocuments {
    /// How many are asked about.
    pub planned: usize,
    /// How many its split has, where that is known.
    pub original: Option<usize>,
    /// Examples per prompt.
    pub num_fewshot: usize,
    source: Source,
}

/// Where prompts come from.
#[derive(Default)]
enum Source {
    /// Nowhere: the answers come from a store.
    #[default]
    Nowhere,
    /// They are all there.
    InMemory(Arc<Vec<(Request, Record)>>),
    /// They are made again.
    OnDemand {
        task: Arc<Task>,
        records: Records,
        options: Box<Options>,
        host: Arc<dyn Host>,
    },
}

impl TaskDocuments {
    /// Documents whose answers come from a store.
    pub fn stored(planned: usize, original: Option<usize>, num_fewshot: usize) -> Self {
        Self {
            planned,
            original,
            num_fewshot,
            source: Source::Nowhere,
        }
    }

    /// Makes every prompt of a task once, and reports what was noticed.
    ///
    /// # Errors
    ///
    /// When a prompt cannot be made.
    pub fn plan(
        task: &Arc<Task>,
        records: Records,
        options: &Options,
        host: &Arc<dyn Host>,
    ) -> Result<(Self, Vec<Warning>)> {
        let prompts = task.prompts(&records, options, host)?;
        let mut warnings = prompts.warnings().to_vec();
        let planned = prompts.n_documents();
        let (original, num_fewshot) = (prompts.n_original(), prompts.num_fewshot());
        let (mut kept, mut bytes, mut without_gold) = (Vec::new(), 0, 0);
        for prompt in prompts {
            let (request, record) = prompt?;
            without_gold += usize::from(task.lacks_gold(&request));
            bytes += ask_bytes(&request.ask) + map_bytes(&record);
            if bytes < KEPT_BYTES {
                kept.push((request, record));
            } else {
                kept = Vec::new();
            }
        }
        warnings.extend(task.gold_warning(without_gold, planned));
        let source = match kept.len() == planned {
            true => Source::InMemory(Arc::new(kept)),
            false => Source::OnDemand {
                task: Arc::clone(task),
                records,
                options: Box::new(options.clone()),
                host: Arc::clone(host),
            },
        };
        let documents = Self {
            planned,
            original,
            num_fewshot,
            source,
        };
        Ok((documents, warnings))
    }

    /// The examples that ask about the documents, each `repeats` times.
    pub(super) fn examples(&self, tag: &str, unconditional: bool, repeats: usize) -> Dataset {
        let key = tag.to_owned();
        let of_document = move |request: &Request, record: &Record| {
            let one = |repeat| example(&key, request, record, unconditional, repeat);
            (0..repeats).map(one).map(Ok).collect::<Vec<_>>()
        };
        let n = self.planned.saturating_mul(repeats);
        let dataset = match &self.source {
            Source::Nowhere => return Vec::new().into(),
            Source::InMemory(kept) => {
                let kept = Arc::clone(kept);
                let examples = (0..kept.len()).flat_map(move |at| {
                    let (request, record) = &kept[at];
                    of_document(request, record)
                });
                Dataset::from_results(examples)
            }
            Source::OnDemand {
                task,
                records,
                options,
                host,
            } => match task.prompts(records, options, host) {
                Ok(prompts) => {
                    Dataset::from_results(prompts.flat_map(move |prompt| match prompt {
                        Ok((request, record)) => of_document(&request, &record),
                        Err(error) => vec![Err(DatasetError::Custom(error.to_string()))],
                    }))
                }
                Err(error) => {
                    let error = DatasetError::Custom(error.to_string());
                    Dataset::from_results(std::iter::once(Err(error)))
                }
            },
        };
        dataset.with_len(n).tagged(tag)
    }
}

/// Bytes that a prompt keeps alive, roughly.
fn ask_bytes(ask: &Ask) -> usize {
    let context = |context: &Context| match context {
        Context::Text(text) => text.len(),
        Context::Chat { messages, .. } => messages.iter().map(|one| one.content.len() + 32).sum(),
    };
    let texts = |texts: &[String]| texts.iter().map(|text| text.len() + 24).sum::<usize>();
    const FIXED: usize = 256;
    FIXED
        + match ask {
            Ask::Choices {
                context: before,
                continuations,
            } => context(before) + texts(continuations),
            Ask::Contexts { contexts, .. } => contexts.iter().map(context).sum(),
            Ask::Continuation {
                context: before,
                continuation,
            } => context(before) + continuation.len(),
            Ask::Text(text) => text.len(),
            Ask::Generation {
                context: before, ..
            } => context(before),
        }
}
