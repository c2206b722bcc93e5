//! `Bucket`: lists, gets, puts and removes objects, and tries again where that may help.
//!
//! It has a thread of its own: calls block, and may come from inside another runtime.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use reqwest::Method;
use tokio::runtime::Runtime;

use super::listing;
use super::request::{BucketRequest, CONTENT, FileBody};
use super::service::{Answer, Failed, Service, setup, unusable};
use super::{BucketAddress, BucketError, BucketSettings};

/// S3 takes no more in one request.
const LARGEST: u64 = 5_000_000_000;
/// As much of a page of a list as is read: a thousand names of a kilobyte, with all about them.
const MOST_OF_A_PAGE: usize = 16 << 20;

/// When an object may be put in its place.
#[derive(Debug, Clone, Copy)]
pub enum PutCondition<'a> {
    /// Always.
    Any,
    /// When there is none.
    Absent,
    /// When the one that is there is still this version.
    Version(&'a str),
}

/// What became of an object that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// It is there, as this version.
    Stored(String),
    /// Its condition does not hold.
    Refused,
}

/// A place in a bucket.
pub struct Bucket {
    service: Service,
    runtime: Option<Runtime>,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bucket({})", self.service.address)
    }
}

impl Bucket {
    /// A client for a place in a bucket. Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// When TLS or a thread cannot be set up.
    pub fn new(address: BucketAddress, settings: BucketSettings) -> Result<Self, BucketError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("bucket")
            .enable_all()
            .build()
            .map_err(|error| setup(&error.to_string()))?;
        Ok(Self {
            service: Service::new(address, settings)?,
            runtime: Some(runtime),
        })
    }

    /// Where it is.
    pub fn address(&self) -> &BucketAddress {
        &self.service.address
    }

    /// The names of objects that begin like this, without what all begin with here.
    ///
    /// # Errors
    ///
    /// When the bucket cannot be listed.
    pub fn list(&self, beginning: &str) -> Result<Vec<String>, BucketError> {
        self.wait(async |service| service.list(beginning).await)
    }

    /// Writes an object into a file; its version, or `None` if there is no such object.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or the file not be written.
    pub fn get(&self, name: &str, to: &Path) -> Result<Option<String>, BucketError> {
        self.wait(async |service| service.get(name, to).await)
    }

    /// Whether there is such an object.
    ///
    /// # Errors
    ///
    /// When that cannot be asked.
    pub fn has(&self, name: &str) -> Result<bool, BucketError> {
        self.wait(async |service| Ok(service.head(name).await?.is_some()))
    }

    /// Puts a file in its place under a condition. An attempt whose answer was lost is found to be
    /// ours: an object that is there with the same content counts as stored.
    ///
    /// # Errors
    ///
    /// When it cannot be sent or is not accepted.
    pub fn put(
        &self,
        name: &str,
        file: &Path,
        condition: PutCondition<'_>,
    ) -> Result<PutOutcome, BucketError> {
        let body = FileBody::of(file).map_err(|error| unusable(file, &error))?;
        if body.length > LARGEST {
            return Err(BucketError::TooLarge {
                bucket: self.service.bucket(),
                bytes: body.length,
            });
        }
        let header = match condition {
            PutCondition::Any => None,
            PutCondition::Absent => Some(("if-none-match", "*".to_owned())),
            PutCondition::Version(version) => Some(("if-match", version.to_owned())),
        };
        self.wait(async |service| service.put(name, body, header).await)
    }

    /// Removes an object; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// When that is refused.
    pub fn remove(&self, name: &str) -> Result<(), BucketError> {
        self.wait(async |service| {
            let key = service.address.key(name);
            let request = BucketRequest::new(Method::DELETE, "remove an object", Some(key));
            service.send(&request).await?;
            Ok(())
        })
    }

    /// Waits for a request on a fresh thread: inside a runtime, waiting for another one is
    /// forbidden.
    fn wait<T: Send>(
        &self,
        work: impl AsyncFnOnce(&Service) -> Result<T, BucketError> + Send,
    ) -> Result<T, BucketError> {
        let ended = || setup("its thread has ended");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("bucket-call".to_owned());
            let service = &self.service;
            let started = thread.spawn_scoped(scope, || runtime.block_on(work(service)));
            match started.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(outcome)) => outcome,
                _ => Err(ended()),
            }
        })
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // Waiting for it would panic inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Service {
    async fn list(&self, beginning: &str) -> Result<Vec<String>, BucketError> {
        let doing = "list its objects";
        let root = self.address.key("");
        let mut names = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let mut request = BucketRequest::new(Method::GET, doing, None);
            request.query.push(("list-type", "2".into()));
            request.query.push(("prefix", self.address.key(beginning)));
            if let Some(token) = &token {
                request.query.push(("continuation-token", token.clone()));
            }
            let page = self
                .repeated(&request, async |answer| {
                    let text = self.text(answer, MOST_OF_A_PAGE).await?;
                    let page = listing::page(&text);
                    page.ok_or_else(|| self.unexpected(doing, "the answer is not a list"))
                        .map_err(Failed::from)
                })
                .await?;
            let inside = page.keys.iter().filter_map(|key| key.strip_prefix(&root));
            names.extend(inside.map(str::to_owned));
            // A service that gives the same page for ever would be asked for ever.
            if page.next.is_none() || page.next == token {
                return Ok(names);
            }
            token = page.next;
        }
    }

    async fn get(&self, name: &str, to: &Path) -> Result<Option<String>, BucketError> {
        let doing = "read an object";
        let request = BucketRequest::new(Method::GET, doing, Some(self.address.key(name)));
        self.repeated(&request, async |answer| {
            if answer.status == 404 {
                return Ok(None);
            }
            let version = answer.version().ok_or_else(|| {
                let error = self.unexpected(doing, "the object has no ETag");
                Failed::from(error)
            })?;
            let mut file = File::create(to).map_err(|error| Failed::from(unusable(to, &error)))?;
            let Some(mut body) = answer.body else {
                return Ok(None);
            };
            while let Some(piece) = self.piece(&mut body).await? {
                file.write_all(&piece)
                    .map_err(|error| Failed::from(unusable(to, &error)))?;
            }
            Ok(Some(version))
        })
        .await
    }

    async fn head(&self, name: &str) -> Result<Option<Answer>, BucketError> {
        let key = self.address.key(name);
        let request = BucketRequest::new(Method::HEAD, "read an object", Some(key));
        let answer = self.send(&request).await?;
        Ok((answer.status != 404).then_some(answer))
    }

    async fn put(
        &self,
        name: &str,
        body: FileBody,
        condition: Option<(&'static str, String)>,
    ) -> Result<PutOutcome, BucketError> {
        let doing = "store an object";
        let content = body.digest.clone();
        let mut request = BucketRequest::new(Method::PUT, doing, Some(self.address.key(name)));
        request.headers.extend(condition);
        request.headers.push((CONTENT, content.clone()));
        request.body = Some(body);
        let answer = self.send(&request).await?;
        if !matches!(answer.status, 404 | 409 | 412)
            && let Some(version) = answer.version()
        {
            return Ok(PutOutcome::Stored(version));
        }
        // Refused, perhaps because an attempt of ours was stored and its answer lost.
        let there = self.head(name).await?;
        let ours = there.filter(|there| there.header(CONTENT) == Some(content.as_str()));
        match (ours.and_then(|ours| ours.version()), answer.status) {
            (Some(version), _) => Ok(PutOutcome::Stored(version)),
            (None, 404 | 409 | 412) => Ok(PutOutcome::Refused),
            (None, _) => Err(self.unexpected(doing, "the object is not there afterwards")),
        }
    }
}
