//! `OpenAiProxy` against a real loopback endpoint, faults included.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use context_bench::chat::{Pace, derive_name};
use context_bench::system::{OpenAiProxy, OpenAiProxySettings, SystemError};
use context_bench::{Example, FailureKind, Output, System as _, Turn, evaluate};
use context_bench_testkit::{ChatServer, Reply, Request, handlers, worked};
use serde_json::{Map, Value, json};

const KEY: &str = "sk-test-0123456789";

fn settings(url: impl Into<String>) -> OpenAiProxySettings {
    let mut settings = OpenAiProxySettings::new(url);
    settings.retry_base_delay = Duration::from_millis(5);
    settings.timeout = Duration::from_secs(60);
    settings
}

fn proxy(settings: OpenAiProxySettings) -> OpenAiProxy {
    OpenAiProxy::with_settings(settings).unwrap()
}

fn example() -> Example {
    Example::new().with("id", 1).with("context", "C")
}

/// Answers one example from a server with this script.
async fn ask(
    script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    change: impl FnOnce(&mut OpenAiProxySettings),
) -> (Result<Output, SystemError>, ChatServer) {
    let server = ChatServer::start(script);
    let mut settings = settings(server.url());
    change(&mut settings);
    let result = proxy(settings).process(&example()).await;
    (result, server)
}

/// The replies in order; the last one repeats.
async fn ask_in_order(replies: Vec<Reply>) -> (Result<Output, SystemError>, ChatServer) {
    ask(handlers::sequence(replies), |_| {}).await
}

fn attempts(output: &Output) -> u32 {
    output.call().unwrap().attempts
}

#[tokio::test]
async fn a_request_has_the_known_shape() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4});
    let reply = json!({"choices": [{"message": {"content": "R"}}], "usage": usage});
    let server = ChatServer::start(move |_| Reply::json(reply.clone()));
    let mut settings = settings(server.url() + "//");
    settings.model = "m".into();
    settings.api_key = Some("k".into());
    settings.extra_body = json!({"temperature": 0}).as_object().cloned().unwrap();
    let output = proxy(settings).process(&example()).await.unwrap();

    let expected = json!({"id": 1, "context": "C", "response": "R", "api_usage": usage});
    assert_eq!(Value::Object(output.fields().clone()), expected);
    assert_eq!(attempts(&output), 1);
    let requests = server.requests();
    let request = &requests[0];
    assert_eq!(request.path, "/v1/chat/completions");
    let messages = json!([{"role": "user", "content": "C"}]);
    assert_eq!(
        request.body,
        json!({"model": "m", "messages": messages, "temperature": 0})
    );
    let header = |name| request.headers.get(name).unwrap_or_default().to_owned();
    assert_eq!(header("authorization"), "Bearer k");
    assert_eq!(header("content-type"), "application/json");
    assert!(header("user-agent").starts_with("context-bench/"));
}

#[tokio::test]
async fn no_key_means_no_header_and_credentials_are_sent_as_basic() {
    let server = ChatServer::start(handlers::constant("ok"));
    proxy(settings(server.base_url_v1()))
        .process(&example())
        .await
        .unwrap();
    let with_credentials = server.url().replace("http://", "http://me:pw@");
    proxy(settings(with_credentials))
        .process(&example())
        .await
        .unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert!(!requests[0].headers.contains("authorization"));
    assert_eq!(
        requests[1].headers.get("authorization"),
        Some("Basic bWU6cHc=")
    );
}

