//! One connection: reads requests, answers them with ranges and faults.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::fault::HubFault;
use super::routes::{self, Answer, decoded};
use super::{LoggedRequest, SeenRequest, State, locked};
use crate::reader::Reader;
use crate::request::Details;
use crate::wire::{self, Length};

const PIECE: u64 = 64 * 1024;

/// Serves one connection until either side ends it.
pub(crate) async fn serve(mut stream: TcpStream, state: Arc<State>, on_cdn: bool) {
    let _ = stream.set_nodelay(true);
    let mut reader = Reader::new(true);
    while let Ok(head) = reader.head(&mut stream).await {
        if reader.skip_body(&mut stream, head.body).await.is_err() {
            return;
        }
        if !answer(&mut stream, &mut reader, &state, on_cdn, head.details).await {
            return;
        }
    }
}

/// Answers one request; true if the connection may serve another one.
async fn answer(
    stream: &mut TcpStream,
    reader: &mut Reader,
    state: &State,
    on_cdn: bool,
    request: Details,
) -> bool {
    let answer = match on_cdn {
        true => routes::cdn(state, &request),
        false => routes::hub(state, &request),
    };
    let fault = take_fault(state, &request, &answer);
    let mut answer = match &fault {
        Some(HubFault::Status(status, retry)) => {
            let retry = retry.map(|seconds| seconds.to_string());
            let header = retry.as_deref().map(|value| ("Retry-After", value));
            Answer::status(*status, header.as_slice())
        }
        Some(HubFault::Redirects) => {
            let turn = locked(&state.seen).len();
            let place = format!("{}?turn={turn}", request.path);
            Answer::status(302, &[("Location", &place)])
        }
        _ => answer,
    };
    if let Some(HubFault::Slow(pause)) = fault {
        tokio::time::sleep(pause).await;
    }
    if let Some(HubFault::Encoded(name)) = &fault {
        let header = ("Content-Encoding".to_owned(), (*name).to_owned());
        answer.headers.push(header);
    }
    let (start, end) = ranged(&mut answer, &request, fault.as_ref());
    let more = match &fault {
        Some(HubFault::Longer(more)) => *more,
        _ => 0,
    };
    let length = match &fault {
        // Until the connection ends.
        Some(HubFault::Endless(_)) => Length::UntilClose,
        _ => Length::Bytes(usize::try_from(end - start + more).expect("it fits")),
    };
    let head = wire::head(
        answer.status,
        "application/octet-stream",
        &answer.headers,
        length,
        false,
    );
    let is_head = request.method == "HEAD";
    let sent = Arc::new(AtomicU64::new(0));
    let seen = SeenRequest {
        on_cdn,
        method: request.method,
        path: request.path,
        query: request.query,
        headers: request.headers,
        status: answer.status,
        sent: 0,
    };
    // Before the first byte: a client that has the answer finds it in the log.
    locked(&state.seen).push(LoggedRequest {
        request: seen,
        sent: Arc::clone(&sent),
    });
    stream.write_all(&head).await.is_ok()
        && (is_head || body(stream, reader, &answer, fault.as_ref(), start..end, &sent).await)
}

