//! Stores that can be read and not written: what was paid for is used, and what is not
//! kept is said.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use context_bench_testkit::{ChatServer, Reply};

use crate::program::{Done, arg, as_nobody, questions, run, run_with, write_questions};

struct Stored {
    server: ChatServer,
    folder: tempfile::TempDir,
    questions: std::path::PathBuf,
}

impl Stored {
    /// A run of ten questions in a folder that everybody may read.
    fn new() -> Self {
        let server = ChatServer::start(|_| Reply::text("Paris"));
        let (folder, questions) = questions(10);
        let stored = Self {
            server,
            folder,
            questions,
        };
        let done = stored.run(crate::program::command());
        assert_eq!(done.code, 0, "{done}");
        mode(stored.folder.path(), 0o755);
        stored
    }

    fn cache(&self) -> std::path::PathBuf {
        self.folder.path().join("cache")
    }

    fn run(&self, mut command: Command) -> Done {
        command.args(["--proxy", &self.server.url(), "--name", "p"]);
        command.args(["--dataset", arg(&self.questions), "-q", "--output", "json"]);
        run_with(command.args(["--cache-dir", arg(&self.cache())]))
    }

    /// Everything that reads does so; a run asks for what is new and keeps nothing.
    fn check(&self, how: &str, command: &dyn Fn() -> Command) {
        let before = self.server.request_count();
        let again = self.run(command());
        assert_eq!(again.code, 0, "{how}: {again}");
        assert_eq!(self.server.request_count(), before, "{how}: {again}");
        assert_eq!(again.json()["counts"]["p"]["cached"], 10, "{how}: {again}");
        let said = "can only be read";
        assert_eq!(again.stderr.matches(said).count(), 1, "{how}: {again}");
        assert!(
            again.stderr.contains("nothing new is kept"),
            "{how}: {again}"
        );
        assert!(!again.stderr.contains("stored as run"), "{how}: {again}");
        let cache = self.cache();
        for args in [
            &["runs"][..],
            &["export", "last"],
            &["show", "last", "q3"],
            &["rescore", "last", "--threshold", "0.5", "-q"],
            &["runs", "sql", "SELECT response FROM answers"],
        ] {
            let mut command = command();
            let done = run_with(command.args(args).args(["--cache-dir", arg(&cache)]));
            assert_eq!(done.code, 0, "{how}: {args:?}: {done}");
            assert!(!done.stdout.is_empty(), "{how}: {args:?}: {done}");
            let said = done.stderr.contains(said);
            assert_eq!(said, args[0] == "rescore", "{how}: {args:?}: {done}");
        }
        let mut removing = command();
        removing.args(["runs", "remove", "last", "--cache-dir", arg(&cache)]);
        run_with(&mut removing).is_error(&["can only be read", "the right to write"]);

        // Two that are new are asked for, and it is a failure that they are lost.
        write_questions(&self.questions, 12);
        let more = self.run(command());
        write_questions(&self.questions, 10);
        assert_eq!(more.code, 3, "{how}: {more}");
        assert_eq!(self.server.request_count(), before + 2, "{how}: {more}");
        let store = &more.json()["store"];
        assert_eq!(store["dropped"], 2, "{how}: {store}");
        assert!(
            store["read_only"].is_string() && store["run"].is_null(),
            "{store}"
        );
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_store_of_somebody_else_is_read() {
    if as_nobody().is_none() {
        eprintln!("skipped: needs root, and a build folder that everybody can read");
        return;
    }
    let nobody = || as_nobody().unwrap();
    let stored = Stored::new();
    let file = stored.cache().join("store.sqlite");
    // The folder may be written last: then a log is left there.
    for (how, of_folder, of_file) in [
        ("the folder and the file", 0o755, 0o644),
        ("the folder", 0o755, 0o666),
        ("the file", 0o777, 0o644),
    ] {
        mode(&stored.cache(), of_folder);
        mode(&file, of_file);
        stored.check(how, &nobody);
    }
    mode(&file, 0o600);
    let refused = run_with(nobody().args(["runs", "--cache-dir", arg(&stored.cache())]));
    refused.is_error(&["cannot use the store", "that you may write"]);
}

#[test]
fn the_log_of_a_killed_run_is_read_where_nothing_can_be_written() {
    if as_nobody().is_none() {
        eprintln!("skipped: needs root, and a build folder that everybody can read");
        return;
    }
    let stored = Stored::new();
    let cache = stored.cache();
    // What a killed process leaves: all of it is in the log.
    let store = rusqlite::Connection::open(cache.join("store.sqlite")).unwrap();
    store
        .execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE systems SET name = 'other';")
        .unwrap();
    for part in ["", "-wal"] {
        let name = format!("store.sqlite{part}");
        fs::copy(cache.join(&name), stored.folder.path().join(&name)).unwrap();
    }
    drop(store);
    for part in ["", "-wal"] {
        let name = format!("store.sqlite{part}");
        fs::copy(stored.folder.path().join(&name), cache.join(&name)).unwrap();
        mode(&cache.join(&name), 0o644);
    }
    mode(&cache, 0o755);
    assert!(fs::metadata(cache.join("store.sqlite-wal")).unwrap().len() > 0);
    stored.check("a log", &|| as_nobody().unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_cannot_be_written_is_read() {
    let stored = Stored::new();
    // The mount is seen by the program alone, and goes with it.
    let cache = stored.cache();
    let mounted = || {
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, arg(&cache)]);
        command.arg(env!("CARGO_BIN_EXE_context-bench"));
        command.env_remove("OPENAI_API_KEY");
        command
    };
    let possible = mounted().arg("--version").output();
    if !possible.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: needs root and the right to mount");
        return;
    }
    stored.check("the file system", &mounted);
    assert_eq!(run(&["runs", "--cache-dir", arg(&cache)]).code, 0);
}
