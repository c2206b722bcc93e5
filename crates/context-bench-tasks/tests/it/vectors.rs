//! The worked cases of lm-evaluation-harness, except the deliberate differences.
//!
//! Each difference is listed here with what we give instead, and must be named in
//! `docs/differences.md`; one that no longer differs fails the test.

use std::collections::BTreeMap;
use std::path::Path;

use context_bench_error::Hint as _;
use context_bench_tasks::aggregate::{AggregateMetric, MacroError, aggregate, pooled_stderr};
use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::{IndexOptions, Node, TaskFileIndex, TaskResolver};
use context_bench_testkit::worked;
use serde_json::{Map, Value, json};

/// Equal, with numbers within 1e-9 of each other.
pub(crate) fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|b| close(value, b)))
        }
        (Value::Number(_), Value::Number(_)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
        }
        _ => a == b,
    }
}

/// Case ids whose outcome differs on purpose; each test says how.
pub(crate) const DIFFERENCES: &[&str] = &[
    // The standard error of a macro mean.
    "random-flat-0",
    "random-flat-1",
    "random-flat-2",
    "random-flat-5",
    "random-nested-3",
    "vec-macro",
    // A parent of groups has a number of examples only if all its members agree.
    "vec-table-nested/json",
    "vec-table-nested/rows",
    "vec-table-nested/markdown",
    // Four decimals everywhere.
    "vec-table-nested/groups",
    "vec-table-flat/markdown",
    // A group without aggregates has a row that names it.
    "vec-table-header-only/rows",
    "vec-table-header-only/markdown",
    // Reasoning is not cut at its first blank line.
    "vec-cot",
];

/// Fails unless the case is as expected, or listed, documented and really different.
pub(crate) fn check(id: &str, found: &Value, expected: &Value) {
    if DIFFERENCES.contains(&id) {
        let documented =
            include_str!("../../../../docs/differences.md").contains(&format!("`{id}`"));
        assert!(documented, "{id} is not named in docs/differences.md");
        assert!(!close(found, expected), "{id} no longer differs");
    } else {
        assert!(
            close(found, expected),
            "{id}\n  found    {found}\n  expected {expected}"
        );
    }
}

pub(crate) fn write_tree(root: &Path, files: &Value) {
    for (path, text) in files.as_object().unwrap() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.as_str().unwrap()).unwrap();
    }
}

pub(crate) fn resolver(root: &Path) -> TaskResolver {
    let options = IndexOptions {
        roots: vec![root.to_owned()],
        ..IndexOptions::default()
    };
    TaskResolver::new(TaskFileIndex::build(&options).unwrap(), None)
}

