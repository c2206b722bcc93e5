//! Processes: loading, calls, batches, failures, ends.

use std::path::Path;
use std::time::{Duration, Instant};

use context_bench_error::Hint as _;
use context_bench_tasks::python::{Problem, PythonPool, PythonSettings};
use context_bench_tasks::{Host, NoHost};
use serde_json::{Map, Value, json};

use super::{Fixture, function};

const UTILS: &str = r#"
import os, signal, subprocess, sys, time

def double(x):
    return 2 * x

def who(x):
    return [x, os.getpid()]

def meet(x):
    # Waits until another process has come to this place as well.
    here = os.path.join(os.path.dirname(__file__), "here")
    os.makedirs(here, exist_ok=True)
    open(os.path.join(here, str(os.getpid())), "w").close()
    while len(os.listdir(here)) < 2:
        time.sleep(0.01)
    return [x, os.getpid()]

def noisy(x):
    print("to stdout", x)
    print("to stderr", x, file=sys.stderr)
    os.write(1, b'{"ok": "not a reply"}\n')
    subprocess.call([sys.executable, "-c", "print('from a grandchild')"])
    return x + (input() if False else 0)

def read_stdin():
    return sys.stdin.read()

def deep(x):
    return inner(x)

def inner(x):
    print("looking at", x)
    raise ValueError("cannot use %r" % x)

def chained(x):
    try:
        {}["missing"]
    except KeyError as error:
        raise RuntimeError("wrapped") from error

def leave(x):
    sys.exit(3)

def die(x):
    if x == 13:
        print("last words", flush=True)
        os._exit(7)
    return x

def killed(x):
    os.kill(os.getpid(), signal.SIGKILL)

def hang(x):
    if x == 5:
        print("about to wait")
        time.sleep(600)
    return x

def half(x):
    for fd in range(3, 20):
        try:
            os.write(fd, b'{"ok":')
        except OSError:
            pass
    os._exit(0)

def total(values):
    return sum(values)

def metric(references, predictions, case=True):
    return float(references[0] == predictions[0]) + (0 if case else 10)

class Upper:
    def __init__(self, suffix=""):
        self.suffix = suffix
    def apply(self, resps, docs):
        return map(lambda r, d: [one.upper() + d["end"] + self.suffix for one in r], resps, docs)
"#;

fn call(fixture: &Fixture, name: &str, args: &[Value]) -> Result<Value, String> {
    let outcome = fixture
        .pool
        .call_one(&fixture.function(name), args, &Map::new());
    outcome.map_err(|error| error.to_string())
}

#[test]
fn nothing_starts_before_the_first_call() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    assert_eq!(fixture.pool.started(), 0);
    assert_eq!(call(&fixture, "utils.double", &[json!(21)]), Ok(json!(42)));
    assert_eq!(
        call(&fixture, "utils.double", &[json!("a")]),
        Ok(json!("aa"))
    );
    assert_eq!(fixture.pool.started(), 1);
    let refused = NoHost.call(&fixture.function("utils.double"), &[]);
    assert!(refused.unwrap_err().message().contains("needs Python"));
}

#[test]
fn printing_and_reading_do_not_disturb() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    for x in 0..3 {
        assert_eq!(call(&fixture, "utils.noisy", &[json!(x)]), Ok(json!(x)));
    }
    assert_eq!(call(&fixture, "utils.read_stdin", &[]), Ok(json!("")));
}

#[test]
fn ten_thousand_calls_keep_their_order_and_use_all_processes() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let calls: Vec<Vec<Value>> = (0..10_000).map(|x| vec![json!(x)]).collect();
    let outcomes = fixture
        .pool
        .call_many(&fixture.function("utils.meet"), &calls)
        .unwrap();
    assert_eq!(outcomes.len(), calls.len());
    let mut processes = std::collections::HashSet::new();
    for (call, outcome) in calls.iter().zip(outcomes) {
        let value = outcome.unwrap();
        assert_eq!(value[0], call[0]);
        processes.insert(value[1].as_u64().unwrap());
    }
    assert_eq!(fixture.pool.started(), processes.len());
    assert_eq!(processes.len(), 2);
    assert_eq!(
        fixture
            .pool
            .call_many(&fixture.function("utils.who"), &[])
            .unwrap(),
        []
    );
}

#[test]
fn threads_share_the_processes() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for x in 0..50 {
                    let x = thread * 1000 + x;
                    assert_eq!(call(fixture, "utils.double", &[json!(x)]), Ok(json!(2 * x)));
                }
            });
        }
    });
    assert!(fixture.pool.started() <= 2);
}

