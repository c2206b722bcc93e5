//! `run --tasks`, against real endpoints on loopback.

mod examples;
mod figures;
mod generation;
mod given;
mod likelihoods;
mod mmlu;
mod natives;
mod partial;
mod python;

use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Done, arg, run};

/// A folder with task files and records, to be named with `--include-path`.
pub(crate) struct Tasks {
    pub(crate) folder: tempfile::TempDir,
}

impl Tasks {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        arg(&self.folder.path().join(name)).to_owned()
    }

    /// Runs tasks of this folder.
    pub(crate) fn run(&self, tasks: &str, args: &[&str]) -> Done {
        let include = self.path("");
        let line = [
            "run",
            "--tasks",
            tasks,
            "--include-path",
            &include,
            "--quiet",
        ];
        run(&[&line[..], args].concat())
    }

    /// Runs tasks and gives their results as JSON.
    pub(crate) fn results(&self, tasks: &str, args: &[&str]) -> Value {
        let done = self.run(tasks, &[args, &["--output", "json"]].concat());
        assert_eq!(done.code, 0, "{done}");
        only(&done)
    }
}

/// The results of the only system.
pub(crate) fn only(done: &Done) -> Value {
    let systems = done.json()["tasks"].as_object().unwrap().clone();
    assert_eq!(systems.len(), 1, "{done}");
    systems.into_iter().next().unwrap().1
}

/// Records as JSON lines.
pub(crate) fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Sums with their results, ten of them.
pub(crate) fn sums() -> String {
    let record = |i: usize| json!({"q": format!("{i}+{i}?"), "a": (2 * i).to_string()});
    lines(&(0..10).map(record).collect::<Vec<_>>())
}

/// The answer to the last sum in a prompt.
pub(crate) fn sum_in(prompt: &str) -> usize {
    let (before, _) = prompt.rsplit_once('?').unwrap();
    let last = before.rsplit(['+']).next().unwrap();
    2 * last.parse::<usize>().unwrap()
}

/// The files below a folder, by name.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// The body of a request.
pub(crate) fn body(request: &context_bench_testkit::RecordedRequest) -> Value {
    request.body.clone()
}
