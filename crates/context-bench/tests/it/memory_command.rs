//! `CommandMemory` with real children: a Python script that remembers, and misbehaves when
//! a question asks it to.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use context_bench::error::Hint as _;
use context_bench::memory::{
    CommandMemory, CommandMemorySettings, Instances, MemoryAnswer, MemoryProvider, MemoryQuery,
    MemorySystem, Turn,
};
use context_bench::system::{CommandError, CommandSettings, SystemError};
use context_bench::{Example, FailureKind};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::command::ends;

/// Answers with all it has taken in; what else it does is written in the question.
const SCRIPT: &str = r#"
import base64, json, os, subprocess, sys, time
known = []
print("started", file=sys.stderr, flush=True)
def say(**reply):
    print(json.dumps(reply), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    op = request["op"]
    if op == "hello":
        say(ok=True, name="parrot", version=os.environ.get("PARROT", "1"), saves=True)
    elif op == "reset":
        known = []
        say(ok=True)
    elif op == "ingest":
        if any(turn["content"] == "poison" for turn in request["turns"]):
            say(ok=False, error="no poison, key " + os.environ.get("MY_API_KEY", ""))
            continue
        known += [turn["content"] for turn in request["turns"]]
        say(ok=True, usage={"prompt_tokens": len(known)}, details={"turns": request["turns"]})
    elif op == "save":
        say(ok=True, state=base64.b64encode(json.dumps(known).encode()).decode())
    elif op == "load":
        known = json.loads(base64.b64decode(request["state"]))
        say(ok=True, loaded=True)
    elif op == "query":
        what = request["question"]
        if what == "crash":
            print("key", os.environ.get("MY_API_KEY"), file=sys.stderr)
            raise ValueError("no such thing")
        if what == "hang":
            grandchild = subprocess.Popen(["sleep", "300"])
            print("grandchild", grandchild.pid, file=sys.stderr, flush=True)
            time.sleep(300)
        if what == "garbage":
            print("Loading model ...", flush=True)
            continue
        if what == "no ok":
            say(answer="x")
            continue
        if what == "bad":
            say(ok=True, answer=None)
            continue
        if what == "error":
            say(ok=False, error="cannot do that")
            continue
        say(ok=True, answer=" ".join(known), context_tokens=7, recalled=["1"],
            usage={"prompt_tokens": 3}, retrieve_seconds=0.25,
            details={"pid": os.getpid(), "request": request})
"#;

/// The script as a file and settings to run it; `None`, with a note, without Python.
fn script() -> Option<(NamedTempFile, CommandMemorySettings)> {
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
    let mut command = CommandSettings::new(["python3", &path]);
    command.timeout = Duration::from_secs(60);
    command.env = vec![("MY_API_KEY".into(), "sk-0123456789".into())];
    Some((file, CommandMemorySettings::new(command)))
}

async fn opened(settings: &CommandMemorySettings) -> Arc<dyn MemorySystem> {
    let memory = CommandMemory::new(settings.clone()).unwrap();
    memory.open().await.unwrap()
}

fn turns(texts: &[&str]) -> Vec<Turn> {
    let turn = |(at, text): (usize, &&str)| Turn::new(at.to_string(), "user", *text);
    texts.iter().enumerate().map(turn).collect()
}

async fn ask(memory: &dyn MemorySystem, question: &str) -> Result<MemoryAnswer, SystemError> {
    let example = Example::new();
    let query = MemoryQuery {
        question,
        asked: Some("today"),
        budget_tokens: Some(50),
        evidence: None,
        example: &example,
    };
    memory.query(&query).await
}

fn pid(answer: &MemoryAnswer) -> i64 {
    answer.details["pid"].as_i64().unwrap()
}

#[tokio::test]
async fn a_child_takes_in_answers_and_forgets() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let memory = opened(&settings).await;
    memory.reset().await.unwrap();
    let ingest = memory.ingest(&turns(&["été", "b"])).await.unwrap();
    assert_eq!(
        ingest.usage.map(Value::Object),
        Some(json!({"prompt_tokens": 2}))
    );
    assert_eq!(
        Value::Object(ingest.details),
        json!({
            "turns": [{"id": "0", "role": "user", "content": "été"},
                      {"id": "1", "role": "user", "content": "b"}],
            "memory": {"name": "parrot", "version": "1"},
        })
    );
    let first = ask(&*memory, "what?").await.unwrap();
    assert_eq!(first.answer, "été b");
    assert_eq!(first.context_tokens, Some(7));
    assert_eq!(first.recalled, Some(vec!["1".into()]));
    assert_eq!(first.times.retrieve, Some(Duration::from_millis(250)));
    assert_eq!(
        first.details["request"],
        json!({"op": "query", "question": "what?", "asked": "today", "budget_tokens": 50})
    );
    memory.reset().await.unwrap();
    let second = ask(&*memory, "what?").await.unwrap();
    assert_eq!((&*second.answer, pid(&second)), ("", pid(&first)));
}

