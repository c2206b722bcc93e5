//! [`Tap`]: a recording reverse proxy, from its start to its report.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use context_bench_error::Hint;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::connection::Connection;
use super::settings::{TapSettings, Upstream};
use super::threads::RelayThreads;
use super::upstream::{Address, AddressError};
use crate::record::{
    BodyBudget, CallSink, CallsInFlight, Recorder, RecorderQueue, Scrubber, TapClock,
};

/// What all connections of a tap share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: TapSettings,
    pub(crate) upstreams: Vec<(Upstream, Address)>,
    pub(crate) scrubber: Arc<Scrubber>,
    pub(crate) budget: Arc<BodyBudget>,
    pub(crate) queue: RecorderQueue,
    pub(crate) clock: TapClock,
    pub(crate) in_flight: Arc<CallsInFlight>,
    calls: AtomicU64,
}

impl Shared {
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Relaxed)
    }
}

/// A running tap. Dropping it ends it at once; [`Tap::finish`] lets calls in flight end and
/// waits until everything is recorded.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    accepting: Abort,
    threads: RelayThreads,
    recorder: Recorder,
}

/// A task that ends when this is dropped.
#[derive(Debug)]
struct Abort(JoinHandle<()>);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a tap cannot start.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// The address is taken, or not one of this machine.
    #[error("cannot listen on `{address}`: {reason}")]
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system says.
        reason: io::Error,
    },
    /// An upstream cannot be used.
    #[error("upstream: {0}")]
    Upstream(String),
    /// There is no thread for the recorder.
    #[error("cannot start the recorder: {0}")]
    Recorder(io::Error),
    /// There is no thread to relay on.
    #[error("cannot start its threads: {0}")]
    Threads(io::Error),
}

impl Hint for TapError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { .. } => Some("port 0 takes a free one".to_owned()),
            Self::Upstream(_) => Some("write `https://HOST` or `http://HOST:PORT`".to_owned()),
            Self::Recorder(_) | Self::Threads(_) => None,
        }
    }
}

/// What a tap did, once it has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TapReport {
    /// How many calls arrived.
    pub calls: u64,
    /// How many of them were handed to the sink.
    pub recorded: u64,
    /// How many the sink could not keep, as on a full disk.
    pub not_kept: u64,
    /// Why, for the first of them.
    pub first_failure: Option<String>,
    /// How many had to wait at the door, since too much was still to be recorded. Their times
    /// are longer than the proxy and the upstream made them.
    pub held_back: u64,
}

