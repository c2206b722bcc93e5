//! Parts of a file over HTTP, as a reader of parquet files wants them.
//!
//! Such a reader takes the end of the file first, then column chunks in small
//! steps. So the end comes in one piece, and steps that follow each other come
//! with more and more read-ahead. What the CDN's address was is remembered
//! until it no longer works.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use context_bench_http::{asked_wait, is_retryable};
use reqwest::header::{IF_RANGE, RANGE};
use url::Url;

use crate::error::{At as _, HubError};
use crate::file::RemoteFile;
use crate::http::{Http, HubRequest, outside, shown};
use crate::reply::Reply;
use crate::tree::file_url;
use crate::web;

/// The end of a file that is read in one piece: most footers fit.
const TAIL: u64 = 128 * 1024;
/// The least that is asked for elsewhere.
const STEP: u64 = 64 * 1024;
/// The most that is read ahead of a steady reader.
const LONGEST_STEP: u64 = 4 * 1024 * 1024;
/// What is kept of what was read.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
const KEPT_EXTENTS: usize = 64;

/// A file of which parts can be read, from several threads at once.
#[derive(Debug)]
pub struct RangedFile {
    len: u64,
    source: Source,
    bytes_fetched: AtomicU64,
    requests: AtomicU64,
}

#[derive(Debug)]
enum Source {
    Local(Mutex<File>),
    Remote(Box<Remote>),
}

struct Remote {
    http: Arc<Http>,
    /// The address that is always right.
    origin: Url,
    /// Where it led to last time.
    place: Mutex<Option<Url>>,
    /// The file that an address without a commit must still have.
    validator: Option<String>,
    file: Option<RemoteFile>,
    /// What was read lately, last used first.
    kept: Mutex<VecDeque<Extent>>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Where the file is in the end is a signed address.
        f.debug_struct("Remote")
            .field("origin", &shown(&self.origin))
            .finish_non_exhaustive()
    }
}

/// A piece of the file.
#[derive(Debug, Clone)]
struct Extent {
    start: u64,
    bytes: Bytes,
}

impl Extent {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn holds(&self, at: u64) -> bool {
        self.start <= at && at < self.end()
    }

    /// From `at` on, at most `len` bytes.
    fn from(&self, at: u64, len: u64) -> Bytes {
        let skip = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        let most = usize::try_from(len).unwrap_or(usize::MAX);
        let rest = self.bytes.slice(skip.min(self.bytes.len())..);
        let take = rest.len().min(most);
        rest.slice(..take)
    }
}

impl RangedFile {
    pub(crate) fn local(path: &Path) -> Result<Self, HubError> {
        let file = File::open(path).at("open", path)?;
        let len = file.metadata().at("read", path)?.len();
        Ok(Self::new(len, Source::Local(Mutex::new(file))))
    }

    pub(crate) fn of_repo(http: Arc<Http>, file: &RemoteFile) -> Result<Self, HubError> {
        let remote = Remote {
            origin: file_url(&http, file)?,
            http,
            place: Mutex::default(),
            validator: None,
            file: Some(file.clone()),
            kept: Mutex::default(),
        };
        Ok(Self::new(file.size, Source::Remote(Box::new(remote))))
    }

    /// Asks for the end of the file, which also shows how long it is.
    pub(crate) fn of_url(http: Arc<Http>, url: Url) -> Result<Self, HubError> {
        let ask = HubRequest::get(url.clone()).header(RANGE, &format!("bytes=-{TAIL}"));
        let mut reply = http.send(&ask)?;
        let Some((start, Some(len))) = reply.content_range().filter(|_| reply.status == 206) else {
            return Err(match reply.status {
                200 => no_parts(&url),
                _ => web::refused(&http, reply),
            });
        };
        let mut tail = BytesMut::new();
        while let Some(piece) = http.chunk(&mut reply.response, &reply.url)? {
            tail.extend_from_slice(&piece);
            if tail.len() as u64 > TAIL {
                return Err(no_parts(&url));
            }
        }
        if start.checked_add(tail.len() as u64) != Some(len) {
            return Err(no_parts(&url));
        }
        let fetched = tail.len() as u64;
        let extent = Extent {
            start,
            bytes: tail.freeze(),
        };
        let remote = Remote {
            http,
            place: Mutex::default(),
            validator: web::strong_validator(&reply.headers),
            file: None,
            kept: Mutex::new(VecDeque::from([extent])),
            origin: url,
        };
        let file = Self::new(len, Source::Remote(Box::new(remote)));
        file.bytes_fetched.store(fetched, Ordering::Relaxed);
        file.requests.store(1, Ordering::Relaxed);
        Ok(file)
    }

    fn new(len: u64, source: Source) -> Self {
        Self {
            len,
            source,
            bytes_fetched: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        }
    }

    /// The size of the file in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bytes came over the network so far, read-ahead and repeated
    /// attempts included.
    pub fn bytes_fetched(&self) -> u64 {
        self.bytes_fetched.load(Ordering::Relaxed)
    }

