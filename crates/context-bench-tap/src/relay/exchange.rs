//! One call: the request to the upstream and the answer back, both at once, so that an upstream
//! may answer before it has read everything.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, Sleep, timeout};

use super::connection::{Connection, READ_SIZE};
use super::open_call::OpenCall;
use super::rewrite;
use super::upstream::UpstreamStream;
use crate::http1::{BodyProgress, Framing, ResponseHead, is_readable};
use crate::record::EndState;

/// How much of a request is read ahead of the connection to the upstream.
const AHEAD: usize = 256 * 1024;

/// Memory for a longer request is given back.
const MOST_SPARE: usize = 2 * READ_SIZE;

/// What becomes of the connection after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The next request may follow.
    Continue,
    /// It closes.
    Close,
    /// It is reset, as the upstream broke off.
    Reset,
}

/// The request as far as it has come.
#[derive(Debug)]
struct Outgoing {
    /// What is to be written next.
    pending: Vec<u8>,
    progress: BodyProgress,
}

/// How the answer ended.
#[derive(Debug)]
enum Answered {
    /// All of it was relayed; whether both connections may go on.
    Whole { client: bool, upstream: bool },
    /// The client went away.
    ClientGone,
    /// The upstream broke off, for this reason.
    Broken(String),
    /// The upstream was silent; whether its head had come.
    Silent { has_head: bool },
}

/// Relays one call.
pub(crate) async fn exchange(
    connection: &mut Connection,
    call: OpenCall,
    framing: Framing,
    index: usize,
) -> After {
    let mut request = Outgoing {
        pending: std::mem::take(&mut connection.to_upstream),
        progress: BodyProgress::new(framing),
    };
    let mut surplus = std::mem::take(&mut connection.surplus);
    let used = match request.take(&surplus, &call) {
        Ok(used) => used,
        Err(problem) => {
            call.refuse(None, &problem);
            return connection.refuse(400, "bad_request", &problem).await;
        }
    };
    surplus.drain(..used);
    connection.surplus = surplus;
    let expects = call.head.headers.says("expect", "100-continue");
    if expects && !request.progress.is_done() {
        let greeted = connection
            .client
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .await;
        if greeted.is_err() {
            call.finish(EndState::AbortedByProxy, None);
            return After::Close;
        }
    }
    let mut stream = match upstream(connection, &mut request, &call, index).await {
        Ok(stream) => stream,
        Err(Unconnected::ClientGone) => {
            call.finish(EndState::AbortedByProxy, None);
            return After::Close;
        }
        Err(Unconnected::Bad(problem)) => {
            call.refuse(None, &problem);
            return connection.refuse(400, "bad_request", &problem).await;
        }
        Err(Unconnected::Failed(problem)) => {
            let message = format!("cannot reach the upstream: {problem}");
            call.finish(EndState::Unreachable, Some(problem));
            return connection
                .refuse(502, "upstream_unreachable", &message)
                .await;
        }
    };
    call.stamp(|timeline, now| timeline.connect_done = Some(now));
    let answered = both_ways(connection, &mut request, &mut stream, &call).await;
    let is_sent = request.pending.is_empty() && request.progress.is_done();
    if is_sent && request.pending.capacity() <= MOST_SPARE {
        connection.to_upstream = request.pending;
    }
    match answered {
        Answered::Whole { client, upstream } => {
            call.finish(EndState::Complete, None);
            if upstream && is_sent {
                connection.upstream = Some((index, stream));
            }
            match client && is_sent {
                true => After::Continue,
                false => After::Close,
            }
        }
        Answered::ClientGone => {
            // Dropping the stream ends the call upstream at once.
            call.finish(EndState::AbortedByProxy, None);
            After::Close
        }
        Answered::Broken(problem) => {
            call.finish(EndState::UpstreamReset, Some(problem));
            After::Reset
        }
        Answered::Silent { has_head } => {
            let limit = connection.shared.settings.silence_timeout;
            call.finish(EndState::Timeout, Some(format!("silent for {limit:?}")));
            match has_head {
                true => After::Reset,
                false => {
                    let message = "the upstream did not answer in time";
                    connection.refuse(504, "upstream_timeout", message).await
                }
            }
        }
    }
}

impl Outgoing {
    /// Takes what was read from the client; says how much of it belongs to this request.
    fn take(&mut self, bytes: &[u8], call: &OpenCall) -> Result<usize, String> {
        let was_done = self.progress.is_done();
        let used = self
            .progress
            .feed(bytes, |piece| call.request_piece(piece))?;
        self.pending.extend_from_slice(&bytes[..used]);
        if self.progress.is_done() && (!was_done || used == 0) {
            call.stamp(|timeline, now| {
                timeline.request_complete.get_or_insert(now);
            });
        }
        Ok(used)
    }
}

