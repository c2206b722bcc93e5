//! The service of a bucket: one request, its answer, and when to ask again.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use context_bench_http::{
    Decision, Jitter, RetryPolicy, RootCertificates, asked_wait, client_builder, is_loopback,
    is_retryable, plain_reason, root_cause,
};
use reqwest::header::{ETAG, HeaderMap};
use reqwest::{Client, Response};
use tokio::time::timeout;

use super::listing;
use super::request::BucketRequest;
use super::{BucketAddress, BucketError, BucketSettings};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer, or the next piece of one, may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// An upload slower than this is given up.
const SLOWEST_UPLOAD: u64 = 256 * 1024;
/// As much of an error as is read.
const MOST_OF_AN_ERROR: usize = 64 * 1024;

/// Who is asked, about what, by whom.
pub(super) struct Service {
    pub(super) address: BucketAddress,
    settings: BucketSettings,
    client: Client,
    policy: RetryPolicy,
    jitter: Jitter,
}

/// An answer that is none of the errors that all requests share.
pub(super) struct Answer {
    pub(super) status: u16,
    headers: HeaderMap,
    /// The rest, where all went well.
    pub(super) body: Option<Response>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn version(&self) -> Option<String> {
        self.header(ETAG.as_str()).map(str::to_owned)
    }
}

/// Why an attempt led to nothing; `again` if another one may.
pub(super) struct Failed {
    error: BucketError,
    again: bool,
    wait: Option<Duration>,
}

impl Service {
    pub(super) fn new(
        address: BucketAddress,
        settings: BucketSettings,
    ) -> Result<Self, BucketError> {
        let is_local = is_loopback(&settings.endpoint);
        let roots = match (is_local, settings.endpoint.scheme()) {
            (true, "http") => RootCertificates::None,
            _ => RootCertificates::System,
        };
        let builder = client_builder(roots).map_err(|error| setup(&error.to_string()))?;
        let builder = builder
            .gzip(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none());
        let builder = match is_local {
            true => builder.no_proxy(),
            false => builder,
        };
        let client = builder
            .build()
            .map_err(|error| setup(&root_cause(&error)))?;
        // About a quarter of a minute: long enough for a service that is restarted or asks for
        // less, short enough to be told.
        let mut policy = RetryPolicy::default();
        policy.max_retries = 5;
        policy.base_delay = Duration::from_millis(500);
        policy.max_delay = Duration::from_secs(20);
        policy.deadline = Duration::from_secs(120);
        Ok(Self {
            address,
            settings,
            client,
            policy,
            jitter: Jitter::new(),
        })
    }

    /// An answer whose body does not matter.
    pub(super) async fn send(&self, request: &BucketRequest) -> Result<Answer, BucketError> {
        self.repeated(request, async |answer| Ok(answer)).await
    }

