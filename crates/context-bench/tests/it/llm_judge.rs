//! A model as judge, against a real endpoint: what it is asked, how its verdicts
//! become scores, what it costs, and when it is not asked again.

use std::sync::Arc;
use std::time::Duration;

use context_bench::evaluator::{JudgeMode, JudgeTemplate, LlmJudge, LlmJudgeSettings, Reference};
use context_bench::store::Store;
use context_bench::system::{OpenAiProxy, OpenAiProxySettings};
use context_bench::{Counts, EvalResult, Evaluator, Example, Output, Scores, evaluate};
use context_bench_scoring::text::verdict::Scale;
use context_bench_testkit::{ChatServer, Reply, handlers};
use serde_json::{Value, json};

use crate::worked;

fn question() -> Example {
    Example::new()
        .with("id", "q")
        .with("context", "Paris is the capital of France.")
        .with("question", "What is the capital of France?")
        .with("answer", "Paris")
}

fn settings(server: &ChatServer) -> LlmJudgeSettings {
    LlmJudgeSettings::new(server.url())
}

fn pairwise(server: &ChatServer) -> LlmJudgeSettings {
    {
        let mut settings = settings(server);
        settings.mode = JudgeMode::pairwise();
        settings
    }
}

async fn score(settings: LlmJudgeSettings, response: &str) -> Scores {
    let judge = LlmJudge::new(settings).unwrap();
    let output = Output::reply(&question(), response);
    judge.score(&question(), &output).await.unwrap()
}

async fn refusal(settings: LlmJudgeSettings, response: &str) -> String {
    let judge = LlmJudge::new(settings).unwrap();
    let output = Output::reply(&question(), response);
    judge.score(&question(), &output).await.unwrap_err().0
}

