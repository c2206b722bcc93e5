//! Files and folders as people write them, right and wrong.

use std::path::Path;

use context_bench_error::Hint as _;
use context_bench_tasks::{
    Error, IndexOptions, TaskFileIndex, TaskResolver, Tree, Warning, listing, select, validate,
};
use serde_json::{Value, json};

use crate::vectors::{resolver, write_tree};

const TASK: &str = "dataset_path: d\ntest_split: test\noutput_type: multiple_choice\ndoc_to_text: q\ndoc_to_target: a\ndoc_to_choice: c\n";

fn task(name: &str, more: &str) -> String {
    format!("task: {name}\n{more}{TASK}")
}

fn tree(files: &Value) -> (tempfile::TempDir, TaskResolver) {
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path(), files);
    let resolver = resolver(folder.path());
    (folder, resolver)
}

fn chosen(resolver: &TaskResolver, values: &[&str]) -> Result<(Tree, Vec<Warning>), Error> {
    select(resolver, values)
}

fn keys(resolver: &TaskResolver, values: &[&str]) -> Vec<String> {
    chosen(resolver, values).unwrap().0.keys()
}

fn mmlu() -> Value {
    json!({
        "anatomy.yaml": task("mmlu_anatomy", "tag: mmlu_stem_tasks\n"),
        "law.yaml": task("mmlu_law", ""),
        "physics.yaml": task("mmlu_physics", "tag: mmlu_stem_tasks\nnum_fewshot: 0\n"),
        "stem.yaml": "group: mmlu_stem\ntask:\n  - mmlu_stem_tasks\n",
        "other.yaml": "group: mmlu_other\ngroup_alias: Other\ntask: mmlu_law\n",
        "mmlu.yaml": "group: mmlu\ntask: [mmlu_stem, mmlu_other]\nmetadata:\n  version: 2\n",
        "five.yaml": "group: five\ntask:\n  - task: mmlu\n    num_fewshot: 5\n",
    })
}

#[test]
fn selections() {
    let (folder, resolver) = tree(&mmlu());
    let all = ["mmlu_anatomy", "mmlu_physics", "mmlu_law"];
    assert_eq!(keys(&resolver, &["mmlu"]), all);
    assert_eq!(
        keys(&resolver, &["mmlu_l*, mmlu_anatomy"]),
        ["mmlu_law", "mmlu_anatomy"]
    );
    assert_eq!(keys(&resolver, &["mmlu_stem_tasks"]), all[..2]);
    // Two levels down, through registered groups.
    assert_eq!(keys(&resolver, &["mmlu::mmlu_anatomy"]), ["mmlu_anatomy"]);
    assert_eq!(
        keys(&resolver, &["mmlu::mmlu_stem::mmlu_physics@cloze"]),
        ["mmlu_physics@cloze"]
    );
    assert_eq!(
        keys(&resolver, &["mmlu_stem@mcqa", "mmlu_anatomy@cloze"]),
        [
            "mmlu_anatomy@mcqa",
            "mmlu_physics@mcqa",
            "mmlu_anatomy@cloze"
        ]
    );
    assert_eq!(
        keys(&resolver, &["mmlu_law,mmlu_law", "mmlu_law"]),
        ["mmlu_law"]
    );
    let file = folder.path().join("law.yaml");
    assert_eq!(keys(&resolver, &[file.to_str().unwrap()]), ["mmlu_law"]);
    let files = folder.path().join("*s.yaml");
    assert_eq!(
        keys(&resolver, &[files.to_str().unwrap()]),
        ["mmlu_physics"]
    );
    // An override reaches every task, also one that says 0.
    let (five, _) = chosen(&resolver, &["five"]).unwrap();
    let shots: Vec<Option<i64>> = five
        .leaves()
        .iter()
        .map(|leaf| leaf.config.get("num_fewshot")?.as_i64())
        .collect();
    assert_eq!(shots, [Some(5); 3]);
    // The same task with other settings needs another key.
    assert_eq!(
        keys(&resolver, &["mmlu_law", "five"]),
        [
            "mmlu_law",
            "mmlu_anatomy",
            "mmlu_physics",
            "mmlu_other::mmlu_law"
        ]
    );
}

