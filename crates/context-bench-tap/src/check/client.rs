//! [`ClientReply`]: what a proxy answered, down to the frames. The client speaks HTTP/1.1 by
//! hand, because a library would undo compression, ask again by itself and hide where a stream
//! broke off.

use std::borrow::Cow;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use url::Url;

use super::ProxyAddress;
use crate::http1::{BodyProgress, Framing, Headers, RequestHead, ResponseHead};
use crate::record::{Frame, TapClock, decoded};
use crate::relay::{Address, Upstream, UpstreamStream};
use crate::wire::{EventReader, ReplyReader, WireFormat, WireReply};

/// More than any probe is answered with.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// What the client asks.
#[derive(Debug, Clone)]
pub(super) struct ClientRequest {
    pub(super) format: WireFormat,
    /// Such as `/v1/messages`.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) streams: bool,
}

/// When the client hangs up.
#[derive(Debug, Clone)]
pub(super) enum HangUp {
    Never,
    /// As soon as there is output.
    AtFirstOutput,
    /// When it is told to.
    WhenTold(watch::Receiver<bool>),
}

/// How a call ended for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplyEnd {
    /// All of the answer was there.
    Complete,
    /// The connection broke in the midst of it, or before.
    Broken(String),
    /// The client hung up.
    HungUp,
    /// There was no end in time.
    TimedOut,
    /// There was no connection.
    Unreachable(String),
}

/// What the client got.
#[derive(Debug, Clone)]
pub(super) struct ClientReply {
    pub(super) sent_at: u64,
    /// None where there was no answer at all.
    pub(super) status: Option<u16>,
    pub(super) headers: Headers,
    /// As it was on the wire.
    pub(super) body: Vec<u8>,
    pub(super) frames: Vec<Frame>,
    pub(super) end: ReplyEnd,
    pub(super) ended_at: u64,
    /// How many pieces with output the upstream had written when the first was here.
    pub(super) written_at_first_output: Option<usize>,
}

impl ClientReply {
    pub(super) fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.headers.text(name)
    }

    pub(super) fn is_stream(&self) -> bool {
        self.headers.is_stream()
    }

    pub(super) fn is_success(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }

    /// The body without its compression.
    pub(super) fn content(&self) -> Result<Vec<u8>, String> {
        let encodings = self.header("content-encoding").unwrap_or_default();
        let encodings: Vec<String> = encodings
            .split(',')
            .map(|word| word.trim().to_ascii_lowercase())
            .filter(|word| !word.is_empty())
            .collect();
        decoded(self.body.as_slice(), &encodings, MAX_BODY).map_err(|error| error.to_string())
    }
}

/// Reads an answer of an API, whole or streamed.
pub(super) fn read_reply(format: WireFormat, body: &[u8], is_stream: bool) -> WireReply {
    let mut reader = ReplyReader::new(format, None);
    match is_stream {
        false => reader.whole(body),
        true => {
            let mut events = EventReader::default();
            let mut take = |event| {
                reader.event(&event);
            };
            events.feed(body, &mut take);
            events.finish(&mut take);
        }
    }
    reader.finish()
}

/// What a client shares with the upstream while it reads.
#[derive(Debug)]
pub(super) struct Watching<'a> {
    pub(super) clock: TapClock,
    /// Is told how much output there is.
    pub(super) delivered: &'a watch::Sender<u64>,
    /// Tells how many pieces with output were written.
    pub(super) written: &'a watch::Sender<usize>,
}

/// Asks the proxy, on a connection of its own.
pub(super) async fn ask(
    proxy: &ProxyAddress,
    request: &ClientRequest,
    hang_up: HangUp,
    watching: &Watching<'_>,
    timeout: Duration,
) -> ClientReply {
    let mut reply = ClientReply {
        sent_at: watching.clock.now(),
        status: None,
        headers: Headers::default(),
        body: Vec::new(),
        frames: Vec::new(),
        end: ReplyEnd::TimedOut,
        ended_at: 0,
        written_at_first_output: None,
    };
    let told = match &hang_up {
        HangUp::WhenTold(told) => Some(told.clone()),
        _ => None,
    };
    let told = async move {
        // Who could tell may have gone: then there is no reason to hang up.
        let is_told = match told {
            Some(mut told) => told.wait_for(|told| *told).await.is_ok(),
            None => false,
        };
        if !is_told {
            std::future::pending::<()>().await;
        }
    };
    let at_first_output = matches!(hang_up, HangUp::AtFirstOutput);
    let end = tokio::select! {
        end = exchange(proxy, request, at_first_output, watching, &mut reply) => end,
        () = told => ReplyEnd::HungUp,
        () = tokio::time::sleep(timeout) => ReplyEnd::TimedOut,
    };
    reply.end = end;
    reply.ended_at = watching.clock.now();
    reply
}

