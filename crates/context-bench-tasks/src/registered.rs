//! Names that exist only because Python code of a task registers them by decorator:
//! filters, metrics and aggregations.
//!
//! A file that names one says nothing about where it is: another key of the same task
//! imports the module that registers it. So a name that is not built in is looked for
//! behind all modules that the task names, when it is first needed.

use std::path::PathBuf;

use context_bench_error::Hint as _;
use serde_json::{Map, Value};

use crate::config::Config;
use crate::error::Error;
use crate::filter::Filter;
use crate::function::Function;
use crate::{filter, metric};

/// What can be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A class with `apply(resps, docs)`.
    Filter,
    /// A function of references and predictions.
    Metric,
    /// A function of the values of all documents.
    Aggregation,
    /// The aggregation that a metric was registered with.
    AggregationOfMetric,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Metric => "metric",
            Self::Aggregation => "aggregation",
            Self::AggregationOfMetric => "metric_aggregation",
        }
    }
}

/// The modules that a task names, by one function of each.
#[derive(Debug, Clone, Default)]
pub struct Modules(Vec<Function>);

impl Modules {
    /// Those of a configuration.
    pub fn of(config: &Config) -> Self {
        let mut modules: Vec<Function> = Vec::new();
        let functions = config
            .iter()
            .flat_map(|(_, setting)| Function::all_inside(&setting.value));
        for function in functions {
            let Some((module, _)) = function.name.rsplit_once('.') else {
                continue;
            };
            let module = Function {
                directory: function.directory.clone(),
                name: module.to_owned(),
            };
            if !modules.contains(&module) {
                modules.push(module);
            }
        }
        Self(modules)
    }

    /// What the modules register under a name; `None` when there is no module.
    pub fn find(&self, kind: Kind, name: &str) -> Option<Function> {
        let directory: PathBuf = self.0.first()?.directory.clone();
        let module = |module: &Function| match module.directory == directory {
            true => module.name.clone(),
            // A comma is between modules.
            false => {
                let directory = module.directory.to_string_lossy();
                let directory = directory.replace('%', "%25").replace(',', "%2C");
                format!("{directory}/{}", module.name)
            }
        };
        let modules: Vec<String> = self.0.iter().map(module).collect();
        Some(Function {
            name: format!("{}::{}::{name}", modules.join(", "), kind.name()),
            directory,
        })
    }
}

/// The error for a name that no code registers, with the names that exist. Such a name is
/// not a function of a file, so the error does not mention functions.
pub(crate) fn unregistered(function: &Function, error: Error) -> Error {
    let mut parts = function.name.rsplitn(3, "::");
    let (Some(name), Some(kind), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return error;
    };
    let Some((_, why)) = error.message().split_once("cannot be found: ") else {
        return error;
    };
    let unknown = match kind {
        "filter" => Filter::named(name, &Map::new()).err(),
        "aggregation" => metric::Aggregation::named(name).err(),
        _ => Some(metric::unknown(name)),
    };
    Error::new(why).with_some_hint(unknown.and_then(|unknown| unknown.hint()))
}

/// Every name of a task that only its Python code can know, with the key that names it.
pub(crate) fn references(config: &Config) -> Vec<(&'static str, Function)> {
    let modules = Modules::of(config);
    let mut found = Vec::new();
    let entries = |key: &str| match config.get(key) {
        Some(Value::Array(entries)) => entries.clone(),
        Some(entry) => vec![entry.clone()],
        None => Vec::new(),
    };
    for pipeline in entries("filter_list") {
        for step in pipeline
            .get("filter")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = step.get("function").and_then(Value::as_str);
            if let Some(name) = name.filter(|name| !filter::is_known(name)) {
                found.extend(modules.find(Kind::Filter, name).map(|f| ("filter_list", f)));
            }
        }
    }
    let own_results = config.get("process_results").is_some();
    for entry in entries("metric_list") {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        if let Some(name) = text("metric").filter(|name| !own_results && !metric::is_known(name)) {
            found.extend(modules.find(Kind::Metric, name).map(|f| ("metric_list", f)));
        }
        if let Some(name) = text("aggregation")
            && metric::Aggregation::named(name).is_err()
        {
            found.extend(
                modules
                    .find(Kind::Aggregation, name)
                    .map(|f| ("metric_list", f)),
            );
        }
    }
    found
}
