//! Content addressing: a change of anything that can change an answer or a score
//! misses what is stored; a change of nothing hits it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_bench::evaluator::{AnswerQuality, LlmJudge, LlmJudgeSettings, SummarizationQuality};
use context_bench::store::Store;
use context_bench::system::transform::{Budget, Keep, Truncate};
use context_bench::system::{
    CommandSettings, CommandSystem, ContextLayer, OpenAiProxy, OpenAiProxySettings, from_fn,
};
use context_bench::tokens::Tokenizer;
use context_bench::{
    Dataset, EvalResult, Evaluator, Example, FailureKind, Output, System, evaluate,
};
use context_bench_scoring::text::rouge::RougeTokens;
use context_bench_testkit::{ChatServer, handlers};
use serde_json::json;

fn question() -> Example {
    Example::new()
        .with("id", "q")
        .with("context", "Paris is the capital of France.")
        .with("question", "What is the capital of France?")
        .with("answer", "Paris")
}

async fn run(
    store: &Store,
    system: Arc<dyn System>,
    example: Example,
    evaluators: Vec<Arc<dyn Evaluator>>,
) -> EvalResult {
    evaluate()
        .systems([system])
        .dataset(vec![example])
        .evaluators(evaluators)
        .store(store.clone())
        .run()
        .await
        .unwrap()
}

fn quality() -> Vec<Arc<dyn Evaluator>> {
    vec![Arc::new(AnswerQuality)]
}

#[tokio::test]
async fn one_setting_at_a_time_misses_and_none_hits() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let base = || {
        let mut settings = OpenAiProxySettings::new(server.url());
        settings.model = "m".into();
        settings.name = Some("p".into());
        settings.system_prompt = Some("Be brief.".into());
        settings.extra_body = json!({"temperature": 0}).as_object().unwrap().clone();
        settings
    };
    let proxy =
        |settings| Arc::new(OpenAiProxy::with_settings(settings).unwrap()) as Arc<dyn System>;
    run(&store, proxy(base()), question(), quality()).await;

    let body = |value: serde_json::Value| value.as_object().unwrap().clone();
    let changed: Vec<(&str, OpenAiProxySettings)> = vec![
        ("url", {
            let mut settings = base();
            settings.base_url = format!("{}/other/v1", server.url());
            settings
        }),
        ("query", {
            let mut settings = base();
            settings.base_url = format!("{}/v1?api-version=2", server.url());
            settings
        }),
        ("model", {
            let mut settings = base();
            settings.model = "n".into();
            settings
        }),
        ("prompt", {
            let mut settings = base();
            settings.system_prompt = Some("Be long.".into());
            settings
        }),
        ("no prompt", {
            let mut settings = base();
            settings.system_prompt = None;
            settings
        }),
        ("temperature", {
            let mut settings = base();
            settings.extra_body = body(json!({"temperature": 1}));
            settings
        }),
        ("another parameter", {
            let mut settings = base();
            settings.extra_body = body(json!({"temperature": 0, "seed": 1}));
            settings
        }),
        ("streaming", {
            let mut settings = base();
            settings.stream = true;
            settings
        }),
    ];
    for (what, settings) in changed {
        let system = proxy(settings);
        let result = run(&store, Arc::clone(&system), question(), quality()).await;
        assert_eq!(result.counts["p"].cached, 0, "{what} must miss");
        let again = run(&store, system, question(), quality()).await;
        // A path that the endpoint does not know fails, and failures are not kept.
        if result.counts["p"].failed == 0 {
            assert_eq!(
                again.counts["p"].cached, 1,
                "{what} must hit the second time"
            );
        }
    }
    let fields = [
        ("context", "Paris is large."),
        ("question", "Which city?"),
        ("answer", "Lyon"),
        ("id", "r"),
        ("extra", ""),
    ];
    for (key, value) in fields {
        let result = run(
            &store,
            proxy(base()),
            question().with(key, value),
            quality(),
        )
        .await;
        assert_eq!(result.counts["p"].cached, 0, "{key} must miss");
    }
    // What cannot change an answer changes nothing.
    let requests = server.request_count();
    let same: Vec<(&str, OpenAiProxySettings)> = vec![
        ("nothing", base()),
        ("timeout", {
            let mut settings = base();
            settings.timeout = std::time::Duration::from_secs(7);
            settings
        }),
        ("retries", {
            let mut settings = base();
            settings.max_retries = 9;
            settings
        }),
        ("key", {
            let mut settings = base();
            settings.api_key = Some("sk-1".into());
            settings
        }),
        ("name", {
            let mut settings = base();
            settings.name = Some("p".into());
            settings
        }),
    ];
    for (what, settings) in same {
        let result = run(&store, proxy(settings), question(), quality()).await;
        assert_eq!(result.counts["p"].cached, 1, "{what} must hit");
    }
    let reordered: Example = question().into_fields().into_iter().rev().collect();
    let result = run(&store, proxy(base()), reordered, quality()).await;
    assert_eq!(
        result.counts["p"].cached, 1,
        "the order of keys is no content"
    );
    assert_eq!(server.request_count(), requests);
}