impl Tap {
    /// Starts a tap on the current runtime.
    ///
    /// # Errors
    ///
    /// When it cannot listen, an upstream is not an address that calls can go to, or the
    /// machine has no certificates for one.
    pub async fn start(settings: TapSettings, sink: Box<dyn CallSink>) -> Result<Self, TapError> {
        let upstreams = settings.upstreams().map(|upstream| {
            let address = Address::of(upstream);
            Ok((upstream.clone(), address?))
        });
        let upstreams: Result<Vec<_>, AddressError> = upstreams.collect();
        let upstreams = upstreams.map_err(|error| TapError::Upstream(error.to_string()))?;
        let listen = |reason| TapError::Listen {
            address: settings.listen,
            reason,
        };
        let listener = listener(settings.listen).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let own = settings
            .upstreams()
            .filter_map(|upstream| upstream.credential.as_ref());
        let known = own
            .chain(&settings.secrets)
            .map(|secret| secret.key().to_owned());
        let scrubber = Arc::new(Scrubber::new(known));
        // The other half is for calls that are under way.
        let waiting = settings.body_memory / 2;
        let in_flight = Arc::new(CallsInFlight::default());
        let recorder =
            Recorder::start(sink, Arc::clone(&scrubber), waiting, Arc::clone(&in_flight));
        let recorder = recorder.map_err(TapError::Recorder)?;
        let threads = RelayThreads::start(settings.threads).map_err(TapError::Threads)?;
        let shared = Arc::new(Shared {
            upstreams,
            scrubber,
            budget: BodyBudget::new(settings.body_memory),
            queue: recorder.queue(),
            clock: TapClock::start(),
            in_flight,
            calls: AtomicU64::new(0),
            settings,
        });
        let (stop, stopping) = watch::channel(false);
        let runtimes = threads.runtimes();
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared), runtimes, stopping));
        Ok(Self {
            address,
            shared,
            stop,
            accepting: Abort(accepting),
            threads,
            recorder,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base address to give to the proxy of an arm, without `/v1`.
    pub fn base_url(&self, arm: &str) -> String {
        format!("http://{}/a/{arm}", self.address)
    }

    /// The clock that its stamps are on.
    pub fn clock(&self) -> TapClock {
        self.shared.clock
    }

    /// The calls that have begun and are not recorded yet.
    pub fn in_flight(&self) -> Arc<CallsInFlight> {
        Arc::clone(&self.shared.in_flight)
    }

    /// What takes secrets out of what is written down.
    pub fn scrubber(&self) -> Arc<Scrubber> {
        Arc::clone(&self.shared.scrubber)
    }

    /// How many calls have arrived.
    pub fn calls(&self) -> u64 {
        self.shared.calls.load(Relaxed)
    }

    /// How many calls have had to wait at the door, since too much was still to be recorded.
    pub fn held_back(&self) -> u64 {
        self.shared.queue.held_back()
    }

    /// Takes no more calls, lets those in flight end for a while, and waits until all of them
    /// are recorded.
    pub async fn finish(self) -> TapReport {
        self.finish_before(std::future::pending()).await
    }

    /// The same, but calls in flight are broken off when `cut` happens before they have ended.
    pub async fn finish_before(self, cut: impl Future<Output = ()>) -> TapReport {
        let Self {
            shared,
            stop,
            mut accepting,
            threads,
            recorder,
            ..
        } = self;
        // The task has gone if the runtime is ending; then there is nothing to tell it.
        let _ = stop.send(true);
        let is_cut = tokio::select! {
            _ = &mut accepting.0 => false,
            () = cut => true,
        };
        if is_cut {
            accepting.0.abort();
            let _ = (&mut accepting.0).await;
        }
        let calls = shared.calls.load(Relaxed);
        let held_back = shared.queue.held_back();
        drop(shared);
        // What is left of connections ends with them.
        drop(threads);
        let outcome = tokio::task::spawn_blocking(move || recorder.finish()).await;
        let outcome = outcome.unwrap_or_default();
        TapReport {
            calls,
            recorded: outcome.calls - outcome.failures.min(outcome.calls),
            not_kept: calls.saturating_sub(outcome.calls) + outcome.failures,
            first_failure: outcome.first_failure,
            held_back,
        }
    }
}

/// A listener with room for many that knock at once: who finds none tries again after a second,
/// and that second would be put on the proxy under test.
fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As other listeners do, so that a port can be used again at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// Takes connections and deals them out to the runtimes in turn; without any they stay here.
async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    runtimes: Vec<Handle>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    let mut turns = runtimes.iter().cycle();
    let connection_stop = stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // What is returned tells that it stops, or that nobody is left to stop it.
            _ = stop.wait_for(|stop| *stop) => break,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((client, _)) = accepted else {
            // Too many open files: those that end make room.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Fails only on a dead socket, which the first read will notice.
        let _ = client.set_nodelay(true);
        let (shared, stop) = (Arc::clone(&shared), connection_stop.clone());
        match turns.next() {
            None => {
                connections.spawn(Connection::new(client, number, shared).serve(stop));
            }
            Some(runtime) => {
                let Ok(client) = client.into_std() else {
                    continue;
                };
                let serve = async move {
                    // Here it belongs to the runtime that serves it. It cannot where the process
                    // has no room for more open files, and then it closes.
                    if let Ok(client) = TcpStream::from_std(client) {
                        Connection::new(client, number, shared).serve(stop).await;
                    }
                };
                connections.spawn_on(serve, runtime);
            }
        }
        number += 1;
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(shared.settings.grace, all)
        .await
        .is_err()
    {
        connections.shutdown().await;
    }
}
