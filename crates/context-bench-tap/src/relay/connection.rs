//! One connection from a proxy: its requests, one after the other.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use super::exchange::{self, After};
use super::open_call::OpenCall;
use super::refusal;
use super::rewrite;
use super::tap::Shared;
use super::target::Target;
use super::upstream::UpstreamStream;
use crate::http1::{Framing, RequestHead, is_readable};
use crate::record::Purpose;
use crate::wire::Route;

/// How much is read at once.
pub(crate) const READ_SIZE: usize = 32 * 1024;
/// How long a client that was refused may go on sending before the socket closes.
const LINGER: Duration = Duration::from_secs(2);

/// One connection from a proxy.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: TcpStream,
    pub(crate) number: u64,
    /// What was read and belongs to no request yet.
    pub(crate) surplus: Vec<u8>,
    /// What answers are read into, and what is written to either side. They are kept from call
    /// to call: memory of this size is not cheap to come by, least of all on a thread that did
    /// not give it back.
    pub(crate) answer: Vec<u8>,
    pub(crate) to_upstream: Vec<u8>,
    pub(crate) to_client: Vec<u8>,
    /// The connection to the upstream, and which one it is. It lives as long as this one: a
    /// proxy that opens a connection for every call pays for that behind the tap too.
    pub(crate) upstream: Option<(usize, UpstreamStream)>,
    /// Rings when an upstream may have been silent for too long. One for all calls: to set a
    /// clock takes a lock that everything shares.
    pub(crate) silence: Pin<Box<Sleep>>,
    pub(crate) shared: Arc<Shared>,
}

impl Connection {
    pub(crate) fn new(client: TcpStream, number: u64, shared: Arc<Shared>) -> Self {
        Self {
            client,
            number,
            surplus: Vec::new(),
            answer: Vec::new(),
            to_upstream: Vec::new(),
            to_client: Vec::new(),
            upstream: None,
            silence: Box::pin(sleep(shared.settings.silence_timeout)),
            shared,
        }
    }

    /// Serves requests until either side ends, or the tap stops.
    pub(crate) async fn serve(mut self, stop: watch::Receiver<bool>) {
        // One for all requests: to ask to be told takes a lock that all connections share.
        let stopping = stopped(stop.clone());
        tokio::pin!(stopping);
        loop {
            let next = tokio::select! {
                biased;
                next = self.next_head() => next,
                () = &mut stopping, if self.surplus.is_empty() => return,
            };
            let after = match next {
                Next::Closed => return,
                Next::Bad(message) => self.refuse(400, "bad_request", &message).await,
                Next::Head(head, accepted) => self.call(head, accepted).await,
            };
            match after {
                After::Continue if *stop.borrow() => return,
                After::Continue => {}
                After::Close => return self.linger(stop).await,
                After::Reset => {
                    // Fails only on a socket that is dead already.
                    let _ = self.client.set_zero_linger();
                    return;
                }
            }
        }
    }

    /// The head of the next request and when its first byte was there.
    async fn next_head(&mut self) -> Next {
        let mut accepted = None;
        let mut seen = 0;
        loop {
            if !self.surplus.is_empty() && is_readable(&self.surplus, seen) {
                accepted.get_or_insert_with(|| self.shared.clock.now());
                // Some clients end a body with a line end too many.
                let skipped = self
                    .surplus
                    .iter()
                    .take_while(|byte| b"\r\n".contains(byte));
                let skipped = skipped.count();
                self.surplus.drain(..skipped);
                match RequestHead::parse(&self.surplus) {
                    Ok(Some((head, length))) => {
                        self.surplus.drain(..length);
                        return Next::Head(head, accepted.unwrap_or_default());
                    }
                    Ok(None) => {}
                    Err(error) => return Next::Bad(error.to_string()),
                }
            }
            seen = self.surplus.len();
            self.surplus.reserve(READ_SIZE);
            match self.client.read_buf(&mut self.surplus).await {
                Ok(0) | Err(_) => return Next::Closed,
                Ok(_) => {}
            }
        }
    }

    async fn call(&mut self, head: RequestHead, accepted: u64) -> After {
        let target = Target::of(&head);
        self.shared.queue.wait_for_room().await;
        rewrite::keys_in(&head, &target, |key| self.shared.scrubber.learn(key));
        let route = Route::of(&head.method, &target.path);
        let index = self.shared.settings.upstream_of(route.format);
        let shape = self.shared.upstreams[index].0.usage;
        let framing = Framing::of_request(&head);
        self.to_upstream.clear();
        if let Ok(framing) = framing {
            rewrite::request(
                &mut self.to_upstream,
                &head,
                &target,
                &self.shared.upstreams[index].0,
                self.shared.settings.encoding,
                route.format,
                framing,
            );
        }
        let call = OpenCall::new(
            &self.shared,
            self.number,
            head,
            target,
            route,
            accepted,
            shape,
        );
        let head = &call.head;
        if head.method == "CONNECT" {
            call.refuse(None, "the tap has no certificate for this host");
            let message = "this is a tap, not a tunnel: it has no certificate for other hosts";
            return self.refuse(502, "no_tunnel", message).await;
        }
        if head.headers.get("upgrade").is_some() {
            call.refuse(Some(Purpose::Unsupported), "an upgrade to another protocol");
            return self
                .refuse(426, "no_upgrade", "the tap speaks HTTP/1.1 only")
                .await;
        }
        let framing = match framing {
            Ok(framing) => framing,
            Err(problem) => {
                call.refuse(None, &problem);
                return self.refuse(400, "bad_request", &problem).await;
            }
        };
        exchange::exchange(self, call, framing, index).await
    }

    /// Answers by itself. Whether the answer arrives is up to the client.
    pub(crate) async fn refuse(&mut self, status: u16, code: &str, message: &str) -> After {
        let _ = self
            .client
            .write_all(&refusal::answer(status, code, message))
            .await;
        After::Close
    }

    /// Lets the answer arrive: a close with unread bytes would reset the connection under it.
    async fn linger(mut self, stop: watch::Receiver<bool>) {
        self.upstream = None;
        if self.client.shutdown().await.is_err() {
            return;
        }
        let mut rest = vec![0; READ_SIZE];
        let drain =
            async { while matches!(self.client.read(&mut rest).await, Ok(read) if read > 0) {} };
        // Whether the client closed, the time is up or the tap stops, the socket closes now.
        tokio::select! {
            _ = tokio::time::timeout(LINGER, drain) => {}
            () = stopped(stop) => {}
        }
    }
}

enum Next {
    Head(RequestHead, u64),
    Bad(String),
    Closed,
}

/// Waits until the tap stops, for ever if it has gone without a word.
async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
