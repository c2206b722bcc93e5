//! Which names a tree of task files defines.
//!
//! Files are read in parallel and only their names are kept; what did not change
//! since the last run is not read at all.

mod cache;
mod head;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use context_bench_template::place::Place;

use crate::error::{Error, Result, Warning};
use crate::file::{Kind, normal};
use head::{Head, Stamp};

/// Folders that hold no tasks.
const SKIPPED: &[&str] = &["__pycache__", ".ipynb_checkpoints"];
/// Files one thread reads before it takes more.
const CHUNK: usize = 64;

/// One name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// The file that defines it.
    pub path: PathBuf,
    /// The tags of a task.
    pub tags: Vec<String>,
    /// The output type of a task, when the file says.
    pub output_type: Option<String>,
}

/// The names of one or more trees.
#[derive(Debug, Clone, Default)]
pub struct Index {
    entries: BTreeMap<String, Entry>,
    tags: BTreeMap<String, BTreeSet<String>>,
    /// What was noticed: clashes, replaced names, files that cannot be read.
    pub warnings: Vec<Warning>,
    /// How many files the trees have.
    pub n_files: usize,
    /// How many of them had to be read.
    pub n_read: usize,
}

/// What to index and where to keep the result.
#[derive(Debug, Clone, Default)]
pub struct IndexOptions {
    /// Trees, weakest first: a later one replaces names of an earlier one.
    pub roots: Vec<PathBuf>,
    /// The file that keeps heads between runs.
    pub cache: Option<PathBuf>,
    /// What `~` stands for in includes.
    pub home: Option<PathBuf>,
    /// How many threads read; 0 for as many as there are cores.
    pub threads: usize,
}

impl Index {
    /// Reads the names of all trees.
    pub fn build(options: &IndexOptions) -> Result<Self> {
        let mut index = Self::default();
        let known = options
            .cache
            .as_deref()
            .map(cache::load)
            .unwrap_or_default();
        let n_known = known.len();
        let mut reading = Reading {
            known,
            fresh: HashMap::new(),
            n_read: 0,
            merged: HashMap::new(),
            threads: match options.threads {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                n => n,
            },
        };
        for root in &options.roots {
            if !root.is_dir() {
                let shown = root.display();
                return Err(Error::new(format!("`{shown}` is no folder"))
                    .with_hint("`--include-path` takes folders with task files"));
            }
            let files = list(root)?;
            index.n_files += files.len();
            reading.read(&files);
            let paths: Vec<&String> = files.iter().map(|(path, _)| path).collect();
            reading.read_includes(&paths, options.home.as_deref());
            let tree = tree(&paths, &mut reading, options.home.as_deref());
            index.add_tree(tree);
        }
        index.n_read = reading.n_read;
        if let Some(file) = &options.cache {
            let changed = reading.n_read > 0 || reading.fresh.len() != n_known;
            if let (true, Err(error)) = (changed, cache::store(file, &reading.fresh)) {
                let shown = file.display();
                let message = format!("the index could not be kept in `{shown}`: {error}");
                index.warnings.push(Warning::new(message));
            }
        }
        Ok(index)
    }

    /// Adds a later tree: its names win, its tags are merged.
    fn add_tree(&mut self, tree: Index) {
        self.warnings.extend(tree.warnings);
        for (name, entry) in tree.entries {
            if let Some(old) = self.entries.get(&name) {
                self.warnings.push(Warning::at(
                    format!("`{name}` replaces the one in `{}`", old.path.display()),
                    place(&entry.path),
                ));
            }
            if self.tags.remove(&name).is_some() {
                let message = format!("`{name}` replaces the tag of that name");
                self.warnings.push(Warning::at(message, place(&entry.path)));
            }
            self.entries.insert(name, entry);
        }
        for (tag, tasks) in tree.tags {
            if let Some(entry) = self.entries.get(&tag) {
                let message =
                    format!("tag `{tag}` has the name of a task or group and is not used");
                self.warnings.push(Warning::at(message, place(&entry.path)));
                continue;
            }
            self.tags.entry(tag).or_default().extend(tasks);
        }
    }

    /// The entry of a task or a group.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// The tasks of a tag, by name.
    pub fn tag(&self, name: &str) -> Option<&BTreeSet<String>> {
        self.tags.get(name)
    }

