//! The results of a run in the reference's schema.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::aggregate::{MacroError, aggregate};
use crate::error::Warning;
use crate::outcome::TaskResult;
use crate::tree::{Group, Node, Tree};

/// Scores of tasks and groups, with what tables need.
#[derive(Debug, Clone)]
pub struct Results {
    /// Tasks in order, then groups, children before their parents.
    pub entries: IndexMap<String, Entry>,
    /// Groups to their members, as keys of `entries`.
    pub children: IndexMap<String, Vec<String>>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

/// A task or a group in results.
#[derive(Debug, Clone)]
pub struct Entry {
    /// `alias`, `name`, `sample_len`, scores.
    pub scores: Map<String, Value>,
    /// The version; text for groups.
    pub version: Option<Value>,
    /// Examples per prompt, when there is one number for all.
    pub num_fewshot: Option<Value>,
    /// The direction of each metric; unknown where members disagree.
    pub higher_is_better: BTreeMap<String, Option<bool>>,
    /// What a task has beside its scores.
    pub task: Option<TaskResult>,
    /// Whether it is a group that aggregates.
    pub aggregates: bool,
}

impl Results {
    /// Puts tasks into the groups they were selected by. `tasks` are in the order of the
    /// tree's leaves; one that appears under several groups may be given once.
    pub fn new(tree: &Tree, tasks: &[TaskResult], macro_error: MacroError) -> Self {
        let mut results = Self {
            entries: IndexMap::new(),
            children: IndexMap::new(),
            warnings: Vec::new(),
        };
        for task in tasks {
            results.entries.insert(task.key.clone(), task_entry(task));
        }
        let keys = tree.keys();
        let mut keys = keys.iter();
        for node in &tree.nodes {
            results.add(node, &mut keys, macro_error);
        }
        results
    }

    /// Adds a node; its key and the keys of the tasks below.
    fn add<'k>(
        &mut self,
        node: &Node,
        keys: &mut impl Iterator<Item = &'k String>,
        macro_error: MacroError,
    ) -> (String, Vec<String>) {
        let group = match node {
            Node::Task(leaf) => {
                let key = keys.next().cloned().unwrap_or_else(|| leaf.id.clone());
                return (key.clone(), vec![key]);
            }
            Node::Group(group) => group,
        };
        // Parents come before their children among the members of groups.
        self.children.entry(group.id.clone()).or_default();
        let mut members = Vec::new();
        let mut leaves = Vec::new();
        for child in &group.children {
            let (key, below) = self.add(child, keys, macro_error);
            members.push(key);
            leaves.extend(below);
        }
        let entry = self.group_entry(group, &members, &leaves, macro_error);
        self.entries.insert(group.id.clone(), entry);
        self.children.insert(group.id.clone(), members);
        (group.id.clone(), leaves)
    }

    fn group_entry(
        &mut self,
        group: &Group,
        members: &[String],
        leaves: &[String],
        macro_error: MacroError,
    ) -> Entry {
        let tasks: Vec<(&str, &Map<String, Value>)> = leaves
            .iter()
            .filter_map(|key| Some((key.as_str(), &self.entries.get(key)?.scores)))
            .collect();
        let direct: Vec<(&str, &Map<String, Value>)> = members
            .iter()
            .filter_map(|key| Some((key.as_str(), &self.entries.get(key)?.scores)))
            .collect();
        let alias = group.alias.as_deref().unwrap_or(&group.id);
        let mut warnings = Vec::new();
        let scores = aggregate(
            &group.id,
            alias,
            &group.aggregate,
            &tasks,
            &direct,
            macro_error,
            &mut warnings,
        );
        let members: Vec<&Entry> = members
            .iter()
            .filter_map(|key| self.entries.get(key))
            .collect();
        let shots: Vec<Option<&Value>> = members
            .iter()
            .map(|entry| entry.num_fewshot.as_ref())
            .collect();
        let common = shots
            .first()
            .copied()
            .flatten()
            .filter(|first| shots.iter().all(|n| *n == Some(*first)));
        let mut directions: BTreeMap<String, Option<bool>> = BTreeMap::new();
        for member in &members {
            for (metric, direction) in &member.higher_is_better {
                let known = directions.entry(metric.clone()).or_insert(*direction);
                if *known != *direction && known.is_some() {
                    *known = None;
                    let message = format!(
                        "members of group `{}` disagree on whether a higher `{metric}` is better",
                        group.id
                    );
                    warnings.push(Warning::new(message));
                }
            }
        }
        for metric in &group.aggregate {
            if let Some(direction) = metric.higher_is_better {
                directions.insert(metric.metric.clone(), Some(direction));
            }
        }
        let shown = group.metadata.get("num_fewshot").or(common).cloned();
        let version = group
            .metadata
            .get("version")
            .map(|version| json!(plain(version)));
        self.warnings.extend(warnings);
        Entry {
            scores,
            version,
            num_fewshot: shown,
            higher_is_better: directions,
            task: None,
            aggregates: !group.aggregate.is_empty(),
        }
    }

