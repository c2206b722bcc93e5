//! Starts the program and collects its output.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The outcome of a run of the program.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// At least this was waited for, or more on a slow machine: no test has an upper bound.
    pub(crate) took: Duration,
}

impl Done {
    /// Stdout as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self}"))
    }

    /// Checks an error: exit code 2, these texts on stderr, a hint, nothing on
    /// stdout, and no trace of a panic.
    pub(crate) fn is_error(&self, texts: &[&str]) {
        self.is_told_with(2, texts);
    }

    /// The same for what may work later: exit code 75.
    pub(crate) fn is_not_now(&self, texts: &[&str]) {
        self.is_told_with(75, texts);
    }

    fn is_told_with(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{self}");
        for text in texts {
            assert!(self.stderr.contains(text), "no `{text}` in: {self}");
        }
        assert!(self.stderr.starts_with("error: "), "{self}");
        assert!(self.stderr.contains("\nhint: "), "{self}");
        assert!(!self.stderr.contains("panicked"), "{self}");
        assert_eq!(self.stdout, "", "{self}");
    }
}

/// A text as one line: where reports break theirs depends on their width.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            code,
            stdout,
            stderr,
            ..
        } = self;
        write!(f, "exit {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// The program with a clean environment.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_context-bench"));
    command.env_remove("OPENAI_API_KEY").stdin(Stdio::null());
    // Nor does one write into the summary of the job that runs it.
    command.env_remove("GITHUB_STEP_SUMMARY");
    // No test writes into the user's cache of task indexes.
    command.env(
        "XDG_CACHE_HOME",
        std::env::temp_dir().join("context-bench-tests"),
    );
    // No test reaches the real hub or the user's cache by accident.
    command.env("HF_ENDPOINT", "http://127.0.0.1:9");
    command.env("HF_HOME", std::env::temp_dir().join("context-bench-no-hub"));
    for name in [
        "HF_TOKEN",
        "HF_HUB_CACHE",
        "HF_HUB_OFFLINE",
        "HF_TOKEN_PATH",
    ] {
        command.env_remove(name);
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
}

/// Runs the program to its end.
pub(crate) fn run(args: &[&str]) -> Done {
    run_with(command().args(args))
}

/// Runs a prepared command to its end.
pub(crate) fn run_with(command: &mut Command) -> Done {
    let started = Instant::now();
    let output = command.output().unwrap();
    Done {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        took: started.elapsed(),
    }
}

/// The number of answers committed to a store, even while a run writes to it.
pub(crate) fn answers_in(cache: &Path) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(store) = rusqlite::Connection::open_with_flags(cache.join("store.sqlite"), flags) else {
        return 0;
    };
    // The store may not exist yet.
    let count = store.query_row("SELECT count(*) FROM responses", (), |row| row.get(0));
    count.unwrap_or(0)
}

/// A folder with `n` examples as JSON lines, whose answer is Paris.
pub(crate) fn questions(n: usize) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my questions é.jsonl");
    write_questions(&path, n);
    (folder, path)
}

pub(crate) fn write_questions(path: &Path, n: usize) {
    let line = |i: usize| {
        let example = json!({
            "id": format!("q{i}"),
            "context": format!("Document {i}. Paris is the capital of France. It is large."),
            "question": format!("Number {i}: what is the capital of France?"),
            "answer": "Paris",
        });
        format!("{example}\n")
    };
    std::fs::write(path, (0..n).map(line).collect::<String>()).unwrap();
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Sends a signal, such as `-INT`, to a process.
#[cfg(unix)]
pub(crate) fn signal(child: &std::process::Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// The program as a user who may only write their own files; `None` if the tests do not run as
/// root, or that user cannot reach the program.
#[cfg(unix)]
pub(crate) fn as_nobody() -> Option<Command> {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return None;
    }
    let nobody = || {
        let mut command = command();
        command.uid(65534).gid(65534).env("HOME", "/nonexistent");
        command
    };
    let asked = nobody().arg("--version").output();
    asked
        .is_ok_and(|output| output.status.success())
        .then(nobody)
}
