//! From a reply and its request to a plan of bytes.
//!
//! The only place that knows every kind of reply. It does not send, wait or
//! record; streams are delegated to `sse`.

use std::time::Duration;

use crate::completion::{self, Completion, Shape};
use crate::plan::{End, Plan};
use crate::reply::{Kind, Reply, RetryAfter};
use crate::request::Request;
use crate::sse;
use crate::wire::{self, Length};

/// What `Reply::invalid_json` sends: the start of an object, never closed.
pub(crate) const NOT_JSON: &str = r#"{"id": "chatcmpl-mock", "choices": [{"message": {"content": "#;

const JSON: &str = "application/json";

/// The plan for this reply to this request; `close` says that the connection
/// ends with it in any case.
pub(crate) fn plan(reply: &Reply, request: &Request, shape: Shape, close: bool) -> Plan {
    let close = close || reply.close_after;
    let mut headers = reply.headers.clone();
    match reply.retry_after {
        Some(RetryAfter::Seconds(seconds)) => {
            headers.push(("retry-after".into(), seconds.to_string()));
        }
        Some(RetryAfter::DateIn(seconds)) => {
            headers.push(("retry-after".into(), wire::date_in(seconds)));
        }
        None => {}
    }
    if may_stream(&reply.kind)
        && request.is_stream()
        && let Some(plan) = sse::plan(reply, request, shape, &headers, close)
    {
        return plan;
    }

    let end = End::complete(close);
    let send = |status: u16, content_type: &str, body: &[u8]| {
        let bytes = wire::whole(status, content_type, &headers, body, close);
        Plan::whole(reply.delay, bytes, end)
    };
    let completion = |text: Option<&str>| {
        let completion = Completion::new(shape, reply, request, text);
        completion.whole(text).to_string().into_bytes()
    };
    match &reply.kind {
        Kind::Text(text) => send(200, JSON, &completion(text.as_deref())),
        Kind::Json(body) => send(200, JSON, body.to_string().as_bytes()),
        Kind::InvalidJson => send(200, JSON, NOT_JSON.as_bytes()),
        Kind::EmptyChoices => {
            let body = Completion::new(shape, reply, request, None).no_choices(false);
            send(200, JSON, body.to_string().as_bytes())
        }
        Kind::Status {
            code,
            message,
            error_code,
        } => {
            let standard = format!("mock status {code}");
            let message = message.as_deref().unwrap_or(&standard);
            let body = completion::error_of(shape, *code, message, error_code.as_deref());
            send(*code, JSON, body.to_string().as_bytes())
        }
        Kind::Raw {
            status,
            content_type,
            body,
        } => send(*status, content_type, body),
        Kind::Drip {
            text,
            bytes_per_chunk,
            pause,
        } => {
            let body = completion(Some(text));
            let head = wire::head(200, JSON, &headers, Length::Bytes(body.len()), close);
            let mut plan = Plan::whole(reply.delay, head, end);
            for piece in body.chunks(*bytes_per_chunk) {
                plan.push(*pause, piece.to_vec());
            }
            plan
        }
        Kind::Truncated(text) => {
            let body = completion(Some(text));
            let mut bytes = wire::head(200, JSON, &headers, Length::Bytes(body.len()), false);
            bytes.extend_from_slice(&body[..body.len() / 2]);
            Plan::whole(reply.delay, bytes, End::Cut)
        }
        Kind::Hang => Plan::new(reply.delay, End::Hang),
        Kind::Reset => Plan::new(reply.delay, End::Reset),
        Kind::Close => Plan::new(reply.delay, End::Cut),
    }
}

/// The bytes of a reply that is the same for every request.
///
/// # Panics
/// If the reply is not one complete immediate write.
pub(crate) fn fixed(reply: &Reply) -> (Duration, Vec<u8>) {
    let request = Request::post("/v1/chat/completions", &serde_json::Value::Null, 0, 0);
    let mut plan = plan(reply, &request, Shape::Chat, false);
    match (plan.steps.pop(), plan.end) {
        (Some(step), End::KeepAlive) if plan.steps.is_empty() => (plan.delay, step.bytes),
        _ => panic!("a fixed reply must be one complete write, not {reply:?}"),
    }
}

/// An OpenAI-style error outside of any script.
pub(crate) fn refusal(status: u16, message: &str, close: bool) -> Plan {
    let body = completion::error(status, message, None).to_string();
    let bytes = wire::whole(status, JSON, &[], body.as_bytes(), close);
    Plan::whole(Duration::ZERO, bytes, End::complete(close))
}

/// The list of models.
pub(crate) fn models(names: &[String], close: bool) -> Plan {
    let body = completion::models(names).to_string();
    let bytes = wire::whole(200, JSON, &[], body.as_bytes(), close);
    Plan::whole(Duration::ZERO, bytes, End::complete(close))
}

/// Whether a stream changes this kind at all; if not, the body stays unparsed.
fn may_stream(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Text(_)
            | Kind::Drip { .. }
            | Kind::Truncated(_)
            | Kind::EmptyChoices
            | Kind::InvalidJson
    )
}