enum Unconnected {
    ClientGone,
    Bad(String),
    Failed(String),
}

/// The connection to the upstream, kept or new. The request is read on while it comes about,
/// so that the stamp of its last byte is not that of our own handshake.
async fn upstream(
    connection: &mut Connection,
    request: &mut Outgoing,
    call: &OpenCall,
    index: usize,
) -> Result<UpstreamStream, Unconnected> {
    if let Some((kept, mut stream)) = connection.upstream.take()
        && kept == index
        && stream.is_idle().await
    {
        return Ok(stream);
    }
    let shared = Arc::clone(&connection.shared);
    let limit = shared.settings.connect_timeout;
    let connecting = timeout(limit, shared.upstreams[index].1.connect());
    tokio::pin!(connecting);
    let mut bytes = Vec::with_capacity(READ_SIZE);
    loop {
        let is_open = request.pending.len() + connection.surplus.len() < AHEAD;
        tokio::select! {
            connected = &mut connecting => return match connected {
                Ok(Ok(stream)) => Ok(stream),
                Ok(Err(problem)) => Err(Unconnected::Failed(problem)),
                Err(_) => Err(Unconnected::Failed(format!("no connection within {limit:?}"))),
            },
            read = connection.client.read_buf(&mut bytes), if is_open => {
                if !matches!(read, Ok(read) if read > 0) {
                    return Err(Unconnected::ClientGone);
                }
                let used = request.take(&bytes, call).map_err(Unconnected::Bad)?;
                connection.surplus.extend_from_slice(&bytes[used..]);
                bytes.clear();
            }
        }
    }
}

/// Sends the request and relays the answer at the same time.
async fn both_ways(
    connection: &mut Connection,
    request: &mut Outgoing,
    stream: &mut UpstreamStream,
    call: &OpenCall,
) -> Answered {
    match stream {
        UpstreamStream::Plain(stream) => {
            let (read, write) = stream.split();
            between(connection, request, read, write, call).await
        }
        UpstreamStream::Tls(stream) => {
            let (read, write) = tokio::io::split(stream);
            between(connection, request, read, write, call).await
        }
    }
}

/// The same with the two halves of the connection to the upstream.
async fn between(
    connection: &mut Connection,
    request: &mut Outgoing,
    upstream_read: impl AsyncRead + Unpin,
    upstream_write: impl AsyncWrite + Unpin,
    call: &OpenCall,
) -> Answered {
    let (client_read, client_write) = connection.client.split();
    let is_refused = AtomicBool::new(false);
    let send = send(
        client_read,
        upstream_write,
        request,
        &mut connection.surplus,
        call,
        &is_refused,
    );
    let relay = relay(
        upstream_read,
        client_write,
        &mut connection.answer,
        &mut connection.to_client,
        Silence {
            alarm: connection.silence.as_mut(),
            limit: connection.shared.settings.silence_timeout,
        },
        call,
        &is_refused,
    );
    tokio::select! {
        biased;
        answered = relay => answered,
        gone = send => gone,
    }
}

/// Sends the request, then watches for the client going away. It returns only when the client
/// has gone or its body makes no sense.
async fn send(
    mut client: ReadHalf<'_>,
    mut upstream: impl AsyncWrite + Unpin,
    request: &mut Outgoing,
    surplus: &mut Vec<u8>,
    call: &OpenCall,
    is_refused: &AtomicBool,
) -> Answered {
    let mut bytes = Vec::new();
    loop {
        // An upstream that answers early may stop reading; its answer still counts, and the
        // client may not read it before it has sent everything.
        if !is_refused.load(Relaxed) {
            let written = async {
                upstream.write_all(&request.pending).await?;
                upstream.flush().await
            };
            if written.await.is_err() {
                is_refused.store(true, Relaxed);
            }
        }
        if !is_refused.load(Relaxed) {
            request.pending.clear();
        }
        if request.progress.is_done() {
            if request.pending.is_empty() {
                call.stamp(|timeline, now| timeline.request_sent = Some(now));
            }
            break;
        }
        bytes.clear();
        bytes.reserve(READ_SIZE);
        if !matches!(client.read_buf(&mut bytes).await, Ok(read) if read > 0) {
            return Answered::ClientGone;
        }
        match request.take(&bytes, call) {
            Ok(used) => surplus.extend_from_slice(&bytes[used..]),
            Err(problem) => return Answered::Broken(problem),
        }
        if is_refused.load(Relaxed) {
            // What nobody reads is not kept; one byte says that it was not sent.
            request.pending.truncate(1);
        }
    }
    loop {
        if surplus.len() >= AHEAD {
            std::future::pending::<()>().await;
        }
        surplus.reserve(READ_SIZE);
        if !matches!(client.read_buf(surplus).await, Ok(read) if read > 0) {
            return Answered::ClientGone;
        }
    }
}

