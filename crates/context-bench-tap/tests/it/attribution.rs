//! Whose call it is: by what survives a proxy, in any interleaving.

use std::collections::HashMap;
use std::sync::Arc;

use context_bench_tap::Headers;
use context_bench_tap::attribution::{
    AnswerIdentity, ArmLedger, AttributionRules, CallClass, ClientCall, ClientOutcome, Fingerprint,
    Method, OwnedCall, Unattributed, attribute, classify, outcome,
};
use context_bench_tap::figures::{ExtraCalls, UsageTotal};
use context_bench_tap::record::{
    BodyRef, CallRecord, Carriers, EndState, Purpose, RequestRecord, ResponseRecord, Stored,
    Timeline,
};
use context_bench_tap::wire::{ReplyReader, ReplySummary, RequestSummary, Route, WireRequest};
use proptest::prelude::*;
use serde_json::json;

/// A call of a proxy as the tap records it.
pub(crate) fn call(
    id: u64,
    arm: &str,
    accepted: u64,
    path: &str,
    asked: &str,
    answered: &str,
) -> CallRecord {
    let route = Route::of("POST", path);
    let mut reader = ReplyReader::new(route.format, None);
    reader.whole(answered.as_bytes());
    let body = |text: &str| BodyRef {
        digest: Some(format!("sha256:{text}")),
        bytes: text.len() as u64,
        stored: Stored::Whole,
    };
    CallRecord {
        id,
        arm: Some(arm.into()),
        connection: id,
        started_at_ms: 0,
        purpose: route.purpose,
        format: route.format,
        request: RequestRecord {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: String::new(),
            headers: Headers::default(),
            body: body(asked),
        },
        response: Some(ResponseRecord {
            status: 200,
            headers: Headers::default(),
            body: body(answered),
            frames: Vec::new(),
            frames_left_out: 0,
        }),
        asked: WireRequest::read(&route, asked.as_bytes())
            .map(|request| RequestSummary::of(&request)),
        answered: Some(ReplySummary::of(&reader.finish())),
        carriers: Carriers::default(),
        timeline: Timeline {
            accepted,
            request_sent: Some(accepted + 1),
            ..Timeline::default()
        },
        end: EndState::Complete,
        problem: None,
    }
}

pub(crate) const CHAT: &str = "/v1/chat/completions";

pub(crate) fn chat_body(text: &str) -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string()
}