/// Writes the body; true if all of it went out.
async fn body(
    stream: &mut TcpStream,
    reader: &mut Reader,
    answer: &Answer,
    fault: Option<&HubFault>,
    part: Range<u64>,
    sent: &AtomicU64,
) -> bool {
    let Range { start, end } = part;
    let stop = match fault {
        Some(HubFault::CutAt(at) | HubFault::Stall(at)) => end.min(start + at),
        _ => end,
    };
    let mut at = start;
    while at < stop {
        let len = (stop - at).min(PIECE);
        let mut piece = answer
            .content
            .part(at, usize::try_from(len).expect("small"));
        if let Some(HubFault::Corrupt(place)) = fault
            && (at..at + len).contains(place)
        {
            piece[usize::try_from(place - at).expect("small")] ^= 1;
        }
        sent.fetch_add(len, Ordering::SeqCst);
        if stream.write_all(&piece).await.is_err() {
            return false;
        }
        at += len;
        if let Some(HubFault::Slow(pause)) = fault {
            tokio::time::sleep(*pause).await;
        }
    }
    let beyond = match fault {
        Some(HubFault::Endless(most)) => most.saturating_sub(stop - start),
        Some(HubFault::Longer(more)) => *more,
        _ => 0,
    };
    let filler = vec![b'{'; usize::try_from(PIECE).expect("small")];
    let mut left = beyond;
    while left > 0 {
        let len = left.min(PIECE);
        sent.fetch_add(len, Ordering::SeqCst);
        let piece = &filler[..usize::try_from(len).expect("small")];
        if stream.write_all(piece).await.is_err() {
            return false;
        }
        left -= len;
    }
    match fault {
        Some(HubFault::Endless(_)) => false,
        Some(HubFault::Stall(_)) => {
            // Until the client gives up; a minute is longer than any test.
            let _ = tokio::time::timeout(Duration::from_secs(60), reader.drain(stream)).await;
            false
        }
        Some(HubFault::CutAt(_)) if stop < end => false,
        _ => true,
    }
}

/// The fault for this request, used up. Faults of bodies wait for one.
fn take_fault(state: &State, request: &Details, answer: &Answer) -> Option<HubFault> {
    let path = decoded(&request.path);
    let meets = |(about, fault): &(String, HubFault)| {
        let fits = match fault {
            HubFault::Status(..) | HubFault::Slow(_) | HubFault::Redirects => true,
            // Listings as well as files.
            HubFault::Endless(_) | HubFault::Encoded(_) => {
                answer.status < 300 && request.method == "GET"
            }
            _ => answer.has_ranges && request.method == "GET",
        };
        fits && path.contains(about.as_str())
    };
    let mut faults = locked(&state.faults);
    match faults.iter().position(meets) {
        Some(at) => Some(faults.remove(at).1),
        None => {
            let lasting = locked(&state.lasting);
            let fault = lasting.iter().find(|fault| meets(fault))?;
            Some(fault.1.clone())
        }
    }
}

/// Turns an answer into a partial one if that was asked for; gives what to send.
fn ranged(answer: &mut Answer, request: &Details, fault: Option<&HubFault>) -> (u64, u64) {
    let len = answer.content.len();
    if !answer.has_ranges || answer.status != 200 {
        return (0, len);
    }
    let etag = answer.headers.iter().find(|(name, _)| name == "ETag");
    let etag = etag.map(|(_, value)| value.clone());
    let changed = request
        .headers
        .get("if-range")
        .is_some_and(|wanted| etag.as_deref() != Some(wanted));
    answer
        .headers
        .push(("Accept-Ranges".to_owned(), "bytes".to_owned()));
    let wanted = request.headers.get("range");
    let Some(range) = wanted.and_then(|range| range.strip_prefix("bytes=")) else {
        return (0, len);
    };
    if changed || matches!(fault, Some(HubFault::NoRange)) {
        return (0, len);
    }
    let (from, to) = range.split_once('-').unwrap_or((range, ""));
    let (start, end) = match (from.parse::<u64>(), to.parse::<u64>()) {
        (Ok(from), Ok(to)) => (from, len.min(to + 1)),
        (Ok(from), Err(_)) => (from, len),
        (Err(_), Ok(last)) => (len.saturating_sub(last), len),
        (Err(_), Err(_)) => (0, len),
    };
    if start >= end {
        answer.status = 416;
        answer
            .headers
            .push(("Content-Range".to_owned(), format!("bytes */{len}")));
        return (0, 0);
    }
    answer.status = 206;
    let range = format!("bytes {start}-{}/{len}", end - 1);
    answer.headers.push(("Content-Range".to_owned(), range));
    (start, end)
}
