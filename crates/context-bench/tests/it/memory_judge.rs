//! The judges of answers from memory against a real endpoint: what they ask, and what
//! verdicts, missing verdicts and failures become. Recorded grades of real answers, put into
//! the words of models, come back exactly.

use std::collections::HashMap;
use std::time::Duration;

use context_bench::evaluator::{JudgeRule, LlmJudgeSettings, OfficialJudge, OfficialJudgeSettings};
use context_bench::metric::MeanScore;
use context_bench::store::Store;
use context_bench::{Evaluator, Example, Output, Scores, evaluate, system};
use context_bench_memory::judge as asked;
use context_bench_scoring::official::longmemeval;
use context_bench_testkit::{ChatServer, Reply, Request, needs_shared};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::worked::{self, records};

const RULES: [JudgeRule; 2] = [JudgeRule::Memory, JudgeRule::FalseMemory];

fn judge(rule: JudgeRule, server: &ChatServer) -> OfficialJudge {
    let mut judge = LlmJudgeSettings::new(server.url());
    judge.max_retries = 0;
    OfficialJudge::new(OfficialJudgeSettings::new(rule, judge)).unwrap()
}

fn question() -> Example {
    Example::new()
        .with("id", "c_0")
        .with("question", "When did Ada move?")
        .with("answer", "in May")
        .with("type", "multi-session")
        .with("context", "USER: I moved in May.")
}

async fn score(
    rule: JudgeRule,
    server: &ChatServer,
    example: &Example,
    response: &str,
) -> Result<Scores, String> {
    let output = Output::reply(example, response);
    let scored = judge(rule, server).score(example, &output).await;
    scored.map_err(|error| error.0)
}

/// A yes in the words of models, or a no.
fn worded(yes: bool, at: usize) -> Reply {
    let (said, other) = if yes { ("YES", "no") } else { ("NO", "yes") };
    let lower = said.to_lowercase();
    let texts = [
        said.to_owned(),
        format!("{lower}."),
        format!("**{said}**\nIt gives the same month."),
        format!("{said}\nThe right answer reads otherwise, {other} or not."),
        format!("Verdict: {said} – compared in full."),
        format!("  \n\n{said}\n\nReason: as stated."),
        format!("{{\"verdict\": \"{lower}\"}}"),
        format!("```json\n{{\"verdict\": \"{said}\"}}\n```"),
        format!("<think>Could it be {other}? Hardly.</think>\n\n{said}"),
        format!("It might be {other} at first sight.</think>{said}"),
        format!("[{said}]"),
        format!("- {said}, in essence."),
        format!("1) {said}"),
        format!("`{lower}`"),
        format!("{said}!"),
        format!("Answer: {lower}\n\nExplanation: the dates agree."),
        format!("\u{201c}{said}\u{201d}"),
        format!("<b>{lower}</b>"),
    ];
    match at % (texts.len() + 1) {
        // The reason was cut, the verdict was not.
        0 => Reply::text(format!("{said}\nThe answer says that the")).finish_reason("length"),
        n => Reply::text(texts[n - 1].as_str()),
    }
}

/// What is no verdict.
fn missing() -> Vec<Reply> {
    vec![
        Reply::text("Maybe"),
        Reply::text(""),
        Reply::text("Correct."),
        Reply::text("nope, not yesterday"),
        Reply::text("5"),
        Reply::text("I'm sorry, but I can't help with that."),
        Reply::text("<think>There is no such date, yes"),
        Reply::text("x").null_content(),
        Reply::text("").finish_reason("length"),
        Reply::text("I compare them. There is no").finish_reason("length"),
        Reply::text("").finish_reason("content_filter"),
        Reply::text("It says no").finish_reason("content_filter"),
        Reply::text("There is no").finish_reason("max_tokens"),
        Reply::text("I say no").finish_reason("refusal"),
        Reply::json(json!({"choices": [{"message": {"content": null, "refusal": "No."}}]})),
        Reply::json(json!({"verdict": "YES"})),
        Reply::empty_choices(),
        Reply::invalid_json(),
        Reply::truncated("YES"),
        Reply::status(500),
        Reply::status(400).message("YES is not a model"),
        Reply::status(401),
        Reply::close(),
        Reply::reset(),
    ]
}

/// Whether nothing was scored, and it says why.
fn is_unscored(rule: JudgeRule, scored: &Result<Scores, String>) -> bool {
    match scored {
        Ok(scores) => rule.score_names().iter().all(|name| {
            let score = scores.get(name).unwrap();
            score.is_unscored() && score.reason().is_some_and(|why| !why.is_empty())
        }),
        Err(why) => why.starts_with("the judge failed"),
    }
}