#[tokio::test]
async fn a_broken_child_fails_its_question_and_the_next_one_takes_the_conversation_in_again() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let memory = opened(&settings).await;
    memory.reset().await.unwrap();
    memory.ingest(&turns(&["a", "b"])).await.unwrap();
    for (what, expected) in [
        (
            "crash",
            "`query`: the command ended without a reply (exit status: 1)",
        ),
        (
            "garbage",
            "not JSON (standard output is for replies, messages go to standard error): `Loading model ...`",
        ),
        ("no ok", "a reply without `ok`: `{\"answer\": \"x\"}`"),
    ] {
        let before = ask(&*memory, "what?").await.unwrap();
        let error = ask(&*memory, what).await.unwrap_err();
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
        let after = ask(&*memory, "what?").await.unwrap();
        assert_eq!(after.answer, "a b");
        assert_ne!(pid(&before), pid(&after), "{what}");
        assert_eq!(
            after.details["taken_in_again"]["usage"],
            json!({"prompt_tokens": 2})
        );
        let next = ask(&*memory, "what?").await.unwrap();
        assert!(!next.details.contains_key("taken_in_again"));
    }
}

#[tokio::test]
async fn a_child_that_always_crashes_is_not_started_for_ever() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let memory = opened(&settings).await;
    memory.reset().await.unwrap();
    memory.ingest(&turns(&["a"])).await.unwrap();
    for _ in 0..3 {
        let error = ask(&*memory, "crash").await.unwrap_err();
        assert!(error.to_string().contains("ended without a reply"));
    }
    let error = ask(&*memory, "what?").await.unwrap_err();
    assert!(
        error.to_string().contains("ended 3 times in a row"),
        "{error}"
    );
    memory.reset().await.unwrap();
    memory.ingest(&turns(&["b"])).await.unwrap();
    assert_eq!(ask(&*memory, "what?").await.unwrap().answer, "b");
}

#[tokio::test]
async fn an_error_reply_keeps_the_child() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let memory = opened(&settings).await;
    let before = ask(&*memory, "what?").await.unwrap();
    let error = memory.ingest(&turns(&["poison"])).await.unwrap_err();
    assert_eq!(error.to_string(), "no poison, key [redacted]");
    let error = ask(&*memory, "error").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot do that");
    assert_eq!(error.failure.kind, FailureKind::Other);
    let error = ask(&*memory, "bad").await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`query`: the reply cannot be used: invalid type: null"),
        "{error}"
    );
    assert_eq!(error.failure.kind, FailureKind::BadReply);
    let after = ask(&*memory, "what?").await.unwrap();
    assert_eq!(pid(&before), pid(&after));
}

#[tokio::test]
async fn a_late_child_is_killed_with_all_it_started() {
    let Some((_file, mut settings)) = script() else {
        return;
    };
    // Longer and longer, until a child comes to what it does before its time is over.
    for seconds in [4, 16, 64, 256] {
        settings.command.timeout = Duration::from_secs(seconds);
        let memory = CommandMemory::new(settings.clone()).unwrap();
        let Ok(memory) = memory.open().await else {
            continue;
        };
        if memory.ingest(&turns(&["a"])).await.is_err() {
            continue;
        }
        let error = ask(&*memory, "hang").await.unwrap_err();
        let text = error.to_string();
        let beginning = format!("`query`: the command did not answer within {seconds} s");
        assert!(text.starts_with(&beginning), "{text}");
        assert_eq!(error.failure.kind, FailureKind::Timeout);
        let Some((_, grandchild)) = text.rsplit_once("grandchild ") else {
            continue;
        };
        if cfg!(target_os = "linux") {
            assert!(ends(grandchild.trim()), "{text}");
        }
        match ask(&*memory, "what?").await {
            Err(error) if error.failure.kind == FailureKind::Timeout => continue,
            answer => assert_eq!(answer.unwrap().answer, "a"),
        }
        return;
    }
    panic!("no child ever came to what it does");
}