#[tokio::test]
async fn generation_is_sent_and_is_part_of_the_identity() {
    let server = ChatServer::start(handlers::constant("ok"));
    let plain = settings(server.url());
    let mut warm = plain.clone();
    let generation = json!({"temperature": 0.5, "seed": 1});
    warm.generation = generation.as_object().cloned().unwrap();
    let identity = |settings: &OpenAiProxySettings| proxy(settings.clone()).identity();
    assert_ne!(identity(&plain), identity(&warm));
    // Members that the user writes out go last.
    let mut hot = warm.clone();
    hot.extra_body.insert("temperature".into(), json!(2));
    assert_ne!(identity(&warm), identity(&hot));
    for settings in [plain, warm, hot] {
        proxy(settings).process(&example()).await.unwrap();
    }
    let sent = server.requests();
    let sent = sent
        .iter()
        .map(|r| (r.body.get("temperature"), r.body.get("seed")));
    let one = json!(1);
    let (half, two) = (json!(0.5), json!(2));
    let expected = [
        (None, None),
        (Some(&half), Some(&one)),
        (Some(&two), Some(&one)),
    ];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn extra_members_override_ours() {
    let server = ChatServer::start(handlers::constant("ok"));
    let mut settings = settings(server.url());
    settings.extra_body = json!({"model": "other", "messages": []})
        .as_object()
        .cloned()
        .unwrap();
    proxy(settings).process(&example()).await.unwrap();
    assert_eq!(
        server.requests()[0].body,
        json!({"model": "other", "messages": []})
    );
}

#[tokio::test]
async fn refusals_keep_the_servers_words_and_are_not_retried() {
    for (code, message, kind) in [
        (400, "context too long", FailureKind::BadRequest),
        (
            401,
            "Incorrect API key provided.",
            FailureKind::Unauthorized,
        ),
        (403, "no", FailureKind::Unauthorized),
        (404, "unknown model", FailureKind::NotFound),
        (409, "conflict", FailureKind::BadRequest),
        (422, "bad", FailureKind::BadRequest),
        (501, "no", FailureKind::ServerError),
    ] {
        let (result, server) = ask_in_order(vec![Reply::status(code).message(message)]).await;
        let error = result.unwrap_err();
        let text = error.to_string();
        let beginning = format!("OpenAI proxy returned HTTP {code}: ");
        assert!(text.starts_with(&beginning), "{text}");
        assert!(text.ends_with(&format!(": {message}")), "{text}");
        assert_eq!(error.failure.kind, kind);
        assert_eq!(error.call.unwrap().attempts, 1);
        assert_eq!(server.request_count(), 1, "{code}");
    }
}

#[tokio::test]
async fn an_empty_body_leaves_the_reference_text() {
    let (result, _) = ask_in_order(vec![Reply::raw(400, "text/plain", "")]).await;
    let text = result.unwrap_err().to_string();
    assert_eq!(text, "OpenAI proxy returned HTTP 400: Bad Request");
}

#[tokio::test]
async fn the_key_is_in_no_error_text() {
    let echo = |request: &Request| {
        let sent = request.headers.get("authorization").unwrap_or_default();
        let padding = "x".repeat(285);
        match request.messages()[0]["content"].as_str() {
            Some("json") => Reply::status(401).message(format!("bad header: {sent}")),
            Some("text") => Reply::raw(401, "text/html", format!("{padding} {sent}")),
            Some("structure") => Reply::json(json!({"you_sent": sent})),
            Some("stream") => Reply::text("").error_after_tokens(0, sent),
            _ => Reply::raw(200, "application/json", sent.to_owned()),
        }
    };
    let server = ChatServer::start(echo);
    for what in ["json", "text", "structure", "stream", "not json"] {
        let mut settings = settings(server.url());
        settings.api_key = Some(KEY.into());
        settings.stream = what == "stream";
        let sent = Example::new().with("context", what);
        let error = proxy(settings).process(&sent).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("sk-"), "{what}: {text}");
        assert!(text.contains("Bearer"), "{what}: {text}");
    }
}

#[tokio::test]
async fn rate_limits_are_waited_for() {
    let limits = [
        Reply::status(429).retry_after_seconds(1),
        // Of the date, what the request takes is gone already.
        Reply::status(429).retry_after_date(4),
        Reply::status(429).header("retry-after-ms", "900"),
        Reply::status(429).header("retry-after", "0.9"),
    ];
    let check = async |limited| {
        let (result, server) = ask_in_order(vec![limited, Reply::text("ok")]).await;
        let output = result.unwrap();
        assert_eq!(output.response(), "ok");
        assert_eq!(server.request_count(), 2);
        let call = output.call().unwrap();
        assert_eq!(call.attempts, 2);
        assert!(call.retry_wait >= Duration::from_millis(500), "{call:?}");
    };
    futures_util::future::join_all(limits.map(check)).await;
}

