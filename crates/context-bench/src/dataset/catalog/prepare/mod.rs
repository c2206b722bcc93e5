//! What a field template cannot say: joins, grouping, needles, conversations.
//!
//! A dataset names one of these functions under `prepare`. It turns the raw
//! records into records that the templates of the dataset then read. Nothing
//! here knows about sources or examples.

mod bfcl;
mod dialogsum;
mod drop;
mod haystack;
mod ifeval;
mod locomo;
mod longmemeval;
mod math;
mod mt_bench;
mod nolima;
mod qasper;
mod scifact;

use std::collections::BTreeMap;

use context_bench_memory::MemoryExample;

use super::row::{Row, Rows};
use crate::dataset::DatasetError;

/// The side tables of a dataset by name, whole.
pub(super) type Tables = BTreeMap<String, Vec<Row>>;

type Function = fn(Rows, Tables) -> Result<Rows, DatasetError>;

/// A function that makes what the split asks for, where the source has no splits.
type MadeToMeasure = fn(Rows, Tables, Option<&str>) -> Result<Rows, DatasetError>;

/// A function that a dataset may name under `prepare`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prepare {
    pub(super) name: &'static str,
    function: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Plain(Function),
    MadeToMeasure(MadeToMeasure),
}

const ALL: [Prepare; 11] = [
    prepare("bfcl", bfcl::prepare),
    prepare("dialogsum", dialogsum::prepare),
    prepare("drop", drop::prepare),
    prepare("ifeval", ifeval::prepare),
    prepare("locomo", locomo::prepare),
    prepare("longmemeval", longmemeval::prepare),
    prepare("math", math::prepare),
    prepare("mt_bench", mt_bench::prepare),
    made_to_measure("nolima", nolima::prepare),
    prepare("qasper", qasper::prepare),
    prepare("scifact", scifact::prepare),
];

const fn prepare(name: &'static str, function: Function) -> Prepare {
    let function = Kind::Plain(function);
    Prepare { name, function }
}

const fn made_to_measure(name: &'static str, function: MadeToMeasure) -> Prepare {
    let function = Kind::MadeToMeasure(function);
    Prepare { name, function }
}

impl Prepare {
    /// The function of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|known| known.name == name)
    }

    /// All names, for messages.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        ALL.into_iter().map(|known| known.name)
    }

    pub(super) fn apply(
        self,
        rows: Rows,
        tables: Tables,
        split: Option<&str>,
    ) -> Result<Rows, DatasetError> {
        match self.function {
            Kind::Plain(function) => function(rows, tables),
            Kind::MadeToMeasure(function) => function(rows, tables, split),
        }
    }
}

/// Turns each record into another.
fn each(
    rows: Rows,
    mut function: impl FnMut(Row) -> Result<Row, DatasetError> + Send + 'static,
) -> Rows {
    Rows::new(rows.map(move |row| function(row?)))
}

/// A conversation with its questions, from a record in the layout of its authors, which is
/// taken out of the row: histories are large.
fn memory_example(row: &mut Row, position: usize) -> Result<MemoryExample, DatasetError> {
    let record = row.take_record();
    let read = MemoryExample::from_record(&record, &row.at, position, &mut Vec::new());
    read.map_err(|error| row.misfit(error.problem()))
}
