//! Requests: connections, redirects, the token, retries, time limits.
//!
//! Calls block, and may come from any thread: the client has a runtime of its
//! own and goes to a fresh thread when the caller is inside another one.
//! Without compression, so that sizes and ranges are those of the files. What a
//! status means is said in `reply`.

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use context_bench_http::{
    Decision, Jitter, RetryPolicy, RootCertificates, asked_wait, client_builder, is_loopback,
    is_retryable, plain_reason, root_cause,
};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, Method};
use tokio::runtime::{Handle, Runtime};
use url::Url;

use crate::error::HubError;
use crate::reply::Reply;
use crate::secret::Token;
use crate::settings::HubSettings;

const MAX_REDIRECTS: usize = 8;
/// A redirect with more than this to say costs its connection.
const MAX_REDIRECT_BODY: usize = 64 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const POOL_IDLE: Duration = Duration::from_secs(30);

/// A request as it is sent, again and again if need be.
#[derive(Debug, Clone)]
pub(crate) struct HubRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

impl HubRequest {
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
        }
    }

    pub(crate) fn head(url: Url) -> Self {
        Self {
            method: Method::HEAD,
            ..Self::get(url)
        }
    }

    /// Adds a header; a value that cannot be sent is left out.
    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}

/// Why one attempt gave no answer.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    /// Scheme, host and port.
    pub(crate) host: String,
    /// The root cause.
    pub(crate) reason: String,
}

impl From<NoAnswer> for HubError {
    fn from(failed: NoAnswer) -> Self {
        Self::Unreachable {
            host: failed.host,
            reason: failed.reason,
            cached: String::new(),
        }
    }
}

/// The HTTP side of a hub.
pub(crate) struct Http {
    runtime: Option<Runtime>,
    handle: Handle,
    /// For hosts of this machine: no proxy, no root certificates.
    local: OnceLock<Result<Client, String>>,
    /// For all others; made when first needed, since that loads certificates.
    distant: OnceLock<Result<Client, String>>,
    endpoint: Url,
    token: Option<Token>,
    authorization: Option<HeaderValue>,
    answer_timeout: Duration,
    stall_timeout: Duration,
    policy: RetryPolicy,
    jitter: Jitter,
}