#[tokio::test]
async fn a_wait_past_the_deadline_fails_at_once() {
    let script = handlers::sequence(vec![Reply::status(429).retry_after_seconds(3600)]);
    let (result, server) = ask(script, |_| {}).await;
    let error = result.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("asks to wait 3600 s, past the deadline of 300 s"),
        "{error}"
    );
    assert_eq!(error.failure.kind, FailureKind::RateLimited);
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let mut faults: Vec<Reply> = [408, 425, 429, 500, 502, 503, 504, 529]
        .map(Reply::status)
        .into();
    faults.extend([
        Reply::reset(),
        Reply::close(),
        Reply::truncated("a longer text that is cut"),
        Reply::invalid_json(),
        Reply::raw(200, "application/json", ""),
    ]);
    for fault in faults {
        let name = format!("{fault:?}");
        let (result, server) = ask_in_order(vec![fault, Reply::text("ok")]).await;
        let output = result.expect(&name);
        assert_eq!(output.response(), "ok");
        assert_eq!(attempts(&output), 2, "{name}");
        assert_eq!(server.request_count(), 2, "{name}");
    }
}

#[tokio::test]
async fn retries_end_and_are_counted() {
    let (result, server) = ask_in_order(vec![Reply::status(500).message("busy")]).await;
    let error = result.unwrap_err();
    let expected = "OpenAI proxy returned HTTP 500: Internal Server Error: busy (4 attempts)";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.failure.kind, FailureKind::ServerError);
    let call = error.call.unwrap();
    assert_eq!(call.attempts, 4);
    // 5 + 10 + 20 milliseconds at least.
    assert!(call.retry_wait >= Duration::from_millis(35), "{call:?}");
    assert_eq!(server.request_count(), 4);
}

#[tokio::test]
async fn a_hanging_server_is_given_up_and_tried_again() {
    let quick = |s: &mut OpenAiProxySettings| s.timeout = Duration::from_secs(3);
    let script = handlers::sequence(vec![Reply::hang(), Reply::text("ok")]);
    let (result, _) = ask(script, quick).await;
    assert_eq!(attempts(&result.unwrap()), 2);

    let script = handlers::sequence(vec![Reply::hang()]);
    let (result, server) = ask(script, |s| {
        quick(s);
        s.max_retries = 1;
    })
    .await;
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "OpenAI proxy did not answer within 3 s (2 attempts)"
    );
    assert_eq!(error.failure.kind, FailureKind::Timeout);
    assert_eq!(server.request_count(), 2);
}

#[tokio::test]
async fn the_deadline_ends_an_attempt() {
    let script = handlers::sequence(vec![Reply::hang()]);
    let (result, server) = ask(script, |s| s.deadline = Some(Duration::from_secs(3))).await;
    let error = result.unwrap_err();
    let expected = "OpenAI proxy did not answer within 3 s, the deadline of the whole call";
    assert_eq!(error.to_string(), expected);
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn a_slow_reply_within_the_timeout_is_fine() {
    let drip = Reply::drip("slow but fine", 40, Duration::from_millis(10));
    let (result, server) = ask_in_order(vec![drip]).await;
    assert_eq!(result.unwrap().response(), "slow but fine");
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn replies_that_cannot_be_used_are_not_tried_again() {
    for (reply, beginning) in [
        (
            Reply::raw(200, "text/html", "not json"),
            "OpenAI proxy returned invalid JSON: ",
        ),
        (
            Reply::raw(200, "text/html", "<html>"),
            "OpenAI proxy returned invalid JSON: ",
        ),
        (
            Reply::empty_choices(),
            "OpenAI proxy returned empty choices list",
        ),
        (
            Reply::json(json!({"choices": null})),
            "OpenAI proxy returned empty choices list",
        ),
        (
            Reply::json(json!({"object": "list"})),
            r#"Unexpected response structure from OpenAI proxy: {"object":"list"}"#,
        ),
    ] {
        let (result, server) = ask_in_order(vec![reply]).await;
        let error = result.unwrap_err();
        assert!(error.to_string().starts_with(beginning), "{error}");
        assert_eq!(error.failure.kind, FailureKind::BadReply);
        assert_eq!(server.request_count(), 1);
    }
}

#[tokio::test]
async fn null_content_and_missing_usage_come_through() {
    let (result, _) = ask_in_order(vec![Reply::text("").null_content().without_usage()]).await;
    let output = result.unwrap();
    let model = output.api_reply().unwrap()["model"].clone();
    assert!(model.is_string(), "{model}");
    let said = json!({"finish_reason": "stop", "model": model});
    let expected = json!({"id": 1, "context": "C", "response": null, "api_reply": said});
    assert_eq!(Value::Object(output.into_fields()), expected);
}

#[tokio::test]
async fn a_closed_port_is_named() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut settings = settings(format!("http://me:hunter22@127.0.0.1:{port}"));
    settings.max_retries = 1;
    let error = proxy(settings).process(&example()).await.unwrap_err();
    let expected = format!(
        "Could not connect to OpenAI proxy at http://127.0.0.1:{port}/v1/chat/completions: \
         connection refused (2 attempts)"
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.failure.kind, FailureKind::Connection);
    assert_eq!(error.call.unwrap().attempts, 2);
}

#[tokio::test]
async fn https_to_a_plain_server_is_explained() {
    let server = ChatServer::start(handlers::constant("ok"));
    let mut settings = settings(server.url().replace("http:", "https:"));
    settings.max_retries = 0;
    // A machine without root certificates cannot make such a client.
    let Ok(proxy) = OpenAiProxy::with_settings(settings) else {
        eprintln!("skipped: no root certificates");
        return;
    };
    let error = proxy.process(&example()).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with(": the server does not speak HTTPS"),
        "{text}"
    );
}

