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

    /// Asserts that nothing outside was changed or reached.
    fn check(&self, name: &str) {
        let secret = std::fs::read_to_string(self.secret()).unwrap();
        assert_eq!(secret, "sk-secret", "{name} changed a file");
        let metadata = std::fs::metadata(self.secret()).unwrap();
        assert!(
            metadata.modified().unwrap().elapsed().unwrap().as_secs() < 10_000,
            "{name}"
        );
        let entries = std::fs::read_dir(self.folder.path()).unwrap().count();
        assert_eq!(entries, 2, "{name} changed a folder");
        let error = self.tcp.accept().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{name} connected");
        let error = self.udp.recv(&mut [0; 16]).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::WouldBlock,
            "{name} sent a datagram"
        );
        for place in ["/tmp", "/var/tmp", "/dev/shm"] {
            let file = Path::new(place).join(&self.mark);
            assert!(!file.exists(), "{name} wrote {}", file.display());
        }
        // It is dead at once, and gone when the system comes to it.
        let is_gone = happens(|| processes_with(&self.mark) == 0);
        assert!(is_gone, "{name} left a process");
    }
}

/// How many processes have that word in their command line.
fn processes_with(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

/// Runs all attempts at a level; gives how many.
fn try_all(level: SandboxLevel, settings: &SandboxSettings) -> usize {
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
    let mut count = 0;
    for (attempt, test) in plain.chain(cheats) {
        let sandbox = if attempt.is_slow { &hasty } else { &patient };
        let outcome = sandbox.run(&Program::new(attempt.code.as_str(), test));
        let name = attempt.name;
        eprintln!(
            "{level} | {name} | {} | {:.0?}",
            outcome.verdict, outcome.took
        );
        let found = outcome.verdict.as_str();
        assert!(
            attempt.verdicts.contains(&found),
            "{level}: {name}: {:?}, output: {}",
            outcome.verdict,
            outcome.output
        );
        outside.check(name);
        count += 1;
    }
    count
}

#[test]
fn escapes_are_contained() {
    let limits = Limits {
        memory: 200 << 20,
        ..Limits::default()
    };
    let mut held = 0;
    for level in [
        SandboxLevel::Full,
        SandboxLevel::Landlock,
        SandboxLevel::Namespaces,
    ] {
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
        let works = |settings: &&SandboxSettings| match Sandbox::new(settings) {
            Ok(_) => true,
            Err(error) => {
                eprintln!("{level} does not work here: {error}");
                false
            }
        };
        match [&only, &common].into_iter().find(works) {
            Some(settings) => {
                let count = try_all(level, settings);
                assert!(count > 60, "{count}");
                held += 1;
            }
            None => eprintln!("skipped: {level}"),
        }
    }
    if held == 0 {
        eprintln!("skipped: no sandbox on this machine");
    }
}

/// Runs the test above again as a user without privileges.
#[test]
fn escapes_are_contained_for_an_unprivileged_user() {
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
    if !is_root || !Path::new(PYTHON).exists() {
        eprintln!("skipped: needs root and {PYTHON}");
        return;
    }
    let as_nobody = |program: &Path| {
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
    let program = std::env::current_exe().unwrap();
    let launcher = Path::new(env!("CARGO_BIN_EXE_context-bench"));
    let reachable = [&program, launcher].iter().all(|program| {
        let listed = as_nobody(program).arg("--help").output();
        listed.is_ok_and(|output| output.status.success())
    });
    if !reachable {
        eprintln!("skipped: needs setpriv and a build folder that everybody can read");
        return;
    }
    let mut command = as_nobody(&program);
    command.args(["sandbox::escapes_are_contained", "--exact", "--nocapture"]);
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

/// Runs a program that sleeps, for the test below.
#[test]
#[ignore = "started by another test"]
fn sleeper() {
    let Ok(mark) = std::env::var(MARK) else {
        return;
    };
    let is_meant = |level: &&SandboxLevel| mark.contains(level.as_str());
    let level = LEVELS.iter().find(is_meant).unwrap();
    let code = format!(
        "import os, sys\nos.execv(sys.executable, [sys.executable, '-S', '-c', 'import time; time.sleep(600)  # {mark}'])"
    );
    let sandbox = Sandbox::new(&readable_by_all(*level)).unwrap();
    sandbox.run(&Program::new(code, ""));
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
        assert!(happens(|| processes_with(&mark) > 0));
        runner.kill().unwrap();
        runner.wait().unwrap();
        assert!(happens(|| processes_with(&mark) == 0));
    }
}

/// Whether something happens, for as long as patience lasts: much less than what a
/// program here sleeps.
fn happens(condition: impl Fn() -> bool) -> bool {
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
