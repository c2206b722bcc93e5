//! The check of proxies against relays that are in order but for one thing: that thing is found,
//! and nothing else.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use context_bench_tap::check::{
    ArmKind, ArmReport, ProxyAddress, ProxyApi, ProxyCheck, ProxyCheckError, ProxyCheckSettings,
    Verdict,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// What is wrong with a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Not a fault of a transform: texts of users are shorter.
    ShortensTexts,
    DropsMessage,
    AddsMessage,
    ChangesRole,
    ChangesSystem,
    RenamesIds,
    AddsTool,
    SortsTools,
    DropsImage,
    DropsName,
    ChangesParameter,
    RenamesModel,
    DropsCacheKey,
    DropsCacheControl,
    HoldsStreamBack,
    LosesEnd,
    InventsEnd,
    EndsCleanly,
    ChangesStatus,
    LosesRetryAfter,
    WrapsErrors,
    ChangesAnswer,
    ChangesArguments,
    LosesSignature,
    ChangesUsage,
    LosesUsageMember,
    AnswersItself,
    ChangesPrompt,
    Retries,
    LosesRequestId,
    LosesRateLimits,
    LosesEncoding,
    MixesConversations,
    SwapsAnswers,
    NeverHangsUp,
    /// Not a fault: it has only one route.
    OnlyChat,
    /// Not a fault to be blamed on anything: it answers everything by itself.
    RefusesAll,
}

struct Relay {
    fault: Fault,
    upstream: SocketAddr,
    answers: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    last_text: Mutex<String>,
    last_answer: Mutex<Vec<u8>>,
}

async fn relay(fault: Fault, upstream: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let upstream = upstream.trim_start_matches("http://").parse().unwrap();
    let relay = Arc::new(Relay {
        fault,
        upstream,
        answers: Mutex::default(),
        last_text: Mutex::default(),
        last_answer: Mutex::default(),
    });
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let relay = Arc::clone(&relay);
            tokio::spawn(async move { relay.serve(client).await });
        }
    });
    address
}

/// Reads up to the end of a head; gives it and what came after it.
async fn read_head(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(at + 4);
            return Some((String::from_utf8(bytes).unwrap(), rest));
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn without_header(head: &str, drops: impl Fn(&str) -> bool) -> String {
    let kept = head.split_inclusive("\r\n").filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !line.contains(':') || !drops(&name.to_ascii_lowercase())
    });
    kept.collect()
}

fn with_length(head: &str, length: usize) -> String {
    let head = without_header(head, |name| name == "content-length");
    let head = head.strip_suffix("\r\n").unwrap();
    format!("{head}content-length: {length}\r\n\r\n")
}

impl Relay {
    async fn serve(&self, mut client: TcpStream) {
        let Some((head, mut body)) = read_head(&mut client).await else {
            return;
        };
        let length: usize = header(&head, "content-length").unwrap().parse().unwrap();
        while body.len() < length {
            client.read_buf(&mut body).await.unwrap();
        }
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let is_missing = self.fault == Fault::OnlyChat && path != "/v1/chat/completions";
        if is_missing || self.fault == Fault::RefusesAll {
            let status = if is_missing { 404 } else { 503 };
            let reply = format!("HTTP/1.1 {status} x\r\ncontent-length: 2\r\n\r\n{{}}");
            client.write_all(reply.as_bytes()).await.unwrap();
            return;
        }
        let key = body.clone();
        let cached = self.answers.lock().unwrap().get(&key).cloned();
        if let Some(answer) = cached.filter(|_| self.fault == Fault::AnswersItself) {
            client.write_all(&answer).await.unwrap();
            return;
        }
        let body = self.request(&body);
        let head = without_header(&head, |name| name == "connection");
        let head = with_length(&head, body.len());
        let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        let tries = if self.fault == Fault::Retries { 3 } else { 1 };
        for attempt in 1..=tries {
            let mut upstream = TcpStream::connect(self.upstream).await.unwrap();
            let asked = [head.as_bytes(), &body].concat();
            upstream.write_all(&asked).await.unwrap();
            let answer = tokio::select! {
                answer = read_head(&mut upstream) => answer,
                gone = gone(&mut client), if self.fault != Fault::NeverHangsUp => return gone,
            };
            let Some((answer, rest)) = answer else { return };
            let failed = answer.starts_with("HTTP/1.1 429");
            if failed && attempt < tries {
                continue;
            }
            return self.answer(client, upstream, answer, rest, key).await;
        }
    }