#[tokio::test]
async fn redirects_stay_on_the_host() {
    let other = ChatServer::start(handlers::constant("stolen"));
    let target = other.url() + "/v1/chat/completions";
    let away = Reply::raw(307, "text/plain", "").header("location", target);
    let (result, _) = ask_in_order(vec![away]).await;
    let text = result.unwrap_err().to_string();
    assert!(
        text.contains("HTTP 307: Temporary Redirect: redirects to http://127"),
        "{text}"
    );
    assert_eq!(other.request_count(), 0);

    let near = Reply::raw(308, "text/plain", "").header("location", "/v1/chat/completions");
    let (result, server) = ask_in_order(vec![near, Reply::text("ok")]).await;
    assert_eq!(result.unwrap().response(), "ok");
    assert_eq!(server.requests()[1].body, server.requests()[0].body);
}

#[tokio::test]
async fn a_stream_gives_text_usage_and_first_token() {
    let pause = Duration::from_millis(60);
    let reply = Reply::text("one two é three")
        .first_token_after(pause)
        .between_tokens(Duration::from_millis(5))
        .usage(7, 3);
    let began = Instant::now();
    let (result, server) = ask(handlers::sequence(vec![reply]), |s| s.stream = true).await;
    let whole = began.elapsed();
    let output = result.unwrap();
    assert_eq!(output.response(), "one two é three");
    assert_eq!(output.api_usage().unwrap()["prompt_tokens"], 7);
    let first = output.call().unwrap().first_token.unwrap();
    assert!(first >= pause && first < whole, "{first:?} {whole:?}");
    let body = &server.requests()[0].body;
    assert_eq!(body["stream"], true);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn streams_are_read_whatever_their_pieces() {
    let reply = Reply::drip("größer 🦀 fine", 7, Duration::from_millis(1));
    let (result, _) = ask(handlers::sequence(vec![reply]), |s| s.stream = true).await;
    assert_eq!(result.unwrap().response(), "größer 🦀 fine");
}

#[tokio::test]
async fn a_stream_that_is_cut_or_stalls_is_tried_again() {
    let text = "one two three four";
    for fault in [
        Reply::text(text).cut_after_tokens(2),
        Reply::truncated(text),
        Reply::text(text).between_tokens(Duration::from_secs(60)),
    ] {
        let script = handlers::sequence(vec![fault, Reply::text(text)]);
        let (result, _) = ask(script, |s| {
            s.stream = true;
            s.timeout = Duration::from_secs(3);
        })
        .await;
        let output = result.unwrap();
        assert_eq!(output.response(), text);
        assert_eq!(attempts(&output), 2);
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_an_error() {
    let reply = Reply::text("one two three").error_after_tokens(1, "out of memory");
    let (result, server) = ask(handlers::sequence(vec![reply]), |s| s.stream = true).await;
    let error = result.unwrap_err();
    let expected = "OpenAI proxy reported an error in its stream: out of memory";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.failure.kind, FailureKind::ServerError);
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn a_plain_body_is_accepted_instead_of_a_stream() {
    let body = json!({"choices": [{"message": {"content": "plain"}}]});
    let (result, _) = ask(move |_| Reply::json(body.clone()), |s| s.stream = true).await;
    let output = result.unwrap();
    assert_eq!(output.response(), "plain");
    assert_eq!(output.call().unwrap().first_token, None);
}

#[tokio::test]
async fn connections_are_used_again() {
    for stream in [false, true] {
        let server = ChatServer::start(handlers::constant("ok"));
        let mut settings = settings(server.url());
        settings.stream = stream;
        let proxy = proxy(settings);
        for _ in 0..20 {
            proxy.process(&example()).await.unwrap();
        }
        // One would do; each late end of a body may cost another.
        let connections = server.connection_count();
        assert!(connections < 20, "{connections}");
    }
}

#[tokio::test]
async fn many_calls_run_at_the_same_time() {
    let server = ChatServer::builder()
        .together(200)
        .start(handlers::constant("ok"));
    let proxy = proxy(settings(server.url()));
    let example = example();
    let calls = (0..200).map(|_| proxy.process(&example));
    let outputs = futures_util::future::join_all(calls).await;
    assert!(outputs.iter().all(Result::is_ok));
    assert_eq!(server.peak_in_flight(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_our_own_pace_is_no_latency() {
    let server = ChatServer::start(handlers::constant("ok"));
    let mut settings = settings(server.url());
    settings.pace = Some(Arc::new(Pace::new(Some(1.0), None)));
    let examples: Vec<Example> = (0..3).map(|i| example().with("id", i)).collect();
    let began = Instant::now();
    let run = evaluate().system(proxy(settings)).dataset(examples);
    let result = run.max_workers(3).run().await.unwrap();
    let whole = began.elapsed().as_secs_f64();
    let mut waited = 0.0;
    for row in &result.rows {
        let wait = row.call.as_ref().unwrap().pace_wait.as_secs_f64();
        // However slow the machine is: what was waited is not in it.
        assert!(row.latency + wait <= whole, "{row:?} {whole}");
        waited += wait;
    }
    assert!(waited > 0.0 && result.rows.len() == 3);
}

#[tokio::test]
async fn a_conversation_sends_its_history_and_sums_its_cost() {
    let script = handlers::sequence(vec![
        Reply::text("r1").usage(3, 1),
        Reply::status(500),
        Reply::text("r2").usage(5, 2),
    ]);
    let server = ChatServer::start(script);
    let mut settings = settings(server.url());
    settings.system_prompt = Some("S".into());
    let proxy = proxy(settings);
    let conversation = proxy.as_conversation().unwrap();
    let turns = [Turn::user("t1"), Turn::user("t2")];
    let replies = conversation.process_conversation(&turns).await.unwrap();

    assert_eq!(
        replies.turns,
        [Turn::assistant("r1"), Turn::assistant("r2")]
    );
    assert_eq!(replies.call.unwrap().attempts, 3);
    let usage = json!({"prompt_tokens": 8, "completion_tokens": 3, "total_tokens": 11});
    assert_eq!(replies.usage.map(Value::Object), Some(usage));
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let first = json!([message("system", "S"), message("user", "t1")]);
    let second = json!([
        message("system", "S"),
        message("user", "t1"),
        message("assistant", "r1"),
        message("user", "t2")
    ]);
    let requests = server.requests();
    assert_eq!(requests[0].body["messages"], first);
    assert_eq!(requests[2].body["messages"], second);
}

#[tokio::test]
async fn a_conversation_that_fails_tells_its_whole_cost() {
    let script = handlers::sequence(vec![Reply::text("r1"), Reply::status(400).message("no")]);
    let server = ChatServer::start(script);
    let proxy = proxy(settings(server.url()));
    let turns = [Turn::user("t1"), Turn::user("t2")];
    let conversation = proxy.as_conversation().unwrap();
    let error = conversation.process_conversation(&turns).await.unwrap_err();
    assert_eq!(error.failure.kind, FailureKind::BadRequest);
    assert_eq!(error.call.unwrap().attempts, 2);
}

/// The worked cases of one component as (id, input, expected).
fn vectors(component: &str) -> Vec<(String, Value, Value)> {
    let cases = worked::cases_of(component).into_iter();
    cases
        .map(|mut case| {
            let id = case["id"].as_str().unwrap().to_owned();
            (id, case["input"].take(), case["expected"].take())
        })
        .collect()
}

#[test]
fn shared_names() {
    for (id, input, expected) in vectors("cli.derive_name") {
        assert_eq!(
            derive_name(input["url"].as_str().unwrap()),
            expected,
            "{id}"
        );
    }
    for (id, input, expected) in vectors("OpenAIProxy.name") {
        match id.as_str() {
            // Credentials never appear in names; a URL needs its scheme.
            "cb-0350" | "cb-0351" => continue,
            _ => {}
        }
        let proxy = OpenAiProxy::new(input["base_url"].as_str().unwrap()).unwrap();
        assert_eq!(proxy.name(), expected, "{id}");
    }
}

/// Settings from the constructor arguments of a shared case, sent to `server`.
fn shared_settings(arguments: &Value, server: &ChatServer) -> OpenAiProxySettings {
    let text = |key: &str| arguments[key].as_str().map(str::to_owned);
    let given = text("base_url").unwrap_or_else(|| "http://h".into());
    let (_, rest) = given.split_once("://").unwrap();
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    let mut settings = settings(server.url() + path);
    // The reference asks for another model when none is named.
    settings.model = text("model").unwrap_or_else(|| "gpt-3.5-turbo".into());
    settings.api_key = text("api_key").map(Into::into);
    settings.system_prompt = text("system_prompt");
    settings.extra_body = arguments["extra_body"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    settings
}

fn fields(value: &Value) -> Example {
    Example::try_from(value.clone()).unwrap()
}

#[tokio::test]
async fn shared_messages() {
    for (id, input, expected) in vectors("OpenAIProxy.messages") {
        let server = ChatServer::start(handlers::constant("ok"));
        let proxy = proxy(shared_settings(&input, &server));
        proxy.process(&fields(&input["example"])).await.unwrap();
        assert_eq!(server.requests()[0].body["messages"], expected, "{id}");
    }
}

#[tokio::test]
async fn shared_requests() {
    for (id, input, expected) in vectors("OpenAIProxy.request") {
        let reply = input["reply"].clone();
        let server = ChatServer::start(move |_| Reply::json(reply.clone()));
        let proxy = proxy(shared_settings(&input["constructor"], &server));
        let result = proxy.process(&fields(&input["example"])).await;
        let request = server.requests().swap_remove(0);
        // The reference doubles `/v1`; we do not.
        let url = expected["request"]["url"]
            .as_str()
            .unwrap()
            .replace("/v1/v1/", "/v1/");
        assert!(url.ends_with(&request.path), "{id}: {url}");
        assert_eq!(request.body, expected["request"]["body"], "{id}");
        let auth = request.headers.get("authorization");
        assert_eq!(auth, expected["request"]["auth"].as_str(), "{id}");
        match result {
            Ok(output) => {
                let found = Value::Object(output.into_fields());
                assert_eq!(found, expected["processed"], "{id}");
            }
            Err(error) => assert_eq!(error.to_string(), expected["error"], "{id}"),
        }
    }
}

#[tokio::test]
async fn shared_conversations() {
    for (id, input, expected) in vectors("OpenAIProxy.conversation") {
        let replies = input["replies"].as_array().unwrap().iter();
        let replies = replies
            .map(|text| Reply::text(text.as_str().unwrap()))
            .collect();
        let server = ChatServer::start(handlers::sequence(replies));
        let proxy = proxy(shared_settings(&input, &server));
        let turns: Vec<Turn> = serde_json::from_value(input["turns"].clone()).unwrap();
        let conversation = proxy.as_conversation().unwrap();
        let replies = conversation.process_conversation(&turns).await.unwrap();
        assert_eq!(json!(replies.turns), expected["responses"], "{id}");
        let sent: Vec<Value> = server
            .requests()
            .iter()
            .map(|r| r.body["messages"].clone())
            .collect();
        assert_eq!(json!(sent), expected["messages_per_request"], "{id}");
    }
}

/// The shared retry cases a hundred times as fast: 10 ms for each second.
#[tokio::test]
async fn shared_retries() {
    for (id, input, expected) in vectors("OpenAIProxy.retry") {
        let sequence = input["sequence"].as_array().unwrap();
        if sequence
            .iter()
            .any(|step| step["connection_error"].is_string())
        {
            // See `a_closed_port_is_named` and the table of delays in `retry`.
            continue;
        }
        let replies = sequence.iter().map(scaled_reply).collect();
        let server = ChatServer::start(handlers::sequence(replies));
        let mut settings = settings(server.url());
        settings.retry_base_delay = Duration::from_millis(10);
        let result = proxy(settings).process(&fields(&json!({}))).await;
        assert_eq!(json!(server.request_count()), expected["attempts"], "{id}");
        let sleeps = expected["sleeps"].as_array().unwrap().iter();
        let least: f64 = sleeps.map(|s| s.as_f64().unwrap() * 0.01).sum();
        let call = match &result {
            Ok(output) => output.call(),
            Err(error) => error.call.as_deref().copied(),
        };
        let waited = call.unwrap().retry_wait.as_secs_f64();
        assert!(waited >= least, "{id}: {waited} < {least}");
        match result {
            Ok(output) => assert_eq!(
                output.response(),
                expected["response"].as_str().unwrap(),
                "{id}"
            ),
            Err(error) => {
                let text = error.to_string();
                let beginning = expected["error"]
                    .as_str()
                    .or(expected["error_prefix"].as_str());
                assert!(text.starts_with(beginning.unwrap()), "{id}: {text}");
            }
        }
    }
}

fn scaled_reply(step: &Value) -> Reply {
    if let Some(body) = step["body"].as_str() {
        return Reply::raw(200, "application/json", body);
    }
    let code = u16::try_from(step["status"].as_u64().unwrap()).unwrap();
    let headers = step["headers"]
        .as_object()
        .cloned()
        .unwrap_or_else(Map::new);
    headers.iter().fold(
        Reply::raw(code, "text/plain", ""),
        |reply, (name, value)| {
            let seconds: f64 = value.as_str().unwrap().parse().unwrap();
            reply.header(name, (seconds * 0.01).to_string())
        },
    )
}

#[tokio::test]
async fn an_example_may_bring_messages_and_say_how_to_answer() {
    let server = ChatServer::start(|_| Reply::text("R"));
    let asked = json!({"until": ["\n"], "max_gen_toks": 7, "temperature": 0.5, "top_k": 3});
    let messages = json!([{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]);
    let example = Example::new()
        .with("messages", messages.clone())
        .with("generation_kwargs", asked.clone());
    let mut chat = settings(server.url());
    chat.model = "m".into();
    chat.extra_body = json!({"top_k": 4}).as_object().cloned().unwrap();
    let output = proxy(chat).process(&example).await.unwrap();
    assert_eq!(output.response(), "R");
    assert_eq!(
        server.requests()[0].body,
        json!({"model": "m", "messages": messages, "max_tokens": 7, "temperature": 0.5,
               "stop": ["\n"], "top_k": 4})
    );
    // Beside a context, a list of that name is no more than data.
    let with_context = example.with("context", "C");
    proxy(settings(server.url()))
        .process(&with_context)
        .await
        .unwrap();
    let messages = &server.requests()[1].body["messages"];
    assert_eq!(*messages, json!([{"role": "user", "content": "C"}]));

    // Plain text where the address says so.
    let mut plain = settings(format!("{}/completions", server.base_url_v1()));
    plain.model = "m".into();
    let example = Example::new()
        .with("context", "Once")
        .with("generation_kwargs", asked);
    let output = proxy(plain).process(&example).await.unwrap();
    assert_eq!(output.response(), "R");
    let request = &server.requests()[2];
    assert_eq!(request.path, "/v1/completions");
    assert_eq!(
        request.body,
        json!({"model": "m", "prompt": "Once", "max_tokens": 7, "temperature": 0.5,
               "stop": ["\n"], "top_k": 3})
    );
}

#[tokio::test]
async fn plain_text_is_streamed_too() {
    let server = ChatServer::start(|_| Reply::text("one two"));
    let mut plain = settings(format!("{}/completions", server.base_url_v1()));
    plain.stream = true;
    let output = proxy(plain).process(&example()).await.unwrap();
    assert_eq!(output.response(), "one two");
    assert!(output.call().unwrap().first_token.is_some());
}
