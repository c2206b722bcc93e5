//! What a script may answer: plain data, built fluently.
//!
//! A reply only describes; `render` turns it into bytes for one request and
//! `plan` sends them. It holds no socket and no clock, so it can be cloned and
//! sent any number of times.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

/// A scripted answer or fault.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(crate) kind: Kind,
    pub(crate) delay: Duration,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) retry_after: Option<RetryAfter>,
    pub(crate) usage: Usage,
    pub(crate) cache: Option<(u64, u64)>,
    pub(crate) finish_reason: Arc<str>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) stream: StreamScript,
    pub(crate) close_after: bool,
}

/// The kinds of answer; all but `Text`-like ones ignore `usage` and `stream`.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A completion; `None` is a `null` content.
    Text(Option<Arc<str>>),
    /// A completion whose body is sent in small pieces.
    Drip {
        text: Arc<str>,
        bytes_per_chunk: usize,
        pause: Duration,
    },
    /// A completion that stops half-way.
    Truncated(Arc<str>),
    EmptyChoices,
    InvalidJson,
    Json(Arc<Value>),
    Status {
        code: u16,
        message: Option<String>,
        error_code: Option<String>,
    },
    Raw {
        status: u16,
        content_type: String,
        body: Arc<[u8]>,
    },
    Hang,
    Reset,
    Close,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum RetryAfter {
    Seconds(u64),
    DateIn(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Usage {
    Words,
    Fixed { prompt: u64, completion: u64 },
    Absent,
}

/// What happens only when the request asked for a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamScript {
    pub(crate) first_token_after: Duration,
    pub(crate) between_tokens: Duration,
    pub(crate) cut_after_tokens: Option<usize>,
    pub(crate) error_after_tokens: Option<(usize, String)>,
}

impl Reply {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            delay: Duration::ZERO,
            headers: Vec::new(),
            retry_after: None,
            usage: Usage::Words,
            cache: None,
            finish_reason: "stop".into(),
            model: None,
            stream: StreamScript::default(),
            close_after: false,
        }
    }

    /// A completion with this text: `chat.completion` or `text_completion` JSON, a response
    /// or a message according to the path, server-sent events if the request asked to stream.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::of(Kind::Text(Some(text.into())))
    }

    /// Status 200 with this JSON as the whole body, streamed request or not.
    pub fn json(body: Value) -> Self {
        Self::of(Kind::Json(Arc::new(body)))
    }

    /// A status with the error body of the API.
    pub fn status(code: u16) -> Self {
        Self::of(Kind::Status {
            code,
            message: None,
            error_code: None,
        })
    }

    /// Any status, content type and bytes, such as the HTML page of a gateway.
    pub fn raw(status: u16, content_type: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::of(Kind::Raw {
            status,
            content_type: content_type.into(),
            body: body.into().into(),
        })
    }

    /// Never answers and keeps the socket open until the client closes it.
    pub fn hang() -> Self {
        Self::of(Kind::Hang)
    }

    /// A completion whose body leaves `bytes_per_chunk` bytes at a time, with a
    /// pause between the pieces. The head leaves at once.
    pub fn drip(text: impl Into<Arc<str>>, bytes_per_chunk: usize, pause: Duration) -> Self {
        Self::of(Kind::Drip {
            text: text.into(),
            bytes_per_chunk: bytes_per_chunk.max(1),
            pause,
        })
    }

    /// A TCP reset once the request is read.
    pub fn reset() -> Self {
        Self::of(Kind::Reset)
    }

    /// A clean close once the request is read, with not a byte of reply.
    pub fn close() -> Self {
        Self::of(Kind::Close)
    }

    /// A completion cut half-way: `Content-Length` promises all of it, then the
    /// connection closes. A stream is cut after half its tokens.
    pub fn truncated(text: impl Into<Arc<str>>) -> Self {
        Self::of(Kind::Truncated(text.into()))
    }

    /// Status 200 with a body that is not JSON (in a stream: one such event).
    pub fn invalid_json() -> Self {
        Self::of(Kind::InvalidJson)
    }

    /// Status 200 with a well-formed completion that has no choices.
    pub fn empty_choices() -> Self {
        Self::of(Kind::EmptyChoices)
    }

    /// Replaces the text of a completion by `null`.
    #[must_use]
    pub fn null_content(mut self) -> Self {
        self.kind = Kind::Text(None);
        self
    }

    /// The error message of a `status` reply.
    ///
    /// # Panics
    /// If this reply was not made by [`Reply::status`].
    #[must_use]
    pub fn message(mut self, text: impl Into<String>) -> Self {
        match &mut self.kind {
            Kind::Status { message, .. } => *message = Some(text.into()),
            other => panic!("only Reply::status has a message, not {other:?}"),
        }
        self
    }

    /// The `error.code` of a `status` reply, such as `context_length_exceeded`.
    ///
    /// # Panics
    /// If this reply was not made by [`Reply::status`].
    #[must_use]
    pub fn error_code(mut self, code: impl Into<String>) -> Self {
        match &mut self.kind {
            Kind::Status { error_code, .. } => *error_code = Some(code.into()),
            other => panic!("only Reply::status has an error code, not {other:?}"),
        }
        self
    }

    /// Adds a response header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// `Retry-After` as a number of seconds.
    #[must_use]
    pub fn retry_after_seconds(mut self, seconds: u64) -> Self {
        self.retry_after = Some(RetryAfter::Seconds(seconds));
        self
    }

    /// `Retry-After` as an HTTP date this many seconds after the reply is made,
    /// rounded up to a whole second: never earlier, at most one second later.
    #[must_use]
    pub fn retry_after_date(mut self, seconds_from_now: u64) -> Self {
        self.retry_after = Some(RetryAfter::DateIn(seconds_from_now));
        self
    }

    /// Waits this long before the first byte (or the fault). If the client
    /// closes its connection in the meantime, nothing is sent.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The usage of a completion, instead of its whitespace words.
    #[must_use]
    pub fn usage(mut self, prompt: u64, completion: u64) -> Self {
        self.usage = Usage::Fixed { prompt, completion };
        self
    }

    /// How many tokens of the prompt were read from a cache and written to it, in the
    /// members that the API has for them. They are part of the prompt of
    /// [`Reply::usage`], whatever the API counts in which member.
    #[must_use]
    pub fn cached(mut self, read: u64, written: u64) -> Self {
        self.cache = Some((read, written));
        self
    }

    /// A completion without `usage`, streamed or not.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = Usage::Absent;
        self
    }

    /// The `finish_reason` of a completion, instead of `stop`; other APIs say it in their words.
    #[must_use]
    pub fn finish_reason(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.finish_reason = reason.into();
        self
    }

    /// The `model` a completion reports, instead of the one asked for.
    #[must_use]
    pub fn model(mut self, name: impl Into<Arc<str>>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Says `Connection: close` and closes after the reply.
    #[must_use]
    pub fn and_close(mut self) -> Self {
        self.close_after = true;
        self
    }

    /// In a stream: the pause between the role chunk and the first token.
    #[must_use]
    pub fn first_token_after(mut self, pause: Duration) -> Self {
        self.stream.first_token_after = pause;
        self
    }

    /// In a stream: the pause before each token but the first.
    #[must_use]
    pub fn between_tokens(mut self, pause: Duration) -> Self {
        self.stream.between_tokens = pause;
        self
    }

    /// In a stream: closes the connection in mid-body after this many tokens.
    #[must_use]
    pub fn cut_after_tokens(mut self, tokens: usize) -> Self {
        self.stream.cut_after_tokens = Some(tokens);
        self
    }

    /// In a stream: after this many tokens sends the error event of the API and ends the
    /// body properly, with no finish chunk and no end marker.
    #[must_use]
    pub fn error_after_tokens(mut self, tokens: usize, message: impl Into<String>) -> Self {
        self.stream.error_after_tokens = Some((tokens, message.into()));
        self
    }
}
