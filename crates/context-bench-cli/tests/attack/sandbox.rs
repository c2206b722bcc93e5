//! Programs of a model against the sandbox: every attempt of the tests at every level
//! that works here, as this user and as nobody; greedy programs beside honest ones;
//! programs that outlive whoever runs them; and the ways to a wrong score that are
//! documented, to see that the documentation is true.

#[path = "../it/sandbox/mod.rs"]
#[allow(unused_imports, reason = "what only the tests in it need")]
mod tests;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use context_bench::sandbox::{Program, Sandbox, SandboxLevel, SandboxSettings};
use serde_json::json;

use crate::program;
use crate::siege::Siege;

/// Set for the second time, as nobody.
const AS_NOBODY: &str = "CONTEXT_BENCH_ATTACK_AS_NOBODY";

pub(crate) fn attack(siege: &mut Siege) {
    let mut works = 0;
    for (level, settings) in tests::levels() {
        match settings {
            Ok(settings) => {
                // `cargo test` has all attempts among its other tests.
                if siege.whole() {
                    tests::try_all(level, &settings, |name, held| siege.tried(name, held));
                }
                if siege.whole() || works == 0 {
                    at(siege, level, &settings);
                }
                if works == 0 {
                    documented(siege, &Sandbox::new(&settings).unwrap());
                }
                works += 1;
            }
            Err(why) => siege.not_tried(format!("{level}: {why}")),
        }
    }
    if works == 0 {
        return;
    }
    left_behind(siege);
    if siege.whole() && std::env::var_os(AS_NOBODY).is_none() {
        again_as_nobody(siege);
    }
}

/// What is worth a look at each level besides the attempts.
fn at(siege: &mut Siege, level: SandboxLevel, settings: &SandboxSettings) {
    let wall = Duration::from_secs(3 + siege.below(2) as u64);
    siege.tried(
        format!("{level}: greedy programs beside honest ones"),
        tests::beside_greedy(settings, wall),
    );
    let sandbox = Sandbox::new(settings).unwrap();
    let mut run = |what: &str, code: &str, tests: &str, expected: &str| {
        let outcome = sandbox.run(&Program::new(code, tests));
        let held = match outcome.verdict.as_str() == expected {
            true => Ok(()),
            false => Err(format!("not {expected}: {:?}", outcome.verdict)),
        };
        siege.tried(format!("{level}: {what}"), held);
    };
    // What children hold must be taken back before they are gone.
    let heavy = "import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n        \
                 x = bytearray(os.urandom(1 << 20)) * 20\n        time.sleep(600)\ntime.sleep(1)\n";
    run("pass, with heavy children", heavy, "assert True", "passed");
    run(
        "fail, with heavy children",
        heavy,
        "assert False",
        "assertion",
    );
    let report = "import os\nfor _ in range(9):\n    if os.fork() == 0:\n        \
                  while True: os.write(4, b'\\npassed\\n\\n\\n' * 50)\nwhile True: pass";
    run("flood the report", report, "", "exited_early");
}

/// Ways to a wrong score that are open, and that `docs/adr/0007-sandbox.md` names: tests
/// and code share an interpreter. They are no attacks that held.
fn documented(siege: &mut Siege, sandbox: &Sandbox) {
    let plain = "assert f() == 1";
    let suite = "import unittest\nclass Tests(unittest.TestCase):\n    def test(self):\n        \
                 self.assertEqual(f(), 1)\n\
                 result = unittest.TextTestRunner().run(unittest.TestLoader().loadTestsFromTestCase(Tests))\n\
                 assert result.wasSuccessful()";
    for (what, code, tests) in [
        (
            "an object that equals everything",
            "class Any:\n    def __eq__(self, other): return True\ndef f(): return Any()",
            plain,
        ),
        (
            "the secret read from the input",
            "import os, sys\ndef f():\n    secret = os.read(3, 32)\n    \
             os.write(4, secret + b'\\npassed\\n\\n\\n')\n    os._exit(0)",
            plain,
        ),
        (
            "a trace function",
            "import sys\ndef f():\n    def skip(frame, event, value):\n        \
             if event == 'line' and frame.f_lineno == 2: frame.f_lineno = 3\n        \
             return skip\n    sys._getframe(1).f_trace = skip\n    sys.settrace(skip)\n    \
             return 0",
            "x = f()\nassert x == 1\npass",
        ),
        (
            "a patched `unittest`",
            "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\ndef f(): return 0",
            suite,
        ),
    ] {
        let verdict = sandbox.run(&Program::new(code, tests)).verdict;
        siege.known(match verdict.passed() {
            true => format!("{what} fakes a pass"),
            false => format!("{what} would fake a pass, but ended with: {verdict}"),
        });
    }
}

