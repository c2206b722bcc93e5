//! Mistakes in files: every one is reported, and nothing that a file says can do harm.

use context_bench_error::Hint as _;
use context_bench_tasks::{Node, select, validate};
use serde_json::{Value, json};

use crate::vectors::{resolver, write_tree};

const TASK: &str = "dataset_path: json\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n";

/// What is reported about all files of a folder.
fn reported(files: &Value) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path(), files);
    let report = validate(&resolver(folder.path()), &["*"], None);
    report.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn all_that_is_wrong_with_a_group() {
    let found = reported(&json!({
        "t.yaml": format!("task: t\n{TASK}"),
        "g.yaml": "group: g\nfoo: 1\ntask:\n  - nope\n  - t\n  - {task: other}\n  - {bar: 1}\n  - 5\n  - group: inner\n    task: [gone, t]\naggregate_metric_list:\n  - {metric: acc, aggregation: geometric}\n  - {metricc: acc}\n  - {metric: acc, wieght_by_size: true}\n",
    }));
    for part in [
        "unknown member `nope`",
        "unknown member `other`",
        "neither `task` nor `group`",
        "found `5`",
        "group `inner` has an unknown member `gone`",
        "aggregation `geometric`",
        "unknown key `metricc`",
        "unknown key `wieght_by_size`",
        // What the group hands down is wrong in its tasks.
        "task `t`: unknown key `foo`",
    ] {
        let n = found.iter().filter(|text| text.contains(part)).count();
        assert_eq!(n, 1, "{part}: {found:#?}");
    }
    assert_eq!(found.len(), 9, "{found:#?}");
    assert!(
        found.iter().all(|text| text.contains("g.yaml:")),
        "{found:#?}"
    );
}

#[test]
fn broken_files_of_one_name_are_all_told() {
    let found = reported(&json!({
        "a/default.yaml": "task: [\n", "b/default.yaml": "task: {\n", "c/default.yaml": "task: 7\n",
        "d/t.yaml": format!("task: t\n{TASK}"),
    }));
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn names_that_are_there_twice_cost_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let task = |name: &str| format!("task: {name}\n{TASK}");
    write_tree(
        folder.path(),
        &json!({
            "a.yaml": task("a"), "b.yaml": task("b"), "c.yaml": task("c"),
            "x/a.yaml": task("a"), "x/b.yaml": task("b"), "x/c.yaml": task("c"),
        }),
    );
    let index = resolver(folder.path()).index;
    assert_eq!(index.unused.len(), 3);
    let remarks = index.remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(
        remarks[0]
            .message
            .ends_with("this file is not used; nor are 2 more of that kind"),
        "{remarks:?}"
    );
}

#[test]
fn templates_of_groups() {
    let folder = tempfile::tempdir().unwrap();
    write_tree(
        folder.path(),
        &json!({
            "t.yaml": format!("task: t\n{TASK}"),
            "base/_group_yaml": "group_alias: From the template\ntask: [t]\naggregate_metric_list: {metric: exact_match, weight_by_size: false}\nmetadata: {version: 2}\nnum_fewshot: 1\n",
            "g.yaml": "include: base/_group_yaml\ngroup: g\n",
            "h.yaml": "include: base/_group_yaml\ngroup: h\ngroup_alias: Own\naggregate_metric_list: {metric: acc}\nmetadata: {version: 3}\n",
            // What describes tasks says nothing about the group.
            "base/_task_yaml": "task: u\nmetadata: {version: 9}\nnum_fewshot: 3\n",
            "i.yaml": "include: base/_task_yaml\ngroup: i\ntask: [t]\n",
        }),
    );
    let (tree, _) = select(&resolver(folder.path()), &["g", "h", "i"]).unwrap();
    let mut seen = Vec::new();
    for node in &tree.nodes {
        let Node::Group(group) = node else {
            panic!("{node:?}");
        };
        let shots = node.leaves()[0].config.get("num_fewshot").cloned();
        let metrics: Vec<&str> = group.aggregate.iter().map(|one| &*one.metric).collect();
        seen.push(json!([
            group.alias,
            metrics,
            group.metadata.get("version"),
            shots
        ]));
    }
    assert_eq!(
        Value::Array(seen),
        json!([
            ["From the template", ["exact_match"], 2, 1],
            ["Own", ["acc"], 3, 1],
            [null, [], null, 3]
        ])
    );
}

