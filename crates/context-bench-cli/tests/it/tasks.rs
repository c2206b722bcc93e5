//! The index of tasks from outside: `ls`, `validate`, `render`, `show`.

use std::path::{Path, PathBuf};

use context_bench_testkit::hub::{FakeHub, FakeRepo};
use context_bench_testkit::{needs_shared, shared};
use serde_json::{Value, json};

use crate::program::{Done, arg, command, run, run_with};

/// A file of a folder, written.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

pub(crate) fn ok(args: &[&str]) -> Done {
    let done = run(args);
    assert_eq!(done.code, 0, "{done}");
    done
}

/// The lines of `render --output jsonl`.
pub(crate) fn rendered(args: &[&str]) -> Vec<Value> {
    let mut all = vec!["render", "--output", "jsonl"];
    all.extend(args);
    lines(&ok(&all))
}

fn lines(done: &Done) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap();
    done.stdout.lines().map(parse).collect()
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|entry| entry["name"].as_str().unwrap()).collect()
}

/// A copy of MMLU with two subjects, in one file per split.
fn small_mmlu() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (split, n) in [("test", 3), ("dev", 5), ("validation", 1)] {
        let mut text = String::new();
        for i in 0..n {
            for subject in ["anatomy", "world_religions"] {
                let row = json!({
                    "question": format!("{split} {subject} {i}?"), "subject": subject,
                    "choices": ["w", "x", "y", "z"], "answer": i % 4,
                });
                text += &format!("{row}\n");
            }
        }
        write(folder.path(), &format!("mmlu.all.{split}.jsonl"), &text);
    }
    folder
}

#[test]
fn everything_is_in_one_index() {
    let done = ok(&["ls", "groups", "--output", "json"]);
    let listed = done.json();
    let groups = listed["groups"].as_array().unwrap();
    for name in [
        "mmlu",
        "mmlu_stem",
        "mmlu_humanities",
        "mmlu_social_sciences",
        "mmlu_other",
        "bbh",
        "mgsm",
        "longbench",
        "longbench_zh",
        "infinitebench",
        "qa",
        "reasoning",
        "summarization",
        "long_context",
        "code",
        "instruction",
    ] {
        assert!(names(&listed["groups"]).contains(&name), "{name}: {done}");
    }
    let group = |name: &str| groups.iter().find(|group| group["name"] == name).unwrap();
    let leaves = |name: &str| group(name)["leaves"].as_array().unwrap().len();
    for (name, n) in [
        ("mmlu", 57),
        ("mmlu_stem", 19),
        ("mmlu_humanities", 13),
        ("mmlu_social_sciences", 12),
        ("mmlu_other", 13),
        ("bbh", 27),
        ("mgsm", 11),
        ("bbh_logical_deduction", 3),
        ("longbench", 16),
        ("longbench_zh", 7),
        ("infinitebench", 12),
        ("code", 2),
    ] {
        assert_eq!(leaves(name), n, "{name}");
    }
    assert_eq!(group("mmlu")["members"].as_array().unwrap().len(), 4);
    let tasks = ok(&["ls", "subtasks", "--output", "json"]).json();
    let tasks = names(&tasks["tasks"]);
    // Every dataset of the catalog is a task or a group.
    let datasets = ok(&["ls", "datasets", "--output", "json"]).json();
    for name in names(&datasets["datasets"])
        .into_iter()
        .filter(|name| *name != "demo")
    {
        let is_group = groups.iter().any(|group| group["name"] == name);
        assert!(is_group || tasks.contains(&name), "{name}");
    }
    let table = ok(&["ls", "tasks", "--pattern", "mmlu_p*"]);
    assert!(table.stdout.contains("  mmlu_philosophy"), "{table}");
    assert!(!table.stdout.contains("anatomy"), "{table}");
    let every = ok(&[
        "validate",
        "qa,reasoning,summarization,long_context,code,instruction",
        "knowledge",
        "agent",
        "nli",
    ]);
    assert!(every.stdout.contains("tasks found and valid"), "{every}");
}

