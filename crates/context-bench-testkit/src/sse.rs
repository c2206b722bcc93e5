//! Streamed completions: server-sent events in a chunked body.
//!
//! One event per HTTP chunk, word by word, such that the joined tokens are the
//! text again, byte for byte. Pauses and faults are put into the plan; nothing
//! here waits.

use std::time::Duration;

use serde_json::Value;

use crate::completion::{self, Completion, Shape};
use crate::plan::{End, Plan};
use crate::reply::{Kind, Reply};
use crate::request::Request;
use crate::wire::{self, Length};

/// The plan of a text-like reply to a request that asked for a stream, or
/// `None` if this kind of reply is never streamed.
pub(crate) fn plan(
    reply: &Reply,
    request: &Request,
    shape: Shape,
    headers: &[(String, String)],
    close: bool,
) -> Option<Plan> {
    let text = match &reply.kind {
        Kind::Text(text) => text.as_deref(),
        Kind::Drip { text, .. } | Kind::Truncated(text) => Some(&**text),
        Kind::EmptyChoices | Kind::InvalidJson => None,
        _ => return None,
    };
    let completion = Completion::new(shape, reply, request, text);
    let head = wire::head(200, "text/event-stream", headers, Length::Chunked, close);
    let head_length = head.len();
    let mut plan = Plan::whole(reply.delay, head, End::complete(close));
    match &reply.kind {
        Kind::EmptyChoices => {
            push_json(&mut plan, Duration::ZERO, &completion.no_choices(true));
            push_done(&mut plan);
        }
        Kind::InvalidJson => {
            push(&mut plan, Duration::ZERO, crate::render::NOT_JSON);
            push_done(&mut plan);
        }
        _ => push_tokens(&mut plan, reply, request, &completion, text.unwrap_or("")),
    }
    if let Kind::Drip {
        bytes_per_chunk,
        pause,
        ..
    } = &reply.kind
    {
        drip(&mut plan, head_length, *bytes_per_chunk, *pause);
    }
    Some(plan)
}

/// The tokens of a text: each word with the whitespace before it; whitespace at
/// the end belongs to the last token.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (at, letter) in text.char_indices() {
        let ends_word = in_word && letter.is_whitespace();
        if ends_word && !text[at..].trim_start().is_empty() {
            tokens.push(&text[start..at]);
            start = at;
        }
        in_word = !letter.is_whitespace();
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

fn push_tokens(
    plan: &mut Plan,
    reply: &Reply,
    request: &Request,
    completion: &Completion<'_>,
    text: &str,
) {
    let tokens = tokens(text);
    let script = &reply.stream;
    let cut = match reply.kind {
        Kind::Truncated(_) => Some(tokens.len() / 2),
        _ => script.cut_after_tokens,
    };
    if completion.shape == Shape::Chat {
        push_json(plan, Duration::ZERO, &completion.role_chunk());
    }
    // One turn more than there are tokens, so that a fault can follow the last.
    for sent in 0..=tokens.len() {
        if cut == Some(sent) {
            plan.end = End::Cut;
            return;
        }
        if let Some((after, message)) = &script.error_after_tokens
            && *after == sent
        {
            push_json(plan, Duration::ZERO, &completion::error(500, message, None));
            plan.push(Duration::ZERO, wire::LAST_CHUNK.to_vec());
            return;
        }
        let pause = if sent == 0 {
            script.first_token_after
        } else {
            script.between_tokens
        };
        if let Some(token) = tokens.get(sent) {
            push_json(plan, pause, &completion.token_chunk(token));
        }
    }
    push_json(plan, Duration::ZERO, &completion.finish_chunk());
    if request.wants_stream_usage()
        && let Some(chunk) = completion.usage_chunk()
    {
        push_json(plan, Duration::ZERO, &chunk);
    }
    push_done(plan);
}

/// Breaks all bytes behind the head into small pieces; other pauses are dropped.
fn drip(plan: &mut Plan, head_length: usize, bytes_per_chunk: usize, pause: Duration) {
    let steps = std::mem::take(&mut plan.steps);
    let bytes: Vec<u8> = steps.into_iter().flat_map(|step| step.bytes).collect();
    let (head, events) = bytes.split_at(head_length);
    plan.push(Duration::ZERO, head.to_vec());
    for piece in events.chunks(bytes_per_chunk) {
        plan.push(pause, piece.to_vec());
    }
}

fn push_done(plan: &mut Plan) {
    push(plan, Duration::ZERO, "[DONE]");
    plan.push(Duration::ZERO, wire::LAST_CHUNK.to_vec());
}

fn push_json(plan: &mut Plan, pause: Duration, data: &Value) {
    push(plan, pause, &data.to_string());
}

fn push(plan: &mut Plan, pause: Duration, data: &str) {
    let event = format!("data: {data}\n\n");
    plan.push(pause, wire::chunk(event.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn tokens_join_to_the_text() {
        for text in ["", " ", "Paris", " a  b\n", "one two", "\n", "é à  ü "] {
            assert_eq!(tokens(text).concat(), text);
        }
        assert_eq!(
            tokens("the  city of\nParis "),
            ["the", "  city", " of", "\nParis "]
        );
        assert_eq!(tokens(" "), [" "]);
    }
}
