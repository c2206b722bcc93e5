//! A [`Host`] that runs functions in an interpreter of this very process.
//!
//! The Python package, which has one, runs the same program as child processes do and
//! answers requests line by line; nothing else differs. There is no time limit and no
//! isolation: a function that ends the process ends this one.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use super::channel::Channel;
use super::error::{Problem, PythonError};
use super::object::PythonObject;
use super::pool::Outcome;
use super::process::{PROGRAM, Reply};
use super::request::{Call, Request, stage};
use crate::error::Result;
use crate::function::{Function, Host, Object};

/// The program that an interpreter runs, in the order its parts need each other: names
/// and texts. They share one namespace, in which `Child` answers requests.
pub fn program() -> &'static [(&'static str, &'static str)] {
    &PROGRAM
}

/// Answers requests of one conversation.
pub trait Session: Debug + Send {
    /// The replies to a request, each a line of JSON, or why there are none.
    fn ask(&mut self, request: &str) -> std::result::Result<Vec<String>, String>;
}

/// Begins conversations.
pub trait Interpreter: Send + Sync {
    /// A conversation with a state of its own.
    fn open(&self) -> std::result::Result<Box<dyn Session>, String>;
}

/// A [`Host`] in this process.
pub struct LocalHost<I> {
    interpreter: I,
    functions: Mutex<Option<LocalChannel>>,
}

/// A conversation, as a channel.
#[derive(Debug)]
struct LocalChannel {
    session: Box<dyn Session>,
    replies: VecDeque<std::result::Result<String, String>>,
}

impl Channel for LocalChannel {
    fn send_line(&mut self, line: Vec<u8>) {
        match self.session.ask(&String::from_utf8_lossy(&line)) {
            Ok(replies) => self.replies.extend(replies.into_iter().map(Ok)),
            Err(reason) => self.replies.push_back(Err(reason)),
        }
    }

    fn receive(&mut self) -> std::result::Result<Reply, Problem> {
        let ended = |how: String| Problem::Ended {
            how,
            printed: String::new(),
        };
        match self.replies.pop_front() {
            Some(Ok(line)) => serde_json::from_str(&line)
                .map_err(|error| Problem::Protocol(format!("{line} ({error})"))),
            Some(Err(reason)) => Err(ended(reason)),
            None => Err(ended("there was no reply".into())),
        }
    }
}

impl<I: Interpreter> LocalHost<I> {
    /// A host; nothing is run before the first call.
    pub fn new(interpreter: I) -> Self {
        Self {
            interpreter,
            functions: Mutex::new(None),
        }
    }

    fn open(&self) -> std::result::Result<LocalChannel, Problem> {
        let session = self.interpreter.open().map_err(|reason| Problem::Start {
            interpreter: "this one".into(),
            reason,
        })?;
        Ok(LocalChannel {
            session,
            replies: VecDeque::new(),
        })
    }

    /// Works with the conversation about functions.
    fn with<T>(
        &self,
        function: &Function,
        work: impl FnOnce(&mut dyn Channel) -> std::result::Result<T, Problem>,
    ) -> std::result::Result<T, PythonError> {
        let mut slot = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let outcome = match slot.take() {
            Some(channel) => Ok(channel),
            None => self.open(),
        };
        let outcome = outcome.and_then(|mut channel| {
            // What an earlier request left unread belongs to nobody.
            channel.replies.clear();
            let outcome = work(&mut channel);
            *slot = Some(channel);
            outcome
        });
        outcome.map_err(|problem| PythonError::new(function, problem))
    }

    fn calls(
        &self,
        function: &Function,
        calls: &[Call<'_>],
    ) -> std::result::Result<Vec<Outcome>, PythonError> {
        self.with(function, |channel| {
            channel.send(&Request::calls(function, calls));
            match channel.receive()? {
                Reply::Loaded(()) => {}
                Reply::Error(failed) => return Err(failed.into()),
                other => return Err(Problem::Protocol(format!("{other:?}"))),
            }
            let outcome = |result: std::result::Result<Value, Problem>| {
                result.map_err(|problem| PythonError::new(function, problem))
            };
            Ok(calls.iter().map(|_| outcome(channel.result())).collect())
        })
    }

    fn one(&self, function: &Function, args: &[Value], kwargs: &Map<String, Value>) -> Outcome {
        let mut outcomes = self.calls(function, &[Call { args, kwargs }])?;
        outcomes.pop().unwrap_or_else(|| {
            let problem = Problem::Protocol("nothing".into());
            Err(PythonError::new(function, problem))
        })
    }
}

impl<I: Interpreter> Host for LocalHost<I> {
    fn call(&self, function: &Function, args: &[Value]) -> Result<Value> {
        Ok(self.one(function, args, &Map::new())?)
    }

    fn call_with(&self, function: &Function, keywords: &Map<String, Value>) -> Result<Value> {
        Ok(self.one(function, &[], keywords)?)
    }

    fn call_many(&self, function: &Function, calls: &[Vec<Value>]) -> Result<Vec<Result<Value>>> {
        let none = Map::new();
        let kwargs = &none;
        let calls: Vec<Call<'_>> = calls.iter().map(|args| Call { args, kwargs }).collect();
        let outcomes = self.calls(function, &calls)?.into_iter();
        Ok(outcomes
            .map(|outcome| outcome.map_err(Into::into))
            .collect())
    }

    fn rows(&self, function: &Function, rows: &[Value]) -> Result<Vec<Value>> {
        Ok(self.with(function, |channel| {
            stage(channel, None, rows)?;
            channel.send(&Request::rows(function));
            match channel.result()? {
                Value::Array(rows) => Ok(rows),
                other => Err(Problem::Protocol(other.to_string())),
            }
        })?)
    }

    fn splits(
        &self,
        function: &Function,
        keywords: &Map<String, Value>,
    ) -> Result<Vec<(String, Vec<Value>)>> {
        Ok(self.with(function, |channel| {
            channel.send(&Request::splits(function, keywords));
            channel.splits()
        })?)
    }

    fn object(
        &self,
        class: &Function,
        config: &Map<String, Value>,
        splits: &[(String, Vec<Value>)],
    ) -> Result<Box<dyn Object>> {
        let fail = |problem| PythonError::new(class, problem);
        let mut channel = self.open().map_err(fail)?;
        {
            let channel: &mut dyn Channel = &mut channel;
            for (split, rows) in splits {
                stage(channel, Some(split), rows).map_err(fail)?;
            }
            channel.send(&Request::build(class, config));
            channel.result().map_err(fail)?;
        }
        Ok(Box::new(PythonObject::new(
            class.clone(),
            Box::new(channel),
        )))
    }
}