#[test]
fn one_subject_has_three_names_and_its_prompts_are_those_of_the_paper() {
    let folder = small_mmlu();
    let copy = format!("mmlu={}", folder.path().display());
    let own = tempfile::tempdir().unwrap();
    write(own.path(), "own.yaml", "group: own\ntask: [mmlu_anatomy]\n");
    let expected = rendered(&["--tasks", "mmlu::mmlu_anatomy", "--data-from", &copy]);
    for more in [
        &["--tasks", "mmlu:anatomy"][..],
        &["--tasks", "mmlu_anatomy"],
        &["--tasks", "mmlu::mmlu_stem::mmlu_anatomy"],
        &["--tasks", "own", "--include-path", arg(own.path())],
    ] {
        let args: Vec<&str> = more.iter().copied().chain(["--data-from", &copy]).collect();
        assert_eq!(rendered(&args), expected, "{more:?}");
    }
    assert_eq!(expected.len(), 3);
    assert_eq!(
        expected[1],
        json!({
            "task": "mmlu_anatomy", "doc_id": 1, "target": 1, "choices": ["A", "B", "C", "D"],
            "request_type": "loglikelihood",
            "context": "The following are multiple choice questions (with answers) about anatomy.\n\n\
                        test anatomy 1?\nA. w\nB. x\nC. y\nD. z\nAnswer:",
            "continuations": [" A", " B", " C", " D"],
        })
    );
    // The catalog knows it by the same name.
    let dataset = format!("mmlu:anatomy={}", folder.path().display());
    let shown = ok(&["show", &dataset, "--output", "json"]).json();
    assert_eq!(shown["example"]["question"], "test anatomy 0?");
}

#[test]
fn examples_come_from_dev_in_order_and_never_from_the_test_file() {
    let folder = small_mmlu();
    let copy = format!("mmlu={}", folder.path().display());
    let shots = |tasks: &str, n: &str, more: &[&str]| {
        let mut args = vec![
            "--tasks",
            tasks,
            "--data-from",
            &copy,
            "--num_fewshot",
            n,
            "-L",
            "1",
        ];
        args.extend(more);
        rendered(&args).remove(0)
    };
    assert_eq!(
        shots("mmlu_world_religions", "2", &[])["context"],
        "The following are multiple choice questions (with answers) about world religions.\n\n\
         dev world_religions 0?\nA. w\nB. x\nC. y\nD. z\nAnswer: A\n\n\
         dev world_religions 1?\nA. w\nB. x\nC. y\nD. z\nAnswer: B\n\n\
         test world_religions 0?\nA. w\nB. x\nC. y\nD. z\nAnswer:"
    );
    // A file in place of a split serves every subject with its own records.
    let dev = folder.path().join("mmlu.all.dev.jsonl");
    let test = folder.path().join("mmlu.all.test.jsonl");
    let (dev, test) = (
        format!("dev={}", dev.display()),
        format!("test={}", test.display()),
    );
    let given = rendered(&[
        "--tasks",
        "mmlu_world_religions",
        "--num-fewshot",
        "2",
        "--limit",
        "1",
        "--data",
        &dev,
        "--data",
        &test,
    ]);
    assert_eq!(given[0], shots("mmlu_world_religions", "2", &[]));
    let chat = shots(
        "mmlu_anatomy@generate",
        "2",
        &["--apply_chat_template", "--system-instruction", "Be brief."],
    );
    let roles: Vec<&str> = chat["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant"
        ]
    );
    assert_eq!(chat["add_generation_prompt"], false);
    assert_eq!(chat["generation_kwargs"]["until"], json!(["\n\n"]));
    assert_eq!(chat["target"], "A");
    let one = shots(
        "mmlu_anatomy@cloze",
        "2",
        &["--apply-chat-template", "--fewshot-as-multiturn", "false"],
    );
    assert_eq!(one["messages"].as_array().unwrap().len(), 2, "{one}");
    assert_eq!(one["choices"], json!(["w", "x", "y", "z"]));
    let cot = shots("mmlu_anatomy@cot", "0", &[]);
    assert!(
        cot["context"].as_str().unwrap().contains("\nD. z\n"),
        "{cot}"
    );
    let mcqa = shots("mmlu_anatomy@mcqa", "0", &[]);
    assert!(
        mcqa["context"]
            .as_str()
            .unwrap()
            .ends_with("\n\nQuestion: test anatomy 0?\nA. w\nB. x\nC. y\nD. z\nAnswer:")
    );

    let test_only = format!(
        "mmlu={}",
        folder.path().join("mmlu.all.test.jsonl").display()
    );
    let done = run(&[
        "render",
        "-t",
        "mmlu_anatomy",
        "--data-from",
        &test_only,
        "-f",
        "2",
    ]);
    done.is_error(&[
        "task `mmlu_anatomy`: split `dev`",
        "is one file, used for split `test`",
        "--num-fewshot 0",
    ]);
    std::fs::remove_file(folder.path().join("mmlu.all.dev.jsonl")).unwrap();
    std::fs::remove_file(folder.path().join("mmlu.all.validation.jsonl")).unwrap();
    let done = run(&[
        "render",
        "-t",
        "mmlu_anatomy",
        "--data-from",
        &copy,
        "-f",
        "2",
    ]);
    done.is_error(&["split `dev`", "mmlu.all.test.jsonl", "--data dev=FILE"]);
}