    /// Sends a request until it is answered and the answer read, as often as the policy says.
    pub(super) async fn repeated<T>(
        &self,
        request: &BucketRequest,
        read: impl AsyncFn(Answer) -> Result<T, Failed>,
    ) -> Result<T, BucketError> {
        let (mut retry, mut waited) = (0, Duration::ZERO);
        loop {
            let outcome = match self.attempt(request).await {
                Ok(answer) => read(answer).await,
                Err(failed) => Err(failed),
            };
            let failed = match outcome {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let chance = self.jitter.next();
            let decision = self.policy.decide(retry, failed.wait, waited, chance);
            match decision {
                Decision::Wait(wait) if failed.again => {
                    tokio::time::sleep(wait).await;
                    waited += wait;
                    retry += 1;
                }
                _ => return Err(failed.error),
            }
        }
    }

    async fn attempt(&self, request: &BucketRequest) -> Result<Answer, Failed> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let bucket = self.address.bucket();
        let built = request
            .signed(&self.client, &self.settings, bucket, now)
            .ok_or(BucketError::OddCredentials)?;
        let built = built.map_err(|error| unusable(Path::new("the file that is sent"), &error))?;
        let length = request.body.as_ref().map_or(0, |body| body.length);
        let patience = PATIENCE + Duration::from_secs(length / SLOWEST_UPLOAD);
        let response = timeout(patience, built.send()).await;
        let response = response.map_err(|_| self.away("there was no answer in time"))?;
        let response = response.map_err(|error| self.away(&root_cause(&error)))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        if response.status().is_success() {
            return Ok(Answer {
                status,
                headers,
                body: Some(response),
            });
        }
        let text = self.body_text(response, MOST_OF_AN_ERROR).await?;
        let code = listing::error_code(&text).unwrap_or_else(|| format!("status {status}"));
        let answer = Answer {
            status,
            headers,
            body: None,
        };
        let doing = request.doing;
        let bucket = self.bucket();
        let region = answer.header("x-amz-bucket-region").map(str::to_owned);
        let region = region.or_else(|| listing::error_region(&text));
        let region = region.filter(|region| *region != self.settings.region);
        Err(match (status, code.as_str()) {
            (404, "NoSuchBucket") => BucketError::NoBucket {
                bucket,
                service: self.service(),
            }
            .into(),
            (404, _) => return Ok(answer),
            (412, _) => return Ok(answer),
            // Two conditions were judged at once: the later one is told when it asks again.
            (409, "ConditionalRequestConflict" | "OperationAborted") => Failed {
                error: BucketError::Busy {
                    bucket,
                    doing,
                    code,
                },
                again: true,
                wait: None,
            },
            (409, _) => return Ok(answer),
            (301 | 307 | 400 | 403, _) if region.is_some() => BucketError::Region {
                given: self.settings.region.clone(),
                right: region,
            }
            .into(),
            (400, "RequestTimeout") => Failed {
                error: BucketError::Busy {
                    bucket,
                    doing,
                    code,
                },
                again: true,
                wait: None,
            },
            (401 | 403, _) | (400, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
                BucketError::Denied {
                    bucket,
                    doing,
                    code,
                }
                .into()
            }
            (status, _) if is_retryable(status) || status >= 500 => Failed {
                error: BucketError::Busy {
                    bucket,
                    doing,
                    code,
                },
                again: true,
                wait: asked_wait(&answer.headers, SystemTime::now()),
            },
            _ => BucketError::Unexpected {
                bucket,
                doing,
                code,
            }
            .into(),
        })
    }

    pub(super) async fn text(&self, answer: Answer, most: usize) -> Result<String, Failed> {
        match answer.body {
            Some(body) => self.body_text(body, most).await,
            None => Ok(String::new()),
        }
    }

    async fn body_text(&self, mut body: Response, most: usize) -> Result<String, Failed> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(&mut body).await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > most {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The next bytes of a body; nothing at its end.
    pub(super) async fn piece(&self, body: &mut Response) -> Result<Option<bytes::Bytes>, Failed> {
        let piece = timeout(PATIENCE, body.chunk()).await;
        let piece = piece.map_err(|_| self.away("the answer stopped coming"))?;
        piece.map_err(|error| self.away(&format!("the answer broke off: {}", root_cause(&error))))
    }

    fn away(&self, reason: &str) -> Failed {
        Failed {
            error: BucketError::Unreachable {
                bucket: self.bucket(),
                service: self.service(),
                reason: reason.to_owned(),
            },
            again: true,
            wait: None,
        }
    }

    pub(super) fn unexpected(&self, doing: &'static str, what: &str) -> BucketError {
        BucketError::Unexpected {
            bucket: self.bucket(),
            doing,
            code: what.to_owned(),
        }
    }

    pub(super) fn bucket(&self) -> String {
        self.address.bucket().to_owned()
    }

    /// Scheme, host and port.
    fn service(&self) -> String {
        self.settings.endpoint.origin().ascii_serialization()
    }
}

impl From<BucketError> for Failed {
    fn from(error: BucketError) -> Self {
        Self {
            error,
            again: false,
            wait: None,
        }
    }
}

pub(super) fn unusable(path: &Path, error: &io::Error) -> BucketError {
    BucketError::File {
        path: path.to_owned(),
        problem: plain_reason(&error.to_string()),
    }
}

pub(super) fn setup(reason: &str) -> BucketError {
    BucketError::Setup {
        reason: plain_reason(reason),
    }
}
