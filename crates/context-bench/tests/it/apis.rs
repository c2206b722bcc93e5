//! Endpoints of the three APIs, asked for real: what is sent, what is read, what is retried.

use std::time::Duration;

use context_bench::chat::{Api, Endpoint, Secret};
use context_bench::system::{Layout, OpenAiProxy, OpenAiProxySettings};
use context_bench::{Ending, Example, FailureKind, MaxWorkers, Reply as Answered, System as _};
use context_bench::{Turn, evaluate};
use context_bench_testkit::{ChatServer, Reply, Request, handlers};
use serde_json::{Value, json};

const KEY: &str = "sk-test-0123456789";

fn settings(api: Api, server: &ChatServer) -> OpenAiProxySettings {
    let mut settings = OpenAiProxySettings::new(server.url());
    settings.api = api;
    settings.model = "m".into();
    settings.api_key = Some(KEY.into());
    settings.retry_base_delay = Duration::from_millis(5);
    settings.timeout = Duration::from_secs(60);
    settings
}

fn proxy(settings: OpenAiProxySettings) -> OpenAiProxy {
    OpenAiProxy::with_settings(settings).unwrap()
}

fn example(fields: Value) -> Example {
    Example::try_from(fields).unwrap()
}

fn others() -> [Api; 2] {
    [Api::Responses, Api::Anthropic]
}

#[tokio::test]
async fn every_api_gives_the_same_answer_and_the_same_tokens() {
    for api in Api::ALL {
        for stream in [false, true] {
            let script = |_: &Request| {
                Reply::text("the city\nof Paris")
                    .usage(100, 4)
                    .cached(60, 30)
            };
            let server = ChatServer::start(script);
            let mut settings = settings(api, &server);
            settings.stream = stream;
            let asked = example(json!({"id": 1, "context": "C", "question": "Q"}));
            let output = proxy(settings).process(&asked).await.unwrap();
            assert_eq!(output.response(), "the city\nof Paris", "{api} {stream}");
            let reply = Answered::of(&output);
            assert_eq!(
                reply.finish_reason.as_deref(),
                Some("stop"),
                "{api} {stream}"
            );
            let tokens = reply.tokens;
            assert_eq!(
                (tokens.prompt, tokens.cached),
                (Some(100), Some(60)),
                "{api} {stream}"
            );
            assert_eq!(
                (tokens.completion, tokens.total),
                (Some(4), Some(104)),
                "{api} {stream}"
            );
            assert_eq!(
                output.call().unwrap().first_token.is_some(),
                stream,
                "{api}"
            );
            // The usage itself is as it came.
            let usage = output.api_usage().unwrap();
            let raw = match api {
                Api::Openai => ("prompt_tokens", 100),
                Api::Responses => ("input_tokens", 100),
                Api::Anthropic => ("input_tokens", 10),
            };
            assert_eq!(usage[raw.0], json!(raw.1), "{api} {stream}: {usage:?}");
            let request = &server.requests()[0];
            let header = |name: &str| request.headers.get(name);
            let (path, key) = match api {
                Api::Openai => ("/v1/chat/completions", header("authorization")),
                Api::Responses => ("/v1/responses", header("authorization")),
                Api::Anthropic => ("/v1/messages", header("x-api-key")),
            };
            assert_eq!(request.path, path);
            assert!(key.is_some_and(|key| key.ends_with(KEY)), "{api}");
            let is_anthropic = api == Api::Anthropic;
            assert_eq!(header("anthropic-version").is_some(), is_anthropic);
            assert_eq!(header("authorization").is_none(), is_anthropic);
            assert_eq!(
                request.body.get("stream_options").is_some(),
                stream && api == Api::Openai
            );
        }
    }
}

