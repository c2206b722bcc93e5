//! `ChatClient`: sends a request, and again after a 429 or another passing failure, until it
//! is answered, refused or too late.
//!
//! One call is one loop of attempts. Each attempt reads the whole reply, so a
//! reply that breaks off is a failed attempt and not a failed call. This file
//! waits and measures; what to wait for and how to read is decided elsewhere.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use context_bench_http::{
    Decision, EventReader, GaveUp, Jitter, RetryPolicy, asked_wait, root_cause,
};
use indexmap::IndexMap;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use tokio::time::{Instant, sleep};

use super::clock::Clock;
use super::endpoint::{Endpoint, EndpointError};
use super::error::{ChatError, ChatFailure, seconds};
use super::headers::{credentials, forbids_retry, from_cache, headers};
use super::http;
use super::observe::Watched;
use super::pace::Pace;
use super::reply::{self, ChatReply, JsonReply};
use super::request::ChatRequest;
use super::secret::{Secret, Secrets};
use crate::error::Hint;
use crate::mask;
use crate::model::{CallStats, TokenUse, UsageShape};
use crate::stopwatch::{Stopwatch, pausing};

/// The largest reply that is read, so that a broken server cannot fill memory.
const MAX_REPLY: usize = 64_000_000;
/// How much of the body of an error status is read for its message.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// How long the end of a body is waited for once all its events have come.
const END_OF_BODY: Duration = Duration::from_millis(5);

/// How long one attempt may take where nobody says: as long as a model on a small machine
/// needs for a long prompt.
pub const TIMEOUT: Duration = Duration::from_secs(300);

/// How to reach an endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientSettings {
    /// Where to send to.
    pub endpoint: Endpoint,
    /// The key, for the header that the API has for it (`Authorization: Bearer`, where
    /// credentials in the URL go first, or `x-api-key`); an empty one is none.
    pub api_key: Option<Secret>,
    /// Further headers of every request.
    pub headers: IndexMap<String, String>,
    /// How long an attempt may take; in a stream, how long it may stay silent.
    pub timeout: Duration,
    /// What happens after a failed attempt.
    pub policy: RetryPolicy,
    /// Connections to share with other clients; `None` makes new ones.
    pub http: Option<reqwest::Client>,
    /// How fast requests may leave, shared with other clients; `None` does not limit.
    pub pace: Option<Arc<Pace>>,
    /// The HTTP proxy that requests go through, whatever the environment says.
    pub http_proxy: Option<String>,
    /// Whether somebody may watch its calls.
    pub(crate) is_observed: bool,
}

impl ClientSettings {
    /// The defaults: no key, [`TIMEOUT`] per attempt, the default policy.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            api_key: None,
            headers: IndexMap::new(),
            timeout: TIMEOUT,
            policy: RetryPolicy::default(),
            http: None,
            pace: None,
            http_proxy: None,
            is_observed: false,
        }
    }
}

/// A client for one chat endpoint. Calls may run at the same time.
pub struct ChatClient {
    http: reqwest::Client,
    endpoint: Endpoint,
    /// Those of every request, credentials included.
    headers: HeaderMap,
    secrets: Secrets,
    timeout: Duration,
    connect_timeout: Duration,
    policy: RetryPolicy,
    pace: Option<Arc<Pace>>,
    jitter: Jitter,
    is_observed: bool,
}

/// A failed attempt, and what the server says about the next one.
struct Failed {
    failure: ChatFailure,
    /// How long it asks to wait.
    asked: Option<Duration>,
    /// Whether it says that there is no use in it.
    is_final: bool,
}

/// What an attempt received, before it is read.
enum Received {
    Streamed(Box<ChatReply>),
    Whole(Vec<u8>),
}

/// When a reply began to come, and whether out of a cache.
struct Times {
    first_byte: Option<Duration>,
    first_token: Option<Duration>,
    from_cache: Option<String>,
}

/// What a call gives back.
trait Reply {
    fn set_call(&mut self, call: CallStats, from_cache: Option<String>);
    /// The tokens that it took together, as far as the endpoint says.
    fn total_tokens(&self) -> Option<u64>;
}

