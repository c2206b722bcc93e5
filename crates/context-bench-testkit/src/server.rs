//! The life of a server: its socket, its thread, its runtime, its end.
//!
//! The server has a thread and runtime of its own, so that sync and async tests
//! start it alike and cannot starve it. It does not know what a request is.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::alarm::Alarm;
use crate::connection::{Answers, Shared, serve};
use crate::handlers;
use crate::record::{Keep, RecordedRequest, Recorder};
use crate::render;
use crate::reply::Reply;
use crate::request::Request;

const BACKLOG: u32 = 4096;
/// The pause after a failed accept, such as one for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(5);

/// A running loopback endpoint; dropping it ends it and all its connections.
pub struct ChatServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The options of a server that is not started yet.
#[derive(Clone, Debug)]
pub struct ServerBuilder {
    port: u16,
    workers: usize,
    keep: Keep,
    latency: Duration,
    models: Vec<String>,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            port: 0,
            workers: 1,
            keep: Keep::Everything,
            latency: Duration::ZERO,
            models: vec!["mock-model".to_owned()],
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

    /// How many threads serve; 1 unless told. Scripts that block need more.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Whether to record the bodies of requests; true unless told.
    #[must_use]
    pub fn record_bodies(mut self, record: bool) -> Self {
        self.keep = if record {
            Keep::Everything
        } else {
            Keep::NoBodies
        };
        self
    }

    /// Records only counts and latencies, no requests at all: for long runs.
    #[must_use]
    pub fn counts_only(mut self) -> Self {
        self.keep = Keep::CountsOnly;
        self
    }

    /// A delay before every completion reply, on top of what the reply says.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The names `GET /v1/models` lists, instead of `mock-model`.
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
        self.keep = Keep::CountsOnly;
        let (delay, bytes) = render::fixed(reply);
        self.launch(Answers::Fixed { delay, bytes })
    }

    fn launch(self, answers: Answers) -> ChatServer {
        let shared = Arc::new(Shared {
            answers,
            latency: self.latency,
            models: self.models,
            recorder: Recorder::new(self.keep),
            alarm: Alarm::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = mpsc::channel();
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("mock-endpoint".to_owned())
            .spawn(move || run(self.port, self.workers, for_thread, stopped, &ready))
            .expect("the system has a thread for the mock endpoint");
        let address = started
            .recv()
            .expect("the mock endpoint found a socket and a runtime");
        ChatServer {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
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
        format!("http://{}", self.address)
    }

    /// `http://127.0.0.1:PORT/v1`, the base address of an OpenAI client.
    pub fn base_url_v1(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address to connect to.
    pub fn addr(&self) -> SocketAddr {
        self.address
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

impl Drop for ChatServer {
    fn drop(&mut self) {
        // Both fail only if the thread is dead, which is what is wanted.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl std::fmt::Debug for ChatServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ChatServer")
            .field("address", &self.address)
            .field("requests", &self.request_count())
            .finish_non_exhaustive()
    }
}

/// The whole life of the server thread.
fn run(
    port: u16,
    workers: usize,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
    ready: &mpsc::Sender<SocketAddr>,
) {
    let runtime = runtime(workers);
    runtime.block_on(async {
        let listener = listen(port);
        let address = listener.local_addr().expect("a listener has an address");
        ready.send(address).expect("the starter waits");
        let accepting = async {
            if workers > 1 {
                // On a worker, to spare a wake-up across threads per connection.
                drop(tokio::spawn(accept(listener, shared)).await);
            } else {
                accept(listener, shared).await;
            }
        };
        tokio::select! {
            () = accepting => {}
            // An error means that the server was dropped: stop all the same.
            _ = stopped => {}
        }
    });
    // Drops every connection where it waits, hanging ones too.
    runtime.shutdown_timeout(Duration::from_secs(1));
}

fn runtime(workers: usize) -> Runtime {
    let mut builder = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("the system has room for a runtime")
}

fn listen(port: u16) -> TcpListener {
    let socket = TcpSocket::new_v4().expect("the system has a socket");
    if port != 0 {
        // So that a fixed port can be taken again right after a restart.
        socket
            .set_reuseaddr(true)
            .expect("a fresh socket takes options");
    }
    socket
        .bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .unwrap_or_else(|error| panic!("port {port} is not free: {error}"));
    socket.listen(BACKLOG).expect("a bound socket can listen")
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(&shared)))),
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
    }
}
