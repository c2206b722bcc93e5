//! Nothing is put on the wrong example, with real sockets: clients, proxies that do as their
//! scripts say, a tap, and an upstream of which a fifth of the answers is faulty.
//!
//! Who caused a call stands in a header that the tap records and attribution does not look at.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use context_bench_tap::attribution::{
    AnswerIdentity, AttributionRules, ClientCall, SyntheticCredential, attribute,
};
use context_bench_tap::record::{CallRecord, TapClock};
use context_bench_tap::wire::{ReplyReader, RequestSummary, Route, WireFormat, WireRequest};

use crate::attribution::{CHAT, chat_answer, chat_body};
use crate::support::{PATIENCE, RawUpstream, TestTap, body_of, read_message};

/// Numbers that are the same for the same seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the proxy of an arm does with every call.
#[derive(Debug, Clone, Copy)]
struct Script {
    keeps_credential: bool,
    keeps_header: bool,
    keeps_id: bool,
    cuts_text: bool,
    tries: u64,
    duplicates: bool,
    asks_helper: bool,
    works_on: bool,
    caches: bool,
    /// Puts the header of one call beside the credential of another.
    mixes: bool,
}

impl Script {
    fn new(random: &mut Random) -> Self {
        Self {
            keeps_credential: random.chance(50),
            keeps_header: random.chance(50),
            keeps_id: random.chance(50),
            cuts_text: random.chance(30),
            tries: 1 + random.below(3),
            duplicates: random.chance(25),
            asks_helper: random.chance(40),
            works_on: random.chance(40),
            caches: random.chance(30),
            mixes: random.chance(20),
        }
    }
}

/// What the client asks.
#[derive(Debug, Clone)]
struct Question {
    number: usize,
    arm: usize,
    example: usize,
    text: String,
}

/// What the client gets: an id and a text.
type Got = Option<(String, String)>;

/// The proxy of an arm.
struct Proxy {
    script: Script,
    arm: usize,
    tap: SocketAddr,
    credentials: Vec<String>,
    cache: Mutex<HashMap<String, (String, String)>>,
    last_header: AtomicUsize,
    made: Arc<AtomicUsize>,
}

impl Proxy {
    /// Answers a question, and says what is left to do when the client has its answer.
    fn answer(&self, question: &Question) -> (Got, Option<String>) {
        let cached = self.cache.lock().unwrap().get(&question.text).cloned();
        if let Some(cached) = cached.filter(|_| self.script.caches) {
            return (Some(cached), None);
        }
        let text = match self.script.cuts_text {
            true => question
                .text
                .split(' ')
                .skip(20)
                .collect::<Vec<_>>()
                .join(" "),
            false => question.text.clone(),
        };
        if self.script.asks_helper {
            self.call(question, &format!("shorten this for me: {text}"));
        }
        let mut got = None;
        for _ in 0..self.script.tries {
            got = self.call(question, &text);
            if self.script.duplicates {
                self.call(question, &text);
            }
            if got.is_some() {
                break;
            }
        }
        if let Some(got) = got.as_mut().filter(|_| !self.script.keeps_id) {
            got.0 = format!("own-{}", question.number);
        }
        if let Some(got) = &got {
            let mut cache = self.cache.lock().unwrap();
            cache.insert(question.text.clone(), got.clone());
        }
        (got, self.script.works_on.then_some(text))
    }

    /// Asks the upstream through the tap on a connection of its own.
    fn call(&self, question: &Question, text: &str) -> Got {
        let body = chat_body(text);
        let mut head = format!(
            "POST /a/arm{}{CHAT} HTTP/1.1\r\nHost: h\r\nX-Truth: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
            self.arm,
            question.example,
            body.len()
        );
        if self.script.keeps_credential {
            let credential = &self.credentials[question.example];
            head += &format!("Authorization: Bearer {credential}\r\n");
        }
        if self.script.keeps_header {
            let last = self.last_header.swap(question.number, Relaxed);
            // Where nothing else tells, a wrong header would be believed.
            let is_mixed = self.script.mixes && self.script.keeps_credential;
            let number = if is_mixed { last } else { question.number };
            head += &format!("X-Cb-Call: call{number}\r\n");
        }
        self.made.fetch_add(1, Relaxed);
        let mut stream = TcpStream::connect(self.tap).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .unwrap();
        let answered = read_message(&mut stream)?;
        if !answered.starts_with(b"HTTP/1.1 200") {
            return None;
        }
        let answered: serde_json::Value = serde_json::from_slice(body_of(&answered)).ok()?;
        let said = answered["choices"][0]["message"]["content"].as_str()?;
        Some((answered["id"].as_str()?.to_owned(), said.to_owned()))
    }
}

