//! One connection of a proxy to the scripted upstream: requests read, scripts played.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::answer::Answer;
use super::script::{Script, error_event};
use super::upstream::{CallEnd, Stage, UpstreamCall};
use crate::http1::{BodyProgress, Framing, Headers, RequestHead};
use crate::record::{Frame, Purpose};
use crate::wire::{EventReader, ReplyReader, Route, WireFormat};

/// More than any probe sends: what is longer is not ours.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Between pieces of a stream that nobody is in step with.
const PACE: Duration = Duration::from_millis(20);
/// How often a client may be waited for in vain before the stream goes on without it.
const IN_VAIN: usize = 2;

/// The proxy is gone.
struct Gone;

/// A connection and what was read of it too early.
struct Wire {
    stream: TcpStream,
    surplus: Vec<u8>,
}

impl Wire {
    async fn read(&mut self) -> Result<(), Gone> {
        match self.stream.read_buf(&mut self.surplus).await {
            Ok(0) | Err(_) => Err(Gone),
            Ok(_) => Ok(()),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        let written = self.stream.write_all(bytes).await;
        written.map_err(|_| Gone)
    }

    /// Waits until the other side hangs up.
    async fn gone(&mut self) {
        while self.read().await.is_ok() && self.surplus.len() < MAX_BODY {}
    }

    /// Waits for something, unless the other side hangs up.
    async fn unless_gone<T>(&mut self, waiting: impl Future<Output = T>) -> Result<T, Gone> {
        tokio::select! {
            done = waiting => Ok(done),
            () = self.gone() => Err(Gone),
        }
    }

    /// The next request; none where there is no more.
    async fn request(&mut self) -> Option<(RequestHead, Vec<u8>)> {
        let head = loop {
            match RequestHead::parse(&self.surplus).ok()? {
                Some((head, length)) => {
                    self.surplus.drain(..length);
                    break head;
                }
                None => self.read().await.ok()?,
            }
        };
        let expects = head.headers.words("expect");
        if expects.iter().any(|word| word == "100-continue") {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
        }
        let mut progress = BodyProgress::new(Framing::of_request(&head).ok()?);
        let mut body = Vec::new();
        loop {
            let used = progress.feed(&self.surplus, |piece| body.extend_from_slice(piece));
            self.surplus.drain(..used.ok()?);
            if progress.is_done() {
                return Some((head, body));
            }
            if body.len() > MAX_BODY {
                return None;
            }
            self.read().await.ok()?;
        }
    }
}

/// Serves a connection until either side ends it.
pub(super) async fn serve(stream: TcpStream, stage: Arc<Stage>) {
    let mut wire = Wire {
        stream,
        surplus: Vec::new(),
    };
    while let Some((head, body)) = wire.request().await {
        let route = Route::of(&head.method, origin_form(&head.target));
        let scene = stage.scene_of(&body);
        let call = UpstreamCall {
            scene: scene.as_ref().map(|(at, _)| *at),
            target: head.target.clone(),
            format: route.format,
            purpose: route.purpose,
            headers: head.headers.clone(),
            body,
            arrived: stage.clock.now(),
            status: 0,
            sent_headers: Headers::default(),
            sent: Vec::new(),
            frames: Vec::new(),
            is_stream: false,
            is_encoded: false,
            end: CallEnd::Open,
            ended: None,
            waited_in_vain: 0,
        };
        let body = call.body.clone();
        let started = call.arrived;
        let number = stage.take(call);
        let compresses = scene.as_ref().is_some_and(|(_, scene)| scene.compresses);
        let mut performance = Performance {
            compresses,
            wire: &mut wire,
            stage: &stage,
            head: &head,
            body: &body,
            request: serde_json::from_slice(&body).unwrap_or_default(),
            format: route.format,
            model: route.model.as_deref(),
            streams: route.streams,
            number,
            started,
        };
        let script = scene.map(|(_, scene)| scene.script);
        let end = match performance.play(script, route.purpose).await {
            Ok(end) => end,
            Err(Gone) => CallEnd::HungUp,
        };
        stage.update(number, |call| {
            call.end = end;
            call.ended = Some(stage.clock.now());
        });
        if end != CallEnd::Complete || !head.keeps_alive() {
            return;
        }
    }
}

/// A script being played for one call.
struct Performance<'a> {
    wire: &'a mut Wire,
    stage: &'a Arc<Stage>,
    head: &'a RequestHead,
    body: &'a [u8],
    /// The body as JSON; null where it is none.
    request: Value,
    format: WireFormat,
    /// The model and the wish for a stream, where the path has them.
    model: Option<&'a str>,
    streams: bool,
    number: usize,
    started: u64,
    compresses: bool,
}