pub(crate) fn chat_answer(id: &str, text: &str) -> String {
    json!({"id": id, "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2}})
    .to_string()
}

/// A text of many words that no other number has.
fn text_of(number: u64) -> String {
    (0..40)
        .map(|n| format!("w{}x{number} ", (n * 31 + number * 7) % 97))
        .collect()
}

fn client(id: &str, example: &str, sent: u64, ended: Option<u64>) -> ClientCall {
    ClientCall {
        id: id.into(),
        arm: "x".into(),
        example: example.into(),
        credential: Some(format!("credential-{example}").into()),
        sent,
        ended,
        status: Some(200),
        fingerprint: Fingerprint::of(""),
        answer: AnswerIdentity::default(),
    }
}

#[test]
fn rules_apply_in_their_order() {
    let answer = "an answer that is long enough to be told apart";
    let digest = |text: &str| {
        let mut reader = ReplyReader::new(Route::of("POST", CHAT).format, None);
        reader.whole(chat_answer("other-id", text).as_bytes());
        AnswerIdentity::of(&reader.finish(), None)
    };
    let mut one = client("1", "a", 10, Some(100));
    let mut two = client("2", "b", 20, Some(110));
    // A second turn of the first conversation, open at the same time.
    let again = client("3", "a", 30, Some(120));
    one.fingerprint = Fingerprint::of(&text_of(1));
    two.fingerprint = Fingerprint::of(&text_of(2));
    two.answer = digest(answer);
    let clients = [one, two, again];
    let base = |accepted| {
        call(
            0,
            "x",
            accepted,
            CHAT,
            &chat_body("?"),
            &chat_answer("id", "short"),
        )
    };
    let with = |mut call: CallRecord, credential: Option<&str>, header: Option<&str>| {
        call.carriers.credential = credential.map(Arc::from);
        call.carriers.header = header.map(Arc::from);
        call
    };
    let found = |call: CallRecord, rules: &AttributionRules| {
        let summary = attribute(&[call], &clients, rules);
        match summary.attributed.as_slice() {
            [one] => Ok((one.client, one.method)),
            _ => Err(summary.unattributed[0].1),
        }
    };
    let rules = AttributionRules::default();
    let exclusive = AttributionRules {
        is_exclusive: true,
        ..rules
    };
    // A credential of one call; of two, which the header tells apart; a header alone.
    assert_eq!(
        found(with(base(50), Some("credential-b"), None), &rules),
        Ok((1, Method::Credential))
    );
    assert_eq!(
        found(with(base(50), Some("credential-a"), Some("3")), &rules),
        Ok((2, Method::Header))
    );
    assert_eq!(
        found(with(base(50), None, Some("1")), &rules),
        Ok((0, Method::Header))
    );
    // Two calls share it, and only one is open.
    assert_eq!(
        found(with(base(15), Some("credential-a"), None), &rules),
        Ok((0, Method::Credential))
    );
    assert_eq!(
        found(with(base(115), Some("credential-a"), None), &rules),
        Ok((2, Method::Credential))
    );
    // Two are open and nothing tells them apart.
    assert_eq!(
        found(with(base(50), Some("credential-a"), None), &rules),
        Err(Unattributed::Unknown)
    );
    let contradiction = with(base(50), Some("credential-b"), Some("1"));
    assert_eq!(
        found(contradiction, &rules),
        Err(Unattributed::Contradiction)
    );
    // Work after the answer belongs to the arm, whatever it carries.
    assert_eq!(
        found(with(base(500), Some("credential-b"), None), &rules),
        Err(Unattributed::Late)
    );
    assert_eq!(found(base(500), &rules), Err(Unattributed::Late));
    // The proxy gave the answer an id of its own; what it says is the same.
    let said = call(
        0,
        "x",
        50,
        CHAT,
        &chat_body("?"),
        &chat_answer("id", answer),
    );
    assert_eq!(found(said.clone(), &rules), Ok((1, Method::AnswerIdentity)));
    let mut rival = said.clone();
    rival.id = 1;
    assert!(
        attribute(&[said, rival], &clients, &rules)
            .attributed
            .is_empty()
    );
    // Most of the text is still there.
    let most: Vec<String> = text_of(1).split(' ').take(34).map(str::to_owned).collect();
    let alike = call(
        0,
        "x",
        50,
        CHAT,
        &chat_body(&most.join(" ")),
        &chat_answer("id", "short"),
    );
    assert_eq!(found(alike, &rules), Ok((0, Method::Fingerprint)));
    // Nothing tells, but nothing else was in flight.
    assert_eq!(found(base(15), &rules), Err(Unattributed::Unknown));
    assert_eq!(found(base(15), &exclusive), Ok((0, Method::SingleFlight)));
    assert_eq!(found(base(119), &exclusive), Ok((2, Method::SingleFlight)));
    assert_eq!(found(base(50), &exclusive), Err(Unattributed::Unknown));
    let mut other_arm = base(50);
    other_arm.arm = Some("y".into());
    assert_eq!(found(other_arm, &exclusive), Err(Unattributed::UnknownArm));
}

#[test]
fn calls_have_their_class() {
    let answer = "the answer that was relayed to the client in the end";
    let long = text_of(5);
    fn bodies_of<'a>(calls: &[&'a CallRecord]) -> Vec<Option<&'a [u8]>> {
        let bodies = calls.iter().map(|call| {
            let digest = call.request.body.digest.as_ref();
            digest.map(|digest| digest.trim_start_matches("sha256:").as_bytes())
        });
        bodies.collect()
    }
    let mut failed = call(0, "x", 1, CHAT, &chat_body(&long), "{}");
    failed.end = EndState::BadStatus;
    let spaced = chat_body(&long).replace(",\"messages\"", " , \"messages\"");
    let relayed = call(1, "x", 2, CHAT, &spaced, &chat_answer("c1", answer));
    let helper = call(
        2,
        "x",
        3,
        CHAT,
        &chat_body("summarise this for me, please"),
        &chat_answer("c2", "shorter"),
    );
    let more = chat_body(&format!("{long} and what the tool found"));
    let round = call(3, "x", 4, CHAT, &more, &chat_answer("c3", "something else"));
    let vectors = call(4, "x", 5, "/v1/embeddings", r#"{"input":"a"}"#, "{}");
    let counting = call(5, "x", 6, "/v1/messages/count_tokens", "{}", "{}");
    let mut tunnel = call(6, "x", 7, "/", "", "");
    tunnel.purpose = Purpose::TlsAttempt;
    let calls = [
        &failed, &relayed, &helper, &round, &vectors, &counting, &tunnel,
    ];
    let mut asked = client("1", "a", 0, Some(100));
    asked.answer.id = Some("c1".to_owned());
    let classes = classify(&asked, &calls, &bodies_of(&calls));
    use CallClass::*;
    assert_eq!(
        classes,
        [Retry, Primary, Aux, Continuation, Aux, Probe, TlsAttempt]
    );
    let extra = ExtraCalls::of(&classes);
    assert_eq!(
        (extra.total(), extra.by_class[&Aux], extra.by_class[&Retry]),
        (6, 2, 1)
    );
    // Without a sign the last success is the primary; without any success, the last call.
    asked.answer = AnswerIdentity::default();
    assert_eq!(
        classify(&asked, &[&failed, &relayed], &bodies_of(&calls)),
        [Retry, Primary]
    );
    assert_eq!(
        classify(&asked, &[&failed, &failed.clone()], &bodies_of(&calls)),
        [Retry, Primary]
    );
    assert_eq!(outcome(&asked, 2), ClientOutcome::Upstream);
    assert_eq!(outcome(&asked, 0), ClientOutcome::LocalAnswer);
    asked.status = Some(429);
    assert_eq!(outcome(&asked, 0), ClientOutcome::LocalError);
}

