//! Members of groups: names, references with overrides, definitions of their own.

use std::path::Path;

use context_bench_error::Place;
use serde_json::Value;

use crate::config::{Config, Origin};
use crate::error::{Error, Result, Warning};
use crate::file::Kind;
use crate::index::IndexEntry;
use crate::resolver::{DEFINING, GroupContext, STRUCTURAL, TaskResolver};
use crate::tree::{Group, Leaf, Node};
use crate::warnings::Warnings;

impl TaskResolver {
    /// What a member of a group stands for; several tasks for a tag.
    pub(crate) fn member(
        &self,
        member: &Value,
        group: &str,
        directory: &Path,
        config: &Config,
        context: &GroupContext,
        warnings: &Warnings,
    ) -> Result<Vec<Node>> {
        let own = Config::new();
        let map = match member {
            Value::String(name) => {
                let (base, format) = self.split_format(name);
                let mut inner = context.clone();
                inner.format = format.map(str::to_owned).or(inner.format);
                if self.is_registered(base) {
                    return self.named(base, &inner, warnings);
                }
                if name.contains("::") {
                    return self.spec(name, warnings);
                }
                if let Some(nodes) = self.beside(name, directory, &own, context, warnings)? {
                    return Ok(nodes);
                }
                return Err(self.unknown_member(name, group));
            }
            Value::Object(map) => map,
            other => {
                let message = format!(
                    "a member of group `{group}` must be a name or a mapping, found `{other}`"
                );
                return Err(Error::new(message));
            }
        };
        let origin = config.setting("task").map(|setting| setting.origin.clone());
        let origin = origin.unwrap_or_else(|| Origin::other("<inline>"));
        let mut own = Config::from_json(map, &origin);
        let defines_group = map.contains_key("group") && map.contains_key("task");
        if defines_group {
            return Ok(vec![self.definition(own, directory, context, warnings)?]);
        }
        let key = if map.contains_key("group") {
            "group"
        } else {
            "task"
        };
        let Some(name) = map.get(key).and_then(Value::as_str) else {
            return Err(Error::new(format!(
                "a member of group `{group}` has neither `task` nor `group`"
            ))
            .with_hint("write `- task: name` with its overrides beside"));
        };
        let (base, format) = self.split_format(name);
        if self.is_registered(base) {
            own.remove(key);
            let own = own.via(&format!("member of group `{group}`"));
            let mut inner = context.clone();
            inner.format = format.map(str::to_owned).or(inner.format);
            if let Some(entry) = self.index.entry(base) {
                return Ok(vec![self.registered(base, entry, &own, &inner, warnings)?]);
            }
            inner.handed.extend(&passed_down(&own));
            return self.named(base, &inner, warnings);
        }
        let mut overrides = own.clone();
        overrides.remove(key);
        let overrides = overrides.via(&format!("member of group `{group}`"));
        if let Some(nodes) = self.beside(name, directory, &overrides, context, warnings)? {
            return Ok(nodes);
        }
        let complete = self.loader.complete(own.clone(), directory)?.config;
        let mut whole = context.handed.clone();
        whole.extend(&complete);
        if key == "group" || !DEFINING.iter().any(|key| whole.get(key).is_some()) {
            return Err(self.unknown_member(name, group));
        }
        Ok(vec![self.definition(own, directory, context, warnings)?])
    }
}

impl TaskResolver {
    /// What a name stands for that no index has, among the files beside the group: a
    /// group that is named by its path can name them.
    fn beside(
        &self,
        name: &str,
        directory: &Path,
        member: &Config,
        context: &GroupContext,
        warnings: &Warnings,
    ) -> Result<Option<Vec<Node>>> {
        let (base, format) = match name.rsplit_once('@') {
            Some((base, format)) => (base, Some(format)),
            None => (name, None),
        };
        let mut inner = context.clone();
        inner.format = format.map(str::to_owned).or(inner.format);
        let mut tagged = Vec::new();
        for path in crate::pattern::glob(&directory.join("*.yaml")) {
            // A file that cannot be read defines no name.
            let Ok(file) = self.loader.load(&path) else {
                continue;
            };
            let Some(kind) = file.kind() else { continue };
            let key = if kind == Kind::Group { "group" } else { "task" };
            let Some(own) = file.config.text(key) else {
                continue;
            };
            let entry = IndexEntry {
                kind,
                path: path.clone(),
                tags: Vec::new(),
                output_type: None,
            };
            let own = own.split('@').next().unwrap_or(own);
            if own == base {
                let node = self.registered(base, &entry, member, &inner, warnings)?;
                return Ok(Some(vec![node]));
            }
            let has_tag = match file.config.get("tag") {
                Some(Value::Array(tags)) => tags.iter().any(|tag| tag.as_str() == Some(base)),
                Some(tag) => tag.as_str() == Some(base),
                None => false,
            };
            if has_tag && kind != Kind::Group {
                tagged.push((own.to_owned(), entry));
            }
        }
        inner.handed.extend(&passed_down(member));
        tagged.sort_by(|(a, _), (b, _)| a.cmp(b));
        let nodes: Result<Vec<Node>> = tagged
            .iter()
            .map(|(own, entry)| self.registered(own, entry, &Config::new(), &inner, warnings))
            .collect();
        Ok(Some(nodes?).filter(|nodes| !nodes.is_empty()))
    }
}

