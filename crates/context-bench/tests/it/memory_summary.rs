//! The memory `summary` against a real loopback endpoint that keeps notes and answers.

use std::sync::Arc;
use std::time::Duration;

use context_bench::error::Hint as _;
use context_bench::memory::check::{CheckSettings, check_memory};
use context_bench::memory::{
    MemoryAnswer, MemoryProvider, MemoryQuery, MemorySystem, SummaryError, SummaryMemory,
    SummarySettings, Turn,
};
use context_bench::system::{OpenAiProxy, OpenAiProxySettings, Reader, SystemError};
use context_bench::tokens::Tokenizer;
use context_bench::{Example, FailureKind, System};
use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

/// A model that notes every line which says what something is, and answers with the last
/// note on what it is asked for.
fn careful_model(request: &Request) -> Reply {
    let said = request.last_user_content();
    if let Some((known, new)) = said.split_once("\n\nSaid since then:\n") {
        let known = known.trim_start_matches("Notes so far:\n");
        let known = known.lines().filter(|line| *line != "(none)");
        let facts = known
            .chain(new.lines())
            .filter(|line| line.contains(" is "));
        return Reply::text(facts.collect::<Vec<_>>().join("\n")).usage(10, 2);
    }
    let messages = request.json()["messages"].clone();
    let texts = messages.as_array().unwrap().iter();
    let texts: Vec<&str> = texts.filter_map(|m| m["content"].as_str()).collect();
    let text = texts.join("\n");
    let question = text.rsplit("What is ").next().unwrap_or_default();
    let subject = question.trim().trim_end_matches('?');
    let subject = subject.trim_end_matches(" now").to_lowercase();
    let mut lines = text.lines().rev();
    let found = lines.find(|line| !line.contains('?') && line.to_lowercase().contains(&subject));
    Reply::text(found.unwrap_or("I do not know.").to_owned()).usage(5, 1)
}

fn endpoint(server: &ChatServer) -> Arc<dyn System> {
    let mut settings = OpenAiProxySettings::new(server.url());
    settings.timeout = Duration::from_secs(60);
    settings.max_retries = 0;
    Arc::new(OpenAiProxy::with_settings(settings).unwrap())
}

fn memory(server: &ChatServer, settings: &str) -> SummaryMemory {
    let model = endpoint(server);
    SummaryMemory::new(
        "summary",
        settings.parse().unwrap(),
        Some(Arc::clone(&model)),
        model,
        Tokenizer::Whitespace.counter(),
    )
    .unwrap()
}

fn turns(sessions: &[&[&str]]) -> Vec<Turn> {
    let mut turns = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        for text in *session {
            let mut turn = Turn::new(format!("{}", turns.len()), "user", *text);
            turn.session = Some(format!("{number}").into());
            turns.push(turn);
        }
    }
    turns
}

async fn ask(
    memory: &dyn MemorySystem,
    question: &str,
    budget_tokens: Option<u64>,
) -> Result<MemoryAnswer, SystemError> {
    let example = Example::new().with("question", question);
    let query = MemoryQuery {
        question,
        asked: None,
        budget_tokens,
        evidence: None,
        example: &example,
    };
    memory.query(&query).await
}