impl Reply for ChatReply {
    fn set_call(&mut self, call: CallStats, from_cache: Option<String>) {
        self.call = call;
        self.from_cache = from_cache;
    }

    fn total_tokens(&self) -> Option<u64> {
        let usage = self.usage.as_ref()?;
        let tokens = TokenUse::reported(UsageShape::named(Some(self.api.as_str())), usage);
        tokens.total.or_else(|| tokens.spent())
    }
}

impl Reply for JsonReply {
    fn set_call(&mut self, call: CallStats, _: Option<String>) {
        self.call = call;
    }

    fn total_tokens(&self) -> Option<u64> {
        self.body.pointer("/usage/total_tokens")?.as_u64()
    }
}

impl From<ChatFailure> for Failed {
    fn from(failure: ChatFailure) -> Self {
        Self {
            failure,
            asked: None,
            is_final: false,
        }
    }
}

impl ChatClient {
    /// Makes a client; no connection is opened yet.
    ///
    /// # Errors
    ///
    /// When the key cannot be sent in a header, or when HTTPS is needed and the
    /// machine has no root certificates.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientError> {
        let endpoint = settings.endpoint;
        let connect_timeout = http::CONNECT_TIMEOUT.min(settings.timeout);
        let http = match settings.http {
            Some(http) => http,
            None => http::build(&endpoint, connect_timeout, settings.http_proxy.as_deref())
                .map_err(|reason| ClientError::Http { reason })?,
        };
        let key = settings.api_key.filter(|key| !key.is_empty());
        let mut sent = endpoint.api().headers();
        let credentials = credentials(&http, &endpoint, key.as_ref())?;
        let shown = credentials.values().filter_map(|value| value.to_str().ok());
        let tokens = shown.map(|text| text.split_once(' ').map_or(text, |(_, token)| token));
        let tokens: Vec<Secret> = tokens.map(Secret::new).collect();
        sent.extend(credentials);
        // These replace ours of the same name.
        for (name, value) in &headers(&settings.headers)? {
            sent.insert(name, value.clone());
        }
        let hidden = settings.headers.iter();
        let hidden = hidden.filter(|(name, _)| mask::is_secret(name));
        let hidden = hidden.map(|(_, value)| Secret::new(value.as_str()));
        let known = endpoint.secrets().into_iter().chain(key).chain(tokens);
        let secrets = Secrets::new(known.chain(hidden));
        Ok(Self {
            http,
            endpoint,
            headers: sent,
            secrets,
            timeout: settings.timeout,
            connect_timeout,
            policy: settings.policy,
            pace: settings.pace,
            jitter: Jitter::new(),
            is_observed: settings.is_observed,
        })
    }

    /// Where this client sends to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and waits for its reply, trying again as the policy says.
    ///
    /// # Errors
    ///
    /// The failure of the last attempt, with what the call cost.
    pub async fn send(&self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        self.call(request, |received| match received {
            Received::Streamed(reply) => Ok(*reply),
            Received::Whole(body) => self.endpoint.api().parse(&body, &self.secrets),
        })
        .await
    }

    /// Sends a request and gives the JSON that came back, whatever it says.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn send_json(&self, request: &ChatRequest) -> Result<JsonReply, ChatError> {
        self.call(request, |received| match received {
            Received::Whole(body) => reply::parse_any(&body, &self.secrets),
            Received::Streamed(_) => Err(ChatFailure::Structure {
                found: "a stream".into(),
            }),
        })
        .await
    }

    async fn call<R: Reply>(
        &self,
        request: &ChatRequest,
        read: impl Fn(Received) -> Result<R, ChatFailure>,
    ) -> Result<R, ChatError> {
        let mut started = Instant::now();
        let mut call = CallStats::default();
        let connected = connecting();
        loop {
            let paced = self.pace(request).await;
            call.pace_wait += paced;
            // Our own limits do not use up the time that the endpoint has.
            started += paced;
            call.attempts += 1;
            note(|sent| sent.attempts += 1);
            let attempt = self.attempt(request, started).await;
            let attempt = attempt.and_then(|(received, times)| Ok((read(received)?, times)));
            call.connect = connecting().saturating_sub(connected);
            let Failed {
                failure,
                asked,
                is_final,
            } = match attempt {
                Ok((mut reply, times)) => {
                    call.first_byte = times.first_byte;
                    call.first_token = times.first_token;
                    reply.set_call(call, times.from_cache);
                    self.settle(request, reply.total_tokens());
                    return Ok(reply);
                }
                Err(failed) => failed,
            };
            let is_late = matches!(failure, ChatFailure::Timeout { .. });
            if is_late {
                Stopwatch::tell_timeout();
            }
            let (throttled, late) = (u32::from(failure.is_throttling()), u32::from(is_late));
            call.throttled += throttled;
            call.timeouts += late;
            note(|sent| {
                sent.throttled += throttled;
                sent.timeouts += late;
            });
            let decision = if failure.is_retryable() && !is_final {
                let (retry, chance) = (call.attempts - 1, self.jitter.next());
                self.policy.decide(retry, asked, started.elapsed(), chance)
            } else {
                Decision::Stop(GaveUp::Pointless)
            };
            match decision {
                Decision::Wait(wait) => {
                    let waiting = Instant::now();
                    pausing(sleep(wait)).await;
                    let waited = waiting.elapsed();
                    call.retry_wait += waited;
                    note(|sent| sent.retry_wait += waited);
                }
                Decision::Stop(gave_up) => {
                    return Err(ChatError {
                        failure,
                        gave_up,
                        call,
                    });
                }
            }
        }
    }

    /// Waits for this request's turn and returns how long that took.
    async fn pace(&self, request: &ChatRequest) -> Duration {
        let Some(pace) = &self.pace else {
            return Duration::ZERO;
        };
        let waiting = Instant::now();
        if let Some(leases) = pace.leases() {
            pausing(leases.take()).await;
            return waiting.elapsed();
        }
        let wait = pace.reserve(request.body.len(), waiting.into_std());
        if wait.is_zero() {
            return wait;
        }
        pausing(sleep(wait)).await;
        waiting.elapsed()
    }

    fn settle(&self, request: &ChatRequest, tokens: Option<u64>) {
        if let Some(pace) = &self.pace {
            pace.settle(request.body.len(), tokens);
        }
    }

    async fn attempt(
        &self,
        request: &ChatRequest,
        started: Instant,
    ) -> Result<(Received, Times), Failed> {
        let mut clock = Clock::new(request.stream, self.timeout, started, self.policy.deadline);
        let sent_at = Instant::now();
        let mut builder = self
            .http
            .post(self.endpoint.url().clone())
            .header(CONTENT_TYPE, "application/json")
            .body(request.body.clone());
        if !self.headers.is_empty() {
            builder = builder.headers(self.headers.clone());
        }
        // Last of all, so that nothing stands in for what tells whose call it is.
        let path = self.endpoint.url().path();
        let mut watched = None;
        if self.is_observed
            && let Some((begun, headers)) = Watched::begin(path, &request.body)
        {
            builder = builder.headers(headers);
            watched = Some(begun);
        }
        let connected = connecting();
        let mut response = clock
            .wait(builder.send())
            .await?
            .map_err(|error| self.not_sent(&error))?;
        let first_byte = sent_at.elapsed();
        clock.reply_began();
        if let Some(watched) = &mut watched {
            watched.head(&response, connecting().saturating_sub(connected));
        }
        if !response.status().is_success() {
            return Err(self.refused(response, &clock, &mut watched).await);
        }
        let streamed = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| {
                kind.trim()
                    .to_ascii_lowercase()
                    .starts_with("text/event-stream")
            });
        let mut times = Times {
            first_byte: Some(first_byte),
            first_token: None,
            from_cache: from_cache(response.headers()),
        };
        if streamed {
            let reply = self
                .read_stream(&mut response, &clock, sent_at, &mut watched)
                .await?;
            times.first_token = reply.call.first_token;
            return Ok((Received::Streamed(Box::new(reply)), times));
        }
        // A server may ignore the wish for a stream and answer in one piece.
        let body = self.read_whole(&mut response, &clock, &mut watched).await?;
        Ok((Received::Whole(body), times))
    }

    async fn read_whole(
        &self,
        response: &mut reqwest::Response,
        clock: &Clock,
        watched: &mut Option<Watched>,
    ) -> Result<Vec<u8>, ChatFailure> {
        let mut body = Vec::new();
        while let Some(piece) = clock
            .wait(response.chunk())
            .await?
            .map_err(|error| self.broken_off(&error))?
        {
            see(watched, &piece);
            if body.len() + piece.len() > MAX_REPLY {
                return Err(ChatFailure::TooLarge { limit: MAX_REPLY });
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    async fn read_stream(
        &self,
        response: &mut reqwest::Response,
        clock: &Clock,
        sent_at: Instant,
        watched: &mut Option<Watched>,
    ) -> Result<ChatReply, ChatFailure> {
        let mut reader = EventReader::default();
        let mut reply = self.endpoint.api().stream();
        let mut events = Vec::new();
        let mut received = 0;
        let mut first_token = None;
        while !reply.is_done() {
            let piece = match clock.wait(response.chunk()).await {
                Ok(Ok(piece)) => piece,
                // Nothing that matters is missing but, perhaps, the usage.
                Ok(Err(_)) | Err(_) if reply.is_whole() => break,
                Ok(Err(error)) => return Err(self.broken_off(&error)),
                Err(late) => return Err(late),
            };
            let at_end = piece.is_none();
            match piece {
                Some(piece) => {
                    see(watched, &piece);
                    received += piece.len();
                    if received > MAX_REPLY {
                        return Err(ChatFailure::TooLarge { limit: MAX_REPLY });
                    }
                    reader.feed(&piece, |event| events.push(event));
                }
                None => reader.finish(|event| events.push(event)),
            }
            for event in events.drain(..) {
                reply.event(&event, &self.secrets)?;
                if first_token.is_none() && reply.has_text() {
                    first_token = Some(sent_at.elapsed());
                }
            }
            if at_end {
                break;
            }
        }
        if reply.is_done() {
            // The end of the body follows at once or is not worth the wait; with
            // it the connection can be used again.
            let rest = tokio::time::timeout(END_OF_BODY, response.chunk()).await;
            if let Ok(Ok(Some(piece))) = rest {
                see(watched, &piece);
            }
        }
        let mut reply = reply.finish()?;
        reply.call.first_token = first_token;
        Ok(reply)
    }

    /// A status that is not a success, with what the server says about it.
    async fn refused(
        &self,
        mut response: reqwest::Response,
        clock: &Clock,
        watched: &mut Option<Watched>,
    ) -> Failed {
        let status = response.status();
        let asked = asked_wait(response.headers(), SystemTime::now());
        let is_final = forbids_retry(response.headers());
        let location = response.headers().get(LOCATION).cloned();
        let mut body = Vec::new();
        // The status is known; it does not matter if part of its explanation is missing.
        while let Ok(Ok(Some(piece))) = clock.wait(response.chunk()).await {
            see(watched, &piece);
            body.extend_from_slice(&piece);
            if body.len() >= MAX_ERROR_BODY {
                break;
            }
        }
        let message = match location {
            Some(place) if status.is_redirection() => {
                format!(
                    "redirects to {}",
                    self.secrets.excerpt(place.as_bytes(), 300)
                )
            }
            _ => reply::server_message(&body, &self.secrets),
        };
        let reason = match status.as_u16() {
            529 => "Overloaded",
            _ => status.canonical_reason().unwrap_or_default(),
        };
        let failure = ChatFailure::Status {
            code: status.as_u16(),
            reason: reason.to_owned(),
            message,
        };
        Failed {
            failure,
            asked,
            is_final,
        }
    }

    fn not_sent(&self, error: &reqwest::Error) -> ChatFailure {
        let reason = if error.is_timeout() && error.is_connect() {
            let limit = seconds(self.connect_timeout);
            format!("no connection within {limit} s")
        } else {
            self.secrets.redact(&root_cause(error))
        };
        ChatFailure::Connect {
            url: self.endpoint.to_string(),
            reason,
        }
    }

    fn broken_off(&self, error: &reqwest::Error) -> ChatFailure {
        ChatFailure::BrokenOff {
            reason: self.secrets.redact(&root_cause(error)),
        }
    }
}

impl fmt::Debug for ChatClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatClient")
            .field("endpoint", &self.endpoint)
            .field("timeout", &self.timeout)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Shows a piece of a reply to whoever watches.
fn see(watched: &mut Option<Watched>, piece: &[u8]) {
    if let Some(watched) = watched {
        watched.piece(piece);
    }
}

/// How long the call that this request is part of has spent on connections.
fn connecting() -> Duration {
    Stopwatch::current().map_or(Duration::ZERO, |watch| watch.stats().connect)
}

/// Reports to the call that this request is part of, which may be given up before it ends.
fn note(sent: impl FnOnce(&mut CallStats)) {
    if let Some(watch) = Stopwatch::current() {
        watch.sent(sent);
    }
}

/// Why a client cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The address is wrong.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The key has characters that no header may hold.
    #[error("the API key has characters that cannot be sent in a header")]
    BadKey,
    /// A header has characters that no header may hold.
    #[error("the header `{name}` cannot be sent")]
    BadHeader {
        /// Its name.
        name: String,
    },
    /// The HTTP side could not be set up.
    #[error("cannot set up HTTP: {reason}")]
    Http {
        /// The root cause.
        reason: String,
    },
}

impl Hint for ClientError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Endpoint(error) => return error.hint(),
            Self::BadKey => "check the key for line breaks or quotes copied with it".into(),
            Self::BadHeader { .. } => {
                "names have letters, digits and dashes, values no line breaks: `NAME: VALUE`".into()
            }
            Self::Http { .. } => {
                "HTTPS needs the root certificates of the system (package `ca-certificates`)".into()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Api;

    fn settings(url: &str, key: Option<&str>) -> ClientSettings {
        ClientSettings {
            api_key: key.map(Secret::new),
            ..ClientSettings::new(Endpoint::parse(url).expect("valid"))
        }
    }

    #[test]
    fn credentials_of_the_url_go_before_the_key() {
        for (url, key, expected) in [
            ("http://localhost", None, None),
            ("http://localhost", Some(" "), None),
            ("http://localhost", Some("k\n"), Some("Bearer k")),
            ("http://me:pw@localhost", Some("k"), Some("Basic bWU6cHc=")),
        ] {
            let client = ChatClient::new(settings(url, key)).expect("valid");
            let value = client.headers.get("authorization");
            let value = value.map(|value| value.to_str().expect("text"));
            assert_eq!(value, expected, "{url} {key:?}");
        }
        for (url, basic) in [
            ("http://localhost", None),
            ("http://me:pw@localhost", Some("Basic bWU6cHc=")),
        ] {
            let settings = ClientSettings {
                endpoint: Endpoint::of(Api::Anthropic, url).expect("valid"),
                ..settings(url, Some(" k\n"))
            };
            let client = ChatClient::new(settings).expect("valid");
            let sent = |name: &str| client.headers.get(name)?.to_str().ok();
            assert_eq!(sent("x-api-key"), Some("k"));
            assert_eq!(sent("anthropic-version"), Some("2023-06-01"));
            assert_eq!(sent("authorization"), basic);
        }
        let bad = ChatClient::new(settings("http://localhost", Some("a\nb")));
        assert_eq!(bad.err(), Some(ClientError::BadKey));
    }

    #[test]
    fn nothing_that_is_printed_holds_a_secret() {
        let settings = settings("http://me:hunter22@localhost", Some("sk-123456"));
        let shown = format!("{settings:?} {:?}", ChatClient::new(settings.clone()));
        for secret in ["hunter22", "sk-123456", "bWU6aHVudGVyMjI="] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let client = ChatClient::new(settings).expect("valid");
        let echoed = "Basic bWU6aHVudGVyMjI= hunter22 sk-123456";
        assert_eq!(
            client.secrets.redact(echoed),
            "Basic [redacted] [redacted] [redacted]"
        );
    }
}