#[test]
fn worked_examples_of_calls_and_usage() {
    let asked = client("1", "a", 0, Some(100));
    let usage = |input: u64, output: u64| {
        json!({"choices": [{"message": {"content": "ok"}}], "usage": {"prompt_tokens": input, "completion_tokens": output}}).to_string()
    };
    let body = chat_body("hi");
    let known = Some(body.as_bytes());
    // 16: the first is reset after its usage, the second answers; both are billed.
    let mut reset = call(0, "x", 1, CHAT, &body, &usage(1000, 50));
    reset.end = EndState::UpstreamReset;
    let second = call(1, "x", 2, CHAT, &body, &usage(1000, 200));
    let classes = classify(&asked, &[&reset, &second], &[known, known]);
    assert_eq!(
        ExtraCalls::of(&classes).by_class,
        [(CallClass::Retry, 1)].into()
    );
    let total = UsageTotal::of([&reset, &second]);
    assert_eq!(
        (total.input, total.output, total.is_known()),
        (2000, 250, true)
    );
    // 12: a helper model reads everything, then the model a quarter of it.
    let helper = call(
        0,
        "x",
        1,
        CHAT,
        &chat_body("shorten this"),
        &usage(8000, 2000),
    );
    let model = call(1, "x", 2, CHAT, &body, &usage(2000, 300));
    let classes = classify(&asked, &[&helper, &model], &[None, known]);
    assert_eq!(
        ExtraCalls::of(&classes).by_class,
        [(CallClass::Aux, 1)].into()
    );
    assert_eq!(UsageTotal::of([&helper, &model]).input, 10_000);
    // 17: a stream that broke off before its usage makes the total a lower bound.
    let mut broken = call(2, "x", 3, CHAT, &body, "");
    broken.end = EndState::AbortedByProxy;
    let total = UsageTotal::of([&second, &broken]);
    assert_eq!(
        (total.input, total.unknown, total.is_known()),
        (1000, 1, false)
    );
    // What was refused or never sent costs nothing.
    let mut refused = broken;
    refused.end = EndState::BadStatus;
    assert!(UsageTotal::of([&refused]).is_known());
}

