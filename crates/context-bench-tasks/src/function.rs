//! References to Python functions and classes, and who calls them.
//!
//! A host runs Python; without one, a task that needs a function is an error that says
//! so. [`crate::python`] has the one that starts child processes.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

const KEY: &str = "!function";

/// `!function module.name`, with the folder of the file it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Function {
    /// The folder modules are looked up in.
    pub directory: PathBuf,
    /// Module and name, with dots between.
    pub name: String,
}

impl Function {
    /// How a configuration holds it.
    pub fn to_json(&self) -> Value {
        json!({ KEY: self.name, "directory": self.directory.to_string_lossy() })
    }

    /// The reference a value of a configuration is, if it is one.
    pub fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object().filter(|map| map.len() == 2)?;
        Some(Self {
            directory: PathBuf::from(map.get("directory")?.as_str()?),
            name: map.get(KEY)?.as_str()?.to_owned(),
        })
    }

    /// Whether a value holds a reference anywhere inside.
    pub fn is_inside(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(Self::is_inside),
            Value::Object(map) => {
                Self::from_json(value).is_some() || map.values().any(Self::is_inside)
            }
            _ => false,
        }
    }

    /// All references that a value holds anywhere inside.
    pub fn all_inside(value: &Value) -> Vec<Self> {
        match value {
            Value::Array(items) => items.iter().flat_map(Self::all_inside).collect(),
            Value::Object(map) => match Self::from_json(value) {
                Some(function) => vec![function],
                None => map.values().flat_map(Self::all_inside).collect(),
            },
            _ => Vec::new(),
        }
    }

    /// Its name without the module.
    pub fn short_name(&self) -> &str {
        self.name.rsplit(['.', ':']).next().unwrap_or_default()
    }

    /// The Python file the module is in, when it lies beside the YAML file.
    pub fn module_path(&self) -> Option<PathBuf> {
        let (module, _) = self.name.rsplit_once('.')?;
        if Path::new(module).is_absolute() {
            return Some(PathBuf::from(format!("{module}.py")));
        }
        let mut path = self.directory.clone();
        path.extend(module.split('.'));
        Some(path.with_extension("py"))
    }
}

/// Runs Python for a task.
pub trait Host: Send + Sync {
    /// Calls a function with positional arguments.
    fn call(&self, function: &Function, args: &[Value]) -> Result<Value>;

    /// Calls a function with keywords; `custom_dataset` needs it.
    fn call_with(&self, function: &Function, keywords: &Map<String, Value>) -> Result<Value>;

    /// Loads a function or class without calling it.
    fn load(&self, function: &Function) -> Result<()> {
        self.call_many(function, &[]).map(drop)
    }

    /// Calls a function once per list of arguments, with outcomes in the same order. An
    /// error as a whole means that there is no such function.
    fn call_many(&self, function: &Function, calls: &[Vec<Value>]) -> Result<Vec<Result<Value>>> {
        Ok(calls.iter().map(|args| self.call(function, args)).collect())
    }

    /// The same with keywords, as metrics are called.
    fn call_many_with(
        &self,
        function: &Function,
        calls: &[Map<String, Value>],
    ) -> Result<Vec<Result<Value>>> {
        let call = |keywords| self.call_with(function, keywords);
        Ok(calls.iter().map(call).collect())
    }

    /// Hands a table to a function such as `process_docs`; gives the rows it returns. A
    /// host that knows no tables hands over a list.
    fn rows(&self, function: &Function, rows: &[Value]) -> Result<Vec<Value>> {
        match self.call(function, &[rows.to_vec().into()])? {
            Value::Array(rows) => Ok(rows),
            other => Err(Error::new(format!(
                "`!function {}` must give rows, and gave `{}`",
                function.name,
                crate::source::shortened(&other.to_string())
            ))),
        }
    }

    /// Calls a function such as `custom_dataset`; gives the rows of each split.
    fn splits(
        &self,
        function: &Function,
        keywords: &Map<String, Value>,
    ) -> Result<Vec<(String, Vec<Value>)>> {
        let _ = keywords;
        Err(refused(function))
    }

    /// Makes an object of a class: `Class(config=…)` if its constructor has `config`,
    /// else `Class()`. The splits are for classes that load no data themselves.
    fn object(
        &self,
        class: &Function,
        config: &Map<String, Value>,
        splits: &[(String, Vec<Value>)],
    ) -> Result<Box<dyn Object>> {
        let _ = (config, splits);
        Err(refused(class))
    }
}

/// A task that is a Python object.
pub trait Object: Send + Sync {
    /// Calls a method.
    fn call(&self, method: &str, args: &[Value], keywords: &Map<String, Value>) -> Result<Value>;

    /// Reads an attribute.
    fn get(&self, attribute: &str) -> Result<Value>;

    /// Sets an attribute.
    fn set(&self, attribute: &str, value: &Value) -> Result<()>;

    /// Lets the task build its requests; the keywords (`limit`, `samples`, …) are for
    /// its `build_all_requests`. Each has `request_type`, `arguments`, `doc_id`, `idx`
    /// and `repeats`.
    fn requests(&self, keywords: &Map<String, Value>) -> Result<Vec<Value>>;

    /// Gives each request the list of its responses, and the task's filters and
    /// `process_results` the word. One entry per document and filter: `doc_id`,
    /// `filter`, `filtered_resps`, `metrics`, `doc`, `target`.
    fn scores(&self, responses: &[Value]) -> Result<Vec<Value>>;

    /// The aggregate of a metric, as the task's `aggregation` computes it.
    fn aggregate(&self, metric: &str, values: &[Value]) -> Result<Value>;
}

/// The host of those who have none: every call is an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn load(&self, function: &Function) -> Result<()> {
        Err(refused(function))
    }

    fn call(&self, function: &Function, _: &[Value]) -> Result<Value> {
        Err(refused(function))
    }

    fn call_with(&self, function: &Function, _: &Map<String, Value>) -> Result<Value> {
        Err(refused(function))
    }
}

fn refused(function: &Function) -> Error {
    let at = Path::new(&function.directory).display();
    Error::new(format!(
        "`!function {}` in `{at}` needs Python",
        function.name
    ))
    .with_hint("allow Python functions, or use a task without them")
}
