//! `Prompts`: what a model is sent for a task, made document by document.

use std::sync::Arc;

use crate::error::{Error, Result, Warning};
use crate::example::Example;
use crate::fewshot::ShotSampler;
use crate::filter::Record;
use crate::function::Host;
use crate::options::Options;
use crate::prompt::Requests;
use crate::request::Request;
use crate::split::Dataset;
use crate::task::Task;

/// The prompts of a task in order, each with its record, made when it is taken. What is
/// wrong with a document is an error at its turn, and nothing follows it.
pub struct Prompts {
    task: Arc<Task>,
    options: Options,
    host: Arc<dyn Host>,
    making: PromptBuilder,
}

impl Prompts {
    /// How many documents are asked about in all.
    pub fn n_documents(&self) -> usize {
        self.making.ids.len()
    }

    /// How many records the split has, if that is known.
    pub fn n_original(&self) -> Option<usize> {
        self.making.n_original
    }

    /// Examples per prompt.
    pub fn num_fewshot(&self) -> usize {
        self.making.num_fewshot
    }

    /// What was noticed before the first prompt.
    pub fn warnings(&self) -> &[Warning] {
        &self.making.warnings
    }

    /// The task that they are of.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }
}

impl Iterator for Prompts {
    type Item = Result<(Request, Record)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.making.next(&self.task, &self.options, &*self.host)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.making.ids.len() - self.making.n_made;
        // An error ends them early.
        (left.min(1), Some(left))
    }
}

impl std::fmt::Debug for Prompts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompts")
            .field("task", &self.task.name)
            .field("n_documents", &self.n_documents())
            .field("n_made", &self.making.n_made)
            .finish_non_exhaustive()
    }
}

impl Task {
    /// What a model is sent for this task, made when it is taken. `process_docs` runs now.
    pub fn prompts(
        self: &Arc<Self>,
        dataset: &Dataset,
        options: &Options,
        host: &Arc<dyn Host>,
    ) -> Result<Prompts> {
        Ok(Prompts {
            making: PromptBuilder::new(self, dataset, options, &**host)?,
            task: Arc::clone(self),
            options: options.clone(),
            host: Arc::clone(host),
        })
    }

    /// Everything a model is sent for this task.
    pub fn requests(
        &self,
        dataset: &Dataset,
        options: &Options,
        host: &dyn Host,
    ) -> Result<Requests> {
        let mut making = PromptBuilder::new(self, dataset, options, host)?;
        let mut requests = Vec::with_capacity(making.ids.len());
        let mut records = Vec::with_capacity(making.ids.len());
        while let Some(made) = making.next(self, options, host) {
            let (request, record) = made?;
            requests.push(request);
            records.push(record);
        }
        Ok(Requests {
            requests,
            records,
            n_original: making.n_original,
            num_fewshot: making.num_fewshot,
            warnings: making.warnings,
        })
    }
}

/// The state of making prompts, which is the same whether they are taken one by one or
/// all at once.
struct PromptBuilder {
    split: String,
    records: Arc<Vec<Record>>,
    n_original: Option<usize>,
    /// The documents by their place in the split.
    ids: Vec<usize>,
    n_made: usize,
    num_fewshot: usize,
    drawing: ShotSampler,
    /// The records of the pool as they stand in prompts, once they are needed.
    examples: Vec<Option<Example>>,
    warnings: Vec<Warning>,
}

impl PromptBuilder {
    fn new(task: &Task, dataset: &Dataset, options: &Options, host: &dyn Host) -> Result<Self> {
        let split = task.evaluated_split()?;
        let process = task.process_docs.as_ref();
        let need = task.evaluated_need(options);
        let (records, n_original) = task.split(dataset, split, need, process, host)?;
        let ids = ids(split, records.len(), options)?;
        let mut warnings = Vec::new();
        let num_fewshot = task.shots(options);
        let (pool, exclude) = if num_fewshot == 0 {
            (Arc::default(), false)
        } else {
            task.pool(dataset, split, num_fewshot, host, &mut warnings)?
        };
        Ok(Self {
            split: split.to_owned(),
            records,
            n_original,
            ids,
            n_made: 0,
            num_fewshot,
            examples: pool.iter().map(|_| None).collect(),
            drawing: ShotSampler::new(pool, num_fewshot, task.shots.sampler, exclude, options.seed),
            warnings,
        })
    }

    fn next(
        &mut self,
        task: &Task,
        options: &Options,
        host: &dyn Host,
    ) -> Option<Result<(Request, Record)>> {
        let id = *self.ids.get(self.n_made)?;
        let made = self.document(id, task, options, host);
        self.n_made = match made {
            Ok(_) => self.n_made + 1,
            Err(_) => self.ids.len(),
        };
        Some(made)
    }

    fn document(
        &mut self,
        id: usize,
        task: &Task,
        options: &Options,
        host: &dyn Host,
    ) -> Result<(Request, Record)> {
        let (name, split) = (&task.name, &self.split);
        let record = self
            .records
            .get(id)
            .ok_or_else(|| missing(id, split, self.records.len()))?;
        let chosen = self.drawing.next(record);
        let chosen = chosen.map_err(|error| error.prefixed(format!("task `{name}`")))?;
        let pool = self.drawing.pool();
        for at in &chosen {
            if self.examples[*at].is_none() {
                let example = task.example(&pool[*at], host);
                let named = |error: Error| error.prefixed(format!("task `{name}`, example {at}"));
                self.examples[*at] = Some(example.map_err(named)?);
            }
        }
        let examples: Vec<&Example> = chosen
            .iter()
            .filter_map(|at| self.examples[*at].as_ref())
            .collect();
        let request = task.request(id, record, &examples, options, host);
        let named = |error: Error| {
            error.prefixed(format!("task `{name}`, document {id} of split `{split}`"))
        };
        Ok((request.map_err(named)?, record.clone()))
    }
}

/// The documents that are asked about, of `n` that are there.
fn ids(split: &str, n: usize, options: &Options) -> Result<Vec<usize>> {
    let Some(ids) = &options.documents else {
        return Ok((0..options.limit.map_or(n, |limit| limit.apply(n))).collect());
    };
    if let Some(id) = ids.iter().find(|id| **id >= n) {
        return Err(missing(*id, split, n));
    }
    let mut ids = ids.clone();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn missing(id: usize, split: &str, n: usize) -> Error {
    Error::new(format!(
        "there is no document {id}; split `{split}` has {n}"
    ))
}