    /// The results object of section "results" in the reference's files; a caller adds the
    /// configuration of the run and its environment.
    pub fn to_json(&self) -> Map<String, Value> {
        let sorted = |pick: &dyn Fn(&Entry) -> Option<Value>| -> Value {
            let found: BTreeMap<&String, Value> = self
                .entries
                .iter()
                .filter_map(|(key, entry)| Some((key, pick(entry)?)))
                .collect();
            json!(found)
        };
        let in_order = |pick: &dyn Fn(&Entry) -> Option<Value>| -> Value {
            let found = self
                .entries
                .iter()
                .filter_map(|(key, entry)| Some((key.clone(), pick(entry)?)));
            Value::Object(found.collect())
        };
        let mut out = Map::new();
        out.insert(
            "results".into(),
            in_order(&|entry| Some(Value::Object(entry.scores.clone()))),
        );
        let groups = in_order(&|entry| {
            entry
                .aggregates
                .then(|| Value::Object(entry.scores.clone()))
        });
        if groups.as_object().is_some_and(|groups| !groups.is_empty()) {
            out.insert("groups".into(), groups);
        }
        out.insert("group_subtasks".into(), json!(self.children));
        let task =
            |pick: fn(&TaskResult) -> Value| move |entry: &Entry| entry.task.as_ref().map(pick);
        out.insert(
            "configs".into(),
            sorted(&task(|task| Value::Object(task.config.clone()))),
        );
        out.insert(
            "versions".into(),
            sorted(&|entry| {
                let missing = if entry.task.is_some() { "Yaml" } else { "N/A" };
                Some(entry.version.clone().unwrap_or_else(|| json!(missing)))
            }),
        );
        out.insert("n-shot".into(), sorted(&|entry| entry.num_fewshot.clone()));
        out.insert(
            "higher_is_better".into(),
            sorted(&|entry| Some(json!(entry.higher_is_better))),
        );
        out.insert(
            "n-samples".into(),
            in_order(&task(
                |task| json!({"original": task.n_samples.0, "effective": task.n_samples.1}),
            )),
        );
        out
    }
}

fn task_entry(task: &TaskResult) -> Entry {
    let mut scores = Map::new();
    scores.insert("name".into(), json!(task.key));
    scores.insert("alias".into(), json!(task.alias));
    scores.insert("sample_len".into(), json!(task.sample_len));
    scores.extend(task.scores.clone());
    let sizes = task.sizes.iter();
    if sizes.clone().any(|(_, size)| *size != task.sample_len) {
        let sizes = sizes.map(|(key, size)| (key.clone(), json!(size)));
        scores.insert("sample_count".into(), Value::Object(sizes.collect()));
    }
    Entry {
        scores,
        version: task.version.clone(),
        num_fewshot: task.num_fewshot.clone(),
        higher_is_better: task
            .higher_is_better
            .iter()
            .map(|(metric, higher)| (metric.clone(), Some(*higher)))
            .collect(),
        task: Some(task.clone()),
        aggregates: false,
    }
}

/// A version as text: `1.0` stays `1.0`.
fn plain(version: &Value) -> String {
    context_bench_template::python::str(version)
}
