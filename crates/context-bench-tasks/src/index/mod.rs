//! Which names a tree of task files defines.
//!
//! Files are read in parallel and only their names are kept; what did not change
//! since the last run is not read at all.

mod cache;
mod head;
mod reading;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use cache::IndexCache;
use context_bench_error::Place;
use reading::{FileList, Reading, list};
use snapshot::Snapshot;

use crate::error::{Error, Result, Warning};
use crate::file::{Kind, Loader};
use crate::memory_files::MemoryFiles;

/// One name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
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
pub struct TaskFileIndex {
    entries: BTreeMap<String, IndexEntry>,
    tags: BTreeMap<String, BTreeSet<String>>,
    /// What was noticed: clashes, replaced names.
    pub warnings: Vec<Warning>,
    /// Files that cannot be used, each with the reason.
    pub problems: Vec<Warning>,
    /// Files that are right and not used: another one has their name.
    pub unused: Vec<Warning>,
    /// How many files the trees have.
    pub n_files: usize,
    /// How many of them had to be read.
    pub n_read: usize,
    /// Files that describe datasets, which are tasks of their own.
    pub datasets: Vec<PathBuf>,
    /// Files that cannot be used, by the name they would have, or their own.
    left_out: BTreeSet<(String, PathBuf)>,
}

/// What to index and where to keep the result.
#[derive(Debug, Clone, Default)]
pub struct IndexOptions {
    /// Trees, or single files, weakest first: a later one replaces names of an earlier one.
    pub roots: Vec<PathBuf>,
    /// The file that keeps heads between runs.
    pub cache: Option<PathBuf>,
    /// What `~` stands for in includes.
    pub home: Option<PathBuf>,
    /// How many threads read; 0 for as many as there are cores.
    pub threads: usize,
}

