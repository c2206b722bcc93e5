//! Results of tasks for Python, and records that Python passes to tasks.

use context_bench::EvalResult;
use context_bench::benchmark::TaskReport;
use context_bench_tasks::Dataset;
use indexmap::IndexMap;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::convert;

/// Reads records by split.
pub(crate) fn read_records(splits: &Bound<'_, PyDict>) -> PyResult<Dataset> {
    let mut dataset = Dataset::new();
    for (split, rows) in splits.iter() {
        let rows = rows
            .try_iter()?
            .map(|row| Ok(crate::example_dict::read_example(&row?)?.into_fields()))
            .collect::<PyResult<Vec<_>>>()?;
        dataset.insert(split.extract()?, rows);
    }
    Ok(dataset)
}

/// The results of tasks by system, with tables and warnings.
pub(crate) fn reports(result: &EvalResult) -> IndexMap<String, Value> {
    let entry = |report: &TaskReport| {
        let mut entry = report.results.clone();
        entry.insert("table".into(), json!(report.table));
        entry.insert("groups_table".into(), json!(report.groups_table));
        let failed = report.failed.iter().map(|(what, _)| what);
        let warnings: Vec<&String> = report.warnings.iter().chain(failed).collect();
        entry.insert("warnings".into(), json!(warnings));
        Value::Object(entry)
    };
    let tasks = result.tasks.iter();
    tasks
        .map(|(system, report)| (system.clone(), entry(report)))
        .collect()
}

/// Inserts the results of tasks into the parts of a result.
pub(crate) fn insert(parts: &Bound<'_, PyDict>, reports: &IndexMap<String, Value>) -> PyResult<()> {
    let py = parts.py();
    let tasks = PyDict::new(py);
    for (system, entry) in reports {
        tasks.set_item(system, convert::to_python(py, entry)?)?;
    }
    parts.set_item("tasks", tasks)
}
