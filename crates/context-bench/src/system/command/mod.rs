//! `CommandSystem`: a system in any language, as a child process.
//!
//! The child reads one line per example (the example as compact JSON) and
//! writes one line back: the processed map, or `{"error": "message"}`. Children
//! are started when needed, used by one call at a time and kept for the next.
//! No shell is involved.

mod error;
pub(crate) mod identity;
mod process;
mod program;
mod reply;
mod split;
mod tail;

pub use error::CommandError;
pub(crate) use process::Worker;
pub(crate) use program::{Program, Unanswered};
pub(crate) use reply::read_map;
pub use split::split_command;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::{System, SystemError};
use crate::chat::Secret;
use crate::mask::Mask;
use crate::model::{Example, FailureKind, Identity, Output};
use crate::stopwatch::pausing;
use crate::text::stringify;

/// How to run a command as a system.
#[derive(Clone)]
#[non_exhaustive]
pub struct CommandSettings {
    /// The program and its arguments; [`split_command`] makes them of one text.
    pub command: Vec<String>,
    /// The name that reports show; unless set, the file name of the program and
    /// of the script that follows it.
    pub name: Option<String>,
    /// The most children at a time, hence the most examples at a time; the
    /// number of processors unless set. Others wait, which counts as latency.
    pub processes: usize,
    /// How long one example may take, the start of its child included; 120
    /// seconds unless set.
    pub timeout: Duration,
    /// Variables for the child, besides those of this process.
    pub env: Vec<(String, String)>,
    /// A version that you give the program. Stored answers are reused only for
    /// the same command and version: give another one whenever answers may differ.
    pub version: Option<String>,
    /// What the child may know and no message may show, such as keys that it
    /// inherits. Values of `env` whose name says so (`…KEY`, `…TOKEN`) are added.
    pub secrets: Vec<Secret>,
}

impl CommandSettings {
    /// The defaults for this command.
    pub fn new<W: Into<String>>(command: impl IntoIterator<Item = W>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            name: None,
            processes: std::thread::available_parallelism().map_or(1, usize::from),
            timeout: Duration::from_secs(120),
            env: Vec::new(),
            version: None,
            secrets: Vec::new(),
        }
    }

    /// The defaults for a command line.
    ///
    /// # Errors
    ///
    /// When the text cannot be split into words.
    pub fn parse(text: &str) -> Result<Self, CommandError> {
        split_command(text).map(Self::new)
    }
}

/// Shows the names of variables, but not their values.
impl std::fmt::Debug for CommandSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let env: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("CommandSettings")
            .field("command", &Mask::Dots.words(&self.command))
            .field("name", &self.name)
            .field("processes", &self.processes)
            .field("timeout", &self.timeout)
            .field("env", &env)
            .finish()
    }
}

/// A system that is a command; see [`CommandSettings`].
///
/// A child that crashes, writes something else than JSON or takes too long is
/// killed with all it started, and the next call gets a new one. What it wrote
/// to standard error last is part of the message of the failed row.
#[derive(Debug)]
pub struct CommandSystem {
    program: Program,
    settings: CommandSettings,
    slots: Semaphore,
    idle: Mutex<Vec<Worker>>,
}

impl CommandSystem {
    /// Makes a system; no child is started yet.
    ///
    /// # Errors
    ///
    /// When the command is empty or its program cannot be found.
    pub fn new(settings: CommandSettings) -> Result<Self, CommandError> {
        Ok(Self {
            program: Program::new(&settings, "an example")?,
            slots: Semaphore::new(settings.processes.clamp(1, Semaphore::MAX_PERMITS)),
            idle: Mutex::default(),
            settings,
        })
    }

    /// A child that waits for work.
    fn idle_worker(&self) -> Option<Worker> {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
    }

    fn keep(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
    }

    /// Sends a line to a child and gives both the child and its reply.
    async fn ask(&self, line: &[u8]) -> Result<(Worker, Vec<u8>), SystemError> {
        let timeout = self.settings.timeout;
        if let Some(worker) = self.idle_worker() {
            match self.program.ask(worker, line, timeout).await {
                Ok(answered) => return Ok(answered),
                // It may have ended after its last reply and not because of this
                // example; a new child tells.
                Err(Unanswered::Closed(_)) => {}
                Err(Unanswered::Failed(error)) => return Err(error),
            }
        }
        let worker = self.program.start()?;
        match self.program.ask(worker, line, timeout).await {
            Ok(answered) => Ok(answered),
            Err(Unanswered::Closed(worker)) => Err(self.program.closed(*worker).await),
            Err(Unanswered::Failed(error)) => Err(error),
        }
    }
}