#[test]
fn splits_are_replaced_by_files_of_any_format() {
    let folder = tempfile::tempdir().unwrap();
    let task = "task: t\ndataset_path: org/none\ntest_split: validation\ntraining_split: train\n\
                num_fewshot: 1\ndoc_to_text: \"{{q}}\"\ndoc_to_target: \"{{a}}\"\n";
    let task = write(folder.path(), "t.yaml", task);
    let docs = write(folder.path(), "docs.csv", "q,a\none,1\ntwo,2\n");
    let shots = write(folder.path(), "shots.json", r#"[{"q": "zero", "a": 0}]"#);
    let (docs, shots) = (arg(&docs), arg(&shots));
    let by = |test: &str| {
        let test = format!("{test}={docs}");
        let train = format!("train={shots}");
        rendered(&["--tasks", arg(&task), "--data", &test, "--data", &train])
    };
    let found = by("validation");
    assert_eq!(found, by("test"), "what a split is for names it as well");
    assert_eq!(found[1]["context"], "zero 0\n\ntwo");
    assert_eq!(found[1]["generation_kwargs"]["until"], json!(["\n\n"]));
    let dev = format!("dev={docs}");
    run(&["render", "--tasks", arg(&task), "--data", &dev])
        .is_error(&["task `t` has no split `dev`", "`validation` and `train`"]);
    let gone = format!("test={docs}x");
    run(&["render", "--tasks", arg(&task), "--data", &gone]).is_error(&["docs.csvx"]);
    let done = run(&["render", "--tasks", arg(&task), "--data", "docs.csv"]);
    assert!(
        done.code == 2 && done.stderr.contains("expected a name"),
        "{done}"
    );
}

#[test]
fn tasks_read_the_hub_folders_and_builders() {
    let docs = |split: &str| format!("{{\"q\": \"{split} of main\", \"a\": \"x\"}}\n");
    let repo = FakeRepo::new("org/data")
        .file("main/test.jsonl", docs("test").as_bytes())
        .file("main/train.jsonl", docs("train").as_bytes());
    let hub = FakeHub::start(vec![repo]);
    let cache = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let common = "doc_to_text: \"{{q}}\"\ndoc_to_target: \"{{a}}\"\ntest_split: test\n";
    let task = |name: &str, data: &str| {
        arg(&write(
            at,
            &format!("{name}.yaml"),
            &format!("task: {name}\n{common}{data}"),
        ))
        .to_owned()
    };
    let from = |task: &str, more: &[&str], dir: Option<&Path>| {
        let mut command = command();
        command
            .env("HF_ENDPOINT", hub.url())
            .env("HF_HOME", cache.path());
        if let Some(dir) = dir {
            command.env("LM_EVAL_DATASET_DIR", dir);
        }
        command
            .args(["render", "--output", "jsonl", "--tasks", task])
            .args(more);
        run_with(&mut command)
    };
    let context = |done: &Done| {
        assert_eq!(done.code, 0, "{done}");
        lines(done)[0]["context"].as_str().unwrap().to_owned()
    };
    let remote = task("remote", "dataset_path: org/data\ndataset_name: main\n");
    assert_eq!(context(&from(&remote, &[], None)), "test of main");
    let asked: Vec<String> = hub.requests().iter().map(|r| r.path.clone()).collect();
    assert!(
        !asked
            .iter()
            .any(|path| path.contains("train.jsonl") && path.contains("resolve")),
        "only what is needed: {asked:?}"
    );

    write(
        at,
        "copies/org/data/main/test.jsonl",
        "{\"q\": \"a copy\", \"a\": 1}\n",
    );
    assert_eq!(
        context(&from(&remote, &[], Some(&at.join("copies")))),
        "a copy"
    );
    let copy = format!("org/data={}", at.join("copies/org/data").display());
    assert_eq!(
        context(&from(&remote, &["--data-from", &copy], None)),
        "a copy"
    );

    write(at, "rows/test.csv", "q,a\nfrom csv,1\n");
    let local = task("local", "dataset_path: ./rows\n");
    assert_eq!(context(&from(&local, &[], None)), "from csv");
    let built = task(
        "built",
        "dataset_path: json\ndataset_kwargs: {data_files: {test: docs/*.jsonl}}\n",
    );
    write(at, "docs/b.jsonl", "{\"q\": \"second\", \"a\": 1}\n");
    write(at, "docs/a.jsonl", "{\"q\": \"first\", \"a\": 1}\n");
    assert_eq!(context(&from(&built, &[], None)), "first");
    let text = task(
        "text",
        "dataset_path: text\ndataset_kwargs: {data_files: {test: lines.txt}}\n",
    );
    write(at, "lines.txt", "one line\nanother\n");
    let text = std::fs::read_to_string(&text)
        .map(|t| t.replace("{{q}}", "{{text}}").replace("{{a}}", "-"))
        .map(|t| write(at, "text.yaml", &t))
        .unwrap();
    assert_eq!(lines(&from(arg(&text), &[], None)).len(), 2);

    let part = task(
        "part",
        "dataset_path: json\ndataset_kwargs: {data_files: {test: docs/*.jsonl}}\n",
    );
    let part = std::fs::read_to_string(&part)
        .unwrap()
        .replace("test_split: test", "test_split: 'test[1:]'");
    let part = write(at, "part.yaml", &part);
    assert_eq!(context(&from(arg(&part), &[], None)), "second");

    for (data, texts) in [
        (
            "dataset_path: org/other\n",
            &["task `bad`: split `test`", "org/other", "bad.yaml:5:1"][..],
        ),
        (
            "dataset_path: org/data\ndataset_name: side\n",
            &["split `test`", "side"],
        ),
        (
            "dataset_path: ./nowhere\n",
            &["there is no folder `./nowhere`", "--data test=FILE"],
        ),
        (
            "dataset_path: ./docs\n",
            &["no file for split `test`", "a.jsonl"],
        ),
        ("dataset_path: json\n", &["needs files"]),
        (
            "dataset_path: json\ndataset_kwargs: {data_files: {tset: x.jsonl}}\n",
            &["`data_files` has no split `test`", "`tset`"],
        ),
        (
            "dataset_path: json\ndataset_kwargs: {data_files: {test: x.jsonl}}\n",
            &["there is no file `x.jsonl`"],
        ),
        (
            "dataset_path: json\ndataset_kwargs: {data_fils: x}\n",
            &["`data_fils` is not known here", "bad.yaml:6:1"],
        ),
        (
            "dataset_path: arrow\n",
            &["files of `arrow` cannot be read"],
        ),
        ("", &["the task names no dataset"]),
    ] {
        from(&task("bad", data), &[], None).is_error(texts);
    }
}

#[test]
fn a_task_is_shown_with_the_origin_of_each_value_and_a_prompt() {
    let folder = small_mmlu();
    let copy = format!("mmlu={}", folder.path().display());
    let shown = ok(&["show", "mmlu::mmlu_anatomy@cloze", "--data-from", &copy]);
    for text in [
        "# task `mmlu_stem::mmlu_anatomy`\n",
        "# <built-in>/_mmlu.yaml:4:1 (include)\nfewshot_split: dev\n",
        "dataset: mmlu:anatomy\n",
        "Question: test anatomy 0?\nAnswer:\n",
    ] {
        assert!(shown.stdout.contains(text), "no {text:?} in {shown}");
    }
    let away = ok(&["show", "mmlu::mmlu_anatomy@cloze", "--output", "json"]).json();
    assert_eq!(away["config"]["doc_to_choice"]["value"], "choices");
    assert!(
        away["problem"].as_str().unwrap().contains("split `test`"),
        "{away}"
    );
    let group = ok(&["show", "mmlu@cloze", "--output", "json"]).json();
    assert_eq!(group["leaves"].as_array().unwrap().len(), 57);
    assert_eq!(group["aggregate_metric_list"], json!(["acc"]));
    let both = ok(&["show", "mmlu", "--output", "json"]).json();
    assert_eq!(both["licence"], "MIT");
    assert_eq!(both["members"].as_array().unwrap().len(), 4, "{both}");
    let dataset = ok(&["show", "hotpotqa", "--output", "json"]).json();
    assert_eq!(dataset["config"], "distractor");
    run(&["show", "mmlu::mmlu_anatmy"])
        .is_error(&["`mmlu_anatmy` in `mmlu::mmlu_anatmy` is not a member"]);
    run(&["show", "hotpotq"]).is_error(&["hotpotq", "did you mean `hotpotqa`"]);
}

#[test]
fn shuffled_options_are_rendered_in_the_order_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let spec = "name: own\ncategory: qa\nsource:\n  files: own.jsonl\nchoices:\n  options: options\n  \
                correct: 0\n  shuffle: true\nfields:\n  question: question\n\
                evaluators: [multiple_choice]\nscore_field: mc_accuracy\n";
    write(folder.path(), "own.yaml", spec);
    let options: Vec<String> = ('a'..='p').map(String::from).collect();
    let record = json!({"question": "Which?", "options": options});
    write(folder.path(), "own.jsonl", &format!("{record}\n"));
    let include = ["--include-path", arg(folder.path())];
    for seed in [&[][..], &["--seed", "7"]] {
        let more: Vec<&str> = include.iter().chain(seed).copied().collect();
        let show = [&["show", "own", "--output", "json"][..], &more].concat();
        let shown = ok(&show).json()["example"]["choices"].clone();
        let tasks = [&["--tasks", "own"][..], &more].concat();
        assert_eq!(rendered(&tasks)[0]["choices"], shown, "{seed:?}");
    }
}