impl TaskFileIndex {
    /// Reads the names of all trees.
    pub fn build(options: &IndexOptions) -> Result<Self> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        // The cache of the last run is read while folders are walked.
        let (kept, lists) = std::thread::scope(|scope| {
            let kept = scope.spawn(|| {
                let kept = IndexCache::load(options.cache.as_deref()?);
                Some((kept.snapshot(), kept))
            });
            let lists: Result<Vec<FileList>> = options
                .roots
                .iter()
                .map(|root| list(root, threads))
                .collect();
            (kept.join().ok().flatten(), lists)
        });
        let lists = lists?;
        let (snapshot, kept) = kept.unwrap_or_default();
        let key = snapshot::key(options, &lists);
        if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.holds(key)) {
            return Ok(snapshot.index);
        }
        let mut index = Self::default();
        let mut reading = Reading {
            known: kept.heads(),
            threads,
            ..Reading::default()
        };
        let mut included = BTreeSet::new();
        for (root, files) in options.roots.iter().zip(lists) {
            index.n_files += files.len();
            reading.read(&files);
            let paths: Vec<&String> = files.iter().map(|(path, _)| path).collect();
            included.extend(reading.read_includes(&paths, options.home.as_deref()));
            let tree = tree(&paths, &mut reading, options.home.as_deref());
            // In a tree a broken file is left out with a warning; one that was named is
            // an error.
            if tree.entries.is_empty() && tree.datasets.is_empty() && root.is_file() {
                Loader::new(options.home.clone()).load(root)?;
                return Err(Error::new("the file defines no task, group or dataset")
                    .at(&place(root))
                    .with_hint("add `task: name`, `group: name`, or `name` for a dataset"));
            }
            index.add_tree(tree);
        }
        index.n_read = reading.n_read;
        if let Some(file) = &options.cache {
            let stamped = |path: String| {
                let stamp = snapshot::stamp(&path);
                (path, stamp)
            };
            let snapshot = Snapshot {
                key,
                included: included.into_iter().map(stamped).collect(),
                index,
            };
            let stored = cache::store(file, &reading.fresh, &snapshot);
            index = snapshot.index;
            if let Err(error) = stored {
                let shown = file.display();
                let message = format!("the index could not be kept in `{shown}`: {error}");
                index.warnings.push(Warning::new(message));
            }
        }
        Ok(index)
    }

    /// The names of files that are not on disk.
    pub fn of_memory_files(files: &MemoryFiles) -> Self {
        let mut reading = Reading::default();
        for (path, text) in files.iter() {
            let path = path.to_string_lossy().into_owned();
            let head = head::Head::parse(text.as_bytes(), &path);
            reading.fresh.insert(path, (head::Stamp::default(), head));
        }
        let mut paths: Vec<String> = reading.fresh.keys().cloned().collect();
        paths.sort_unstable();
        let mut index = tree(&paths.iter().collect::<Vec<_>>(), &mut reading, None);
        index.n_files = paths.len();
        // Their templates are meant to be templates.
        index.warnings.retain(|warning| warning.place.is_some());
        index
    }

    /// What users of the index should know: every warning, but only one line about files
    /// whose name is taken and one about files that cannot be used, since a user may not
    /// need any of them.
    pub fn remarks(&self) -> Vec<Warning> {
        let mut remarks = self.warnings.clone();
        if let Some((first, others)) = self.unused.split_first() {
            let message = match others.len() {
                0 => first.message.clone(),
                n => format!("{}; nor are {n} more of that kind", first.message),
            };
            let place = first.place.clone();
            remarks.push(Warning { message, place });
        }
        if let Some((first, others)) = self.problems.split_first() {
            let message = match others.len() {
                0 => format!("a file is left out: {}", first.message),
                n => format!(
                    "{} files are left out, which `validate '*'` lists; the first: {}",
                    n + 1,
                    first.message
                ),
            };
            remarks.push(Warning {
                message,
                place: first.place.clone(),
            });
        }
        remarks
    }

    /// Puts a small tree below this one: names that are here already stay as they are.
    #[must_use]
    pub fn over(mut self, base: Self) -> Self {
        let mut replaced = Vec::new();
        for (name, entry) in base.entries {
            if self.entries.contains_key(&name) || self.tags.contains_key(&name) {
                replaced.push(name);
            } else {
                self.entries.insert(name, entry);
            }
        }
        for (tag, mut tasks) in base.tags {
            // A tag whose tasks are all replaced no longer exists.
            tasks.retain(|task| !replaced.contains(task));
            if !tasks.is_empty() && !self.entries.contains_key(&tag) {
                self.tags.entry(tag).or_default().extend(tasks);
            }
        }
        if let Some((first, others)) = replaced.split_first() {
            let more = match others.len() {
                0 => String::new(),
                n => format!(" and {n} more names"),
            };
            let place = self.entries.get(first).map(|entry| place(&entry.path));
            let message = format!("`{first}`{more} replace what comes with the program");
            self.warnings.push(Warning { message, place });
        }
        self.n_files += base.n_files;
        self
    }

    /// Adds a later tree: its names win, its tags are merged.
    fn add_tree(&mut self, tree: TaskFileIndex) {
        self.warnings.extend(tree.warnings);
        self.problems.extend(tree.problems);
        self.unused.extend(tree.unused);
        self.datasets.extend(tree.datasets);
        self.left_out.extend(tree.left_out);
        if self.entries.is_empty() && self.tags.is_empty() {
            self.entries = tree.entries;
            self.tags = tree.tags;
            return;
        }
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
    pub fn entry(&self, name: &str) -> Option<&IndexEntry> {
        self.entries.get(name)
    }

    /// The file that would define a name if it could be used.
    pub fn left_out(&self, name: &str) -> Option<&Path> {
        let mut named = self.left_out.iter().filter(|(left, _)| left == name);
        named.next().map(|(_, path)| path.as_path())
    }

    /// All files that cannot be used, by the name they would have, or their own.
    pub fn all_left_out(&self) -> impl Iterator<Item = (&str, &Path)> {
        let left_out = self.left_out.iter();
        left_out.map(|(name, path)| (name.as_str(), path.as_path()))
    }

    /// The tasks of a tag, by name.
    pub fn tag(&self, name: &str) -> Option<&BTreeSet<String>> {
        self.tags.get(name)
    }

    /// Tasks and their entries, by name.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &IndexEntry)> {
        self.of(|kind| kind != Kind::Group)
    }

    /// Groups and their entries, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &IndexEntry)> {
        self.of(|kind| kind == Kind::Group)
    }

    fn of(&self, wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = (&str, &IndexEntry)> {
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
    Place::path(path)
}

/// The names of one tree: of files with the same name the first by path stays.
fn tree(paths: &[&String], reading: &mut Reading, home: Option<&Path>) -> TaskFileIndex {
    let mut index = TaskFileIndex::default();
    // Sorted once at the end: names of a tree share long beginnings.
    let mut entries: HashMap<String, IndexEntry> = HashMap::with_capacity(paths.len());
    let mut tasks_of: HashMap<String, Vec<String>> = HashMap::new();
    let warn = |index: &mut TaskFileIndex, message: String, path: &str| {
        index.warnings.push(Warning::at(message, Place::file(path)));
    };
    let mut unnamed = 0_usize;
    for path in paths {
        let head = reading.merged(path, home, &mut Vec::new());
        if head.dataset && head.problem.is_none() {
            index.datasets.push(PathBuf::from(path));
            continue;
        }
        if let Some(problem) = head.problem {
            let place = Place::file(path.as_str());
            index.problems.push(Warning::at(problem, place));
            let path = PathBuf::from(path);
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            if let Some(name) = head.group.or(head.task).or(stem) {
                index.left_out.insert((name, path));
            }
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
        if let Some(first) = entries.get(&name) {
            let message = format!(
                "`{name}` is already defined in `{}`; this file is not used",
                first.path.display()
            );
            let place = Place::file(path.as_str());
            index.unused.push(Warning::at(message, place));
            continue;
        }
        if tasks_of.contains_key(&name) {
            let message = format!("`{name}` is already the name of a tag; this file is not used");
            let place = Place::file(path.as_str());
            index.unused.push(Warning::at(message, place));
            continue;
        }
        let tags = match kind {
            Kind::Group => Vec::new(),
            _ => head.tags.unwrap_or_default(),
        };
        for tag in &tags {
            if entries.contains_key(tag) || *tag == name {
                let message =
                    format!("tag `{tag}` has the name of a task or group and is not used");
                warn(&mut index, message, path);
                continue;
            }
            match tasks_of.get_mut(tag) {
                Some(tasks) => tasks.push(name.clone()),
                None => {
                    tasks_of.insert(tag.clone(), vec![name.clone()]);
                }
            }
        }
        entries.insert(
            name,
            IndexEntry {
                kind,
                path: PathBuf::from(path),
                tags,
                output_type: head.output_type,
            },
        );
    }
    index.entries = entries.into_iter().collect();
    let tags = tasks_of.into_iter();
    index.tags = tags
        .map(|(tag, tasks)| (tag, tasks.into_iter().collect()))
        .collect();
    if unnamed > 0 {
        let message = format!("{unnamed} files define no task, group or dataset and are templates");
        index.warnings.push(Warning::new(message));
    }
    index
}
