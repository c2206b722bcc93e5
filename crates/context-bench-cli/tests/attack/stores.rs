//! Stores that are not what was written: damaged, cut, replaced, protected, full, shared.
//!
//! Whatever was done to the file, a look at a run shows what it was, says that something
//! is missing, or is an error with advice; and the same command again ends in the same
//! rows, asking for what is lost. Nothing is lost or wrong in silence.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use context_bench::store::Store;
use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use crate::program::{self, Done, arg, command, write_questions};
use crate::siege::Siege;

/// So long that no machine needs it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Questions of a run here.
const N: usize = 60;
const PAGE: usize = 4096;

pub(crate) fn attack(siege: &mut Siege) {
    let field = Field::new();
    for at in 0..siege.times(10, 240) {
        let kind = &DAMAGES[at % DAMAGES.len()];
        let copy = field.copied(kind.of_log);
        let file = copy.path().join(match kind.of_log {
            true => "store.sqlite-wal",
            false => "store.sqlite",
        });
        (kind.damage)(siege, &file);
        let held = field.survives(copy.path(), kind.of_log);
        siege.tried(format!("{} ({at})", kind.name), held);
    }
    replaced(siege, &field);
    protected(siege, &field);
    full(siege, &field);
    together(siege, &field);
}

/// One way to damage a file.
struct Damage {
    name: &'static str,
    /// Of the log that a killed run left, or of the store itself.
    of_log: bool,
    damage: fn(&mut Siege, &Path),
}

const DAMAGES: [Damage; 10] = [
    Damage {
        name: "flipped bits all over the file",
        of_log: false,
        damage: |siege, path| {
            let flips = [1, 8, 64][siege.below(3)];
            edit(path, |bytes| {
                for _ in 0..flips {
                    let at = siege.below(bytes.len());
                    bytes[at] ^= 1 << siege.below(8);
                }
            });
        },
    },
    Damage {
        name: "a page of zeros",
        of_log: false,
        damage: |siege, path| fill(siege, path, |_| 0),
    },
    Damage {
        name: "flipped bits in one page",
        of_log: false,
        damage: |siege, path| {
            edit(path, |bytes| {
                let page = siege.below(bytes.len() / PAGE) * PAGE;
                for _ in 0..16 {
                    bytes[page + siege.below(PAGE)] ^= 1 << siege.below(8);
                }
            });
        },
    },
    Damage {
        name: "a page of noise",
        of_log: false,
        damage: |siege, path| fill(siege, path, |siege| u8::try_from(siege.below(256)).unwrap()),
    },
    Damage {
        name: "a file that was cut",
        of_log: false,
        damage: cut,
    },
    Damage {
        name: "two pages that changed places",
        of_log: false,
        damage: |siege, path| {
            edit(path, |bytes| {
                let n = bytes.len() / PAGE;
                let (one, other) = (siege.below(n) * PAGE, siege.below(n) * PAGE);
                for at in 0..PAGE {
                    bytes.swap(one + at, other + at);
                }
            });
        },
    },
    Damage {
        name: "a log of noise",
        of_log: true,
        damage: |siege, path| {
            edit(path, |bytes| {
                let from = siege.below(bytes.len());
                for byte in &mut bytes[from..] {
                    *byte = u8::try_from(siege.below(256)).unwrap();
                }
            });
        },
    },
    Damage {
        name: "a log that is gone",
        of_log: true,
        damage: |_, path| fs::remove_file(path).unwrap(),
    },
    Damage {
        name: "a log that was cut",
        of_log: true,
        damage: cut,
    },
    Damage {
        name: "a log with flipped bits",
        of_log: true,
        damage: |siege, path| {
            edit(path, |bytes| {
                for _ in 0..4 {
                    let at = siege.below(bytes.len());
                    bytes[at] ^= 1 << siege.below(8);
                }
            });
        },
    },
];

/// Cuts a file somewhere.
fn cut(siege: &mut Siege, path: &Path) {
    let length = fs::metadata(path).unwrap().len();
    let left = siege.below(usize::try_from(length).unwrap());
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(left as u64).unwrap();
}

fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Fills one page.
fn fill(siege: &mut Siege, path: &Path, byte: fn(&mut Siege) -> u8) {
    let mut file = fs::File::options().write(true).open(path).unwrap();
    let n_pages = usize::try_from(file.metadata().unwrap().len()).unwrap() / PAGE;
    let page = siege.below(n_pages);
    let bytes: Vec<u8> = (0..PAGE).map(|_| byte(siege)).collect();
    file.seek(SeekFrom::Start((page * PAGE) as u64)).unwrap();
    file.write_all(&bytes).unwrap();
}

/// An endpoint, stores with a run, and what the run found.
struct Field {
    server: ChatServer,
    folder: tempfile::TempDir,
    rows: Vec<Value>,
    /// The run that finished, and the one that was killed before its last answer.
    runs: [String; 2],
}

impl Field {
    fn new() -> Self {
        let holds = Arc::new(AtomicBool::new(false));
        let held = Arc::clone(&holds);
        let last = format!("Number {}:", N - 1);
        let server = ChatServer::start(move |request| {
            let asked = request.last_user_content();
            if asked.contains(&last) && held.load(Ordering::SeqCst) {
                return Reply::hang();
            }
            // Some answers are long enough to fill pages of their own, some are wrong.
            Reply::text(match (asked.contains("5:"), asked.contains("7:")) {
                (true, _) => format!("Paris. {}", asked.repeat(300)),
                (false, true) => "It may be Rome".to_owned(),
                (false, false) => "Paris".to_owned(),
            })
        });
        let folder = tempfile::tempdir().unwrap();
        write_questions(&folder.path().join("questions.jsonl"), N);
        let mut field = Self {
            server,
            folder,
            rows: Vec::new(),
            runs: Default::default(),
        };
        let [whole, killed] = field.stores();
        let done = run_for(&mut field.command(&whole)).unwrap();
        assert_eq!(done.code, 0, "{done}");
        field.rows = rows(&done.json());
        holds.store(true, Ordering::SeqCst);
        let mut child = field.command(&killed);
        let child = child.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        while program::answers_in(&killed) < (N - 1) as i64 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        holds.store(false, Ordering::SeqCst);
        assert!(killed.join("store.sqlite-wal").exists());
        field.runs = [whole, killed].map(|store| {
            let copy = copied(&store);
            let listed = Store::open(copy.path()).unwrap().store;
            listed.runs().unwrap()[0].run.id().to_string()
        });
        field
    }

    /// The store of the whole run, and that of the killed one.
    fn stores(&self) -> [PathBuf; 2] {
        ["whole", "killed"].map(|name| self.folder.path().join(name))
    }

    /// A copy of a store, to be damaged.
    fn copied(&self, of_killed: bool) -> tempfile::TempDir {
        copied(&self.stores()[usize::from(of_killed)])
    }

    /// The run of all questions with a store.
    fn command(&self, cache: &Path) -> Command {
        let mut command = command();
        self.ask(&mut command, cache);
        command
    }

    fn ask(&self, command: &mut Command, cache: &Path) {
        let questions = self.folder.path().join("questions.jsonl");
        command.args(["--proxy", &self.server.url(), "--name", "p"]);
        command.args(["--dataset", arg(&questions), "--max-workers", "8"]);
        command.args(["--cache-dir", arg(cache), "--output", "json", "-q"]);
    }