pub(crate) type Taken = Vec<(ClientCall, Vec<OwnedCall<()>>)>;

/// Lets a ledger see a run as it goes on: calls are recorded when they end, which is soon.
pub(crate) fn follow(
    clients: &[ClientCall],
    calls: &[CallRecord],
    rules: AttributionRules,
    takes_early: bool,
) -> (ArmLedger<()>, Taken) {
    enum Event<'a> {
        Begin(usize),
        Record(&'a CallRecord),
        End(usize),
    }
    let begin = |(at, one): (usize, &ClientCall)| (one.sent, 0, Event::Begin(at));
    let end = |(at, one): (usize, &ClientCall)| (one.ended.unwrap(), 2, Event::End(at));
    let mut events: Vec<(u64, u8, Event<'_>)> = clients.iter().enumerate().map(begin).collect();
    events.extend(clients.iter().enumerate().map(end));
    events.extend(
        calls
            .iter()
            .map(|one| (one.timeline.accepted, 1, Event::Record(one))),
    );
    events.sort_by_key(|(at, order, _)| (*at, *order));
    let mut ledger = ArmLedger::new(rules);
    let mut numbers = HashMap::new();
    let mut taken = Vec::new();
    for (_, _, event) in events {
        match event {
            Event::Begin(at) => {
                let begun = ClientCall {
                    ended: None,
                    status: None,
                    answer: AnswerIdentity::default(),
                    fingerprint: Fingerprint::of(""),
                    ..clients[at].clone()
                };
                numbers.insert(at, ledger.begin(begun));
            }
            Event::Record(call) => ledger.record(Box::new(call.clone()), ()),
            Event::End(at) => {
                let client = &clients[at];
                let number = numbers[&at];
                ledger.end(number, client.ended.unwrap());
                let answer = client.answer.clone();
                ledger.tell(number, client.status, answer, client.fingerprint.clone());
                if takes_early && ledger.is_settled(&[number]) {
                    taken.extend(ledger.take(&[number]));
                }
            }
        }
    }
    (ledger, taken)
}

/// What a made-up proxy lets through.
#[derive(Debug, Clone, Copy)]
struct Proxy {
    keeps_credential: bool,
    keeps_header: bool,
    keeps_id: bool,
    keeps_text: bool,
    retries: bool,
    helps: bool,
    answers_alone: bool,
}

fn proxy() -> impl Strategy<Value = Proxy> {
    any::<[bool; 7]>().prop_map(|flags| Proxy {
        keeps_credential: flags[0],
        keeps_header: flags[1],
        keeps_id: flags[2],
        keeps_text: flags[3],
        retries: flags[4],
        helps: flags[5],
        answers_alone: flags[6],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Client calls begin and end at any time; the proxy keeps what it keeps. Nothing is ever
    /// put on another example than the one that caused it, and every call is counted.
    #[test]
    fn nothing_is_attributed_to_the_wrong_example(
        proxy in proxy(),
        spans in prop::collection::vec((0u64..1000, 1u64..400, 0u64..4), 1..14),
        is_exclusive in any::<bool>(),
        short_answers in any::<bool>(),
    ) {
        let mut clients = Vec::new();
        let mut calls = Vec::new();
        let mut caused_by = HashMap::new();
        let mut clock = 0;
        for (number, (start, length, example)) in spans.iter().enumerate() {
            // With one call at a time, each begins well after the one before.
            let start = if is_exclusive { clock } else { *start };
            let end = start + length;
            clock = end + 1_000_000_000;
            let number = number as u64;
            let example = format!("e{example}");
            let answer = match short_answers {
                true => "yes".to_owned(),
                false => format!("the answer to question number {number} of all"),
            };
            let is_local = proxy.answers_alone && number.is_multiple_of(3);
            let id = format!("c{number}");
            let mut client = client(&format!("call{number}"), &example, start, Some(end));
            client.fingerprint = Fingerprint::of(&text_of(number));
            let mut reader = ReplyReader::new(Route::of("POST", CHAT).format, None);
            let seen = if proxy.keeps_id { id.clone() } else { format!("own{number}") };
            reader.whole(chat_answer(&seen, &answer).as_bytes());
            client.answer = AnswerIdentity::of(&reader.finish(), None);
            let text = match proxy.keeps_text {
                true => text_of(number),
                false => "compressed beyond all likeness".to_owned(),
            };
            let mut made = Vec::new();
            if !is_local {
                if proxy.retries {
                    made.push((start, chat_body(&text), "{}".to_owned()));
                }
                if proxy.helps {
                    let helper = chat_body("summarise the following for another model");
                    made.push((start + length / 3, helper, chat_answer(&format!("h{number}"), "a summary")));
                }
                made.push((start + length / 2, chat_body(&text), chat_answer(&id, &answer)));
            }
            for (accepted, asked, answered) in made {
                let mut made = call(calls.len() as u64, "x", accepted, CHAT, &asked, &answered);
                made.carriers.credential = client.credential.as_deref().filter(|_| proxy.keeps_credential).map(Arc::from);
                made.carriers.header = proxy.keeps_header.then(|| client.id.clone());
                caused_by.insert(made.id, example.clone());
                calls.push(made);
            }
            clients.push(client);
        }
        let rules = AttributionRules { is_exclusive, ..AttributionRules::default() };
        let summary = attribute(&calls, &clients, &rules);
        prop_assert_eq!(summary.attributed.len() + summary.unattributed.len(), calls.len());
        for one in &summary.attributed {
            let example = &clients[one.client].example;
            prop_assert_eq!(&**example, &caused_by[&one.call], "{:?} {:?}", one, proxy);
        }
        // What every call carries is enough to tell all of them.
        if proxy.keeps_header || is_exclusive {
            prop_assert!(summary.unattributed.is_empty(), "{:?}", summary.unattributed);
        }

        // While the run goes on, the same is found; client calls that are taken out early
        // change who is known, never to whom a call belongs.
        for takes_early in [false, true] {
            let mut ledger = follow(&clients, &calls, rules, takes_early);
            ledger.0.finish();
            let rest: Vec<usize> = (0..clients.len()).collect();
            ledger.1.extend(ledger.0.take(&rest));
            let mut attributed = HashMap::new();
            for (client, owned) in &ledger.1 {
                for call in owned {
                    prop_assert_eq!(&*client.example, &caused_by[&call.record.id], "{:?}", proxy);
                    attributed.insert(call.record.id, client.id.to_string());
                }
            }
            let unattributed = ledger.0.take_unattributed();
            prop_assert_eq!(attributed.len() + unattributed.len(), calls.len());
            if !takes_early {
                let expected: HashMap<u64, String> = summary.attributed.iter()
                    .map(|one| (one.call, clients[one.client].id.to_string()))
                    .collect();
                prop_assert_eq!(&attributed, &expected, "{:?}", proxy);
            }
            if proxy.keeps_header {
                prop_assert!(unattributed.is_empty(), "{:?}", unattributed);
            }
        }
    }
}