#[test]
fn exceptions_tell_where_and_what_was_printed() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let function = fixture.function("utils.deep");
    let error = fixture
        .pool
        .call_one(&function, &[json!("x")], &Map::new())
        .unwrap_err();
    let Problem::Raised(exception) = &error.problem else {
        panic!("{error:?}")
    };
    assert_eq!(
        (exception.class.as_str(), exception.message.as_str()),
        ("ValueError", "cannot use 'x'")
    );
    assert_eq!(exception.printed, "looking at x\n");
    assert!(exception.file.as_ref().unwrap().ends_with("utils.py"));
    assert!(
        !exception.traceback.contains("context-bench"),
        "{}",
        exception.traceback
    );
    let text = error.to_string();
    for part in [
        "`!function utils.deep` in `",
        "raised ValueError: cannot use 'x'",
        "in deep",
        "in inner",
        "looking at x",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let error = context_bench_tasks::Error::from(error);
    let place = error.place().unwrap();
    assert!(place.file.ends_with("utils.py"));
    let line = UTILS
        .lines()
        .position(|line| line.contains("cannot use"))
        .unwrap()
        + 1;
    assert_eq!(place.line, Some(line));

    let text = call(&fixture, "utils.chained", &[json!(1)]).unwrap_err();
    assert!(
        text.contains("RuntimeError: wrapped") && text.contains("KeyError: 'missing'"),
        "{text}"
    );
    let text = call(&fixture, "utils.leave", &[json!(1)]).unwrap_err();
    assert!(text.contains("raised SystemExit: 3"), "{text}");
    assert_eq!(
        fixture.pool.started(),
        1,
        "an exception does not cost the process"
    );
}

#[test]
fn a_process_that_ends_costs_one_call() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let calls: Vec<Vec<Value>> = (0..20).map(|x| vec![json!(x)]).collect();
    let outcomes = fixture
        .pool
        .call_many(&fixture.function("utils.die"), &calls)
        .unwrap();
    for (x, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(value) => assert_eq!(value, json!(x)),
            Err(error) => {
                assert_eq!(x, 13);
                let text = error.to_string();
                assert!(
                    text.contains("utils.die") && text.contains("exit status: 7"),
                    "{text}"
                );
                assert!(text.contains("last words"), "{text}");
            }
        }
    }
    let text = call(&fixture, "utils.killed", &[json!(0)]).unwrap_err();
    assert!(text.contains("signal: 9"), "{text}");
    let text = call(&fixture, "utils.half", &[json!(0)]).unwrap_err();
    assert!(text.contains("ended in the middle of the call"), "{text}");
    assert_eq!(call(&fixture, "utils.double", &[json!(1)]), Ok(json!(2)));
}

#[test]
fn a_call_that_hangs_is_ended() {
    // Long enough for all others to answer.
    let fixture = Fixture::with(&[("utils.py", UTILS)], 1, Duration::from_secs(8));
    let calls: Vec<Vec<Value>> = (0..8).map(|x| vec![json!(x)]).collect();
    let outcomes = fixture
        .pool
        .call_many(&fixture.function("utils.hang"), &calls)
        .unwrap();
    for (x, outcome) in outcomes.into_iter().enumerate() {
        if x == 5 {
            let error = outcome.unwrap_err();
            assert!(
                matches!(error.problem, Problem::TimedOut { .. }),
                "{error:?}"
            );
            assert!(error.to_string().contains("about to wait"), "{error}");
        } else {
            assert_eq!(outcome.unwrap(), json!(x));
        }
    }
}

#[cfg(target_os = "linux")]
fn is_running(process: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
#[cfg(target_os = "linux")]
fn one_that_was_killed_while_idle_costs_nothing_and_all_end_with_the_pool() {
    let fixture = Fixture::with(&[("utils.py", UTILS)], 1, Duration::from_secs(60));
    let process = |fixture: &Fixture| {
        call(fixture, "utils.who", &[json!(0)]).unwrap()[1]
            .as_u64()
            .unwrap()
    };
    let first = process(&fixture);
    let status = std::process::Command::new("kill")
        .args(["-9", &first.to_string()])
        .status();
    assert!(status.unwrap().success());
    let start = Instant::now();
    while is_running(first) && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = process(&fixture);
    assert_ne!(first, second);
    assert!(is_running(second));
    drop(fixture);
    assert!(!is_running(second));
}

#[test]
fn keywords_filters_metrics_and_aggregations() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let with = |name: &str, keywords: Value| {
        let keywords = keywords.as_object().unwrap();
        fixture
            .pool
            .call_with(&fixture.function(name), keywords)
            .unwrap()
    };
    assert_eq!(
        with(
            "utils.metric",
            json!({ "references": ["a"], "predictions": ["a"] })
        ),
        json!(1.0)
    );
    let other = json!({ "references": ["a"], "predictions": ["b"], "case": false });
    assert_eq!(with("utils.metric", other), json!(10.0));
    let filter = json!({
        "resps": [["a", "b"], ["c"]], "docs": [{ "end": "1" }, { "end": "2" }], "suffix": "!",
    });
    assert_eq!(
        with("utils.Upper", filter),
        json!([["A1!", "B1!"], ["C2!"]])
    );
    assert_eq!(
        call(&fixture, "utils.total", &[json!([1, 2.5])]),
        Ok(json!(3.5))
    );
}

