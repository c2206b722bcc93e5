//! The judges of benchmarks against a real endpoint: what they ask, how verdicts become
//! scores, and what malformed, missing and failing verdicts leave behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_bench::evaluator::{
    JudgeRule, LlmJudgeSettings, OfficialJudge, OfficialJudgeSettings, PatchOverlap,
};
use context_bench::{Evaluator, Example, Output, Scores};
use context_bench_scoring::official::{alpaca_eval, longmemeval, mt_bench};
use context_bench_scoring::stats::{JudgedPair, length_controlled};
use context_bench_testkit::{ChatServer, Reply, Request, needs_shared};
use serde_json::{Value, json};

use crate::worked::records;

fn judge(rule: JudgeRule, server: &ChatServer) -> OfficialJudge {
    let mut judge = LlmJudgeSettings::new(server.url());
    judge.max_retries = 0;
    OfficialJudge::new(OfficialJudgeSettings::new(rule, judge)).unwrap()
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

fn question() -> Example {
    Example::new()
        .with("id", "q1")
        .with("question", "Who built the mill?")
        .with("answer", "Ada Orrin")
        .with("type", "multi-session")
}

/// The text of the last message that a judge got.
fn asked(server: &ChatServer) -> String {
    let body = server.requests().last().unwrap().body.clone();
    let messages = body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn frames_decides_by_one_request() {
    for (reply, expected) in [
        (Reply::text("She is named.\nDecision: TRUE"), Ok(Some(1.0))),
        (Reply::text("Decision: FALSE"), Ok(Some(0.0))),
        (Reply::text("Hard to say."), Ok(None)),
        (Reply::status(500), Err("the judge failed")),
    ] {
        let server = ChatServer::start(move |_: &Request| reply.clone());
        let scored = score(JudgeRule::Frames, &server, &question(), "Ada did.").await;
        assert_eq!(server.request_count(), 1);
        match (scored, expected) {
            (Ok(scores), Ok(expected)) => {
                let score = scores.get("frames").unwrap();
                assert_eq!(score.get(), expected, "{scores:?}");
                assert_eq!(score.is_unscored(), expected.is_none());
            }
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, _) => panic!("{found:?}"),
        }
        let asked = asked(&server);
        for part in ["Who built the mill?", "Ada Orrin", "Ada did."] {
            assert!(asked.contains(part), "{asked}");
        }
    }
    // An empty answer is wrong, and nobody need be asked.
    let server = ChatServer::start(|_: &Request| Reply::text("TRUE"));
    let scores = score(JudgeRule::Frames, &server, &question(), " ")
        .await
        .unwrap();
    assert_eq!(
        (scores.value("frames"), server.request_count()),
        (Some(0.0), 0)
    );
}

#[tokio::test]
async fn longmemeval_asks_by_type_and_reads_as_the_script() {
    let mut prompts = Vec::new();
    for (id, question_type, reply, expected) in [
        ("q1", "multi-session", "Yes.", 1.0),
        ("q1", "temporal-reasoning", "No", 0.0),
        ("q1", "knowledge-update", "No. Yes would be wrong", 1.0),
        ("q1", "single-session-preference", "", 0.0),
        ("q1_abs", "multi-session", "yes", 1.0),
    ] {
        let server = ChatServer::start(move |_: &Request| Reply::text(reply));
        let example = question().with("id", id).with("type", question_type);
        let scores = score(JudgeRule::LongMemEval, &server, &example, "Ada.").await;
        assert_eq!(
            scores.unwrap().value("longmemeval"),
            Some(expected),
            "{reply}"
        );
        let body = server.requests()[0].body.clone();
        assert_eq!(
            (&body["max_tokens"], &body["temperature"]),
            (&json!(10), &json!(0))
        );
        prompts.push(asked(&server));
    }
    prompts.dedup();
    assert_eq!(prompts.len(), 5);
    let server = ChatServer::start(|_: &Request| Reply::text("yes"));
    let example = question().with("type", "riddle");
    let refused = score(JudgeRule::LongMemEval, &server, &example, "Ada.").await;
    assert!(refused.unwrap_err().contains("`riddle`"));
    let server = ChatServer::start(|_: &Request| Reply::close());
    let failed = score(JudgeRule::LongMemEval, &server, &question(), "Ada.").await;
    assert!(failed.unwrap_err().contains("the judge failed"));
}

fn conversation(category: &str) -> Example {
    let turn = |text: &str| json!({"role": "user", "content": text});
    Example::new()
        .with("id", 1)
        .with("category", category)
        .with("turns", json!([turn("What is 2+2?"), turn("And times 3?")]))
        .with("reference", json!(["It is four.", "It is twelve."]))
}

#[tokio::test]
async fn mt_bench_judges_turns_apart() {
    let by_turn = |first: &'static str, second: &'static str| {
        ChatServer::start(move |request: &Request| {
            match request.last_user_content().contains("And times 3?") {
                true => Reply::text(second),
                false => Reply::text(first),
            }
        })
    };
    let rate = async |server: &ChatServer, example: &Example| {
        let output = Output::reply(example, "12").with("turn_responses", json!(["4", "12"]));
        judge(JudgeRule::MtBench, server)
            .score(example, &output)
            .await
    };
    let values = |scores: &Scores| {
        ["mt_bench", "mt_bench_turn1", "mt_bench_turn2"].map(|name| scores.value(name))
    };
    for (first, second, expected) in [
        (
            "Rating: [[8]]",
            "[[7]] … [[9]]",
            [Some(7.5), Some(8.0), Some(7.0)],
        ),
        ("Score [6]", "none", [Some(6.0), Some(6.0), None]),
        ("none", "none", [None, None, None]),
    ] {
        let server = by_turn(first, second);
        let scores = rate(&server, &conversation("math")).await.unwrap();
        assert_eq!(values(&scores), expected, "{first} {second}");
        assert_eq!(server.request_count(), 2);
        let requests = server.requests();
        assert_eq!(requests[0].body["max_tokens"], 2048);
        let all = format!("{requests:?}");
        assert!(all.contains("It is twelve."), "{all}");
    }
    // Other categories are judged without references.
    let server = by_turn("[[5]]", "[[5]]");
    rate(&server, &conversation("writing")).await.unwrap();
    assert!(!format!("{:?}", server.requests()).contains("It is four."));
    // A call that failed is no rating, and half a pair is no mean.
    let server = ChatServer::start(|request: &Request| {
        match request.last_user_content().contains("And times 3?") {
            true => Reply::status(400),
            false => Reply::text("[[9]]"),
        }
    });
    let failed = rate(&server, &conversation("math")).await.unwrap_err();
    assert!(failed.0.contains("turn 2: the judge failed"), "{failed}");
    // A system that answers only once held no conversation.
    let server = by_turn("[[5]]", "[[5]]");
    let once = score(JudgeRule::MtBench, &server, &conversation("math"), "12").await;
    assert!(once.unwrap_err().contains("holds conversations"));
    assert_eq!(server.request_count(), 0);
    let one_turn = question().with("turns", json!([{"role": "user", "content": "Hi"}]));
    assert!(!judge(JudgeRule::MtBench, &server).applies_to(&one_turn));
}

/// A judge that names an output by its text, with probabilities or without.
fn prefers(text: &'static str, probability: Option<f64>) -> ChatServer {
    ChatServer::start(move |request: &Request| {
        let asked = request.last_user_content();
        let first = asked.find("Output of model `m`").unwrap();
        let second = asked.find("Output of model `M`").unwrap();
        let is_first = asked[first..second].contains(text);
        let (name, other) = if is_first { ("m", "M") } else { ("M", "m") };
        let Some(probability) = probability else {
            return Reply::text(name);
        };
        let token = |token: &str, p: f64| json!({"token": token, "logprob": p.ln()});
        let top = [
            token(name, probability),
            token(other, 1.0 - probability),
            token("The", 1e-9),
        ];
        Reply::json(json!({"choices": [{
            "message": {"role": "assistant", "content": name}, "finish_reason": "length",
            "logprobs": {"content": [{"token": name, "top_logprobs": top}]},
        }]}))
    })
}

#[tokio::test]
async fn alpaca_eval_weighs_by_the_probability_of_the_first_token() {
    // Several instructions, so that both orders come up.
    for n in 0..6 {
        let example = question()
            .with("id", n)
            .with("question", format!("Name ferry {n}."))
            .with("answer", "The baseline's ferry.");
        for (server, expected, discrete) in [
            (prefers("mine", Some(0.8)), 0.8, 1.0),
            (prefers("baseline's", Some(0.8)), 0.2, 0.0),
            (prefers("mine", None), 1.0, 1.0),
        ] {
            let scores = score(JudgeRule::AlpacaEval, &server, &example, "mine").await;
            let scores = scores.unwrap();
            let found = scores.value("alpaca_eval").unwrap();
            assert!((found - expected).abs() < 1e-9, "{n}: {found} {expected}");
            assert_eq!(scores.value("alpaca_eval_discrete"), Some(discrete));
            assert_eq!(scores.value("alpaca_length"), Some(4.0 - 21.0));
            let body = server.requests()[0].body.clone();
            assert_eq!(
                (&body["max_tokens"], &body["top_logprobs"]),
                (&json!(1), &json!(5))
            );
            assert_eq!(server.request_count(), 1);
        }
    }
    let server = ChatServer::start(|_: &Request| Reply::text("Both"));
    let unclear = score(JudgeRule::AlpacaEval, &server, &question(), "mine").await;
    assert!(unclear.unwrap_err().contains("neither `m` nor `M`"));
    let same = score(JudgeRule::AlpacaEval, &server, &question(), "Ada Orrin").await;
    assert_eq!(same.unwrap().value("alpaca_eval"), Some(0.5));
    let empty = score(JudgeRule::AlpacaEval, &server, &question(), "")
        .await
        .unwrap();
    assert_eq!(empty.value("alpaca_eval"), Some(0.0));
    assert_eq!(empty.value("alpaca_length"), Some(-9.0));
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn difficulties_are_of_the_row() {
    let server = prefers("mine", Some(0.9));
    let mut settings =
        OfficialJudgeSettings::new(JudgeRule::AlpacaEval, LlmJudgeSettings::new(server.url()));
    settings.difficulties = Arc::new(BTreeMap::from([("7".to_owned(), -0.25)]));
    let judge = OfficialJudge::new(settings).unwrap();
    for (id, expected) in [(7, Some(-0.25)), (8, None)] {
        let example = question().with("id", id);
        let scores = judge
            .score(&example, &Output::reply(&example, "mine"))
            .await;
        assert_eq!(scores.unwrap().value("alpaca_difficulty"), expected);
    }
}

#[tokio::test]
async fn the_overlap_of_patches_is_that_of_the_diff() {
    let example = question().with("answer", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n");
    let response = format!(
        "It is this:\n```diff\n{}```\nDone.",
        example.text("answer").unwrap()
    );
    for (response, expected) in [(response.as_str(), 1.0), ("no patch at all", 0.0)] {
        let scores = PatchOverlap
            .score(&example, &Output::reply(&example, response))
            .await;
        assert_eq!(scores.unwrap().value("patch_overlap"), Some(expected));
    }
}

#[needs_shared("data/responses/mt-bench.gpt4_single.jsonl")]
#[test]
fn published_ratings_are_read_as_published() {
    let verdicts = records("data/responses/mt-bench.gpt4_single.jsonl");
    let read = verdicts.iter().filter(|one| {
        let said = one["judgment"].as_str().unwrap();
        mt_bench::rating(said) == one["score"].as_f64()
    });
    assert_eq!((read.count(), verdicts.len()), (160, 160));
}

#[needs_shared("data/responses/longmemeval.gemini-2.5-flash.jsonl")]
#[test]
fn published_verdicts_are_read_as_published() {
    let verdicts = records("data/responses/longmemeval.gemini-2.5-flash.jsonl");
    for one in &verdicts {
        let said = one["evaluation"].as_str().unwrap();
        assert_eq!(longmemeval::verdict(said), said.eq_ignore_ascii_case("yes"));
        let (id, kind) = (one["question_id"].as_str(), one["question_type"].as_str());
        assert!(
            longmemeval::Kind::of(id.unwrap(), kind.unwrap()).is_some(),
            "{one}"
        );
    }
    assert_eq!(verdicts.len(), 250);
}

#[needs_shared("data/responses/alpaca-eval.annotations.jsonl")]
#[test]
fn published_preferences_give_the_win_rates_of_the_authors_package() {
    let annotations = records("data/responses/alpaca-eval.annotations.jsonl");
    // By `alpaca_eval` 0.6.6, its `length_controlled_minimal`, on the same pairs.
    for (model, raw, discrete, controlled) in EXPECTED {
        let own: Vec<&Value> = annotations
            .iter()
            .filter(|one| one["generator_2"] == model)
            .collect();
        let length = |one: &Value, key: &str| one[key].as_str().unwrap().chars().count() as f64;
        let pairs: Vec<JudgedPair> = own
            .iter()
            .filter_map(|one| {
                Some(JudgedPair {
                    preference: one["preference"].as_f64()? - 1.0,
                    length: length(one, "output_1") - length(one, "output_2"),
                    difficulty: None,
                })
            })
            .collect();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let found = mean(pairs.iter().map(|one| one.preference).collect());
        assert!((found - raw).abs() < 5e-5, "{model}: {found} {raw}");
        let wins = pairs
            .iter()
            .map(|one| alpaca_eval::win(one.preference + 1.0));
        let found = mean(wins.collect());
        assert!(
            (found - discrete).abs() < 5e-5,
            "{model}: {found} {discrete}"
        );
        let found = length_controlled(&pairs).map(mean);
        match (found, controlled) {
            (Some(found), Some(controlled)) => {
                assert!(
                    (found - controlled).abs() < 5e-3,
                    "{model}: {found} {controlled}"
                );
            }
            (found, controlled) => assert_eq!(found, controlled, "{model}"),
        }
    }
}

/// Model, win rate, discrete and length-controlled win rate. Of the first model nearly all
/// answers are shorter: the package says 0.3954 and that this might be a failure.
const EXPECTED: [(&str, f64, f64, Option<f64>); 2] = [
    ("alpaca-7b", 0.036939, 0.034161, None),
    ("claude", 0.118597, 0.105590, Some(0.294377)),
];
