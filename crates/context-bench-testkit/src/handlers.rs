//! Ready-made scripts for [`crate::ChatServer::start`].
//!
//! Each is a plain function of the request, so that they nest: a flaky server
//! that requires a key is `require_key(key, flaky(seed, share, kinds, inner))`.
//! None of them may use a source of chance but its seed.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::fault::Fault;
use crate::reply::Reply;
use crate::request::Request;

/// The same text for every request.
pub fn constant(
    text: impl Into<Arc<str>>,
) -> impl Fn(&Request) -> Reply + Clone + Send + Sync + 'static {
    let reply = Reply::text(text);
    move |_| reply.clone()
}

/// The cheapest answer, for throughput measurements. Given directly to `start`
/// it becomes preassembled bytes, see [`crate::ServerBuilder::start_fixed`].
pub fn noop() -> impl Fn(&Request) -> Reply + Clone + Send + Sync + 'static {
    |_| noop_reply()
}

/// What [`noop`] answers.
pub(crate) fn noop_reply() -> Reply {
    Reply::text("ok").usage(1, 1)
}

/// Whether `H` is what [`noop`] returns.
pub(crate) fn is_noop<H: 'static>() -> bool {
    fn id_of<T: 'static>(_: &T) -> TypeId {
        TypeId::of::<T>()
    }
    TypeId::of::<H>() == id_of(&noop())
}

/// The text of the last user message.
pub fn echo_last_user() -> impl Fn(&Request) -> Reply + Clone + Send + Sync + 'static {
    |request| Reply::text(request.last_user_content())
}

/// The answer of the longest question that the last user message contains;
/// "I don't know." if it contains none.
pub fn by_question<Q, A>(
    answers: impl IntoIterator<Item = (Q, A)>,
) -> impl Fn(&Request) -> Reply + Clone + Send + Sync + 'static
where
    Q: Into<String>,
    A: Into<Arc<str>>,
{
    let answers: HashMap<String, Arc<str>> = answers
        .into_iter()
        .map(|(question, answer)| (question.into(), answer.into()))
        .collect();
    let answers = Arc::new(answers);
    move |request| {
        let asked = request.last_user_content();
        let answer = answers.get(asked).or_else(|| {
            answers
                .iter()
                .filter(|(question, _)| asked.contains(question.as_str()))
                // The text of the question too, for one order among equals.
                .max_by_key(|(question, _)| (question.len(), question.as_str()))
                .map(|(_, answer)| answer)
        });
        Reply::text(answer.map_or_else(|| "I don't know.".into(), Arc::clone))
    }
}

/// Lets a share (0 to 1) of requests fail with one of these kinds and gives the
/// others to `inner`. Which ones fail depends on nothing but the seed, the body
/// and the attempt: not on order, connection or time.
///
/// # Panics
/// If the share is not within 0 to 1, or is above 0 with no kinds.
pub fn flaky(
    seed: u64,
    share: f64,
    kinds: impl Into<Vec<Fault>>,
    inner: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let kinds = kinds.into();
    assert!((0.0..=1.0).contains(&share), "{share} is not a share");
    assert!(share == 0.0 || !kinds.is_empty(), "no kinds of fault given");
    move |request| {
        let draw = hash(seed, &request.body, request.attempt as u64);
        // 53 bits are a float of [0, 1) exactly; the kind takes a fresh draw.
        let fraction = (draw >> 11) as f64 / (1_u64 << 53) as f64;
        if fraction < share {
            let choice = mix(draw) % kinds.len() as u64;
            kinds[choice as usize].reply()
        } else {
            inner(request)
        }
    }
}

/// These replies one after the other; the last one repeats.
///
/// # Panics
/// If there are none.
pub fn sequence(replies: Vec<Reply>) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    assert!(!replies.is_empty(), "a sequence needs a reply");
    let next = AtomicUsize::new(0);
    move |_| {
        let at = next.fetch_add(1, Relaxed);
        replies[at.min(replies.len() - 1)].clone()
    }
}

/// Status 401 unless the request carries this key as `Authorization: Bearer`, `api-key` or
/// `x-api-key`.
pub fn require_key(
    key: impl Into<String>,
    inner: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let key = key.into();
    move |request| {
        let sent = request.bearer().or_else(|| request.headers.get("api-key"));
        let sent = sent.or_else(|| request.headers.get("x-api-key"));
        match sent {
            Some(sent) if sent == key => inner(request),
            Some(_) => Reply::status(401)
                .message("Incorrect API key provided.")
                .error_code("invalid_api_key"),
            None => Reply::status(401).message("You didn't provide an API key."),
        }
    }
}

/// FNV-1a with a final mix: the same on every machine and Rust version.
fn hash(seed: u64, body: &[u8], attempt: u64) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ mix(seed);
    for byte in body.iter().copied().chain(attempt.to_le_bytes()) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    mix(state)
}

/// The finaliser of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::reply::Kind;

    fn ask(text: &str, attempt: usize) -> Request {
        let body = json!({"messages": [{"role": "user", "content": text}]});
        Request::post("/v1/chat/completions", &body, 0, attempt)
    }

    fn said(reply: &Reply) -> &str {
        match &reply.kind {
            Kind::Text(Some(text)) => text,
            other => panic!("not a text: {other:?}"),
        }
    }

    #[test]
    fn only_noop_is_noop() {
        fn check<H: 'static>(_: &H) -> bool {
            is_noop::<H>()
        }
        assert!(check(&noop()));
        assert!(!check(&constant("ok")));
        assert!(!check(&|_: &Request| noop_reply()));
    }

    #[test]
    fn the_longest_question_wins() {
        let handler = by_question([("capital", "no"), ("capital of France", "Paris")]);
        assert_eq!(said(&handler(&ask("the capital of France?", 0))), "Paris");
        assert_eq!(said(&handler(&ask("capital", 0))), "no");
        assert_eq!(said(&handler(&ask("else", 0))), "I don't know.");
    }

    #[test]
    fn flaky_is_a_function_of_seed_body_and_attempt() {
        let kinds = [Fault::ServerError(500), Fault::BadRequest];
        let failed = |seed: u64| -> Vec<bool> {
            let handler = flaky(seed, 0.3, kinds, constant("fine"));
            (0..2000)
                .map(|i| handler(&ask(&format!("q{}", i / 2), i % 2)))
                .map(|reply| matches!(reply.kind, Kind::Status { .. }))
                .collect()
        };
        let first = failed(1);
        assert_eq!(first, failed(1));
        assert_ne!(first, failed(2));
        let count = first.iter().filter(|failed| **failed).count();
        assert!((500..700).contains(&count), "{count} of 2000 failed");
    }

    #[test]
    fn flaky_takes_the_ends_of_the_scale() {
        let never = flaky(1, 0.0, [], constant("fine"));
        assert_eq!(said(&never(&ask("q", 0))), "fine");
        let always = flaky(1, 1.0, [Fault::Hang], constant("fine"));
        assert!(matches!(always(&ask("q", 0)).kind, Kind::Hang));
    }

    #[test]
    fn fault_names_are_read() {
        assert_eq!("502".parse(), Ok(Fault::ServerError(502)));
        let limited = Fault::RateLimited {
            retry_after: Some(2),
        };
        assert_eq!("429:2".parse(), Ok(limited));
        assert!("teapot".parse::<Fault>().is_err());
        assert!("200".parse::<Fault>().is_err());
    }
}
