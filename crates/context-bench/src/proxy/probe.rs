//! The carrier probe: what of a client's call reaches the provider through a proxy.
//!
//! One call with another mark in every carrier is sent through a process that is thrown away
//! afterwards, to an upstream of ours. It is long and looks like real work: one of the known
//! proxies changes its ways for good after a short prompt.

use std::fmt::Write as _;
use std::time::Duration;

use context_bench_http::{RootCertificates, client_builder, root_cause};
use context_bench_tap::attribution::SyntheticCredential;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Carriers;
use super::probe_upstream::ProbeUpstream;
use super::process::ProxyStart;
use crate::chat::{Api, Endpoint};
use crate::tap::ProxyApi;

/// How long the one call may take; the first is slow.
const CALL: Duration = Duration::from_secs(60);

/// Records in the text of the probe: more than 4,000 tokens of it.
const RECORDS: usize = 160;

/// What a probe found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Probe {
    /// What survived.
    pub(super) carriers: Carriers,
    /// Whether the mark in the text of the prompt did.
    pub(super) text: bool,
    /// Whether the path of the arm did.
    pub(super) path: bool,
    /// How many calls the upstream got for the one of the client.
    pub(super) calls: usize,
    /// The status that the client got.
    pub(super) status: u16,
}

/// Sends a probe through a process of its own.
pub(super) async fn probe(start: &ProxyStart, api: ProxyApi, model: &str) -> Result<Probe, String> {
    let upstream = ProbeUpstream::start().await;
    let upstream = upstream.map_err(|error| error.to_string())?;
    let process = start.start(upstream.base_url(), None).await;
    let process = process.map_err(|error| error.to_string())?;
    let address = &process.address;
    let credential = SyntheticCredential::new().map_err(|error| error.to_string())?;
    let mark = |carrier: &str| format!("cb{carrier}{}", credential.id());
    let mut url = url(api, &address.base_url, model)?;
    url.query_pairs_mut().append_pair("cb", &mark("query"));
    let body = body(api, model, &mark);
    let builder = client_builder(RootCertificates::None).map_err(|error| error.to_string())?;
    let builder = match &address.http_proxy {
        Some(proxy) => {
            let proxy = reqwest::Proxy::http(proxy).map_err(|error| root_cause(&error))?;
            builder.proxy(proxy)
        }
        None => builder.no_proxy(),
    };
    let client = builder.timeout(CALL).build();
    let client = client.map_err(|error| root_cause(&error))?;
    let mut call = client.post(url).header("x-cb-call", mark("header"));
    let is_key = |name: &String| {
        ["authorization", "x-api-key", "x-goog-api-key"]
            .contains(&name.to_ascii_lowercase().as_str())
    };
    if api == ProxyApi::Messages {
        call = call.header("anthropic-version", "2023-06-01");
    }
    if !address.headers.keys().any(is_key) {
        call = match api {
            ProxyApi::Messages => call.header("x-api-key", credential.to_string()),
            ProxyApi::Gemini => call.header("x-goog-api-key", credential.to_string()),
            _ => call.bearer_auth(&credential),
        };
    }
    for (name, value) in &address.headers {
        call = call.header(name, value);
    }
    let call = call
        .header("content-type", "application/json")
        .body(body.to_string());
    let reply = call.send().await.map_err(|error| root_cause(&error))?;
    let status = reply.status().as_u16();
    // The answer has to be read: some proxies do the rest of their work with it.
    let _ = reply.bytes().await;
    let received = upstream.received();
    let in_heads = |text: &str| received.iter().any(|one| one.head.contains(text));
    let in_bodies = |text: &str| received.iter().any(|one| one.body.contains(text));
    Ok(Probe {
        carriers: Carriers {
            credential: in_heads(&credential.to_string()),
            header: in_heads(&mark("header")),
            query: in_heads(&mark("query")),
            user: in_bodies(&mark("user")),
            metadata: in_bodies(&mark("metadata")),
        },
        text: in_bodies(&mark("text")),
        path: in_heads("/a/probe/"),
        calls: received.len(),
        status,
    })
}