#[test]
fn indexes() {
    let vectors = worked::lm_evaluation_harness();
    for case in vectors["index"].as_array().unwrap() {
        let folder = tempfile::tempdir().unwrap();
        write_tree(folder.path(), &case["files"]);
        let resolver = resolver(folder.path());
        let index = &resolver.index;
        let relative = |path: &Path| {
            path.strip_prefix(folder.path())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        let tasks: BTreeMap<&str, String> = index
            .tasks()
            .map(|(name, entry)| (name, relative(&entry.path)))
            .collect();
        let groups: BTreeMap<&str, String> = index
            .groups()
            .map(|(name, entry)| (name, relative(&entry.path)))
            .collect();
        let tags: BTreeMap<&str, Vec<&String>> = index
            .tags()
            .map(|(name, tasks)| (name, tasks.iter().collect()))
            .collect();
        let expected = &case["expected"];
        let mut configs = Map::new();
        for (name, wanted) in expected["merged_configs"].as_object().unwrap() {
            let file = resolver
                .loader
                .load(&index.entry(name).unwrap().path)
                .unwrap();
            let mut config = file.config.to_json();
            // The cases show some keys only.
            config.retain(|key, _| {
                wanted.get(key).is_some()
                    || ["num_fewshot", "metadata", "tag", "repeats"].contains(&key.as_str())
            });
            configs.insert(name.clone(), Value::Object(config));
        }
        let found =
            json!({"tasks": tasks, "groups": groups, "tags": tags, "merged_configs": configs});
        check(case["id"].as_str().unwrap(), &found, expected);
    }
}

#[test]
fn resolutions() {
    let vectors = worked::lm_evaluation_harness();
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path(), &vectors["resolution"]["files"]);
    let resolver = resolver(folder.path());
    for case in vectors["resolution"]["cases"].as_array().unwrap() {
        let spec = &case["spec"];
        let loaded = match spec {
            Value::String(spec) => resolver.load(spec).map(|(nodes, _)| nodes),
            map => resolver
                .load_inline(map.as_object().unwrap(), folder.path())
                .map(|(node, _)| vec![node]),
        };
        let expected = &case["expected"];
        let nodes = match loaded {
            Ok(nodes) => nodes,
            Err(error) => {
                // Our message is another; both refuse.
                assert!(expected.get("error").is_some(), "{spec}: {error}");
                assert!(error.hint().is_some(), "{error}");
                continue;
            }
        };
        let leaves: Vec<Value> = nodes
            .iter()
            .flat_map(Node::leaves)
            .zip(expected["leaves"].as_array().unwrap())
            .map(|(leaf, wanted)| {
                let mut found = json!({
                    "path": leaf.path,
                    "name": leaf.name,
                    "num_fewshot": leaf.config.get("num_fewshot"),
                    "output_type": leaf.config.text("output_type").unwrap_or("generate_until"),
                });
                if wanted.get("alias").is_some() {
                    found["alias"] = json!(leaf.config.get("task_alias"));
                }
                found
            })
            .collect();
        let groups: Map<String, Value> = nodes
            .iter()
            .flat_map(Node::groups)
            .map(|group| {
                let children: Vec<&str> = group.children.iter().map(Node::id).collect();
                (group.id.clone(), json!(children))
            })
            .collect();
        let n = nodes.iter().flat_map(Node::leaves).count();
        assert_eq!(n, expected["leaves"].as_array().unwrap().len(), "{spec}");
        check(
            &spec.to_string(),
            &json!({"leaves": leaves, "groups": groups}),
            expected,
        );
    }
}

/// The scores of a group and of all groups inside, children first.
fn scores(
    group: &Value,
    tasks: &Value,
    out: &mut Map<String, Value>,
    how: MacroError,
) -> Result<Vec<String>, context_bench_tasks::Error> {
    let name = group["group"].as_str().unwrap();
    let mut leaves = Vec::new();
    for member in group["task"].as_array().unwrap() {
        match member {
            Value::String(task) => leaves.push(task.clone()),
            inner => leaves.extend(scores(inner, tasks, out, how)?),
        }
    }
    let config = Config::from_json(group.as_object().unwrap(), &Origin::other("case"));
    let metrics = AggregateMetric::list(&config, name, &mut Vec::new());
    let metrics = metrics.into_iter().collect::<Result<Vec<_>, _>>()?;
    let results: Vec<(&str, &Map<String, Value>)> = leaves
        .iter()
        .filter_map(|leaf| Some((leaf.as_str(), tasks.get(leaf)?.as_object()?)))
        .collect();
    let alias = config.text("group_alias").unwrap_or(name);
    let mut warnings = Vec::new();
    let score = aggregate(
        name,
        alias,
        &metrics,
        &results,
        &results,
        how,
        &mut warnings,
    );
    out.insert(name.to_owned(), Value::Object(score));
    Ok(leaves)
}

#[test]
fn aggregations() {
    let vectors = worked::lm_evaluation_harness();
    for case in vectors["aggregation"]["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let mut found = Map::new();
        let result = scores(
            &case["group"],
            &case["task_metrics"],
            &mut found,
            MacroError::Macro,
        );
        if case.get("error").is_some() {
            assert!(result.unwrap_err().message().contains("`max`"), "{id}");
            continue;
        }
        result.unwrap();
        check(id, &Value::Object(found), &case["expected"]);
        // With the option, all are as in the reference.
        let mut pooled = Map::new();
        scores(
            &case["group"],
            &case["task_metrics"],
            &mut pooled,
            MacroError::Pooled,
        )
        .unwrap();
        assert!(close(&Value::Object(pooled), &case["expected"]), "{id}");
    }
    let found = pooled_stderr(&[0.03, 0.04], &[120, 80]).unwrap();
    assert!((found - 0.02408109195819388).abs() < 1e-12);
    assert_eq!(pooled_stderr(&[0.0, 0.0], &[1, 1]), None);
}