/// The program is killed while it runs code that wants to stay.
fn left_behind(siege: &mut Siege) {
    for round in 0..siege.times(1, 5) {
        let folder = tempfile::tempdir().unwrap();
        let mark = format!("cb-lingers-{}-{round}", std::process::id());
        let (dataset, code) = (folder.path().join("code.jsonl"), tests::lingering(&mark));
        let example = json!({"context": "c", "code": code, "test_list": ["assert True"]});
        std::fs::write(&dataset, format!("{example}\n")).unwrap();
        let mut command = program::command();
        command.args(["--command", &format!("python3 -c '{ECHO}'")]);
        command.args(["--dataset", program::arg(&dataset), "--quiet"]);
        let python = std::env::var("CONTEXT_BENCH_TEST_PYTHON");
        let python = python.map_or_else(|_| String::new(), |path| format!(",python={path}"));
        let evaluator = format!("code_execution:timeout=300{python}");
        command.args(["--evaluator", &evaluator, "--score-field", "pass_at_1"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let held = kill_when_it_runs(command, &mark);
        siege.tried("kill -9 beside a program that wants to stay", held);
    }
}

const ECHO: &str = "import json, sys\nfor line in sys.stdin:\n    example = json.loads(line)\n    \
                    example[\"response\"] = example[\"code\"]\n    \
                    print(json.dumps(example), flush=True)\n";

fn kill_when_it_runs(mut command: Command, mark: &str) -> Result<(), String> {
    let mut child = command.spawn().unwrap();
    let runs = tests::happens(|| tests::processes_with(mark) > 1 || !is_running(&child));
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    child.wait().unwrap();
    if !runs || ended.is_some() {
        let stderr = child.stderr.take().unwrap();
        let said = BufReader::new(stderr).lines().map_while(Result::ok);
        return Err(said.collect::<Vec<_>>().join("\n"));
    }
    match tests::happens(|| tests::processes_with(mark) == 0) {
        true => Ok(()),
        false => Err("it is still there".into()),
    }
}

/// Whether a child has not ended yet; it stays a zombie until it is waited for.
fn is_running(child: &std::process::Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// All of it once more as a user without privileges; what that found counts here.
fn again_as_nobody(siege: &mut Siege) {
    let program = std::env::current_exe().unwrap();
    let mut command = match tests::as_nobody(&program) {
        Ok(command) => command,
        Err(why) => return siege.not_tried(format!("as nobody: {why}")),
    };
    command.args(["--whole", "sandbox"]).env(AS_NOBODY, "1");
    command.current_dir(Path::new("/"));
    let output = command.output().unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    let numbers = table.lines().find(|line| line.starts_with("sandbox"));
    let mut numbers = numbers.unwrap_or_default().split_whitespace().skip(1);
    let mut number = || numbers.next().and_then(|n| n.parse::<usize>().ok());
    let (Some(tried), Some(held)) = (number(), number()) else {
        let said = String::from_utf8_lossy(&output.stderr);
        return siege.tried("as nobody", Err(said.into_owned()));
    };
    for _ in 0..held {
        siege.tried("as nobody", Ok(()));
    }
    let gave_way = table
        .lines()
        .filter_map(|line| line.strip_prefix("gave way: "));
    let gave_way: Vec<String> = gave_way.map(|line| format!("as nobody: {line}")).collect();
    assert_eq!(gave_way.len(), tried - held, "{table}");
    // Without the line that every attempt writes.
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().filter(|line| !line.contains(" | "));
    let said = said.collect::<Vec<_>>().join("\n");
    for what in gave_way {
        siege.tried(what, Err(said.clone()));
    }
    let missing = table.lines().filter(|line| line.starts_with("not tried"));
    for line in missing {
        siege.not_tried(format!("as nobody: {line}"));
    }
}