#[test]
fn wrong_selections_are_explained() {
    let (_folder, resolver) = tree(&mmlu());
    for (value, message, hint) in [
        (
            "mmlu_anatmy",
            "unknown task, group or tag `mmlu_anatmy`",
            "did you mean `mmlu_anatomy`",
        ),
        ("mmul_*", "no task, group or tag matches `mmul_*`", "`mmlu"),
        (
            "mmlu::mmlu_lav",
            "`mmlu_lav` in `mmlu::mmlu_lav` is not a member",
            "there are `mmlu_stem` and `mmlu_other`",
        ),
        ("mmlu_law::x", "is a task and has no members", ""),
        ("mmlu_stem_tasks::x", "is a tag", ""),
        ("nowhere.yaml", "no file matches `nowhere.yaml`", ""),
        ("", "no tasks are given", "--tasks"),
    ] {
        let error = chosen(&resolver, &[value]).unwrap_err();
        assert!(error.to_string().contains(message), "{value}: {error}");
        assert!(
            error.hint().unwrap_or_default().contains(hint),
            "{value}: {:?}",
            error.hint()
        );
    }
}

/// File, and what the error says about it.
#[test]
fn broken_files_are_explained_with_their_place() {
    let lone = |text: &str| json!({"x.yaml": text});
    for (files, spec, message, place) in [
        (
            json!({"a.yaml": "group: a\ntask: [b]\n", "b.yaml": "group: b\ntask: [a]\n"}),
            "a",
            "groups contain each other: a -> b -> a",
            "b.yaml:2:8",
        ),
        (
            lone("group: a\ntask: [nope]\n"),
            "a",
            "group `a` has an unknown member `nope`",
            "x.yaml:2:8",
        ),
        (
            lone("group: a\ntask:\n  - {num_fewshot: 1}\n"),
            "a",
            "neither `task` nor `group`",
            "x.yaml:1:1",
        ),
        (
            lone("group: a\ntask: []\naggregate_metric_list: [{metric: acc, agregation: mean}]\n"),
            "a",
            "unknown key `agregation`",
            "x.yaml:3:1",
        ),
        (lone("group: a\n"), "a", "has no `task` list", "x.yaml:1:1"),
    ] {
        let (_folder, resolver) = tree(&files);
        let error = chosen(&resolver, &[spec]).unwrap_err();
        assert!(error.to_string().contains(message), "{spec}: {error}");
        assert!(
            error.place().unwrap().to_string().ends_with(place),
            "{error}"
        );
    }
    for (text, message, place) in [
        (
            "task: x\ninclude: gone.yaml\n",
            "included file",
            "x.yaml:2:1",
        ),
        ("task: x\n\tdoc_to_text: a\n", "tab character", "x.yaml:2:"),
        (
            "task: x\ninclude: x.yaml\n",
            "files include each other",
            "x.yaml:2:1",
        ),
        (
            "task: x\nf: !function nodot\n",
            "names no module",
            "x.yaml:2:4",
        ),
        ("task: x\nf: !foo bar\n", "unknown tag `!foo`", "x.yaml:2:4"),
        ("- a\n", "is a list", "x.yaml:1:1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.yaml");
        std::fs::write(&path, text).unwrap();
        let error = TaskResolver::default()
            .load(path.to_str().unwrap())
            .unwrap_err();
        assert!(error.message().contains(message), "{text:?}: {error}");
        let found = error.place().unwrap().to_string();
        assert!(found.contains(place), "{text:?}: {found}");
    }
}

#[test]
fn inline_groups_and_tasks() {
    let (_folder, resolver) = tree(&json!({
        "defaults.yaml": "num_fewshot: 2\nrepeats: 3\n",
        "t.yaml": task("plain", "num_fewshot: 1\n"),
        "g.yaml": format!("group: g\ninclude: defaults.yaml\noutput_type: generate_until\ntask:\n  - plain\n  - task: plain\n    task_alias: again\n    num_fewshot: 9\n    task_list: x\n"),
        "h.yaml": format!("group: h\ntask:\n  - group: sub\n    task:\n      - task: own\n        class: !function m.C\n  - task: plain@mcqa\n"),
    }));
    // Same id, other settings: an error that says what to do.
    let error = chosen(&resolver, &["g"]).unwrap_err();
    assert!(error.message().contains("two members `plain`"), "{error}");
    let (tree, _) = chosen(&resolver, &["h"]).unwrap();
    assert_eq!(tree.keys(), ["h::sub::own", "plain@mcqa"]);
    assert!(tree.leaves()[0].python);
    assert_eq!(tree.leaves()[0].alias(), Some("own"));
}

