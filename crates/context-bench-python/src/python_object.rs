//! Objects of user code: their names, what decides their results, and how messages describe them.

use context_bench::Identity;
use context_bench::mask::Mask;
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use serde_json::json;

use crate::convert::{self, type_name};

/// The name of an object, which must have a certain method.
pub(crate) fn name_of(object: &Bound<'_, PyAny>, kind: &str, method: &str) -> PyResult<String> {
    let class = type_name(object);
    let hint = format!("hint: a {kind} needs `name` and `{method}`, but no base class");
    if object.is_instance_of::<pyo3::types::PyType>() {
        let name = object.getattr("__name__")?;
        let what = format!("the class `{name}` was passed as a {kind} instead of an instance");
        return Err(PyTypeError::new_err(format!(
            "{what}\nhint: write `{name}()`"
        )));
    }
    if !object.hasattr(method)? {
        let what = format!("`{class}` object has no method `{method}`");
        return Err(PyTypeError::new_err(format!("{what}\n{hint}")));
    }
    let Ok(name) = object.getattr("name") else {
        let what = format!("`{class}` object has no `name`");
        return Err(PyTypeError::new_err(format!("{what}\n{hint}")));
    };
    name.extract::<String>().map_err(|_| {
        let found = type_name(&name);
        PyTypeError::new_err(format!(
            "`name` of `{class}` must be a str, found {found}\n{hint}"
        ))
    })
}

/// What decides the results of an object, according to its attribute `cache_key`. Without one its
/// results are never reused, because nobody can tell whether its code has changed.
pub(crate) fn identity(object: &Bound<'_, PyAny>) -> PyResult<Option<Identity>> {
    let key = match object.getattr("cache_key") {
        Ok(key) if !key.is_none() => convert::to_value(&key)?,
        _ => return Ok(None),
    };
    let class = object.get_type().fully_qualified_name()?;
    let settings = json!({"class": class.to_string_lossy(), "cache_key": Mask::Digest.value(&key)});
    Ok(Some(Identity::new("python", 1, settings)))
}

/// An object for an error message. `None` is spelled out, because a missing `return` is the most
/// common mistake.
pub(crate) fn describe_type(object: &Bound<'_, PyAny>) -> String {
    match object.is_none() {
        true => "None".into(),
        false => format!("a {}", type_name(object)),
    }
}

/// Whether a method is the native one, not overridden by a subclass.
pub(crate) fn is_native_method<T: PyTypeInfo>(
    object: &Bound<'_, PyAny>,
    method: &str,
) -> PyResult<bool> {
    let native = object.py().get_type::<T>().getattr(method)?;
    Ok(object.get_type().getattr(method)?.is(&native))
}

/// The error of a subclass whose `__init__` does not call the one of its base class.
pub(crate) fn not_initialized(class: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "`{class}.__init__` was not called\nhint: call `super().__init__(…)` first"
    ))
}