#[tokio::test]
async fn one_request_of_64_tokens_decides() {
    let server = ChatServer::start(|_: &Request| Reply::text("YES\nSame month."));
    let memory = score(JudgeRule::Memory, &server, &question(), "May {gold}").await;
    let memory = memory.unwrap();
    assert_eq!(memory.value("memory_judge"), Some(1.0));
    assert_eq!(memory.get("memory_judge"), memory.get("memory_judge_raw"));
    let reason = memory.get("memory_judge").unwrap().reason().unwrap();
    assert!(reason.contains("Same month."), "{reason}");
    let wrong = score(JudgeRule::FalseMemory, &server, &question(), "in June").await;
    assert_eq!(wrong.unwrap().value("false_memory"), Some(1.0));
    let sent = server.requests();
    assert_eq!(sent.len(), 2);
    let expected = [
        asked::prompt("When did Ada move?", "in May", "May {gold}"),
        asked::false_memory_prompt(
            "When did Ada move?",
            "USER: I moved in May.",
            "in May",
            "in June",
        ),
    ];
    for (request, expected) in sent.iter().zip(expected) {
        let body = &request.body;
        let messages = json!([{"role": "user", "content": expected}]);
        assert_eq!(body["messages"], messages);
        assert_eq!(
            (&body["max_tokens"], &body["temperature"]),
            (&json!(64), &json!(0))
        );
    }
}