#[test]
fn keys_of_sister_projects_are_known_as_such() {
    let folder = tempfile::tempdir().unwrap();
    write_tree(
        folder.path(),
        &json!({ "t.yaml": format!("task: t\n{TASK}doc_to_visual: x\ngold_alias: y\n") }),
    );
    let report = validate(&resolver(folder.path()), &["t"], None);
    let hints: Vec<String> = report
        .errors
        .iter()
        .filter_map(|error| error.hint())
        .collect();
    assert!(hints[0].contains("lmms-eval"), "{hints:?}");
    assert!(hints[1].contains("before version 0.4"), "{hints:?}");
}

#[test]
fn hostile_files() {
    let deep = format!(
        "task: t\nmetadata: {}{}\n",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let long = format!(
        "task: long\n{TASK}description: {}\n",
        "x ".repeat(5_000_000)
    );
    let mut files = json!({
        "deep.yaml": deep,
        "long.yaml": long,
        "laughs.yaml": "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\ng: &g [*f, *f, *f, *f, *f, *f, *f, *f]\nh: &h [*g, *g, *g, *g, *g, *g, *g, *g]\nmetadata: [*h, *h, *h, *h]\ntask: laughs\n",
        "self.yaml": "task: self\nmetadata: &m {a: *m}\n",
        "me.yaml": "include: me.yaml\ntask: me\n",
        "ring1.yaml": "include: ring2.yaml\ntask: ring1\n",
        "ring2.yaml": "include: ./x/../ring1.yaml\ntask: ring2\n",
        "g1.yaml": "group: g1\ntask: [{group: g2, group_alias: g1}]\n",
        "g2.yaml": "group: g2\ngroup_alias: g1\ntask: [{group: inline, task: [g1]}]\n",
        "tag.yaml": format!("task: tagged\ntag: loop\n{TASK}"),
        "loop.yaml": "group: looped\ntask: [loop, looped]\n",
        "tabs.yaml": "task: tabs\ngeneration_kwargs:\n\tuntil: [x]\n",
        "crlf.yaml": format!("\u{feff}task: crlf\n{TASK}").replace('\n', "\r\n"),
        "sp ace/ünï code, %2C/日本.yaml": format!("task: 日本\n{TASK}"),
        "nothing.yaml": "", "list.yaml": "- 1\n", "text.yaml": "hello", "nul.yaml": "task: \u{0}\n",
        "good.yaml": format!("task: good\n{TASK}"),
    });
    for n in 0..60 {
        let include = format!("include: chain{}.yaml\ntask: chain{n}\n", n + 1);
        files[format!("chain{n}.yaml")] = json!(include);
    }
    files["chain60.yaml"] = json!(format!("task: chain60\n{TASK}"));
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path(), &files);
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("..", folder.path().join("sp ace/up")).unwrap();
        symlink("itself.yaml", folder.path().join("itself.yaml")).unwrap();
    }
    let resolver = resolver(folder.path());
    let report = validate(&resolver, &["*"], None);
    for name in [
        "good", "crlf", "日本", "tagged", "long", "chain60", "chain55",
    ] {
        assert!(report.valid.iter().any(|valid| valid == name), "{name}");
    }
    let found: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
    for part in [
        "me.yaml -> ",
        "ring1.yaml -> ",
        "g1 -> g2",
        "looped -> looped",
        "deep.yaml",
        "laughs.yaml",
        "self.yaml",
        "tabs.yaml",
        "nothing.yaml",
        "list.yaml",
        "text.yaml",
        "nul.yaml",
        "more than 50 includes",
    ] {
        assert!(
            found.iter().any(|text| text.contains(part)),
            "{part}: {found:#?}"
        );
    }
    assert!(
        found.iter().all(|text| text.len() < 3000),
        "messages that can be read"
    );
}
