//! Broken task files: an error with file and line, soon, in bounded memory.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::program::{Done, arg, command};
use crate::tasks::write;

const GOOD: &str = "task: good\ndataset_path: json\ndataset_kwargs:\n  data_files: {test: docs.jsonl}\n\
                    test_split: test\ndoc_to_text: \"{{question}}\"\ndoc_to_target: \"{{answer}}\"\n";
/// What no error may take; the point is that a hang does not hang the tests.
const PATIENCE: Duration = Duration::from_secs(600);
/// Address space of the program, which a document that grows would exceed.
const MAX_KILOBYTES: u64 = 1_500_000;

/// Runs the program with limits on time and memory.
fn limited(args: &[&str]) -> Done {
    let program = command();
    let mut command = std::process::Command::new("sh");
    command.arg("-c");
    command.arg(format!("ulimit -v {MAX_KILOBYTES}; exec \"$0\" \"$@\""));
    command.arg(program.get_program()).args(args);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{args:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    Done {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        took: started.elapsed(),
    }
}

/// A task that aliases make huge, in a file of 5 MB.
fn bomb() -> String {
    let mut text = format!("task: bomb\na0: &a0 [\"{}\"]\n", "x".repeat(1000));
    for i in 1..40 {
        let before = format!("*a{}", i - 1);
        text += &format!("a{i}: &a{i} [{}]\n", [before.as_str(); 10].join(", "));
    }
    text + &format!("# {}\n", "y".repeat(5_000_000))
}

fn files(folder: &Path) {
    write(folder, "good.yaml", GOOD);
    write(
        folder,
        "docs.jsonl",
        "{\"question\": \"q\", \"answer\": \"a\"}\n",
    );
    write(folder, "one.yaml", "include: two.yaml\ntask: one\n");
    write(folder, "two.yaml", "include: one.yaml\ntask: two\n");
    write(folder, "g1.yaml", "group: g1\ntask: [good, g2]\n");
    write(folder, "g2.yaml", "group: g2\ntask: [g1]\n");
    write(folder, "lost.yaml", "task: lost\ninclude: nowhere.yaml\n");
    write(folder, "tabs.yaml", "task: tabs\nmetadata:\n\tversion: 1\n");
    write(
        folder,
        "key.yaml",
        &GOOD
            .replace("good", "key")
            .replace("test_split", "tset_split"),
    );
    let filter = "filter_list:\n  - name: x\n    filter:\n      - function: regexx\n";
    write(
        folder,
        "filter.yaml",
        &(GOOD.replace("good", "filter") + filter),
    );
    write(
        folder,
        "column.yaml",
        &GOOD
            .replace("good", "column")
            .replace("{{question}}", "{{quetsion}}"),
    );
    write(
        folder,
        "variable.yaml",
        &GOOD
            .replace("good", "variable")
            .replace("{{answer}}", "{{ nope.x }}"),
    );
    write(folder, "bomb.yaml", &bomb());
}

#[test]
fn broken_files_are_told_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let at = arg(folder.path());
    for (task, texts) in [
        (
            "one",
            &["files include each other", "one.yaml:1:1", "two.yaml"][..],
        ),
        (
            "g1",
            &["groups contain each other: g1 -> g2 -> g1", "g2.yaml:2:8"],
        ),
        ("lost", &["nowhere.yaml` does not exist", "lost.yaml:2:1"]),
        ("tabs", &["tabs.yaml:3:1", "indent with spaces"]),
        (
            "key",
            &[
                "unknown key `tset_split`",
                "key.yaml:5:1",
                "did you mean `test_split`",
            ],
        ),
        (
            "filter",
            &[
                "unknown filter `regexx`",
                "filter.yaml:8:1",
                "did you mean `regex`",
            ],
        ),
        ("bomb", &["aliases multiply the document", "bomb.yaml:"]),
    ] {
        // By name in a tree, and by the file itself.
        let file = folder.path().join(format!("{task}.yaml"));
        for args in [
            vec!["validate", "--tasks", task, "--include-path", at],
            vec!["render", "--tasks", task, "--include-path", at],
            vec!["validate", "--tasks", arg(&file), "--include-path", at],
        ] {
            let done = limited(&args);
            assert_eq!(done.code, 2, "{args:?}: {done}");
            assert_eq!(done.stdout, "", "{args:?}: {done}");
            let error = done.stderr.split("error: ").nth(1).unwrap_or_default();
            for text in texts {
                assert!(error.contains(text), "{args:?}: no `{text}` in {done}");
            }
            assert!(error.contains("hint: "), "{args:?}: {done}");
        }
    }
    for (task, texts) in [
        (
            "column",
            &[
                "task `column`, document 0 of split `test`",
                "`quetsion` is undefined",
                "column.yaml:6:1",
                "`question`",
            ][..],
        ),
        (
            "variable",
            &[
                "task `variable`, document 0 of split `test`",
                "`nope` is undefined",
                "variable.yaml:7:1",
            ],
        ),
    ] {
        let done = limited(&["render", "--tasks", task, "--include-path", at]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{done}");
        for text in texts {
            assert!(done.stderr.contains(text), "no `{text}` in {done}");
        }
    }
}

#[test]
fn the_others_of_a_tree_with_broken_files_still_work() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let done = limited(&[
        "render",
        "--tasks",
        "good",
        "--include-path",
        arg(folder.path()),
    ]);
    assert_eq!(done.code, 0, "{done}");
    // One line says so; who wants to know asks.
    assert!(done.stderr.contains("5 files are left out"), "{done}");
    assert_eq!(done.stderr.matches(".yaml").count(), 1, "{done}");
    let done = limited(&["validate", "--include-path", arg(folder.path()), "*"]);
    assert_eq!(done.code, 2, "{done}");
    for name in [
        "one.yaml",
        "two.yaml",
        "lost.yaml",
        "tabs.yaml",
        "bomb.yaml",
    ] {
        assert!(done.stderr.contains(name), "{name}: {done}");
    }
    assert!(done.stderr.contains(" tasks valid, "), "{done}");
}

