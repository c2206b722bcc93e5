//! Programs that try to get out of the sandbox, at every level that this machine
//! has, as the user that runs the tests and, when that is root, as nobody too.

mod attempts;
mod cheats;
mod numbers;

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use context_bench::sandbox::{
    Launcher, Limits, Program, Sandbox, SandboxError, SandboxLevel, SandboxSettings, Verdict,
};

use attempts::{files, network, processes};
use cheats::{cheats, resources};
use numbers::by_number;

/// The `context-bench` program is its own launcher.
pub(crate) fn settings() -> SandboxSettings {
    SandboxSettings {
        python: std::env::var_os("CONTEXT_BENCH_TEST_PYTHON").map(PathBuf::from),
        launcher: Some(Launcher::new(env!("CARGO_BIN_EXE_context-bench"))),
        ..SandboxSettings::default()
    }
}

/// An interpreter that every user can read, on most systems.
const PYTHON: &str = "/usr/bin/python3";

/// What a program may find outside, and what it must not touch.
struct Outside {
    folder: tempfile::TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    mark: String,
}

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret.txt"), "sk-secret").unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let mark = format!("cb-leftover-{}", std::process::id());
        Self {
            folder,
            tcp,
            udp,
            mark,
        }
    }

    fn secret(&self) -> PathBuf {
        self.folder.path().join("secret.txt")
    }

    /// Whether nothing outside was changed or reached.
    fn check(&self) -> Result<(), String> {
        let held = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| what.to_owned());
        let secret = std::fs::read_to_string(self.secret()).unwrap();
        held(secret == "sk-secret", "changed a file")?;
        let metadata = std::fs::metadata(self.secret()).unwrap();
        let age = metadata.modified().unwrap().elapsed().unwrap();
        held(age.as_secs() < 10_000, "changed the time of a file")?;
        let entries = std::fs::read_dir(self.folder.path()).unwrap().count();
        held(entries == 2, "changed a folder")?;
        let is_quiet = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        held(self.tcp.accept().is_err_and(is_quiet), "connected")?;
        let datagram = self.udp.recv(&mut [0; 16]);
        held(datagram.is_err_and(is_quiet), "sent a datagram")?;
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            let file = Path::new(place).join(&self.mark);
            held(!file.exists(), &format!("wrote {}", file.display()))?;
        }
        // It is dead at once, and gone when the system comes to it.
        let is_gone = happens(|| processes_with(&self.mark) == 0);
        held(is_gone, "left a process")
    }
}

/// How many processes have that word in their command line.
pub(crate) fn processes_with(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

/// Runs all attempts at a level, and tells of each what gave way, if anything did.
pub(crate) fn try_all(
    level: SandboxLevel,
    settings: &SandboxSettings,
    mut tell: impl FnMut(&str, Result<(), String>),
) {
    let with = |wall: u64| {
        let mut settings = settings.clone();
        settings.limits.wall = Duration::from_secs(wall);
        Sandbox::new(&settings).unwrap()
    };
    let (patient, hasty) = (with(300), with(2));
    let outside = Outside::new();
    let plain = [
        files(&outside),
        network(&outside),
        processes(&outside),
        by_number(),
        resources(),
    ];
    let plain = plain.into_iter().flatten().map(|attempt| (attempt, ""));
    let test = "def check(candidate):\n    assert candidate() == 1\ncheck(f)\n";
    let cheats = cheats().into_iter().map(|attempt| (attempt, test));
    for (attempt, test) in plain.chain(cheats) {
        let sandbox = if attempt.is_slow { &hasty } else { &patient };
        let outcome = sandbox.run(&Program::new(attempt.code.as_str(), test));
        let name = attempt.name;
        eprintln!(
            "{level} | {name} | {} | {:.0?}",
            outcome.verdict, outcome.took
        );
        let is_expected = attempt.verdicts.contains(&outcome.verdict.as_str());
        let held = match is_expected {
            true => outside.check(),
            false => Err(format!("{:?}, output: {}", outcome.verdict, outcome.output)),
        };
        tell(&format!("{level}: {name}"), held);
    }
}

/// The levels that work here, each with settings that work, and why the others do not.
pub(crate) fn levels() -> Vec<(SandboxLevel, Result<SandboxSettings, String>)> {
    let limits = Limits {
        memory: 200 << 20,
        ..Limits::default()
    };
    let at = |level: SandboxLevel| {
        let only = SandboxSettings {
            level: Some(level),
            limits: limits.clone(),
            ..settings()
        };
        // An interpreter in a closed home folder needs namespaces.
        let common = SandboxSettings {
            python: Some(PYTHON.into()),
            ..only.clone()
        };
        let found = [only, common].map(|settings| match Sandbox::new(&settings) {
            Ok(_) => Ok(settings),
            Err(error) => Err(error.to_string()),
        });
        let [only, common] = found;
        (level, only.or(common))
    };
    [
        SandboxLevel::Full,
        SandboxLevel::Landlock,
        SandboxLevel::Namespaces,
    ]
    .map(at)
    .into()
}

#[test]
fn escapes_are_contained() {
    for (level, settings) in levels() {
        match settings {
            Ok(settings) => {
                let mut count = 0;
                try_all(level, &settings, |name, held| {
                    count += 1;
                    assert_eq!(held, Ok(()), "{name}");
                });
                assert!(count > 60, "{count}");
            }
            Err(error) => eprintln!("skipped: {level}: {error}"),
        }
    }
}

/// A program started as a user without privileges, or why it cannot be.
pub(crate) fn as_nobody(program: &Path) -> Result<Command, &'static str> {
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
    if !is_root || !Path::new(PYTHON).exists() {
        return Err("needs root and /usr/bin/python3");
    }
    let start = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", "/nonexistent");
        command.env("CONTEXT_BENCH_TEST_PYTHON", PYTHON);
        command
    };
    let launcher = Path::new(env!("CARGO_BIN_EXE_context-bench"));
    let reachable = [program, launcher].iter().all(|program| {
        let listed = start(program).arg("--help").output();
        listed.is_ok_and(|output| output.status.success())
    });
    match reachable {
        true => Ok(start(program)),
        false => Err("needs setpriv and a build folder that everybody can read"),
    }
}

