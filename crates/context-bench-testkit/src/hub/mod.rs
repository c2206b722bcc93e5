//! A Hugging Face hub on loopback: repos of datasets and models from memory or files, its API,
//! redirects to a "CDN" on another port, and faults on demand.
//!
//! ```
//! use context_bench_testkit::hub::{FakeHub, FakeRepo};
//!
//! let hub = FakeHub::start([FakeRepo::new("org/name").large("data.jsonl", b"{}\n")]);
//! assert!(hub.url().starts_with("http://127.0.0.1:"));
//! assert_eq!(hub.requests().len(), 0);
//! ```

mod content;
mod fault;
mod repo;
mod routes;
mod serve;

pub use content::Content;
pub use fault::{HubFault, Pages};
pub use repo::FakeRepo;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::headers::Headers;
use crate::life::Life;

/// A token that opens gated repos.
pub const GOOD_TOKEN: &str = "hf_good";
/// A token that the hub knows and that opens nothing.
pub const OTHER_TOKEN: &str = "hf_other";

/// One request that a hub has seen, and what it sent.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// Whether it came to the CDN and not to the hub.
    pub on_cdn: bool,
    /// The method as sent.
    pub method: String,
    /// The path as sent, without its query.
    pub path: String,
    /// What followed the `?`.
    pub query: String,
    /// The headers as sent.
    pub headers: Headers,
    /// The status of the answer.
    pub status: u16,
    /// How many bytes of a body were sent.
    pub sent: u64,
}

/// A request with a count that still grows while its body goes out.
pub(crate) struct LoggedRequest {
    pub(crate) request: SeenRequest,
    pub(crate) sent: Arc<AtomicU64>,
}

impl LoggedRequest {
    fn now(&self) -> SeenRequest {
        SeenRequest {
            sent: self.sent.load(Ordering::SeqCst),
            ..self.request.clone()
        }
    }
}

/// A file at a plain address, for tests without a hub.
#[derive(Clone, Debug)]
pub(crate) struct WebFile {
    pub(crate) content: Content,
    pub(crate) etag: Option<String>,
}

pub(crate) struct State {
    pub(crate) repos: Mutex<BTreeMap<String, FakeRepo>>,
    pub(crate) web: Mutex<BTreeMap<String, WebFile>>,
    pub(crate) faults: Mutex<Vec<(String, HubFault)>>,
    /// Faults that are not used up.
    pub(crate) lasting: Mutex<Vec<(String, HubFault)>>,
    /// How listings fail to end.
    pub(crate) pages: Mutex<Option<Pages>>,
    pub(crate) seen: Mutex<Vec<LoggedRequest>>,
    pub(crate) cdn: OnceLock<String>,
    pub(crate) hub: OnceLock<String>,
    /// Signed addresses of earlier epochs have expired.
    pub(crate) epoch: AtomicU64,
    /// How many files a page of a listing has.
    pub(crate) page: AtomicUsize,
}

/// Locks even after a test thread panicked, so that the panic is what is shown.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running hub with its CDN; dropping it ends both.
pub struct FakeHub {
    state: Arc<State>,
    _hub: Life,
    _cdn: Life,
}

impl FakeHub {
    /// Starts a hub with these repos.
    ///
    /// # Panics
    /// If the system refuses a socket or thread.
    pub fn start(repos: impl IntoIterator<Item = FakeRepo>) -> Self {
        let state = Arc::new(State {
            repos: Mutex::default(),
            web: Mutex::default(),
            faults: Mutex::default(),
            lasting: Mutex::default(),
            pages: Mutex::default(),
            seen: Mutex::default(),
            cdn: OnceLock::new(),
            hub: OnceLock::new(),
            epoch: AtomicU64::new(0),
            page: AtomicUsize::new(1000),
        });
        let life = |on_cdn: bool| {
            let state = Arc::clone(&state);
            Life::start(0, 2, move |stream| {
                serve::serve(stream, Arc::clone(&state), on_cdn)
            })
        };
        let (hub, cdn) = (life(false), life(true));
        let address = |life: &Life| format!("http://{}", life.address);
        state.hub.set(address(&hub)).expect("set once");
        state.cdn.set(address(&cdn)).expect("set once");
        let fake = Self {
            state,
            _hub: hub,
            _cdn: cdn,
        };
        for repo in repos {
            fake.push(repo);
        }
        fake
    }

    /// `http://127.0.0.1:PORT`, for `HF_ENDPOINT`.
    pub fn url(&self) -> &str {
        self.state.hub.get().expect("set at start")
    }

    /// The address of the CDN, a host of its own.
    pub fn cdn_url(&self) -> &str {
        self.state.cdn.get().expect("set at start")
    }

    /// Adds a repo, or new commits to one: its branches move, and earlier
    /// commits stay.
    pub fn push(&self, repo: FakeRepo) {
        let mut repos = locked(&self.state.repos);
        match repos.remove(&repo.key()) {
            Some(before) => repos.insert(repo.key(), before.followed_by(repo)),
            None => repos.insert(repo.key(), repo),
        };
    }

    /// The commit that a branch of a repo names; a model is `models/NAME`.
    ///
    /// # Panics
    /// If there is no such repo or branch.
    pub fn commit(&self, repo: &str, branch: &str) -> String {
        let repos = locked(&self.state.repos);
        repos[repo].commit(branch).expect("a branch")
    }

    /// Puts a file to a plain address on the CDN host, and gives that address.
    pub fn web_file(&self, name: &str, content: &[u8], etag: Option<&str>) -> String {
        let file = WebFile {
            content: content.into(),
            etag: etag.map(str::to_owned),
        };
        locked(&self.state.web).insert(name.to_owned(), file);
        format!("{}/files/{name}", self.cdn_url())
    }

    /// The next request whose decoded path contains this text meets the fault.
    /// Faults are used up one per request, in order.
    pub fn fault(&self, path: &str, fault: HubFault) {
        locked(&self.state.faults).push((path.to_owned(), fault));
    }

    /// Every request whose decoded path contains this text meets the fault.
    pub fn always(&self, path: &str, fault: HubFault) {
        locked(&self.state.lasting).push((path.to_owned(), fault));
    }

    /// Listings do not end from now on.
    pub fn endless_pages(&self, pages: Pages) {
        *locked(&self.state.pages) = Some(pages);
    }

    /// Lets all addresses of the CDN that were given out expire.
    pub fn expire_signatures(&self) {
        self.state.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// How many files a page of a listing has; 1000 by default.
    pub fn page_size(&self, files: usize) {
        self.state.page.store(files.max(1), Ordering::SeqCst);
    }

    /// What was asked so far, in order.
    pub fn requests(&self) -> Vec<SeenRequest> {
        locked(&self.state.seen)
            .iter()
            .map(LoggedRequest::now)
            .collect()
    }

    /// Forgets what was asked so far.
    pub fn forget_requests(&self) {
        locked(&self.state.seen).clear();
    }

    /// How many bytes of bodies were sent for requests whose path contains this.
    pub fn bytes_sent(&self, path: &str) -> u64 {
        let seen = self.requests();
        let about = seen.iter().filter(|request| request.path.contains(path));
        about.map(|request| request.sent).sum()
    }
}

impl std::fmt::Debug for FakeHub {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("FakeHub")
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}
