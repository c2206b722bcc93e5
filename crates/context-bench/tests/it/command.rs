//! `CommandSystem` with real children: a Python script that also misbehaves.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use context_bench::error::Hint as _;
use context_bench::system::{CommandError, CommandSettings, CommandSystem};
use context_bench::{Example, FailureKind, System as _};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// What the child does is written in the example.
const SCRIPT: &str = r#"
import json, os, subprocess, sys, time
print("started", file=sys.stderr, flush=True)
for line in sys.stdin:
    example = json.loads(line)
    what = example.get("do")
    if what == "crash":
        print("about to crash, key", os.environ.get("MY_API_KEY"), file=sys.stderr)
        raise ValueError("no such thing")
    if what == "exit":
        sys.exit(3)
    if what == "hang":
        grandchild = subprocess.Popen(["sleep", "300"])
        print("grandchild", grandchild.pid, file=sys.stderr, flush=True)
        time.sleep(300)
    if what == "garbage":
        print("Loading model ...", flush=True)
        continue
    if what == "list":
        print("[1, 2]", flush=True)
        continue
    if what == "other id":
        print(json.dumps({"id": "someone else"}), flush=True)
        continue
    if what == "error":
        print(json.dumps({"error": "cannot do that"}), flush=True)
        continue
    if what == "noise":
        sys.stderr.write("noise\n" * 100000)
    if what == "sleep":
        time.sleep(0.3)
    if what == "blank":
        print("\n\n", flush=True)
    example["response"] = example.get("context", "").upper()
    example["pid"] = os.getpid()
    print(json.dumps(example), flush=True)
    if what == "twice":
        print(json.dumps(example), flush=True)
        open(example["mark"], "w").close()
    if what == "once":
        sys.exit(0)
"#;

/// The script as a file and settings to run it; `None`, with a note, without Python.
fn script() -> Option<(NamedTempFile, CommandSettings)> {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output();
    if found.is_err() {
        eprintln!("skipped: there is no python3");
        return None;
    }
    let mut file = NamedTempFile::with_suffix(".py").unwrap();
    file.write_all(SCRIPT.as_bytes()).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    let mut settings = CommandSettings::new(["python3", &path]);
    settings.timeout = Duration::from_secs(60);
    settings.processes = 1;
    Some((file, settings))
}

fn does(what: &str) -> Example {
    Example::new()
        .with("id", 1)
        .with("context", "été")
        .with("do", what)
}

fn pid(output: &context_bench::Output) -> i64 {
    output.get("pid").and_then(Value::as_i64).unwrap()
}

#[tokio::test]
async fn a_child_answers_and_is_kept() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let system = CommandSystem::new(settings).unwrap();
    let first = system.process(&does("answer")).await.unwrap();
    let expected = json!({
        "id": 1, "context": "été", "do": "answer", "response": "ÉTÉ", "pid": pid(&first),
    });
    assert_eq!(Value::Object(first.fields().clone()), expected);
    for what in ["blank", "noise", "answer"] {
        let next = system.process(&does(what)).await.unwrap();
        assert_eq!(next.response(), "ÉTÉ");
        assert_eq!(pid(&next), pid(&first));
    }
}

#[tokio::test]
async fn large_examples_pass() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let system = CommandSystem::new(settings).unwrap();
    let context = "x\u{2028}\n".repeat(500_000);
    let output = system
        .process(&Example::new().with("context", context.as_str()))
        .await
        .unwrap();
    assert_eq!(output.response(), context.to_uppercase());
}

#[tokio::test]
async fn a_broken_child_fails_its_example_and_is_replaced() {
    let Some((_file, mut settings)) = script() else {
        return;
    };
    settings.env = vec![("MY_API_KEY".into(), "sk-0123456789".into())];
    let system = CommandSystem::new(settings).unwrap();
    for (what, expected) in [
        (
            "crash",
            "the command ended without a reply (exit status: 1)",
        ),
        ("exit", "the command ended without a reply (exit status: 3)"),
        (
            "garbage",
            "not JSON (standard output is for replies, messages go to standard error): `Loading model ...`",
        ),
        ("list", "the command wrote JSON that is not a map: `[1, 2]`"),
        (
            "other id",
            r#"replied to example "someone else" instead of 1"#,
        ),
    ] {
        let before = system.process(&does("answer")).await.unwrap();
        let error = system.process(&does(what)).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(
            text.contains("its standard error ends with:\nstarted"),
            "{text}"
        );
        assert_eq!(error.failure.kind, FailureKind::Process);
        if what == "crash" {
            assert!(text.contains("key [redacted]"), "{text}");
            assert!(text.ends_with("ValueError: no such thing"), "{text}");
        }
        let after = system.process(&does("answer")).await.unwrap();
        assert_ne!(pid(&before), pid(&after), "{what}");
    }
}

