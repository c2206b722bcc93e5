//! Why a call to a chat endpoint gave no reply, and the message about it.
//!
//! Texts begin as those of the reference implementation do, so that scripts
//! which look for them go on working. Whatever came from outside has gone
//! through `Secrets` before it gets here.

use std::fmt;
use std::time::Duration;

use context_bench_http::{GaveUp, is_retryable};

use crate::model::{CallStats, FailureKind};

/// What went wrong in the last attempt of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatFailure {
    /// The endpoint answered with a status that is not a success.
    #[error(
        "OpenAI proxy returned HTTP {code}{}{}",
        after_colon(reason),
        after_colon(message)
    )]
    Status {
        /// The HTTP status.
        code: u16,
        /// The usual words for that status; empty for unknown ones.
        reason: String,
        /// What the endpoint said about it; empty when nothing.
        message: String,
    },
    /// No connection could be made, or it ended before a reply began.
    #[error("Could not connect to OpenAI proxy at {url}: {reason}")]
    Connect {
        /// The address, without credentials.
        url: String,
        /// The root cause.
        reason: String,
    },
    /// No complete reply came in time.
    #[error("OpenAI proxy did not answer within {} s{limit}", seconds(*after))]
    Timeout {
        /// How long was waited.
        after: Duration,
        /// Which limit that was.
        limit: Limit,
    },
    /// The reply stopped before its end.
    #[error("OpenAI proxy broke off its reply: {reason}")]
    BrokenOff {
        /// The root cause.
        reason: String,
    },
    /// The reply is not JSON.
    #[error("OpenAI proxy returned invalid JSON: {detail}")]
    InvalidJson {
        /// What the parser said, and how the reply begins.
        detail: String,
        /// Whether it looks like the beginning of a longer reply.
        cut: bool,
    },
    /// The reply has no choices.
    #[error("OpenAI proxy returned empty choices list")]
    EmptyChoices,
    /// The reply is JSON, but not a chat completion.
    #[error("Unexpected response structure from OpenAI proxy: {found}")]
    Structure {
        /// How the reply begins.
        found: String,
    },
    /// The endpoint reported an error in the middle of a stream.
    #[error("OpenAI proxy reported an error in its stream: {message}")]
    InStream {
        /// What the endpoint said.
        message: String,
        /// The HTTP status that the event names or stands for, if it does.
        code: Option<u16>,
    },
    /// The endpoint reported an error in a reply whose status is a success.
    #[error("OpenAI proxy reported an error: {message}")]
    Reported {
        /// What the endpoint said.
        message: String,
        /// The HTTP status that the error stands for, if that is known.
        code: Option<u16>,
    },
    /// The reply is larger than any reply should be.
    #[error("OpenAI proxy returned more than {} MB", limit / 1_000_000)]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

/// The limit that a timeout ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The time of one attempt.
    Attempt,
    /// The time between two pieces of a stream.
    Idle,
    /// The time of the whole call, retries included.
    Deadline,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attempt => "",
            Self::Idle => ": its stream stalled",
            Self::Deadline => ", the deadline of the whole call",
        })
    }
}

impl ChatFailure {
    /// Whether the same request may succeed later.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Self::Status { code, .. } => is_retryable(*code),
            Self::InStream { code, .. } | Self::Reported { code, .. } => {
                code.is_some_and(is_retryable)
            }
            Self::InvalidJson { cut, .. } => *cut,
            Self::Connect { .. } | Self::Timeout { .. } | Self::BrokenOff { .. } => true,
            Self::EmptyChoices | Self::Structure { .. } | Self::TooLarge { .. } => false,
        }
    }

    /// Whether the endpoint says that it has too much to do.
    pub(crate) fn is_throttling(&self) -> bool {
        let busy = |code: u16| matches!(code, 429 | 503 | 529);
        match self {
            Self::Status { code, .. } => busy(*code),
            Self::InStream { code, .. } | Self::Reported { code, .. } => code.is_some_and(busy),
            _ => false,
        }
    }

    /// Whether the endpoint refuses a request because of this member of its body.
    pub(crate) fn refuses(&self, member: &str) -> bool {
        match self {
            Self::Status { code, message, .. } => {
                matches!(code, 400 | 422) && message.to_ascii_lowercase().contains(member)
            }
            _ => false,
        }
    }

    /// The kind that reports group by.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Status { code, .. } => kind_of_status(*code),
            Self::InStream { code, .. } | Self::Reported { code, .. } => {
                code.map_or(FailureKind::ServerError, kind_of_status)
            }
            Self::Connect { .. } | Self::BrokenOff { .. } => FailureKind::Connection,
            Self::Timeout { .. } => FailureKind::Timeout,
            Self::InvalidJson { .. }
            | Self::EmptyChoices
            | Self::Structure { .. }
            | Self::TooLarge { .. } => FailureKind::BadReply,
        }
    }
}