#[tokio::test]
async fn scores_are_keyed_apart_from_answers() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let judge = ChatServer::start(handlers::constant("5"));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let proxy = || Arc::new(OpenAiProxy::new(server.url()).unwrap()) as Arc<dyn System>;
    run(&store, proxy(), question(), quality()).await;
    let judged = |model: &str| -> Vec<Arc<dyn Evaluator>> {
        let mut settings = LlmJudgeSettings::new(judge.url());
        settings.model = model.into();
        vec![
            Arc::new(AnswerQuality),
            Arc::new(LlmJudge::new(settings).unwrap()),
        ]
    };
    for (evaluators, asked) in [
        (judged("a"), 1),
        (judged("a"), 1),
        (judged("b"), 2),
        (judged("a"), 2),
    ] {
        let result = run(&store, proxy(), question(), evaluators).await;
        assert_eq!(result.rows[0].score("judge_score"), Some(1.0));
        assert!(result.rows[0].cached);
        assert_eq!(judge.request_count(), asked);
    }
    let rouge = |tokens| vec![Arc::new(SummarizationQuality::new(tokens)) as Arc<dyn Evaluator>];
    for tokens in [RougeTokens::Whitespace, RougeTokens::Google { stem: true }] {
        let result = run(&store, proxy(), question(), rouge(tokens)).await;
        assert_eq!(result.rows[0].score("rouge_l_f1"), Some(1.0));
    }
    assert_eq!(server.request_count(), 1, "the system was asked once");
}

#[tokio::test]
async fn layers_commands_and_functions_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let cached = async |system: Arc<dyn System>| {
        let name = system.name().to_owned();
        run(&store, system, question(), quality()).await.counts[&name].cached
    };
    let layer = |keep, ratio| {
        let budget = Budget::ratio(ratio).unwrap();
        let truncate = Truncate::new(keep, budget, Tokenizer::Cl100kBase.counter()).unwrap();
        let reader = Arc::new(context_bench::system::Reader);
        Arc::new(ContextLayer::new("layer", Arc::new(truncate), reader)) as Arc<dyn System>
    };
    for (keep, ratio, expected) in [
        (Keep::Head, 0.5, 0),
        (Keep::Head, 0.5, 1),
        (Keep::Head, 0.6, 0),
        (Keep::Tail, 0.5, 0),
        (Keep::Head, 0.5, 1),
    ] {
        assert_eq!(
            cached(layer(keep, ratio)).await,
            expected,
            "{keep:?} {ratio}"
        );
    }
    let function = |version: Option<&str>| -> Arc<dyn System> {
        let system = from_fn("f", |e| Ok(Output::reply(e, "Paris")));
        match version {
            Some(version) => Arc::new(system.with_version(version)),
            None => Arc::new(system),
        }
    };
    // Code without a version is never reused; with one it is.
    for (version, expected) in [
        (None, 0),
        (None, 0),
        (Some("1"), 0),
        (Some("1"), 1),
        (Some("2"), 0),
    ] {
        assert_eq!(cached(function(version)).await, expected, "{version:?}");
    }
    let script = folder.path().join("system.py");
    let write = |answer: &str| {
        let code = format!(
            "import json, sys\nfor line in sys.stdin:\n    e = json.loads(line)\n    e['response'] = '{answer}'\n    print(json.dumps(e), flush=True)\n"
        );
        std::fs::write(&script, code).unwrap();
    };
    let command = |version: Option<&str>| {
        let mut settings = CommandSettings::new(["python3", script.to_str().unwrap()]);
        settings.name = Some("c".into());
        settings.version = version.map(str::to_owned);
        Arc::new(CommandSystem::new(settings).unwrap()) as Arc<dyn System>
    };
    write("Paris");
    assert_eq!(cached(command(None)).await, 0);
    assert_eq!(cached(command(None)).await, 1);
    assert_eq!(cached(command(Some("2"))).await, 0);
    write("Rome");
    assert_eq!(cached(command(None)).await, 0, "an edited script must miss");
}

#[tokio::test]
async fn failures_are_not_kept_as_answers_and_original_costs_are() {
    let server = ChatServer::start(handlers::sequence(vec![
        context_bench_testkit::Reply::status(400),
        context_bench_testkit::Reply::text("Paris").usage(11, 2),
    ]));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let proxy = || {
        let mut settings = OpenAiProxySettings::new(server.url());
        settings.name = Some("p".into());
        Arc::new(OpenAiProxy::with_settings(settings).unwrap()) as Arc<dyn System>
    };
    assert_eq!(
        run(&store, proxy(), question(), quality()).await.counts["p"].failed,
        1
    );
    let first = run(&store, proxy(), question(), quality()).await;
    assert_eq!(first.counts["p"].scored, 1);
    let second = run(&store, proxy(), question(), quality()).await;
    let (a, b) = (&first.rows[0], &second.rows[0]);
    assert!(b.cached && !a.cached);
    assert_eq!(
        (a.latency, a.metadata(), a.input_tokens, a.output_tokens),
        (b.latency, b.metadata(), b.input_tokens, b.output_tokens)
    );
    assert_eq!(b.metadata()["total_tokens"], 13);
    assert_eq!(
        a.call.as_ref().map(|c| c.attempts),
        b.call.as_ref().map(|c| c.attempts)
    );
    assert_eq!(second.counts["p"].requests, 0);
    assert_eq!(server.request_count(), 2);
}