async fn exchange(
    proxy: &ProxyAddress,
    request: &ClientRequest,
    at_first_output: bool,
    watching: &Watching<'_>,
    reply: &mut ClientReply,
) -> ReplyEnd {
    let (mut stream, bytes) = match prepared(proxy, request).await {
        Ok(prepared) => prepared,
        Err(reason) => return ReplyEnd::Unreachable(reason),
    };
    reply.sent_at = watching.clock.now();
    let broken = |what: &str| ReplyEnd::Broken(what.to_owned());
    if let Err(error) = stream.write_all(&bytes).await {
        return broken(&format!("while sending: {error}"));
    }
    let mut buffer = Vec::new();
    let head = loop {
        match ResponseHead::parse(&buffer) {
            Err(error) => return broken(&error.to_string()),
            Ok(Some((head, length))) => {
                buffer.drain(..length);
                if head.status >= 200 {
                    break head;
                }
            }
            Ok(None) => match stream.read_buf(&mut buffer).await {
                Ok(0) => return broken("closed without an answer"),
                Err(error) => return broken(&error.to_string()),
                Ok(_) => {}
            },
        }
    };
    reply.status = Some(head.status);
    reply.headers = head.headers.clone();
    let mut progress = match Framing::of_response(&head, "POST") {
        Ok(framing) => BodyProgress::new(framing),
        Err(problem) => return broken(&problem),
    };
    let until_close = matches!(progress, BodyProgress::UntilClose);
    let mut events = EventReader::default();
    let mut reader = ReplyReader::new(request.format, None);
    loop {
        let mut pieces: Vec<&[u8]> = Vec::new();
        if let Err(problem) = progress.feed(&buffer, |piece| pieces.push(piece)) {
            return broken(&problem);
        }
        for piece in pieces {
            let after = watching.clock.now().saturating_sub(reply.sent_at);
            let frame = Frame(reply.body.len() as u64, piece.len() as u64, after);
            reply.frames.push(frame);
            reply.body.extend_from_slice(piece);
            events.feed(piece, |event| {
                reader.event(&event);
            });
        }
        buffer.clear();
        let output = reader.output_bytes() as u64;
        if output > 0 && request.streams {
            if reply.written_at_first_output.is_none() {
                reply.written_at_first_output = Some(*watching.written.borrow());
            }
            watching.delivered.send_replace(output);
            if at_first_output {
                return ReplyEnd::HungUp;
            }
        }
        if progress.is_done() {
            return ReplyEnd::Complete;
        }
        if reply.body.len() > MAX_BODY {
            return broken("more than a probe can be answered with");
        }
        match stream.read_buf(&mut buffer).await {
            Ok(0) if until_close => return ReplyEnd::Complete,
            Ok(0) => return broken("closed in the midst of the answer"),
            Err(error) => return broken(&error.to_string()),
            Ok(_) => {}
        }
    }
}

/// A connection, and the bytes of the request.
async fn prepared(
    proxy: &ProxyAddress,
    request: &ClientRequest,
) -> Result<(UpstreamStream, Vec<u8>), String> {
    let url = joined(&proxy.base_url, &request.path);
    let (connects_to, target) = match &proxy.http_proxy {
        Some(forward) => (forward, url.to_string()),
        None => (&url, url[url::Position::BeforePath..].to_owned()),
    };
    let address = Address::of(&Upstream::new(connects_to.clone()));
    let address = address.map_err(|error| error.to_string())?;
    let stream = address.connect().await?;
    let mut headers = Headers::default();
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    headers.push("host", host.as_bytes());
    // What the proxy needs, such as its own key, stands in place of what a probe would send.
    let is_given = |name: &str| {
        let mut given = proxy.headers.iter();
        given.any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    let own = request.headers.iter().filter(|(name, _)| !is_given(name));
    for (name, value) in own.chain(&proxy.headers) {
        headers.push(name, value.as_bytes());
    }
    headers.push("content-length", request.body.len().to_string().as_bytes());
    let head = RequestHead {
        method: "POST".to_owned(),
        target,
        minor: 1,
        headers,
    };
    let mut bytes = head.bytes();
    bytes.extend_from_slice(&request.body);
    Ok((stream, bytes))
}

/// A path below a base address, with or without `/v1` at its end.
fn joined(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let before = base.path().trim_end_matches('/');
    // Addresses end in the version of the API of OpenAI, whichever is asked.
    let before = before.strip_suffix("/v1").unwrap_or(before);
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    url.set_path(&format!("{before}{path}"));
    url.set_query(query);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_below_the_address_once() {
        for (base, expected) in [
            ("http://h:1", "http://h:1/v1/messages"),
            ("http://h:1/", "http://h:1/v1/messages"),
            ("http://h:1/v1/", "http://h:1/v1/messages"),
            ("http://h:1/x/v1", "http://h:1/x/v1/messages"),
        ] {
            let url = joined(&Url::parse(base).unwrap(), "/v1/messages");
            assert_eq!(url.as_str(), expected);
        }
        let url = joined(&Url::parse("http://h:1/v1").unwrap(), "/v1beta/m:s?alt=sse");
        assert_eq!(url.as_str(), "http://h:1/v1beta/m:s?alt=sse");
    }
}
