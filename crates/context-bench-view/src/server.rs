//! `View`: the server, from its socket to its end.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use context_bench::planner::Surroundings;
use context_bench::store::Store;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::guard::Guard;
use crate::http::{NoRequest, Reader, Response, send};
use crate::routes::Routes;

/// Connections at once. A browser has six; those beyond wait until one is free.
const CONNECTIONS: usize = 64;
/// How long connections may go on when the server ends.
const GOODBYE: Duration = Duration::from_millis(200);

/// What a viewer needs.
pub struct ViewSettings {
    /// The store that is looked at; it is only read.
    pub store: Store,
    /// What is needed to sum runs up as they were.
    pub around: Surroundings,
    /// The port on loopback; 0 for any that is free.
    pub port: u16,
}

/// A viewer that listens, on loopback and nowhere else.
pub struct View {
    listener: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    routes: Arc<Routes>,
}

impl View {
    /// Takes the port. Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// When the port is taken, or the system gives no random bytes.
    pub async fn listen(settings: ViewSettings) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port)).await?;
        let address = listener.local_addr()?;
        settings.store.read_sparingly();
        Ok(Self {
            guard: Arc::new(Guard::new(address.port())?),
            routes: Routes::new(settings.store, settings.around),
            listener,
            address,
        })
    }

    /// The address to open, with the token.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.guard.token())
    }

    /// Serves until `end` is done.
    pub async fn serve_until(self, end: impl Future<Output = ()>) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        let serving = async {
            loop {
                let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
                    return;
                };
                while connections.try_join_next().is_some() {}
                match self.listener.accept().await {
                    Ok((stream, _)) => {
                        let (guard, routes) = (Arc::clone(&self.guard), Arc::clone(&self.routes));
                        connections.spawn(async move {
                            let _permit = permit;
                            serve(stream, &guard, &routes).await;
                        });
                    }
                    // Such as too many open files: others may close theirs.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        tokio::select! {
            () = serving => {}
            () = end => {}
        }
        self.routes.end();
        let rest = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GOODBYE, rest).await;
    }
}

/// Serves one connection until it ends.
async fn serve(stream: TcpStream, guard: &Guard, routes: &Arc<Routes>) {
    let _ = stream.set_nodelay(true);
    let (from, mut to) = stream.into_split();
    let mut requests = Reader::new(from);
    loop {
        let request = match requests.next().await {
            Ok(request) => request,
            Err(NoRequest::Over) => return,
            Err(NoRequest::Refused(status)) => {
                let refusal = Response::text(status, "that is no request that can be answered");
                let _ = send(&mut to, &refusal, false, false).await;
                return;
            }
        };
        let response = match guard.refusal(&request) {
            Some(refusal) => refusal,
            None => routes.answer(&request).await,
        };
        let head_only = request.method == "HEAD";
        let sent = send(&mut to, &response, request.keeps_alive, head_only).await;
        if sent.is_err() || !request.keeps_alive {
            return;
        }
    }
}