fn kind_of_status(code: u16) -> FailureKind {
    match code {
        401 | 403 => FailureKind::Unauthorized,
        404 => FailureKind::NotFound,
        408 => FailureKind::Timeout,
        429 => FailureKind::RateLimited,
        400..=499 => FailureKind::BadRequest,
        500..=599 => FailureKind::ServerError,
        _ => FailureKind::BadReply,
    }
}

/// A call that gave no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatError {
    /// What went wrong in the last attempt.
    pub failure: ChatFailure,
    /// Why there was no further attempt.
    pub gave_up: GaveUp,
    /// What the call cost.
    pub call: CallStats,
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.failure)?;
        let mut notes = Vec::new();
        if self.call.attempts > 1 {
            notes.push(format!("{} attempts", self.call.attempts));
        }
        let past_deadline = matches!(
            self.failure,
            ChatFailure::Timeout {
                limit: Limit::Deadline,
                ..
            }
        );
        if let GaveUp::Deadline {
            wait,
            asked,
            deadline,
        } = self.gave_up
            && !past_deadline
        {
            let deadline = seconds(deadline);
            notes.push(if asked {
                let wait = seconds(wait);
                format!("the server asks to wait {wait} s, past the deadline of {deadline} s")
            } else {
                format!("no time for another before the deadline of {deadline} s")
            });
        }
        if notes.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", notes.join("; "))
    }
}

impl std::error::Error for ChatError {}

/// Seconds for people: at most three decimals, no zeros at the end.
pub(crate) fn seconds(duration: Duration) -> String {
    let text = format!("{:.3}", duration.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn after_colon(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(failure: ChatFailure, attempts: u32, gave_up: GaveUp) -> String {
        let call = CallStats {
            attempts,
            ..CallStats::default()
        };
        ChatError {
            failure,
            gave_up,
            call,
        }
        .to_string()
    }

    fn status(code: u16, reason: &str, message: &str) -> ChatFailure {
        ChatFailure::Status {
            code,
            reason: reason.into(),
            message: message.into(),
        }
    }

    #[test]
    fn texts_begin_as_the_reference_writes_them() {
        let deadline = Duration::from_secs(300);
        let asked = |wait| GaveUp::Deadline {
            wait: Duration::from_secs(wait),
            asked: true,
            deadline,
        };
        let refused = ChatFailure::Connect {
            url: "http://x/v1/chat/completions".into(),
            reason: "refused".into(),
        };
        let late = |limit| ChatFailure::Timeout {
            after: Duration::from_millis(1500),
            limit,
        };
        for (text, expected) in [
            (
                error(status(400, "Bad Request", ""), 1, GaveUp::Pointless),
                "OpenAI proxy returned HTTP 400: Bad Request",
            ),
            (
                error(
                    status(500, "Internal Server Error", "busy"),
                    4,
                    GaveUp::NoRetriesLeft,
                ),
                "OpenAI proxy returned HTTP 500: Internal Server Error: busy (4 attempts)",
            ),
            (
                error(status(599, "", "odd"), 1, GaveUp::Pointless),
                "OpenAI proxy returned HTTP 599: odd",
            ),
            (
                error(status(429, "Too Many Requests", ""), 2, asked(3600)),
                "OpenAI proxy returned HTTP 429: Too Many Requests \
                 (2 attempts; the server asks to wait 3600 s, past the deadline of 300 s)",
            ),
            (
                error(refused, 4, GaveUp::NoRetriesLeft),
                "Could not connect to OpenAI proxy at http://x/v1/chat/completions: refused (4 attempts)",
            ),
            (
                error(late(Limit::Attempt), 1, GaveUp::NoRetriesLeft),
                "OpenAI proxy did not answer within 1.5 s",
            ),
            (
                error(late(Limit::Deadline), 1, asked(1)),
                "OpenAI proxy did not answer within 1.5 s, the deadline of the whole call",
            ),
        ] {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn statuses_have_kinds() {
        for (code, kind) in [
            (401, FailureKind::Unauthorized),
            (403, FailureKind::Unauthorized),
            (404, FailureKind::NotFound),
            (408, FailureKind::Timeout),
            (422, FailureKind::BadRequest),
            (429, FailureKind::RateLimited),
            (529, FailureKind::ServerError),
            (302, FailureKind::BadReply),
        ] {
            assert_eq!(status(code, "", "").kind(), kind, "{code}");
        }
    }
}
