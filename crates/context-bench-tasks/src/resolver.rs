//! From names to trees: loading tasks and groups, members, overrides.

use std::path::{Path, PathBuf};

use context_bench_error::Place;
use context_bench_error::suggest::{did_you_mean, quoted_list};
use serde_json::{Map, Value};

use crate::aggregate::AggregateMetric;
use crate::config::{Config, Origin};
use crate::error::{Error, Result, Warning};
use crate::file::{Kind, Loader, kind};
use crate::index::{IndexEntry, TaskFileIndex};
use crate::member::{add_child, leaf, member_place, members, name_of, passed_down, warn_twice};
use crate::memory_files::MemoryFiles;
use crate::tree::{Group, Node};
use crate::warnings::Warnings;

/// Keys of a group that concern the group itself and never its members.
pub const STRUCTURAL: &[&str] = &[
    "group",
    "group_alias",
    "task",
    "include",
    "aggregate_metric_list",
    "metadata",
];
/// A mapping with any of these keys defines a task of its own.
pub(crate) const DEFINING: &[&str] = &["dataset_path", "custom_dataset", "dataset", "class"];
/// Groups inside groups; deeper ones are mistakes.
const MAX_DEPTH: usize = 64;

/// Resolves names of tasks, groups and tags into trees.
#[derive(Debug, Default)]
pub struct TaskResolver {
    /// The names.
    pub index: TaskFileIndex,
    /// Reads the files.
    pub loader: Loader,
}

/// What the groups around a node say about it.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupContext {
    /// Overrides of the groups around it, outermost first.
    pub(crate) handed: Config,
    /// The id of the group it is a member of.
    pub(crate) parent: Option<String>,
    /// The format asked for.
    pub(crate) format: Option<String>,
    /// The groups it lies in, to notice cycles.
    pub(crate) stack: Vec<String>,
}

impl TaskResolver {
    /// A resolver of the names of an index.
    pub fn new(index: TaskFileIndex, home: Option<PathBuf>) -> Self {
        Self {
            index,
            loader: Loader::new(home),
        }
    }

    /// The same with the files of the index that are not on disk.
    #[must_use]
    pub fn with_memory_files(mut self, files: MemoryFiles) -> Self {
        self.loader.memory = files;
        self
    }

    /// Resolves one name, path of names (`group::task`), name with format or file.
    pub fn load(&self, spec: &str) -> Result<(Vec<Node>, Vec<Warning>)> {
        let warnings = Warnings::default();
        let nodes = self.spec(spec, &warnings)?;
        Ok((nodes, warnings.into_inner()))
    }

    /// Resolves a definition given as a mapping; nothing registered is merged in.
    pub fn load_inline(
        &self,
        map: &Map<String, Value>,
        directory: &Path,
    ) -> Result<(Node, Vec<Warning>)> {
        let warnings = Warnings::default();
        let config = Config::from_json(map, &Origin::other("<inline>"));
        let node = self.definition(config, directory, &GroupContext::default(), &warnings)?;
        Ok((node, warnings.into_inner()))
    }

    pub(crate) fn spec(&self, spec: &str, warnings: &Warnings) -> Result<Vec<Node>> {
        if self.is_registered(spec) {
            return self.named(spec, &GroupContext::default(), warnings);
        }
        if spec.contains("::") {
            return crate::path::walk(self, spec, warnings).map(|node| vec![node]);
        }
        if let Some((name, format)) = spec
            .rsplit_once('@')
            .filter(|(name, _)| self.is_registered(name))
        {
            let context = GroupContext {
                format: Some(format.to_owned()),
                ..GroupContext::default()
            };
            return self.named(name, &context, warnings);
        }
        if spec.ends_with(".yaml") || spec.ends_with(".yml") {
            return self.file(Path::new(spec), warnings).map(|node| vec![node]);
        }
        Err(self.unknown(spec))
    }

    /// A task or group file that is named itself.
    pub(crate) fn file(&self, path: &Path, warnings: &Warnings) -> Result<Node> {
        let file = self.loader.load(path)?;
        warnings.borrow_mut().extend(file.warnings);
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        if kind(&file.config).is_none() {
            let place = Place::path(path);
            return Err(Error::new("the file defines neither a task nor a group")
                .at(&place)
                .with_hint("add `task: name` or `group: name`"));
        }
        self.definition(file.config, &directory, &GroupContext::default(), warnings)
    }

    pub(crate) fn is_registered(&self, name: &str) -> bool {
        self.index.entry(name).is_some() || self.index.tag(name).is_some()
    }

