//! Generated code against official grades, and reference solutions in every shape.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use context_bench::evaluator::{CodeExecution, CodeExecutionSettings};
use context_bench::sandbox::{Launcher, SandboxSettings};
use context_bench::{Evaluator, Example, Output, Score};
use serde_json::Value;

use crate::data::records;
use crate::harness::Ignored;
use crate::report::{Report, Tally};

/// Responses whose official grade is "not solved" although the stored code passes
/// the stored tests under plain Python too: `python3 -c "$solution $test"` ends
/// with status 0 for all three. Why they were graded so is not known.
const MISGRADED: [&str; 3] = [
    "mbpp_67_bell_number",
    "mbpp_724_power_base_sum",
    "mbpp_598_armstrong_number",
];

/// An evaluator with that time limit; the `context-bench` program is its launcher.
fn evaluator(timeout: f64) -> Result<CodeExecution, Ignored> {
    let mut sandbox = SandboxSettings {
        python: std::env::var_os("CONTEXT_BENCH_TEST_PYTHON").map(PathBuf::from),
        launcher: Some(Launcher::new(env!("CARGO_BIN_EXE_context-bench"))),
        ..SandboxSettings::default()
    };
    sandbox.limits.wall = Duration::from_secs_f64(timeout);
    let evaluator = CodeExecution::new({
        let mut settings = CodeExecutionSettings::default();
        settings.sandbox = sandbox;
        settings
    });
    let level = evaluator.level();
    level.map_err(|error| Ignored(error.to_string()))?;
    Ok(evaluator)
}

/// Scores all pairs at once, in their order.
fn score_all(evaluator: CodeExecution, pairs: Vec<(Example, String)>) -> Vec<Score> {
    let evaluator = Arc::new(evaluator);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let tasks: Vec<_> = pairs
        .into_iter()
        .map(|(example, response)| {
            let evaluator = Arc::clone(&evaluator);
            runtime.spawn(async move {
                let output = Output::reply(&example, response);
                match evaluator.score(&example, &output).await {
                    Ok(scores) => scores.get("pass_at_1").unwrap().clone(),
                    Err(error) => Score::unscored(error.to_string()),
                }
            })
        })
        .collect();
    let each = tasks.into_iter();
    each.map(|task| runtime.block_on(task).unwrap()).collect()
}

fn example(record: &Value) -> Example {
    let mut example = Example::new();
    for (from, to) in [
        ("prompt", "context"),
        ("text", "context"),
        ("test", "test"),
        ("entry_point", "entry_point"),
        ("test_list", "test_list"),
        ("test_setup_code", "test_setup_code"),
        ("test_imports", "test_imports"),
    ] {
        if let Some(value) = record.get(from) {
            example = example.with(to, value.clone());
        }
    }
    example
}

/// Compares with the official grade; at least that share must agree.
fn agree(
    dataset: &'static str,
    file: &str,
    name_field: &str,
    share: f64,
    report: &mut Report,
) -> Result<(), Ignored> {
    let records = records(file);
    let pairs = records.iter().map(|record| {
        let solution = record.text("solution").to_owned();
        (example(&record.value), solution)
    });
    let scores = score_all(evaluator(20.0)?, pairs.collect());
    let mut tally = Tally::new(dataset, "gpt-4").note("`is_solved`: all unit tests passed");
    for (record, score) in records.iter().zip(&scores) {
        let official = record.value["is_solved"].as_bool().unwrap();
        let official = f64::from(u8::from(official));
        let ours = score.get().unwrap_or(-1.0);
        let name = record.text(name_field);
        let is_explained = MISGRADED.contains(&name) && ours == 1.0;
        assert!(ours == official || is_explained, "{name}: {score:?}");
        tally.add(record, official, ours, || {
            format!("{name}: {}", score.reason().unwrap_or_default())
        });
    }
    tally.at_least(share, report);
    Ok(())
}

pub(crate) fn humaneval(report: &mut Report) -> Result<(), Ignored> {
    let file = "responses/humaneval.gpt4.jsonl";
    agree("humaneval", file, "task_id", 0.98, report)
}

pub(crate) fn mbpp(report: &mut Report) -> Result<(), Ignored> {
    agree("mbpp", "responses/mbpp.gpt4.jsonl", "name", 0.98, report)
}

/// Reference solutions pass in every shape that models write them in, and a
/// wrong body does not.
pub(crate) fn humaneval_references(_: &mut Report) -> Result<(), Ignored> {
    type Shape = (&'static str, fn(&str, &str) -> String, f64);
    let shapes: [Shape; 6] = [
        ("body", |_, body| body.into(), 1.0),
        (
            "body in a fence",
            |_, body| format!("```python\n{body}```"),
            1.0,
        ),
        (
            "body without its first indentation",
            |_, body| body.trim_start().into(),
            1.0,
        ),
        (
            "function in a chat",
            |prompt, body| {
                format!(
                    "Sure, here it is:\n\n```python\n{prompt}{body}```\n\nIt works as follows: ..."
                )
            },
            1.0,
        ),
        (
            "function between words",
            |prompt, body| {
                format!(
                    "Here is the solution:\n\n{prompt}{body}\nThis function does what was asked for.\n"
                )
            },
            1.0,
        ),
        ("wrong body", |_, _| "    return 'wrong'\n".into(), 0.0),
    ];
    let records = records("full/humaneval.jsonl");
    for (name, shape, expected) in shapes {
        let evaluator = evaluator(30.0)?;
        let pairs = records.iter().map(|record| {
            let body = record.text("canonical_solution");
            (example(&record.value), shape(record.text("prompt"), body))
        });
        let scores = score_all(evaluator, pairs.collect());
        let mut as_expected = 0;
        for (record, score) in records.iter().zip(&scores) {
            if score.get() == Some(expected) {
                as_expected += 1;
            } else {
                eprintln!("{name}: {}: {score:?}", record.value["task_id"]);
            }
        }
        assert_eq!(as_expected, records.len(), "{name}");
    }
    Ok(())
}

/// Reference solutions of MBPP pass.
pub(crate) fn mbpp_references(_: &mut Report) -> Result<(), Ignored> {
    for file in ["raw/mbpp.sanitized.jsonl", "raw/mbpp.full.jsonl"] {
        let records = records(file);
        let evaluator = evaluator(30.0)?;
        let pairs = records
            .iter()
            .map(|record| (example(&record.value), record.text("code").to_owned()));
        let scores = score_all(evaluator, pairs.collect());
        let mut passed = 0;
        for (record, score) in records.iter().zip(&scores) {
            if score.get() == Some(1.0) {
                passed += 1;
            } else {
                eprintln!("{file} {}: {score:?}", record.value["task_id"]);
            }
        }
        assert_eq!(passed, records.len(), "{file}");
    }
    Ok(())
}