    fn request(&self, body: &[u8]) -> Vec<u8> {
        let text = String::from_utf8(body.to_vec()).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        let is_plain = |message: &Value, role: &str| {
            message["role"] == role
                && message["content"].is_string()
                && message.get("tool_calls").is_none()
        };
        match self.fault {
            Fault::DropsMessage => {
                let messages = value["messages"].as_array_mut().unwrap();
                messages.retain(|message| !is_plain(message, "assistant"));
            }
            Fault::AddsMessage => {
                let messages = value["messages"].as_array_mut().unwrap();
                messages.insert(0, json!({"role": "user", "content": "Be brief, please, whatever is asked below."}));
            }
            Fault::ChangesRole => {
                for message in value["messages"].as_array_mut().unwrap() {
                    if message["role"] == "developer" {
                        message["role"] = "system".into();
                    }
                }
            }
            Fault::ChangesSystem => {
                let system = value["messages"][0]["content"].as_str().unwrap().to_owned();
                value["messages"][0]["content"] = format!("{system} Be brief.").into();
            }
            Fault::RenamesIds => return text.replace("call_first7Qx", "call_1").into_bytes(),
            Fault::AddsTool => {
                if let Some(tools) = value["tools"].as_array_mut() {
                    tools.push(json!({"type": "function", "function": {"name": "retrieve", "parameters": {}}}));
                }
            }
            Fault::SortsTools => {
                if let Some(schema) = value.pointer_mut("/tools/0/function/parameters/properties") {
                    let members = schema.as_object_mut().unwrap();
                    members.sort_keys();
                }
            }
            Fault::DropsImage => {
                for message in value["messages"].as_array_mut().unwrap() {
                    if let Some(parts) = message["content"].as_array_mut() {
                        parts.retain(|part| part["type"] != "image_url");
                    }
                }
            }
            Fault::DropsName => {
                for message in value["messages"].as_array_mut().unwrap() {
                    message.as_object_mut().unwrap().shift_remove("name");
                }
            }
            Fault::ChangesParameter => value["temperature"] = json!(0.7),
            Fault::RenamesModel => value["model"] = "vendor/gpt-4o-mini".into(),
            Fault::DropsCacheKey => {
                value
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("prompt_cache_key");
            }
            Fault::DropsCacheControl => {
                return text
                    .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
                    .into_bytes();
            }
            Fault::ChangesPrompt => {
                let prompt = value["prompt"].as_str().unwrap().replace("measured", "saw");
                value["prompt"] = prompt.into();
            }
            Fault::ShortensTexts => {
                for message in value["messages"].as_array_mut().unwrap() {
                    if is_plain(message, "user") {
                        let text = message["content"].as_str().unwrap().replace(" the ", " ");
                        message["content"] = text.into();
                    }
                }
            }
            Fault::MixesConversations => {
                let mut last = self.last_text.lock().unwrap();
                let messages = value["messages"].as_array_mut().unwrap();
                let newest = messages.last_mut().unwrap();
                if let Some(text) = newest["content"].as_str().map(str::to_owned) {
                    let tail: String = text
                        .chars()
                        .skip(text.chars().count().saturating_sub(90))
                        .collect();
                    newest["content"] = format!("{text}\n{last}").into();
                    *last = tail;
                }
            }
            _ => return body.to_vec(),
        }
        value.to_string().into_bytes()
    }

