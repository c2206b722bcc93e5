//! [`ExampleProbe`]: watches the calls that a client makes about one example, and says
//! afterwards what the tap saw of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use context_bench_tap::attribution::{
    AnswerIdentity, CALL_HEADER, ClientCall, Fingerprint, SyntheticCredential,
};
use context_bench_tap::wire::{Route, WireRequest};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::facts::{FactsOf, ReadReply};
use super::tapped::TappedArm;
use crate::chat::{CallObserver, ObservedAttempt};
use crate::model::WireFacts;
use crate::system::CallProbe;
use crate::tokens::TokenCounter;

/// A call of the client, from its own side.
pub(super) struct ObservedCall {
    /// Its number in the ledger.
    number: Option<usize>,
    /// Its id, as in `x-cb-call`.
    pub(super) id: String,
    pub(super) path: String,
    pub(super) body: Bytes,
    pub(super) seen: Option<ObservedAttempt>,
}

/// Watches the calls about one example.
pub(super) struct ExampleProbe {
    arm: Arc<TappedArm>,
    credential: SyntheticCredential,
    example: String,
    is_cold: bool,
    calls: Mutex<Vec<ObservedCall>>,
}

impl ExampleProbe {
    pub(super) fn new(
        arm: Arc<TappedArm>,
        credential: SyntheticCredential,
        example: String,
        is_cold: bool,
    ) -> Self {
        Self {
            arm,
            credential,
            example,
            is_cold,
            calls: Mutex::default(),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<ObservedCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn headers(&self, path: &str, id: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            // Ours are plain; a name that a profile gives was checked with it.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        match path.ends_with("/messages") {
            _ if self.arm.has_own_key() => {}
            true => put(
                HeaderName::from_static("x-api-key"),
                &self.credential.to_string(),
            ),
            false => put(AUTHORIZATION, &format!("Bearer {}", self.credential)),
        }
        put(HeaderName::from_static(CALL_HEADER), id);
        let session = self.arm.session_header();
        if let Some(name) = session.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok()) {
            let session = format!("{}/{}", self.credential.id(), self.example);
            let session = crate::digest::hex(session.as_bytes());
            put(name, session.get(..32).unwrap_or(&session));
        }
        headers
    }
}

impl CallObserver for ExampleProbe {
    fn begin(&self, path: &str, body: &Bytes) -> (usize, HeaderMap) {
        let id = self.arm.tap.next_id();
        let headers = self.headers(path, &id);
        let sent = self.arm.tap.running().map(|running| running.clock.now());
        let call = ClientCall {
            id: id.clone(),
            arm: self.arm.path.clone(),
            example: self.example.clone(),
            credential: Some(self.credential.id().to_owned()),
            sent: sent.unwrap_or_default(),
            ended: None,
            status: None,
            // Read when there is time for it.
            fingerprint: Fingerprint::of(""),
            answer: AnswerIdentity::default(),
        };
        let ledger = &self.arm.tap.ledger;
        let number = ledger.begin(&self.arm.path, call, body.len() as u64);
        let mut calls = self.calls();
        calls.push(ObservedCall {
            number,
            id,
            path: path.to_owned(),
            body: body.clone(),
            seen: None,
        });
        (calls.len() - 1, headers)
    }

    fn end(&self, attempt: usize, seen: ObservedAttempt) {
        let mut calls = self.calls();
        let Some(call) = calls.get_mut(attempt) else {
            return;
        };
        if let (Some(number), Some(running)) = (call.number, self.arm.tap.running()) {
            let ended = running.clock.at(seen.ended);
            self.arm.tap.ledger.end(&self.arm.path, number, ended);
        }
        call.seen = Some(seen);
    }
}

#[async_trait]
impl CallProbe for ExampleProbe {
    fn observer(self: Arc<Self>) -> Arc<dyn CallObserver> {
        self
    }

    async fn facts(&self, counter: &dyn TokenCounter) -> Option<WireFacts> {
        let calls = std::mem::take(&mut *self.calls());
        let running = self.arm.tap.running()?;
        if calls.is_empty() {
            return None;
        }
        let (path, ledger) = (&self.arm.path, &self.arm.tap.ledger);
        let needs_texts = ledger.needs_texts(path);
        let mut read = Vec::with_capacity(calls.len());
        let mut numbers = Vec::with_capacity(calls.len());
        for call in calls {
            let route = Route::of("POST", &call.path);
            let reply = call.seen.as_ref().map(|seen| {
                ReadReply::of(&route, seen, |is_same| {
                    ledger.said(path, call.number?, &seen.reply, is_same)
                })
            });
            if let Some(number) = call.number {
                let request = needs_texts.then(|| WireRequest::read(&route, &call.body));
                let text = request.flatten().map(|request| request.newest_text());
                let status = call.seen.as_ref().and_then(|seen| seen.status);
                let answer = reply.as_ref().map(ReadReply::identity);
                ledger.tell(
                    path,
                    number,
                    status,
                    answer.unwrap_or_default(),
                    Fingerprint::of(&text.unwrap_or_default()),
                );
                numbers.push(number);
            }
            read.push((call, reply));
        }
        if self.arm.tap.settings().is_exclusive {
            // What comes in this while after the end still belongs to it.
            tokio::time::sleep(super::tapped::EXCLUSIVE_GRACE).await;
        }
        let patience = self.arm.tap.patience();
        let taken = ledger
            .collect(path, &numbers, &running.in_flight, patience)
            .await;
        let of = FactsOf {
            counter,
            clock: running.clock,
            scrubber: &running.scrubber,
            declared: &self.arm.declared,
        };
        let mut facts = of.row(read, taken);
        facts.cold = self.is_cold;
        ledger.note(path, |totals| {
            totals.by_class.add(&facts.calls);
            totals.attributed_by.add(&facts.attributed_by);
            totals.local_answers += facts.local_answers;
            totals.local_errors += facts.local_errors;
        });
        Some(facts)
    }
}

impl Drop for ExampleProbe {
    /// Nobody asked for the facts: the run was stopped. Others must not wait for it.
    fn drop(&mut self) {
        let calls = std::mem::take(&mut *self.calls());
        for number in calls.iter().filter_map(|call| call.number) {
            self.arm.tap.ledger.tell(
                &self.arm.path,
                number,
                None,
                AnswerIdentity::default(),
                Fingerprint::of(""),
            );
        }
    }
}