#[test]
fn own_files_win_and_datasets_of_ones_own_are_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let first = "task: bbh_navigate\ndataset_path: json\ntest_split: test\ndoc_to_text: first\ndoc_to_target: x\n";
    write(folder.path(), "a/navigate.yaml", first);
    write(
        folder.path(),
        "b/navigate.yaml",
        &first.replace("first", "second"),
    );
    let spec = "name: own\ncategory: qa\nsource:\n  files: own.jsonl\nfields:\n  id: id\n  \
                context: text\n  answer: gold\nevaluators: [answer_quality]\nscore_field: f1\n";
    write(folder.path(), "b/deep/own.yaml", spec);
    write(
        folder.path(),
        "b/deep/own.jsonl",
        "{\"id\": 1, \"text\": \"hello\", \"gold\": \"x\"}\n",
    );
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let both = std::env::join_paths([&a, &b]).unwrap();
    let docs = write(folder.path(), "docs.jsonl", "{}\n");
    let test = format!("test={}", docs.display());
    let done = ok(&[
        "render",
        "--output",
        "jsonl",
        "--tasks",
        "bbh_navigate",
        "--data",
        &test,
        "--include-path",
        both.to_str().unwrap(),
    ]);
    assert_eq!(lines(&done)[0]["context"], "second");
    assert!(
        done.stderr.contains("`bbh_navigate` replaces the one in"),
        "{done}"
    );
    assert!(
        done.stderr.contains("replace what comes with the program"),
        "{done}"
    );
    let own = rendered(&["--tasks", "own", "--include-path", arg(&b)]);
    assert_eq!(own[0]["target"], "x");
    assert_eq!(own[0]["evaluators"], json!(["answer_quality"]));
    assert!(
        own[0]["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("hello")
    );
    let qa = ok(&[
        "ls",
        "groups",
        "--pattern",
        "qa",
        "--output",
        "json",
        "--include-path",
        arg(&b),
    ])
    .json();
    assert!(
        qa["groups"][0]["leaves"]
            .as_array()
            .unwrap()
            .contains(&json!("own")),
        "{qa}"
    );
    let missing = folder.path().join("none");
    run(&["ls", "groups", "--include-path", arg(&missing)])
        .is_error(&["there is no folder or file"]);
    write(folder.path(), "neither.yaml", "a: 1\n");
    let neither = folder.path().join("neither.yaml");
    run(&["ls", "groups", "--include-path", arg(&neither)])
        .is_error(&["defines no task, group or dataset"]);
}