    /// Passes an answer on.
    async fn answer(
        &self,
        mut client: TcpStream,
        mut upstream: TcpStream,
        head: String,
        rest: Vec<u8>,
        key: Vec<u8>,
    ) {
        let is_stream = head.contains("text/event-stream");
        let mut head = head;
        match self.fault {
            Fault::ChangesStatus => head = head.replacen(" 429 ", " 500 ", 1),
            Fault::LosesRetryAfter => head = without_header(&head, |name| name == "retry-after"),
            Fault::LosesRequestId => head = without_header(&head, |name| name == "x-request-id"),
            Fault::LosesRateLimits => {
                head = without_header(&head, |name| name.contains("ratelimit"));
            }
            Fault::LosesEncoding => {
                head = without_header(&head, |name| name == "content-encoding");
            }
            _ => {}
        }
        if !is_stream || self.fault == Fault::HoldsStreamBack {
            let mut body = rest;
            while matches!(upstream.read_buf(&mut body).await, Ok(read) if read > 0) {}
            let body = match is_stream {
                true => body,
                false => self.whole(body),
            };
            let head = match is_stream {
                true => head,
                false => with_length(&head, body.len()),
            };
            let mut answer = [head.as_bytes(), &body].concat();
            if self.fault == Fault::SwapsAnswers {
                std::mem::swap(&mut answer, &mut self.last_answer.lock().unwrap());
                if answer.is_empty() {
                    answer = self.last_answer.lock().unwrap().clone();
                }
            }
            self.answers.lock().unwrap().insert(key, answer.clone());
            // The client may have gone.
            let _ = client.write_all(&answer).await;
            return;
        }
        let mut all = [head.as_bytes(), &rest].concat();
        if client.write_all(&all).await.is_err() {
            return;
        }
        let mut held: Vec<u8> = Vec::new();
        loop {
            let mut piece = Vec::new();
            let read = tokio::select! {
                read = upstream.read_buf(&mut piece) => read,
                gone = gone(&mut client), if self.fault != Fault::NeverHangsUp => return gone,
            };
            let is_cut = !all.ends_with(b"0\r\n\r\n");
            if !matches!(read, Ok(read) if read > 0) {
                // The client may have gone.
                let _ = client.write_all(&held).await;
                match self.fault {
                    Fault::InventsEnd if is_cut => {
                        let _ = client
                            .write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
                            .await;
                    }
                    Fault::EndsCleanly if is_cut => {
                        let _ = client.write_all(b"0\r\n\r\n").await;
                    }
                    _ => {}
                }
                self.answers.lock().unwrap().insert(key, all);
                return;
            }
            all.extend_from_slice(&piece);
            if self.fault == Fault::LosesEnd {
                // The last event is a chunk of its own.
                held.extend_from_slice(&piece);
                let done: &[u8] = b"e\r\ndata: [DONE]\n\n\r\n";
                match held.windows(done.len()).position(|part| part == done) {
                    Some(at) => {
                        held.drain(at..at + done.len());
                    }
                    None if held.ends_with(b"\n\n\r\n") => {}
                    None => continue,
                }
                piece = std::mem::take(&mut held);
            }
            if client.write_all(&piece).await.is_err() && self.fault != Fault::NeverHangsUp {
                return;
            }
        }
    }