    /// How many requests were sent so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Exactly `len` bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` past the end of the file; otherwise what the network or
    /// the hub had against it, as a [`HubError`] inside.
    pub fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let wanted = len as u64;
        if offset.checked_add(wanted).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if len == 0 {
            return Ok(Bytes::new());
        }
        match &self.source {
            Source::Local(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(offset))?;
                let mut bytes = vec![0; len];
                file.read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
            Source::Remote(remote) => self.read_remote(remote, offset, wanted),
        }
    }

    fn read_remote(&self, remote: &Remote, offset: u64, len: u64) -> io::Result<Bytes> {
        let known = remote.kept(offset);
        let mut begun = Bytes::new();
        // A reader that goes on where a piece ends will go on further.
        let mut ahead = STEP;
        if let Some(known) = known {
            if known.holds(offset) {
                begun = known.from(offset, len);
            }
            ahead = (known.bytes.len() as u64)
                .saturating_mul(2)
                .clamp(STEP, LONGEST_STEP);
        }
        let missing = len - begun.len() as u64;
        if missing == 0 {
            return Ok(begun);
        }
        let mut start = offset + begun.len() as u64;
        let mut end = (start + missing.max(ahead)).min(self.len);
        let tail = self.len.saturating_sub(TAIL);
        if start + missing > tail {
            end = self.len;
            // All of the end at once, unless its beginning is there already.
            if begun.is_empty() {
                start = start.min(tail);
            }
        }
        let bytes = outside(|| self.fetch(remote, start, end)).map_err(io::Error::other)?;
        let extent = Extent { start, bytes };
        let rest = extent.from(offset + begun.len() as u64, missing);
        remote.keep(extent);
        if begun.is_empty() {
            return Ok(rest);
        }
        let mut whole = BytesMut::with_capacity(begun.len() + rest.len());
        whole.extend_from_slice(&begun);
        whole.extend_from_slice(&rest);
        Ok(whole.freeze())
    }

    /// The bytes from `start` up to but not including `end`, from the network.
    fn fetch(&self, remote: &Remote, start: u64, end: u64) -> Result<Bytes, HubError> {
        let http = &remote.http;
        let mut got = BytesMut::new();
        let mut retry = 0;
        let mut asked_again = false;
        loop {
            let place = remote.place();
            let from = start + got.len() as u64;
            let url = place.as_ref().unwrap_or(&remote.origin);
            let mut ask =
                HubRequest::get(url.clone()).header(RANGE, &format!("bytes={from}-{}", end - 1));
            if let Some(validator) = &remote.validator {
                ask = ask.header(IF_RANGE, validator);
            }
            self.requests.fetch_add(1, Ordering::Relaxed);
            let (error, asked) = match http.attempt(&ask) {
                Err(failed) => (failed.into(), None),
                Ok(reply) if is_retryable(reply.status) => {
                    let asked = asked_wait(&reply.headers, SystemTime::now());
                    (http.refused(reply, asked), asked)
                }
                // The signed address is too old: ask the hub for a new one.
                Ok(reply)
                    if place.is_some()
                        && !asked_again
                        && matches!(reply.status, 400 | 401 | 403 | 404 | 410) =>
                {
                    asked_again = true;
                    remote.lead_to(None);
                    continue;
                }
                Ok(reply) => {
                    let before = got.len();
                    match self.body(remote, reply, from, end, &mut got)? {
                        None => return Ok(got.freeze()),
                        Some(error) => {
                            if got.len() > before {
                                retry = 0;
                            }
                            (error, None)
                        }
                    }
                }
            };
            let Some(wait) = http.wait(retry, asked, Duration::ZERO) else {
                return Err(error);
            };
            retry += 1;
            std::thread::sleep(wait);
        }
    }

    /// Takes in the body of an answer. Gives an error that is worth another
    /// attempt, or nothing when all is there.
    fn body(
        &self,
        remote: &Remote,
        mut reply: Reply,
        from: u64,
        end: u64,
        got: &mut BytesMut,
    ) -> Result<Option<HubError>, HubError> {
        let http = &remote.http;
        match (reply.status, reply.content_range()) {
            (206, Some((start, total)))
                if start == from && total.is_none_or(|total| total == self.len) => {}
            (200 | 206, _) => {
                let reason = match &remote.validator {
                    Some(_) => "the file changed while it was read",
                    None => "it serves no parts of files",
                };
                return Err(HubError::BadReply {
                    url: shown(&reply.url),
                    reason: reason.to_owned(),
                });
            }
            _ => {
                return Err(match &remote.file {
                    Some(file) => reply.into_repo_error(http, &file.repo, &file.revision),
                    None => web::refused(http, reply),
                });
            }
        }
        if reply.url.origin() != remote.origin.origin() {
            remote.lead_to(Some(reply.url.clone()));
        }
        let mut left = end - from;
        let at = reply.url.clone();
        while left > 0 {
            match http.chunk(&mut reply.response, &at) {
                Ok(Some(piece)) => {
                    self.bytes_fetched
                        .fetch_add(piece.len() as u64, Ordering::Relaxed);
                    let take = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    got.extend_from_slice(&piece[..take]);
                    left -= take as u64;
                }
                Ok(None) => {
                    return Ok(Some(HubError::Unreachable {
                        host: crate::http::host(&at),
                        reason: "it sent less than was asked for".to_owned(),
                        cached: String::new(),
                    }));
                }
                Err(failed) => return Ok(Some(failed.into())),
            }
        }
        Ok(None)
    }
}

impl Remote {
    /// The piece that holds this place or ends right before it.
    fn kept(&self, at: u64) -> Option<Extent> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept
            .iter()
            .position(|extent| extent.holds(at))
            .or_else(|| kept.iter().position(|extent| extent.end() == at))?;
        let extent = kept.remove(found)?;
        kept.push_front(extent.clone());
        Some(extent)
    }

    fn keep(&self, extent: Extent) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(extent);
        let mut total = 0;
        let mut count = 0;
        kept.retain(|extent| {
            total += extent.bytes.len();
            count += 1;
            // The newest stays however large it is.
            count == 1 || (total <= KEPT_BYTES && count <= KEPT_EXTENTS)
        });
    }

    fn place(&self) -> Option<Url> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.clone()
    }

    fn lead_to(&self, to: Option<Url>) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = to;
    }
}

fn no_parts(url: &Url) -> HubError {
    HubError::BadReply {
        url: shown(url),
        reason: "it serves no parts of files".to_owned(),
    }
}