#[test]
fn what_cannot_run_is_not_valid() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, rest: &str| format!("{}{rest}", GOOD.replace("good", name));
    for (name, text) in [
        ("utils.py", "def there(doc): return doc\n".to_owned()),
        (
            "there.yaml",
            with("there", "process_docs: !function utils.there\n"),
        ),
        (
            "gone.yaml",
            with("gone", "process_docs: !function utils.gone\n"),
        ),
        (
            "no_module.yaml",
            with("no_module", "process_docs: !function nowhere.f\n"),
        ),
        (
            "class.yaml",
            "task: class\nclass: !function utils.Gone\n".into(),
        ),
        (
            "choice.yaml",
            with("choice", "output_type: multiple_choice\n"),
        ),
        ("tagged.yaml", with("tagged", "tag: [fine, on]\n")),
        ("shots.yaml", with("shots", "num_fewshot: -1\n")),
        (
            "pattern.yaml",
            with(
                "pattern",
                "filter_list: [{name: a, filter: [{function: regex, regex_pattern: \"(a\"}]}]\n",
            ),
        ),
        ("empty.yaml", "group: empty\ntask: []\n".into()),
    ] {
        write(folder.path(), name, &text);
    }
    let at = arg(folder.path());
    let validate = |name: &str| limited(&["validate", "--tasks", name, "--include-path", at]);
    let done = validate("there");
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stdout.contains("1 task found and valid"), "{done}");
    for (name, parts) in [
        (
            "gone",
            ["there is no `gone`", "hint: `!function module.name`"],
        ),
        ("no_module", ["no module `nowhere`", "no_module.yaml:8:1"]),
        ("class", ["there is no `Gone`", "class.yaml:2:1"]),
        ("choice", ["needs `doc_to_choice`", "hint: name the column"]),
        ("tagged", ["`tag` must be text", "put quotes around it"]),
        (
            "shots",
            [
                "a whole number was expected",
                "hint: write `num_fewshot: 5`",
            ],
        ),
        (
            "pattern",
            [
                "a parenthesis is not closed",
                "hint: patterns are those of Python",
            ],
        ),
        ("empty", ["there are no tasks in `empty`", "hint: "]),
        ("zz*", ["no task, group or tag matches `zz*`", "hint: "]),
        ("", ["no tasks are given", "hint: "]),
    ] {
        let done = validate(name);
        assert_eq!(done.code, 2, "{name}: {done}");
        for part in parts {
            assert!(done.stderr.contains(part), "no `{part}` in {done}");
        }
    }
    let unchecked = limited(&["validate", "gone", "--include-path", at, "--no-python"]);
    assert_eq!(unchecked.code, 0, "{unchecked}");
    assert!(
        unchecked.stderr.contains("1 task with Python"),
        "{unchecked}"
    );
}