#[test]
fn names_that_nothing_has_are_errors_with_near_ones() {
    run(&["render", "--tasks", "mmlu_anatmy"])
        .is_error(&["unknown task, group or tag `mmlu_anatmy`", "`mmlu_anatomy`"]);
    run(&["render", "--tasks", "mmlu:anatmy"])
        .is_error(&["unknown task, group or tag `mmlu:anatmy`", "`mmlu:anatomy`"]);
    run(&["render", "--tasks", "mmlu_zzz*"])
        .is_error(&["no task, group or tag matches `mmlu_zzz*`"]);
    run(&["render", "--tasks", "hotpotqa@cot"]).is_error(&["format `cot` needs prompts of a task"]);
    run(&["render", "--tasks", "mmlu@clzoe"])
        .is_error(&["the task has no format `clzoe`", "`cloze`"]);
    run(&["render"]).is_error(&["no tasks are given"]);
    let done = run(&["validate", "--tasks", "mmlu,nope_nope"]);
    assert_eq!(done.code, 2, "{done}");
    assert!(
        done.stderr
            .contains("unknown task, group or tag `nope_nope`"),
        "{done}"
    );
    assert!(
        done.stderr
            .contains("57 of 57 tasks valid, 1 problem (with selection 1)"),
        "{done}"
    );
    let folder = tempfile::tempdir().unwrap();
    let wrong = write(folder.path(), "w.yaml", "task: w\ndataset: mmlu:anatmy\n");
    let done = run(&["validate", arg(&wrong)]);
    assert!(
        done.code == 2 && done.stderr.contains("no config `anatmy`"),
        "{done}"
    );
}

