//! The original tool's worked cases about memory, except the deliberate differences.
//!
//! Each difference is listed by case id with what we give instead, must still differ, and
//! must be named in `docs/differences.md`. Those of `MemoryJudge`, which asks an endpoint, are
//! run by the library.

use std::collections::BTreeMap;

use context_bench_memory::metric::{PerQATypeMetric, TokenEfficiencyMetric, per_qa_type_table};
use context_bench_memory::{EXCERPT_CHARS, MemoryItem, excerpt, judge, keyword_search};
use context_bench_scoring::metric::Metric;
use context_bench_scoring::model::{EvalRow, Measurement, Summary};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

const CASES: &str = include_str!("../fixtures/worked-memory.json");

const UNSCORED: &str = r#"{"memory_judge": null, "memory_judge_raw": null}"#;

/// Case ids whose outcome differs on purpose, with what ours is.
const DIFFERENCES: &[(&str, &str)] = &[
    // A reply that says neither yes nor no is not a verdict.
    ("cb-0248", UNSCORED),
    ("cb-0250", UNSCORED),
    ("cb-0251", UNSCORED),
    ("cb-0252", UNSCORED),
    // A missing score is not read as 0.
    ("cb-0321", r#"{"contains_t": null, "contains_mean": null}"#),
    ("cb-0439", r#"{"f1_temporal": 1.0, "f1_mean": 1.0}"#),
    (
        "cb-0441",
        r#"{"token_efficiency": null, "token_efficiency_raw": null, "mean_score": null,
            "mean_input_tokens": null, "mean_ingest_latency": null, "mean_query_latency": null}"#,
    ),
];

#[test]
fn worked_cases() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    let differences: BTreeMap<&str, &str> = DIFFERENCES.iter().copied().collect();
    let documented = include_str!("../../../../docs/differences.md");
    let (mut wrong, mut differed, mut asked) = (Vec::new(), 0, 0);
    for case in &cases {
        let (id, theirs) = (case["id"].as_str().unwrap(), &case["expected"]);
        if case["component"] == "MemoryJudge" {
            asked += 1;
            continue;
        }
        let Some(found) = ours(case["component"].as_str().unwrap(), &case["input"]) else {
            if !documented.contains(id) {
                wrong.push(format!("{id} is not run and not in docs/differences.md"));
            }
            continue;
        };
        let expected = match differences.get(id) {
            None => theirs.clone(),
            Some(other) => {
                differed += 1;
                if close(&found, theirs) {
                    wrong.push(format!("{id} no longer differs"));
                }
                if !documented.contains(id) {
                    wrong.push(format!("{id} is not named in docs/differences.md"));
                }
                serde_json::from_str(other).unwrap()
            }
        };
        if !close(&found, &expected) {
            wrong.push(format!("{id}: found {found}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((cases.len(), differed, asked), (43, DIFFERENCES.len(), 8));
}

/// What we give; `None` for what needs a runner.
fn ours(component: &str, input: &Value) -> Option<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(match component {
        "MemoryJudge.parse" => {
            let verdict = judge::verdict(&text(&input["text"]), true);
            let score = verdict.map(|correct| f64::from(u8::from(correct)));
            json!({"memory_judge": score, "memory_judge_raw": score})
        }
        "PerQATypeMetric" => values(&PerQATypeMetric::of(field(input)).compute(&rows(input))),
        "TokenEfficiencyMetric" => {
            values(&TokenEfficiencyMetric::of(field(input)).compute(&rows(input)))
        }
        "memory.truncate_turns" => {
            let turns: Vec<(&str, &str)> = input["turns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|turn| {
                    let role = turn["role"].as_str().unwrap_or("user");
                    (role, turn["content"].as_str().unwrap())
                })
                .collect();
            let most = input["max_chars"]
                .as_u64()
                .map_or(EXCERPT_CHARS, |n| n as usize);
            json!(excerpt(turns.into_iter(), most))
        }
        "memory.render_item" => {
            let item: MemoryItem = serde_json::from_value(input["item"].clone()).unwrap();
            json!(item.line())
        }
        "memory.per_qa_table" => {
            let systems = input["summary"].as_object().unwrap().iter();
            let summaries: IndexMap<String, Summary> = systems
                .map(|(name, figures)| {
                    let figures = figures.as_object().unwrap().iter();
                    let figures = figures.map(|(key, value)| {
                        (key.clone(), Measurement::from(value.as_f64().unwrap()))
                    });
                    (name.clone(), figures.collect())
                })
                .collect();
            json!(per_qa_type_table(&summaries, &text(&input["score_field"])))
        }
        "zep.search" => {
            let chunks: Vec<&str> = input["chunks"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let top_k = input["top_k"].as_u64().unwrap_or(10) as usize;
            let found = keyword_search(&chunks, &text(&input["query"]), top_k);
            json!(found.iter().map(|at| chunks[*at]).collect::<Vec<_>>())
        }
        "memory.evaluate" => return None,
        other => panic!("unknown component {other}"),
    })
}

fn field(input: &Value) -> &str {
    input["params"]["score_field"].as_str().unwrap_or("f1")
}

fn rows(input: &Value) -> Vec<EvalRow> {
    let rows = input["rows"].as_array().unwrap().iter().enumerate();
    rows.map(|(at, row)| {
        let scores = row["scores"].as_object().unwrap().iter();
        let scores = scores.map(|(name, value)| (name.as_str(), value.as_f64().unwrap()));
        let tokens = row["input_tokens"].as_u64().unwrap_or(0);
        let mut built = EvalRow::new("s", at, scores.collect(), tokens, 0);
        built.added = row["metadata"].as_object().cloned().map(Box::new);
        built
    })
    .collect()
}

fn values(summary: &Summary) -> Value {
    let values = summary.iter();
    let values = values.map(|(name, figure)| (name.to_owned(), json!(figure.value)));
    values.collect::<Map<_, _>>().into()
}

fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.keys().eq(b.keys()) && a.iter().all(|(key, value)| close(value, &b[key]))
        }
        (Value::Number(_), Value::Number(_)) => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9
        }
        _ => a == b,
    }
}
