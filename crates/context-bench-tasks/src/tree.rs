//! What a selection resolves to: groups with their members, down to the tasks.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::aggregate::AggregateMetric;
use crate::config::Config;
use crate::truth;

/// A task or a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// A task.
    Task(Leaf),
    /// A group with its members.
    Group(Group),
}

/// A task where it stands in a tree, with everything that applies to it there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leaf {
    /// The innermost group and the name: `paint::red`; the name alone outside of groups.
    pub path: String,
    /// The name as its file or its group says.
    pub name: String,
    /// Unique among the members of its group: the name, for inline tasks the path;
    /// with `@format` when one was asked for.
    pub id: String,
    /// Settings after includes, defaults and overrides.
    pub config: Config,
    /// The format asked for with `@`.
    pub format: Option<String>,
    /// Whether a Python class is the task.
    pub python: bool,
}

/// A group where it stands in a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The name; for inline groups with their parents: `art::extra`.
    pub id: String,
    /// The name as written.
    pub name: String,
    /// Shown instead of the name.
    pub alias: Option<String>,
    /// What is aggregated over its tasks.
    pub aggregate: Vec<AggregateMetric>,
    /// `version` and `num_fewshot` for tables, and whatever else.
    pub metadata: Map<String, Value>,
    /// Members in order.
    pub children: Vec<Node>,
}

impl Node {
    /// What its parent calls it.
    pub fn id(&self) -> &str {
        match self {
            Node::Task(leaf) => &leaf.id,
            Node::Group(group) => &group.id,
        }
    }

    /// The name without groups before it.
    pub fn name(&self) -> &str {
        match self {
            Node::Task(leaf) => &leaf.name,
            Node::Group(group) => &group.name,
        }
    }

    /// All tasks, depth first.
    pub fn leaves(&self) -> Vec<&Leaf> {
        let mut leaves = Vec::new();
        self.visit(&mut |node| {
            if let Node::Task(leaf) = node {
                leaves.push(leaf);
            }
        });
        leaves
    }

    /// All groups, parents before their children.
    pub fn groups(&self) -> Vec<&Group> {
        let mut groups = Vec::new();
        self.visit(&mut |node| {
            if let Node::Group(group) = node {
                groups.push(group);
            }
        });
        groups
    }

    fn visit<'n>(&'n self, see: &mut dyn FnMut(&'n Node)) {
        see(self);
        if let Node::Group(group) = self {
            for child in &group.children {
                child.visit(see);
            }
        }
    }

    /// Asks for a format in all tasks below.
    pub(crate) fn set_format(&mut self, format: &str) {
        match self {
            Node::Task(leaf) => leaf.set_format(format),
            Node::Group(group) => {
                for child in &mut group.children {
                    child.set_format(format);
                }
            }
        }
    }
}

impl Leaf {
    pub(crate) fn set_format(&mut self, format: &str) {
        let bare = match &self.format {
            Some(old) => self.id.strip_suffix(&format!("@{old}")).unwrap_or(&self.id),
            None => &self.id,
        };
        self.id = format!("{bare}@{format}");
        self.format = Some(format.to_owned());
    }

    /// The dataset of the catalog that its records come from, `name[:config]`.
    pub fn dataset(&self) -> Option<&str> {
        self.config.text("dataset")
    }

    /// Whether it is a dataset of the catalog as it is: asked and scored in the
    /// dataset's own way, without prompts of a task.
    pub fn is_dataset_task(&self) -> bool {
        self.dataset().is_some() && !self.python && self.config.get("doc_to_text").is_none()
    }

    /// Whether it runs code that a model wrote; a text such as `"yes"` says so too.
    pub fn is_unsafe(&self) -> bool {
        self.config.get("unsafe_code").is_some_and(truth::truthy)
    }

    /// What tables show.
    pub fn alias(&self) -> Option<&str> {
        self.config.text("task_alias")
    }
}

/// A resolved selection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree {
    /// What was selected, in order.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// All tasks, depth first.
    pub fn leaves(&self) -> Vec<&Leaf> {
        self.nodes.iter().flat_map(Node::leaves).collect()
    }

    /// All tasks, depth first, to be changed.
    pub fn leaves_mut(&mut self) -> Vec<&mut Leaf> {
        fn add<'t>(node: &'t mut Node, leaves: &mut Vec<&'t mut Leaf>) {
            match node {
                Node::Task(leaf) => leaves.push(leaf),
                Node::Group(group) => {
                    for child in &mut group.children {
                        add(child, leaves);
                    }
                }
            }
        }
        let mut leaves = Vec::new();
        for node in &mut self.nodes {
            add(node, &mut leaves);
        }
        leaves
    }

    /// All groups, parents first.
    pub fn groups(&self) -> Vec<&Group> {
        self.nodes.iter().flat_map(Node::groups).collect()
    }

    /// The key of each task in results, in the order of [`Tree::leaves`]: its id, or its
    /// path when another task has the same id and other settings.
    pub fn keys(&self) -> Vec<String> {
        let leaves = self.leaves();
        let mut by_id: IndexMap<&str, Vec<&Leaf>> = IndexMap::new();
        for leaf in &leaves {
            by_id.entry(&leaf.id).or_default().push(leaf);
        }
        let key = |leaf: &&Leaf| {
            let same = by_id.get(leaf.id.as_str()).map_or(&[][..], Vec::as_slice);
            let first = same.first().map(|first| first.config.to_json());
            let differ = same
                .iter()
                .any(|other| Some(other.config.to_json()) != first);
            match (differ, &leaf.format) {
                (false, _) => leaf.id.clone(),
                (true, Some(format)) => format!("{}@{format}", leaf.path),
                (true, None) => leaf.path.clone(),
            }
        };
        leaves.iter().map(key).collect()
    }
}