#[async_trait]
impl System for CommandSystem {
    fn name(&self) -> &str {
        self.program.name()
    }

    fn identity(&self) -> Option<Identity> {
        Some(identity::of(&self.settings))
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        // The semaphore is never closed, so this cannot fail.
        let _slot = pausing(self.slots.acquire()).await;
        let mut line = serde_json::to_vec(example)
            .map_err(|error| SystemError::new(FailureKind::BadExample, error.to_string()))?;
        line.push(b'\n');
        let (worker, reply) = self.ask(&line).await?;
        let fields = match read_reply(&reply, example) {
            Ok(fields) => fields,
            Err(what) => {
                let what = format!("{what}: `{}`", self.program.excerpt(&reply));
                return Err(self.program.broken(worker, what).await);
            }
        };
        self.keep(worker);
        match error_message(&fields, example) {
            Some(message) => Err(SystemError::new(
                FailureKind::Other,
                self.program.redact(&message),
            )),
            None => Ok(Output::from(fields)),
        }
    }
}

fn read_reply(line: &[u8], example: &Example) -> Result<Map<String, Value>, String> {
    let fields = read_map(line)?;
    match (fields.get("id"), example.get("id")) {
        // A stray reply would otherwise be scored as the answer to another example.
        (Some(found), Some(wanted)) if found != wanted => Err(format!(
            "the command replied to example {found} instead of {wanted}"
        )),
        _ => Ok(fields),
    }
}

/// The message of a reply that reports an error: one with `error` and no
/// `response`, unless the example itself has a field `error`.
fn error_message(fields: &Map<String, Value>, example: &Example) -> Option<String> {
    let error = fields.get("error").filter(|error| !error.is_null())?;
    let is_report = !fields.contains_key("response") && example.get("error").is_none();
    is_report.then(|| stringify::python_str(error).into_owned())
}

/// `python3 compress.py` of `/usr/bin/python3 tools/compress.py --rate 0.5`.
fn default_name(command: &[String]) -> String {
    let script = command.get(1).filter(|word| !word.starts_with('-'));
    let names = command.first().into_iter().chain(script).map(|word| {
        let path = std::path::Path::new(word);
        path.file_name()
            .map_or_else(|| word.clone(), |name| name.to_string_lossy().into_owned())
    });
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example(value: Value) -> Example {
        Example::try_from(value).expect("a map")
    }

    #[test]
    fn names_are_short() {
        for (text, expected) in [
            (
                "/usr/bin/python3 tools/compress.py --rate 0.5",
                "python3 compress.py",
            ),
            ("./compress --rate 0.5", "compress"),
            ("cat", "cat"),
        ] {
            let command = split_command(text).expect(text);
            assert_eq!(default_name(&command), expected);
        }
    }

    #[test]
    fn replies_are_maps_for_the_same_example() {
        let sent = example(json!({"id": 1}));
        for (line, expected) in [
            (r#"{"id": 1, "response": "x"}"#, None),
            (r#"{"response": "x"}"#, None),
            (r#"{"id": 2}"#, Some("replied to example 2 instead of 1")),
            ("[1]", Some("JSON that is not a map")),
            ("Loading model ...", Some("a line that is not JSON")),
        ] {
            let error = read_reply(line.as_bytes(), &sent).err();
            assert_eq!(error.is_some(), expected.is_some(), "{line}: {error:?}");
            let text = error.unwrap_or_default();
            assert!(text.contains(expected.unwrap_or_default()), "{text}");
        }
    }

    #[test]
    fn an_error_reply_is_told_from_a_field_called_error() {
        let plain = example(json!({"context": "C"}));
        let with_field = example(json!({"error": "E404"}));
        let message =
            |fields: Value, sent: &Example| error_message(fields.as_object().expect("a map"), sent);
        assert_eq!(message(json!({"error": "no"}), &plain), Some("no".into()));
        assert_eq!(
            message(json!({"error": {"a": 1}}), &plain),
            Some("{'a': 1}".into())
        );
        assert_eq!(message(json!({"error": null}), &plain), None);
        assert_eq!(
            message(json!({"error": "x", "response": "r"}), &plain),
            None
        );
        assert_eq!(message(json!({"error": "E404"}), &with_field), None);
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let mut settings = CommandSettings::new(["cat"]);
        settings.env = vec![("MY_KEY".into(), "sk-123456".into())];
        let shown = format!("{settings:?}");
        assert!(
            shown.contains("MY_KEY") && !shown.contains("sk-123456"),
            "{shown}"
        );
    }
}
