//! What `--tasks` takes: names, lists, patterns, files, folders, paths, formats.

use std::path::Path;

use crate::error::{Error, Result, Warning};
use crate::pattern;
use crate::resolver::TaskResolver;
use crate::tree::Tree;
use crate::warnings::Warnings;

/// Resolves the values of `--tasks`; the order stays, duplicates go.
pub fn select<S: AsRef<str>>(
    resolver: &TaskResolver,
    values: &[S],
) -> Result<(Tree, Vec<Warning>)> {
    let warnings = Warnings::default();
    let mut tree = Tree::default();
    let mut seen: Vec<String> = Vec::new();
    let values: Vec<&str> = values
        .iter()
        .flat_map(|value| value.as_ref().split(','))
        .map(str::trim)
        .filter(|value| !value.is_empty())
        .collect();
    if values.is_empty() {
        return Err(Error::new("no tasks are given")
            .with_hint("name tasks, groups or tags, for example `--tasks mmlu,arc_easy`"));
    }
    for value in &values {
        for spec in expand(resolver, value)? {
            if seen.contains(&spec) {
                continue;
            }
            tree.nodes.extend(resolver.spec(&spec, &warnings)?);
            seen.push(spec);
        }
    }
    // A task that is selected by itself and by a tag is one task.
    let mut unique: Vec<crate::tree::Node> = Vec::new();
    for node in tree.nodes {
        if !unique.contains(&node) {
            unique.push(node);
        }
    }
    tree.nodes = unique;
    if tree.leaves().is_empty() {
        let what = context_bench_error::suggest::quoted_list(&values, "and");
        return Err(Error::new(format!("there are no tasks in {what}"))
            .with_hint("add members to the `task` list of the group"));
    }
    Ok((tree, warnings.into_inner()))
}

/// The specs one value stands for.
pub(crate) fn expand(resolver: &TaskResolver, value: &str) -> Result<Vec<String>> {
    let known = resolver.index.entry(value).is_some() || resolver.index.tag(value).is_some();
    let path = Path::new(value);
    if !known && path.is_dir() {
        let files = pattern::glob(&path.join("*.yaml"));
        if files.is_empty() {
            return Err(
                Error::new(format!("folder `{value}` has no `*.yaml` files")).with_hint(
                    "files in folders below are found by name, with `--include-path FOLDER`",
                ),
            );
        }
        return Ok(files
            .iter()
            .map(|file| file.to_string_lossy().into_owned())
            .collect());
    }
    if value.ends_with(".yaml") || value.ends_with(".yml") {
        let files = pattern::glob(path);
        if files.is_empty() {
            return Err(Error::new(format!("no file matches `{value}`"))
                .with_hint("paths start at the current folder"));
        }
        return Ok(files
            .iter()
            .map(|file| file.to_string_lossy().into_owned())
            .collect());
    }
    if known || !pattern::is_pattern(value) {
        return Ok(vec![value.to_owned()]);
    }
    let (pattern, format) = match value.rsplit_once('@') {
        Some((pattern, format)) => (pattern, Some(format)),
        None => (value, None),
    };
    let names = resolver.index.names();
    let found: Vec<String> = names
        .iter()
        .filter(|name| pattern::matches(pattern, name))
        .map(|name| match format {
            Some(format) => format!("{name}@{format}"),
            None => (*name).to_owned(),
        })
        .collect();
    if found.is_empty() {
        let stem: String = pattern.chars().filter(|c| !"*?[]".contains(*c)).collect();
        let n = names.len();
        let hint = context_bench_error::suggest::did_you_mean(&stem, names)
            .unwrap_or_else(|| format!("{n} names are known; `ls tasks` shows them"));
        return Err(Error::new(format!("no task, group or tag matches `{value}`")).with_hint(hint));
    }
    Ok(found)
}
