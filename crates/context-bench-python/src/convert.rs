//! Values across the border: Python objects to JSON values and back.
//!
//! What JSON cannot hold (bytes, dates, huge integers …) becomes a map that
//! names its type and a digest of its content, so that stored answers are never
//! mixed up. Python code always gets the objects themselves: examples and
//! outputs remember the dict that they were made from.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use context_bench::{Example, Output};
use pyo3::exceptions::{PyRecursionError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value, json};
use sha2::{Digest as _, Sha256};

/// Deeper values are mistakes, mostly objects that hold themselves.
const MAX_DEPTH: usize = 200;
/// The keys of what stands for something that JSON cannot hold.
const OPAQUE: &str = "__python__";
const DIGEST: &str = "digest";

/// What becomes of a value on its way to JSON.
#[derive(Debug, Default)]
struct Loss {
    /// It would not come back as it was: a tuple as a list, a key as text.
    changed: bool,
    /// The first type in it that JSON cannot hold at all.
    opaque: Option<String>,
}

/// A Python value as JSON.
pub(crate) fn to_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    value(object, 0, &mut Loss::default())
}

/// A Python dict as an ordered JSON map.
pub(crate) fn to_fields(dict: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    fields(dict, 0, &mut Loss::default())
}

/// A Python value as JSON that goes to others, who must be able to read it.
pub(crate) fn to_sendable(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut loss = Loss::default();
    let value = value(object, 0, &mut loss)?;
    match loss.opaque {
        None => Ok(value),
        Some(kind) => Err(PyTypeError::new_err(cannot_be_sent(what, &kind))),
    }
}

fn cannot_be_sent(what: &str, kind: &str) -> String {
    format!(
        "`{what}` holds a value of type `{kind}`, which cannot be sent as JSON\n\
         hint: make it text or a number first"
    )
}

/// Why a field of an example cannot be sent, if it cannot.
pub(crate) fn why_not_sent(example: &Example, sent: &[&str]) -> Option<String> {
    sent.iter().find_map(|name| {
        let kind = opaque_kind(example.get(name)?)?;
        Some(cannot_be_sent(name, kind))
    })
}

/// The type of the first value in it that JSON cannot hold.
fn opaque_kind(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(opaque_kind),
        Value::Object(map) => match (map.len(), map.get(OPAQUE), map.get(DIGEST)) {
            (2, Some(Value::String(kind)), Some(_)) => Some(kind),
            _ => map.values().find_map(opaque_kind),
        },
        _ => None,
    }
}

/// Any mapping as a dict; the dict itself when it is one.
pub(crate) fn as_dict<'py>(object: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyDict>>> {
    if let Ok(dict) = object.cast::<PyDict>() {
        return Some(Ok(dict.clone()));
    }
    let mapping = object.cast::<PyMapping>().ok()?;
    let dict = PyDict::new(object.py());
    Some(dict.update(mapping).map(|()| dict))
}

fn value(object: &Bound<'_, PyAny>, depth: usize, loss: &mut Loss) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        let what = format!("a value is nested more than {MAX_DEPTH} levels deep");
        return Err(PyRecursionError::new_err(what));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(plain(text, loss)));
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        if let Ok(number) = object.extract::<i64>() {
            return Ok(number.into());
        }
        return match object.extract::<u64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => Ok(opaque(object, loss)),
        };
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(match Number::from_f64(number.value()) {
            Some(number) => Value::Number(number),
            None => opaque(object, loss),
        });
    }
    if let Ok(list) = object.cast::<PyList>() {
        let items = list.iter().map(|item| value(&item, depth + 1, loss));
        return items.collect::<PyResult<_>>().map(Value::Array);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        loss.changed = true;
        let items = tuple.iter().map(|item| value(&item, depth + 1, loss));
        return items.collect::<PyResult<_>>().map(Value::Array);
    }
    if let Some(dict) = as_dict(object) {
        return fields(&dict?, depth, loss).map(Value::Object);
    }
    // Scalars and arrays of numpy and its kin.
    if let Ok(plain) = object.call_method0(intern!(object.py(), "tolist")) {
        loss.changed |= plain.is_instance_of::<PyList>();
        return value(&plain, depth + 1, loss);
    }
    Ok(opaque(object, loss))
}

fn fields(dict: &Bound<'_, PyDict>, depth: usize, loss: &mut Loss) -> PyResult<Map<String, Value>> {
    let mut map = Map::with_capacity(dict.len());
    for (key, item) in dict.iter() {
        let name = name(&key, loss)?;
        map.insert(name, value(&item, depth + 1, loss)?);
    }
    Ok(map)
}

fn name(key: &Bound<'_, PyAny>, loss: &mut Loss) -> PyResult<String> {
    match key.cast::<PyString>() {
        Ok(text) => Ok(plain(text, loss)),
        Err(_) => {
            loss.changed = true;
            Ok(key.str()?.to_string_lossy().into_owned())
        }
    }
}

fn plain(text: &Bound<'_, PyString>, loss: &mut Loss) -> String {
    text.to_cow().map(Cow::into_owned).unwrap_or_else(|_| {
        // Lone surrogates have no UTF-8.
        loss.changed = true;
        text.to_string_lossy().into_owned()
    })
}

/// What stands for an object that JSON cannot hold.
fn opaque(object: &Bound<'_, PyAny>, loss: &mut Loss) -> Value {
    static UNKNOWN: AtomicU64 = AtomicU64::new(0);
    let kind = object.get_type();
    let kind = kind
        .fully_qualified_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let digest = pickled(object).map(|bytes| {
        let digest = Sha256::digest(&bytes);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    });
    // Nobody can tell whether it is the same one next time, so it never is.
    let digest = digest.unwrap_or_else(|_| {
        let n = UNKNOWN.fetch_add(1, Ordering::Relaxed);
        format!("unknown-{}-{n}", std::process::id())
    });
    loss.changed = true;
    loss.opaque.get_or_insert_with(|| kind.clone());
    json!({ OPAQUE: kind, DIGEST: digest })
}

