//! One connection: read a request, ask the script, carry out the plan, repeat.
//!
//! Two loops: the scripted one, and one for a fixed reply that neither copies
//! nor parses a body. Neither builds reply bytes; `render` does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Barrier;

use crate::alarm::Alarm;
use crate::plan::{End, Plan};
use crate::reader::{Head, ReadError, Reader, Route};
use crate::record::{Recorder, Ticket};
use crate::render;
use crate::reply::Reply;
use crate::request::Request;
use crate::wire;

/// How long a refused client may go on sending before the socket closes.
const REFUSAL_LINGER: Duration = Duration::from_millis(500);

/// A script, as the server keeps it.
pub(crate) type Script = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

/// What answers the completion requests of a server.
pub(crate) enum Answers {
    Script(Script),
    /// The same bytes for every request.
    Fixed {
        delay: Duration,
        bytes: Vec<u8>,
    },
}

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) answers: Answers,
    pub(crate) latency: Duration,
    /// So many requests wait for each other.
    pub(crate) together: usize,
    pub(crate) gathered: Barrier,
    pub(crate) models: Vec<String>,
    pub(crate) recorder: Recorder,
    pub(crate) alarm: Alarm,
}

/// Serves one connection until either side ends it.
pub(crate) async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    // Fails only on a dead socket, which the first read will notice.
    let _ = stream.set_nodelay(true);
    shared.recorder.connected();
    let outcome = match &shared.answers {
        Answers::Script(script) => scripted(&mut stream, &shared, script).await,
        Answers::Fixed { delay, bytes } => {
            fixed(&mut stream, &shared, shared.latency + *delay, bytes).await
        }
    };
    if let Err(ReadError::Bad(status, message)) = outcome {
        refuse(&mut stream, status, &message).await;
    }
}

async fn scripted(
    stream: &mut TcpStream,
    shared: &Shared,
    script: &Script,
) -> Result<(), ReadError> {
    let mut reader = Reader::new(true);
    loop {
        let head = reader.head(stream).await?;
        greet(stream, &reader, &head).await;
        let body = reader.body(stream, head.body).await?;
        let at = Instant::now();
        let close = !head.keep_alive;
        let goes_on = if let Route::Completion(shape) = head.route {
            let (request, ticket) = shared.recorder.arrive(head.details, body, at);
            let reply = ask(script, &request);
            let mut plan = render::plan(&reply, &request, shape, close);
            plan.delay += shared.latency;
            let is_early = request.index < shared.together;
            drop((request, reply));
            if is_early {
                shared.gathered.wait().await;
            }
            deliver(stream, &mut reader, &shared.alarm, &plan, Some(ticket)).await
        } else {
            let plan = unscripted(shared, &head, close);
            shared.recorder.note_other(head.details, body, at);
            deliver(stream, &mut reader, &shared.alarm, &plan, None).await
        };
        if !goes_on {
            return Ok(());
        }
    }
}

async fn fixed(
    stream: &mut TcpStream,
    shared: &Shared,
    delay: Duration,
    bytes: &[u8],
) -> Result<(), ReadError> {
    let mut reader = Reader::new(false);
    loop {
        let head = reader.head(stream).await?;
        greet(stream, &reader, &head).await;
        reader.skip_body(stream, head.body).await?;
        let Route::Completion(_) = head.route else {
            let plan = unscripted(shared, &head, !head.keep_alive);
            if deliver(stream, &mut reader, &shared.alarm, &plan, None).await {
                continue;
            }
            return Ok(());
        };
        let mut ticket = shared.recorder.arrive_unseen(Instant::now());
        if !delay.is_zero() && !reader.wait(stream, &shared.alarm, delay).await {
            return Ok(());
        }
        ticket.finishing();
        if stream.write_all(bytes).await.is_err() {
            return Ok(());
        }
        ticket.written();
        if !head.keep_alive {
            return Ok(());
        }
    }
}

/// Asks a waiting client for the body it announced.
async fn greet(stream: &mut TcpStream, reader: &Reader, head: &Head) {
    if head.expects_continue && !reader.holds(head.body) {
        // A dead socket is noticed by the read that follows.
        let _ = stream.write_all(wire::CONTINUE).await;
    }
}

/// A script that panics is a failing test, but must not look like a hang.
fn ask(script: &Script, request: &Request) -> Reply {
    catch_unwind(AssertUnwindSafe(|| script(request)))
        .unwrap_or_else(|_| Reply::status(500).message("the test script panicked"))
}

fn unscripted(shared: &Shared, head: &Head, close: bool) -> Plan {
    match head.route {
        Route::Models => render::models(&shared.models, close),
        Route::WrongMethod => render::refusal(405, "this path has another method", close),
        _ => {
            let message = format!("unknown path {}", head.details.path);
            render::refusal(404, message.trim_end(), close)
        }
    }
}

/// Carries out a plan; true if the connection may serve another request.
async fn deliver(
    stream: &mut TcpStream,
    reader: &mut Reader,
    alarm: &Alarm,
    plan: &Plan,
    mut ticket: Option<Ticket<'_>>,
) -> bool {
    if !plan.delay.is_zero() && !reader.wait(stream, alarm, plan.delay).await {
        return false;
    }
    for (at, step) in plan.steps.iter().enumerate() {
        if !step.pause.is_zero() && !reader.wait(stream, alarm, step.pause).await {
            return false;
        }
        let last = at + 1 == plan.steps.len();
        if let Some(ticket) = ticket.as_mut().filter(|_| last && plan.end.is_complete()) {
            ticket.finishing();
        }
        if stream.write_all(&step.bytes).await.is_err() {
            return false;
        }
    }
    if let Some(ticket) = ticket.take_if(|_| plan.end.is_complete()) {
        ticket.written();
    }
    match plan.end {
        End::KeepAlive => return true,
        End::Close | End::Cut => {}
        // Fails only on a socket that is dead already.
        End::Reset => drop(stream.set_zero_linger()),
        End::Hang => reader.drain(stream).await,
    }
    false
}

/// Answers what cannot be read as a request, and lets the answer arrive: a
/// close with unread bytes would reset the connection under it.
async fn refuse(stream: &mut TcpStream, status: u16, message: &str) {
    let plan = render::refusal(status, message, true);
    let mut reader = Reader::new(false);
    if !deliver(stream, &mut reader, &Alarm::default(), &plan, None).await
        && stream.shutdown().await.is_ok()
    {
        // Whether the client closed or the time is up, the socket closes now.
        let _ = tokio::time::timeout(REFUSAL_LINGER, reader.drain(stream)).await;
    }
}