impl Http {
    pub(crate) fn new(settings: &HubSettings, endpoint: Url) -> Result<Self, HubError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hub-http")
            .enable_all()
            .build()
            .map_err(|error| HubError::Setup {
                reason: plain_reason(&error.to_string()),
            })?;
        let authorization = match &settings.token {
            Some(token) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
                    .map_err(|_| {
                        let shown = "[redacted]".to_owned();
                        HubError::variable("HF_TOKEN", shown, "it cannot be sent in a header")
                    })?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            local: OnceLock::new(),
            distant: OnceLock::new(),
            endpoint,
            token: settings.token.clone(),
            authorization,
            answer_timeout: settings.answer_timeout,
            stall_timeout: settings.stall_timeout,
            policy: settings.retry,
            jitter: Jitter::new(),
        })
    }

    pub(crate) fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Text from outside, fit for an error.
    pub(crate) fn redact(&self, text: &str) -> String {
        match &self.token {
            Some(token) => token.redact(text),
            None => text.to_owned(),
        }
    }

    /// Sends a request and follows its redirects, trying again as the policy
    /// says. Any status that is not worth another attempt is an answer.
    pub(crate) fn send(&self, ask: &HubRequest) -> Result<Reply, HubError> {
        let mut retry = 0;
        let mut waited = Duration::ZERO;
        loop {
            let (asked, error) = match self.attempt(ask) {
                Ok(reply) if is_retryable(reply.status) => {
                    let asked = asked_wait(&reply.headers, SystemTime::now());
                    (asked, self.refused(reply, asked))
                }
                Ok(reply) => return Ok(reply),
                Err(failed) => (None, failed.into()),
            };
            let Some(wait) = self.wait(retry, asked, waited) else {
                return Err(error);
            };
            std::thread::sleep(wait);
            waited += wait;
            retry += 1;
        }
    }

    /// The wait before retry number `retry` (from 0), or nothing to give up.
    pub(crate) fn wait(
        &self,
        retry: u32,
        asked: Option<Duration>,
        waited: Duration,
    ) -> Option<Duration> {
        match self.policy.decide(retry, asked, waited, self.jitter.next()) {
            Decision::Wait(wait) => Some(wait),
            Decision::Stop(_) => None,
        }
    }

    /// The error for a status that was retried in vain.
    pub(crate) fn refused(&self, reply: Reply, asked: Option<Duration>) -> HubError {
        if reply.status == 429 {
            return HubError::RateLimited {
                host: host(&reply.url),
                wait: asked,
                with_token: self.has_token(),
            };
        }
        reply.into_error(self)
    }

    /// Sends a request once, following its redirects.
    pub(crate) fn attempt(&self, ask: &HubRequest) -> Result<Reply, NoAnswer> {
        let mut url = ask.url.clone();
        let mut promised = crate::reply::PromisedFile::default();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.once(ask, &url)?;
            promised.note(response.headers());
            let next = response
                .status()
                .is_redirection()
                .then(|| response.headers().get(LOCATION))
                .flatten()
                .and_then(|place| url.join(place.to_str().ok()?).ok());
            match next {
                Some(next) if response.status().as_u16() != 304 => {
                    // A connection with an unread body cannot be used again.
                    self.wait_for(async {
                        let _ = tokio::time::timeout(POOL_IDLE / 100, drained(response)).await;
                    });
                    if url.scheme() == "https" && next.scheme() != "https" {
                        return Err(NoAnswer {
                            host: host(&url),
                            reason: "it redirects from HTTPS to plain HTTP".to_owned(),
                        });
                    }
                    url = next;
                }
                _ => return Ok(Reply::new(response, url, promised)),
            }
        }
        Err(NoAnswer {
            host: host(&url),
            reason: format!("more than {MAX_REDIRECTS} redirects"),
        })
    }

    fn once(&self, ask: &HubRequest, url: &Url) -> Result<reqwest::Response, NoAnswer> {
        let failed = |reason: String| NoAnswer {
            host: host(url),
            reason: self.redact(&reason),
        };
        let client = self.client(url).map_err(failed)?;
        let mut request = client
            .request(ask.method.clone(), url.clone())
            .headers(ask.headers.clone())
            .header(ACCEPT_ENCODING, "identity");
        // The one rule that keeps the token where it belongs.
        if let Some(token) = &self.authorization
            && url.origin() == self.endpoint.origin()
        {
            request = request.header(AUTHORIZATION, token.clone());
        }
        let limit = self.answer_timeout;
        self.wait_for(async { tokio::time::timeout(limit, request.send()).await })
            .map_err(|_| failed(format!("no answer within {} s", limit.as_secs_f64())))?
            .map_err(|error| failed(reason(&error)))
    }

    /// The next bytes of a body; nothing at its end.
    pub(crate) fn chunk(
        &self,
        response: &mut reqwest::Response,
        url: &Url,
    ) -> Result<Option<bytes::Bytes>, NoAnswer> {
        let failed = |reason: String| NoAnswer {
            host: host(url),
            reason: self.redact(&reason),
        };
        let limit = self.stall_timeout;
        self.wait_for(async { tokio::time::timeout(limit, response.chunk()).await })
            .map_err(|_| failed(format!("nothing came for {} s", limit.as_secs_f64())))?
            .map_err(|error| failed(format!("it broke off: {}", reason(&error))))
    }

    fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        self.handle.block_on(future)
    }

    fn client(&self, url: &Url) -> Result<&Client, String> {
        let is_local = is_loopback(url);
        let slot = if is_local { &self.local } else { &self.distant };
        let made = slot.get_or_init(|| {
            let roots = match (is_local, url.scheme()) {
                (true, "http") => RootCertificates::None,
                _ => RootCertificates::System,
            };
            let builder =
                client_builder(roots).map_err(|error| plain_reason(&error.to_string()))?;
            let builder = builder
                .gzip(false)
                .pool_idle_timeout(POOL_IDLE)
                .connect_timeout(CONNECT_TIMEOUT.min(self.answer_timeout))
                .redirect(reqwest::redirect::Policy::none());
            let builder = match is_local {
                true => builder.no_proxy(),
                false => builder,
            };
            builder.build().map_err(|error| reason(&error))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        // Waiting for it would panic inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs blocking work, on a thread of its own when the caller is part of a
/// runtime, where waiting for another one is forbidden.
pub(crate) fn outside<T: Send>(
    work: impl FnOnce() -> Result<T, HubError> + Send,
) -> Result<T, HubError> {
    if Handle::try_current().is_err() {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("hub".to_owned());
        let started = thread.spawn_scoped(scope, work);
        match started.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(outcome)) => outcome,
            _ => Err(HubError::Thread),
        }
    })
}

/// Reads what there is of the body of a redirect, when that is little.
async fn drained(mut response: reqwest::Response) {
    let mut read = 0;
    while let Ok(Some(piece)) = response.chunk().await {
        read += piece.len();
        if read > MAX_REDIRECT_BODY {
            return;
        }
    }
}

/// Scheme, host and port, for messages.
pub(crate) fn host(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// An address without credentials and query, for messages: signed addresses
/// carry keys there.
pub(crate) fn shown(url: &Url) -> String {
    format!("{}{}", host(url), url.path())
}

/// Why there was no answer, in plain words.
fn reason(error: &reqwest::Error) -> String {
    match error.is_timeout() && error.is_connect() {
        true => "no connection in time".to_owned(),
        false => root_cause(error),
    }
}