    /// Looks at the run in a damaged store, then runs it again, twice.
    fn survives(&self, cache: &Path, of_killed: bool) -> Result<(), String> {
        let run = &self.runs[usize::from(of_killed)];
        let mut export = command();
        export.args(["export", run, "--output", "json", "--cache-dir", arg(cache)]);
        let seen = run_for(&mut export)?;
        match seen.code {
            2 => said(&seen, &["error: ", "hint: "])?,
            0 | 3 => {
                let rows = rows(&seen.json());
                let whole = self.agree(&rows, &seen)?;
                if !whole && seen.code == 0 {
                    return Err(format!("{} rows, and nothing is said: {seen}", rows.len()));
                }
                if of_killed && seen.code != 3 {
                    return Err(format!("a part passes for the whole: {seen}"));
                }
            }
            _ => return Err(format!("an exit code that nobody knows: {seen}")),
        }
        let first = self.whole_again(&mut self.command(cache))?;
        let asked = self.server.request_count();
        let second = self.whole_again(&mut self.command(cache))?;
        let asked = self.server.request_count() - asked;
        // What is lost even then is said.
        let told = second.stderr.contains(" could not be read");
        if first.code == 0 && (second.code, asked) != (0, 0) && !told {
            return Err(format!(
                "kept, and {asked} are asked again: {first}\n{second}"
            ));
        }
        Ok(())
    }

    /// A run that must end in the rows that the whole one had, or say why a row is missing.
    fn whole_again(&self, command: &mut Command) -> Result<Done, String> {
        let done = run_for(command)?;
        if !matches!(done.code, 0 | 3) {
            return Err(format!("the run ended otherwise: {done}"));
        }
        let found = rows(&done.json());
        let whole = self.agree(&found, &done)?;
        if done.code == 0 && !whole || found.len() != N {
            return Err(format!("{} rows of {N}: {done}", found.len()));
        }
        if done.code == 3 {
            said(&done, &["warning: "])?;
        }
        Ok(done)
    }

    /// Whether rows are all there; an error when one of them is another one.
    fn agree(&self, rows: &[Value], done: &Done) -> Result<bool, String> {
        let mut whole = rows.len() == self.rows.len();
        for row in rows {
            // Without its answer, or without its scores.
            if row["error"].is_object() || row["unscored"].is_object() {
                whole = false;
                continue;
            }
            let known = self.rows.iter();
            let mut known = known.filter(|known| known["example_id"] == row["example_id"]);
            let Some(known) = known.next() else {
                return Err(format!("a row of nobody: {row}\nof {done}"));
            };
            whole &= known == row;
            // What is there is what it was; what is not was lost.
            for (key, value) in row.as_object().unwrap() {
                if !value.is_null() && known[key] != *value {
                    return Err(format!("another {key}: {row}\nof {done}"));
                }
            }
            if known["scores"] != row["scores"] {
                return Err(format!("other scores: {row}\nof {done}"));
            }
        }
        Ok(whole)
    }
}

/// The rows of a result without what differs from run to run.
pub(crate) fn rows(result: &Value) -> Vec<Value> {
    let mut rows = result["rows"].as_array().cloned().unwrap_or_default();
    for row in &mut rows {
        let row = row.as_object_mut().unwrap();
        for key in ["latency", "call", "cached", "answered_by", "part_of"] {
            row.shift_remove(key);
        }
    }
    rows
}

fn said(done: &Done, texts: &[&str]) -> Result<(), String> {
    match texts.iter().find(|text| !done.stderr.contains(*text)) {
        Some(text) => Err(format!("no `{text}` in {done}")),
        None => Ok(()),
    }
}

/// Runs a command to its end, which must come, and not by a panic.
pub(crate) fn run_for(command: &mut Command) -> Result<Done, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let reading = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = reading(Box::new(child.stdout.take().unwrap()));
    let stderr = reading(Box::new(child.stderr.take().unwrap()));
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if started.elapsed() > PATIENCE => break None,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let done = Done {
        code: status.and_then(|status| status.code()).unwrap_or(-1),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
        took: started.elapsed(),
    };
    match status {
        None => Err(format!("it does not end: {done}")),
        Some(_) if done.stderr.contains("panicked") => Err(format!("a panic: {done}")),
        Some(_) => Ok(done),
    }
}

fn copied(from: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["store.sqlite", "store.sqlite-wal"] {
        if from.join(name).exists() {
            fs::copy(from.join(name), folder.path().join(name)).unwrap();
        }
    }
    folder
}

