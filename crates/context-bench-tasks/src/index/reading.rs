//! Finding and reading the files of a tree.

use std::collections::{HashMap, HashSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use super::cache::Heads;
use super::head::{Head, Stamp};
use crate::error::{Error, Result};
use crate::file::normal;

/// Folders that hold no tasks.
const SKIPPED: &[&str] = &["__pycache__", ".ipynb_checkpoints"];
/// Files one thread reads before it takes more.
const CHUNK: usize = 64;
/// Folders that are not worth a thread of their own.
const FEW_FOLDERS: usize = 16;

/// Files by path, with the stamps that show whether they have changed.
pub(super) type FileList = Vec<(String, Stamp)>;

/// All `*.yaml` files below a folder, sorted by path; a file by itself.
pub(super) fn list(root: &Path, threads: usize) -> Result<FileList> {
    if let Some(metadata) = std::fs::metadata(root).ok().filter(|data| data.is_file()) {
        let path = root.to_string_lossy().into_owned();
        return Ok(vec![(path, Stamp::of(&metadata))]);
    }
    if !root.is_dir() {
        let shown = root.display();
        return Err(Error::new(format!("there is no folder or file `{shown}`"))
            .with_hint("`--include-path` takes folders and files of tasks and datasets"));
    }
    let mut files = Vec::new();
    let mut level = vec![root.to_owned()];
    // Level by level: the folders of one are walked on some threads.
    while !level.is_empty() {
        let part = level.len().div_ceil(threads.max(1)).max(FEW_FOLDERS);
        let walked: Vec<Result<(FileList, Vec<PathBuf>)>> = std::thread::scope(|scope| {
            let mut parts = level.chunks(part);
            let first = parts.next().unwrap_or_default();
            let others: Vec<_> = parts.map(|part| scope.spawn(move || walk(part))).collect();
            let mut walked = vec![walk(first)];
            // A walk that failed must not look like folders without files.
            let others = others.into_iter().map(|other| other.join());
            walked.extend(others.map(|walk| walk.unwrap_or_else(|panic| resume_unwind(panic))));
            walked
        });
        level = Vec::new();
        for part in walked {
            let (found, folders) = part?;
            files.extend(found);
            level.extend(folders);
        }
    }
    files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(files)
}

/// The files of some folders, and the folders in them.
fn walk(folders: &[PathBuf]) -> Result<(FileList, Vec<PathBuf>)> {
    let (mut files, mut inside) = (Vec::new(), Vec::new());
    for folder in folders {
        let entries = std::fs::read_dir(folder).map_err(|error| {
            let shown = folder.display();
            Error::new(format!("cannot read folder `{shown}`: {error}"))
        })?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                if !SKIPPED.iter().any(|skipped| name == *skipped) {
                    inside.push(entry.path());
                }
            } else if name.as_encoded_bytes().ends_with(b".yaml") {
                let path = entry.path();
                // Links are followed to files, not to folders.
                let metadata = if kind.is_symlink() {
                    std::fs::metadata(&path)
                } else {
                    entry.metadata()
                };
                if let Some(metadata) = metadata.ok().filter(std::fs::Metadata::is_file) {
                    files.push((path.to_string_lossy().into_owned(), Stamp::of(&metadata)));
                }
            }
        }
    }
    Ok((files, inside))
}

/// Heads from the last run and from this one.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) known: Heads,
    pub(super) fresh: Heads,
    pub(super) n_read: usize,
    pub(super) threads: usize,
    /// What is included by many, on top of what that includes.
    pub(super) merged: HashMap<String, Head>,
}

impl Reading {
    /// Makes sure that the heads of some files are known.
    pub(super) fn read(&mut self, files: &[(String, Stamp)]) {
        let mut missing: Vec<&(String, Stamp)> = Vec::new();
        for file in files {
            let (path, stamp) = file;
            if self.fresh.contains_key(path) {
                continue;
            }
            match self.known.remove(path) {
                Some((old, head)) if old == *stamp => {
                    self.fresh.insert(path.clone(), (old, head));
                }
                _ => missing.push(file),
            }
        }
        self.n_read += missing.len();
        for ((path, stamp), head) in read_all(&missing, self.threads) {
            self.fresh.insert(path, (stamp, head));
        }
    }

