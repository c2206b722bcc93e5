//! `ChatServer`: its options, and what a test can ask it. How a server lives and
//! ends is in `life`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;

use crate::alarm::Alarm;
use crate::connection::{Answers, Shared, serve};
use crate::handlers;
use crate::life::Life;
use crate::record::{RecordedRequest, Recorder, RecordingDetail};
use crate::render;
use crate::reply::Reply;
use crate::request::Request;

/// A running loopback endpoint; dropping it ends it and all its connections.
pub struct ChatServer {
    life: Life,
    shared: Arc<Shared>,
}

/// The options of a server that is not started yet.
#[derive(Clone, Debug)]
pub struct ServerBuilder {
    port: u16,
    workers: usize,
    keep: RecordingDetail,
    latency: Duration,
    together: usize,
    models: Vec<String>,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            port: 0,
            workers: 1,
            keep: RecordingDetail::Everything,
            latency: Duration::ZERO,
            together: 0,
            models: Vec::new(),
        }
    }
}

impl ServerBuilder {
    /// The port on 127.0.0.1; 0, the default, takes a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// How many threads serve; 1 by default. Scripts that block need more.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Whether to record the bodies of requests; true by default.
    #[must_use]
    pub fn record_bodies(mut self, record: bool) -> Self {
        self.keep = if record {
            RecordingDetail::Everything
        } else {
            RecordingDetail::NoBodies
        };
        self
    }

    /// Records only counts and latencies, no requests at all: for long runs.
    #[must_use]
    pub fn counts_only(mut self) -> Self {
        self.keep = RecordingDetail::CountsOnly;
        self
    }

    /// A delay before every completion reply, on top of what the reply says.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The first so many completion requests are answered once all of them are
    /// there, so that they are in flight together on any machine. Without them
    /// all, none is ever answered. Not for a fixed reply.
    #[must_use]
    pub fn together(mut self, requests: usize) -> Self {
        self.together = requests;
        self
    }

    /// The names that `GET /v1/models` lists; none by default.
    #[must_use]
    pub fn models<I: IntoIterator<Item: Into<String>>>(mut self, names: I) -> Self {
        self.models = names.into_iter().map(Into::into).collect();
        self
    }

    /// Starts a server that answers every completion request by this script.
    /// With [`handlers::noop`] this is [`ServerBuilder::start_fixed`].
    ///
    /// # Panics
    /// If the port is taken or the system refuses a socket or thread.
    pub fn start<H>(self, handler: H) -> ChatServer
    where
        H: Fn(&Request) -> Reply + Send + Sync + 'static,
    {
        if handlers::is_noop::<H>() {
            return self.start_fixed(&handlers::noop_reply());
        }
        self.launch(Answers::Script(Box::new(handler)))
    }

    /// Starts a server that answers every completion request, chat or plain,
    /// streamed or not, with the same preassembled bytes. The fastest mode: no
    /// body is kept or parsed and only counts and latencies are recorded.
    ///
    /// # Panics
    /// If the reply is not one complete write (a fault, a drip), and as
    /// [`ServerBuilder::start`].
    pub fn start_fixed(mut self, reply: &Reply) -> ChatServer {
        self.keep = RecordingDetail::CountsOnly;
        let (delay, bytes) = render::fixed(reply);
        self.launch(Answers::Fixed { delay, bytes })
    }

    fn launch(self, answers: Answers) -> ChatServer {
        let shared = Arc::new(Shared {
            answers,
            latency: self.latency,
            together: self.together,
            gathered: Barrier::new(self.together),
            models: self.models,
            recorder: Recorder::new(self.keep),
            alarm: Alarm::default(),
        });
        let for_thread = Arc::clone(&shared);
        let life = Life::start(self.port, self.workers, move |stream| {
            serve(stream, Arc::clone(&for_thread))
        });
        ChatServer { life, shared }
    }
}

impl ChatServer {
    /// Starts a server with default options on a free port.
    ///
    /// # Panics
    /// As [`ServerBuilder::start`].
    pub fn start<H>(handler: H) -> Self
    where
        H: Fn(&Request) -> Reply + Send + Sync + 'static,
    {
        Self::builder().start(handler)
    }

    /// Options first, then [`ServerBuilder::start`].
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// `http://127.0.0.1:PORT`, with no slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.life.address)
    }

    /// `http://127.0.0.1:PORT/v1`, the base address of an OpenAI client.
    pub fn base_url_v1(&self) -> String {
        format!("http://{}/v1", self.life.address)
    }

    /// The address to connect to.
    pub fn addr(&self) -> SocketAddr {
        self.life.address
    }

    /// The completion requests received so far, in order of arrival; empty for
    /// a server with a fixed reply or with counts only.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.recorder.requests()
    }

    /// The requests that never reach the script: models, unknown paths.
    pub fn other_requests(&self) -> Vec<RecordedRequest> {
        self.shared.recorder.others()
    }

    /// How many completion requests were fully read so far.
    pub fn request_count(&self) -> usize {
        self.shared.recorder.request_count()
    }

    /// How many connections were accepted so far.
    pub fn connection_count(&self) -> usize {
        self.shared.recorder.connection_count()
    }

    /// How many completion requests wait for their reply now.
    pub fn in_flight(&self) -> usize {
        self.shared.recorder.in_flight()
    }

    /// The most completion requests that ever waited for their reply at once. A
    /// request whose client went away counts until the server notices.
    pub fn peak_in_flight(&self) -> usize {
        self.shared.recorder.peak_in_flight()
    }

    /// For each complete reply, the time from the request being fully read to
    /// the reply being fully written, in order of completion.
    pub fn latencies(&self) -> Vec<Duration> {
        self.shared.recorder.latencies()
    }

    /// Waits until this many completion requests have arrived; false if they do
    /// not within the time.
    pub fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let until = Instant::now() + within;
        while self.request_count() < count {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Ends the server and all its connections, as dropping it does.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl std::fmt::Debug for ChatServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ChatServer")
            .field("address", &self.life.address)
            .field("requests", &self.request_count())
            .finish_non_exhaustive()
    }
}