#[tokio::test]
async fn an_error_reply_fails_the_example_and_keeps_the_child() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let system = CommandSystem::new(settings).unwrap();
    let before = system.process(&does("answer")).await.unwrap();
    let error = system.process(&does("error")).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot do that");
    assert_eq!(error.failure.kind, FailureKind::Other);
    let after = system.process(&does("answer")).await.unwrap();
    assert_eq!(pid(&before), pid(&after));
}

#[tokio::test]
async fn a_late_child_is_killed_with_all_it_started() {
    let Some((_file, mut settings)) = script() else {
        return;
    };
    // Longer and longer, until a child comes to what it does before its time is over.
    for seconds in [2, 8, 32, 128] {
        settings.timeout = Duration::from_secs(seconds);
        let system = CommandSystem::new(settings.clone()).unwrap();
        let error = system.process(&does("hang")).await.unwrap_err();
        let text = error.to_string();
        let beginning = format!("the command did not answer within {seconds} s");
        assert!(text.starts_with(&beginning), "{text}");
        assert_eq!(error.failure.kind, FailureKind::Timeout);
        let Some((_, grandchild)) = text.rsplit_once("grandchild ") else {
            continue;
        };
        if cfg!(target_os = "linux") {
            assert!(ends(grandchild.trim()), "{text}");
        }
        match system.process(&does("answer")).await {
            Err(error) if error.failure.kind == FailureKind::Timeout => continue,
            output => assert_eq!(output.unwrap().response(), "ÉTÉ"),
        }
        return;
    }
    panic!("no child ever came to what it does");
}

#[tokio::test]
async fn children_end_with_their_system() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let system = CommandSystem::new(settings).unwrap();
    let pid = pid(&system.process(&does("answer")).await.unwrap());
    drop(system);
    if cfg!(target_os = "linux") {
        assert!(ends(&pid.to_string()));
    }
}

/// Whether a process ends (or only waits to be reaped) before patience does.
pub(crate) fn ends(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(120);
    while Instant::now() < until {
        let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("status"));
        match status {
            Ok(text) if !text.contains("State:\tZ") => {}
            _ => return true,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[tokio::test]
async fn a_child_for_one_example_only_is_replaced_without_a_failure() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let system = CommandSystem::new(settings).unwrap();
    for _ in 0..3 {
        assert_eq!(
            system.process(&does("once")).await.unwrap().response(),
            "ÉTÉ"
        );
    }
}

#[tokio::test]
async fn a_second_line_for_one_example_is_noticed() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let system = CommandSystem::new(settings).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("written");
    let twice = does("twice").with("mark", mark.to_str().unwrap());
    system.process(&twice).await.unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    while !mark.exists() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // It is in the pipe; once more, so that the runtime hears of it.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let error = system.process(&does("answer")).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("more than one line for an example"),
        "{error}"
    );
    assert_eq!(
        system.process(&does("answer")).await.unwrap().response(),
        "ÉTÉ"
    );
}

#[tokio::test]
async fn children_work_side_by_side_up_to_the_limit() {
    let Some((_file, mut settings)) = script() else {
        return;
    };
    settings.processes = 3;
    let system = CommandSystem::new(settings).unwrap();
    let example = does("sleep");
    let outputs = futures_util::future::join_all((0..9).map(|_| system.process(&example))).await;
    let mut pids: Vec<i64> = outputs
        .iter()
        .map(|output| pid(output.as_ref().unwrap()))
        .collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 3);
}

#[test]
fn a_missing_program_is_one_clear_error() {
    for (command, message, hint) in [
        (
            "no-such-program-x --fast",
            "there is no program `no-such-program-x`",
            "`./no-such-program-x`",
        ),
        (
            "./no-such/program",
            "there is no program `./no-such/program`",
            "check the path",
        ),
        ("", "the command is empty", "python3 my_system.py"),
    ] {
        let settings = CommandSettings::parse(command).unwrap();
        let error = CommandSystem::new(settings).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(error.hint().unwrap().contains(hint), "{command}");
    }
    let unfinished = CommandSettings::parse("python3 'x").unwrap_err();
    assert!(matches!(unfinished, CommandError::Unfinished { .. }));
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_cannot_start_says_so() {
    let file = NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let system = CommandSystem::new(CommandSettings::new([path])).unwrap();
    let error = system.process(&does("answer")).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot be started: Permission denied"),
        "{error}"
    );
    assert_eq!(error.failure.kind, FailureKind::Process);
}