/// Adds a member; ids are unique among the members of a group.
pub(crate) fn add_child(
    children: &mut Vec<Node>,
    node: Node,
    group: &str,
    warnings: &Warnings,
) -> Result<()> {
    match children.iter().find(|child| child.id() == node.id()) {
        None => children.push(node),
        Some(same) if *same == node => {
            let message = format!(
                "group `{group}` names `{}` twice; it counts once",
                node.id()
            );
            warnings.borrow_mut().push(Warning::new(message));
        }
        Some(_) => {
            let message = format!(
                "group `{group}` has two members `{}` with different settings",
                node.id()
            );
            return Err(Error::new(message)
                .with_hint("define one of them as a task with a name of its own"));
        }
    }
    Ok(())
}

/// A task in two subgroups counts twice in their parent, as in the reference.
pub(crate) fn warn_twice(group: &Group, warnings: &Warnings) {
    let mut seen = std::collections::BTreeMap::new();
    for child in &group.children {
        for leaf in child.leaves() {
            *seen.entry(leaf.id.as_str()).or_insert(0_usize) += 1;
        }
    }
    for (id, n) in seen.into_iter().filter(|(_, n)| *n > 1) {
        let message = format!(
            "`{id}` is in {n} members of group `{}` and counts {n} times",
            group.name
        );
        warnings.borrow_mut().push(Warning::new(message));
    }
}

pub(crate) fn leaf(mut config: Config, name: &str, inline: bool, context: &GroupContext) -> Leaf {
    let written = config.text("task").unwrap_or(name).to_owned();
    for key in ["tag", "task_list", "group"] {
        config.remove(key);
    }
    if written != name && !written.contains('@') {
        let origin = config.setting("task").map(|setting| setting.origin.clone());
        let origin = origin.unwrap_or_else(|| Origin::other("<inline>"));
        config.set("task", Value::from(name), origin);
    }
    let path = match &context.parent {
        Some(parent) => format!("{parent}::{name}"),
        None => name.to_owned(),
    };
    let mut leaf = Leaf {
        id: if inline {
            path.clone()
        } else {
            name.to_owned()
        },
        path,
        name: name.to_owned(),
        python: config.get("class").is_some(),
        config,
        format: None,
    };
    if let Some(format) = &context.format {
        leaf.set_format(format);
    }
    leaf
}

/// Without the keys that concern one group only.
pub(crate) fn passed_down(config: &Config) -> Config {
    let mut down = config.clone();
    for key in STRUCTURAL {
        down.remove(key);
    }
    down
}

pub(crate) fn name_of(config: &Config, key: &str) -> Result<String> {
    let Some(setting) = config.setting(key) else {
        return Err(Error::new(format!("`{key}` is missing")));
    };
    match setting.value.as_str() {
        Some(name) => Ok(name.to_owned()),
        None => Err(
            Error::new(format!("`{key}` must be text, found `{}`", setting.value))
                .at(&setting.origin.place)
                .with_hint("put quotes around a name that looks like a number"),
        ),
    }
}

/// The members of a group; a single name is a list of one.
pub(crate) fn members<'c>(config: &'c Config, group: &str) -> Result<Vec<&'c Value>> {
    match config.get("task") {
        Some(Value::Array(members)) => Ok(members.iter().collect()),
        Some(member @ (Value::String(_) | Value::Object(_))) => Ok(vec![member]),
        Some(other) => Err(Error::new(format!(
            "`task` of group `{group}` must be a list, found `{other}`"
        ))),
        None => Err(Error::new(format!("group `{group}` has no `task` list"))),
    }
}

/// The line of a file on which a group names a member: the first below its `task` with
/// that name in it. Values do not keep where they stood, and this is for messages only.
pub(crate) fn member_place(config: &Config, member: &Value) -> Option<Place> {
    let place = config.place("task")?;
    let name = match member {
        Value::String(name) => name.as_str(),
        other => ["task", "group"]
            .iter()
            .find_map(|key| other.get(key)?.as_str())?,
    };
    let text = std::fs::read_to_string(&*place.file).ok()?;
    let from = place.line?;
    let is_inside = |c: char| c.is_alphanumeric() || "_-@:.".contains(c);
    let names = |line: &str| {
        let found = line.match_indices(name).find(|(at, _)| {
            let before = line[..*at].chars().next_back();
            let after = line[at + name.len()..].chars().next();
            !before.is_some_and(is_inside) && !after.is_some_and(is_inside)
        });
        found.map(|(at, _)| line[..at].chars().count() + 1)
    };
    let mut lines = (from..).zip(text.lines().skip(from.saturating_sub(1)));
    let (line, column) = lines.find_map(|(at, line)| Some((at, names(line)?)))?;
    Some(Place::file(place.file.clone()).line(line).column(column))
}
