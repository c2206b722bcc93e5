//! [`CallObserver`]: somebody who watches the calls of a client from its own side: what was
//! sent and when what came back. Only clients that are told so look for one; all others pay
//! nothing for it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use context_bench_tap::Headers;
use reqwest::header::HeaderMap;

/// How much of a reply an observer gets to see; no reply that is read is longer by much.
const KEPT_REPLY: usize = 16 * 1024 * 1024;

tokio::task_local! {
    static OBSERVER: Arc<dyn CallObserver>;
}

/// Watches the attempts that a client makes.
pub(crate) trait CallObserver: Send + Sync {
    /// An attempt begins: a request with this body is about to be sent to this path. Returns
    /// its number and the headers that it is to carry.
    fn begin(&self, path: &str, body: &Bytes) -> (usize, HeaderMap);

    /// It has ended, in whichever way.
    fn end(&self, attempt: usize, seen: ObservedAttempt);
}

/// What a client saw of one attempt.
#[derive(Debug, Clone)]
pub(crate) struct ObservedAttempt {
    /// When it was about to be sent.
    pub(crate) begun: Instant,
    /// When its request had been sent: without the time that a new connection took.
    pub(crate) sent: Instant,
    /// The status of its reply.
    pub(crate) status: Option<u16>,
    /// The headers of its reply, in their order.
    pub(crate) headers: Headers,
    /// The body of its reply as it came.
    pub(crate) reply: Vec<u8>,
    /// How many bytes of it came, all in all.
    pub(crate) reply_bytes: u64,
    /// Its pieces: where each begins and when it was there.
    pub(crate) pieces: Vec<(u64, u64, Instant)>,
    /// When it ended.
    pub(crate) ended: Instant,
}

/// Lets somebody watch the calls that are made inside.
pub(crate) async fn observed<F: Future>(
    observer: Option<Arc<dyn CallObserver>>,
    calls: F,
) -> F::Output {
    match observer {
        Some(observer) => OBSERVER.scope(observer, calls).await,
        None => calls.await,
    }
}

/// An attempt that is watched, until it is dropped.
pub(super) struct Watched {
    observer: Arc<dyn CallObserver>,
    number: usize,
    seen: Option<ObservedAttempt>,
}

impl Watched {
    /// Begins to watch, if somebody does.
    pub(super) fn begin(path: &str, body: &Bytes) -> Option<(Self, HeaderMap)> {
        let observer = OBSERVER.try_with(Arc::clone).ok()?;
        let (number, headers) = observer.begin(path, body);
        let now = Instant::now();
        let seen = ObservedAttempt {
            begun: now,
            sent: now,
            status: None,
            headers: Headers::default(),
            reply: Vec::new(),
            reply_bytes: 0,
            pieces: Vec::new(),
            ended: now,
        };
        let watched = Self {
            observer,
            number,
            seen: Some(seen),
        };
        Some((watched, headers))
    }

    /// The head of the reply is there; so much of the time was spent on a new connection.
    pub(super) fn head(&mut self, response: &reqwest::Response, connecting: std::time::Duration) {
        let Some(seen) = &mut self.seen else { return };
        seen.sent = seen.begun + connecting;
        seen.status = Some(response.status().as_u16());
        let headers = response.headers().iter();
        let headers = headers.map(|(name, value)| (name, value.as_bytes()));
        seen.headers = headers.collect();
    }

    /// A piece of the reply is there.
    pub(super) fn piece(&mut self, piece: &[u8]) {
        let Some(seen) = &mut self.seen else { return };
        if piece.is_empty() {
            return;
        }
        let (at, length) = (seen.reply_bytes, piece.len() as u64);
        seen.pieces.push((at, length, Instant::now()));
        seen.reply_bytes += length;
        if seen.reply.len() + piece.len() <= KEPT_REPLY {
            seen.reply.extend_from_slice(piece);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(mut seen) = self.seen.take() {
            seen.ended = Instant::now();
            self.observer.end(self.number, seen);
        }
    }
}
