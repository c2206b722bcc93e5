//! Streamed completions: server-sent events in a chunked body.
//!
//! One event per HTTP chunk, word by word, such that the joined tokens are the
//! text again, byte for byte. Pauses and faults are put into the plan; nothing
//! here waits.

use std::time::Duration;

use crate::completion::{Completion, Shape, StreamEvent};
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
            let chunk = StreamEvent::plain(completion.no_choices(true).to_string());
            push(&mut plan, Duration::ZERO, &chunk);
            push_done(&mut plan);
        }
        Kind::InvalidJson => {
            let broken = StreamEvent::plain(crate::render::NOT_JSON);
            push(&mut plan, Duration::ZERO, &broken);
            push_done(&mut plan);
        }
        _ => push_tokens(&mut plan, reply, request, &completion, text),
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
    text: Option<&str>,
) {
    let tokens = tokens(text.unwrap_or(""));
    let script = &reply.stream;
    let cut = match reply.kind {
        Kind::Truncated(_) => Some(tokens.len() / 2),
        _ => script.cut_after_tokens,
    };
    for event in completion.opening() {
        push(plan, Duration::ZERO, &event);
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
            push(plan, Duration::ZERO, &completion.error_event(500, message));
            plan.push(Duration::ZERO, wire::LAST_CHUNK.to_vec());
            return;
        }
        let pause = if sent == 0 {
            script.first_token_after
        } else {
            script.between_tokens
        };
        if let Some(token) = tokens.get(sent) {
            push(plan, pause, &completion.token(token));
        }
    }
    for event in completion.closing(text, request.wants_stream_usage()) {
        push(plan, Duration::ZERO, &event);
    }
    plan.push(Duration::ZERO, wire::LAST_CHUNK.to_vec());
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
    push(plan, Duration::ZERO, &StreamEvent::plain("[DONE]"));
    plan.push(Duration::ZERO, wire::LAST_CHUNK.to_vec());
}

fn push(plan: &mut Plan, pause: Duration, event: &StreamEvent) {
    let name = event.name.as_ref();
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    let event = format!("{name}data: {}\n\n", event.data);
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
