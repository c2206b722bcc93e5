//! `CommandInstance`: one child and the conversation that it has taken in.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use context_bench_memory::Turn;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::Shared;
use super::protocol::{Done, Hello, Ingested, Loaded, Outcome, Request, Saved};
use super::saved_state;
use crate::memory::{AnswerReply, Ingest, MemoryAnswer, MemoryQuery, MemorySystem};
use crate::model::FailureKind;
use crate::stopwatch::setting_aside;
use crate::system::SystemError;
use crate::system::command::{Unanswered, Worker, read_map};

/// After so many crashes in a row no further child takes the conversation in: each may
/// cost as many calls of a model as there are turns.
const MAX_CRASHES: u32 = 3;

/// One child and what to tell its successor.
#[derive(Debug)]
pub(super) struct CommandInstance {
    shared: Arc<Shared>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Taken out while it is asked: a call that is dropped half-way ends its child, since
    /// the reply would be taken for that to the next request.
    child: Option<Child>,
    /// The requests that brought it where it is since the last reset, as lines.
    taken_in: Vec<Vec<u8>>,
    /// How often children ended over questions, one after the other.
    crashes: u32,
}

#[derive(Debug)]
struct Child {
    worker: Worker,
    hello: Hello,
}

impl CommandInstance {
    /// Starts the child and lets it introduce itself.
    pub(super) async fn start(shared: Arc<Shared>) -> Result<Self, SystemError> {
        let instance = Self {
            shared,
            held: Mutex::default(),
        };
        let mut held = instance.held.lock().await;
        instance.new_child(&mut held).await?;
        drop(held);
        Ok(instance)
    }

    async fn new_child(&self, held: &mut Held) -> Result<(), SystemError> {
        let worker = self.shared.program.start()?;
        let hello = Hello::default();
        held.child = Some(Child { worker, hello });
        let hello: Hello = self.ask(held, &Request::Hello).await?;
        let masked = |text: Option<String>| text.map(|text| self.shared.program.redact(&text));
        if let Some(child) = &mut held.child {
            child.hello = Hello {
                name: masked(hello.name),
                version: masked(hello.version),
                ..hello
            };
        }
        Ok(())
    }

    /// A child that knows what its predecessor knew; what that took, if there was none.
    async fn restored(&self, held: &mut Held) -> Result<Option<Value>, SystemError> {
        if held.child.is_some() {
            return Ok(None);
        }
        if held.crashes >= MAX_CRASHES {
            return Err(SystemError::new(
                FailureKind::Process,
                format!(
                    "the command ended {MAX_CRASHES} times in a row; it is not started again \
                     for this conversation"
                ),
            ));
        }
        let started = Instant::now();
        let mut again = Map::new();
        let restore = async {
            self.new_child(held).await?;
            // What it keeps outside of itself may be there still.
            let _: Done = self.ask(held, &Request::Reset).await?;
            for line in held.taken_in.clone() {
                let known: Ingested = self.ask_line(held, "ingest", line, true).await?;
                if known.loaded == Some(false) {
                    return Err("the command does not load the state that it loaded before".into());
                }
                if let Some(usage) = known.usage {
                    crate::system::add_usage(&mut again, &usage);
                }
            }
            Ok::<(), SystemError>(())
        };
        // Not the time that the question takes.
        if let Err(error) = setting_aside(restore).await {
            // One that knows half of it is of no use either.
            held.child = None;
            held.crashes += 1;
            return Err(error);
        }
        let seconds = started.elapsed().as_secs_f64();
        Ok(Some(json!({"seconds": seconds, "usage": again})))
    }

    /// The reply to a request.
    async fn ask<R: DeserializeOwned>(
        &self,
        held: &mut Held,
        request: &Request<'_>,
    ) -> Result<R, SystemError> {
        let line = line(request)?;
        self.ask_line(held, request.op(), line, request.takes_in())
            .await
    }

