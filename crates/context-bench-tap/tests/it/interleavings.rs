//! Nothing is put on the wrong example, whatever a proxy does with what it carries and however
//! calls overlap: made-up runs in which it is known who caused what.
//!
//! The proxies here keep, drop and mix carriers, cut texts, batch, retry, duplicate, answer from
//! a cache, give one client the answer of another, and go on working when the client has gone.
//! What no evidence could tell is left out, and nothing else: another's credential, or another's
//! call id, as the only thing that a call carries (carriers that agree are believed), and an
//! answer given to the wrong client where neither a carrier nor the text of the call says whose
//! it was. Everything else is either attributed rightly or counted as unattributed.
//!
//! That nothing is wrong could also be had by telling nothing. So the other properties say what
//! must be told, and what must not: calls with a carrier that arrived, calls with a text that is
//! that of one example alone, retried and doubled; and never calls with the same text of two.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use context_bench_tap::attribution::{
    AnswerIdentity, AttributionRules, ClientCall, Fingerprint, attribute,
};
use context_bench_tap::record::{CallRecord, EndState};
use proptest::prelude::*;

use crate::attribution::{CHAT, call, chat_answer, chat_body, follow};

/// How many different texts there are. Those of one theme share most of their words, as
/// questions about one document do.
const TEXTS: usize = 9;
const THEMES: usize = 3;

/// What becomes of a text on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wording {
    Whole,
    /// A third is cut off.
    Cut,
    /// Like nothing that was asked.
    Unlike,
    /// Together with the text of another client call.
    With(usize),
}

/// Whose credential or id a call carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carried {
    Own,
    Nothing,
    OfOther(usize),
}

/// What the client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Got {
    /// The answer of its last call, as it came or with an id of the proxy's own.
    Relayed {
        keeps_id: bool,
    },
    /// A text of the proxy's own, which others get too.
    Phrase,
    /// What another client call got, from a cache.
    Cached(usize),
    /// What was meant for another client call, which gets it or not.
    Mixed(usize),
    Failure,
}

/// A call that the proxy makes.
#[derive(Debug, Clone)]
struct Made {
    /// When, in hundredths of the time that the client call takes: beyond 100 the client has
    /// its answer already.
    at: u64,
    credential: Carried,
    header: Carried,
    wording: Wording,
    /// Whether the upstream answers as it answers many.
    is_phrase: bool,
    fails: bool,
}

/// A call of the client and what the proxy makes of it.
#[derive(Debug, Clone)]
struct Asked {
    arm: bool,
    start: u64,
    length: u64,
    example: usize,
    text: usize,
    made: Vec<Made>,
    got: Got,
}

fn made() -> impl Strategy<Value = Made> {
    let carried = || {
        prop_oneof![
            3 => Just(Carried::Own),
            3 => Just(Carried::Nothing),
            1 => (0usize..16).prop_map(Carried::OfOther),
        ]
    };
    let wording = prop_oneof![
        3 => Just(Wording::Whole),
        2 => Just(Wording::Cut),
        2 => Just(Wording::Unlike),
        1 => (0usize..16).prop_map(Wording::With),
    ];
    let rest = (any::<bool>(), prop::bool::weighted(0.2));
    (0u64..160, carried(), carried(), wording, rest).prop_map(
        |(at, credential, header, wording, (is_phrase, fails))| Made {
            at,
            credential,
            header,
            wording,
            is_phrase,
            fails,
        },
    )
}

fn asked() -> impl Strategy<Value = Asked> {
    let got = prop_oneof![
        4 => any::<bool>().prop_map(|keeps_id| Got::Relayed { keeps_id }),
        1 => Just(Got::Phrase),
        1 => (0usize..16).prop_map(Got::Cached),
        1 => (0usize..16).prop_map(Got::Mixed),
        1 => Just(Got::Failure),
    ];
    let times = (0u64..1000, 1u64..400);
    let made = prop::collection::vec(made(), 0..4);
    (any::<bool>(), times, 0usize..6, 0..TEXTS, made, got).prop_map(
        |(arm, (start, length), example, text, made, got)| Asked {
            arm,
            start,
            length,
            example,
            text,
            made,
            got,
        },
    )
}

/// The words of a text: those of its theme, then its own.
fn words(text: usize) -> Vec<String> {
    let theme = text % THEMES;
    let shared = (0..60).map(|n| format!("t{}x{theme}", (n * 31 + theme * 7) % 97));
    let own = (0..14).map(|n| format!("q{}y{text}", (n * 17 + text * 5) % 89));
    shared.chain(own).collect()
}

