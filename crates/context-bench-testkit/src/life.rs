//! The life of a server: its socket, its thread, its runtime, its end.
//!
//! A server has a thread and runtime of its own, so that sync and async tests
//! start it alike and cannot starve it. It does not know what a request is.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

const BACKLOG: u32 = 4096;
/// The pause after a failed accept, such as one for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(5);

/// A running server; dropping it ends it and all its connections.
pub(crate) struct Life {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Life {
    /// Starts a server on 127.0.0.1 that gives every connection to `serve`.
    pub(crate) fn start<F, R>(port: u16, workers: usize, serve: F) -> Self
    where
        F: Fn(TcpStream) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = mpsc::channel();
        let serve = Arc::new(serve);
        let thread = std::thread::Builder::new()
            .name("mock-endpoint".to_owned())
            .spawn(move || run(port, workers, serve, stopped, &ready))
            .expect("the system has a thread for the mock endpoint");
        let address = started
            .recv()
            .expect("the mock endpoint found a socket and a runtime");
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // Both fail only if the thread is dead, which is what is wanted.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The whole life of the server thread.
fn run<F, R>(
    port: u16,
    workers: usize,
    serve: Arc<F>,
    stopped: oneshot::Receiver<()>,
    ready: &mpsc::Sender<SocketAddr>,
) where
    F: Fn(TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let runtime = runtime(workers);
    runtime.block_on(async {
        let listener = listen(port);
        let address = listener.local_addr().expect("a listener has an address");
        ready.send(address).expect("the starter waits");
        let accepting = async {
            if workers > 1 {
                // On a worker, to spare a wake-up across threads per connection.
                drop(tokio::spawn(accept(listener, serve)).await);
            } else {
                accept(listener, serve).await;
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

async fn accept<F, R>(listener: TcpListener, serve: Arc<F>)
where
    F: Fn(TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream))),
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
    }
}
