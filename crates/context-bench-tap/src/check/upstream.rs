//! [`ScriptedUpstream`]: a provider on loopback that plays the scripts of probes and keeps what
//! it was asked and what it said, with times.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::connection::serve;
use super::script::Script;
use crate::http1::Headers;
use crate::record::{Frame, Purpose, TapClock};
use crate::wire::WireFormat;

/// A call as the upstream saw it.
#[derive(Debug, Clone)]
pub(super) struct UpstreamCall {
    /// The scene that it belongs to; none before the first.
    pub(super) scene: Option<usize>,
    /// Path and query.
    pub(super) target: String,
    pub(super) format: WireFormat,
    pub(super) purpose: Purpose,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
    /// When the request was complete, in nanoseconds.
    pub(super) arrived: u64,
    pub(super) status: u16,
    pub(super) sent_headers: Headers,
    /// What was said, before any compression.
    pub(super) sent: Vec<u8>,
    /// The pieces that a stream was written in, with the time since the request was complete.
    pub(super) frames: Vec<Frame>,
    pub(super) is_stream: bool,
    /// Whether the answer was compressed on the wire.
    pub(super) is_encoded: bool,
    pub(super) end: CallEnd,
    pub(super) ended: Option<u64>,
    /// How many pieces with output had been written when a client in step first had some.
    pub(super) waited_in_vain: usize,
}

impl UpstreamCall {
    /// Whether a model was asked.
    pub(super) fn asks(&self) -> bool {
        self.purpose == Purpose::Generation
    }

    /// Whether the upstream did not answer it properly.
    pub(super) fn has_failed(&self) -> bool {
        self.status >= 400 || self.end != CallEnd::Complete
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// It has not.
    Open,
    /// All of the answer was sent.
    Complete,
    /// The upstream broke off, as it was told to.
    BrokenOff,
    /// The proxy hung up.
    HungUp,
}

/// What belongs to one probe: its scripts, and the word by which its calls are known.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) canary: String,
    pub(super) script: Script,
    /// Whether answers are compressed for a proxy that wants them so.
    pub(super) compresses: bool,
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) clock: TapClock,
    /// How long it waits for a client that is to be in step, and for calls to gather.
    pub(super) patience: Duration,
    /// How much output the client has, in bytes.
    pub(super) delivered: watch::Sender<u64>,
    /// How many pieces with output have been written of the stream in step.
    pub(super) written: watch::Sender<usize>,
    changed: watch::Sender<u64>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    scenes: Vec<Scene>,
    calls: Vec<UpstreamCall>,
}

impl Stage {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scene of a call: the one whose word its body has most often, the newest of several,
    /// and without any word the newest of all. A call that comes late is thereby still that of
    /// its own probe, and one with text of another conversation that of its own.
    pub(super) fn scene_of(&self, body: &[u8]) -> Option<(usize, Scene)> {
        let state = self.state();
        let words = |scene: &Scene| memchr::memmem::find_iter(body, &scene.canary).count();
        let scenes = state.scenes.iter().enumerate();
        let (at, scene) = scenes.max_by_key(|(at, scene)| (words(scene), *at))?;
        Some((at, scene.clone()))
    }

    /// The words of all scenes that a body has.
    pub(super) fn canaries_in(&self, body: &[u8]) -> Vec<String> {
        let state = self.state();
        let words = state.scenes.iter().map(|scene| scene.canary.clone());
        let mut found: Vec<String> = words
            .filter(|word| memchr::memmem::find(body, word.as_bytes()).is_some())
            .collect();
        found.dedup();
        found
    }

    /// Takes a call down; gives its number.
    pub(super) fn take(&self, call: UpstreamCall) -> usize {
        let mut state = self.state();
        state.calls.push(call);
        let number = state.calls.len() - 1;
        drop(state);
        self.notify();
        number
    }

    pub(super) fn update(&self, number: usize, change: impl FnOnce(&mut UpstreamCall)) {
        if let Some(call) = self.state().calls.get_mut(number) {
            change(call);
        }
        self.notify();
    }

    fn notify(&self) {
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// A provider that plays scripts. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct ScriptedUpstream {
    address: SocketAddr,
    pub(super) stage: Arc<Stage>,
    accepting: JoinHandle<()>,
}

impl Drop for ScriptedUpstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ScriptedUpstream {
    pub(super) async fn start(listen: SocketAddr, patience: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let stage = Arc::new(Stage {
            clock: TapClock::start(),
            patience,
            delivered: watch::Sender::new(0),
            written: watch::Sender::new(0),
            changed: watch::Sender::new(0),
            state: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&stage)));
        Ok(Self {
            address,
            stage,
            accepting,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins a scene: from now on calls are answered by its script.
    pub(super) fn begin(&self, scene: Scene) -> usize {
        self.stage.delivered.send_replace(0);
        self.stage.written.send_replace(0);
        let mut state = self.stage.state();
        state.scenes.push(scene);
        state.scenes.len() - 1
    }

    /// Whether nobody has called yet.
    pub(super) fn is_unused(&self) -> bool {
        self.stage.state().calls.is_empty()
    }

    /// The calls of a scene in the order of their arrival.
    pub(super) fn calls(&self, scene: usize) -> Vec<UpstreamCall> {
        let state = self.stage.state();
        let calls = state.calls.iter().filter(|call| call.scene == Some(scene));
        calls.cloned().collect()
    }

    /// Waits until the calls of a scene are as they should be; says whether they came to be so
    /// in time.
    pub(super) async fn wait_for(
        &self,
        scene: usize,
        within: Duration,
        is_so: impl Fn(&[UpstreamCall]) -> bool,
    ) -> bool {
        let mut changed = self.stage.changed.subscribe();
        let waiting = async {
            while !is_so(&self.calls(scene)) {
                // The stage is ours, so its sender cannot have gone.
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(within, waiting).await.is_ok()
    }
}

async fn accept(listener: TcpListener, stage: Arc<Stage>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                // Fails only on a dead socket, which the first read will notice.
                let _ = stream.set_nodelay(true);
                connections.spawn(serve(stream, Arc::clone(&stage)));
            }
            // Too many open files: those that end make room.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