/// A system whose answers may be reused, with the number of its calls.
fn counted_system() -> (Arc<dyn System>, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let system = from_fn("f", move |example| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(Output::reply(example, example.context()))
    });
    (Arc::new(system.with_version("1")), calls)
}

fn numbered(n: usize) -> Vec<Example> {
    (0..n)
        .map(|i| {
            question()
                .with("id", i)
                .with("context", format!("Paris {i}"))
        })
        .collect()
}

/// What another program does to the file of a store.
fn tamper(store: &Store, sql: &str) {
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn what_cannot_be_looked_up_is_failed_and_not_paid_for_again() {
    type Break = (
        &'static str,
        &'static str,
        Vec<Arc<dyn Evaluator>>,
        &'static str,
    );
    let breaks: [Break; 2] = [
        (
            "ALTER TABLE responses RENAME TO gone",
            "ALTER TABLE gone RENAME TO responses",
            quality(),
            "no such table: responses",
        ),
        // The look-up works and says that something is to be scored; the output does not.
        (
            "ALTER TABLE responses RENAME COLUMN output TO gone",
            "ALTER TABLE responses RENAME COLUMN gone TO output",
            vec![Arc::new(SummarizationQuality::default())],
            "no such column: output",
        ),
    ];
    for (hide, restore, evaluators, reason) in breaks {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap().store;
        let (system, calls) = counted_system();
        let run = async |dataset: Dataset, evaluators: Vec<Arc<dyn Evaluator>>| {
            evaluate()
                .systems([Arc::clone(&system)])
                .dataset(dataset)
                .evaluators(evaluators)
                .store(store.clone())
                .run()
                .await
                .unwrap()
        };
        run(numbered(6).into(), quality()).await;
        assert_eq!(calls.load(Ordering::SeqCst), 6);

        // Of a stream each example is looked up before the next one is read.
        let breaking = store.clone();
        let stream = numbered(6)
            .into_iter()
            .enumerate()
            .map(move |(i, example)| {
                if i == 2 {
                    tamper(&breaking, hide);
                }
                Ok(example)
            });
        let result = run(Dataset::from_results(stream), evaluators).await;
        assert_eq!(calls.load(Ordering::SeqCst), 6, "paid for again: {hide}");
        let counts = &result.counts["f"];
        assert_eq!((counts.scored, counts.failed, counts.cached), (2, 4, 2));
        for row in &result.rows[2..] {
            let failure = row.failure.as_deref().unwrap();
            assert_eq!(failure.kind, FailureKind::Store);
            assert!(failure.message.contains(reason), "{failure:?}");
            assert!(failure.message.ends_with("nothing was asked"));
            assert!(failure.kind.hint().unwrap().contains("--cache-dir"));
            assert_eq!(
                (row.cached, row.output_tokens, row.latency),
                (false, 0, 0.0)
            );
        }
        let kept = result.store.as_ref().unwrap();
        assert_eq!(kept.unread, 4);
        assert!(kept.unread_reason.as_ref().unwrap().contains(reason));
        let json: serde_json::Value = serde_json::from_str(&result.to_json()).unwrap();
        assert_eq!(json["store"]["unread"], 4);
        assert!(result.gave_up.is_empty(), "{:?}", result.gave_up);

        // Once it can be read again, only what is missing is asked.
        tamper(&store, restore);
        let result = run(numbered(8).into(), quality()).await;
        assert_eq!(calls.load(Ordering::SeqCst), 8);
        assert_eq!(result.counts["f"].scored, 8);
        let json: serde_json::Value = serde_json::from_str(&result.to_json()).unwrap();
        assert!(json["store"].get("unread").is_none(), "{}", json["store"]);
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_read_does_not_keep_others_from_being_asked() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let (known, calls) = counted_system();
    // Nothing of this one is ever in a store, so nothing can be missed.
    let unknown = Arc::new(from_fn("g", |e| Ok(Output::reply(e, "Paris")))) as Arc<dyn System>;
    let breaking = store.clone();
    let stream = numbered(5)
        .into_iter()
        .enumerate()
        .map(move |(i, example)| {
            if i == 0 {
                tamper(&breaking, "ALTER TABLE responses RENAME TO gone");
            }
            Ok(example)
        });
    let result = evaluate()
        .systems([known, unknown])
        .dataset(Dataset::from_results(stream))
        .evaluator(AnswerQuality)
        .store(store)
        .run()
        .await
        .unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    assert_eq!(result.counts["f"].failed, 5);
    assert_eq!(result.counts["g"].scored, 5);
    assert_eq!(result.store.unwrap().unread, 5);
}
