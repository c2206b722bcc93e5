//! Token counting with a tokenizer of the library or a function of the user.

use std::sync::Arc;

use context_bench::tokens::{TokenCounter, Tokenizer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::bad_value;
use crate::executor::{Object, PythonExecutor};
use crate::python_object::{describe_type, identity};

/// The number of tokens in a text.
#[pyfunction]
#[pyo3(signature = (text, tokenizer="cl100k_base"))]
pub(crate) fn count_tokens(py: Python<'_>, text: &str, tokenizer: &str) -> PyResult<u64> {
    let tokenizer: Tokenizer = tokenizer.parse().map_err(|error| bad_value(&error))?;
    Ok(py.detach(|| tokenizer.count(text)))
}

/// The names of the library's tokenizers, the default first.
#[pyfunction]
pub(crate) fn tokenizer_names() -> Vec<&'static str> {
    vec!["cl100k_base", "o200k_base", "whitespace"]
}

/// A function of the user that counts tokens. This is the only Python code that runs on threads
/// of the library, because counting cannot wait for another thread.
struct PythonTokenCounter {
    name: String,
    function: Object,
    executor: Arc<PythonExecutor>,
}

impl TokenCounter for PythonTokenCounter {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self, text: &str) -> u64 {
        self.try_count(text).unwrap_or_default()
    }

    fn try_count(&self, text: &str) -> Result<u64, String> {
        Python::attach(|py| {
            let counted = self.function.bind(py).call1((text,));
            counted
                .and_then(|counted| counted.extract::<u64>())
                .map_err(|error| self.executor.exception(py, error).message())
        })
    }
}

/// The counter of a run: a name, a function, or the default.
pub(crate) fn counter(
    tokenizer: Option<&Bound<'_, PyAny>>,
    executor: &Arc<PythonExecutor>,
) -> PyResult<Arc<dyn TokenCounter>> {
    let Some(tokenizer) = tokenizer.filter(|tokenizer| !tokenizer.is_none()) else {
        return Ok(Tokenizer::default().counter());
    };
    if let Ok(name) = tokenizer.cast::<PyString>() {
        let parsed = name.to_string_lossy().parse::<Tokenizer>();
        return Ok(parsed.map_err(|error| bad_value(&error))?.counter());
    }
    if !tokenizer.is_callable() {
        let found = describe_type(tokenizer);
        let what = format!("`tokenizer` must be a name or a function of text, found {found}");
        return Err(PyTypeError::new_err(what));
    }
    // Stored counts are found by this name. A function without a `cache_key` may be a different
    // one next time.
    let name = match identity(tokenizer)? {
        Some(identity) => identity.to_json().to_string(),
        None => {
            let now = std::time::SystemTime::now();
            let now = now
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            let shown = tokenizer.getattr("__qualname__");
            let shown = shown.and_then(|name| name.extract::<String>());
            let shown = shown.unwrap_or_else(|_| "function".into());
            format!("python:{shown}:{}", now.as_nanos())
        }
    };
    Ok(Arc::new(PythonTokenCounter {
        name,
        function: Arc::new(tokenizer.clone().unbind()),
        executor: Arc::clone(executor),
    }))
}
