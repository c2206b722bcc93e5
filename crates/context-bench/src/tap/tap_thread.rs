//! [`TapThread`]: the thread that the tap of a run lives on. On the threads of the client every
//! relayed call would wait for what the client does, and that wait would look like the upstream's.
//! Alone on one, the relay also keeps what it needs at hand.

use std::io;

use context_bench_tap::record::CallSink;
use context_bench_tap::{Tap, TapError, TapReport, TapSettings};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// A tap on a thread of its own. Dropping it ends both.
pub(super) struct TapThread {
    tap: Tap,
    /// The thread ends once this is dropped.
    _end: oneshot::Sender<()>,
}

impl TapThread {
    /// Starts the thread and the tap on it.
    pub(super) async fn start(
        settings: TapSettings,
        sink: Box<dyn CallSink>,
    ) -> Result<Self, TapError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(TapError::Thread)?;
        let (started, starting) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let live = move || {
            runtime.block_on(async {
                // Nobody is left to be told if the run was broken off meanwhile.
                let _ = started.send(Tap::start(settings, sink).await);
                let _ = ended.await;
            });
        };
        let thread = std::thread::Builder::new().name("tap".to_owned());
        thread.spawn(live).map_err(TapError::Thread)?;
        let gone = |_| TapError::Thread(io::Error::other("its thread ended at once"));
        let tap = starting.await.map_err(gone)??;
        Ok(Self { tap, _end: end })
    }

    pub(super) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Takes no more calls, lets those in flight end for a while, and waits until all of them are
    /// recorded.
    pub(super) async fn finish(self) -> TapReport {
        self.tap.finish().await
    }
}