#[test]
fn modules_of_two_folders_do_not_meet() {
    let fixture = Fixture::with(
        &[
            (
                "a/utils.py",
                "import shared\nfrom . import other\ndef f():\n    import late\n    return [shared.name, other.name, late.name]\n",
            ),
            ("a/shared.py", "name = 'a.shared'"),
            ("a/other.py", "name = 'a.other'"),
            ("a/late.py", "name = 'a.late'"),
            (
                "b/utils.py",
                "import shared\nfrom .other import name\ndef f():\n    import late\n    return [shared.name, name, late.name]\n",
            ),
            ("b/shared.py", "name = 'b.shared'"),
            ("b/other.py", "name = 'b.other'"),
            ("b/late.py", "name = 'b.late'"),
            (
                "b/sub/deep.py",
                "from ..other import name\ndef f():\n    return name\n",
            ),
            (
                "b/json.py",
                "raise SystemError('hides the standard library')",
            ),
            (
                "b/uses.py",
                "import json\ndef f():\n    return json.dumps([1])\n",
            ),
        ],
        1,
        Duration::from_secs(60),
    );
    let path = fixture.folder.path();
    let at = |folder: &str, name: &str| {
        let function = function(&path.join(folder), name);
        fixture
            .pool
            .call(&function, &[])
            .map_err(|error| error.to_string())
    };
    for _ in 0..2 {
        assert_eq!(
            at("a", "utils.f"),
            Ok(json!(["a.shared", "a.other", "a.late"]))
        );
        assert_eq!(
            at("b", "utils.f"),
            Ok(json!(["b.shared", "b.other", "b.late"]))
        );
    }
    assert_eq!(at("b", "sub.deep.f"), Ok(json!("b.other")));
    assert_eq!(at("b", "uses.f"), Ok(json!("[1]")));
    // A module of the environment.
    let environment = function(&path.join("a"), "os.path.basename");
    assert_eq!(
        fixture.pool.call(&environment, &[json!("x/y")]).unwrap(),
        json!("y")
    );
    assert!(!path.join("a/__pycache__").exists());
}

#[test]
fn a_changed_file_is_read_again() {
    let fixture = Fixture::new(&[("utils.py", "def f():\n    return 1\n")]);
    assert_eq!(call(&fixture, "utils.f", &[]), Ok(json!(1)));
    let path = fixture.folder.path().join("utils.py");
    std::fs::write(&path, "def f():\n    return 2\n").unwrap();
    let later = std::time::SystemTime::now() + Duration::from_secs(2);
    std::fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .set_modified(later)
        .unwrap();
    assert_eq!(call(&fixture, "utils.f", &[]), Ok(json!(2)));
}

#[test]
fn references_that_lead_nowhere() {
    let fixture = Fixture::new(&[
        ("utils.py", "def process_docs(x):\n    return x\n"),
        ("broken.py", "def f(:\n    pass\n"),
        (
            "failing.py",
            "import os\n\ndef helper():\n    raise OSError('no disk')\n\nhelper()\n",
        ),
        ("needs.py", "import a_module_that_nobody_has\n"),
    ]);
    let folder = fixture.folder.path().display().to_string();
    let cases = [
        ("process_docs", "it has no dot"),
        (".f", "it has no dot"),
        (
            "missing.f",
            "no file `missing.py` beside the YAML file and no module `missing`",
        ),
        ("utils.proces_docs", "did you mean `process_docs`?"),
        ("broken.f", "SyntaxError"),
        ("failing.f", "OSError: no disk"),
        ("needs.f", "No module named 'a_module_that_nobody_has'"),
    ];
    for (name, expected) in cases {
        let error = call(&fixture, name, &[]).unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(error.contains(&folder), "{name}: {error}");
    }
    let error = fixture
        .pool
        .call(&fixture.function("failing.f"), &[])
        .unwrap_err();
    assert!(error.place().unwrap().file.ends_with("failing.py"));
    assert_eq!(error.place().unwrap().line, Some(4));
    let error = fixture
        .pool
        .call(&fixture.function("needs.f"), &[])
        .unwrap_err();
    assert!(error.hint().unwrap().contains("--python"));
    // For a batch it is one error, not one per call.
    let batch = fixture
        .pool
        .call_many(&fixture.function("missing.f"), &vec![vec![]; 500]);
    assert!(matches!(batch.unwrap_err().problem, Problem::Reference(_)));
}

#[test]
fn an_interpreter_that_is_none() {
    for (interpreter, expected) in [
        ("/nowhere/python3", "No such file"),
        ("false", "exit status: 1"),
    ] {
        let pool = PythonPool::new(PythonSettings {
            interpreter: interpreter.into(),
            ..PythonSettings::default()
        });
        let error = pool
            .call(&function(Path::new("."), "os.getcwd"), &[])
            .unwrap_err();
        assert!(error.message().contains(expected), "{error}");
        assert!(error.hint().unwrap().contains("--python"));
        assert_eq!(pool.started(), 0);
    }
}
