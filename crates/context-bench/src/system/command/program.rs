//! `Program`: the command of a user, from which children are started and which they are
//! asked through.
//!
//! It knows lines, limits of time and what a child did wrong; what lines mean is known to
//! those who ask.

use std::time::Duration;

use super::error::{self, CommandError};
use super::process::{Broken, Worker};
use super::{CommandSettings, default_name};
use crate::chat::{Secret, Secrets, seconds};
use crate::mask::{self, Mask};
use crate::model::FailureKind;
use crate::stopwatch::Stopwatch;
use crate::system::SystemError;

/// How much of a line that cannot be used is shown.
const EXCERPT: usize = 300;

/// A command whose program exists.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    words: Vec<String>,
    env: Vec<(String, String)>,
    secrets: Secrets,
    /// What one line asks about, for messages.
    asked_for: &'static str,
}

/// Why a child gave no reply.
pub(crate) enum Unanswered {
    /// It closed its output, maybe before it was asked.
    Closed(Box<Worker>),
    /// It broke the protocol or took too long, and was ended.
    Failed(SystemError),
}

impl Program {
    /// The command of these settings; no child is started yet.
    ///
    /// # Errors
    ///
    /// When the command is empty or its program cannot be found.
    pub(crate) fn new(
        settings: &CommandSettings,
        asked_for: &'static str,
    ) -> Result<Self, CommandError> {
        let program = settings.command.first().filter(|word| !word.is_empty());
        let program = program.ok_or(CommandError::Empty)?;
        error::check_program(program, &settings.env)?;
        let of_variables = settings.env.iter();
        let of_variables = of_variables
            .filter(|(name, _)| mask::is_secret(name))
            .map(|(_, value)| Secret::new(value));
        let of_words = mask::secrets_in_words(&settings.command);
        let secrets = of_variables
            .chain(of_words.into_iter().map(Secret::new))
            .chain(settings.secrets.iter().cloned());
        Ok(Self {
            name: match &settings.name {
                Some(name) => Mask::Dots.text(name),
                None => default_name(&settings.command),
            },
            words: settings.command.clone(),
            env: settings.env.clone(),
            secrets: Secrets::new(secrets),
            asked_for,
        })
    }

    /// The name that reports show.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A new child.
    pub(crate) fn start(&self) -> Result<Worker, SystemError> {
        Worker::start(&self.words, &self.env).map_err(|error| {
            let program = self.words.first().map_or("", String::as_str);
            let error = CommandError::from_start(program, &error);
            SystemError::new(FailureKind::Process, error.to_string())
        })
    }

    /// Sends a line to a child and gives both the child and its reply. A child whose reply
    /// nobody waits for any more is ended: the next one would get it.
    pub(crate) async fn ask(
        &self,
        mut worker: Worker,
        line: &[u8],
        timeout: Duration,
    ) -> Result<(Worker, Vec<u8>), Unanswered> {
        if let Some(bytes) = worker.unasked() {
            // Whose reply is whose is not known any more.
            let what = format!(
                "the command wrote more than one line for {}: `{}`",
                self.asked_for,
                self.excerpt(&bytes)
            );
            return Err(Unanswered::Failed(self.broken(worker, what).await));
        }
        let what = match tokio::time::timeout(timeout, worker.exchange(line)).await {
            Ok(Ok(reply)) => return Ok((worker, reply)),
            Ok(Err(Broken::Closed)) => return Err(Unanswered::Closed(Box::new(worker))),
            Ok(Err(Broken::TooLong)) => "the command wrote a line of more than 64 MB".to_owned(),
            Ok(Err(Broken::Pipe(error))) => format!("the command cannot be read: {error}"),
            Err(_) => {
                Stopwatch::tell_timeout();
                let what = format!("the command did not answer within {} s", seconds(timeout));
                let (_, stderr) = worker.end(false).await;
                let error = self.failed(FailureKind::Timeout, what, &stderr);
                return Err(Unanswered::Failed(error));
            }
        };
        Err(Unanswered::Failed(self.broken(worker, what).await))
    }

    /// Ends a child that broke the protocol and says what it did.
    pub(crate) async fn broken(&self, worker: Worker, what: String) -> SystemError {
        let (_, stderr) = worker.end(false).await;
        self.failed(FailureKind::Process, what, &stderr)
    }

    /// Ends a child that closed its output without a reply.
    pub(crate) async fn closed(&self, worker: Worker) -> SystemError {
        let (status, stderr) = worker.end(true).await;
        let what = match status {
            Some(status) => format!("the command ended without a reply ({status})"),
            None => "the command closed its output without a reply".to_owned(),
        };
        self.failed(FailureKind::Process, what, &stderr)
    }

    /// What a child says, without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.secrets.redact(text)
    }

    /// The beginning of a line that cannot be used.
    pub(crate) fn excerpt(&self, line: &[u8]) -> String {
        self.secrets.excerpt(line, EXCERPT)
    }

    fn failed(&self, kind: FailureKind, mut message: String, stderr: &str) -> SystemError {
        if !stderr.is_empty() {
            message.push_str("; its standard error ends with:\n");
            message.push_str(&self.redact(stderr));
        }
        SystemError::new(kind, message)
    }
}