#[tokio::test]
async fn what_needs_no_judge_costs_no_request() {
    let server = ChatServer::start(|_: &Request| Reply::text("YES"));
    for rule in RULES {
        let empty = score(rule, &server, &question(), " \n").await.unwrap();
        for name in rule.score_names() {
            assert_eq!(empty.value(name), Some(0.0), "{name}");
        }
    }
    let no_gold = Example::new().with("question", "When?");
    let scored = score(JudgeRule::Memory, &server, &no_gold, "in May").await;
    assert!(is_unscored(JudgeRule::Memory, &scored), "{scored:?}");
    assert!(!judge(JudgeRule::Memory, &server).applies_to(&no_gold));
    assert!(judge(JudgeRule::FalseMemory, &server).applies_to(&no_gold));
    assert_eq!(server.request_count(), 0);
    // Whether something was made up can be asked without a right answer.
    let scored = score(JudgeRule::FalseMemory, &server, &no_gold, "in May").await;
    assert_eq!(scored.unwrap().value("false_memory"), Some(1.0));
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn no_verdict_is_never_a_score() {
    for (at, reply) in missing().into_iter().enumerate() {
        let server = ChatServer::start(move |_: &Request| reply.clone());
        for rule in RULES {
            let scored = score(rule, &server, &question(), "in June").await;
            assert!(is_unscored(rule, &scored), "{at} {rule:?}: {scored:?}");
        }
    }
    let server = ChatServer::start(|_: &Request| Reply::hang());
    for rule in [
        JudgeRule::Memory,
        JudgeRule::FalseMemory,
        JudgeRule::LongMemEval,
    ] {
        let mut settings = LlmJudgeSettings::new(server.url());
        settings.max_retries = 0;
        settings.timeout = Duration::from_millis(50);
        let judge = OfficialJudge::new(OfficialJudgeSettings::new(rule, settings)).unwrap();
        let output = Output::reply(&question(), "in June");
        let failed = judge.score(&question(), &output).await;
        assert!(failed.unwrap_err().0.starts_with("the judge failed"));
    }
}

/// The authors' script takes what is not a yes for a no; what no judge has said is neither.
#[tokio::test]
async fn longmemeval_of_memory_runs() {
    for (reply, expected) in [
        (Reply::text("Maybe"), Some(0.0)),
        (Reply::text(""), Some(0.0)),
        (
            Reply::text("No, the response does not").finish_reason("length"),
            Some(0.0),
        ),
        (
            Reply::text("Yes, the response says").finish_reason("length"),
            Some(1.0),
        ),
        (Reply::text("").finish_reason("length"), None),
        (
            Reply::text("The response says that").finish_reason("length"),
            None,
        ),
        (Reply::text("").finish_reason("content_filter"), None),
        (Reply::text("x").null_content(), None),
    ] {
        let server = ChatServer::start({
            let reply = reply.clone();
            move |_: &Request| reply.clone()
        });
        let scored = score(JudgeRule::LongMemEval, &server, &question(), "in June").await;
        let scores = scored.unwrap();
        let score = scores.get("longmemeval").unwrap();
        assert_eq!(score.get(), expected, "{reply:?}");
        assert_eq!(score.is_unscored(), expected.is_none());
    }
    // Questions that the history does not answer, by what marks them.
    let server = ChatServer::start(|_: &Request| Reply::text("yes"));
    for example in [
        question().with("id", "c_abs_0"),
        question().with("abstention", true),
        question()
            .with("abstention", true)
            .with("type", "of another benchmark"),
    ] {
        let scored = score(JudgeRule::LongMemEval, &server, &example, "Unknown").await;
        assert_eq!(scored.unwrap().value("longmemeval"), Some(1.0));
        let body = server.requests().last().unwrap().body.clone();
        let kind = longmemeval::Kind::Abstention;
        let expected = kind.prompt("When did Ada move?", "in May", "Unknown");
        assert_eq!(body["messages"][0]["content"], expected);
    }
    let answerable = question().with("abstention", false);
    score(JudgeRule::LongMemEval, &server, &answerable, "May")
        .await
        .unwrap();
    let body = server.requests().last().unwrap().body.clone();
    let prompt = longmemeval::Kind::Fact.prompt("When did Ada move?", "in May", "May");
    assert_eq!(body["messages"][0]["content"], prompt);
}

#[tokio::test]
async fn unscored_answers_are_counted_and_asked_about_again() {
    let server = ChatServer::start(|request: &Request| {
        let prompt = request.messages()[0]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        match prompt {
            prompt if prompt.contains("Answer: right") => Reply::text("YES"),
            prompt if prompt.contains("Answer: wrong") => Reply::text("NO"),
            _ => Reply::status(400),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    for (round, requests) in [(1, 3), (2, 4)] {
        let told = system::from_fn("s", |example: &Example| {
            Ok(Output::reply(
                example,
                example.stringified("said").into_owned(),
            ))
        });
        let examples = ["right", "wrong", "odd", ""];
        let examples = examples.map(|said| {
            question()
                .with("id", format!("c-{said}"))
                .with("said", said)
        });
        let result = evaluate()
            .system(told.with_version("1"))
            .dataset(examples.to_vec())
            .evaluator(judge(JudgeRule::Memory, &server))
            .metric(MeanScore::of("memory_judge"))
            .store(store.clone())
            .run()
            .await
            .unwrap();
        // One right, one wrong, one empty; the failed verdict is in no mean.
        assert_eq!(
            result.summary["s"].value("mean_score"),
            Some(1.0 / 3.0),
            "{round}"
        );
        let counts = &result.counts["s"];
        assert_eq!((counts.planned, counts.scored, counts.unscored), (4, 3, 1));
        assert_eq!(server.request_count(), requests, "{round}");
    }
}

/// One recorded answer with its grade.
struct Graded {
    example: Example,
    answer: String,
    right: bool,
}

impl Graded {
    fn new(id: &Value, question: &Value, gold: &Value, answer: &Value, right: bool) -> Self {
        let example = Example::new()
            .with("id", id.clone())
            .with("question", question.clone())
            .with("answer", gold.clone());
        let answer = answer.as_str().unwrap().to_owned();
        Self {
            example,
            answer,
            right,
        }
    }
}

/// Judges recorded answers with a judge that says what was recorded, in many wordings, and
/// at every seventh answer nothing that is a verdict.
async fn graded_again(rule: JudgeRule, graded: &[Graded], prompt: impl Fn(&Graded) -> String) {
    let missing = missing();
    let is_missing = |at: usize| at % 7 == 3;
    let mut replies = HashMap::new();
    for (at, one) in graded.iter().enumerate() {
        let reply = match (is_missing(at), rule) {
            // What its authors read as a no is none of these.
            (true, JudgeRule::LongMemEval) => Reply::status([400, 500, 401][at % 3]),
            (true, _) => missing[at % missing.len()].clone(),
            (false, JudgeRule::LongMemEval) => {
                let words = if one.right {
                    ["Yes.", "yes", "YES"]
                } else {
                    ["No.", "no", "NO"]
                };
                Reply::text(words[at % 3])
            }
            (false, _) => worded(one.right, at),
        };
        assert!(replies.insert(prompt(one), reply).is_none(), "asked twice");
    }
    let server = ChatServer::start(move |request: &Request| {
        let body = request.messages();
        let asked = body[0]["content"].as_str().unwrap_or_default();
        replies
            .get(asked)
            .cloned()
            .unwrap_or_else(|| Reply::text("never asked so"))
    });
    let judge = judge(rule, &server);
    let scored = join_all(graded.iter().map(|one| async {
        let output = Output::reply(&one.example, one.answer.as_str());
        judge
            .score(&one.example, &output)
            .await
            .map_err(|error| error.0)
    }));
    let main = rule.score_names()[0];
    for (at, (one, scored)) in graded.iter().zip(scored.await).enumerate() {
        if is_missing(at) {
            assert!(is_unscored(rule, &scored), "{at}: {scored:?}");
            continue;
        }
        let scores = scored.unwrap();
        let expected = f64::from(u8::from(one.right));
        assert_eq!(scores.value(main), Some(expected), "{at}: {scores:?}");
    }
    assert_eq!(server.request_count(), graded.len());
}

fn memory_prompt(one: &Graded) -> String {
    let text = |field| one.example.stringified(field);
    asked::prompt(&text("question"), &text("answer"), &one.answer)
}

#[needs_shared("data/responses/locomo.judged.jsonl")]
#[tokio::test]
async fn recorded_grades_of_locomo_come_back() {
    let records = records("data/responses/locomo.judged.jsonl");
    assert_eq!(records.len(), 1576);
    for round in ["judgment_1", "judgment_2", "judgment_3"] {
        let graded = records.iter().map(|record| {
            Graded::new(
                &record["question_id"],
                &record["question"],
                &record["golden_answer"],
                &record["generated_answer"],
                record["llm_judgments"][round].as_bool().unwrap(),
            )
        });
        let graded: Vec<Graded> = graded.collect();
        graded_again(JudgeRule::Memory, &graded, memory_prompt).await;
    }
}

#[needs_shared("data/responses/locomo.cognee_gemini.jsonl")]
#[tokio::test]
async fn recorded_grades_of_a_memory_system_come_back() {
    let records = records("data/responses/locomo.cognee_gemini.jsonl");
    let graded = records.iter().map(|record| {
        let right = record["correct"].as_bool().unwrap();
        let gold = &record["gold_answers"][0];
        Graded::new(
            &record["query_id"],
            &record["query"],
            gold,
            &record["answer"],
            right,
        )
    });
    let graded: Vec<Graded> = graded.collect();
    graded_again(JudgeRule::Memory, &graded, memory_prompt).await;
    // The other judge about the same answers: an answer that is wrong claims something else.
    let mut turned = graded;
    for one in &mut turned {
        one.right = !one.right;
    }
    graded_again(JudgeRule::FalseMemory, &turned, |one| {
        let text = |field| one.example.stringified(field);
        asked::false_memory_prompt(&text("question"), "", &text("answer"), &one.answer)
    })
    .await;
}

#[needs_shared(
    "data/responses/longmemeval.gemini-2.5-flash.jsonl",
    "data/responses/longmemeval.llama3.1-8b.jsonl"
)]
#[tokio::test]
async fn recorded_grades_of_longmemeval_come_back() {
    for file in ["gemini-2.5-flash", "llama3.1-8b"] {
        let records = records(&format!("data/responses/longmemeval.{file}.jsonl"));
        assert_eq!(records.len(), 250);
        let graded = records.iter().map(|record| {
            let right = match record["autoeval_label"]["label"].as_bool() {
                Some(right) => right,
                None => record["evaluation"]
                    .as_str()
                    .unwrap()
                    .eq_ignore_ascii_case("yes"),
            };
            let mut graded = Graded::new(
                &record["question_id"],
                &record["question"],
                &record["answer"],
                &record["hypothesis"],
                right,
            );
            graded.example = graded.example.with("type", record["question_type"].clone());
            graded
        });
        let graded: Vec<Graded> = graded.collect();
        graded_again(JudgeRule::Memory, &graded, memory_prompt).await;
        graded_again(JudgeRule::LongMemEval, &graded, |one| {
            let text = |field| one.example.stringified(field);
            let kind = longmemeval::Kind::of(&text("id"), &text("type")).unwrap();
            kind.prompt(&text("question"), &text("answer"), &one.answer)
        })
        .await;
    }
}

/// The original tool's worked cases, with its judge's replies from a server.
#[test]
fn worked_cases_of_the_memory_judge() {
    const UNSCORED: &str = r#"{"memory_judge": null, "memory_judge_raw": null}"#;
    const DIFFERENCES: worked::Differences = &[
        // A judge that fails, or says neither yes nor no.
        ("cb-0256", UNSCORED),
        ("cb-0446", UNSCORED),
        // No right answer to compare with.
        ("cb-0254", UNSCORED),
        ("cb-0447", UNSCORED),
    ];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    worked::check("MemoryJudge", DIFFERENCES, |input| {
        let reply = match input["judge_reply"].as_str() {
            Some(text) => Reply::text(text),
            None => Reply::status(503),
        };
        let server = ChatServer::start(move |_: &Request| reply.clone());
        let example = Example::try_from(input["original"].clone()).unwrap();
        let output = Output::from(input["processed"].as_object().unwrap().clone());
        let judge = judge(JudgeRule::Memory, &server);
        let scores = runtime.block_on(judge.score(&example, &output)).ok();
        let value = |name| scores.as_ref().and_then(|scores| scores.value(name));
        json!({"memory_judge": value("memory_judge"), "memory_judge_raw": value("memory_judge_raw")})
    });
}
