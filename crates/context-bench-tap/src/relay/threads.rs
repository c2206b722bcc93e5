//! [`RelayThreads`]: threads that do nothing but relay. Among the threads of a client every call
//! would wait for what the client does, that wait would look like the upstream's, and what the
//! relay needs would be on another core each time. A connection stays on the thread it was given.

use std::io;
use std::sync::mpsc;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Threads with a runtime each. They end when this is dropped, and so does what runs on them.
#[derive(Debug)]
pub(crate) struct RelayThreads {
    runtimes: Vec<Handle>,
    /// A thread ends once its sender is dropped.
    _ends: Vec<oneshot::Sender<()>>,
}

impl RelayThreads {
    /// So many threads.
    pub(crate) fn start(number: usize) -> io::Result<Self> {
        let mut runtimes = Vec::with_capacity(number);
        let mut ends = Vec::with_capacity(number);
        for _ in 0..number {
            let (end, ended) = oneshot::channel::<()>();
            let (tell, told) = mpsc::channel();
            // The runtime is made where it ends: one that is dropped among the tasks of another,
            // as where there is no thread for it, panics.
            let relay = move || {
                let runtime = Builder::new_current_thread().enable_all().build();
                let runtime = match runtime {
                    Ok(runtime) => runtime,
                    Err(error) => return drop(tell.send(Err(error))),
                };
                let is_wanted = tell.send(Ok(runtime.handle().clone())).is_ok();
                if is_wanted {
                    // An error: nobody sends, the sender is only dropped.
                    let _ = runtime.block_on(ended);
                }
            };
            std::thread::Builder::new()
                .name("tap".to_owned())
                .spawn(relay)?;
            runtimes.push(told.recv().map_err(io::Error::other)??);
            ends.push(end);
        }
        Ok(Self {
            runtimes,
            _ends: ends,
        })
    }

    /// The runtimes, for whoever deals out connections.
    pub(crate) fn runtimes(&self) -> Vec<Handle> {
        self.runtimes.clone()
    }
}
