//! Nulls in files and in what they include: null is absent, and it counts after the merge.

use context_bench_tasks::{Task, select};
use serde_json::{Value, json};

use crate::vectors::{resolver, write_tree};

/// A value for every key that a task file may have, as it may stand beside the others.
const GENERATION: &[(&str, &str)] = &[
    ("task_alias", "Alias"),
    ("tag", "[one, two]"),
    ("metadata", "{version: 2.0, num_fewshot: 4}"),
    ("dataset_path", "json"),
    ("dataset_name", "part"),
    ("dataset_kwargs", "{data_files: x.json}"),
    ("training_split", "train"),
    ("validation_split", "validation"),
    ("test_split", "test"),
    ("fewshot_split", "dev"),
    ("process_docs", "!function code.rows"),
    ("doc_to_text", "\"{{q}}?\""),
    ("doc_to_target", "a"),
    ("doc_to_choice", "[\"x\", \"y\"]"),
    ("process_results", "!function code.results"),
    ("description", "\"Say: \""),
    ("target_delimiter", "\":\""),
    ("fewshot_delimiter", "\"\\n\""),
    ("gen_prefix", "So"),
    ("should_decontaminate", "true"),
    ("doc_to_decontamination_query", "q"),
    ("unsafe_code", "true"),
    ("num_fewshot", "2"),
    ("fewshot_config", "{sampler: first_n}"),
    ("output_type", "generate_until"),
    ("generation_kwargs", "{until: [\"x\"], max_gen_toks: 5}"),
    ("repeats", "3"),
    (
        "filter_list",
        "[{name: f, filter: [{function: lowercase}, {function: take_first}]}]",
    ),
    (
        "metric_list",
        "[{metric: exact_match, aggregation: mean, ignore_case: true}]",
    ),
];

/// Everything that can be seen of task `t` of a folder of files; without where
/// each of its settings is from.
fn built(files: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path(), files);
    let (tree, _) = select(&resolver(folder.path()), &["t"]).unwrap();
    let leaf = tree.leaves()[0];
    let mut config = leaf.config.to_json();
    config.retain(|_, value| !value.is_null());
    config.sort_keys();
    let mut task = Task::build(leaf).unwrap();
    task.config = context_bench_tasks::config::Config::new();
    let shown = format!("{config:?} {task:?}");
    shown.replace(&*folder.path().to_string_lossy(), "FOLDER")
}

fn file(without: &str, head: &str) -> String {
    let lines = GENERATION.iter().filter(|(key, _)| *key != without);
    let lines: Vec<String> = lines
        .map(|(key, value)| format!("{key}: {value}\n"))
        .collect();
    format!("{head}{}", lines.concat())
}

#[test]
fn a_value_wins_over_null_in_what_is_included() {
    let direct = built(&json!({ "t.yaml": file("", "task: t\n") }));
    for (key, value) in GENERATION {
        let base = file(key, &format!("task: null\n{key}: null\n"));
        let own = format!("include: [_base_yaml]\ntask: t\n{key}: {value}\n");
        let found = built(&json!({ "_base_yaml": base, "t.yaml": own }));
        assert_eq!(found, direct, "`{key}`");
    }
    // All at once, through a chain, with nulls on every level.
    let nulls: Vec<String> = GENERATION
        .iter()
        .map(|(key, _)| format!("{key}: !!null \"null\"\n"))
        .collect();
    let found = built(&json!({
        "below/_first_yaml": format!("task: null\n{}", nulls.concat()),
        "_second_yaml": format!("include: below/_first_yaml\ntask:\n{}", nulls.concat()),
        "t.yaml": file("", "include: _second_yaml\ntask: t\n"),
    }));
    assert_eq!(found, direct);
}

#[test]
fn null_takes_back_what_is_included() {
    for (key, value) in GENERATION {
        // Without these there is no task at all.
        if ["doc_to_text", "doc_to_target", "test_split", "dataset_path"].contains(key) {
            continue;
        }
        let absent = built(&json!({ "t.yaml": file(key, "task: t\n") }));
        let base = file(key, &format!("{key}: {value}\n"));
        let own = format!("include: _base_yaml\ntask: t\n{key}: null\n");
        let found = built(&json!({ "_base_yaml": base, "t.yaml": own }));
        assert_eq!(found, absent, "`{key}`");
    }
}

#[test]
fn a_name_that_is_taken_back_is_no_name() {
    let folder = tempfile::tempdir().unwrap();
    write_tree(
        folder.path(),
        &json!({
            "a.yaml": file("", "task: a\n"),
            // A task that takes back its name is a template, and hides nobody.
            "b.yaml": "include: a.yaml\ntask: null\n",
            "c.yaml": "include: b.yaml\ntask: c\n",
            "k.py": "class K:\n    pass\n",
            "d.yaml": "task: d\nclass: !function k.K\n",
            "e.yaml": file("", "include: d.yaml\ntask: e\nclass: null\n"),
            // The later of two wins, also with null.
            "f.yaml": "include: [a.yaml, b.yaml]\ntask: f\n",
        }),
    );
    let resolver = resolver(folder.path());
    let names: Vec<&str> = resolver.index.tasks().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "c", "d", "e", "f"]);
    assert!(
        resolver.index.unused.is_empty(),
        "{:?}",
        resolver.index.unused
    );
    let (tree, _) = select(&resolver, &["d", "e"]).unwrap();
    let python: Vec<bool> = tree.leaves().iter().map(|leaf| leaf.python).collect();
    assert_eq!(python, [true, false]);
}

#[test]
fn functions_of_a_template_lie_beside_the_template() {
    let folder = tempfile::tempdir().unwrap();
    write_tree(
        folder.path(),
        &json!({
            "base/_one_yaml": "process_docs: !function code.rows\ntest_split: test\ndataset_path: json\n",
            "base/more/_two_yaml": "include: ../_one_yaml\ndoc_to_text: !function code.text\n",
            "here/t.yaml": "include: ../base/more/_two_yaml\ntask: t\ndoc_to_target: !function code.target\n",
        }),
    );
    let (tree, _) = select(&resolver(folder.path()), &["t"]).unwrap();
    let config = &tree.leaves()[0].config;
    for (key, place) in [
        ("process_docs", "base"),
        ("doc_to_text", "base/more"),
        ("doc_to_target", "here"),
    ] {
        let function = context_bench_tasks::Function::from_json(config.get(key).unwrap()).unwrap();
        assert_eq!(function.directory, folder.path().join(place), "`{key}`");
    }
}