    /// Tasks and their entries, by name.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.of(|kind| kind != Kind::Group)
    }

    /// Groups and their entries, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.of(|kind| kind == Kind::Group)
    }

    fn of(&self, wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .filter(move |(_, entry)| wanted(entry.kind))
            .map(|(name, entry)| (name.as_str(), entry))
    }

    /// Tags with their tasks, by name.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.tags.iter().map(|(name, tasks)| (name.as_str(), tasks))
    }

    /// All names that can be selected, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.entries.keys().map(String::as_str).collect();
        names.extend(self.tags.keys().map(String::as_str));
        names.sort_unstable();
        names
    }
}

fn place(path: &Path) -> Place {
    Place::new(path.to_string_lossy(), None)
}

/// All `*.yaml` files below a folder, sorted by path.
fn list(root: &Path) -> Result<Vec<(String, Stamp)>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| {
            Error::new(format!(
                "cannot read folder `{}`: {error}",
                folder.display()
            ))
        })?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                if !SKIPPED.iter().any(|skipped| name == *skipped) {
                    folders.push(entry.path());
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
    files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(files)
}

/// Heads from the last run and from this one.
struct Reading {
    known: cache::Heads,
    fresh: cache::Heads,
    n_read: usize,
    threads: usize,
    /// What is included by many, on top of what that includes.
    merged: HashMap<String, Head>,
}

impl Reading {
    /// Makes sure that the heads of some files are known.
    fn read(&mut self, files: &[(String, Stamp)]) {
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

    /// Reads what files include, level by level.
    fn read_includes(&mut self, paths: &[&String], home: Option<&Path>) {
        let mut level: Vec<String> = paths.iter().map(|path| (*path).clone()).collect();
        let mut seen: HashSet<String> = HashSet::new();
        while !level.is_empty() {
            let mut next: Vec<String> = Vec::new();
            for path in &level {
                let Some((_, head)) = self.fresh.get(path) else {
                    continue;
                };
                if head.group.is_some() && !head.class {
                    continue;
                }
                for include in &head.includes {
                    let target = resolve(include, path, home);
                    if seen.insert(target.clone()) {
                        next.push(target);
                    }
                }
            }
            let stamps: Vec<(String, Stamp)> = next
                .iter()
                .filter_map(|path| {
                    let metadata = std::fs::metadata(path).ok()?;
                    Some((path.clone(), Stamp::of(&metadata)))
                })
                .collect();
            self.read(&stamps);
            level = next;
        }
    }

    /// The head of a file on top of what it includes.
    fn merged(&mut self, path: &str, home: Option<&Path>, stack: &mut Vec<String>) -> Head {
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

/// The names of one tree: of files with the same name the first by path stays.
fn tree(paths: &[&String], reading: &mut Reading, home: Option<&Path>) -> Index {
    let mut index = Index::default();
    let warn = |index: &mut Index, message: String, path: &str| {
        index
            .warnings
            .push(Warning::at(message, Place::new(path, None)));
    };
    let mut unnamed = 0_usize;
    for path in paths {
        let head = reading.merged(path, home, &mut Vec::new());
        if let Some(problem) = head.problem {
            warn(&mut index, format!("file left out: {problem}"), path);
            continue;
        }
        let (kind, name) = match (head.class, head.group, head.task) {
            (true, _, Some(task)) => (Kind::Python, task),
            (false, Some(group), _) => (Kind::Group, group),
            (false, None, Some(task)) => (Kind::Task, task),
            _ => {
                unnamed += 1;
                continue;
            }
        };
        // `task: name@format` is known by the name alone.
        let name = match name.split_once('@') {
            Some((name, _)) if kind != Kind::Group => name.to_owned(),
            _ => name,
        };
        if let Some(first) = index.entries.get(&name) {
            let message = format!(
                "`{name}` is already defined in `{}`; this file is not used",
                first.path.display()
            );
            warn(&mut index, message, path);
            continue;
        }
        if index.tags.contains_key(&name) {
            let message = format!("`{name}` is already the name of a tag; this file is not used");
            warn(&mut index, message, path);
            continue;
        }
        let tags = match kind {
            Kind::Group => Vec::new(),
            _ => head.tags.unwrap_or_default(),
        };
        for tag in &tags {
            if index.entries.contains_key(tag) || *tag == name {
                let message =
                    format!("tag `{tag}` has the name of a task or group and is not used");
                warn(&mut index, message, path);
                continue;
            }
            index
                .tags
                .entry(tag.clone())
                .or_default()
                .insert(name.clone());
        }
        index.entries.insert(
            name,
            Entry {
                kind,
                path: PathBuf::from(path),
                tags,
                output_type: head.output_type,
            },
        );
    }
    if unnamed > 0 {
        let message =
            format!("{unnamed} files define neither a task nor a group and are templates");
        index.warnings.push(Warning::new(message));
    }
    index
}