fn prompt(server: &ChatServer, request: usize) -> String {
    let body = server.requests()[request].body.clone();
    body["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_default_asks_for_one_integer() {
    let server = ChatServer::start(handlers::constant("4"));
    let scores = score(settings(&server), "It is {rubric}.").await;
    assert_eq!(scores.value("judge_score"), Some(0.75));
    assert_eq!(
        scores.get("judge_score").unwrap().reason(),
        Some("rated 4 on 1 to 5")
    );
    let body = &server.requests()[0].body;
    assert_eq!(body["temperature"], json!(0));
    assert_eq!(body["max_tokens"], json!(16));
    assert_eq!(
        prompt(&server, 0),
        "Rate how well a response answers a question, compared with the reference answer.\n\n\
         Question:\nWhat is the capital of France?\n\nReference answer:\nParis\n\n\
         Response:\nIt is {rubric}.\n\nScale:\n1 = completely wrong or unrelated\n\
         2 = mostly wrong, with a correct detail\n\
         3 = partly right, important parts missing or wrong\n\
         4 = right, with small gaps or errors\n5 = excellent: right and complete\n\n\
         Reply with one integer from 1 to 5 and nothing else."
    );
}

#[tokio::test]
async fn template_rubric_scale_and_body_are_the_users() {
    let server = ChatServer::start(handlers::constant("I think so. {\"score\": 8}"));
    let template = "{context}|{answer}|{response}|{rubric}|{min}..{max}";
    let mut settings = settings(&server);
    settings.mode = JudgeMode::Rating {
        scale: Scale::new(0.0, 10.0).unwrap(),
    };
    settings.template = Some(JudgeTemplate::parse(template).unwrap());
    settings.rubric = Some("10 = {answer}".into());
    settings.temperature = None;
    settings.extra_body = json!({"max_tokens": null, "max_completion_tokens": 99})
        .as_object()
        .unwrap()
        .clone();
    settings.score = "tone".into();
    assert_eq!(score(settings, "Rome").await.value("tone"), Some(0.8));
    let expected = "Paris is the capital of France.|Paris|Rome|10 = {answer}|0..10";
    assert_eq!(prompt(&server, 0), expected);
    let body = server.requests()[0].body.clone();
    assert_eq!(body["max_completion_tokens"], 99);
    assert!(body.get("max_tokens").is_none() && body.get("temperature").is_none());
}

#[tokio::test]
async fn the_reference_is_shown_only_where_it_may_be() {
    let server = ChatServer::start(handlers::constant("5"));
    let shown = async |reference, example: &Example| {
        let judge = LlmJudge::new({
            let mut settings = settings(&server);
            settings.reference = reference;
            settings
        })
        .unwrap();
        if !judge.applies_to(example) {
            return None;
        }
        judge
            .score(example, &Output::reply(example, "r"))
            .await
            .unwrap();
        let last = server.request_count() - 1;
        Some(prompt(&server, last).contains("Reference answer:"))
    };
    let open = Example::new()
        .with("question", "Write a poem.")
        .with("answer", "");
    let several = Example::new()
        .with("question", "q")
        .with("answers", json!(["a", "b"]));
    for (reference, example, expected) in [
        (Reference::Auto, &question(), Some(true)),
        (Reference::Auto, &several, Some(true)),
        (Reference::Auto, &open, Some(false)),
        (Reference::On, &question(), Some(true)),
        (Reference::On, &open, None),
        (Reference::Off, &question(), Some(false)),
    ] {
        assert_eq!(
            shown(reference, example).await,
            expected,
            "{reference:?} {example:?}"
        );
    }
}

#[tokio::test]
async fn what_is_no_verdict_is_unscored_and_quoted() {
    let long = format!("I cannot say. {}", "x".repeat(500));
    let server = ChatServer::start(handlers::constant(long.as_str()));
    let scores = score(settings(&server), "r").await;
    let reason = scores
        .get("judge_score")
        .unwrap()
        .reason()
        .unwrap()
        .to_owned();
    assert_eq!(scores.value("judge_score"), None);
    assert!(
        reason.starts_with("no rating (1 to 5) in the judge's reply `I cannot say. xxx"),
        "{reason}"
    );
    assert!(reason.ends_with("…`") && reason.len() < 200, "{reason}");
    // What was cut off may have been the verdict.
    let server =
        ChatServer::start(|_: &_| Reply::text("The 2 dates differ; 3").finish_reason("length"));
    let reason = score(settings(&server), "r").await;
    let reason = reason
        .get("judge_score")
        .unwrap()
        .reason()
        .unwrap()
        .to_owned();
    assert!(reason.contains("cut after 16 tokens"), "{reason}");
    let server = ChatServer::start(|_: &_| Reply::status(400).message("no such model"));
    let reason = refusal(settings(&server), "r").await;
    assert!(
        reason.contains("the judge failed") && reason.contains("no such model"),
        "{reason}"
    );
    let server = ChatServer::start(|_: &_| Reply::hang());
    let mut slow = settings(&server);
    slow.timeout = Duration::from_secs(2);
    slow.max_retries = 0;
    let reason = refusal(slow, "r").await;
    assert!(reason.contains("did not answer within"), "{reason}");
}

#[tokio::test]
async fn both_orders_decide_a_comparison() {
    // Prefers the text with "Paris", wherever it stands.
    let fair = |request: &context_bench_testkit::Request| {
        let text = request.last_user_content();
        let paris = text.find("Paris is right").unwrap();
        let first = paris < text.find("Output of model M").unwrap();
        Reply::text(if first { "m" } else { "M" })
    };
    let example = question().with("output", "Rome, I think.");
    let judged = async |server: &ChatServer, response: &str| {
        let mode = JudgeMode::Pairwise {
            baseline: "output".into(),
        };
        let judge = LlmJudge::new({
            let mut settings = settings(server);
            settings.mode = mode;
            settings
        })
        .unwrap();
        let output = Output::reply(&example, response);
        let scores = judge.score(&example, &output).await.unwrap();
        (
            scores.value("judge_score"),
            scores.value("judge_consistency"),
        )
    };
    let server = ChatServer::start(fair);
    assert_eq!(
        judged(&server, "Paris is right").await,
        (Some(1.0), Some(1.0))
    );
    assert_eq!(server.request_count(), 2);
    for (reply, expected) in [
        // A judge that always takes the first answer knows nothing.
        ("m", (Some(0.5), Some(0.0))),
        ("[[B]]", (Some(0.5), Some(0.0))),
        ("tie", (Some(0.5), Some(1.0))),
    ] {
        let server = ChatServer::start(handlers::constant(reply));
        assert_eq!(judged(&server, "Lyon").await, expected, "{reply}");
    }
    let server = ChatServer::start(fair);
    assert_eq!(judged(&server, "").await, (Some(0.0), Some(1.0)));
    assert_eq!(
        judged(&server, "Rome, I think.").await,
        (Some(0.5), Some(1.0))
    );
    assert_eq!(server.request_count(), 0);
}

#[tokio::test]
async fn half_a_comparison_is_none() {
    for broken in ["Reply::status", "prose"] {
        let server = ChatServer::start(move |request: &context_bench_testkit::Request| {
            let text = request.last_user_content();
            let ours_first = text.find("Lyon") < text.find("Output of model M");
            match (ours_first, broken) {
                (true, _) => Reply::text("m"),
                (false, "prose") => Reply::text("Hard to say."),
                _ => Reply::status(401),
            }
        });
        let reason = refusal(pairwise(&server), "Lyon").await;
        assert!(reason.starts_with("baseline first: "), "{reason}");
    }
    let server = ChatServer::start(handlers::constant("m"));
    let judge = LlmJudge::new(pairwise(&server)).unwrap();
    assert!(!judge.applies_to(&Example::new().with("question", "q")));
}

async fn run(system: &ChatServer, judge: LlmJudgeSettings, store: Option<&Store>) -> EvalResult {
    let proxy = OpenAiProxy::with_settings({
        let mut settings = OpenAiProxySettings::new(system.url());
        settings.name = Some("p".into());
        settings
    });
    let mut plan = evaluate()
        .systems([Arc::new(proxy.unwrap()) as _])
        .dataset(vec![question(), question().with("id", "r")])
        .evaluator(LlmJudge::new(judge).unwrap());
    if let Some(store) = store {
        plan = plan.store(store.clone());
    }
    plan.run().await.unwrap()
}

#[tokio::test]
async fn judging_is_counted_apart() {
    let system = ChatServer::start(|_: &_| Reply::text("Lyon").usage(5, 1));
    let judge = ChatServer::start(|_: &_| Reply::text("tie").usage(100, 3));
    let result = run(&system, pairwise(&judge), None).await;
    let Counts {
        requests,
        judge_requests,
        judge_prompt_tokens,
        judge_completion_tokens,
        ..
    } = result.counts["p"];
    assert_eq!((requests, judge_requests), (2, 4));
    assert_eq!((judge_prompt_tokens, judge_completion_tokens), (400, 12));
    for row in &result.rows {
        assert_eq!(row.metadata()["total_tokens"], 6);
        assert_eq!(row.call.as_ref().unwrap().attempts, 1);
    }
    let json: Value = serde_json::from_str(&result.to_json()).unwrap();
    assert_eq!(json["counts"]["p"]["judge_requests"], 4);
    // Requests that failed were sent all the same.
    let judge = ChatServer::start(|_: &_| Reply::status(400));
    let result = run(&system, settings(&judge), None).await;
    assert_eq!(result.counts["p"].judge_requests, 2);
    assert_eq!(result.counts["p"].unscored, 2);
}

#[tokio::test]
async fn a_verdict_is_asked_for_once_per_content() {
    let system = ChatServer::start(handlers::constant("Lyon"));
    let judge = ChatServer::start(handlers::constant("[[4]] m"));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let base = || settings(&judge);
    let template = |text: &str| Some(JudgeTemplate::parse(text).unwrap());
    let mut same = base();
    same.timeout = Duration::from_secs(7);
    same.max_in_flight = 1;
    same.api_key = Some("sk-1".into());
    let body = json!({"seed": 1}).as_object().unwrap().clone();
    let steps: Vec<(&str, LlmJudgeSettings, bool)> = vec![
        ("the first time", base(), true),
        ("nothing", base(), false),
        ("timeout, key", same, false),
        (
            "rubric",
            {
                let mut settings = base();
                settings.rubric = Some("be strict".into());
                settings
            },
            true,
        ),
        (
            "the same rubric",
            {
                let mut settings = base();
                settings.rubric = Some("be strict".into());
                settings
            },
            false,
        ),
        (
            "template",
            {
                let mut settings = base();
                settings.template = template("{response}");
                settings
            },
            true,
        ),
        (
            "another template",
            {
                let mut settings = base();
                settings.template = template("{response}?");
                settings
            },
            true,
        ),
        (
            "scale",
            {
                let mut settings = base();
                settings.mode = JudgeMode::Rating {
                    scale: Scale::new(1.0, 10.0).unwrap(),
                };
                settings
            },
            true,
        ),
        (
            "reference",
            {
                let mut settings = base();
                settings.reference = Reference::Off;
                settings
            },
            true,
        ),
        (
            "model",
            {
                let mut settings = base();
                settings.model = "other".into();
                settings
            },
            true,
        ),
        (
            "url",
            {
                let mut settings = base();
                settings.base_url = format!("{}/v1?a=b", judge.url());
                settings
            },
            true,
        ),
        (
            "max_tokens",
            {
                let mut settings = base();
                settings.max_tokens = Some(5);
                settings
            },
            true,
        ),
        (
            "temperature",
            {
                let mut settings = base();
                settings.temperature = Some(0.5);
                settings
            },
            true,
        ),
        (
            "body",
            {
                let mut settings = base();
                settings.extra_body = body;
                settings
            },
            true,
        ),
        ("nothing again", base(), false),
    ];
    for (what, settings, asks) in steps {
        let before = judge.request_count();
        let result = run(&system, settings, Some(&store)).await;
        let sent = judge.request_count() - before;
        assert_eq!(sent, if asks { 2 } else { 0 }, "{what}");
        assert_eq!(result.counts["p"].judge_requests, sent as u64, "{what}");
        assert_eq!(result.counts["p"].scored, 2, "{what}");
    }
    assert_eq!(system.request_count(), 2);
}

/// The original tool's worked cases, with its judge's replies from a server.
#[test]
fn worked_cases_of_the_judge() {
    // A judge that fails or says nothing leaves the row unscored.
    const UNSCORED: &str = r#"{"judge_score": null}"#;
    const DIFFERENCES: worked::Differences = &[("cb-0242", UNSCORED), ("cb-0244", UNSCORED)];
    worked::check("LLMJudge", DIFFERENCES, |input| {
        let reply = match input["judge_reply"].as_str() {
            Some(text) => Reply::text(text),
            None => Reply::status(400),
        };
        let server = ChatServer::start(move |_: &_| reply.clone());
        let judge = LlmJudge::new(settings(&server)).unwrap();
        if input["judge_error"] == true {
            let example = Example::try_from(input["original"].clone()).unwrap();
            let output = Output::from(input["processed"].as_object().unwrap().clone());
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let scores = runtime.block_on(judge.score(&example, &output)).ok();
            let score = scores.and_then(|scores| scores.value("judge_score"));
            return json!({"judge_score": score});
        }
        worked::scores(&judge, input)
    });
}