fn worded(text: usize, wording: Wording, texts: &[usize]) -> String {
    let words = words(text);
    match wording {
        Wording::Whole => words.join(" "),
        // The question comes last and is kept, as proxies do that shorten contexts.
        Wording::Cut => words[words.len() / 3..].join(" "),
        Wording::Unlike => "summarise what follows for another model please".to_owned(),
        Wording::With(other) => {
            let other = texts[other % texts.len()];
            format!("{} {}", words.join(" "), self::words(other).join(" "))
        }
    }
}

/// What the upstream says to many, and the proxy by itself.
const PHRASE: &str = "I cannot answer that from the given context.";
const OWN_PHRASE: &str = "This request was refused by a rule of the proxy.";

/// Reading a body takes longer than all the rest, and there are few of them.
fn summary_of(body: &str) -> Option<context_bench_tap::wire::RequestSummary> {
    use std::collections::HashMap;
    use std::sync::Mutex;
    type Known = HashMap<String, Option<context_bench_tap::wire::RequestSummary>>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap();
    let summary = known.entry(body.to_owned());
    let read = || call(0, "x", 0, CHAT, body, "{}").asked;
    summary.or_insert_with(read).clone()
}

fn arm(of: bool) -> &'static str {
    if of { "one" } else { "two" }
}

/// A made-up run: what the client knows, what the tap saw, and who caused each call.
struct Run {
    clients: Vec<ClientCall>,
    calls: Vec<CallRecord>,
    /// The examples that may be called the cause, by the id of the call.
    causes: Vec<BTreeSet<String>>,
}

fn run(plan: &[Asked]) -> Run {
    let example = |at: usize| format!("e{}", plan[at % plan.len()].example);
    let texts: Vec<usize> = plan.iter().map(|asked| asked.text).collect();
    let mut run = Run {
        clients: Vec::new(),
        calls: Vec::new(),
        causes: Vec::new(),
    };
    let mut answers = Vec::new();
    for (number, asked) in plan.iter().enumerate() {
        let mut last = None;
        for made in &asked.made {
            let accepted = asked.start + asked.length * made.at / 100;
            let (credential, header) = carriers(made);
            let id = run.calls.len() as u64;
            let said = match made.is_phrase {
                true => PHRASE.to_owned(),
                false => format!("the answer number {id} to what was asked"),
            };
            let answered = match made.fails {
                true => "{}".to_owned(),
                false => chat_answer(&format!("c{id}"), &said),
            };
            let body = chat_body(&worded(asked.text, made.wording, &texts));
            let mut call = call(id, arm(asked.arm), accepted, CHAT, "", &answered);
            call.asked = summary_of(&body);
            let named = |carried: Carried| match carried {
                Carried::Own => Some(number),
                Carried::Nothing => None,
                Carried::OfOther(other) => Some(other % plan.len()),
            };
            call.carriers.credential =
                named(credential).map(|at| format!("credential-{}", example(at)).into());
            call.carriers.header = named(header).map(|at| format!("call{at}").into());
            let mut causes = BTreeSet::from([example(number)]);
            if let Wording::With(other) = made.wording {
                // A call for two has two causes.
                causes.insert(example(other));
            }
            if made.fails {
                call.end = EndState::UpstreamReset;
            } else if made.at <= 100 {
                last = Some((format!("c{id}"), said));
            }
            run.causes.push(causes);
            run.calls.push(call);
        }
        answers.push(last);
    }
    // What is in a cache was somebody's answer before.
    let is_got = |one: usize, other: usize| {
        let other = &plan[other % plan.len()];
        plan[one].arm == other.arm && other.got == Got::Relayed { keeps_id: true }
    };
    // That answers were mixed up shows in texts alone.
    let shows = |one: usize, other: usize| {
        let other = &plan[other % plan.len()];
        let has_other_text = plan[one].arm == other.arm && plan[one].text != other.text;
        has_other_text && other.made.iter().all(|made| made.wording == Wording::Whole)
    };
    for (number, asked) in plan.iter().enumerate() {
        let own = |at: usize| answers[at].clone();
        let (status, got) = match asked.got {
            Got::Relayed { keeps_id: true } => (200, own(number)),
            Got::Relayed { keeps_id: false } => {
                let said = own(number).map(|(_, said)| said);
                (200, said.map(|said| (format!("own{number}"), said)))
            }
            Got::Phrase => (200, Some((format!("own{number}"), OWN_PHRASE.to_owned()))),
            Got::Cached(other) => (
                200,
                own(other % plan.len()).filter(|_| is_got(number, other)),
            ),
            Got::Mixed(other) => (
                200,
                own(other % plan.len()).filter(|_| shows(number, other)),
            ),
            Got::Failure => (502, None),
        };
        let answer = got.map_or_else(AnswerIdentity::default, |(id, said)| {
            let mut reader = context_bench_tap::wire::ReplyReader::new(
                context_bench_tap::wire::WireFormat::OpenaiChat,
                None,
            );
            reader.whole(chat_answer(&id, &said).as_bytes());
            AnswerIdentity::of(&reader.finish(), None)
        });
        let text = chat_body(&worded(asked.text, Wording::Whole, &texts));
        run.clients.push(ClientCall {
            id: format!("call{number}").into(),
            arm: arm(asked.arm).into(),
            example: example(number).into(),
            credential: Some(format!("credential-{}", example(number)).into()),
            sent: asked.start,
            ended: Some(asked.start + asked.length),
            status: Some(status),
            fingerprint: summary_of(&text)
                .map_or_else(|| Fingerprint::of(""), |one| one.fingerprint),
            answer,
        });
    }
    run
}

