//! Records of splits, and those that examples are drawn from.

use serde_json::Value;

use crate::error::{Error, Result, Warning};
use crate::fewshot::Samples;
use crate::filter::Record;
use crate::function::{Function, Host};
use crate::options::Options;
use crate::prompt::Dataset;
use crate::task::Task;

impl Task {
    /// The splits that prompts are made of: the evaluated one, and the one examples are
    /// drawn from when there are any.
    pub fn needed_splits(&self, options: &Options) -> Result<Vec<&str>> {
        let mut needed = vec![self.evaluated_split()?];
        let shots = self.shots(options);
        if let Some(split) = self.example_split().filter(|_| shots > 0)
            && !needed.contains(&split)
        {
            needed.push(split);
        }
        Ok(needed)
    }

    /// The split that examples are drawn from; none when they stand in the file.
    fn example_split(&self) -> Option<&str> {
        let splits = &self.splits;
        let named = self.shots.split.as_deref().or(splits.fewshot.as_deref());
        if named.is_some() || self.shots.samples.is_some() {
            return named;
        }
        let fallback = splits.training.as_deref().or(splits.validation.as_deref());
        fallback.or(splits.test.as_deref())
    }

    pub(crate) fn split(
        &self,
        dataset: &Dataset,
        name: &str,
        process: Option<&Function>,
        host: &dyn Host,
    ) -> Result<Vec<Record>> {
        let Some(records) = dataset.get(name) else {
            let names: Vec<&str> = dataset.keys().map(String::as_str).collect();
            return Err(Error::new(format!(
                "task `{}` needs split `{name}`, which the dataset does not have",
                self.name
            ))
            .with_hint(format!(
                "it has {}",
                crate::suggest::quoted_list(&names, "and")
            )));
        };
        match process {
            None => Ok(records.clone()),
            Some(function) => {
                let rows: Vec<Value> = records.iter().cloned().map(Value::Object).collect();
                records_of(host.rows(function, &rows)?.into())
            }
        }
    }

    /// The records examples are drawn from, and whether the evaluated ones are among them.
    pub(crate) fn pool(
        &self,
        dataset: &Dataset,
        evaluated: &str,
        host: &dyn Host,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Vec<Record>, bool)> {
        let named = self
            .shots
            .split
            .as_deref()
            .or(self.splits.fewshot.as_deref());
        // The reference compares the names as configured; both unset count as equal.
        let mut exclude = named == self.splits.test.as_deref();
        let process = self
            .shots
            .process_docs
            .as_ref()
            .or(self.process_docs.as_ref());
        let pool = match (named, &self.shots.samples) {
            (Some(split), samples) => {
                if samples.is_some() {
                    warnings.push(Warning::new(format!(
                        "examples come from split `{split}`; `samples` are not used"
                    )));
                }
                self.split(dataset, split, process, host)?
            }
            (None, Some(Samples::Records(records))) => records.clone(),
            (None, Some(Samples::Function(function))) => records_of(host.call(function, &[])?)?,
            (None, None) => {
                let splits = &self.splits;
                let fallback = splits.training.as_deref().or(splits.validation.as_deref());
                let split = fallback.or(splits.test.as_deref()).unwrap_or(evaluated);
                if split == evaluated {
                    warnings.push(Warning::new(format!(
                        "examples come from the evaluated split `{split}`; no document is its own example"
                    )));
                    exclude = true;
                }
                self.split(dataset, split, process, host)?
            }
        };
        match &self.shots.indices {
            None => Ok((pool, exclude)),
            Some(indices) => {
                let pick = |index: &usize| {
                    pool.get(*index).cloned().ok_or_else(|| {
                        Error::new(format!(
                            "`fewshot_indices` names {index}, but there are {} records",
                            pool.len()
                        ))
                    })
                };
                Ok((indices.iter().map(pick).collect::<Result<_>>()?, exclude))
            }
        }
    }
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