#[tokio::test]
async fn a_question_that_is_given_up_does_not_confuse_the_next() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let memory = opened(&settings).await;
    memory.ingest(&turns(&["a"])).await.unwrap();
    let before = ask(&*memory, "what?").await.unwrap();
    let hanging = ask(&*memory, "hang");
    assert!(
        tokio::time::timeout(Duration::from_millis(50), hanging)
            .await
            .is_err()
    );
    let after = ask(&*memory, "what?").await.unwrap();
    assert_eq!(after.answer, "a");
    assert_ne!(pid(&before), pid(&after));
}

#[tokio::test]
async fn instances_are_children_of_their_own_and_end_with_them() {
    let Some((_file, settings)) = script() else {
        return;
    };
    let provider = CommandMemory::new(settings).unwrap();
    assert_eq!(provider.instances(), Instances::Many);
    let (one, two) = tokio::join!(provider.open(), provider.open());
    let (one, two) = (one.unwrap(), two.unwrap());
    one.ingest(&turns(&["one"])).await.unwrap();
    two.ingest(&turns(&["two"])).await.unwrap();
    let answers = tokio::join!(ask(&*one, "what?"), ask(&*two, "what?"));
    let (first, second) = (answers.0.unwrap(), answers.1.unwrap());
    assert_eq!((&*first.answer, &*second.answer), ("one", "two"));
    drop(one);
    if cfg!(target_os = "linux") {
        assert!(ends(&pid(&first).to_string()));
    }
    assert_eq!(ask(&*two, "what?").await.unwrap().answer, "two");
}

#[tokio::test]
async fn a_saved_state_is_loaded_by_the_same_version_only() {
    let Some((_file, mut settings)) = script() else {
        return;
    };
    let memory = opened(&settings).await;
    memory.ingest(&turns(&["a", "b"])).await.unwrap();
    let state = memory.save().await.unwrap().unwrap();
    let other = opened(&settings).await;
    other.ingest(&turns(&["c"])).await.unwrap();
    assert!(other.load(&state).await.unwrap());
    assert_eq!(ask(&*other, "what?").await.unwrap().answer, "a b");
    ask(&*other, "crash").await.unwrap_err();
    assert_eq!(ask(&*other, "what?").await.unwrap().answer, "a b");
    assert!(!other.load(b"damaged").await.unwrap());
    settings.command.env.push(("PARROT".into(), "2".into()));
    let newer = opened(&settings).await;
    assert!(!newer.load(&state).await.unwrap());
}

#[tokio::test]
async fn identities_follow_the_command_and_hide_secrets() {
    let Some((_file, mut settings)) = script() else {
        return;
    };
    let identity = |settings: &CommandMemorySettings| {
        let memory = CommandMemory::new(settings.clone()).unwrap();
        (memory.identity().unwrap(), memory.state_identity().unwrap())
    };
    let first = identity(&settings);
    assert_eq!(first, identity(&settings));
    assert!(!first.0.to_json().to_string().contains("sk-0123456789"));
    assert_ne!(first.0, first.1);
    settings.command.version = Some("2".into());
    assert_ne!(first, identity(&settings));
}

#[tokio::test]
async fn a_program_that_is_no_memory_says_so_when_it_is_opened() {
    let missing = CommandSettings::new(["no-such-program-x"]);
    let error = CommandMemory::new(CommandMemorySettings::new(missing)).unwrap_err();
    assert!(matches!(error, CommandError::NotFound { .. }));
    assert!(error.hint().is_some());
    for (command, expected) in [
        (
            "cat",
            "`hello`: the command wrote a reply without `ok`: `{\"op\":\"hello\"}`",
        ),
        (
            "true",
            "`hello`: the command ended without a reply (exit status: 0)",
        ),
    ] {
        let settings = CommandMemorySettings::new(CommandSettings::parse(command).unwrap());
        let opened = CommandMemory::new(settings).unwrap().open().await;
        let error = opened.err().unwrap();
        assert_eq!(error.to_string(), expected);
    }
}
