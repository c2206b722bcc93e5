//! `group::sub::task`: from a group down to one of its members.

use context_bench_error::suggest::{did_you_mean, quoted_list};

use crate::error::{Error, Result};
use crate::resolver::TaskResolver;
use crate::tree::Node;
use crate::warnings::Warnings;

/// How many children an error lists.
const SHOWN: usize = 20;

/// The node a path leads to.
pub(crate) fn walk(resolver: &TaskResolver, spec: &str, warnings: &Warnings) -> Result<Node> {
    let (path, format) = match spec.rsplit_once('@') {
        // A format belongs to the last name.
        Some((path, format)) if !format.contains("::") => (path, Some(format)),
        _ => (spec, None),
    };
    let mut segments = path.split("::");
    let root = segments.next().unwrap_or_default();
    let mut nodes = resolver.spec(root, warnings)?;
    let mut node = match (nodes.pop(), nodes.is_empty()) {
        (Some(node), true) => node,
        _ => {
            return Err(Error::new(format!(
                "`{root}` in `{spec}` is a tag, not a group"
            )));
        }
    };
    let mut prefix = root.to_owned();
    for segment in segments {
        let Node::Group(group) = node else {
            return Err(Error::new(format!(
                "`{prefix}` in `{spec}` is a task and has no members"
            )));
        };
        prefix = format!("{prefix}::{segment}");
        // A member that has the format itself is the one that is meant.
        if let Some(format) = format.filter(|_| prefix == path) {
            let (own, whole) = (format!("{segment}@{format}"), format!("{prefix}@{format}"));
            let has_it = |child: &&Node| child.id() == own || child.id() == whole;
            if let Some(found) = group.children.iter().find(has_it) {
                return Ok(found.clone());
            }
        }
        let only_formats_differ = format.and_then(|_| one_task(&group.children, segment));
        node = match only_formats_differ {
            Some(task) => task.clone(),
            None => find(&group.children, segment, &prefix, spec)?.clone(),
        };
    }
    if let Some(format) = format {
        node.set_format(format);
    }
    Ok(node)
}

/// The one task that all children of a name are, in whatever formats.
fn one_task<'n>(children: &'n [Node], name: &str) -> Option<&'n Node> {
    let mut named = children.iter().filter(|child| child.name() == name);
    let first = named.next()?;
    let in_its_format = |child: &Node| {
        let (mut one, mut other) = (first.clone(), child.clone());
        one.set_format("");
        other.set_format("");
        one == other
    };
    named.all(in_its_format).then_some(first)
}

/// A child by its full id, its name or the end of its id; else the one descendant.
fn find<'n>(children: &'n [Node], segment: &str, prefix: &str, spec: &str) -> Result<&'n Node> {
    let bare = |id: &str| id.split('@').next().unwrap_or(id).to_owned();
    let last = |id: &str| bare(id).rsplit("::").next().unwrap_or_default().to_owned();
    let tests: [&dyn Fn(&Node) -> bool; 4] = [
        &|node| node.id() == prefix || node.id() == segment,
        &|node| bare(node.id()) == prefix || bare(node.id()) == segment,
        &|node| node.name() == segment,
        &|node| last(node.id()) == segment,
    ];
    for test in tests {
        let found: Vec<&Node> = children.iter().filter(|node| test(node)).collect();
        match found[..] {
            [] => {}
            [only] => return Ok(only),
            _ => return Err(ambiguous(segment, spec, &found)),
        }
    }
    let mut below = Vec::new();
    for child in children {
        descendants(child, segment, &mut below);
    }
    match below[..] {
        [only] => Ok(only),
        [] => Err(missing(children, segment, spec)),
        _ => Err(ambiguous(segment, spec, &below)),
    }
}

fn descendants<'n>(node: &'n Node, segment: &str, found: &mut Vec<&'n Node>) {
    let Node::Group(group) = node else { return };
    for child in &group.children {
        if child.name() == segment || child.id() == segment {
            found.push(child);
        }
        descendants(child, segment, found);
    }
}

fn path_of(node: &Node) -> String {
    match node {
        Node::Task(leaf) => match &leaf.format {
            Some(format) => format!("{}@{format}", leaf.path),
            None => leaf.path.clone(),
        },
        Node::Group(group) => group.id.clone(),
    }
}

fn ambiguous(segment: &str, spec: &str, found: &[&Node]) -> Error {
    let paths: Vec<String> = found.iter().map(|node| path_of(node)).collect();
    let of_formats = found.iter().all(|node| node.id().contains('@'));
    Error::new(format!(
        "`{segment}` in `{spec}` could be {}",
        quoted_list(&paths, "or")
    ))
    .with_hint(match of_formats {
        true => "name the format as well",
        false => "name the group it is in as well",
    })
}

fn missing(children: &[Node], segment: &str, spec: &str) -> Error {
    let names: Vec<&str> = children.iter().map(Node::name).collect();
    let hint = did_you_mean(segment, names.iter().copied()).unwrap_or_else(|| {
        let shown = quoted_list(&names[..names.len().min(SHOWN)], "and");
        match names.len().saturating_sub(SHOWN) {
            0 => format!("there are {shown}"),
            more => format!("there are {shown} and {more} more"),
        }
    });
    Error::new(format!("`{segment}` in `{spec}` is not a member")).with_hint(hint)
}
