//! CodeExecution: the worked cases, and whole runs. Here and not in the library, because the
//! program is the launcher. Official grades are in `tests/agreement`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use context_bench::evaluator::code_execution::{assemble, program_text};
use context_bench::evaluator::{CodeExecution, CodeExecutionSettings};
use context_bench::sandbox::{Sandbox, SandboxLevel};
use context_bench::{Evaluator, Example, Output, Score};
use context_bench_testkit::worked;
use serde_json::{Map, Value, json};

use crate::program::{arg, run};
use crate::sandbox::settings;

/// Case ids whose outcome differs on purpose, with what ours is.
const DIFFERENCES: &[(&str, &str)] = &[
    // Code in fences is found.
    ("cb-0098", r#"{"pass_at_1": 1.0}"#),
    // Tests that nobody calls are called with the function of the prompt.
    ("cb-0101", r#"{"pass_at_1": 0.0}"#),
    // An example without tests has no score.
    ("cb-0105", r#""error: the example has no tests""#),
    // Leaving early is no pass.
    ("cb-0106", r#"{"pass_at_1": 0.0}"#),
];

/// A system that answers with the code of its example.
const ECHO: &str = "import json, sys\nfor line in sys.stdin:\n    example = json.loads(line)\n    \
                    example[\"response\"] = example[\"code\"]\n    \
                    print(json.dumps(example), flush=True)\n";

/// An evaluator with that time limit, or `None` (with a message) without a sandbox.
fn evaluator(timeout: f64) -> Option<CodeExecution> {
    let mut sandbox = settings();
    sandbox.limits.wall = Duration::from_secs_f64(timeout);
    let evaluator = CodeExecution::new({
        let mut settings = CodeExecutionSettings::default();
        settings.sandbox = sandbox;
        settings
    });
    match evaluator.level() {
        Ok(_) => Some(evaluator),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Scores all pairs at once, in their order.
fn score_all(evaluator: CodeExecution, pairs: Vec<(Example, String)>) -> Vec<Score> {
    let evaluator = Arc::new(evaluator);
    let runtime = runtime();
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

#[test]
fn worked_cases() {
    let differences: BTreeMap<&str, &str> = DIFFERENCES.iter().copied().collect();
    let runtime = runtime();
    let mut cases = worked::original_tool();
    cases.retain(|case| {
        case["component"]
            .as_str()
            .unwrap()
            .starts_with("CodeExecution")
    });
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let input = &case["input"];
        let example = Example::try_from(input["original"].clone()).unwrap();
        let found = if case["component"] == "CodeExecution" {
            let Some(evaluator) = evaluator(input["timeout"].as_f64().unwrap_or(60.0)) else {
                return;
            };
            let output = Output::from(input["processed"].as_object().unwrap().clone());
            match runtime.block_on(evaluator.score(&example, &output)) {
                Err(error) => json!(format!("error: {error}")),
                Ok(scores) => {
                    let each = scores.iter();
                    let each = each.map(|(name, score)| (name.to_string(), json!(score.get())));
                    each.collect::<Map<_, _>>().into()
                }
            }
        } else {
            match assemble(&example, input["response"].as_str().unwrap()) {
                Err(error) => json!(format!("error: {error}")),
                Ok(program) => json!(program_text(&program)),
            }
        };
        match differences.get(id) {
            None => assert_eq!(found, case["expected"], "{id}"),
            Some(other) => {
                assert_eq!(found, serde_json::from_str::<Value>(other).unwrap(), "{id}");
                assert_ne!(found, case["expected"], "{id} no longer differs");
                let documented = include_str!("../../../../docs/differences.md").contains(id);
                assert!(documented, "{id} is not named in docs/differences.md");
            }
        }
    }
}

#[test]
fn reasons_say_how_a_program_ended() {
    let Some(evaluator) = evaluator(20.0) else {
        return;
    };
    let example = Example::new().with("test_list", json!(["assert f(2) == 4, 'f(2) is wrong'"]));
    let cases = [
        ("def f(x): return x * x", Some(1.0), "passed ["),
        (
            "def f(x): return x",
            Some(0.0),
            "assertion failed: f(2) is wrong [",
        ),
        ("def f(x): return x[0]", Some(0.0), "TypeError: "),
        (
            "def g(x): return x",
            Some(0.0),
            "NameError: name 'f' is not defined",
        ),
        ("def f(x) return", Some(0.0), "not valid Python: "),
        (
            "import os\nos._exit(0)",
            Some(0.0),
            "ended before the tests",
        ),
        (
            "def f(x): open('/etc/passwd')",
            Some(0.0),
            "not allowed in the sandbox: ",
        ),
        (" ", Some(0.0), "no code in the response"),
    ];
    let pairs = cases
        .iter()
        .map(|case| (example.clone(), case.0.to_owned()));
    let scores = score_all(evaluator, pairs.collect());
    for ((code, value, reason), score) in cases.iter().zip(&scores) {
        assert_eq!(score.get(), *value, "{code}: {score:?}");
        let found = score.reason().unwrap_or_default();
        assert!(found.contains(reason), "{code}: {found}");
    }
}

/// The program is its own launcher: nothing has to be set up.
#[test]
fn what_a_level_does_not_contain_is_said_before_the_run() {
    for level in [
        SandboxLevel::Full,
        SandboxLevel::Landlock,
        SandboxLevel::Namespaces,
    ] {
        let evaluator = CodeExecution::new({
            let mut code = CodeExecutionSettings::default();
            code.sandbox = settings();
            code.sandbox.level = Some(level);
            code
        });
        match evaluator.level() {
            Err(error) => eprintln!("skipped: {level}: {error}"),
            Ok(_) => {
                let caution = evaluator.caution();
                assert_eq!(
                    caution.is_none(),
                    level == SandboxLevel::Full,
                    "{caution:?}"
                );
                let named = |text: &String| text.contains(level.as_str());
                assert!(caution.as_ref().is_none_or(named), "{caution:?}");
            }
        }
    }
}

#[test]
fn the_program_runs_code() {
    if evaluator(20.0).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let examples = [
        json!({"context": "c", "code": "```python\ndef f(x):\n    return x\n```", "test_list": ["assert f(1) == 1"]}),
        json!({"context": "c", "code": "def f(x): return 0", "test_list": ["assert f(1) == 1"]}),
        json!({"context": "c", "code": "no tests, not applicable"}),
    ];
    let lines: String = examples
        .iter()
        .map(|example| format!("{example}\n"))
        .collect();
    let dataset = folder.path().join("code.jsonl");
    std::fs::write(&dataset, lines).unwrap();
    let done = run(&[
        "--command",
        &format!("python3 -c '{ECHO}'"),
        "--dataset",
        arg(&dataset),
        "--evaluator",
        "code_execution",
        "--score-field",
        "pass_at_1",
        "--output",
        "json",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let rows = done.json()["rows"].clone();
    let scores: Vec<&Value> = (0..3).map(|i| &rows[i]["scores"]["pass_at_1"]).collect();
    assert_eq!(scores, [&json!(1.0), &json!(0.0), &Value::Null], "{done}");
}

/// What decides how programs end is part of what stored scores are found by.
#[test]
fn scores_are_those_of_one_interpreter_and_one_sandbox() {
    let at = |level: SandboxLevel| {
        let mut sandbox = settings();
        sandbox.level = Some(level);
        let evaluator = CodeExecution::new({
            let mut settings = CodeExecutionSettings::default();
            settings.sandbox = sandbox;
            settings
        });
        let identity = evaluator.identity()?;
        assert_eq!(identity.settings["level"], level.as_str());
        let version = identity.settings["version"].as_str().unwrap().to_owned();
        assert!(version.contains(" 3."), "{version}");
        Some(identity.to_json())
    };
    let levels = [SandboxLevel::Full, SandboxLevel::Landlock];
    if let [Some(full), Some(landlock)] = levels.map(at) {
        assert_ne!(full, landlock);
    } else {
        eprintln!("skipped: not all levels work here");
    }
    let mut sandbox = settings();
    sandbox.python = Some("no-such-python".into());
    let evaluator = CodeExecution::new({
        let mut settings = CodeExecutionSettings::default();
        settings.sandbox = sandbox;
        settings
    });
    assert_eq!(evaluator.identity(), None);
}

/// The same name, but another Python: its scores are its own. The programs here pass or
/// fail at random, so scores that are the same were not made again.
#[test]
fn another_python_scores_again() {
    if evaluator(20.0).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    let install = |script: &str| {
        std::fs::write(&python, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&python, mode).unwrap();
    };
    let code = "import os\ndef f(): return os.urandom(1)[0] % 2";
    let example = json!({"context": "c", "code": code, "test_list": ["assert f()"]});
    let lines: String = (0..40)
        .map(|id| {
            let mut example = example.clone();
            example["id"] = json!(id);
            format!("{example}\n")
        })
        .collect();
    let dataset = folder.path().join("code.jsonl");
    std::fs::write(&dataset, lines).unwrap();
    let cache = folder.path().join("cache");
    let scores = || {
        let done = run(&[
            "--command",
            &format!("python3 -c '{ECHO}'"),
            "--dataset",
            arg(&dataset),
            "--evaluator",
            &format!("code_execution:python={}", arg(&python)),
            "--score-field",
            "pass_at_1",
            "--cache-dir",
            arg(&cache),
            "--output",
            "json",
        ]);
        assert_eq!(done.code, 0, "{done}");
        let rows = done.json()["rows"].as_array().unwrap().clone();
        assert_eq!(rows.len(), 40);
        let each = rows.iter().map(|row| row["scores"]["pass_at_1"].clone());
        each.collect::<Vec<Value>>()
    };
    install("exec python3 \"$@\"");
    let first = scores();
    assert_eq!(scores(), first, "the same Python");
    install("python3 \"$@\" | sed '2s/.*/cpython 3.99.1/'");
    let second = scores();
    assert_ne!(second, first, "another Python");
    assert_eq!(scores(), second);
}

#[test]
fn without_python_rows_are_unscored() {
    let mut sandbox = settings();
    sandbox.python = Some("no-such-python".into());
    assert!(Sandbox::new(&sandbox).is_err());
    let evaluator = CodeExecution::new({
        let mut settings = CodeExecutionSettings::default();
        settings.sandbox = sandbox;
        settings
    });
    let example = Example::new().with("test_list", json!(["assert True"]));
    let score = score_all(evaluator, vec![(example, "x = 1".into())]).remove(0);
    assert_eq!(score.get(), None);
    let reason = score.reason().unwrap_or_default();
    assert!(
        reason.contains("no-such-python") && reason.contains("hint"),
        "{reason}"
    );
}