/// How long an upstream may say nothing.
struct Silence<'a> {
    alarm: Pin<&'a mut Sleep>,
    limit: Duration,
}

impl Silence<'_> {
    /// Waits for what breaks the silence; none where it lasts too long. The alarm is only set
    /// anew once it rings, which it may do for the silence of an earlier call.
    async fn broken_by<T>(&mut self, sound: impl Future<Output = T>) -> Option<T> {
        let end = Instant::now() + self.limit;
        tokio::pin!(sound);
        loop {
            tokio::select! {
                biased;
                heard = &mut sound => return Some(heard),
                () = &mut self.alarm => match Instant::now() >= end {
                    true => return None,
                    false => self.alarm.as_mut().reset(end),
                },
            }
        }
    }
}

/// Relays the answer, piece by piece as it comes.
async fn relay(
    mut upstream: impl AsyncRead + Unpin,
    mut client: WriteHalf<'_>,
    bytes: &mut Vec<u8>,
    out: &mut Vec<u8>,
    mut silence: Silence<'_>,
    call: &OpenCall,
    is_refused: &AtomicBool,
) -> Answered {
    let request = &call.head;
    bytes.clear();
    let mut seen = 0;
    let head = loop {
        if is_readable(bytes, seen) {
            match ResponseHead::parse(bytes) {
                Ok(Some((head, length))) => {
                    bytes.drain(..length);
                    seen = 0;
                    match head.status {
                        101 => {
                            return Answered::Broken("an upgrade that nobody asked for".to_owned());
                        }
                        // The tap has said it itself; other hints are for this connection.
                        100..200 => continue,
                        _ => break head,
                    }
                }
                Ok(None) => {}
                Err(error) => return Answered::Broken(error.to_string()),
            }
        }
        seen = bytes.len();
        bytes.reserve(READ_SIZE);
        match silence.broken_by(upstream.read_buf(bytes)).await {
            None => return Answered::Silent { has_head: false },
            Some(Ok(0)) => return Answered::Broken("closed without an answer".to_owned()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Answered::Broken(reason(&error)),
        }
    };
    let framing = match Framing::of_response(&head, &request.method) {
        Ok(framing) => framing,
        Err(problem) => return Answered::Broken(problem),
    };
    // A client of HTTP/1.0 knows no chunks; it gets their content until the connection closes.
    let is_old = request.minor == 0;
    let unwraps = is_old && framing == Framing::Chunked;
    let closes = is_old
        || !request.keeps_alive()
        || framing == Framing::UntilClose
        || is_refused.load(Relaxed);
    let shown = if unwraps {
        Framing::UntilClose
    } else {
        framing
    };
    out.clear();
    rewrite::response(out, &head, shown, closes);
    let keeps_alive = head.keeps_alive();
    call.answer(head);
    let mut progress = BodyProgress::new(framing);
    loop {
        let at = call.now();
        let mut pieces: SmallVec<[&[u8]; 4]> = SmallVec::new();
        let used = match progress.feed(bytes, |piece| pieces.push(piece)) {
            Ok(used) => used,
            Err(problem) => return Answered::Broken(problem),
        };
        match unwraps {
            true => pieces.iter().for_each(|piece| out.extend_from_slice(piece)),
            false => out.extend_from_slice(&bytes[..used]),
        }
        let written = client.write_all(out).await;
        call.answer_pieces(&pieces, at);
        drop(pieces);
        if written.is_err() {
            return Answered::ClientGone;
        }
        if progress.is_done() {
            let is_clean = used == bytes.len();
            return Answered::Whole {
                client: !closes,
                upstream: is_clean && keeps_alive,
            };
        }
        out.clear();
        bytes.clear();
        match silence.broken_by(upstream.read_buf(bytes)).await {
            None => return Answered::Silent { has_head: true },
            Some(Ok(0)) if framing == Framing::UntilClose => {
                return Answered::Whole {
                    client: false,
                    upstream: false,
                };
            }
            Some(Ok(0)) => return Answered::Broken("closed in the midst of its answer".to_owned()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Answered::Broken(reason(&error)),
        }
    }
}

fn reason(error: &std::io::Error) -> String {
    context_bench_http::plain_reason(&error.to_string())
}
