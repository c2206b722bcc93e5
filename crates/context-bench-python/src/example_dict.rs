//! Examples and outputs as Python dicts.
//!
//! Systems and evaluators in Python get the objects that the dataset gave, not copies that went
//! through JSON: examples and outputs remember the dict that they were made from.

use std::sync::Arc;

use context_bench::{Example, Output};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::{Map, Value};

use crate::convert::{ConversionLoss, MAX_DEPTH, as_dict, dict, key_name, to_python, value};
use crate::python_object::describe_type;

/// The dict that an example or an output was made from.
type Original = Py<PyDict>;

/// An example or output that becomes a dict once the interpreter is held. Where there is an
/// original dict, only that is kept, so that no text is copied.
pub(crate) enum DeferredDict {
    /// The original dict.
    Original(context_bench::Source),
    /// Fields to make a dict of.
    Fields(Map<String, Value>),
    /// The output of a native system for an example that came as a dict: fields that it did not
    /// change are taken from the original.
    Merged {
        original: context_bench::Source,
        /// `None` for a value of the original.
        fields: Vec<(String, Option<Value>)>,
    },
}

impl DeferredDict {
    /// The dict of an example.
    pub(crate) fn example(example: &Example) -> Self {
        Self::new(example.source(), example.fields())
    }

    /// The dict of a system's output for an example.
    pub(crate) fn output(example: &Example, output: &Output) -> Self {
        match (output.source(), example.source()) {
            (None, Some(source)) if source.is::<Original>() => Self::Merged {
                original: Arc::clone(source),
                fields: output
                    .fields()
                    .iter()
                    .map(|(name, value)| {
                        let is_same = example.get(name) == Some(value);
                        (name.clone(), (!is_same).then(|| value.clone()))
                    })
                    .collect(),
            },
            (source, _) => Self::new(source, output.fields()),
        }
    }

    fn new(source: Option<&context_bench::Source>, fields: &Map<String, Value>) -> Self {
        match source {
            Some(source) if source.is::<Original>() => Self::Original(Arc::clone(source)),
            _ => Self::Fields(fields.clone()),
        }
    }

    /// A dict that user code may change.
    pub(crate) fn build<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self {
            Self::Original(source) => match source.downcast_ref::<Original>() {
                Some(original) => copy_dict(original.bind(py), 0),
                None => Ok(PyDict::new(py)),
            },
            Self::Fields(fields) => dict(py, fields),
            Self::Merged { original, fields } => {
                let whole = PyDict::new(py);
                let Some(original) = original.downcast_ref::<Original>() else {
                    return Ok(whole);
                };
                let original = original.bind(py);
                for (name, value) in fields {
                    match value {
                        Some(value) => whole.set_item(name, to_python(py, value)?)?,
                        None => {
                            let (key, item) = entry(original, name)?;
                            let copy = copy_container(&item, 0)?;
                            whole.set_item(key, copy.unwrap_or(item))?;
                        }
                    }
                }
                Ok(whole)
            }
        }
    }
}

/// The entry of a dict under a name; keys of other types are found by their text.
fn entry<'py>(
    dict: &Bound<'py, PyDict>,
    wanted: &str,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = dict.py();
    if let Some(item) = dict.get_item(wanted)? {
        return Ok((PyString::new(py, wanted).into_any(), item));
    }
    for (key, item) in dict.iter() {
        if key_name(&key, &mut ConversionLoss::default())? == wanted {
            return Ok((key, item));
        }
    }
    Ok((
        PyString::new(py, wanted).into_any(),
        py.None().into_bound(py),
    ))
}

fn copy_dict<'py>(dict: &Bound<'py, PyDict>, depth: usize) -> PyResult<Bound<'py, PyDict>> {
    let copy = dict.copy()?;
    for (key, item) in dict.iter() {
        if let Some(item) = copy_container(&item, depth)? {
            copy.set_item(key, item)?;
        }
    }
    Ok(copy)
}

fn copy_container<'py>(
    item: &Bound<'py, PyAny>,
    depth: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if depth > MAX_DEPTH {
        return Ok(None);
    }
    if let Ok(inner) = item.cast_exact::<PyDict>() {
        return copy_dict(inner, depth + 1).map(|copy| Some(copy.into_any()));
    }
    let Ok(inner) = item.cast_exact::<PyList>() else {
        return Ok(None);
    };
    let copy = PyList::empty(item.py());
    for item in inner.iter() {
        let inner = copy_container(&item, depth + 1)?;
        copy.append(inner.unwrap_or(item))?;
    }
    Ok(Some(copy.into_any()))
}

/// A dict that user code passed or returned.
pub(crate) struct IncomingDict {
    pub(crate) fields: Map<String, Value>,
    /// The dict itself.
    pub(crate) source: context_bench::Source,
    /// Fields that JSON would change.
    pub(crate) changed: Vec<String>,
}

/// Reads a dict of user code; `None` when the object is not a mapping.
pub(crate) fn read_dict(object: &Bound<'_, PyAny>) -> PyResult<Option<IncomingDict>> {
    let Some(dict) = as_dict(object) else {
        return Ok(None);
    };
    let dict = dict?;
    let mut map = Map::with_capacity(dict.len());
    let mut changed = Vec::new();
    for (key, item) in dict.iter() {
        let mut loss = ConversionLoss::default();
        let name = key_name(&key, &mut loss)?;
        let value = value(&item, 1, &mut loss)?;
        if loss.changed {
            changed.push(name.clone());
        }
        map.insert(name, value);
    }
    let original: Original = dict.unbind();
    Ok(Some(IncomingDict {
        fields: map,
        source: Arc::new(original),
        changed,
    }))
}

/// Reads an example that was passed directly to a system or evaluator.
pub(crate) fn read_example(object: &Bound<'_, PyAny>) -> PyResult<Example> {
    match read_dict(object)? {
        Some(dict) => Ok(Example::from(dict.fields).with_source(dict.source)),
        None => {
            let found = describe_type(object);
            Err(PyTypeError::new_err(format!(
                "an example must be a dict, found {found}\n\
                 hint: pass `{{\"context\": …, \"question\": …}}`"
            )))
        }
    }
}