    async fn ask_line<R: DeserializeOwned>(
        &self,
        held: &mut Held,
        op: &str,
        line: Vec<u8>,
        takes_in: bool,
    ) -> Result<R, SystemError> {
        let Shared { program, settings } = &*self.shared;
        let about = |mut error: SystemError| {
            error.failure.message = format!("`{op}`: {}", error.failure.message);
            error
        };
        let timeout = match takes_in {
            true => settings.ingest_timeout,
            false => settings.command.timeout,
        };
        let Some(Child { worker, hello }) = held.child.take() else {
            return Err(about("there is no child to ask".into()));
        };
        let (worker, reply) = match program.ask(worker, &line, timeout).await {
            Ok(answered) => answered,
            Err(Unanswered::Closed(worker)) => return Err(about(program.closed(*worker).await)),
            Err(Unanswered::Failed(error)) => return Err(about(error)),
        };
        let read = read_map(&reply).and_then(|fields| {
            Outcome::of(fields).ok_or_else(|| "the command wrote a reply without `ok`".to_owned())
        });
        let outcome = match read {
            Ok(outcome) => outcome,
            Err(what) => {
                let what = format!("{what}: `{}`", program.excerpt(&reply));
                return Err(about(program.broken(worker, what).await));
            }
        };
        // From here on both sides agree on whose turn it is.
        held.child = Some(Child { worker, hello });
        match outcome {
            Outcome::Failure(message) => Err(SystemError::new(
                FailureKind::Other,
                program.redact(&message),
            )),
            Outcome::Success(fields) => {
                serde_json::from_value(Value::Object(fields)).map_err(|error| {
                    let shown = program.excerpt(&reply);
                    let what = format!("the reply cannot be used: {error}: `{shown}`");
                    about(SystemError::new(
                        FailureKind::BadReply,
                        program.redact(&what),
                    ))
                })
            }
        }
    }
}

#[async_trait]
impl MemorySystem for CommandInstance {
    async fn reset(&self) -> Result<(), SystemError> {
        let mut held = self.held.lock().await;
        held.taken_in.clear();
        held.crashes = 0;
        if held.child.is_some() {
            let reset: Result<Done, _> = self.ask(&mut held, &Request::Reset).await;
            match reset {
                Ok(_) => return Ok(()),
                Err(error) if held.child.is_some() => return Err(error),
                // It ended, which forgets as well; a new child tells whether it can go on.
                Err(_) => {}
            }
        }
        self.new_child(&mut held).await?;
        let _: Done = self.ask(&mut held, &Request::Reset).await?;
        Ok(())
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        let mut held = self.held.lock().await;
        self.restored(&mut held).await?;
        let line = line(&Request::ingest(turns))?;
        let reply: Ingested = self
            .ask_line(&mut held, "ingest", line.clone(), true)
            .await?;
        held.taken_in.push(line);
        let mut details = reply.details.unwrap_or_default();
        if let Some(Child { hello, .. }) = &held.child
            && hello.name.is_some()
        {
            let who = json!({"name": hello.name, "version": hello.version});
            details.entry("memory").or_insert(who);
        }
        Ok(Ingest {
            usage: reply.usage,
            details,
            ..Ingest::default()
        })
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        let mut held = self.held.lock().await;
        let again = self.restored(&mut held).await?;
        // Counted before it is asked: a question that is given up ends the child too.
        held.crashes += 1;
        let answered: Result<AnswerReply, _> = self.ask(&mut held, &Request::query(query)).await;
        if held.child.is_some() {
            held.crashes = 0;
        }
        let mut answer = MemoryAnswer::from(answered?);
        if let Some(again) = again {
            answer.details.insert("taken_in_again".into(), again);
        }
        Ok(answer)
    }

    async fn save(&self) -> Result<Option<Vec<u8>>, SystemError> {
        let mut held = self.held.lock().await;
        self.restored(&mut held).await?;
        let Some(hello) = held.child.as_ref().map(|child| child.hello.clone()) else {
            return Ok(None);
        };
        if !hello.saves {
            return Ok(None);
        }
        let reply: Saved = self.ask(&mut held, &Request::Save).await?;
        let Some(state) = reply.state else {
            return Ok(None);
        };
        let packed = saved_state::pack(&hello, &state);
        packed
            .map(Some)
            .map_err(|what| SystemError::new(FailureKind::BadReply, format!("`save`: {what}")))
    }

    async fn load(&self, state: &[u8]) -> Result<bool, SystemError> {
        let mut held = self.held.lock().await;
        held.taken_in.clear();
        held.crashes = 0;
        self.restored(&mut held).await?;
        let Some(Child { hello, .. }) = held.child.as_ref().filter(|child| child.hello.saves)
        else {
            return Ok(false);
        };
        let Some(state) = saved_state::unpack(hello, state) else {
            return Ok(false);
        };
        let request = Request::Load { state: &state };
        let reply: Loaded = self.ask(&mut held, &request).await?;
        if reply.loaded {
            held.taken_in.push(line(&request)?);
        }
        Ok(reply.loaded)
    }
}

fn line(request: &Request<'_>) -> Result<Vec<u8>, SystemError> {
    let mut line = serde_json::to_vec(request)
        .map_err(|error| SystemError::new(FailureKind::BadExample, error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}