/// What a call carries. Carriers that agree are believed: one who puts another's credential on a
/// call, and nothing else, is beyond all telling.
fn carriers(made: &Made) -> (Carried, Carried) {
    let is_other = |carried: Carried| matches!(carried, Carried::OfOther(_));
    let (credential, header) = (made.credential, made.header);
    let is_own = credential == Carried::Own || header == Carried::Own;
    match is_own || !is_other(credential) && !is_other(header) {
        true => (credential, header),
        false => (Carried::Own, Carried::Nothing),
    }
}

/// Every client call is about an example of its own, and nobody mixes answers up.
fn told_apart(mut plan: Vec<Asked>, texts: impl Fn(usize) -> usize) -> Vec<Asked> {
    for (number, asked) in plan.iter_mut().enumerate() {
        asked.example = number;
        asked.text = texts(number);
        if let Got::Cached(_) | Got::Mixed(_) = asked.got {
            asked.got = Got::Relayed { keeps_id: false };
        }
        for made in &mut asked.made {
            // Later the client has its answer, and it is work of the proxy alone.
            made.at %= 100;
        }
    }
    plan
}

/// What is told of a run at once, and while it goes on.
fn told(run: &Run) -> Vec<(u64, String)> {
    let rules = AttributionRules::default();
    let summary = attribute(&run.calls, &run.clients, &rules);
    let at_once = summary.attributed.iter().map(|one| {
        let client = &run.clients[one.client];
        (one.call, client.example.to_string())
    });
    let mut at_once: Vec<(u64, String)> = at_once.collect();
    at_once.sort();
    let mut going_on = Vec::new();
    for of in [true, false] {
        let clients = run.clients.iter().filter(|one| *one.arm == *arm(of));
        let clients: Vec<ClientCall> = clients.cloned().collect();
        let calls = run
            .calls
            .iter()
            .filter(|one| one.arm.as_deref() == Some(arm(of)));
        let calls: Vec<CallRecord> = calls.cloned().collect();
        let (mut ledger, mut taken) = follow(&clients, &calls, rules, false);
        ledger.finish();
        let rest: Vec<usize> = (0..clients.len()).collect();
        taken.extend(ledger.take(&rest));
        for (client, owned) in &taken {
            let calls = owned
                .iter()
                .map(|call| (call.record.id, client.example.to_string()));
            going_on.extend(calls);
        }
    }
    going_on.sort();
    assert_eq!(at_once, going_on);
    at_once
}

