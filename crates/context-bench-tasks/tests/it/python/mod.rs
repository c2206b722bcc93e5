//! Functions and classes in real Python processes.

mod classes;
mod pool;
mod scores;
mod standin;
mod tables;
mod values;

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use context_bench_tasks::Function;
use context_bench_tasks::python::{PythonPool, PythonSettings};
use tempfile::TempDir;

/// A folder with Python files, and a pool of at most `processes`.
struct Fixture {
    folder: TempDir,
    pool: PythonPool,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, 2, Duration::from_secs(60))
    }

    fn with(files: &[(&str, &str)], processes: usize, call_timeout: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let pool = PythonPool::new(PythonSettings {
            processes: NonZeroUsize::new(processes).unwrap(),
            call_timeout,
            ..PythonSettings::default()
        });
        Self { folder, pool }
    }

    fn function(&self, name: &str) -> Function {
        function(self.folder.path(), name)
    }
}

fn function(directory: &Path, name: &str) -> Function {
    Function {
        directory: directory.to_owned(),
        name: name.to_owned(),
    }
}
