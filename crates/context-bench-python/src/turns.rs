//! The turns of conversations, as lists of dicts.

use context_bench::Turn;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::convert;
use crate::python_object::describe_type;

/// Turns as a list of dicts.
pub(crate) fn turns_to_python<'py>(
    py: Python<'py>,
    turns: &[Turn],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for turn in turns {
        let dict = PyDict::new(py);
        dict.set_item("role", &turn.role)?;
        dict.set_item("content", &turn.content)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Reads turns of user code; the error says what was found instead.
pub(crate) fn turns_from_python(object: &Bound<'_, PyAny>) -> Result<Vec<Turn>, String> {
    let list = object.cast::<PyList>().map_err(|_| describe_type(object))?;
    let mut turns = Vec::with_capacity(list.len());
    for item in list.iter() {
        let value = convert::to_value(&item).map_err(|error| error.to_string())?;
        let turn = serde_json::from_value(value).map_err(|_| describe_type(&item))?;
        turns.push(turn);
    }
    Ok(turns)
}
