//! The files under `examples/`, through the program.

use serde_json::{Value, json};

use crate::program::{Done, run};
use crate::tasks::{ok, rendered};

const GROUPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/groups");
const BENCHMARKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/benchmarks");
const RUN_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bench.yaml");
const GUIDE: &str = include_str!("../../../../docs/guide/run-files.md");

fn group(name: &str, folder: &str) -> Value {
    let done = ok(&[
        "ls",
        "groups",
        "--pattern",
        name,
        "--output",
        "json",
        "--include-path",
        folder,
    ]);
    assert_eq!(done.stderr, "", "{done}");
    done.json()["groups"][0].clone()
}

fn prompts(tasks: &str, more: &[&str]) -> Vec<Value> {
    let mut args = vec!["--tasks", tasks, "--include-path", GROUPS];
    args.extend(more);
    rendered(&args)
}

fn tasks_of(documents: &[Value]) -> Vec<&str> {
    let mut tasks: Vec<&str> = documents
        .iter()
        .map(|d| d["task"].as_str().unwrap())
        .collect();
    tasks.dedup();
    tasks
}

#[test]
fn a_basic_group_has_tags_and_tasks_for_members() {
    let nature = group("nature", GROUPS);
    assert_eq!(nature["members"], json!(["pets", "trees"]));
    assert_eq!(nature["leaves"], json!(["birds", "cats_or_dogs", "trees"]));
    let found = prompts("nature", &["--limit", "2"]);
    assert_eq!(found.len(), 6);
    assert_eq!(tasks_of(&found), ["birds", "cats_or_dogs", "trees"]);
    assert_eq!(
        found[0]["context"],
        "Question: Which of them lives in a kennel?\nAnswer:"
    );
    assert_eq!(found[0]["continuations"], json!([" a dog", " a swift"]));
}

#[test]
fn a_group_says_what_it_aggregates() {
    let shown = ok(&[
        "show",
        "animals",
        "--include-path",
        GROUPS,
        "--output",
        "json",
    ])
    .json();
    assert_eq!(shown["aggregate_metric_list"], json!(["acc", "acc_norm"]));
    assert_eq!(shown["metadata"]["version"], 2.0);
    assert!(
        ok(&["validate", "animals", "--include-path", GROUPS])
            .stdout
            .contains("2 tasks")
    );
}

#[test]
fn overrides_reach_every_task_below_and_their_origin_is_told() {
    let found = prompts("everything", &["--limit", "1"]);
    let shots: Vec<usize> = found
        .iter()
        .map(|d| d["context"].as_str().unwrap().matches("Question:").count() - 1)
        .collect();
    // `birds` says 0 and gets 2 from its group all the same.
    assert_eq!(
        (tasks_of(&found), shots),
        (vec!["cats_or_dogs", "birds", "trees"], vec![2, 2, 1])
    );
    assert!(
        found[2]["context"]
            .as_str()
            .unwrap()
            .starts_with("Trees again.\n\n")
    );
    let shown = ok(&["show", "everything::trees", "--include-path", GROUPS]);
    assert!(
        shown
            .stdout
            .contains("overrides.yaml:2:1 (group `everything`)\nnum_fewshot: 1\n"),
        "{shown}"
    );
}

#[test]
fn tasks_and_groups_are_defined_where_they_are_used() {
    assert_eq!(
        group("bench", GROUPS)["members"],
        json!(["bench::small", "birds"])
    );
    let found = prompts("bench", &["-L", "1"]);
    assert_eq!(tasks_of(&found), ["bench::small::stones", "trees", "birds"]);
    let stones = prompts("bench::small::stones", &["-L", "1"]);
    assert_eq!(stones[0]["request_type"], "generate_until");
    assert_eq!(
        tasks_of(&prompts("bench::stones", &["-L", "1"])),
        ["bench::small::stones"]
    );
}

