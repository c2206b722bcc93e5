//! [`ExampleProbe`]: watches the calls that a client makes about one example, and says
//! afterwards what the tap saw of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use context_bench_tap::attribution::{
    AnswerIdentity, CALL_HEADER, ClientCall, Fingerprint, SyntheticCredential,
};
use context_bench_tap::record::CallRecord;
use context_bench_tap::wire::{Route, WireReply, WireRequest};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::facts::{FactsOf, ReadReply};
use super::ledger::ToldCall;
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
    pub(super) id: Arc<str>,
    pub(super) route: Route,
    pub(super) body: Bytes,
    pub(super) seen: Option<ObservedAttempt>,
}

/// Watches the calls about one example.
pub(super) struct ExampleProbe {
    arm: Arc<TappedArm>,
    credential: SyntheticCredential,
    example: Arc<str>,
    is_cold: bool,
    calls: Mutex<Vec<ObservedCall>>,
}

impl ExampleProbe {
    pub(super) fn new(
        arm: Arc<TappedArm>,
        credential: SyntheticCredential,
        example: Arc<str>,
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
        let mut headers = HeaderMap::with_capacity(3);
        let mut put = |name: HeaderName, value: String| {
            // Ours are plain; a name that a profile gives was checked with it.
            if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
                headers.insert(name, value);
            }
        };
        match path.ends_with("/messages") {
            _ if self.arm.has_own_key() => {}
            true => put(
                HeaderName::from_static("x-api-key"),
                self.credential.to_string(),
            ),
            false => put(AUTHORIZATION, self.credential.bearer()),
        }
        put(HeaderName::from_static(CALL_HEADER), id.to_owned());
        let session = self.arm.session_header();
        if let Some(name) = session.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok()) {
            let session = format!("{}/{}", self.credential.id(), self.example);
            let mut session = crate::digest::hex(session.as_bytes());
            session.truncate(32);
            put(name, session);
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
            id: Arc::clone(&id),
            arm: Arc::clone(&self.arm.path),
            example: Arc::clone(&self.example),
            credential: Some(Arc::clone(self.credential.id())),
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
            route: Route::of("POST", path),
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
        let known = ledger.with(path, |arm| {
            let said = calls.iter().map(|call| {
                let seen = call.seen.as_ref()?;
                let is_same =
                    |record: &CallRecord| ReadReply::is_of(call.route.format, seen, record);
                arm.said(call.number?, &seen.reply, is_same)
            });
            let said: Vec<Option<Box<WireReply>>> = said.collect();
            (arm.needs_texts(), said)
        });
        let (needs_texts, said) = known?;
        let mut read = Vec::with_capacity(calls.len());
        let mut told = Vec::with_capacity(calls.len());
        for (call, said) in calls.into_iter().zip(said) {
            let seen = call.seen.as_ref();
            let reply = seen.map(|seen| ReadReply::of(call.route.format, seen, said));
            if let Some(number) = call.number {
                let request = needs_texts.then(|| WireRequest::read(&call.route, &call.body));
                let text = request.flatten().map(|request| request.newest_text());
                let answer = reply.as_ref().map(ReadReply::identity);
                told.push(ToldCall {
                    number,
                    status: seen.and_then(|seen| seen.status),
                    answer: answer.unwrap_or_default(),
                    fingerprint: Fingerprint::of(&text.unwrap_or_default()),
                });
            }
            read.push((call, reply));
        }
        let numbers: Vec<usize> = told.iter().map(|call| call.number).collect();
        if self.arm.tap.settings().is_exclusive {
            let told = std::mem::take(&mut told);
            ledger.with(path, |arm| told.into_iter().for_each(|call| arm.tell(call)));
            // What comes in this while after the end still belongs to it.
            tokio::time::sleep(super::tapped::EXCLUSIVE_GRACE).await;
        }
        let patience = self.arm.tap.patience();
        let taken = ledger
            .collect(path, &numbers, told, &running.in_flight, patience)
            .await;
        let of = FactsOf {
            counter,
            clock: running.clock,
            scrubber: &running.scrubber,
            declared: &self.arm.declared,
        };
        let mut facts = of.row(read, taken);
        facts.cold = self.is_cold;
        let counted = facts.client_tokens.or(facts.upstream_tokens);
        facts.tokenizer = counted.map(|_| counter.name().to_owned());
        ledger.with(path, |arm| {
            let totals = &mut arm.totals;
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
            let told = ToldCall {
                number,
                status: None,
                answer: AnswerIdentity::default(),
                fingerprint: Fingerprint::of(""),
            };
            self.arm
                .tap
                .ledger
                .with(&self.arm.path, |arm| arm.tell(told));
        }
    }
}