#[test]
fn a_group_named_by_its_path_knows_the_files_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| write(folder.path(), name, text);
    put("good.yaml", &format!("{GOOD}tag: mild\n"));
    put(
        "g.yaml",
        "group: g\ntask:\n  - {task: good, num_fewshot: 1}\n  - inner\n",
    );
    put("inner.yaml", "group: inner\ntask: [mild]\n");
    for named in [folder.path().to_owned(), folder.path().join("g.yaml")] {
        let done = limited(&["validate", arg(&named)]);
        assert_eq!(done.code, 0, "{done}");
    }
    put("inner.yaml", "group: inner\ntask: [g]\n");
    let cycle = limited(&["validate", arg(&folder.path().join("g.yaml"))]);
    assert!(cycle.stderr.contains("g -> inner -> g"), "{cycle}");
    put("inner.yaml", "group: inner\ntask:\n  - good\n  - gut\n");
    let unknown = limited(&["validate", arg(&folder.path().join("inner.yaml"))]);
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(unknown.stderr.contains("unknown member `gut`"), "{unknown}");
    assert!(unknown.stderr.contains("inner.yaml:4:5"), "{unknown}");
}

#[test]
fn validate_tells_all_that_is_wrong_with_a_file() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "bad.yaml",
        "task: bad\ndataset_path: json\ntest_split: test\ndoc_to_txt: x\nfewshoot: 3\n\
         doc_to_text: '{{ question '\ndoc_to_target: '{% if %}'\nnum_fewshot: many\n\
         process_results: !function utils.gone\nprocess_docs: !function utils.away\n",
    );
    write(
        folder.path(),
        "measured.yaml",
        "task: measured\ndataset_path: json\ntest_split: test\noutput_type: multiple_choice\n\
         doc_to_text: x\ndoc_to_target: y\ndoc_to_choice: '{{ a'\n\
         metric_list:\n  - {metric: acurracy}\n  - {metric: acc}\n  - {metric: blue}\n",
    );
    write(folder.path(), "utils.py", "there = 1\n");
    let done = limited(&["validate", "bad", "--include-path", arg(folder.path())]);
    assert_eq!(done.code, 2, "{done}");
    for part in [
        "unknown key `doc_to_txt`",
        "bad.yaml:4:1",
        "unknown key `fewshoot`",
        "`doc_to_text`",
        "bad.yaml:6:1",
        "`doc_to_target`",
        "bad.yaml:7:1",
        "`num_fewshot`",
        "there is no `gone`",
        "there is no `away`",
    ] {
        assert!(done.stderr.contains(part), "no `{part}` in {done}");
    }
    assert!(
        done.stderr
            .contains("0 of 1 task valid, 7 problems (with Python code 1, settings 1)"),
        "{done}"
    );
    let done = limited(&["validate", "measured", "--include-path", arg(folder.path())]);
    for part in [
        "`doc_to_choice`",
        "acurracy",
        "blue",
        "0 of 1 task valid, 3 problems",
    ] {
        assert!(done.stderr.contains(part), "no `{part}` in {done}");
    }
}