/// Something else where the store should be.
fn replaced(siege: &mut Siege, field: &Field) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("store.sqlite")).unwrap();
    siege.tried(
        "a folder in its place",
        field.survives(folder.path(), false),
    );

    let folder = tempfile::tempdir().unwrap();
    let other = rusqlite::Connection::open(folder.path().join("store.sqlite")).unwrap();
    let theirs = "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (42)";
    other.execute_batch(theirs).unwrap();
    drop(other);
    let held = field.survives(folder.path(), false).and_then(|()| {
        let kept = folder.path().join("store.sqlite.damaged-1");
        let kept = rusqlite::Connection::open(kept).map_err(|error| error.to_string())?;
        let found = kept.query_row("SELECT x FROM theirs", (), |row| row.get(0));
        match found {
            Ok(42) => Ok(()),
            found => Err(format!("the other database is gone: {found:?}")),
        }
    });
    siege.tried("another program's database", held);

    for (version, name) in [(0, "an older format"), (2, "a later format")] {
        let copy = field.copied(false);
        let store = rusqlite::Connection::open(copy.path().join("store.sqlite")).unwrap();
        store.pragma_update(None, "user_version", version).unwrap();
        drop(store);
        siege.tried(name, field.survives(copy.path(), false));
    }
    let copy = field.copied(false);
    let store = rusqlite::Connection::open(copy.path().join("store.sqlite")).unwrap();
    store.execute_batch("DROP TABLE scores").unwrap();
    drop(store);
    siege.tried("a table that is gone", field.survives(copy.path(), false));
}

/// Stores that can be read and not written.
fn protected(siege: &mut Siege, field: &Field) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let Some(_) = program::as_nobody() else {
        siege.not_tried("stores that may only be read: needs root and a build folder for all");
        return;
    };
    mode(field.folder.path(), 0o755);
    for of_killed in [false, true] {
        for (of_folder, of_file) in [(0o755, 0o644), (0o755, 0o666), (0o777, 0o444)] {
            let copy = field.copied(of_killed);
            for entry in fs::read_dir(copy.path()).unwrap() {
                mode(&entry.unwrap().path(), of_file);
            }
            mode(copy.path(), of_folder);
            let asked = field.server.request_count();
            let mut command = program::as_nobody().unwrap();
            field.ask(&mut command, copy.path());
            let held = field.whole_again(&mut command).and_then(|done| {
                said(&done, &["nothing new is kept", "hint: "])?;
                let asked = field.server.request_count() - asked;
                match asked == usize::from(of_killed) {
                    true => Ok(()),
                    false => Err(format!("{asked} asked again: {done}")),
                }
            });
            let what = format!("a store {of_file:o} in a folder {of_folder:o}");
            siege.tried(what, held);
        }
    }
}

/// Disks without room.
fn full(siege: &mut Siege, field: &Field) {
    for blocks in [0, 4, 40, 100, 200, 400] {
        for of_killed in [false, true] {
            let copy = match blocks % 8 {
                0 => field.copied(of_killed),
                _ => tempfile::tempdir().unwrap(),
            };
            // Files may grow so far only; writing more fails as on a full disk.
            let mut limited = Command::new("bash");
            let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
            limited.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_context-bench")]);
            field.ask(&mut limited, copy.path());
            let held = field.whole_again(&mut limited);
            let what = format!("files of {blocks} KB at the most");
            // And all is well as soon as there is room again.
            let held = held.and_then(|_| field.survives(copy.path(), of_killed));
            siege.tried(what, held);
        }
    }
}

/// Two processes that open the same damaged store at once.
fn together(siege: &mut Siege, field: &Field) {
    for at in 0..siege.times(1, 12) {
        let copy = field.copied(false);
        if at % 2 == 0 {
            fill(siege, &copy.path().join("store.sqlite"), |_| 0);
        }
        let held = std::thread::scope(|scope| {
            let run = || field.whole_again(&mut field.command(copy.path()));
            let others: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
            others
                .into_iter()
                .map(|other| other.join().unwrap())
                .collect::<Result<Vec<_>, _>>()
        });
        let held = held.and_then(|_| field.survives(copy.path(), false));
        siege.tried(format!("three processes at once ({at})"), held);
    }
}