/// Runs the test above, and one below, again as a user without privileges.
#[test]
fn escapes_are_contained_for_an_unprivileged_user() {
    let program = std::env::current_exe().unwrap();
    let mut command = match as_nobody(&program) {
        Ok(command) => command,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    command.args(["sandbox::escapes_are_contained", "--exact", "--nocapture"]);
    // The kernel counts processes in another way for this user.
    command.arg("sandbox::honest_programs_pass_beside_greedy_ones");
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    eprintln!("{stderr}");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn without_a_sandbox_code_is_refused_unless_allowed() {
    let no_launcher = SandboxSettings {
        launcher: None,
        ..settings()
    };
    let error = Sandbox::new(&no_launcher).unwrap_err();
    assert_eq!(error, SandboxError::NoLauncher);
    let wrong = SandboxSettings {
        launcher: Some(Launcher::new("/bin/false")),
        ..settings()
    };
    let error = Sandbox::new(&wrong).unwrap_err();
    assert!(matches!(error, SandboxError::NoLevel { .. }), "{error}");

    let allowed = SandboxSettings {
        allow_unsandboxed: true,
        ..no_launcher
    };
    let sandbox = Sandbox::new(&allowed).unwrap();
    assert_eq!(sandbox.level(), SandboxLevel::Unsandboxed);
    // The same attempts that are contained elsewhere work here: they are real.
    let outside = Outside::new();
    let port = outside.tcp.local_addr().unwrap().port();
    let read = format!("open('{}').read()", outside.secret().display());
    let connect = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 2)");
    for (code, expected) in [
        (read.as_str(), "passed"),
        (connect.as_str(), "passed"),
        ("open('/etc/passwd').read()", "passed"),
        ("", "passed"),
        ("assert False", "assertion"),
        ("raise SystemExit", "exited_early"),
    ] {
        let outcome = sandbox.run(&Program::new(code, ""));
        assert_eq!(outcome.verdict.as_str(), expected, "{outcome:?}");
    }
}

#[test]
fn a_program_is_run_by_its_first_reading_that_compiles() {
    let Ok(sandbox) = Sandbox::new(&settings()) else {
        eprintln!("skipped: no sandbox on this machine");
        return;
    };
    let candidates = vec![
        "def f(:".into(),
        "def f(): return 1".into(),
        "def f(): return 2".into(),
    ];
    let program = Program {
        candidates,
        tests: "assert f() == 1".into(),
    };
    assert_eq!(sandbox.run(&program).verdict, Verdict::Passed);
    let none = Program {
        candidates: Vec::new(),
        tests: String::new(),
    };
    assert_eq!(sandbox.run(&none).verdict, Verdict::NoCode);
    let broken = Program::new("", "assert (");
    let verdict = sandbox.run(&broken).verdict;
    assert!(
        matches!(&verdict, Verdict::CannotRun(why) if why.contains("tests")),
        "{verdict}"
    );
}

/// The variable with the word in the command line of a process that must not stay.
const MARK: &str = "CONTEXT_BENCH_TEST_MARK";

/// The two ways of ending with the parent.
const LEVELS: [SandboxLevel; 2] = [SandboxLevel::Full, SandboxLevel::Landlock];

fn readable_by_all(level: SandboxLevel) -> SandboxSettings {
    SandboxSettings {
        level: Some(level),
        python: Some(PYTHON.into()),
        ..settings()
    }
}

/// A program, and a child of it, that ask not to die with whoever started them and then
/// sleep, with that word in their command lines.
pub(crate) fn lingering(mark: &str) -> String {
    let stay = "import ctypes, time; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0); time.sleep(600)";
    format!(
        "import ctypes, os, sys\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\nos.fork()\n\
         os.execv(sys.executable, [sys.executable, '-S', '-c', '{stay}  # {mark}'])"
    )
}

/// Runs a program that sleeps, for the test below.
#[test]
#[ignore = "started by another test"]
fn sleeper() {
    let Ok(mark) = std::env::var(MARK) else {
        return;
    };
    let is_meant = |level: &&SandboxLevel| mark.contains(level.as_str());
    let level = LEVELS.iter().find(is_meant).unwrap();
    let sandbox = Sandbox::new(&readable_by_all(*level)).unwrap();
    sandbox.run(&Program::new(lingering(&mark), ""));
}

/// When the program that runs the sandbox is killed, nothing stays behind.
#[test]
fn programs_die_with_whoever_runs_them() {
    for level in LEVELS {
        if let Err(error) = Sandbox::new(&readable_by_all(level)) {
            eprintln!("skipped: {level}: {error}");
            continue;
        }
        let mark = format!("<{level}>{}", std::process::id());
        let mut runner = Command::new(std::env::current_exe().unwrap())
            .args(["sandbox::sleeper", "--exact", "--ignored"])
            .env(MARK, &mark)
            .spawn()
            .unwrap();
        assert!(happens(|| processes_with(&mark) > 1));
        runner.kill().unwrap();
        runner.wait().unwrap();
        assert!(happens(|| processes_with(&mark) == 0));
    }
}

/// A program that starts many others, which all want a processor for ever.
pub(crate) const GREEDY: &str = "import os\nfor _ in range(62):\n    if os.fork() == 0:\n        \
                                 while True: pass\nwhile True: pass";

/// A program that is through when it had a processor and some threads for a moment.
const MODEST: &str = "import threading\nx = 0\nfor i in range(2_000_000):\n    x += i * i\n\
                      assert x\nthreads = [threading.Thread(target=print) for _ in range(8)]\n\
                      for t in threads: t.start()\nfor t in threads: t.join()";

/// Programs beside greedy ones get the time they need, with a limit that they would miss
/// if each process had the same share; the greedy ones end.
pub(crate) fn beside_greedy(settings: &SandboxSettings, wall: Duration) -> Result<(), String> {
    let mut settings = settings.clone();
    settings.limits.wall = wall;
    let sandbox = Sandbox::new(&settings).map_err(|error| error.to_string())?;
    let run = |code: &str| sandbox.run(&Program::new(code, "")).verdict;
    std::thread::scope(|scope| {
        let each = [GREEDY, GREEDY, MODEST, MODEST, MODEST];
        let each = each.map(|code| (code, scope.spawn(move || run(code))));
        for (code, verdict) in each {
            let verdict = verdict.join().unwrap();
            let expected = if code == GREEDY { "timeout" } else { "passed" };
            if verdict.as_str() != expected {
                return Err(format!("{expected} became: {verdict}"));
            }
        }
        Ok(())
    })
}

#[test]
fn honest_programs_pass_beside_greedy_ones() {
    for level in LEVELS {
        let settings = readable_by_all(level);
        if let Err(error) = Sandbox::new(&settings) {
            eprintln!("skipped: {level}: {error}");
            continue;
        }
        assert_eq!(
            beside_greedy(&settings, Duration::from_secs(4)),
            Ok(()),
            "{level}"
        );
    }
}

/// What a program reported counts, however long what it started takes to be gone: here a
/// child that the sandbox cannot kill, because there is none.
#[test]
fn a_report_outlasts_children_that_are_slow_to_die() {
    let allowed = SandboxSettings {
        launcher: None,
        allow_unsandboxed: true,
        ..settings()
    };
    let sandbox = Sandbox::new(&allowed).unwrap();
    let code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(20)\n    \
                os._exit(0)\n";
    let outcome = sandbox.run(&Program::new(code, "assert True"));
    assert_eq!(outcome.verdict, Verdict::Passed);
    let outcome = sandbox.run(&Program::new(code, "assert False, 'this one'"));
    assert_eq!(outcome.verdict, Verdict::Assertion("this one".into()));
}

/// Whether something happens, for as long as patience lasts: much less than what a
/// program here sleeps.
pub(crate) fn happens(condition: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(120);
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// What a run costs: `cargo test -p context-bench-cli --test it -- --ignored --nocapture cost_of`.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_run() {
    let unsandboxed = SandboxSettings {
        launcher: None,
        allow_unsandboxed: true,
        ..readable_by_all(SandboxLevel::Unsandboxed)
    };
    let mut all: Vec<SandboxSettings> = LEVELS.into_iter().map(readable_by_all).collect();
    all.push(unsandboxed);
    for settings in all {
        let Ok(sandbox) = Sandbox::new(&settings) else {
            continue;
        };
        let program = Program::new("def f(): return 1", "assert f() == 1");
        let mut times: Vec<f64> = (0..100)
            .map(|_| sandbox.run(&program).took.as_secs_f64() * 1000.0)
            .collect();
        times.sort_by(f64::total_cmp);
        let level = sandbox.level();
        eprintln!(
            "{level}: median {:.1} ms, best {:.1} ms",
            times[50], times[0]
        );
    }
}
