//! `Failure`: why a call or an example produced no output.
//!
//! Kinds are few and stable: reports group by them, exit codes and (later) the
//! circuit breaker decide by them. The message says the rest.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The sort of thing that went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The record itself cannot be used.
    BadExample,
    /// The endpoint refused the credentials (HTTP 401 or 403).
    Unauthorized,
    /// The endpoint does not know the address or the model (HTTP 404).
    NotFound,
    /// The endpoint refused this request (any other HTTP 4xx).
    BadRequest,
    /// Still rate limited after all retries (HTTP 429).
    RateLimited,
    /// Still a server error after all retries (HTTP 5xx).
    ServerError,
    /// No connection could be made.
    Connection,
    /// No complete reply in time.
    Timeout,
    /// A reply came, but it could not be understood.
    BadReply,
    /// The endpoint cannot do what is asked for at all.
    Unsupported,
    /// A child process crashed or broke the protocol.
    Process,
    /// The code of a system panicked.
    Panic,
    /// The store that may hold the answer cannot be read; nothing was asked.
    Store,
    /// The process that asked was lost again and again, on whatever machine it ran.
    WorkerLost,
    /// Anything else, mostly from user code.
    Other,
}

impl FailureKind {
    /// The name as written in reports and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadExample => "bad_example",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not_found",
            Self::BadRequest => "bad_request",
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::Connection => "connection",
            Self::Timeout => "timeout",
            Self::BadReply => "bad_reply",
            Self::Unsupported => "unsupported",
            Self::Process => "process",
            Self::Panic => "panic",
            Self::Store => "store",
            Self::WorkerLost => "worker_lost",
            Self::Other => "other",
        }
    }

    /// What a user can do about it, when there is a general hint.
    pub fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::Unauthorized => {
                "set `OPENAI_API_KEY` (`ANTHROPIC_API_KEY` with `--api anthropic`), or name the \
                 variable that holds the key with `--api-key-env`"
            }
            Self::NotFound => "check the URL and `--model`; the base URL may end in `/v1` or not",
            Self::RateLimited => "lower `--max-workers` or raise `--max-retries`",
            Self::Connection => "check that the endpoint is running and that the URL is right",
            Self::Timeout => "raise `--timeout` or lower `--max-workers`",
            Self::BadReply => "check that the URL is an OpenAI-compatible endpoint",
            Self::Unsupported => {
                "likelihoods need `/v1/completions` with `echo` and `logprobs`; a task that \
                 asks for them runs on any endpoint as `TASK@generate` or `TASK@cot`"
            }
            Self::Store => {
                "check the store and run again: only what is not in it is asked; with another \
                 `--cache-dir` everything is"
            }
            Self::WorkerLost => {
                "the system, or the memory of the machine, ends its process at this example: try the \
                 example alone"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a row has no output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The sort of failure.
    pub kind: FailureKind,
    /// What happened, in words; never holds a key.
    pub message: String,
    /// Where it happened, when the failing code says so: a traceback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<Box<str>>,
}

impl Failure {
    /// A failure of that kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            traceback: None,
        }
    }

    /// Adds where it happened.
    #[must_use]
    pub fn with_traceback(mut self, traceback: impl Into<Box<str>>) -> Self {
        self.traceback = Some(traceback.into());
        self
    }
}