/// Where an API is asked at this base address.
fn url(api: ProxyApi, base: &str, model: &str) -> Result<url::Url, String> {
    let endpoint = |api| Endpoint::of(api, base).map_err(|error| error.to_string());
    Ok(match api {
        ProxyApi::Chat => endpoint(Api::Openai)?.url().clone(),
        ProxyApi::Responses => endpoint(Api::Responses)?.url().clone(),
        ProxyApi::Messages => endpoint(Api::Anthropic)?.url().clone(),
        ProxyApi::Completions | ProxyApi::Gemini => {
            let mut url = url::Url::parse(base).map_err(|error| error.to_string())?;
            let before = url.path().trim_end_matches('/');
            let before = before.strip_suffix("/v1").unwrap_or(before);
            let path = format!("{before}{}", api.path(model, false));
            url.set_path(&path);
            url
        }
    })
}

/// What is asked, in the words of an API. Where it has no place for a carrier, that one is not
/// there.
fn body(api: ProxyApi, model: &str, mark: &dyn Fn(&str) -> String) -> Value {
    const SYSTEM: &str = "You answer questions about orders, briefly.";
    let prompt = prompt(&mark("text"));
    match api {
        ProxyApi::Chat => json!({
            "model": model,
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": prompt},
            ],
            "temperature": 0,
            "user": mark("user"),
            "metadata": {"cb_call": mark("metadata")},
        }),
        ProxyApi::Responses => json!({
            "model": model,
            "instructions": SYSTEM,
            "input": prompt,
            "temperature": 0,
            "user": mark("user"),
            "metadata": {"cb_call": mark("metadata")},
        }),
        ProxyApi::Completions => json!({
            "model": model,
            "prompt": prompt,
            "max_tokens": 256,
            "temperature": 0,
            "user": mark("user"),
        }),
        // The model stands in the path.
        ProxyApi::Gemini => json!({
            "systemInstruction": {"parts": [{"text": SYSTEM}]},
            "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            "generationConfig": {"temperature": 0, "maxOutputTokens": 256},
            "labels": {"cb_call": mark("metadata")},
        }),
        ProxyApi::Messages => json!({
            "model": model,
            "max_tokens": 256,
            "system": SYSTEM,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "metadata": {"user_id": mark("metadata")},
        }),
    }
}

/// A list of orders with prose around it, and a question about one of them.
fn prompt(mark: &str) -> String {
    const CITIES: [&str; 8] = [
        "Lisbon", "Oslo", "Turin", "Ghent", "Porto", "Lyon", "Graz", "Riga",
    ];
    const GOODS: [&str; 7] = [
        "paper lanterns",
        "oak shelves",
        "copper kettles",
        "wool blankets",
        "glass beads",
        "garden tools",
        "desk lamps",
    ];
    const REMARKS: [&str; 5] = [
        "The customer asked for delivery in the morning.",
        "Packed twice because the first box was wet.",
        "Paid by bank transfer, three days late.",
        "The carrier left it with a neighbour.",
        "Nothing unusual was noted.",
    ];
    let mut text = format!("Reference {mark}. These are the orders of the last quarter.\n\n");
    for n in 0..RECORDS {
        let (city, goods) = (CITIES[n * 5 % 8], GOODS[n * 3 % 7]);
        let total = 1000 + n * 7919 % 90_000;
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "Order ord-{:05} went to {city}: {} {goods} for {}.{:02} euros. {}",
            10_437 + n * 13,
            2 + n % 9,
            total / 100,
            total % 100,
            REMARKS[n * 2 % 5],
        );
    }
    text + "\nWhat did the order ord-10619 cost, and where did it go?"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokenizer;

    #[test]
    fn the_prompt_is_long_and_varied() {
        let text = prompt("cb-mark");
        let count = Tokenizer::Cl100kBase.counter().count(&text);
        assert!(count >= 4000, "{count}");
        let lines: std::collections::HashSet<&str> = text.lines().collect();
        assert!(lines.len() > RECORDS);
        assert!(text.contains("cb-mark") && text.ends_with('?'));
    }
}