impl Performance<'_> {
    async fn play(&mut self, script: Option<Script>, purpose: Purpose) -> Result<CallEnd, Gone> {
        let asks = purpose == Purpose::Generation;
        let Some(script) = script.filter(|_| asks) else {
            return self.aside(purpose).await;
        };
        let streams = self.streams || self.is_true("stream");
        match script {
            Script::Answer(say) => {
                if let Some(gather) = &say.gather {
                    let patience = tokio::time::timeout(self.stage.patience, gather.wait());
                    // Without the others it goes on alone: the proxy lets one pass at a time.
                    let _ = self.wire.unless_gone(patience).await?;
                }
                let mut answer = self.answer();
                answer.thinking = say.thinking;
                answer.tool_call = say.tool_call;
                match streams {
                    true => self.stream(&answer, say.in_step).await,
                    false => {
                        let body = answer.body(self.format).to_string();
                        self.whole(200, &[], body.into_bytes()).await
                    }
                }
            }
            Script::Refuse(refusal) => {
                let body = refusal.body(self.format, &self.request_id()).to_string();
                let retry: Vec<(String, String)> = refusal
                    .retry_after
                    .map(|after| ("retry-after".to_owned(), after.to_owned()))
                    .into_iter()
                    .collect();
                self.whole(refusal.status, &retry, body.into_bytes()).await
            }
            Script::FailInStream => {
                let answer = self.answer();
                let events = self.events(&answer);
                let kept = events.len() / 3;
                self.begin_stream(false).await?;
                for event in &events[..kept] {
                    self.piece(event, &mut None).await?;
                }
                let last = error_event(self.format, kept);
                self.piece(&last, &mut None).await?;
                self.wire.write(b"0\r\n\r\n").await?;
                Ok(CallEnd::Complete)
            }
            Script::CutStream => {
                let answer = self.answer();
                let events = self.events(&answer);
                self.begin_stream(false).await?;
                for event in &events[..events.len() / 2] {
                    self.piece(event, &mut None).await?;
                    self.wire.unless_gone(tokio::time::sleep(PACE)).await?;
                }
                Ok(CallEnd::BrokenOff)
            }
            Script::Hang => {
                self.wire.gone().await;
                Err(Gone)
            }
            Script::Endless => {
                let answer = self.answer();
                let events = self.events(&answer);
                self.begin_stream(false).await?;
                // All but the end; then it begins anew with the texts.
                let middle = events.len() / 2;
                for event in &events[..middle] {
                    self.piece(event, &mut None).await?;
                    self.wire.unless_gone(tokio::time::sleep(PACE)).await?;
                }
                loop {
                    self.piece(&events[middle], &mut None).await?;
                    self.wire.unless_gone(tokio::time::sleep(PACE * 5)).await?;
                }
            }
        }
    }

    /// Answers what asks no model.
    async fn aside(&mut self, purpose: Purpose) -> Result<CallEnd, Gone> {
        if self.head.method == "CONNECT" {
            // There is no certificate to stand in for a provider.
            self.whole(502, &[], b"{}".to_vec()).await?;
            return Ok(CallEnd::BrokenOff);
        }
        let body = match (self.format, purpose) {
            (WireFormat::OpenaiModels, _) => json!({"object": "list", "data": [
                {"id": "gpt-4o-mini", "object": "model", "created": 1, "owned_by": "context-bench"}]}),
            (WireFormat::OpenaiEmbeddings, _) => json!({"object": "list", "data": [{"object":
                "embedding", "index": 0, "embedding": [0.1, 0.2, 0.3]}], "model": "embedding",
                "usage": {"prompt_tokens": 5, "total_tokens": 5}}),
            (_, Purpose::Probe) => json!({"input_tokens": 4321}),
            _ => {
                let body = json!({"error": {"message": "no such route", "type":
                    "invalid_request_error", "param": null, "code": null}});
                return self.whole(404, &[], body.to_string().into_bytes()).await;
            }
        };
        self.whole(200, &[], body.to_string().into_bytes()).await
    }

    fn is_true(&self, member: &str) -> bool {
        self.request.get(member) == Some(&Value::Bool(true))
    }

    fn request_id(&self) -> String {
        format!("req_probe{}", self.number)
    }

    fn answer(&self) -> Answer {
        let text = |name: &str| {
            let member = self.request.get(name).and_then(Value::as_str);
            member.map(str::to_owned)
        };
        let canaries = self.stage.canaries_in(self.body).join(" and ");
        let number = self.number as u64;
        Answer {
            number,
            model: text("model").unwrap_or_else(|| self.model.unwrap_or("probe").to_owned()),
            text: format!(
                "Noted for {canaries} – answer number {number}. Section 3 says that the valve was \
                 changed; section 5 says “not yet” (déjà vu, 点検, 🙂). Two of the boxes had no \
                 label, and the noise comes every nine minutes. The report does not say who pays."
            ),
            thinking: None,
            tool_call: None,
            echoed: text("prompt").filter(|_| self.is_true("echo")),
            has_probabilities: self.is_true("logprobs"),
        }
    }

    fn events(&self, answer: &Answer) -> Vec<String> {
        let asks = self
            .request
            .get("stream_options")
            .and_then(|options| options.get("include_usage"));
        answer.events(self.format, asks == Some(&Value::Bool(true)))
    }

    /// What a provider says about itself and its limits.
    fn own_headers(&self) -> Vec<(String, String)> {
        let pairs: &[(&str, &str)] = match self.format {
            WireFormat::AnthropicMessages => &[
                ("anthropic-ratelimit-requests-limit", "4000"),
                ("anthropic-ratelimit-requests-remaining", "3999"),
                ("anthropic-ratelimit-requests-reset", "2026-11-17T12:00:00Z"),
                ("anthropic-ratelimit-tokens-limit", "400000"),
                ("anthropic-ratelimit-tokens-remaining", "395000"),
                ("anthropic-organization-id", "org-probe"),
            ],
            // It names no request and no limits.
            WireFormat::Gemini => return vec![("server-timing".to_owned(), "dur=12".to_owned())],
            _ => &[
                ("openai-processing-ms", "12"),
                ("openai-version", "2020-10-01"),
                ("x-ratelimit-limit-requests", "10000"),
                ("x-ratelimit-remaining-requests", "9999"),
                ("x-ratelimit-reset-requests", "6ms"),
                ("x-ratelimit-limit-tokens", "2000000"),
                ("x-ratelimit-remaining-tokens", "1995000"),
            ],
        };
        let id = match self.format {
            WireFormat::AnthropicMessages => "request-id",
            _ => "x-request-id",
        };
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        std::iter::once((id.to_owned(), self.request_id()))
            .chain(pairs)
            .collect()
    }

    /// Whether the answer is compressed: the probe is about that, and the proxy wants it.
    fn wants_gzip(&self) -> bool {
        let words = self.head.headers.words("accept-encoding");
        let is_gzip = |word: &String| word.split(';').next().map(str::trim) == Some("gzip");
        self.compresses && words.iter().any(is_gzip)
    }

    async fn begin(&mut self, status: u16, headers: Vec<(String, String)>) -> Result<(), Gone> {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in &headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.stage.update(self.number, |call| {
            call.status = status;
            call.sent_headers = headers.into_iter().collect();
        });
        self.wire.write(head.as_bytes()).await
    }

    async fn whole(
        &mut self,
        status: u16,
        more: &[(String, String)],
        body: Vec<u8>,
    ) -> Result<CallEnd, Gone> {
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        headers.extend(self.own_headers());
        headers.extend_from_slice(more);
        let is_encoded = self.wants_gzip();
        let bytes = match is_encoded {
            true => {
                headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
                Deflater::default().end(&body)
            }
            false => body.clone(),
        };
        headers.push(("content-length".to_owned(), bytes.len().to_string()));
        self.stage.update(self.number, |call| {
            call.sent = body;
            call.is_encoded = is_encoded;
        });
        self.begin(status, headers).await?;
        if self.head.method != "HEAD" {
            self.wire.write(&bytes).await?;
        }
        Ok(CallEnd::Complete)
    }

    async fn begin_stream(&mut self, is_encoded: bool) -> Result<(), Gone> {
        let mut headers = vec![
            (
                "content-type".to_owned(),
                "text/event-stream; charset=utf-8".to_owned(),
            ),
            ("cache-control".to_owned(), "no-cache".to_owned()),
        ];
        headers.extend(self.own_headers());
        if is_encoded {
            headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
        }
        headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
        self.stage.update(self.number, |call| {
            call.is_stream = true;
            call.is_encoded = is_encoded;
        });
        self.begin(200, headers).await
    }

    /// Writes an event as one chunk.
    async fn piece(&mut self, event: &str, deflater: &mut Option<Deflater>) -> Result<(), Gone> {
        let bytes = match deflater {
            Some(deflater) => deflater.piece(event.as_bytes()),
            None => event.as_bytes().to_vec(),
        };
        let after = self.stage.clock.now().saturating_sub(self.started);
        self.stage.update(self.number, |call| {
            let offset = call.sent.len() as u64;
            call.frames.push(Frame(offset, event.len() as u64, after));
            call.sent.extend_from_slice(event.as_bytes());
        });
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(&bytes);
        chunk.extend_from_slice(b"\r\n");
        self.wire.write(&chunk).await
    }

    async fn stream(&mut self, answer: &Answer, in_step: bool) -> Result<CallEnd, Gone> {
        let mut deflater = self.wants_gzip().then(Deflater::default);
        self.begin_stream(deflater.is_some()).await?;
        let mut events = EventReader::default();
        let mut reader = ReplyReader::new(self.format, None);
        let mut in_vain = 0;
        for event in self.events(answer) {
            self.piece(&event, &mut deflater).await?;
            let before = reader.output_bytes();
            events.feed(event.as_bytes(), |event| {
                reader.event(&event);
            });
            let output = reader.output_bytes() as u64;
            if output as usize == before {
                continue;
            }
            self.stage.written.send_modify(|written| *written += 1);
            if !in_step {
                continue;
            }
            if in_vain >= IN_VAIN {
                self.wire.unless_gone(tokio::time::sleep(PACE)).await?;
                continue;
            }
            let mut delivered = self.stage.delivered.subscribe();
            let arrives = delivered.wait_for(|delivered| *delivered >= output);
            let arrives = tokio::time::timeout(self.stage.patience, arrives);
            let arrives = async { arrives.await.is_ok() };
            if !self.wire.unless_gone(arrives).await? {
                in_vain += 1;
                self.stage
                    .update(self.number, |call| call.waited_in_vain += 1);
            }
        }
        if let Some(mut deflater) = deflater {
            let rest = deflater.end(&[]);
            let mut chunk = format!("{:x}\r\n", rest.len()).into_bytes();
            chunk.extend_from_slice(&rest);
            chunk.extend_from_slice(b"\r\n");
            self.wire.write(&chunk).await?;
        }
        self.wire.write(b"0\r\n\r\n").await?;
        Ok(CallEnd::Complete)
    }
}

/// gzip, piece by piece.
struct Deflater(flate2::write::GzEncoder<Vec<u8>>);

impl Default for Deflater {
    fn default() -> Self {
        let fast = flate2::Compression::fast();
        Self(flate2::write::GzEncoder::new(Vec::new(), fast))
    }
}

impl Deflater {
    /// What a reader needs to see this piece. Writing to memory cannot fail.
    fn piece(&mut self, bytes: &[u8]) -> Vec<u8> {
        let _ = self.0.write_all(bytes).and_then(|()| self.0.flush());
        std::mem::take(self.0.get_mut())
    }

    fn end(&mut self, bytes: &[u8]) -> Vec<u8> {
        let _ = self.0.write_all(bytes).and_then(|()| self.0.try_finish());
        std::mem::take(self.0.get_mut())
    }
}

/// A target without scheme and host: forward proxies send the whole address.
fn origin_form(target: &str) -> &str {
    match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Overloaded",
    }
}
