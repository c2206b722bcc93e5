//! A folder in which commands are run, and the transcript of them that a snapshot holds.
//!
//! Nothing of the machine gets in: the environment is empty but for what is set here, there is
//! no Python and no other program on the `PATH`, the terminal is 100 columns wide and has no
//! colours, and what differs from run to run is replaced (`filters.rs`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use context_bench_testkit::ChatServer;

use super::filters;
use crate::program::{Done, run_with};

/// Three questions with contexts, the second of which the reader gets wrong once it is cut.
const QUESTIONS: &str = r#"{"id": "france", "context": "Paris is the capital of France. It has two million people.", "question": "What is the capital of France?", "answer": "Paris"}
{"id": "italy", "context": "Italy is a country in the south of Europe. Its capital is Rome.", "question": "What is the capital of Italy?", "answer": "Rome"}
{"id": "spain", "context": "Madrid is the capital of Spain. It lies on the Manzanares.", "question": "What is the capital of Spain?", "answer": "Madrid"}
"#;

pub(crate) struct Session {
    _root: tempfile::TempDir,
    /// Where the program is started; its name has a blank, as folders of users do.
    folder: PathBuf,
    /// What of this run is written as what, such as the URL of an endpoint.
    known: Vec<(String, &'static str)>,
    transcript: String,
}

impl Session {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("my files");
        std::fs::create_dir(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        let program = env!("CARGO_BIN_EXE_context-bench");
        let known = vec![
            (folder.to_str().unwrap().to_owned(), "[FOLDER]"),
            (program.to_owned(), "context-bench"),
        ];
        Self {
            _root: root,
            folder,
            known,
            transcript: String::new(),
        }
    }

    /// A session with the file `questions.jsonl`.
    pub(crate) fn with_questions() -> Self {
        let session = Self::new();
        session.write("questions.jsonl", QUESTIONS);
        session
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }

    /// Commands may say `placeholder`, which stands for the URL of a server.
    pub(crate) fn serve(&mut self, placeholder: &'static str, server: &ChatServer) {
        self.known.push((server.url(), placeholder));
    }

    /// Like [`Self::serve`], for an address where nobody listens.
    pub(crate) fn nobody_at(&mut self, placeholder: &'static str) {
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", free.local_addr().unwrap());
        self.known.push((url, placeholder));
    }

    /// Runs a command, given as in a shell, and writes down what it said.
    pub(crate) fn run(&mut self, line: &str) -> Done {
        self.run_in(line, &[])
    }

    pub(crate) fn run_all(&mut self, lines: &[&str]) {
        for line in lines {
            self.run(line);
        }
    }

    /// [`Self::run`] with variables of the environment.
    pub(crate) fn run_in(&mut self, line: &str, variables: &[(&str, &str)]) -> Done {
        let mut command = self.command();
        for (name, value) in variables {
            command.env(name, value);
            writeln!(self.transcript, "$ export {name}={value}").unwrap();
        }
        let args = shlex::split(line).unwrap();
        command.args(args.iter().map(|arg| self.actual(arg)));
        let done = run_with(&mut command);
        self.note_runs(&done);
        let shown = format!("context-bench {line}");
        let out = &mut self.transcript;
        write!(out, "$ {}\nexit code: {}\n", shown.trim_end(), done.code).unwrap();
        for (stream, text) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
            if !text.is_empty() {
                let text = filters::stable(&self.placeheld(text));
                let text = text.trim_end();
                write!(self.transcript, "--- {stream}\n{text}\n").unwrap();
            }
        }
        self.transcript.push('\n');
        done
    }

    /// Compares the transcript with the snapshot of this name.
    pub(crate) fn approve(self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("approved");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, self.transcript));
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_context-bench"));
        command.env_clear().current_dir(&self.folder);
        command.stdin(Stdio::null());
        for (name, value) in [("NO_COLOR", "1"), ("COLUMNS", "100"), ("LINES", "50")] {
            command.env(name, value);
        }
        for (name, folder) in [
            ("HOME", "home"),
            ("PATH", "no programs"),
            ("HF_HOME", "home/hub"),
            ("XDG_CACHE_HOME", "home/cache"),
        ] {
            command.env(name, self.folder.join(folder));
        }
        // The real hub is never reached by accident.
        command.env("HF_ENDPOINT", "http://127.0.0.1:9");
        command
    }

    /// Runs of a store are called `[RUN1]`, `[RUN2]` and so on, in the order they were made.
    fn note_runs(&mut self, done: &Done) {
        const NAMES: [&str; 4] = ["[RUN1]", "[RUN2]", "[RUN3]", "[RUN4]"];
        for id in filters::run_ids(&format!("{}{}", done.stdout, done.stderr)) {
            if !self.known.iter().any(|(known, _)| *known == id) {
                let n = self.known.iter().filter(|(_, name)| NAMES.contains(name));
                let name = NAMES[n.count()];
                self.known.push((id, name));
            }
        }
    }

    fn actual(&self, arg: &str) -> String {
        let known = self.known.iter();
        known.fold(arg.to_owned(), |arg, (actual, placeholder)| {
            arg.replace(placeholder, actual)
        })
    }

    fn placeheld(&self, text: &str) -> String {
        let known = self.known.iter();
        known.fold(text.to_owned(), |text, (actual, placeholder)| {
            let bare = actual.strip_prefix("http://").unwrap_or(actual);
            let text = text.replace(actual.as_str(), placeholder);
            text.replace(bare, placeholder)
        })
    }
}
