//! References to Python functions and classes, and who calls them.
//!
//! This crate never runs Python. A host does; without one, a task that needs a
//! function is an error that says so.

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

    /// The Python file the module is in, when it lies beside the YAML file.
    pub fn module_path(&self) -> Option<PathBuf> {
        let (module, _) = self.name.rsplit_once('.')?;
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
}

/// The host of those who have none: every call is an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
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