    /// The error for an unknown name.
    pub(crate) fn unknown(&self, spec: &str) -> Error {
        let name = spec.split('@').next().unwrap_or(spec);
        let name = name.split("::").next().unwrap_or(name);
        // A file that could not be used is the reason, not a typo.
        let left_out = self.index.left_out(name);
        if let Some(Err(error)) = left_out.map(|path| self.loader.load(path)) {
            return error;
        }
        let names = self.index.names();
        let n = names.len();
        let hint = did_you_mean(name, names)
            .unwrap_or_else(|| format!("{n} names in {} files are known", self.index.n_files));
        Error::new(format!("unknown task, group or tag `{spec}`")).with_hint(hint)
    }

    /// What a registered name stands for; several tasks for a tag.
    pub(crate) fn named(
        &self,
        name: &str,
        context: &GroupContext,
        warnings: &Warnings,
    ) -> Result<Vec<Node>> {
        if let Some(entry) = self.index.entry(name) {
            return Ok(vec![self.registered(
                name,
                entry,
                &Config::new(),
                context,
                warnings,
            )?]);
        }
        let Some(tasks) = self.index.tag(name) else {
            return Err(self.unknown(name));
        };
        let mut nodes = Vec::with_capacity(tasks.len());
        for task in tasks {
            if let Some(entry) = self.index.entry(task) {
                nodes.push(self.registered(task, entry, &Config::new(), context, warnings)?);
            }
        }
        Ok(nodes)
    }

    pub(crate) fn registered(
        &self,
        name: &str,
        entry: &IndexEntry,
        member: &Config,
        context: &GroupContext,
        warnings: &Warnings,
    ) -> Result<Node> {
        let file = self.loader.load(&entry.path)?;
        warnings.borrow_mut().extend(file.warnings);
        let directory = entry.path.parent().unwrap_or(Path::new(""));
        if entry.kind == Kind::Group {
            let mut config = file.config;
            // A reference may rename a group or give it other aggregates.
            for key in ["group_alias", "aggregate_metric_list", "metadata"] {
                if let Some(setting) = member.setting(key) {
                    config.set(key, setting.value.clone(), setting.origin.clone());
                }
            }
            let mut inner = context.clone();
            inner.handed.extend(&passed_down(member));
            return self.group(&config, name, name, directory, &inner, warnings);
        }
        let mut config = file.config;
        config.extend(&context.handed);
        config.extend(member);
        Ok(Node::Task(leaf(config, name, false, context)))
    }

    /// A task or group defined by a configuration of its own.
    pub(crate) fn definition(
        &self,
        config: Config,
        directory: &Path,
        context: &GroupContext,
        warnings: &Warnings,
    ) -> Result<Node> {
        let inside = |name: &str| match &context.parent {
            Some(parent) => format!("{parent}::{name}"),
            None => name.to_owned(),
        };
        let is_group = config.get("group").is_some() && config.get("class").is_none();
        if is_group {
            let name = name_of(&config, "group")?;
            return self.group(&config, &name, &inside(&name), directory, context, warnings);
        }
        let file = self.loader.complete(config, directory)?;
        warnings.borrow_mut().extend(file.warnings);
        let written = name_of(&file.config, "task")?;
        let name = written.split('@').next().unwrap_or(&written).to_owned();
        let mut config = context.handed.clone();
        config.extend(&file.config);
        let mut leaf = leaf(config, &name, context.parent.is_some(), context);
        if context.parent.is_some() && leaf.config.get("task_alias").is_none() {
            let origin = Origin::other("<inline>");
            leaf.config.set("task_alias", Value::from(name), origin);
        }
        // Two formats of one inline task are two members.
        if let (Some(_), None, Some((_, format))) =
            (&context.parent, &leaf.format, written.split_once('@'))
        {
            leaf.set_format(format);
        }
        Ok(Node::Task(leaf))
    }

