//! Kills at random moments, without mercy and politely: of runs, rescores, exports and
//! removals, alone and two at once.
//!
//! Moments are chosen by what has happened (requests that arrived, bytes that were
//! written), so that a slow machine is killed at the same places. After each, every view
//! of what is left says that it is a part; in the end the same commands give the rows of
//! a run that nobody disturbed.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use crate::program::{Done, arg, command, signal, write_questions};
use crate::siege::Siege;
use crate::stores::{PATIENCE, rows, run_for};

/// Questions of a run here.
const N: usize = 80;

pub(crate) fn attack(siege: &mut Siege) {
    let ground = Ground::new(siege.times(2, 10));
    let kills = siege.times(8, 100);
    let (mut hit, mut tries) = (0, 0);
    // Some end before they are killed; those do not count.
    while hit < kills && tries < 6 * kills {
        let model = format!("m{}", siege.below(ground.n_models));
        let polite = siege.below(3) == 0;
        let (what, killed) = match tries % 6 {
            0 | 1 => ("a run", ground.run(siege, &model, polite)),
            2 => ("a rescore", ground.rescore(siege, polite)),
            3 => ("an export", ground.export(siege, polite)),
            4 => ("a removal", ground.remove(siege, polite)),
            _ => ("one of two runs", ground.two(siege, &model, polite)),
        };
        tries += 1;
        let how = if polite { "politely" } else { "at once" };
        match killed {
            Ok(false) => continue,
            Ok(true) => {
                hit += 1;
                let seen = ground.look();
                siege.tried(format!("{what}, ended {how} ({hit})"), seen);
            }
            Err(problem) => siege.tried(format!("{what}, ended {how}"), Err(problem)),
        }
    }
    siege.tried(
        "enough kills that hit",
        match hit >= kills {
            true => Ok(()),
            false => Err(format!("only {hit} of {tries} were still there")),
        },
    );
    for model in 0..ground.n_models {
        let held = ground.ends_whole(&format!("m{model}"));
        siege.tried(format!("the whole of m{model} in the end"), held);
    }
}

/// Endpoints, questions, one store for everything, and what undisturbed runs find.
struct Ground {
    server: ChatServer,
    judge: ChatServer,
    folder: tempfile::TempDir,
    n_models: usize,
    /// Rows of a run, and of a rescore with a judge.
    whole: [Vec<Value>; 2],
}