/// An upstream that counts what it gets and breaks off, lies or fails one time in five.
fn upstream(seed: u64, seen: &Arc<AtomicUsize>) -> RawUpstream {
    let seen = Arc::clone(seen);
    RawUpstream::start(move |mut stream| {
        let Some(_) = read_message(&mut stream) else {
            return;
        };
        let number = seen.fetch_add(1, Relaxed);
        let mut random = Random(seed ^ (number as u64) << 20);
        let said = match random.chance(30) {
            true => "I cannot answer that from the given context.".to_owned(),
            false => format!("the answer number {number} to what was asked"),
        };
        let body = chat_answer(&format!("c{number}"), &said);
        let (status, length) = match random.below(25) {
            0 => return,
            1 => ("500 No", body.len()),
            2 => ("200 OK", body.len() + 10),
            3 => ("200 OK", body.len() - 10),
            4 => ("429 Slow down", body.len()),
            _ => ("200 OK", body.len()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        // The tap may have gone, as those in front of it do.
        let _ = stream.write_all(format!("{head}{body}").as_bytes());
    })
}

/// A text of a theme that several examples share, with a question of its own.
fn text_of(random: &mut Random) -> String {
    let (theme, question) = (random.below(3), random.below(6));
    let shared = (0..60).map(|n| format!("t{}x{theme}", (n * 31 + theme * 7) % 97));
    let own = (0..14).map(|n| format!("q{}y{question}", (n * 17 + question * 5) % 89));
    shared.chain(own).collect::<Vec<_>>().join(" ")
}

fn client_call(question: &Question, credential: &str, times: (u64, u64), got: &Got) -> ClientCall {
    let route = Route::of("POST", CHAT);
    let asked = WireRequest::read(&route, chat_body(&question.text).as_bytes()).unwrap();
    let answer = got.as_ref().map(|(id, said)| {
        let mut reader = ReplyReader::new(WireFormat::OpenaiChat, None);
        reader.whole(chat_answer(id, said).as_bytes());
        AnswerIdentity::of(&reader.finish(), None)
    });
    ClientCall {
        id: format!("call{}", question.number).into(),
        arm: format!("arm{}", question.arm).into(),
        example: question.example.to_string().into(),
        credential: SyntheticCredential::id_in(credential).map(Into::into),
        sent: times.0,
        ended: Some(times.1),
        status: got.as_ref().map(|_| 200),
        fingerprint: RequestSummary::of(&asked).fingerprint,
        answer: answer.unwrap_or_default(),
    }
}

fn truth(call: &CallRecord) -> Cow<'_, str> {
    let headers = &call.request.headers;
    let found = headers.iter().find(|header| header.name == "X-Truth");
    found.unwrap().text()
}

/// One run; how many calls there were and how many of them could be told.
fn run(seed: u64) -> (usize, usize) {
    const EXAMPLES: usize = 8;
    let mut random = Random(seed);
    let seen = Arc::new(AtomicUsize::new(0));
    let made = Arc::new(AtomicUsize::new(0));
    let upstream = upstream(seed, &seen);
    let tap = TestTap::start(upstream.url());
    let clock: TapClock = tap.tap.clock();
    let credentials: Vec<String> = (0..EXAMPLES)
        .map(|_| SyntheticCredential::new().unwrap().to_string())
        .collect();
    let proxies: Vec<Arc<Proxy>> = (0..2)
        .map(|arm| {
            Arc::new(Proxy {
                script: Script::new(&mut random),
                arm,
                tap: tap.tap.address(),
                credentials: credentials.clone(),
                cache: Mutex::default(),
                last_header: AtomicUsize::new(0),
                made: Arc::clone(&made),
            })
        })
        .collect();
    let questions: Vec<Question> = (0..24)
        .map(|number| Question {
            number,
            arm: random.below(2) as usize,
            example: random.below(EXAMPLES as u64) as usize,
            text: text_of(&mut random),
        })
        .collect();
    let next = Arc::new(AtomicUsize::new(0));
    let questions = Arc::new(questions);
    let clients = Arc::new(Mutex::new(Vec::new()));
    let at_once = 1 + random.below(8);
    let threads: Vec<_> = (0..at_once)
        .map(|_| {
            let (next, questions, clients) = (
                Arc::clone(&next),
                Arc::clone(&questions),
                Arc::clone(&clients),
            );
            let (proxies, credentials) = (proxies.clone(), credentials.clone());
            std::thread::spawn(move || {
                let mut left_to_do = Vec::new();
                while let Some(question) = questions.get(next.fetch_add(1, Relaxed)) {
                    let proxy = Arc::clone(&proxies[question.arm]);
                    let sent = clock.now();
                    let (got, more) = proxy.answer(question);
                    let ended = clock.now();
                    let credential = &credentials[question.example];
                    let call = client_call(question, credential, (sent, ended), &got);
                    clients.lock().unwrap().push(call);
                    if let Some(text) = more {
                        // The client has its answer; the proxy goes on by itself.
                        let question = question.clone();
                        left_to_do.push(std::thread::spawn(move || {
                            proxy.call(&question, &text);
                        }));
                    }
                }
                left_to_do.into_iter().for_each(|work| work.join().unwrap());
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let (report, calls, _) = tap.finish();
    let clients = clients.lock().unwrap();
    assert_eq!(report.recorded as usize, calls.len(), "seed {seed}");
    assert_eq!(made.load(Relaxed), calls.len(), "seed {seed}");
    assert_eq!(seen.load(Relaxed), calls.len(), "seed {seed}");
    let summary = attribute(&calls, &clients, &AttributionRules::default());
    let counted = summary.attributed.len() + summary.unattributed.len();
    assert_eq!(counted, calls.len(), "seed {seed}");
    for one in &summary.attributed {
        let call = calls.iter().find(|call| call.id == one.call).unwrap();
        let scripts: Vec<Script> = proxies.iter().map(|proxy| proxy.script).collect();
        assert_eq!(
            *clients[one.client].example,
            *truth(call),
            "seed {seed}: {one:?} {scripts:?}"
        );
    }
    (calls.len(), summary.attributed.len())
}

#[test]
fn nothing_is_put_on_the_wrong_example_behind_any_proxy() {
    let runs: Vec<(usize, usize)> = (0..40).map(run).collect();
    let (calls, told) = runs
        .iter()
        .fold((0, 0), |(calls, told), run| (calls + run.0, told + run.1));
    // The scripts do something, and so does attribution.
    assert!(calls > 1000 && told > calls / 3, "{told} of {calls}");
}