#[tokio::test]
async fn notes_are_written_anew_after_each_session_and_answered_from() {
    let server = ChatServer::start(careful_model);
    let memory = memory(&server, "summary:turns=1").open().await.unwrap();
    let told = turns(&[
        &["The cat is called Tom", "Nice day"],
        &["The dog is called Rex", "Bye"],
    ]);
    let ingest = memory.ingest(&told).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for (request, expected) in requests.iter().zip([
        "Notes so far:\n(none)\n\nSaid since then:\nuser: The cat is called Tom\nuser: Nice day",
        "Notes so far:\nuser: The cat is called Tom\n\nSaid since then:\nuser: The dog is called Rex\nuser: Bye",
    ]) {
        assert_eq!(request.body["messages"][1]["content"], expected);
        assert_eq!(request.body["max_tokens"], 600);
        let system = request.body["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("at most 450 words"), "{system}");
    }
    assert_eq!(ingest.tokens, Some(17));
    assert_eq!(ingest.call.unwrap().attempts, 2);
    let usage = Value::Object(ingest.usage.unwrap());
    assert_eq!(
        usage,
        json!({"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24})
    );
    assert_eq!(ingest.details["model_calls"], 2);
    assert_eq!(ingest.details["summary_tokens"], 12);
    assert!(ingest.details["model_seconds"].is_f64());

    let answer = ask(&*memory, "What is the dog?", None).await.unwrap();
    let context = "Notes on the conversation:\nuser: The cat is called Tom\nuser: The dog is called Rex\n\nLast turns:\nuser: Bye";
    assert_eq!(answer.context.as_deref(), Some(context));
    assert_eq!(answer.context_tokens, Some(20));
    assert_eq!(answer.answer, "user: The dog is called Rex");
    assert_eq!(answer.recalled, None);
    assert!(answer.times.retrieve.is_some() && answer.times.answer.is_some());
    let output = answer.output.unwrap();
    assert_eq!(output.api_usage().unwrap()["prompt_tokens"], 5);
}

#[tokio::test]
async fn a_state_is_saved_and_loaded_without_asking_the_model() {
    let server = ChatServer::start(careful_model);
    let provider = memory(&server, "summary");
    let first = provider.open().await.unwrap();
    let told = turns(&[&["The cat is called Tom"]]);
    first.ingest(&told).await.unwrap();
    let state = first.save().await.unwrap().unwrap();
    let asked = server.request_count();
    let second = provider.open().await.unwrap();
    assert!(second.load(&state).await.unwrap());
    assert_eq!(server.request_count(), asked);
    let answers = (
        ask(&*first, "What is the cat?", None).await.unwrap(),
        ask(&*second, "What is the cat?", None).await.unwrap(),
    );
    assert_eq!(answers.0.context, answers.1.context);
    assert!(!second.load(b"damaged").await.unwrap());
    second.reset().await.unwrap();
    let empty = ask(&*second, "What is the cat?", None).await.unwrap();
    assert_eq!(empty.context.as_deref(), Some(""));
    assert_eq!(empty.answer, "I do not know.");
}

#[tokio::test]
async fn notes_and_contexts_keep_to_their_limits() {
    let long = "word ".repeat(50);
    let server = ChatServer::start(move |_| Reply::text(long.clone()));
    let memory = memory(&server, "summary:summary_tokens=20,budget_tokens=30");
    let memory = memory.open().await.unwrap();
    let ingest = memory.ingest(&turns(&[&["a b", "c d"]])).await.unwrap();
    assert_eq!(ingest.details["summary_tokens"], 20);
    assert_eq!(ingest.details["summaries_cut"], 1);
    for (budget, tokens) in [
        // 4 words of heading, 20 of notes; 2 of heading, 3 of each turn.
        (None, 29),
        (Some(28), 24),
        (Some(10), 10),
        (Some(1), 1),
        (Some(0), 0),
        (Some(1000), 29),
    ] {
        let answer = ask(&*memory, "What?", budget).await.unwrap();
        assert_eq!(answer.context_tokens, Some(tokens), "{budget:?}");
    }
}

#[tokio::test]
async fn a_model_that_fails_or_writes_nothing_fails_the_ingest() {
    for (reply, kind, message) in [
        (
            Reply::text(" "),
            FailureKind::BadReply,
            "the model wrote an empty summary",
        ),
        (
            Reply::text("<think>What matters?</think>\n"),
            FailureKind::BadReply,
            "the model wrote an empty summary",
        ),
        (Reply::status(500), FailureKind::ServerError, "500"),
    ] {
        // The second call of two.
        let server = ChatServer::start(move |request| match request.index {
            0 => Reply::text("<think>Well.</think> Notes."),
            1 => reply.clone(),
            _ => Reply::text("Fine."),
        });
        let memory = memory(&server, "summary").open().await.unwrap();
        let told = turns(&[&["a"], &["b"]]);
        let error = memory.ingest(&told).await.unwrap_err();
        assert_eq!(error.failure.kind, kind);
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.call.unwrap().attempts, 2);
        let sent = server.requests();
        let said = sent[1].body["messages"][1]["content"].as_str().unwrap();
        assert!(said.starts_with("Notes so far:\nNotes.\n\n"), "{said}");
        // Nothing was taken in.
        let answer = ask(&*memory, "What?", None).await.unwrap();
        assert_eq!(answer.context.as_deref(), Some(""));
    }
}

#[test]
fn without_a_model_there_is_no_summary() {
    let counter = Tokenizer::Whitespace.counter();
    let settings = SummarySettings::default();
    let made = SummaryMemory::new("summary", settings, None, Arc::new(Reader), counter);
    let error = made.err().unwrap();
    assert_eq!(error, SummaryError::NoModel);
    assert_eq!(error.to_string(), "`summary` needs a model");
    assert!(error.hint().unwrap().contains("--relay URL"));
}

#[test]
fn identities_name_what_changes_notes_and_answers() {
    let server = ChatServer::start(careful_model);
    let of = |settings: &str| {
        let memory = memory(&server, settings);
        (memory.identity().unwrap(), memory.state_identity().unwrap())
    };
    let usual = of("summary");
    assert_eq!(usual, of("summary"));
    for (settings, keeps_state) in [
        ("summary:turns=1", true),
        ("summary:budget_tokens=50", true),
        ("summary:summary_tokens=50", false),
        ("summary:chunk_tokens=50", false),
    ] {
        let other = of(settings);
        assert_ne!(other.0, usual.0, "{settings}");
        assert_eq!(other.1 == usual.1, keeps_state, "{settings}");
    }
}

#[tokio::test]
async fn a_summary_by_a_careful_model_passes_the_check() {
    let server = ChatServer::start(careful_model);
    let mut settings = CheckSettings::default();
    settings.conversations = 3;
    let memory = Arc::new(memory(&server, "summary"));
    let report = check_memory(memory, settings, Arc::new(|_| {})).await;
    assert!(report.passed(), "{}", report.to_text());
    let text = report.to_text();
    assert!(text.contains("0 failed, 8 held"), "{text}");
}
