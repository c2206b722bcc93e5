//! Converts Python objects to JSON values and back.
//!
//! What JSON cannot represent (bytes, dates, huge integers …) becomes a map with the name of its
//! type and a digest of its content, so that stored answers are never confused. Python code
//! never sees these maps: `example_dict` keeps the original objects.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use context_bench::Example;
use pyo3::exceptions::{PyRecursionError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value, json};
use sha2::{Digest as _, Sha256};

/// Deeper nesting is a mistake, mostly an object that contains itself.
pub(crate) const MAX_DEPTH: usize = 200;
/// The keys of a map that replaces an object which JSON cannot represent.
const OPAQUE: &str = "__python__";
const DIGEST: &str = "digest";

/// What is lost when a value is converted to JSON.
#[derive(Debug, Default)]
pub(crate) struct ConversionLoss {
    /// It would come back as something else: a tuple as a list, a key as text.
    pub(crate) changed: bool,
    /// The first type in it that JSON cannot represent at all.
    opaque: Option<String>,
}

/// A Python value as JSON.
pub(crate) fn to_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    value(object, 0, &mut ConversionLoss::default())
}

/// A Python dict as an ordered JSON map.
pub(crate) fn to_fields(dict: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    fields(dict, 0, &mut ConversionLoss::default())
}

/// A Python value as JSON that is sent to others; fails if they could not read it.
pub(crate) fn to_sendable(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut loss = ConversionLoss::default();
    let value = value(object, 0, &mut loss)?;
    match loss.opaque {
        None => Ok(value),
        Some(kind) => Err(PyTypeError::new_err(cannot_be_sent(what, &kind))),
    }
}

fn cannot_be_sent(what: &str, kind: &str) -> String {
    format!(
        "`{what}` contains a value of type `{kind}`, which cannot be sent as JSON\n\
         hint: convert it to text or a number first"
    )
}

/// Why a field of an example cannot be sent, if it cannot.
pub(crate) fn why_not_sent(example: &Example, sent: &[&str]) -> Option<String> {
    sent.iter().find_map(|name| {
        let kind = opaque_kind(example.get(name)?)?;
        Some(cannot_be_sent(name, kind))
    })
}

/// The type of the first value in it that JSON cannot represent.
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

pub(crate) fn value(
    object: &Bound<'_, PyAny>,
    depth: usize,
    loss: &mut ConversionLoss,
) -> PyResult<Value> {
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
    // Scalars and arrays of numpy and similar packages.
    if let Ok(plain) = object.call_method0(intern!(object.py(), "tolist")) {
        loss.changed |= plain.is_instance_of::<PyList>();
        return value(&plain, depth + 1, loss);
    }
    Ok(opaque(object, loss))
}

fn fields(
    dict: &Bound<'_, PyDict>,
    depth: usize,
    loss: &mut ConversionLoss,
) -> PyResult<Map<String, Value>> {
    let mut map = Map::with_capacity(dict.len());
    for (key, item) in dict.iter() {
        let name = key_name(&key, loss)?;
        map.insert(name, value(&item, depth + 1, loss)?);
    }
    Ok(map)
}

pub(crate) fn key_name(key: &Bound<'_, PyAny>, loss: &mut ConversionLoss) -> PyResult<String> {
    match key.cast::<PyString>() {
        Ok(text) => Ok(plain(text, loss)),
        Err(_) => {
            loss.changed = true;
            Ok(key.str()?.to_string_lossy().into_owned())
        }
    }
}

fn plain(text: &Bound<'_, PyString>, loss: &mut ConversionLoss) -> String {
    text.to_cow().map(Cow::into_owned).unwrap_or_else(|_| {
        // Lone surrogates cannot be encoded as UTF-8.
        loss.changed = true;
        text.to_string_lossy().into_owned()
    })
}

/// The map that replaces an object which JSON cannot represent.
fn opaque(object: &Bound<'_, PyAny>, loss: &mut ConversionLoss) -> Value {
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
    // Without a digest nobody can tell whether it is the same object next time, so it never is.
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
        // The same keys occur in every example.
        dict.set_item(PyString::intern(py, key), to_python(py, item)?)?;
    }
    Ok(dict)
}

/// A number of user code: of Python, numpy or any type with `__float__`.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    if object.is_instance_of::<PyString>() || object.is_none() {
        let what = format!("{} is not a number", type_name(object));
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