#[test]
fn python_functions_are_called_unless_forbidden() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "own.py",
        "def ask(doc):\n    return doc['q'].upper()\ndef keep(docs):\n    return docs.filter(lambda d: d['q'] != 'no')\n",
    );
    let task = "task: p\ndataset_path: json\ntest_split: test\nprocess_docs: !function own.keep\n\
                doc_to_text: !function own.ask\ndoc_to_target: x\n";
    let task = write(folder.path(), "p.yaml", task);
    let docs = write(
        folder.path(),
        "docs.jsonl",
        "{\"q\": \"no\"}\n{\"q\": \"yes\"}\n",
    );
    let test = format!("test={}", docs.display());
    let found = rendered(&["--tasks", arg(&task), "--data", &test]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["context"], "YES");
    run(&[
        "render",
        "--tasks",
        arg(&task),
        "--data",
        &test,
        "--no-python",
    ])
    .is_error(&["`--no-python` forbids"]);
    let done = ok(&["validate", arg(&task)]);
    assert!(done.stdout.contains("1 task found and valid"), "{done}");
}

#[needs_shared("data/full/mmlu.all.test.jsonl.gz")]
#[test]
fn all_of_mmlu_from_the_shared_copy() {
    let folder = shared::path("data/full");
    let copy = format!("mmlu={}", folder.display());
    let found = rendered(&["--tasks", "mmlu", "--data-from", &copy]);
    assert_eq!(found.len(), 14_042);
    let mut counts = std::collections::BTreeMap::new();
    for document in &found {
        *counts
            .entry(document["task"].as_str().unwrap())
            .or_insert(0) += 1;
        assert!(document["context"].as_str().unwrap().ends_with("\nAnswer:"));
    }
    assert_eq!(counts.len(), 57);
    assert_eq!(
        (counts["mmlu_anatomy"], counts["mmlu_professional_law"]),
        (135, 1534)
    );
}