#[test]
fn paths_and_formats_choose_members() {
    let one = prompts(
        "everything::animals::cats_or_dogs@cloze",
        &["-L", "1", "-f", "0"],
    );
    assert_eq!(one[0]["task"], "cats_or_dogs@cloze");
    let found = prompts("three_ways", &["-L", "1"]);
    assert_eq!(tasks_of(&found), ["raw@mcqa", "raw@cloze", "raw@generate"]);
    assert_eq!(
        found[0]["context"],
        "Question: Which of them lives in a kennel?\nA. a dog\nB. a swift\nAnswer:"
    );
    assert_eq!(
        found[1]["context"],
        "Question: Which of them lives in a kennel?\nThe answer is"
    );
    assert_eq!(found[2]["target"], "A");
}

#[test]
fn names_for_people_and_classes_are_kept() {
    let shown = ok(&["show", "shown", "--include-path", GROUPS]);
    assert!(
        shown
            .stdout
            .contains("group `shown`, shown as What people see"),
        "{shown}"
    );
    let done: Done = ok(&["validate", "own_code", "--include-path", GROUPS]);
    assert!(done.stdout.contains("1 task found and valid"), "{done}");
    let found = prompts("own_code", &["-L", "2"]);
    assert_eq!(tasks_of(&found), ["own_code::my_task"]);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["request_type"], "generate_until");
    assert_eq!(
        found[0]["arguments"],
        json!(["What is a swift?", {"until": ["\n"], "max_gen_toks": 8}])
    );
    run(&[
        "render",
        "-t",
        "own_code",
        "--no-python",
        "--include-path",
        GROUPS,
    ])
    .is_error(&["task `my_task`", "needs Python"]);
}

#[test]
fn a_benchmark_of_built_in_parts() {
    let own = group("own_benchmark", BENCHMARKS);
    assert_eq!(
        own["members"],
        json!(["mmlu", "own_benchmark::reading", "mmlu_anatomy@cloze"])
    );
    assert_eq!(own["leaves"].as_array().unwrap().len(), 57 + 2 + 1);
    let shown = ok(&[
        "show",
        "own_benchmark::mmlu_virology",
        "--include-path",
        BENCHMARKS,
    ]);
    assert!(
        shown
            .stdout
            .contains("(member of group `own_benchmark`)\nnum_fewshot: 5\n"),
        "{shown}"
    );
    let done = ok(&[
        "validate",
        "own_benchmark,trivia_short",
        "--include-path",
        BENCHMARKS,
    ]);
    assert!(done.stdout.contains("61 tasks found and valid"), "{done}");
    let folder = tempfile::tempdir().unwrap();
    let docs = crate::tasks::write(
        folder.path(),
        "v.jsonl",
        "{\"question\": \"Who?\", \"answer\": {\"value\": \"Me\"}}\n",
    );
    let data = format!("validation={}", docs.display());
    let found = rendered(&[
        "--tasks",
        "trivia_short",
        "--include-path",
        BENCHMARKS,
        "--data",
        &data,
    ]);
    assert_eq!(
        found[0]["context"],
        "Answer in one or two words.\nQ: Who?\nA:"
    );
    assert_eq!(found[0]["target"], "Me");
    assert_eq!(found[0]["generation_kwargs"]["until"], json!(["\n"]));
}

#[test]
fn the_run_file_can_be_planned_and_is_the_one_of_the_guide() {
    let done = ok(&["run", RUN_FILE, "--dry-run"]);
    for said in [
        "demo: 20 examples, scored by answer_quality",
        "cats_or_dogs: 3 examples",
        "birds: 3 examples",
        "nothing was sent",
    ] {
        assert!(done.stdout.contains(said), "{said}: {done}");
    }
    let file = std::fs::read_to_string(RUN_FILE).unwrap();
    let (_, below_comment) = file.split_once("\nversion: 1\n").unwrap();
    assert!(
        GUIDE.contains(below_comment),
        "the guide shows another file"
    );
}
