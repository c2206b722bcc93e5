//! What `ls` shows: groups with their members and the tasks they come down to.
//!
//! Only group files are read; tasks are known by name from the index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::file::Kind;
use crate::resolver::TaskResolver;

/// A group as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupListing {
    /// The name.
    pub name: String,
    /// The file that defines it.
    pub path: PathBuf,
    /// Members as the file names them; inline ones with the group before them.
    pub members: Vec<String>,
    /// The tasks below, depth first.
    pub leaves: Vec<String>,
}

/// All groups with what is in them; groups that cannot be resolved come as errors.
pub fn groups(resolver: &TaskResolver) -> (Vec<GroupListing>, Vec<Error>) {
    let mut known = BTreeMap::new();
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for (name, _) in resolver.index.groups() {
        match group(resolver, name, &mut known, &mut Vec::new()) {
            Ok(listing) => found.push(listing),
            Err(error) => errors.push(error),
        }
    }
    (found, errors)
}

fn group(
    resolver: &TaskResolver,
    name: &str,
    known: &mut BTreeMap<String, GroupListing>,
    stack: &mut Vec<String>,
) -> Result<GroupListing> {
    if let Some(listing) = known.get(name) {
        return Ok(listing.clone());
    }
    if stack.iter().any(|open| open == name) {
        stack.push(name.to_owned());
        return Err(Error::new(format!(
            "groups contain each other: {}",
            stack.join(" -> ")
        )));
    }
    let Some(entry) = resolver.index.entry(name) else {
        return Err(resolver.unknown(name));
    };
    let file = resolver.loader.load(&entry.path)?;
    stack.push(name.to_owned());
    let task = file.config.get("task").cloned().unwrap_or(Value::Null);
    let (members, leaves) = members(resolver, &task, name, known, stack)?;
    stack.pop();
    let listing = GroupListing {
        name: name.to_owned(),
        path: entry.path.clone(),
        members,
        leaves,
    };
    known.insert(name.to_owned(), listing.clone());
    Ok(listing)
}

/// Names of members and of the tasks below.
fn members(
    resolver: &TaskResolver,
    task: &Value,
    id: &str,
    known: &mut BTreeMap<String, GroupListing>,
    stack: &mut Vec<String>,
) -> Result<(Vec<String>, Vec<String>)> {
    let list: Vec<&Value> = match task {
        Value::Array(items) => items.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    };
    let (mut names, mut leaves) = (Vec::new(), Vec::new());
    for member in list {
        let key = if member.get("group").is_some() {
            "group"
        } else {
            "task"
        };
        let inline_group = member.get("group").is_some() && member.get("task").is_some();
        let Some(name) = member.as_str().or_else(|| member.get(key)?.as_str()) else {
            return Err(Error::new(format!(
                "group `{id}` has a member without a name"
            )));
        };
        if inline_group {
            let inner = format!("{id}::{name}");
            let task = member.get("task").unwrap_or(&Value::Null);
            leaves.extend(members(resolver, task, &inner, known, stack)?.1);
            names.push(inner);
            continue;
        }
        let bare = name.rsplit_once('@').map_or(name, |(bare, _)| bare);
        let registered = if resolver.index.entry(name).is_some() {
            name
        } else {
            bare
        };
        if let Some(entry) = resolver.index.entry(registered) {
            names.push(name.to_owned());
            match entry.kind {
                Kind::Group => leaves.extend(group(resolver, registered, known, stack)?.leaves),
                Kind::Task | Kind::Python => leaves.push(name.to_owned()),
            }
        } else if let Some(tasks) = resolver.index.tag(bare) {
            names.push(name.to_owned());
            leaves.extend(tasks.iter().cloned());
        } else if member.is_object() {
            let inner = format!("{id}::{bare}");
            names.push(inner.clone());
            leaves.push(inner);
        } else {
            return Err(resolver.unknown(name).prefixed(format!("group `{id}`")));
        }
    }
    Ok((names, leaves))
}

/// A path as shown: from the root it lies below, if it does.
pub fn shown<'p>(path: &'p Path, roots: &[PathBuf]) -> &'p Path {
    roots
        .iter()
        .rev()
        .find_map(|root| path.strip_prefix(root).ok())
        .unwrap_or(path)
}
