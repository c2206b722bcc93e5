//! `show TASK`: the settings of a task, where each comes from, and a prompt.

use context_bench::planner;
use context_bench::registry::Registry;
use context_bench::task::TaskIndex;
use context_bench::task::tasks::options::Limit;
use context_bench::task::tasks::{Group, Leaf, Node, Task, show};
use serde_json::{Map, Value, json};

use super::render::{flat, readable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::{ListFormat, ShowArgs};
use crate::{output, surroundings, tasks};

/// Shows the tasks and groups of a name.
pub(crate) fn main(
    args: &ShowArgs,
    task_index: &TaskIndex,
    registry: &Registry,
) -> Result<Exit, Failure> {
    let (tree, warnings) = task_index.select(&[&args.name])?;
    tasks::warn(&warnings);
    let mut parts = Vec::new();
    for node in &tree.nodes {
        let shown = match node {
            Node::Group(group) => group_shown(group),
            Node::Task(leaf) => leaf_shown(leaf, task_index, registry, args)?,
        };
        parts.push(shown);
    }
    match args.output {
        ListFormat::Table => {
            let texts: Vec<&str> = parts.iter().map(|(text, _)| text.as_str()).collect();
            output::stdout(&texts.join("\n"))?;
        }
        ListFormat::Json => {
            let mut values: Vec<Value> = parts.into_iter().map(|(_, value)| value).collect();
            let value = match values.len() {
                1 => values.remove(0),
                _ => values.into(),
            };
            output::json(&value)?;
        }
    }
    Ok(Exit::Done)
}

fn group_shown(group: &Group) -> (String, Value) {
    let members: Vec<&str> = group.children.iter().map(Node::id).collect();
    let leaves: Vec<&str> = group
        .children
        .iter()
        .flat_map(Node::leaves)
        .map(|leaf| leaf.id.as_str())
        .collect();
    let metrics: Vec<&str> = group
        .aggregate
        .iter()
        .map(|entry| entry.metric.as_str())
        .collect();
    let mut text = format!("group `{}`", group.id);
    if let Some(alias) = &group.alias {
        text += &format!(", shown as {alias}");
    }
    text += &format!(
        "\naggregates: {}\nmembers:\n",
        match metrics.is_empty() {
            true => "nothing".to_owned(),
            false => metrics.join(", "),
        }
    );
    for node in &group.children {
        let below = match node {
            Node::Task(_) => String::new(),
            Node::Group(group) => {
                let n: usize = group.children.iter().map(|node| node.leaves().len()).sum();
                format!(" ({n} tasks)")
            }
        };
        text += &format!("  {}{below}\n", node.id());
    }
    let value = json!({
        "group": group.id,
        "alias": group.alias,
        "aggregate_metric_list": metrics,
        "metadata": group.metadata,
        "members": members,
        "leaves": leaves,
    });
    (text, value)
}

fn leaf_shown(
    leaf: &Leaf,
    task_index: &TaskIndex,
    registry: &Registry,
    args: &ShowArgs,
) -> Result<(String, Value), Failure> {
    let mut text = format!("# task `{}`\n", leaf.path);
    text += &show::show(&leaf.config);
    let settings: Map<String, Value> = leaf
        .config
        .iter()
        .map(|(key, setting)| {
            let value = json!({"value": setting.value, "origin": setting.origin.to_string()});
            (key.to_owned(), value)
        })
        .collect();
    let mut value = json!({
        "task": leaf.id,
        "path": leaf.path,
        "format": leaf.format,
        "config": settings,
    });
    if leaf.is_dataset_task() {
        let dataset = leaf.dataset().unwrap_or_default();
        text += &format!(
            "\nthis task is a dataset of the catalog with its own prompts and scores; \
             see `context-bench show {dataset}`\n"
        );
        value["dataset"] = dataset.into();
        return Ok((text, value));
    }
    match prompt(leaf, task_index, registry, args) {
        Ok(document) => {
            text += &format!("\n{}", readable(&document));
            value["prompt"] = Value::Object(document);
        }
        // The settings are worth seeing even when the records are not available.
        Err(failure) => {
            text += &format!(
                "\ncannot show a prompt: {}\n",
                output::failure_text(&failure)
            );
            value["problem"] = output::printable(&failure.what).into();
        }
    }
    Ok((text, value))
}

/// What a system would get for the first document.
fn prompt(
    leaf: &Leaf,
    task_index: &TaskIndex,
    registry: &Registry,
    args: &ShowArgs,
) -> Result<Map<String, Value>, Failure> {
    let task = Task::build(leaf)?;
    tasks::check_python(&task, &args.prompt.python)?;
    let spec = args.prompt.spec(None, Some(Limit::Count(1)))?;
    let options = planner::prompt_options(&spec)?;
    let host = surroundings::host(&spec.python);
    let data = planner::task_data(
        &spec,
        &surroundings::of(registry, true),
        task_index.datasets.clone(),
    )?;
    let data = data.load(&task, &options, &*host)?;
    let requests = task.requests(&data, &options, &*host)?;
    match requests.requests.first() {
        Some(request) => {
            let mut document = flat(request.to_json());
            document.shift_insert(0, "task".into(), leaf.id.as_str().into());
            Ok(document)
        }
        None => Err(Failure::bad_input("the task has no documents")),
    }
}