#[tokio::test]
async fn layouts_stand_where_the_api_has_them() {
    let asked = example(json!({"id": 1, "context": "C", "question": "Q"}));
    let call =
        json!({"type": "tool_use", "id": "call_context", "name": "read_context", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "call_context", "content": "C"});
    let tool = json!({"name": "read_context", "input_schema": {"type": "object"}});
    for (api, layout, expected) in [
        (
            Api::Anthropic,
            Layout::System,
            json!({"system": [{"type": "text", "text": "S"}, {"type": "text", "text": "C"}],
                "messages": [{"role": "user", "content": "Q"}]}),
        ),
        (
            Api::Anthropic,
            Layout::User,
            json!({"system": "S", "messages": [{"role": "user", "content": "C\n\nQ"}]}),
        ),
        (
            Api::Anthropic,
            Layout::Tool,
            json!({"system": "S", "messages": [{"role": "user", "content": "Q"},
                {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
                "tools": [tool], "tool_choice": {"type": "none"}}),
        ),
        (
            Api::Responses,
            Layout::System,
            json!({"instructions": "S", "input": [{"role": "system", "content": "C"},
                {"role": "user", "content": "Q"}]}),
        ),
        (
            Api::Responses,
            Layout::Tool,
            json!({"instructions": "S", "input": [{"role": "user", "content": "Q"},
                {"type": "function_call", "call_id": "call_context", "name": "read_context",
                    "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_context", "output": "C"}]}),
        ),
    ] {
        let server = ChatServer::start(handlers::echo_last_user());
        let mut settings = settings(api, &server);
        settings.layout = layout;
        settings.system_prompt = Some("S".into());
        settings.generation.insert("seed".into(), json!(1));
        settings
            .extra_body
            .insert("metadata".into(), json!({"run": "x"}));
        let proxy = proxy(settings);
        let output = proxy.process(&asked).await.unwrap();
        let answer = match layout {
            Layout::User => "C\n\nQ",
            _ => "Q",
        };
        assert_eq!(output.response(), answer, "{api} {layout}");
        let mut expected = expected;
        expected["model"] = json!("m");
        expected["metadata"] = json!({"run": "x"});
        if api == Api::Anthropic {
            expected["max_tokens"] = json!(4096);
        }
        assert_eq!(server.requests()[0].body, expected, "{api} {layout}");
        // What is shown before a run is what is sent.
        let shown = proxy.requests(&asked).unwrap().remove(0);
        let shown: Value = serde_json::from_str(&shown.body).unwrap();
        assert_eq!(shown, expected, "{api} {layout}");
    }
}

#[tokio::test]
async fn tools_of_the_user_are_not_shut() {
    let server = ChatServer::start(handlers::constant("ok"));
    let mut settings = settings(Api::Anthropic, &server);
    settings.layout = Layout::Tool;
    let tools = json!([{"name": "read_context", "input_schema": {"type": "object"}}]);
    settings.extra_body.insert("tools".into(), tools.clone());
    let asked = example(json!({"id": 1, "context": "C", "question": "Q"}));
    proxy(settings).process(&asked).await.unwrap();
    let sent = &server.requests()[0].body;
    assert_eq!((&sent["tools"], sent.get("tool_choice")), (&tools, None));
}

#[tokio::test]
async fn marks_for_the_cache_are_sent_as_given() {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let block = |text: &str| json!({"type": "text", "text": text, "cache_control": mark});
    let server = ChatServer::start(handlers::constant("ok"));
    let messages = json!([
        {"role": "system", "content": [block("S")]},
        {"role": "user", "content": [block("long"), {"type": "text", "text": "Q"}]},
    ]);
    let asked = example(json!({"id": 1, "messages": messages}));
    let mut settings = settings(Api::Anthropic, &server);
    settings
        .extra_body
        .insert("cache_control".into(), mark.clone());
    proxy(settings).process(&asked).await.unwrap();
    let sent = &server.requests()[0].body;
    assert_eq!(sent["system"], json!([block("S")]));
    assert_eq!(sent["messages"], json!([messages[1]]));
    assert_eq!(sent["cache_control"], mark);
}

#[tokio::test]
async fn conversations_are_held_turn_by_turn() {
    for api in Api::ALL {
        for stream in [false, true] {
            let script = |request: &Request| {
                Reply::text(format!("re: {}", request.last_user_content()))
                    .usage(10, 2)
                    .cached(4, 0)
            };
            let server = ChatServer::start(script);
            let mut settings = settings(api, &server);
            settings.stream = stream;
            settings.name = Some("p".into());
            let turns = json!([{"role": "user", "content": "one"}, {"role": "user", "content": "two"},
                {"role": "user", "content": "three"}]);
            let asked = example(
                json!({"id": 1, "multi_turn": true, "turns": turns, "answer": "re: three"}),
            );
            let evaluate = evaluate()
                .dataset(vec![asked])
                .system(proxy(settings))
                .run();
            let result = evaluate.await.unwrap();
            let row = &result.rows[0];
            assert_eq!(row.failure, None, "{api} {stream}");
            let tokens = row.reply.as_ref().unwrap().tokens;
            assert_eq!(
                (tokens.prompt, tokens.completion),
                (Some(30), Some(6)),
                "{api} {stream}"
            );
            assert_eq!(tokens.cached, Some(12), "{api} {stream}");
            let last = server.requests().pop().unwrap().body;
            let said = match api {
                Api::Responses => &last["input"],
                _ => &last["messages"],
            };
            let turn = |role: &str, text: &str| json!({"role": role, "content": text});
            let expected = json!([
                turn("user", "one"),
                turn("assistant", "re: one"),
                turn("user", "two"),
                turn("assistant", "re: two"),
                turn("user", "three")
            ]);
            assert_eq!(*said, expected, "{api} {stream}");
        }
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for api in others() {
        let good = || Reply::text("ok then").usage(9, 2);
        let overloaded = || {
            Reply::status(529)
                .message("Overloaded")
                .retry_after_seconds(0)
        };
        for (what, bad, stream) in [
            ("overloaded", overloaded(), false),
            ("rate limit", Reply::status(429), true),
            ("cut stream", Reply::text("a b c").cut_after_tokens(1), true),
            (
                "error in a stream",
                Reply::text("a b c").error_after_tokens(2, "sorry"),
                true,
            ),
            ("cut body", Reply::truncated("a b c d e f"), false),
            ("reset", Reply::reset(), false),
        ] {
            let server = ChatServer::start(handlers::sequence(vec![bad, good()]));
            let mut settings = settings(api, &server);
            settings.stream = stream;
            let asked = example(json!({"id": 1, "context": "C"}));
            let output = proxy(settings).process(&asked).await;
            let output = output.unwrap_or_else(|error| panic!("{api}, {what}: {error}"));
            assert_eq!(output.response(), "ok then", "{api}, {what}");
            assert_eq!(output.call().unwrap().attempts, 2, "{api}, {what}");
        }
    }
}

#[tokio::test]
async fn what_will_not_pass_is_not() {
    for api in Api::ALL {
        let final_word = Reply::status(529)
            .message("no budget")
            .header("x-should-retry", "false");
        for (what, bad, kind) in [
            (
                "refused",
                Reply::status(400).message("bad"),
                FailureKind::BadRequest,
            ),
            (
                "no key",
                Reply::status(401).message("who?"),
                FailureKind::Unauthorized,
            ),
            ("no use", final_word, FailureKind::ServerError),
            (
                "another API",
                Reply::json(json!({"result": "x"})),
                FailureKind::BadReply,
            ),
        ] {
            let server = ChatServer::start(handlers::sequence(vec![bad, Reply::text("late")]));
            let asked = example(json!({"id": 1, "context": "C"}));
            let error = proxy(settings(api, &server))
                .process(&asked)
                .await
                .unwrap_err();
            assert_eq!(error.failure.kind, kind, "{api}, {what}: {error}");
            assert_eq!(server.request_count(), 1, "{api}, {what}");
            assert!(!error.to_string().contains(KEY), "{error}");
        }
    }
}

#[tokio::test]
async fn endings_are_told_apart_in_every_api() {
    for api in Api::ALL {
        for stream in [false, true] {
            for (reason, ending) in [
                ("stop", Ending::Whole),
                ("length", Ending::Cut),
                ("content_filter", Ending::Filtered),
            ] {
                let script = handlers::sequence(vec![Reply::text("a b").finish_reason(reason)]);
                let server = ChatServer::start(script);
                let mut settings = settings(api, &server);
                settings.stream = stream;
                let asked = example(json!({"id": 1, "context": "C"}));
                let output = proxy(settings).process(&asked).await.unwrap();
                let reply = Answered::of(&output);
                assert_eq!(reply.ending, ending, "{api} {stream} {reason}");
                assert_eq!(
                    reply.finish_reason.as_deref(),
                    Some(reason),
                    "{api} {stream}"
                );
            }
        }
    }
}

#[tokio::test]
async fn many_at_once_with_faults_lose_nothing() {
    for api in others() {
        let kinds = ["429", "529", "reset", "truncated", "close"].map(|name| name.parse().unwrap());
        let server = ChatServer::start(handlers::flaky(7, 0.2, kinds, handlers::echo_last_user()));
        let mut settings = settings(api, &server);
        settings.max_retries = 20;
        settings.stream = true;
        settings.name = Some("p".into());
        let examples = (0..120)
            .map(|id| example(json!({"id": id, "context": format!("text {id}"), "answer": "x"})));
        let run = evaluate()
            .dataset(examples.collect::<Vec<_>>())
            .system(proxy(settings));
        let result = run.max_workers(MaxWorkers::Fixed(16)).run().await.unwrap();
        assert_eq!(result.rows.len(), 120, "{api}");
        assert!(result.rows.iter().all(|row| row.failure.is_none()), "{api}");
        assert!(server.request_count() > 120, "{api}");
    }
}

#[tokio::test]
async fn stored_answers_know_their_api() {
    let server = ChatServer::start(handlers::constant("ok"));
    let identity = |api: Api| {
        proxy(settings(api, &server))
            .identity()
            .unwrap()
            .to_json()
            .to_string()
    };
    let [openai, responses, anthropic] = Api::ALL.map(identity);
    assert!(
        !openai.contains("\"api\"") && !openai.contains("max_tokens"),
        "{openai}"
    );
    assert!(responses.contains(r#""api":"responses""#), "{responses}");
    assert!(
        anthropic.contains(r#""default_max_tokens":4096"#),
        "{anthropic}"
    );
}

#[tokio::test]
async fn models_are_listed_with_the_headers_of_the_api() {
    for api in Api::ALL {
        let builder = ChatServer::builder().models(["a", "b"]);
        let server = builder.start(handlers::constant("ok"));
        let endpoint = Endpoint::of(api, &server.url()).unwrap();
        let listed = endpoint.listed_models(Some(&Secret::new(KEY))).await;
        assert_eq!(listed.unwrap(), ["a", "b"], "{api}");
        let asked = &server.other_requests()[0];
        assert_eq!(asked.path, "/v1/models");
        let name = match api {
            Api::Anthropic => "x-api-key",
            _ => "authorization",
        };
        assert!(asked.headers.get(name).unwrap().ends_with(KEY), "{api}");
    }
}

#[tokio::test]
async fn direct_conversations_work_in_every_api() {
    for api in Api::ALL {
        let server = ChatServer::start(handlers::echo_last_user());
        let proxy = proxy(settings(api, &server));
        let talker = proxy.as_conversation().unwrap();
        let replies = talker
            .process_conversation(&[Turn::user("a"), Turn::user("b")])
            .await
            .unwrap();
        let texts: Vec<&str> = replies
            .turns
            .iter()
            .map(|turn| turn.content.as_str())
            .collect();
        assert_eq!(texts, ["a", "b"], "{api}");
    }
}
