//! The pool: processes as they are needed, calls spread over them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Map, Value};

use super::PythonSettings;
use super::channel::Channel;
use super::error::{Problem, PythonError};
use super::object::PythonObject;
use super::process::{Process, Reply};
use super::request::{Call, Request, stage};
use crate::error::Result;
use crate::function::{Function, Host, Object};

/// Calls that go to a process at once: few enough to spread, enough to be cheap.
const FEWEST_CALLS: usize = 32;
const MOST_CALLS: usize = 256;

/// The outcome of one call.
pub type Outcome = std::result::Result<Value, PythonError>;

/// A [`Host`] of child Python processes. None is started before the first call; all end
/// with the pool.
#[derive(Debug)]
pub struct PythonPool {
    settings: PythonSettings,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Process>,
    /// Those idle and those at work.
    started: usize,
}

impl PythonPool {
    /// A pool without processes yet.
    pub fn new(settings: PythonSettings) -> Self {
        Self {
            settings,
            state: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// How it was set up.
    pub fn settings(&self) -> &PythonSettings {
        &self.settings
    }

    /// The number of processes there are now, not counting those of objects.
    pub fn started(&self) -> usize {
        self.state().started
    }

    /// Calls a function once per list of arguments. The outcomes have the order of the
    /// calls; one that fails or takes its process down does not affect the others. An error as a
    /// whole means that the function could not be loaded.
    pub fn call_many(
        &self,
        function: &Function,
        calls: &[Vec<Value>],
    ) -> std::result::Result<Vec<Outcome>, PythonError> {
        let none = Map::new();
        let calls: Vec<Call<'_>> = calls
            .iter()
            .map(|args| Call {
                args,
                kwargs: &none,
            })
            .collect();
        self.spread(function, &calls)
    }

    /// Calls a function with positional arguments and keywords.
    pub fn call_one(
        &self,
        function: &Function,
        args: &[Value],
        kwargs: &Map<String, Value>,
    ) -> Outcome {
        let mut outcomes = self.in_one(function, &[Call { args, kwargs }])?;
        outcomes.pop().unwrap_or_else(|| {
            let problem = Problem::Protocol("nothing".into());
            Err(PythonError::new(function, problem))
        })
    }

    /// Hands a table to a function such as `process_docs`; gives the rows it returns.
    pub fn rows(
        &self,
        function: &Function,
        rows: &[Value],
    ) -> std::result::Result<Vec<Value>, PythonError> {
        self.with(function, |process| {
            stage(process, None, rows)?;
            process.send(&Request::rows(function));
            match process.result()? {
                Value::Array(rows) => Ok(rows),
                other => Err(Problem::Protocol(other.to_string())),
            }
        })
    }

    /// Calls a function such as `custom_dataset`; gives the rows of each split.
    pub fn splits(
        &self,
        function: &Function,
        kwargs: &Map<String, Value>,
    ) -> std::result::Result<Vec<(String, Vec<Value>)>, PythonError> {
        self.with(function, |process| {
            process.send(&Request::splits(function, kwargs));
            process.splits()
        })
    }

    /// Makes an object of a class, in a process of its own.
    pub fn object(
        &self,
        class: &Function,
        config: &Map<String, Value>,
        splits: &[(String, Vec<Value>)],
    ) -> std::result::Result<PythonObject, PythonError> {
        let fail = |problem| PythonError::new(class, problem);
        let mut process = Process::start(&self.settings).map_err(fail)?;
        let channel: &mut dyn Channel = &mut process;
        for (split, rows) in splits {
            stage(channel, Some(split), rows).map_err(fail)?;
        }
        channel.send(&Request::build(class, config));
        channel.result().map_err(fail)?;
        Ok(PythonObject::new(class.clone(), Box::new(process)))
    }

    fn spread(
        &self,
        function: &Function,
        calls: &[Call<'_>],
    ) -> std::result::Result<Vec<Outcome>, PythonError> {
        let processes = self.settings.processes.get();
        let size = (calls.len() / (processes * 4)).clamp(FEWEST_CALLS, MOST_CALLS);
        let threads = processes.min(calls.len().div_ceil(size));
        if threads < 2 {
            return self.in_one(function, calls);
        }
        let portions: VecDeque<_> = calls.chunks(size).enumerate().collect();
        let portions = Mutex::new(portions);
        let next = || {
            let mut portions = portions.lock().unwrap_or_else(PoisonError::into_inner);
            portions.pop_front()
        };
        let work = || {
            let mut done = Vec::new();
            while let Some((at, portion)) = next() {
                match self.in_one(function, portion) {
                    Ok(outcomes) => done.push((at, outcomes)),
                    Err(error) => {
                        // It will be the same for the others.
                        while next().is_some() {}
                        return Err(error);
                    }
                }
            }
            Ok(done)
        };
        let mut done = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut all = Vec::new();
            for worker in workers {
                match worker.join() {
                    Ok(done) => all.extend(done?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(all)
        })?;
        done.sort_by_key(|(at, _)| *at);
        Ok(done
            .into_iter()
            .flat_map(|(_, outcomes)| outcomes)
            .collect())
    }

    /// Calls in one process; in a new one after a call that takes it down.
    fn in_one(
        &self,
        function: &Function,
        calls: &[Call<'_>],
    ) -> std::result::Result<Vec<Outcome>, PythonError> {
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(calls.len());
        while outcomes.len() < calls.len() {
            let before = outcomes.len();
            let outcome = self.with(function, |process| {
                process.send(&Request::calls(function, &calls[before..]));
                match process.receive()? {
                    Reply::Loaded(()) => {}
                    Reply::Error(failed) => return Err(failed.into()),
                    other => return Err(Problem::Protocol(format!("{other:?}"))),
                }
                for _ in before..calls.len() {
                    let result = process.result();
                    let lost = result
                        .as_ref()
                        .err()
                        .filter(|problem| is_lost(problem))
                        .cloned();
                    outcomes.push(result.map_err(|problem| PythonError::new(function, problem)));
                    if let Some(problem) = lost {
                        return Err(problem);
                    }
                }
                Ok(())
            });
            match outcome {
                // The call that took the process down has its outcome; the others go on.
                Err(_) if outcomes.len() > before => {}
                outcome => outcome?,
            }
        }
        Ok(outcomes)
    }

    /// Works with a process, which goes back to the pool unless it was lost or the
    /// work panicked.
    fn with<T>(
        &self,
        function: &Function,
        mut work: impl FnMut(&mut dyn Channel) -> std::result::Result<T, Problem>,
    ) -> std::result::Result<T, PythonError> {
        let fail = |problem| PythonError::new(function, problem);
        loop {
            let (permit, idle) = self.permit();
            let was_idle = idle.is_some();
            let started = idle.map_or_else(|| Process::start(&self.settings), Ok);
            let mut process = started.map_err(fail)?;
            process.answered = false;
            let outcome = work(&mut process);
            match &outcome {
                // It was ended while it had nothing to do, and that only shows now.
                Err(Problem::Ended { .. }) if was_idle && !process.answered => continue,
                Err(problem) if is_lost(problem) => {}
                _ => permit.keep(process),
            }
            return outcome.map_err(fail);
        }
    }

    /// Waits for a permit to use a process; comes with an idle one, if there is one.
    fn permit(&self) -> (PoolPermit<'_>, Option<Process>) {
        let mut state = self.state();
        loop {
            if let Some(mut process) = state.idle.pop() {
                // One that ended while it had nothing to do is replaced: no call is lost.
                let process = process.is_alive().then_some(process);
                return (PoolPermit(self), process);
            }
            if state.started < self.settings.processes.get() {
                state.started += 1;
                return (PoolPermit(self), None);
            }
            state = self
                .freed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete in one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PythonPool {
    fn drop(&mut self) {
        let mut state = self.state();
        // All are asked to end before any of them is waited for.
        state.idle.iter_mut().for_each(Process::close);
        state.idle.clear();
    }
}

impl Host for PythonPool {
    fn load(&self, function: &Function) -> Result<()> {
        Ok(self.with(function, |process| {
            process.send(&Request::calls(function, &[]));
            match process.receive()? {
                Reply::Loaded(()) => Ok(()),
                Reply::Error(failed) => Err(failed.into()),
                other => Err(Problem::Protocol(format!("{other:?}"))),
            }
        })?)
    }

    fn call(&self, function: &Function, args: &[Value]) -> Result<Value> {
        Ok(self.call_one(function, args, &Map::new())?)
    }

    fn call_with(&self, function: &Function, keywords: &Map<String, Value>) -> Result<Value> {
        Ok(self.call_one(function, &[], keywords)?)
    }

    fn call_many(&self, function: &Function, calls: &[Vec<Value>]) -> Result<Vec<Result<Value>>> {
        let outcomes = Self::call_many(self, function, calls)?;
        let outcomes = outcomes.into_iter();
        Ok(outcomes
            .map(|outcome| outcome.map_err(Into::into))
            .collect())
    }

    fn call_many_with(
        &self,
        function: &Function,
        calls: &[Map<String, Value>],
    ) -> Result<Vec<Result<Value>>> {
        let calls: Vec<Call<'_>> = calls
            .iter()
            .map(|kwargs| Call { args: &[], kwargs })
            .collect();
        let outcomes = self.spread(function, &calls)?.into_iter();
        Ok(outcomes
            .map(|outcome| outcome.map_err(Into::into))
            .collect())
    }

    fn rows(&self, function: &Function, rows: &[Value]) -> Result<Vec<Value>> {
        Ok(Self::rows(self, function, rows)?)
    }

    fn splits(
        &self,
        function: &Function,
        keywords: &Map<String, Value>,
    ) -> Result<Vec<(String, Vec<Value>)>> {
        Ok(Self::splits(self, function, keywords)?)
    }

    fn object(
        &self,
        class: &Function,
        config: &Map<String, Value>,
        splits: &[(String, Vec<Value>)],
    ) -> Result<Box<dyn Object>> {
        Ok(Box::new(Self::object(self, class, config, splits)?))
    }
}

/// Whether a process is of no more use after a problem.
pub(super) fn is_lost(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::Ended { .. } | Problem::TimedOut { .. } | Problem::Protocol(_)
    )
}

/// A permit to run one process of a pool; it goes back when dropped.
struct PoolPermit<'a>(&'a PythonPool);

impl PoolPermit<'_> {
    fn keep(self, process: Process) {
        let mut state = self.0.state();
        state.idle.push(process);
        // Dropping `self`, with the lock released, takes one away.
        state.started += 1;
        drop(state);
    }
}

impl Drop for PoolPermit<'_> {
    fn drop(&mut self) {
        self.0.state().started -= 1;
        self.0.freed.notify_one();
    }
}