    fn whole(&self, body: Vec<u8>) -> Vec<u8> {
        let replaced = |from: &str, to: &str| {
            String::from_utf8(body.clone())
                .map(|text| text.replace(from, to).into_bytes())
                .unwrap_or_else(|_| body.clone())
        };
        match self.fault {
            Fault::ChangesAnswer => replaced("Two of the boxes", "Some of the boxes"),
            Fault::ChangesArguments => replaced(r#"\"late\",  \"limit\""#, r#"\"late\",\"limit\""#),
            Fault::LosesSignature => replaced("RXhhbXBsZVNpZ25hdHVyZU9mVGhvdWdodHM=", ""),
            Fault::ChangesUsage => {
                replaced(r#""completion_tokens":77"#, r#""completion_tokens":78"#)
            }
            Fault::LosesUsageMember => replaced(
                r#","cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":1024}"#,
                "",
            ),
            Fault::WrapsErrors => replaced(r#""code":"rate_limit_exceeded""#, r#""code":"429""#),
            _ => body,
        }
    }
}

/// Waits until the client hangs up.
async fn gone(client: &mut TcpStream) {
    let mut byte = [0; 64];
    while matches!(client.read(&mut byte).await, Ok(read) if read > 0) {}
}

/// Long patience: what is in order is never waited for in vain, however slow the machine is.
fn patient(apis: &[ProxyApi]) -> ProxyCheckSettings {
    ProxyCheckSettings {
        apis: apis.to_vec(),
        patience: Duration::from_secs(240),
        timeout: Duration::from_secs(240),
        hang_up_within: Duration::from_secs(240),
        ..ProxyCheckSettings::default()
    }
}

async fn check(fault: Fault, settings: ProxyCheckSettings) -> ArmReport {
    let check = ProxyCheck::start(settings).await.unwrap();
    let address = relay(fault, &check.upstream_url()).await;
    let address = ProxyAddress::new(Url::parse(&format!("http://{address}")).unwrap());
    check.run(&address, Arc::new(|_| {})).await.unwrap()
}

fn codes(report: &ArmReport) -> Vec<String> {
    let defects = report.defects();
    defects.iter().map(|defect| defect.code()).collect()
}

fn told(report: &ArmReport) -> String {
    let properties = report.properties.iter();
    let findings = properties.flat_map(|property| &property.findings);
    let lines =
        findings.map(|finding| format!("{:?} {}: {}\n", finding.api, finding.probe, finding.what));
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_in_order_has_no_defect() {
    let settings = ProxyCheckSettings {
        arm: ArmKind::Passthrough,
        ..patient(&ProxyApi::ALL)
    };
    let report = check(Fault::None, settings).await;
    assert_eq!(codes(&report), Vec::<String>::new(), "{}", told(&report));
    for property in report.properties.iter().chain([&report.purpose]) {
        assert_eq!(property.verdict, Verdict::Holds, "{}", property.means);
        assert_eq!(property.untested, Vec::<String>::new());
        assert!(property.judged > 0);
    }
    assert!(report.passed());
    // One request, one call: nothing was asked twice and nothing was left out.
    assert_eq!(report.requests, report.upstream_calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_is_found_and_no_other() {
    use Fault::*;
    use ProxyApi::{Chat, Completions, Gemini, Messages};
    let cases = [
        (DropsMessage, Chat, "T01"),
        (AddsMessage, Chat, "T01"),
        (ChangesRole, Chat, "T02"),
        (ChangesSystem, Chat, "T03"),
        (RenamesIds, Messages, "T04"),
        (AddsTool, Chat, "T05"),
        (SortsTools, Chat, "T05"),
        (DropsImage, Chat, "T06"),
        (DropsName, Chat, "T06"),
        (ChangesParameter, Messages, "T07"),
        (RenamesModel, Chat, "T07"),
        (DropsCacheKey, Chat, "T08"),
        (DropsCacheControl, Messages, "T08"),
        (LosesEnd, Chat, "T09"),
        (InventsEnd, Chat, "T09"),
        (EndsCleanly, Chat, "T09"),
        (ChangesStatus, Chat, "T10"),
        (LosesRetryAfter, Messages, "T10"),
        (WrapsErrors, Chat, "T10"),
        (ChangesAnswer, Messages, "T11"),
        (ChangesArguments, Chat, "T11"),
        (LosesSignature, Messages, "T11"),
        (ChangesUsage, Chat, "T12"),
        (LosesUsageMember, Messages, "T12"),
        (AnswersItself, Chat, "T13"),
        (ChangesPrompt, Completions, "T14"),
        (Retries, Chat, "T15"),
        (LosesRequestId, Chat, "T16"),
        (LosesRateLimits, Messages, "T16"),
        (LosesEncoding, Chat, "T16"),
        (MixesConversations, Chat, "T17"),
        (RenamesIds, Gemini, "T04"),
        (EndsCleanly, Gemini, "T09"),
        (ChangesStatus, Gemini, "T10"),
        (ChangesAnswer, Gemini, "T11"),
        (LosesSignature, Gemini, "T11"),
        (AnswersItself, Gemini, "T13"),
        (Retries, Gemini, "T15"),
    ];
    let mut wrong = Vec::new();
    for (fault, api, expected) in cases {
        let report = check(fault, patient(&[api])).await;
        if codes(&report) != [expected] || report.passed() {
            let found = codes(&report).join(" ");
            wrong.push(format!("{fault:?}: {found}\n{}", told(&report)));
        }
        // Both sides are there, and they differ.
        for finding in report.properties.iter().flat_map(|one| &one.findings) {
            let evidence = &finding.evidence;
            assert_ne!(evidence.before.text, evidence.after.text, "{fault:?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_held_back_are_found() {
    // It holds them back for ever, so that no patience is long enough.
    let settings = ProxyCheckSettings {
        patience: Duration::from_millis(300),
        timeout: Duration::from_secs(3),
        hang_up_within: Duration::from_millis(100),
        ..patient(&[ProxyApi::Chat])
    };
    let report = check(Fault::HoldsStreamBack, settings).await;
    let property = report.properties.iter().find(|one| {
        let mut findings = one.findings.iter();
        findings.any(|finding| finding.what.starts_with("held back"))
    });
    assert_eq!(property.unwrap().defect.unwrap().code(), "T09");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_go_on_after_the_client_has_gone_are_found() {
    let settings = ProxyCheckSettings {
        hang_up_within: Duration::from_millis(100),
        ..patient(&[ProxyApi::Chat])
    };
    let report = check(Fault::NeverHangsUp, settings).await;
    let found = report
        .property(context_bench_tap::figures::Defect::Cancellation)
        .unwrap();
    let probes: Vec<&str> = found.findings.iter().map(|finding| finding.probe).collect();
    assert_eq!(
        probes,
        ["hung up at the first token", "hung up while waiting"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_others_are_cross_talk() {
    let report = check(Fault::SwapsAnswers, patient(&[ProxyApi::Chat])).await;
    assert!(
        codes(&report).contains(&"T17".to_owned()),
        "{}",
        told(&report)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn shorter_texts_are_what_a_transform_is_for() {
    for (arm, is_held) in [
        (ArmKind::Transform, true),
        (ArmKind::Passthrough, false),
        (ArmKind::Unknown, true),
    ] {
        let settings = ProxyCheckSettings {
            arm,
            ..patient(&[ProxyApi::Chat])
        };
        let report = check(Fault::ShortensTexts, settings).await;
        assert_eq!(codes(&report), Vec::<String>::new(), "{}", told(&report));
        assert_eq!(report.passed(), is_held);
        assert!(report.engagement.changed > 0);
        assert_eq!(report.purpose.findings.is_empty(), is_held);
    }
    let settings = ProxyCheckSettings {
        arm: ArmKind::Transform,
        ..patient(&[ProxyApi::Chat])
    };
    let report = check(Fault::None, settings).await;
    assert_eq!(report.purpose.verdict, Verdict::DoesNotHold);
    assert!(!report.passed());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_not_judged() {
    let report = check(Fault::OnlyChat, patient(&ProxyApi::ALL)).await;
    assert_eq!(codes(&report), Vec::<String>::new(), "{}", told(&report));
    let missing: Vec<&str> = report
        .apis
        .iter()
        .filter(|api| api.not_offered.is_some())
        .map(|api| api.api.name())
        .collect();
    assert_eq!(missing, ["anthropic", "responses", "completions", "gemini"]);
    let likelihood = report.property(context_bench_tap::figures::Defect::Likelihood);
    assert!(matches!(
        &likelihood.unwrap().verdict,
        Verdict::NotApplicable { why } if why.contains("/v1/completions answers 404")
    ));

    let report = check(Fault::RefusesAll, patient(&[ProxyApi::Chat])).await;
    assert!(report.passed());
    for property in &report.properties {
        let why = match &property.verdict {
            Verdict::NotTested { why } => why.clone(),
            Verdict::NotApplicable { why } => why.clone(),
            other => panic!("{}: {other:?}", property.means),
        };
        assert!(!why.is_empty());
    }
    let roles = report
        .property(context_bench_tap::figures::Defect::Role)
        .unwrap();
    assert!(matches!(
        &roles.verdict,
        Verdict::NotTested { why } if why.contains("the proxy answered 503 by itself")
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_is_not_there_is_an_error() {
    let check = ProxyCheck::start(patient(&[ProxyApi::Chat])).await.unwrap();
    // The port was free a moment ago.
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let address = format!("http://name:secret@127.0.0.1:{port}");
    let address = ProxyAddress::new(Url::parse(&address).unwrap());
    let error = check.run(&address, Arc::new(|_| {})).await.unwrap_err();
    assert!(matches!(&error, ProxyCheckError::Unreachable { .. }));
    assert!(!error.to_string().contains("secret"), "{error}");
}
