//! Requests to a child, as it reads them.

use serde::Serialize;
use serde_json::{Map, Value};

use super::channel::Channel;
use super::error::Problem;
use crate::function::Function;

/// Rows that go over at once.
const ROWS: usize = 1000;

/// A function, for the child.
#[derive(Debug, Serialize)]
pub(super) struct Target<'a> {
    directory: String,
    name: &'a str,
}

impl<'a> Target<'a> {
    fn new(function: &'a Function) -> Self {
        // The child may have been started in another directory.
        let directory = std::path::absolute(&function.directory);
        let directory = directory.as_ref().unwrap_or(&function.directory);
        Self {
            directory: directory.to_string_lossy().into_owned(),
            name: &function.name,
        }
    }
}

/// The arguments of one call.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Call<'a> {
    pub(super) args: &'a [Value],
    pub(super) kwargs: &'a Map<String, Value>,
}

/// Everything that can be asked for.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Request<'a> {
    /// A function, several times.
    Call {
        function: Target<'a>,
        calls: &'a [Call<'a>],
    },
    /// Rows for the request that follows.
    Stage {
        split: Option<&'a str>,
        rows: &'a [Value],
    },
    /// A function of a table.
    Rows { function: Target<'a> },
    /// A function that gives tables.
    Splits {
        function: Target<'a>,
        kwargs: &'a Map<String, Value>,
    },
    /// The object of this process.
    Build {
        function: Target<'a>,
        config: &'a Map<String, Value>,
    },
    /// A method of the object, or of one it gave a handle for.
    Method {
        handle: Option<&'a Value>,
        name: &'a str,
        args: &'a [Value],
        kwargs: &'a Map<String, Value>,
    },
    /// An attribute.
    Get {
        handle: Option<&'a Value>,
        name: &'a str,
    },
    /// An attribute, changed.
    Set {
        handle: Option<&'a Value>,
        name: &'a str,
        value: &'a Value,
    },
    /// A handle that is not needed any more.
    Drop { id: u64 },
    /// What a class task asks a model.
    Requests { kwargs: &'a Map<String, Value> },
    /// What it makes of the answers, which were staged.
    Scores {},
    /// One number of many.
    Aggregate {
        metric: &'a str,
        values: &'a [Value],
    },
}

impl<'a> Request<'a> {
    pub(super) fn calls(function: &'a Function, calls: &'a [Call<'a>]) -> Self {
        let function = Target::new(function);
        Self::Call { function, calls }
    }

    pub(super) fn rows(function: &'a Function) -> Self {
        let function = Target::new(function);
        Self::Rows { function }
    }

    pub(super) fn splits(function: &'a Function, kwargs: &'a Map<String, Value>) -> Self {
        let function = Target::new(function);
        Self::Splits { function, kwargs }
    }

    pub(super) fn build(function: &'a Function, config: &'a Map<String, Value>) -> Self {
        let function = Target::new(function);
        Self::Build { function, config }
    }
}

/// Hands over rows for the next request, a bounded number at a time.
pub(super) fn stage(
    channel: &mut dyn Channel,
    split: Option<&str>,
    rows: &[Value],
) -> Result<(), Problem> {
    // An empty table is a table too.
    let mut portions = rows.chunks(ROWS);
    let mut portion = portions.next().unwrap_or_default();
    loop {
        let rows = portion;
        channel.send(&Request::Stage { split, rows });
        channel.result()?;
        match portions.next() {
            Some(next) => portion = next,
            None => return Ok(()),
        }
    }
}