fn pickled(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let pickle = object.py().import(intern!(object.py(), "pickle"))?;
    let bytes = pickle.call_method1(intern!(object.py(), "dumps"), (object, 5))?;
    bytes.extract()
}

/// A JSON value as a Python object.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, Some(number)) => number.into_pyobject(py)?.into_any(),
            _ => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(map) => dict(py, map)?.into_any(),
    })
}

/// A JSON map as a dict.
pub(crate) fn dict<'py>(py: Python<'py>, map: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, item) in map {
        // Keys come again with every example.
        dict.set_item(PyString::intern(py, key), to_python(py, item)?)?;
    }
    Ok(dict)
}

/// The dict that an example or an output was made from, while nothing changed.
pub(crate) type Original = Py<PyDict>;

/// What must go along with an example or an output to hand it out later: the
/// original alone where there is one, so that no text is copied.
pub(crate) enum Parcel {
    /// The object itself.
    Original(context_bench::Source),
    /// The fields, to be made into a dict.
    Fields(Map<String, Value>),
    /// An output of native code for an example that came as a dict: what it left
    /// alone is the example's own.
    Over {
        original: context_bench::Source,
        /// Without a value where it is the example's.
        fields: Vec<(String, Option<Value>)>,
    },
}

impl Parcel {
    /// Packs an example.
    pub(crate) fn example(example: &Example) -> Self {
        Self::new(example.source(), example.fields())
    }

    /// Packs what became of an example.
    pub(crate) fn output(example: &Example, output: &Output) -> Self {
        match (output.source(), example.source()) {
            (None, Some(source)) if source.is::<Original>() => Self::Over {
                original: Arc::clone(source),
                fields: output
                    .fields()
                    .iter()
                    .map(|(name, value)| {
                        let is_own = example.get(name) == Some(value);
                        (name.clone(), (!is_own).then(|| value.clone()))
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
    pub(crate) fn unpack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self {
            Self::Original(source) => match source.downcast_ref::<Original>() {
                Some(original) => copied(original.bind(py), 0),
                None => Ok(PyDict::new(py)),
            },
            Self::Fields(fields) => dict(py, fields),
            Self::Over { original, fields } => {
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
                            let copy = copied_container(&item, 0)?;
                            whole.set_item(key, copy.unwrap_or(item))?;
                        }
                    }
                }
                Ok(whole)
            }
        }
    }
}

/// The entry of a dict under a name; names of other types are found by their text.
fn entry<'py>(
    dict: &Bound<'py, PyDict>,
    wanted: &str,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = dict.py();
    if let Some(item) = dict.get_item(wanted)? {
        return Ok((PyString::new(py, wanted).into_any(), item));
    }
    for (key, item) in dict.iter() {
        if name(&key, &mut Loss::default())? == wanted {
            return Ok((key, item));
        }
    }
    Ok((
        PyString::new(py, wanted).into_any(),
        py.None().into_bound(py),
    ))
}

fn copied<'py>(dict: &Bound<'py, PyDict>, depth: usize) -> PyResult<Bound<'py, PyDict>> {
    let copy = dict.copy()?;
    for (key, item) in dict.iter() {
        if let Some(item) = copied_container(&item, depth)? {
            copy.set_item(key, item)?;
        }
    }
    Ok(copy)
}

fn copied_container<'py>(
    item: &Bound<'py, PyAny>,
    depth: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if depth > MAX_DEPTH {
        return Ok(None);
    }
    if let Ok(inner) = item.cast_exact::<PyDict>() {
        return copied(inner, depth + 1).map(|copy| Some(copy.into_any()));
    }
    let Ok(inner) = item.cast_exact::<PyList>() else {
        return Ok(None);
    };
    let copy = PyList::empty(item.py());
    for item in inner.iter() {
        let inner = copied_container(&item, depth + 1)?;
        copy.append(inner.unwrap_or(item))?;
    }
    Ok(Some(copy.into_any()))
}

/// A dict of user code.
pub(crate) struct Taken {
    pub(crate) fields: Map<String, Value>,
    /// The dict itself.
    pub(crate) source: context_bench::Source,
    /// Fields that would not come back as they were.
    pub(crate) changed: Vec<String>,
}

/// A dict of user code as fields, with the original behind them.
pub(crate) fn taken_in(object: &Bound<'_, PyAny>) -> PyResult<Option<Taken>> {
    let Some(dict) = as_dict(object) else {
        return Ok(None);
    };
    let dict = dict?;
    let mut map = Map::with_capacity(dict.len());
    let mut changed = Vec::new();
    for (key, item) in dict.iter() {
        let mut loss = Loss::default();
        let name = name(&key, &mut loss)?;
        let value = value(&item, 1, &mut loss)?;
        if loss.changed {
            changed.push(name.clone());
        }
        map.insert(name, value);
    }
    let original: Original = dict.unbind();
    Ok(Some(Taken {
        fields: map,
        source: Arc::new(original),
        changed,
    }))
}

/// A number as user code gives them: of Python, numpy or anything with `__float__`.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    if object.is_instance_of::<PyString>() || object.is_none() {
        let what = format!("{} is no number", type_name(object));
        return Err(PyTypeError::new_err(what));
    }
    object.extract::<f64>()
}

/// The name of an object's type, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_else(|_| "object".into())
}