/// What must be told: every call with the example that caused it.
fn all(run: &Run) -> Vec<(u64, String)> {
    let causes = run.causes.iter().zip(0..);
    let own = causes.filter_map(|(causes, id)| Some((id, causes.first()?.clone())));
    own.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A carrier that arrives tells, whatever became of text and answer.
    #[test]
    fn what_carries_something_is_told(
        plan in prop::collection::vec(asked(), 1..12),
        by_header in any::<bool>(),
    ) {
        let mut plan = told_apart(plan, |number| number % TEXTS);
        for made in plan.iter_mut().flat_map(|asked| &mut asked.made) {
            (made.credential, made.header) = match by_header {
                true => (Carried::Nothing, Carried::Own),
                false => (Carried::Own, Carried::Nothing),
            };
            if let Wording::With(_) = made.wording {
                made.wording = Wording::Cut;
            }
        }
        let run = run(&plan);
        prop_assert_eq!(told(&run), all(&run));
    }

    /// Without any carrier the text tells, also of retries and doubles, as long as no other
    /// example has one like it.
    #[test]
    fn a_text_that_only_one_example_has_is_told(
        plan in prop::collection::vec(asked(), 1..=THEMES),
        times in 1usize..4,
    ) {
        // One of each theme: they share no words.
        let mut plan = told_apart(plan, |number| number);
        for asked in &mut plan {
            for made in &mut asked.made {
                (made.credential, made.header) = (Carried::Nothing, Carried::Nothing);
                made.wording = if made.wording == Wording::Cut { Wording::Cut } else { Wording::Whole };
            }
            asked.made = asked.made.iter().flat_map(|made| vec![made.clone(); times]).collect();
        }
        let run = run(&plan);
        prop_assert_eq!(told(&run), all(&run));
    }

    /// The same text in two examples tells nothing: such calls are nobody's, and never wrong.
    #[test]
    fn the_same_text_of_two_examples_is_told_of_neither(
        plan in prop::collection::vec(asked(), 2..8),
        text in 0..TEXTS,
    ) {
        let mut plan = told_apart(plan, |_| text);
        for asked in &mut plan {
            // All at the same time in one arm, and answers do not tell either.
            (asked.arm, asked.start, asked.length) = (true, 0, 1000);
            asked.got = if asked.got == Got::Failure { Got::Failure } else { Got::Phrase };
            for made in &mut asked.made {
                (made.credential, made.header) = (Carried::Nothing, Carried::Nothing);
                made.at = 1 + made.at % 90;
                if let Wording::With(_) = made.wording {
                    made.wording = Wording::Whole;
                }
            }
        }
        let run = run(&plan);
        prop_assert_eq!(told(&run), Vec::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_is_put_on_an_example_that_did_not_cause_it(plan in prop::collection::vec(asked(), 1..12)) {
        let run = run(&plan);
        let summary = attribute(&run.calls, &run.clients, &AttributionRules::default());
        let counted = summary.attributed.len() + summary.unattributed.len();
        prop_assert_eq!(counted, run.calls.len());
        for one in &summary.attributed {
            let client = &run.clients[one.client];
            let causes = &run.causes[one.call as usize];
            prop_assert!(causes.iter().any(|one| **one == *client.example), "{one:?} {client:?} caused by {causes:?}");
            prop_assert_eq!(run.calls[one.call as usize].arm.as_deref(), Some(&*client.arm));
        }
        // The same while the run goes on, whether client calls are taken out early or late.
        for (of, takes_early) in [(true, false), (true, true), (false, false), (false, true)] {
            let clients: Vec<ClientCall> = run.clients.iter().filter(|one| *one.arm == *arm(of)).cloned().collect();
            let calls: Vec<CallRecord> = run.calls.iter().filter(|one| one.arm.as_deref() == Some(arm(of))).cloned().collect();
            let (mut ledger, mut taken) = follow(&clients, &calls, AttributionRules::default(), takes_early);
            ledger.finish();
            let rest: Vec<usize> = (0..clients.len()).collect();
            taken.extend(ledger.take(&rest));
            let mut told = 0;
            for (client, owned) in &taken {
                told += owned.len();
                for call in owned {
                    let causes = &run.causes[call.record.id as usize];
                    prop_assert!(causes.iter().any(|one| **one == *client.example), "{:?} {client:?} caused by {causes:?}", call.record.id);
                }
            }
            prop_assert_eq!(told + ledger.take_unattributed().len(), calls.len());
        }
    }
}

/// Found by chance: a call after the end of its own client call, with the text of that and one more
/// that another example asked at the time. By its text it is as much the one's as the other's.
#[test]
fn a_call_with_two_texts_is_told_of_neither() {
    let asked = |start, length, example, text, made: Vec<Made>| Asked {
        arm: false,
        start,
        length,
        example,
        text,
        made,
        got: Got::Relayed { keeps_id: false },
    };
    let made = Made {
        at: 158,
        credential: Carried::Nothing,
        header: Carried::Nothing,
        wording: Wording::With(1),
        is_phrase: false,
        fails: false,
    };
    for text in 0..TEXTS {
        for other in (0..TEXTS).filter(|other| *other != text) {
            let plan = [
                asked(509, 89, 1, text, vec![made.clone()]),
                asked(404, 245, 0, other, Vec::new()),
            ];
            assert_eq!(told(&run(&plan)), Vec::new(), "{text} {other}");
        }
    }
}
