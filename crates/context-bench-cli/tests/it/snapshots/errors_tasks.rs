//! Task files with mistakes, each with its place; no Python is there.

use super::session::Session;

/// A task without mistakes, but for its name.
const GOOD: &str = "dataset_path: json\ndataset_kwargs: {data_files: {test: docs.jsonl}}\ntest_split: test\n\
                    doc_to_text: \"{{question}}\"\ndoc_to_target: \"{{answer}}\"\n";

fn tree() -> Session {
    let session = Session::new();
    session.write(
        "tasks/docs.jsonl",
        "{\"question\": \"a?\", \"answer\": \"a\"}\n",
    );
    session.write("tasks/utils.py", "def there(doc): return doc\n");
    session
}

#[test]
fn task_files_with_mistakes() {
    let mut session = tree();
    for (name, rest) in [
        ("good", ""),
        ("key", "doc_to_txt: x\n"),
        ("choice", "output_type: multiple_choice\n"),
        ("output", "output_type: generat_until\n"),
        ("shots", "num_fewshot: many\n"),
        ("metric", "metric_list: [{metric: acurracy}]\n"),
        (
            "aggregation",
            "metric_list: [{metric: exact_match, aggregation: maen}]\n",
        ),
        (
            "filter",
            "filter_list: [{name: a, filter: [{function: regx}]}]\n",
        ),
        (
            "pattern",
            "filter_list: [{name: a, filter: [{function: regex, regex_pattern: \"(a\"}]}]\n",
        ),
        ("template", "description: \"{{ question \"\n"),
        ("function", "process_docs: !function utils.gone\n"),
        ("split", "fewshot_split: tran\nnum_fewshot: 1\n"),
    ] {
        session.write(
            &format!("tasks/{name}.yaml"),
            format!("task: {name}\n{GOOD}{rest}"),
        );
        session.run(&format!("validate {name} --include-path tasks"));
    }
    session.write(
        "tasks/column.yaml",
        format!("task: column\n{}", GOOD.replace("question", "quetsion")),
    );
    session.run("render --tasks column --include-path tasks");
    session.write(
        "tasks/lost.yaml",
        format!(
            "task: lost\n{}",
            GOOD.replace("docs.jsonl", "nowhere.jsonl")
        ),
    );
    session.run("render --tasks lost --include-path tasks");
    session.run("render --tasks function --include-path tasks");
    session.run("render --tasks good --include-path tasks --data dev=tasks/docs.jsonl");
    session.run("--tasks good --include-path tasks --system passthrough --gen-kwargs temperature");
    session.run(
        "--tasks good --include-path tasks --proxy http://localhost:8000 --model local-completions",
    );
    session.run("score --task good --include-path tasks --doc nowhere.json --response a");
    session.run("ls tasks --include-path nowhere");
    // Last: the others would tell of a file that is left out.
    session.write(
        "tasks/include.yaml",
        "include: nowhere.yaml\ntask: include\n",
    );
    session.run("validate include --include-path tasks");
    session.run("validate good --include-path tasks");
    session.approve("errors_tasks");
}

#[test]
fn groups_with_mistakes() {
    let mut session = tree();
    session.write("tasks/good.yaml", format!("task: good\n{GOOD}"));
    for (name, text) in [
        ("empty", "group: empty\ntask: []\n"),
        ("stranger", "group: stranger\ntask:\n  - good\n  - gut\n"),
        ("cycle", "group: cycle\ntask: [cycle]\n"),
        (
            "weights",
            "group: weights\ntask: [good]\naggregate_metric_list: [{metric: exact_match, aggregation: max}]\n",
        ),
    ] {
        session.write(&format!("tasks/{name}.yaml"), text);
        session.run(&format!("validate {name} --include-path tasks"));
    }
    session.write("tasks/again.yaml", format!("task: good\n{GOOD}"));
    session.run("validate good --include-path tasks");
    session.approve("errors_groups");
}
