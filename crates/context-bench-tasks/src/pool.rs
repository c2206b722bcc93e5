//! Records of splits, and those that examples are drawn from.

use std::sync::Arc;

use serde_json::Value;

use crate::error::{Error, Result, Warning};
use crate::fewshot::{Sampler, Samples};
use crate::filter::Record;
use crate::function::{Function, Host};
use crate::options::{Limit, Options};
use crate::split::{Dataset, Need};
use crate::task::Task;

impl Task {
    /// The splits that prompts are made of, and how much of each: the evaluated one, and
    /// the one examples are drawn from when there are any.
    pub fn needed_splits(&self, options: &Options) -> Result<Vec<(&str, Need)>> {
        let evaluated = self.evaluated_split()?;
        let mut needed = vec![(evaluated, self.evaluated_need(options))];
        let shots = self.shots(options);
        if let Some(split) = self.example_split().filter(|_| shots > 0) {
            let need = self.example_need(shots, self.excludes(evaluated));
            match needed.iter_mut().find(|(name, _)| *name == split) {
                Some((_, known)) => *known = need.max(*known),
                None => needed.push((split, need)),
            }
        }
        Ok(needed)
    }

    /// Whether the first records of a split hold enough examples for every document.
    /// Where no document is its own example, records that are there several times may
    /// leave too few others; how many are needed then shows only in the records.
    pub fn has_examples_in(
        &self,
        split: &str,
        records: &[Record],
        options: &Options,
    ) -> Result<bool> {
        let shots = self.shots(options);
        let is_chosen = self.shots.sampler == Sampler::FirstN && self.shots.indices.is_none();
        let evaluated = self.evaluated_split()?;
        if shots == 0 || !is_chosen || self.example_split() != Some(split) {
            return Ok(true);
        }
        let others = |one: &Record| {
            records
                .iter()
                .filter(|other| *other != one)
                .take(shots)
                .count()
        };
        Ok(!self.excludes(evaluated) || records.iter().all(|one| others(one) == shots))
    }

    /// How many records of the evaluated split are needed.
    pub(crate) fn evaluated_need(&self, options: &Options) -> Need {
        match (&self.process_docs, &options.documents, options.limit) {
            // A function may drop, add and reorder records.
            (Some(_), _, _) => Need::All,
            (None, Some(ids), _) => Need::First(up_to_last(ids)),
            (None, None, Some(Limit::Count(n))) => Need::First(n),
            (None, None, Some(Limit::Share(_)) | None) => Need::All,
        }
    }

    /// How many records of the split of examples are needed for `shots` per prompt.
    fn example_need(&self, shots: usize, exclude: bool) -> Need {
        match (self.shot_process(), &self.shots.indices, self.shots.sampler) {
            (Some(_), _, _) => Need::All,
            (None, Some(indices), _) => Need::First(up_to_last(indices)),
            // One more, in case the document itself is among them.
            (None, None, Sampler::FirstN) => {
                Need::First(shots.saturating_add(usize::from(exclude)))
            }
            (None, None, Sampler::Random) => Need::All,
        }
    }

    /// What is applied to the records that examples are drawn from.
    fn shot_process(&self) -> Option<&Function> {
        let own = self.shots.process_docs.as_ref();
        own.or(self.process_docs.as_ref())
    }

    /// The split that is named for examples.
    fn named_split(&self) -> Option<&str> {
        let own = self.shots.split.as_deref();
        own.or(self.splits.fewshot.as_deref())
    }

    /// The split that examples are drawn from; none when they stand in the file.
    fn example_split(&self) -> Option<&str> {
        let splits = &self.splits;
        let named = self.named_split();
        if named.is_some() || self.shots.samples.is_some() {
            return named;
        }
        let fallback = splits.training.as_deref().or(splits.validation.as_deref());
        fallback.or(splits.test.as_deref())
    }

    /// Whether a document must not be its own example.
    fn excludes(&self, evaluated: &str) -> bool {
        // The reference compares the names as configured; both unset count as equal.
        let named = self.named_split();
        named == self.splits.test.as_deref()
            || (named.is_none() && self.example_split() == Some(evaluated))
    }

    /// The records of a split after processing, and how many there are of them in all,
    /// if that is known.
    pub(crate) fn split(
        &self,
        dataset: &Dataset,
        name: &str,
        need: Need,
        process: Option<&Function>,
        host: &dyn Host,
    ) -> Result<(Arc<Vec<Record>>, Option<usize>)> {
        let Some(split) = dataset.get(name) else {
            let names: Vec<&str> = dataset.names().collect();
            return Err(Error::new(format!(
                "task `{}` needs split `{name}`, which the dataset does not have",
                self.name
            ))
            .with_hint(format!(
                "it has {}",
                context_bench_error::suggest::quoted_list(&names, "and")
            )));
        };
        let named = |error: Error| error.prefixed(format!("task `{}`", self.name));
        split.check(name, need).map_err(named)?;
        match process {
            None => Ok((split.shared(), split.n_original())),
            Some(function) => {
                let rows = split.records().iter().cloned().map(Value::Object);
                let rows: Vec<Value> = rows.collect();
                let records = records_of(host.rows(function, &rows)?.into())?;
                let n = records.len();
                Ok((Arc::new(records), Some(n)))
            }
        }
    }

    /// The records examples are drawn from, and whether the evaluated ones are among them.
    pub(crate) fn pool(
        &self,
        dataset: &Dataset,
        evaluated: &str,
        shots: usize,
        host: &dyn Host,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Arc<Vec<Record>>, bool)> {
        let exclude = self.excludes(evaluated);
        let need = self.example_need(shots, exclude);
        let of_split = |split: &str| {
            let found = self.split(dataset, split, need, self.shot_process(), host);
            found.map(|(records, _)| records)
        };
        let pool = match (self.named_split(), &self.shots.samples) {
            (Some(split), samples) => {
                if samples.is_some() {
                    warnings.push(Warning::new(format!(
                        "examples come from split `{split}`; `samples` are not used"
                    )));
                }
                of_split(split)?
            }
            (None, Some(Samples::Records(records))) => Arc::new(records.clone()),
            (None, Some(Samples::Function(function))) => {
                Arc::new(records_of(host.call(function, &[])?)?)
            }
            (None, None) => {
                let split = self.example_split().unwrap_or(evaluated);
                if split == evaluated {
                    warnings.push(Warning::new(format!(
                        "examples come from the evaluated split `{split}`; no document is its own example"
                    )));
                }
                of_split(split)?
            }
        };
        let Some(indices) = &self.shots.indices else {
            return Ok((pool, exclude));
        };
        let pick = |index: &usize| {
            pool.get(*index).cloned().ok_or_else(|| {
                Error::new(format!(
                    "`fewshot_indices` names {index}, but there are {} records",
                    pool.len()
                ))
            })
        };
        let picked: Vec<Record> = indices.iter().map(pick).collect::<Result<_>>()?;
        Ok((Arc::new(picked), exclude))
    }
}

/// How many records there are up to the last of some places.
fn up_to_last(places: &[usize]) -> usize {
    places.iter().max().map_or(0, |last| last.saturating_add(1))
}

fn records_of(value: Value) -> Result<Vec<Record>> {
    let wrong = |value: &Value| {
        Error::new(format!(
            "a list of records was expected, found `{}`",
            crate::source::shortened(&value.to_string())
        ))
    };
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                Value::Object(record) => Ok(record),
                other => Err(wrong(&other)),
            })
            .collect(),
        other => Err(wrong(&other)),
    }
}
