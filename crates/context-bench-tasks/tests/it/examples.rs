//! The files under `examples/groups` do what they say.

use std::path::Path;

use context_bench_tasks::aggregate::MacroError;
use context_bench_tasks::{
    Dataset, NoHost, Node, Options, Results, Task, TaskResolver, select, show, validate,
};
use serde_json::json;

use crate::vectors::resolver;

fn groups() -> TaskResolver {
    resolver(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/groups"))
}

fn data() -> Dataset {
    let row = |q: &str| json!({"question": q, "choices": ["oak", "cat"], "answer": 1});
    serde_json::from_value(
        json!({"test": [row("A pet?")], "train": [row("It purrs?"), row("It meows?")]}),
    )
    .unwrap()
}

fn keys(spec: &str) -> Vec<String> {
    select(&groups(), &[spec]).unwrap().0.keys()
}

#[test]
fn every_example_loads_and_renders() {
    let resolver = groups();
    assert!(
        resolver.index.warnings.is_empty(),
        "{:?}",
        resolver.index.warnings
    );
    let names: Vec<&str> = resolver.index.groups().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "animals",
            "bench",
            "everything",
            "nature",
            "own_code",
            "shown",
            "three_ways"
        ]
    );
    let report = validate(&resolver, &names, None);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    for name in names {
        for leaf in select(&resolver, &[name]).unwrap().0.leaves() {
            if leaf.python {
                assert_eq!(leaf.path, "own_code::my_task");
                continue;
            }
            let task = Task::build(leaf).unwrap();
            let requests = task
                .requests(&data(), &Options::default(), &NoHost)
                .unwrap();
            assert_eq!(requests.requests.len(), 1, "{name}");
        }
    }
}

#[test]
fn they_mean_what_their_comments_say() {
    assert_eq!(keys("nature"), ["birds", "cats_or_dogs", "trees"]);
    assert_eq!(
        keys("everything::animals::cats_or_dogs@cloze"),
        ["cats_or_dogs@cloze"]
    );
    assert_eq!(keys("everything::cats_or_dogs"), ["cats_or_dogs"]);
    assert_eq!(keys("bench"), ["bench::small::stones", "trees", "birds"]);
    assert_eq!(
        keys("three_ways"),
        ["raw@mcqa", "raw@cloze", "raw@generate"]
    );
    let resolver = groups();
    let (tree, _) = select(&resolver, &["everything"]).unwrap();
    let shots: Vec<i64> = tree
        .leaves()
        .iter()
        .map(|leaf| leaf.config.get("num_fewshot").unwrap().as_i64().unwrap())
        .collect();
    assert_eq!(shots, [2, 2, 1]);
    let shown_trees = show::show(&tree.leaves()[2].config);
    assert!(
        shown_trees.contains("(member of group `everything`)\ndescription: |+\n"),
        "{shown_trees}"
    );
    assert!(
        shown_trees.contains("overrides.yaml:2:1 (group `everything`)\nnum_fewshot: 1\n"),
        "{shown_trees}"
    );
    let (tree, _) = select(&resolver, &["shown"]).unwrap();
    let Node::Group(group) = &tree.nodes[0] else {
        panic!()
    };
    assert_eq!(group.alias.as_deref(), Some("What people see"));
    let table = Results::new(&tree, &[], MacroError::Macro).table();
    assert!(table.contains("|What people see|"), "{table}");
}

#[test]
fn one_task_asked_in_three_formats() {
    let resolver = groups();
    let (tree, _) = select(&resolver, &["three_ways"]).unwrap();
    let contexts: Vec<String> = tree
        .leaves()
        .iter()
        .map(|leaf| {
            let task = Task::build(leaf).unwrap();
            let requests = task
                .requests(&data(), &Options::default(), &NoHost)
                .unwrap();
            requests.requests[0].to_json()["context"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(contexts[0], "Question: A pet?\nA. oak\nB. cat\nAnswer:");
    assert_eq!(contexts[1], "Question: A pet?\nThe answer is");
    assert!(contexts[2].ends_with("is one of A or B.\nThe best answer is"));
}