    /// Reads what files include, level by level; gives the paths, also of missing ones.
    pub(super) fn read_includes(
        &mut self,
        paths: &[&String],
        home: Option<&Path>,
    ) -> HashSet<String> {
        let mut seen: HashSet<String> = HashSet::new();
        let mut next = self.targets(paths.iter().map(|path| path.as_str()), home, &mut seen);
        while !next.is_empty() {
            let stamps: Vec<(String, Stamp)> = next
                .iter()
                .filter_map(|path| {
                    let metadata = std::fs::metadata(path).ok()?;
                    Some((path.clone(), Stamp::of(&metadata)))
                })
                .collect();
            self.read(&stamps);
            next = self.targets(next.iter().map(String::as_str), home, &mut seen);
        }
        seen
    }

    /// What some files include and was not seen yet.
    fn targets<'p>(
        &self,
        paths: impl Iterator<Item = &'p str>,
        home: Option<&Path>,
        seen: &mut HashSet<String>,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for path in paths {
            let Some((_, head)) = self.fresh.get(path) else {
                continue;
            };
            if head.group.is_some() && !head.class {
                continue;
            }
            for include in &head.includes {
                let target = resolve(include, path, home);
                if !seen.contains(&target) {
                    seen.insert(target.clone());
                    found.push(target);
                }
            }
        }
        found
    }

    /// The head of a file on top of what it includes.
    pub(super) fn merged(
        &mut self,
        path: &str,
        home: Option<&Path>,
        stack: &mut Vec<String>,
    ) -> Head {
        let Some((_, head)) = self.fresh.get(path) else {
            return Head {
                problem: Some(format!("included file `{path}` does not exist")),
                ..Head::default()
            };
        };
        if head.includes.is_empty() || (head.group.is_some() && !head.class) {
            return head.clone();
        }
        let head = head.clone();
        stack.push(path.to_owned());
        let mut base = Head::default();
        for include in &head.includes {
            let target = resolve(include, path, home);
            if stack.contains(&target) {
                let cycle = Head {
                    problem: Some(format!("it includes itself through `{target}`")),
                    ..Head::default()
                };
                base = cycle.over(base);
                break;
            }
            let included = match self.merged.get(&target) {
                Some(known) => known.clone(),
                None => {
                    let included = self.merged(&target, home, stack);
                    // A problem may lie in the way it was reached.
                    if included.problem.is_none() {
                        self.merged.insert(target, included.clone());
                    }
                    included
                }
            };
            base = included.over(base);
        }
        stack.pop();
        head.over(base)
    }
}

fn resolve(include: &str, from: &str, home: Option<&Path>) -> String {
    let plain = !include.contains(['/', '\\']) && include != ".." && include != ".";
    if let (true, Some((folder, _))) = (plain, from.rsplit_once(std::path::MAIN_SEPARATOR)) {
        return format!("{folder}{}{include}", std::path::MAIN_SEPARATOR);
    }
    let path = match (include.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(include),
    };
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    normal(&folder.join(path)).to_string_lossy().into_owned()
}

/// Reads files on some threads.
fn read_all(missing: &[&(String, Stamp)], threads: usize) -> Vec<((String, Stamp), Head)> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut heads = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK, std::sync::atomic::Ordering::Relaxed);
            let Some(chunk) = missing.get(start..(start + CHUNK).min(missing.len())) else {
                return heads;
            };
            if chunk.is_empty() {
                return heads;
            }
            heads.extend(
                chunk
                    .iter()
                    .map(|file| ((*file).clone(), Head::read(Path::new(&file.0)))),
            );
        }
    };
    if threads <= 1 || missing.len() <= CHUNK {
        return work();
    }
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .filter_map(|handle| handle.join().ok())
            .flatten()
            .collect()
    })
}
