//! What the index keeps of a file: its names and what it includes.

use std::path::Path;

use context_bench_template::yaml::{self, Node};

/// Keys that say what a file defines, and that it may take back from what it includes.
const NAMING: [&str; 4] = ["task", "group", "class", "output_type"];

/// The part of a file that says what it defines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    pub(crate) task: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) class: bool,
    /// `None` when the file does not say; an empty list hides inherited tags.
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) includes: Vec<String>,
    pub(crate) output_type: Option<String>,
    /// Keys that are null here: what an included file says about them does not count.
    pub(crate) unset: Vec<String>,
    /// Whether the file describes a dataset: it has a `name` and defines no task.
    pub(crate) dataset: bool,
    /// Why the file cannot be used; nothing else is known then.
    pub(crate) problem: Option<String>,
}

impl Head {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Self {
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(&bytes, &path.to_string_lossy()),
            Err(error) => Self::broken(format!("cannot read the file: {error}")),
        }
    }

    fn broken(problem: String) -> Self {
        Self {
            problem: Some(problem),
            ..Self::default()
        }
    }

    pub(crate) fn parse(bytes: &[u8], file: &str) -> Self {
        let document = match yaml::parse(bytes, file) {
            Ok(document) => document,
            Err(error) => {
                let at = error.place().line.zip(error.place().column);
                let at = at.map(|(line, column)| format!(" at {line}:{column}"));
                let at = at.unwrap_or_default();
                return Self::broken(format!("{}{at}", error.message()));
            }
        };
        let root = &document.root;
        if root.as_map().is_none() {
            return Self::broken(format!(
                "a mapping was expected, found {}",
                root.value.kind()
            ));
        }
        // Null counts as absent: templates mark with it what the including file fills in.
        let is_null = |node: &Node| node.value.kind() == "null";
        let given = |key: &str| root.get(key).filter(|node| !is_null(node));
        let unset = |key: &&&str| root.get(key).is_some_and(|node| is_null(node));
        let mut head = Self {
            class: given("class").is_some(),
            output_type: given("output_type").and_then(|node| text(node)),
            includes: given("include").map(|node| texts(node)).unwrap_or_default(),
            tags: root.get("tag").map(|node| texts(node)),
            unset: NAMING
                .iter()
                .filter(unset)
                .map(|key| (*key).to_owned())
                .collect(),
            ..Self::default()
        };
        for (key, name) in [("task", &mut head.task), ("group", &mut head.group)] {
            let Some(node) = given(key) else { continue };
            match text(node) {
                Some(found) => *name = Some(found),
                // A group's `task` is the list of its members.
                None if key == "task" => {}
                None => {
                    let at = node.position;
                    return Self::broken(format!(
                        "`{key}` must be text, found {} at {at}",
                        node.value.kind()
                    ));
                }
            }
        }
        if let Some(node) = root.get("tag").and_then(|node| no_text(node)) {
            return Self::broken(format!(
                "`tag` must be text, found {} at {}; put quotes around it",
                node.value.kind(),
                node.position
            ));
        }
        head.dataset = root.get("name").is_some()
            && ["task", "group", "class"]
                .iter()
                .all(|key| root.get(key).is_none());
        if let (None, None, Some(node)) = (&head.group, &head.task, given("task")) {
            let at = node.position;
            return Self::broken(format!(
                "`task` must be text, found {} at {at}",
                node.value.kind()
            ));
        }
        head
    }

    /// Puts this head on top of what it includes.
    pub(crate) fn over(&self, base: Head) -> Head {
        let is_unset = |key: &str| self.unset.iter().any(|unset| unset == key);
        let below = |key: &str, name: Option<String>| name.filter(|_| !is_unset(key));
        let mut unset = self.unset.clone();
        unset.extend(base.unset);
        Head {
            task: self.task.clone().or(below("task", base.task)),
            group: self.group.clone().or(below("group", base.group)),
            class: self.class || (base.class && !is_unset("class")),
            tags: self.tags.clone().or(base.tags),
            includes: Vec::new(),
            output_type: self
                .output_type
                .clone()
                .or(below("output_type", base.output_type)),
            unset,
            dataset: self.dataset,
            problem: self.problem.clone().or(base.problem),
        }
    }
}

fn text(node: &Node) -> Option<String> {
    node.as_str().map(str::to_owned)
}

/// The first node that is not text, in a list or by itself. Null means no tag.
fn no_text(node: &Node) -> Option<&Node> {
    let is_name = |node: &&Node| node.as_str().is_none() && node.value.kind() != "null";
    match node.as_list() {
        Some(items) => items.iter().map(|item| &**item).find(is_name),
        None => Some(node).filter(is_name),
    }
}

fn texts(node: &Node) -> Vec<String> {
    match node.as_list() {
        Some(items) => items.iter().filter_map(|item| text(item)).collect(),
        None => text(node).into_iter().collect(),
    }
}

/// Size and time of a file, which show whether it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: u64,
}

impl Stamp {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Self {
        let since = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            size: metadata.len(),
            modified: since.map_or(0, |since| {
                u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
            }),
        }
    }
}
