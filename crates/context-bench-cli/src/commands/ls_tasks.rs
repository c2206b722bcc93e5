//! `ls tasks`, `ls groups`, `ls tags` and `ls subtasks`: lists the index of tasks.

use context_bench::registry::Registry;
use context_bench::task::TaskIndex;
use context_bench::task::tasks::file::Kind as FileKind;
use context_bench::task::tasks::{listing, pattern};
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::{Kind, ListFormat, LsArgs};
use crate::{output, tasks, words};

pub(crate) fn main(kind: Kind, args: &LsArgs, registry: &Registry) -> Result<Exit, Failure> {
    let task_index = tasks::task_index(registry, &args.include_path)?;
    let wanted = |name: &str| match &args.pattern {
        Some(pattern) => pattern::matches(pattern, name),
        None => true,
    };
    let list = List {
        task_index: &task_index,
        wanted: &wanted,
        details: args.output == ListFormat::Json,
    };
    let mut lists = Vec::new();
    // As in lm-evaluation-harness, `tasks` lists everything that `--tasks` accepts.
    for (part, rows) in [
        (Kind::Groups, matches!(kind, Kind::Groups | Kind::Tasks)),
        (Kind::Tags, matches!(kind, Kind::Tags | Kind::Tasks)),
        (Kind::Subtasks, matches!(kind, Kind::Subtasks | Kind::Tasks)),
    ] {
        if rows {
            lists.push(match part {
                Kind::Groups => ("groups", list.groups()),
                Kind::Tags => ("tags", list.tags()),
                _ => ("tasks", list.tasks()),
            });
        }
    }
    match args.output {
        ListFormat::Table => {
            let cells = |rows: Vec<Row>| rows.into_iter().map(|row| row.cells).collect();
            let lists: Vec<_> = lists
                .into_iter()
                .map(|(name, rows)| (name, cells(rows)))
                .collect();
            output::stdout(&words::sections(&lists))?;
        }
        ListFormat::Json => {
            let all: Map<String, Value> = lists
                .into_iter()
                .map(|(name, rows)| {
                    let rows = rows.into_iter().map(|row| Value::Object(row.details));
                    (name.to_owned(), rows.collect())
                })
                .collect();
            output::json(&Value::Object(all))?;
        }
    }
    Ok(Exit::Done)
}

/// An entry of a list: the cells of the table, and its details for JSON.
struct Row {
    cells: Vec<String>,
    details: Map<String, Value>,
}

struct List<'a> {
    task_index: &'a TaskIndex,
    wanted: &'a dyn Fn(&str) -> bool,
    details: bool,
}

impl List<'_> {
    fn groups(&self) -> Vec<Row> {
        let index = &self.task_index.tasks.index;
        if !self.details {
            let groups = index.groups().filter(|(name, _)| (self.wanted)(name));
            return groups
                .map(|(name, entry)| Row {
                    cells: vec![name.to_owned(), entry.path.display().to_string()],
                    details: Map::new(),
                })
                .collect();
        }
        let (groups, errors) = listing::groups(&self.task_index.tasks);
        for error in errors {
            output::warning(&format!("skipped a group: {error}"));
        }
        let groups = groups
            .into_iter()
            .filter(|group| (self.wanted)(&group.name));
        groups
            .map(|group| Row {
                cells: Vec::new(),
                details: object(json!({
                    "name": group.name,
                    "path": group.path,
                    "members": group.members,
                    "leaves": group.leaves,
                })),
            })
            .collect()
    }

    fn tags(&self) -> Vec<Row> {
        let tags = self.task_index.tasks.index.tags();
        // `NAME:CONFIG` is only another spelling of a task.
        tags.filter(|(name, _)| !name.contains(':') && (self.wanted)(name))
            .map(|(name, tasks)| Row {
                cells: vec![name.to_owned(), format!("{} tasks", tasks.len())],
                details: object(json!({"name": name, "tasks": tasks})),
            })
            .collect()
    }

    fn tasks(&self) -> Vec<Row> {
        let tasks = self.task_index.tasks.index.tasks();
        tasks
            .filter(|(name, _)| (self.wanted)(name))
            .map(|(name, entry)| Row {
                cells: vec![
                    name.to_owned(),
                    entry.path.display().to_string(),
                    entry.output_type.clone().unwrap_or_default(),
                ],
                details: object(json!({
                    "name": name,
                    "path": entry.path,
                    "output_type": entry.output_type,
                    "python": entry.kind == FileKind::Python,
                    "tags": entry.tags,
                })),
            })
            .collect()
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