impl Ground {
    fn new(n_models: usize) -> Self {
        let server = ChatServer::start(|request| {
            let wrong = request.last_user_content().contains("7:");
            let text = if wrong { "It may be Rome" } else { "Paris" };
            Reply::text(text).after(Duration::from_millis(2))
        });
        let judge = ChatServer::start(|request| {
            let good = !request.last_user_content().contains("Rome");
            Reply::text(if good { "5" } else { "2" }).after(Duration::from_millis(2))
        });
        let folder = tempfile::tempdir().unwrap();
        write_questions(&folder.path().join("questions.jsonl"), N);
        let mut ground = Self {
            server,
            judge,
            folder,
            n_models,
            whole: Default::default(),
        };
        let apart = ground.folder.path().join("apart");
        let run = run_for(&mut ground.asking("m0", &apart)).unwrap();
        let rescored = run_for(&mut ground.rescoring("j", &apart)).unwrap();
        assert_eq!((run.code, rescored.code), (0, 0), "{run}\n{rescored}");
        ground.whole = [run, rescored].map(|done| rows(&done.json()));
        ground
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn asking(&self, model: &str, cache: &Path) -> Command {
        let questions = self.folder.path().join("questions.jsonl");
        let mut command = command();
        command.args(["--proxy", &self.server.url(), "--name", "p"]);
        command.args(["--model", model, "--dataset", arg(&questions)]);
        command.args(["--max-workers", "4", "--output", "json", "-q"]);
        command.args(["--cache-dir", arg(cache)]);
        command
    }

    fn rescoring(&self, model: &str, cache: &Path) -> Command {
        let mut command = command();
        command.args(["rescore", "last", "--evaluator", "llm_judge"]);
        command.args(["--score-field", "judge_score", "--judge-model", model]);
        command.args(["--judge-url", &self.judge.url(), "--output", "json", "-q"]);
        command.args(["--cache-dir", arg(cache)]);
        command
    }

    /// Kills a run after some of its requests.
    fn run(&self, siege: &mut Siege, model: &str, polite: bool) -> Result<bool, String> {
        let until = self.server.request_count() + siege.below(N);
        let child = spawned(&mut self.asking(model, &self.cache()));
        self.kill(child, polite, || self.server.request_count() >= until)
    }

    /// Kills a rescore after some of its verdicts.
    fn rescore(&self, siege: &mut Siege, polite: bool) -> Result<bool, String> {
        let until = self.judge.request_count() + siege.below(N);
        let judge = format!("j{}", siege.below(1000));
        let child = spawned(&mut self.rescoring(&judge, &self.cache()));
        self.kill(child, polite, || self.judge.request_count() >= until)
    }

    /// Kills an export after some of its bytes.
    fn export(&self, siege: &mut Siege, polite: bool) -> Result<bool, String> {
        let mut export = command();
        export.args(["export", "last", "--output", "json"]);
        export.args(["--cache-dir", arg(&self.cache())]);
        let mut child = export
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut bytes = vec![0; 1 + siege.below(20_000)];
        let mut stdout = child.stdout.take().unwrap();
        let read = stdout.read(&mut bytes);
        // Nobody reads on: it waits in the middle of its report, or has ended.
        let killed = self.kill(child, polite, || read.is_ok());
        drop(stdout);
        killed
    }

    /// Kills the removal of the newest run somewhere on its way.
    fn remove(&self, siege: &mut Siege, polite: bool) -> Result<bool, String> {
        let before = self.runs()?;
        let Some(gone) = before.last().cloned() else {
            return Ok(false);
        };
        let id = gone["id"].as_str().unwrap();
        let mut remove = command();
        remove.args(["runs", "remove", id, "--cache-dir", arg(&self.cache())]);
        let child = spawned(&mut remove);
        // The lock of the store shows how far it is, and a moment after that.
        let pause = Duration::from_micros(siege.below(30_000) as u64);
        std::thread::sleep(pause);
        let killed = self.kill(child, polite, || true)?;
        let after = self.runs()?;
        let left = after.iter().find(|run| run["id"] == gone["id"]);
        match left {
            // All of it, or nothing.
            Some(left) if left["rows"] != gone["rows"] => {
                Err(format!("half of a run is left: {left}"))
            }
            _ => Ok(killed),
        }
    }

    /// Kills one of two runs of the same; the other must end as if it were alone.
    fn two(&self, siege: &mut Siege, model: &str, polite: bool) -> Result<bool, String> {
        let until = self.server.request_count() + siege.below(N);
        let child = spawned(&mut self.asking(model, &self.cache()));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| run_for(&mut self.asking(model, &self.cache())));
            let killed = self.kill(child, polite, || self.server.request_count() >= until);
            let done = other.join().unwrap()?;
            is_whole(&done, &self.whole[0])?;
            killed
        })
    }

    /// Waits until it is time, and kills; whether there was something to kill.
    fn kill(
        &self,
        mut child: Child,
        polite: bool,
        is_time: impl Fn() -> bool,
    ) -> Result<bool, String> {
        while !is_time() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_some() {
            return Ok(false);
        }
        signal(&child, if polite { "-TERM" } else { "-KILL" });
        let sent = Instant::now();
        // What was asked to end does so in order, unless its report waits for a reader.
        drop(child.stdout.take());
        while child.try_wait().unwrap().is_none() {
            if sent.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                return Err("it does not end when it is told to".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(true)
    }

    /// All runs of the store.
    fn runs(&self) -> Result<Vec<Value>, String> {
        if !self.cache().exists() {
            return Ok(Vec::new());
        }
        let mut list = command();
        list.args([
            "runs",
            "--output",
            "json",
            "--cache-dir",
            arg(&self.cache()),
        ]);
        let done = run_for(&mut list)?;
        match done.code {
            0 => Ok(done.json().as_array().cloned().unwrap_or_default()),
            _ => Err(format!("the runs cannot be listed: {done}")),
        }
    }

    /// Looks at the newest runs: what did not finish says so, and what it has is right.
    fn look(&self) -> Result<(), String> {
        let runs = self.runs()?;
        for run in runs.iter().rev().take(2) {
            let id = run["id"].as_str().unwrap();
            let mut export = command();
            export.args(["export", id, "--output", "json"]);
            let done = run_for(export.args(["--cache-dir", arg(&self.cache())]))?;
            let finished = run["status"] == "finished";
            if (done.code == 0) != finished || !matches!(done.code, 0 | 3) {
                return Err(format!("{} ends otherwise: {done}", run["status"]));
            }
            let result = done.json();
            if finished == result["part_of"].is_string() {
                return Err(format!("{}: {}", run["status"], result["part_of"]));
            }
            let counts = &result["counts"]["p"];
            let count = |key: &str| counts[key].as_u64().unwrap_or(u64::MAX);
            let found = rows(&result);
            let (planned, not_begun) = (count("planned"), count("not_begun"));
            if planned != N as u64 || not_begun != (N - found.len()) as u64 {
                return Err(format!("{} rows, and {counts} of {run}", found.len()));
            }
            let is_known = |row: &Value| self.whole.iter().any(|whole| whole.contains(row));
            if let Some(row) = found.iter().find(|row| !is_known(row)) {
                // A row without its answer says so; that is no other row.
                if !row["error"].is_object() {
                    return Err(format!("another row: {row}"));
                }
            }
        }
        Ok(())
    }

    /// The same commands, undisturbed.
    fn ends_whole(&self, model: &str) -> Result<(), String> {
        is_whole(
            &run_for(&mut self.asking(model, &self.cache()))?,
            &self.whole[0],
        )?;
        is_whole(
            &run_for(&mut self.rescoring("j", &self.cache()))?,
            &self.whole[1],
        )
    }
}

fn spawned(command: &mut Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn is_whole(done: &Done, expected: &[Value]) -> Result<(), String> {
    let whole = done.code == 0 && rows(&done.json()) == expected;
    match whole && done.json().get("part_of").is_none() {
        true => Ok(()),
        false => Err(format!("not the whole: {done}")),
    }
}
