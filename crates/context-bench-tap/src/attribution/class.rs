//! [`CallClass`]: what the calls of a proxy were for that one call of the client caused.

use serde::{Deserialize, Serialize};

use super::client_call::{AnswerIdentity, ClientCall, Sign};
use crate::figures::canonical_json;
use crate::record::{CallRecord, Purpose};
use crate::wire::{Route, WireRequest};

/// The share of the shorter text that a continuation must begin with.
const SHARED_PREFIX: f64 = 0.9;

/// What an upstream call within one client call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallClass {
    /// Its answer was relayed to the client.
    Primary,
    /// The same request as another one that failed or was not relayed.
    Retry,
    /// One text extends the other, as in a round of retrieval.
    Continuation,
    /// Other generations, embeddings, reranking.
    Aux,
    /// Asks no model.
    Probe,
    /// An attempt to speak TLS, refused.
    TlsAttempt,
    /// An upgrade to another protocol, refused.
    Unsupported,
}

/// How a client call came by its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientOutcome {
    /// With calls upstream.
    Upstream,
    /// The proxy answered by itself.
    LocalAnswer,
    /// The proxy refused by itself, or did not answer.
    LocalError,
}

/// How a client call came by its answer, if so many calls upstream are its own.
pub fn outcome(client: &ClientCall, upstream_calls: usize) -> ClientOutcome {
    let is_answered = client
        .status
        .is_some_and(|status| (200..300).contains(&status));
    match (upstream_calls, is_answered) {
        (0, true) => ClientOutcome::LocalAnswer,
        (0, false) => ClientOutcome::LocalError,
        _ => ClientOutcome::Upstream,
    }
}

/// The classes of the calls of one client call, one for each and in their order. `bodies` has
/// what each of them asked; a call whose body is not there is compared by its digest alone.
pub fn classify(
    client: &ClientCall,
    calls: &[&CallRecord],
    bodies: &[Option<&[u8]>],
) -> Vec<CallClass> {
    let primary = primary(client, calls);
    // Nearly always: one call for one, and nothing to compare it with.
    if let ([_], Some(_)) = (calls, primary) {
        return vec![CallClass::Primary];
    }
    let body = |at: usize| bodies.get(at).copied().flatten();
    let canonical: Vec<Option<String>> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| match body(at) {
            // What is no JSON is compared as it is.
            Some(body) => Some(
                canonical_json(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned()),
            ),
            None => call.request.body.digest.clone(),
        })
        .collect();
    let rendered = |at: usize| {
        let request = &calls[at].request;
        let route = Route::of(&request.method, &request.path);
        WireRequest::read(&route, body(at)?).map(|request| request.rendered())
    };
    let first = primary.and_then(rendered);
    let classes = calls.iter().enumerate().map(|(at, call)| {
        let is_repeat = || {
            let same = |(other, text): (usize, &Option<String>)| {
                other != at
                    && text.is_some()
                    && *text == canonical[at]
                    && calls[other].request.path == call.request.path
            };
            canonical.iter().enumerate().any(same)
        };
        match call.purpose {
            _ if primary == Some(at) => CallClass::Primary,
            Purpose::Probe => CallClass::Probe,
            Purpose::TlsAttempt => CallClass::TlsAttempt,
            Purpose::Unsupported => CallClass::Unsupported,
            Purpose::Generation if is_repeat() => CallClass::Retry,
            Purpose::Generation => match (&first, rendered(at)) {
                (Some(first), Some(text)) if extends(first, &text) => CallClass::Continuation,
                _ => CallClass::Aux,
            },
            Purpose::Auxiliary | Purpose::Opaque => CallClass::Aux,
        }
    });
    classes.collect()
}

/// The call whose answer the client got; if that cannot be told the last success, and without
/// one the last that asked a model.
fn primary(client: &ClientCall, calls: &[&CallRecord]) -> Option<usize> {
    let asks = |at: &usize| calls[*at].purpose == Purpose::Generation;
    let all = || (0..calls.len()).rev().filter(asks);
    let relayed = |sign| {
        all().find(|at| {
            client
                .answer
                .agrees(&AnswerIdentity::of_call(calls[*at]), sign)
        })
    };
    Sign::ALL
        .into_iter()
        .find_map(relayed)
        .or_else(|| all().find(|at| calls[*at].is_success()))
        .or_else(|| all().next())
}

/// Whether one text goes on where the other ends, but for a little.
fn extends(one: &str, two: &str) -> bool {
    let shorter = one.len().min(two.len());
    let shared = one
        .bytes()
        .zip(two.bytes())
        .take_while(|(one, two)| one == two);
    one.len() != two.len() && shorter > 0 && shared.count() as f64 >= SHARED_PREFIX * shorter as f64
}