    fn group(
        &self,
        config: &Config,
        name: &str,
        id: &str,
        directory: &Path,
        context: &GroupContext,
        warnings: &Warnings,
    ) -> Result<Node> {
        if let Some(at) = context.stack.iter().position(|open| open == id) {
            let mut cycle = context.stack[at..].to_vec();
            cycle.push(id.to_owned());
            return Err(
                Error::new(format!("groups contain each other: {}", cycle.join(" -> ")))
                    .with_hint("take one of them out of the other's `task` list"),
            );
        }
        if context.stack.len() >= MAX_DEPTH {
            return Err(Error::new(format!(
                "more than {MAX_DEPTH} groups inside each other"
            )));
        }
        let place = config.place("group").or(config.place("task")).cloned();
        let wrong = |error: Error| match &place {
            Some(place) => error.at(place),
            None => error,
        };
        let (config, folder) = self.with_template(config, directory).map_err(wrong)?;
        let config = &config;
        let mut handed = match self.defaults(config, name, directory).map_err(wrong) {
            Ok(handed) => handed,
            Err(error) => warnings.collect(error).map(|()| Config::new())?,
        };
        handed.extend(&context.handed);
        let inner = GroupContext {
            handed,
            parent: Some(id.to_owned()),
            format: context.format.clone(),
            stack: context
                .stack
                .iter()
                .cloned()
                .chain([id.to_owned()])
                .collect(),
        };
        let mut children: Vec<Node> = Vec::new();
        for member in members(config, name).map_err(wrong)? {
            let of_member = |error: Error| match member_place(config, member) {
                Some(place) => error.at(&place),
                None => wrong(error),
            };
            let nodes = self.member(member, name, &folder, config, &inner, warnings);
            let nodes = match nodes.map_err(of_member) {
                Ok(nodes) => nodes,
                Err(error) => warnings.collect(error).map(|()| Vec::new())?,
            };
            for node in nodes {
                if let Err(error) = add_child(&mut children, node, name, warnings) {
                    warnings.collect(of_member(error))?;
                }
            }
        }
        let mut aggregate = Vec::new();
        let entries = AggregateMetric::list(config, name, &mut warnings.borrow_mut());
        for entry in entries {
            match entry.map_err(wrong) {
                Ok(entry) => aggregate.push(entry),
                Err(error) => warnings.collect(error)?,
            }
        }
        let group = Group {
            id: id.to_owned(),
            name: name.to_owned(),
            alias: config.text("group_alias").map(str::to_owned),
            aggregate,
            metadata: match config.get("metadata") {
                Some(Value::Object(map)) => map.clone(),
                Some(other) => Map::from_iter([("_metadata".to_owned(), other.clone())]),
                None => Map::new(),
            },
            children,
        };
        warn_twice(&group, warnings);
        Ok(Node::Group(group))
    }

    /// A group with what its `include` says about groups, and the folder that its members
    /// start at. A file that is included may be a template of groups; what it says about
    /// tasks is for the tasks.
    fn with_template(&self, config: &Config, directory: &Path) -> Result<(Config, PathBuf)> {
        let mut whole = config.clone();
        let mut folder = directory.to_owned();
        let Some(paths @ (Value::String(_) | Value::Array(_))) = config.get("include") else {
            return Ok((whole, folder));
        };
        for path in crate::file::include_paths(paths)? {
            let path = self.loader.resolve(path, directory);
            let file = self.loader.load(&path)?.config;
            let has_members = file.get("task").is_some_and(Value::is_array);
            let of_groups = ["group", "group_alias", "aggregate_metric_list"];
            if !has_members && of_groups.iter().all(|key| file.get(key).is_none()) {
                continue;
            }
            for key in ["group_alias", "aggregate_metric_list", "metadata", "task"] {
                let Some(setting) = file.setting(key).filter(|_| config.get(key).is_none()) else {
                    continue;
                };
                if key == "task" && has_members {
                    folder = path.parent().unwrap_or(Path::new("")).to_owned();
                } else if key == "task" {
                    continue;
                }
                whole.set(key, setting.value.clone(), setting.origin.clone());
            }
        }
        Ok((whole, folder))
    }

    /// What a group sets for all its tasks: its `include`, and keys that are not its own.
    fn defaults(&self, config: &Config, name: &str, directory: &Path) -> Result<Config> {
        let mut defaults = Config::new();
        match config.get("include") {
            None => {}
            Some(Value::Object(map)) => {
                let origin = config
                    .setting("include")
                    .map(|setting| setting.origin.clone());
                let origin = origin.unwrap_or_else(|| Origin::other("<inline>"));
                defaults.extend(&Config::from_json(map, &origin));
            }
            Some(paths) => {
                for path in crate::file::include_paths(paths)? {
                    let file = self.loader.load(&self.loader.resolve(path, directory))?;
                    defaults.extend(&file.config);
                }
            }
        }
        for (key, setting) in config.iter() {
            if !STRUCTURAL.contains(&key) && !matches!(key, "tag" | "task_list" | "class") {
                defaults.set(key, setting.value.clone(), setting.origin.clone());
            }
        }
        Ok(passed_down(&defaults).via(&format!("group `{name}`")))
    }

    /// A name and the format behind its last `@`, unless the whole is registered.
    pub(crate) fn split_format<'n>(&self, name: &'n str) -> (&'n str, Option<&'n str>) {
        match name.rsplit_once('@') {
            Some((base, format)) if !self.is_registered(name) && self.is_registered(base) => {
                (base, Some(format))
            }
            _ => (name, None),
        }
    }

    pub(crate) fn unknown_member(&self, name: &str, group: &str) -> Error {
        let left_out = self.index.left_out(name);
        if let Some(Err(error)) = left_out.map(|path| self.loader.load(path)) {
            return error;
        }
        let hint = did_you_mean(name, self.index.names()).unwrap_or_else(|| {
            let keys = quoted_list(DEFINING, "or");
            format!("a task of its own needs {keys}")
        });
        Error::new(format!("group `{group}` has an unknown member `{name}`")).with_hint(hint)
    }
}
