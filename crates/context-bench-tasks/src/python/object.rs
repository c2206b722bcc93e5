//! An object of a class of a task (`class: !function task.Qasper`).
//!
//! It has a process of its own: its state must not be shared with, or lost through, the
//! calls of others. When the process ends, the object is gone, and every later use says
//! so; making it again silently would lose its state.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use super::channel::Channel;
use super::error::{Problem, PythonError};
use super::pool::{Outcome, is_lost};
use super::request::{Request, stage};
use super::value::TAG;
use crate::error::{Error, Result};
use crate::function::{Function, Object};

/// An object in an interpreter; a child process ends when it is dropped.
#[derive(Debug)]
pub struct PythonObject {
    class: Function,
    process: Mutex<Slot>,
}

#[derive(Debug)]
enum Slot {
    Running(Box<dyn Channel>),
    Gone(String),
}

impl PythonObject {
    pub(super) fn new(class: Function, channel: Box<dyn Channel>) -> Self {
        Self {
            class,
            process: Mutex::new(Slot::Running(channel)),
        }
    }

    /// The id of its process, while that runs and is not this one.
    pub fn process_id(&self) -> Option<u32> {
        match &*self.process.lock().unwrap_or_else(PoisonError::into_inner) {
            Slot::Running(process) => process.process_id(),
            Slot::Gone(_) => None,
        }
    }

    /// Calls a method. What has no JSON form comes back as a handle, with the fields of
    /// a dataclass, and can be passed as an argument.
    pub fn call(&self, name: &str, args: &[Value], kwargs: &Map<String, Value>) -> Outcome {
        self.method(None, name, args, kwargs)
    }

    /// Calls a method of an object that a handle stands for.
    pub fn call_on(
        &self,
        handle: &Value,
        name: &str,
        args: &[Value],
        kwargs: &Map<String, Value>,
    ) -> Outcome {
        self.method(Some(handle), name, args, kwargs)
    }

    /// Reads an attribute.
    pub fn get(&self, name: &str) -> Outcome {
        let handle = None;
        self.ask(name, &Request::Get { handle, name })
    }

    /// Reads an attribute of an object that a handle stands for.
    pub fn get_from(&self, handle: &Value, name: &str) -> Outcome {
        let handle = Some(handle);
        self.ask(name, &Request::Get { handle, name })
    }

    /// Sets an attribute.
    pub fn set(&self, name: &str, value: &Value) -> std::result::Result<(), PythonError> {
        let handle = None;
        let request = Request::Set {
            handle,
            name,
            value,
        };
        self.ask(name, &request).map(drop)
    }

    /// Lets go of the object that a handle stands for. Other values are none.
    pub fn release(&self, handle: &Value) -> std::result::Result<(), PythonError> {
        let is_handle = handle.get(TAG).and_then(Value::as_str) == Some("handle");
        match handle.get("id").and_then(Value::as_u64) {
            Some(id) if is_handle => self.ask("", &Request::Drop { id }).map(drop),
            _ => Ok(()),
        }
    }

    fn method(
        &self,
        handle: Option<&Value>,
        name: &str,
        args: &[Value],
        kwargs: &Map<String, Value>,
    ) -> Outcome {
        let request = Request::Method {
            handle,
            name,
            args,
            kwargs,
        };
        self.ask(name, &request)
    }

    fn ask(&self, member: &str, request: &Request<'_>) -> Outcome {
        self.with(member, |process| {
            process.send(request);
            process.result()
        })
    }

    fn with(
        &self,
        member: &str,
        work: impl FnOnce(&mut dyn Channel) -> std::result::Result<Value, Problem>,
    ) -> Outcome {
        let mut slot = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match &mut *slot {
            Slot::Running(process) => work(&mut **process),
            Slot::Gone(how) => Err(Problem::Ended {
                how: format!("before this use of the object: {how}"),
                printed: String::new(),
            }),
        };
        outcome.map_err(|problem| {
            if is_lost(&problem) && matches!(*slot, Slot::Running(_)) {
                *slot = Slot::Gone(match &problem {
                    Problem::Ended { how, .. } => how.clone(),
                    Problem::TimedOut { limit, .. } => format!("`{member}` took over {limit:?}"),
                    _ => "an unexpected reply".into(),
                });
            }
            let mut error = PythonError::new(&self.class, problem);
            if !member.is_empty() {
                error.name = format!("{} .{member}", error.name);
            }
            error
        })
    }

    fn list(&self, value: Value) -> Result<Vec<Value>> {
        match value {
            Value::Array(items) => Ok(items),
            other => Err(Error::new(format!(
                "`!function {}`: a list was expected, found `{other}`",
                self.class.name
            ))),
        }
    }
}

impl Object for PythonObject {
    fn call(&self, method: &str, args: &[Value], keywords: &Map<String, Value>) -> Result<Value> {
        Ok(Self::call(self, method, args, keywords)?)
    }

    fn get(&self, attribute: &str) -> Result<Value> {
        Ok(Self::get(self, attribute)?)
    }

    fn set(&self, attribute: &str, value: &Value) -> Result<()> {
        Ok(Self::set(self, attribute, value)?)
    }

    fn requests(&self, keywords: &Map<String, Value>) -> Result<Vec<Value>> {
        let kwargs = keywords;
        let requests = self.ask("build_all_requests", &Request::Requests { kwargs })?;
        self.list(requests)
    }

    fn scores(&self, responses: &[Value]) -> Result<Vec<Value>> {
        let scores = self.with("process_results", |process| {
            stage(process, None, responses)?;
            process.send(&Request::Scores {});
            process.result()
        })?;
        self.list(scores)
    }

    fn aggregate(&self, metric: &str, values: &[Value]) -> Result<Value> {
        Ok(self.ask("aggregation", &Request::Aggregate { metric, values })?)
    }
}