#[test]
fn origins_are_known() {
    let (_folder, resolver) = tree(&json!({
        "base": "doc_to_text: q\nrepeats: 2\n",
        "t.yaml": "include: base\ntask: t\ndataset_path: d\n",
        "g.yaml": "group: g\nnum_fewshot: 4\ntask:\n  - task: t\n    repeats: 7\n",
    }));
    let (tree, _) = chosen(&resolver, &["g"]).unwrap();
    let config = &tree.leaves()[0].config;
    for (key, place) in [
        ("doc_to_text", "base:1:1 (include)"),
        ("dataset_path", "t.yaml:3:1"),
        ("num_fewshot", "g.yaml:2:1 (group `g`)"),
        ("repeats", "g.yaml:3:1 (member of group `g`)"),
    ] {
        let origin = config.setting(key).unwrap().origin.to_string();
        assert!(origin.ends_with(place), "{key}: {origin}");
    }
}

#[test]
fn an_index_is_kept_and_noticed_to_be_old() {
    let (folder, _) = tree(&mmlu());
    let cache = tempfile::tempdir().unwrap();
    let options = IndexOptions {
        roots: vec![folder.path().to_owned()],
        cache: Some(cache.path().join("index.bin")),
        ..IndexOptions::default()
    };
    let build = || TaskFileIndex::build(&options).unwrap();
    assert_eq!(build().n_read, 7);
    let written = || {
        std::fs::metadata(cache.path().join("index.bin"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = written();
    assert_eq!(build().n_read, 0);
    assert_eq!(
        written(),
        before,
        "what did not change is not written again"
    );
    std::fs::write(folder.path().join("law.yaml"), task("mmlu_laws", "")).unwrap();
    let changed = build();
    assert_eq!(changed.n_read, 1);
    assert!(changed.entry("mmlu_laws").is_some() && changed.entry("mmlu_law").is_none());
    std::fs::remove_file(folder.path().join("law.yaml")).unwrap();
    assert_eq!(build().tasks().count(), 2);
    std::fs::write(cache.path().join("index.bin"), "damaged").unwrap();
    assert_eq!(build().n_read, 6);
}

#[test]
fn a_kept_index_is_old_when_what_is_included_changes() {
    let files = json!({"a.yaml": "include: base_yaml\ntask: a\n", "b.yaml": "include: other_yaml\ntask: b\n"});
    let (folder, _) = tree(&files);
    let cache = tempfile::tempdir().unwrap();
    let options = IndexOptions {
        roots: vec![folder.path().to_owned()],
        cache: Some(cache.path().join("index.bin")),
        ..IndexOptions::default()
    };
    let tags = || {
        let index = TaskFileIndex::build(&options).unwrap();
        let names: Vec<String> = index.tags().map(|(name, _)| name.to_owned()).collect();
        (names, index.problems.len())
    };
    // What is missing is reported again from the cached index, until it is there.
    assert_eq!((tags(), tags()), ((vec![], 2), (vec![], 2)));
    std::fs::write(folder.path().join("base_yaml"), "tag: one\n").unwrap();
    assert_eq!(tags(), (vec!["one".to_owned()], 1));
    std::fs::write(folder.path().join("base_yaml"), "tag: [one, more]\n").unwrap();
    let both = vec!["more".to_owned(), "one".to_owned()];
    assert_eq!((tags(), tags()), ((both.clone(), 1), (both, 1)));
    std::fs::remove_file(folder.path().join("base_yaml")).unwrap();
    assert_eq!(tags(), (vec![], 2));
}

#[test]
fn later_roots_win_and_tags_are_merged() {
    let first = tempfile::tempdir().unwrap();
    let second = tempfile::tempdir().unwrap();
    write_tree(
        first.path(),
        &json!({"a.yaml": task("a", "tag: t\n"), "b.yaml": task("b", "tag: t\n")}),
    );
    write_tree(
        second.path(),
        &json!({"a.yaml": task("a", "num_fewshot: 3\n"), "c.yaml": task("c", "tag: t\n"), "n.yaml": "task: 5\n"}),
    );
    let index = TaskFileIndex::build(&IndexOptions {
        roots: vec![first.path().into(), second.path().into()],
        ..IndexOptions::default()
    })
    .unwrap();
    assert!(index.entry("a").unwrap().path.starts_with(second.path()));
    assert_eq!(
        index.tag("t").unwrap().iter().collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    let warned = |text: &str| {
        let mut remarks = index.remarks().into_iter();
        remarks.any(|warning| warning.message.contains(text))
    };
    assert!(warned("`a` replaces"));
    assert!(warned("`task` must be text, found an integer at 1:7"));
    let missing = IndexOptions {
        roots: vec![Path::new("/nowhere/at/all").into()],
        ..IndexOptions::default()
    };
    assert!(TaskFileIndex::build(&missing).is_err());
}

#[test]
fn listings_and_checks() {
    let (folder, resolver) = tree(&mmlu());
    let (groups, errors) = listing::groups(&resolver);
    assert!(errors.is_empty());
    let five = groups.iter().find(|group| group.name == "five").unwrap();
    assert_eq!(five.members, ["mmlu"]);
    assert_eq!(five.leaves, ["mmlu_anatomy", "mmlu_physics", "mmlu_law"]);
    let roots = [folder.path().to_owned()];
    assert_eq!(listing::shown(&five.path, &roots), Path::new("five.yaml"));

    let (_folder, resolver) = tree(&json!({
        "good.yaml": task("good", ""),
        "bad.yaml": task("bad", "doc_to_txt: x\n"),
        "worse.yaml": task("worse", "metric_list: [{metric: acc_nrom}]\n"),
        "g.yaml": "group: g\ntask: [good, bad, worse]\n",
    }));
    let report = validate(&resolver, &["g", "nothing"], None);
    assert_eq!(report.valid, ["good"]);
    let found: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("unknown task, group or tag `nothing`"));
    assert!(
        found[1].contains("task `bad`: unknown key `doc_to_txt`")
            && found[1].ends_with("bad.yaml:2:1"),
        "{}",
        found[1]
    );
    assert!(
        found[2].contains("unknown metric `acc_nrom`") && found[2].ends_with("worse.yaml:2:1"),
        "{}",
        found[2]
    );
}

#[test]
fn all_problems_of_all_files_are_told() {
    let (_folder, resolver) = tree(&json!({
        "good.yaml": task("good", "tag: all\n"),
        "number.yaml": "task: 5\n",
        "lost.yaml": "include: nothing_yaml\ntask: lost\n",
        "one.yaml": "group: one\ntask: [good, god]\n",
        "two.yaml": "group: two\ntask: [good, mising]\n",
        "whole.yaml": "group: whole\ntask: [good]\n",
        "bad.yaml": task("bad", "doc_to_txt: x\nnum_fewshot: few\n"),
    }));
    let report = validate(&resolver, &["*"], None);
    let found: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
    for part in [
        "`task` must be text",
        "nothing_yaml` does not exist",
        "group `one` has an unknown member `god`",
        "group `two` has an unknown member `mising`",
        "unknown key `doc_to_txt`",
        "`num_fewshot`",
    ] {
        let n = found.iter().filter(|text| text.contains(part)).count();
        assert_eq!(n, 1, "{part}: {found:#?}");
    }
    assert_eq!(report.valid, ["good"]);
    assert_eq!(report.n_tasks, 2, "what could be looked at");
    let classes: Vec<(&str, usize)> = report.classes.into_iter().collect();
    assert_eq!(classes, [("files", 2), ("groups", 2), ("settings", 1)]);
    // Others hear one line about it.
    let remarks = resolver.index.remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].message.starts_with("2 files are left out"));
}

#[test]
fn formats_of_members_are_told_apart() {
    let inline = format!("dataset_path: d\n    {}", TASK.replace('\n', "\n    "));
    let (_folder, resolver) = tree(&json!({
        "alpha.yaml": task("alpha", ""),
        "both.yaml": "group: both\ntask: [alpha@mcqa, alpha@cloze]\n",
        "inner.yaml": format!("group: inner\ntask:\n  - task: kid@cloze\n    {inline}\n  - task: kid@mcqa\n    {inline}\n"),
    }));
    assert_eq!(keys(&resolver, &["both"]), ["alpha@mcqa", "alpha@cloze"]);
    assert_eq!(keys(&resolver, &["both::alpha@cloze"]), ["alpha@cloze"]);
    assert_eq!(
        keys(&resolver, &["inner"]),
        ["inner::kid@cloze", "inner::kid@mcqa"]
    );
    assert_eq!(keys(&resolver, &["inner::kid@mcqa"]), ["inner::kid@mcqa"]);
    // One that is in it without that format is asked in it.
    assert_eq!(keys(&resolver, &["both::alpha@generate"]).len(), 1);
}
