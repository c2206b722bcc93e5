//! A tree of task files written the way real ones are: all of it loads, and every task of
//! it asks something.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::program::{arg, run};
use crate::tasks::{ok, rendered, write};

/// Families of `scripts/wild_families.py`, each once.
const FAMILIES: usize = 14;

fn wild_tree(folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/wild_tree.py");
    let made = Command::new("python3")
        .arg(script)
        .arg(folder)
        .args(["--families", &FAMILIES.to_string(), "--subjects", "2"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn all_of_it_loads_and_asks() {
    let folder = tempfile::tempdir().unwrap();
    // Not called `tasks`, as a tree of one's own need not be.
    let tree = folder.path().join("my tree");
    wild_tree(&tree);
    let done = ok(&["validate", "--include-path", arg(&tree), "*"]);
    assert!(done.stdout.ends_with("tasks found and valid\n"), "{done}");
    let listed = ok(&[
        "ls",
        "groups",
        "--include-path",
        arg(&tree),
        "--output",
        "json",
    ]);
    let own = |entry: &&serde_json::Value| {
        let path = entry["path"].as_str().unwrap_or_default();
        path.contains("my tree") || !path.contains("catalog")
    };
    let listed = listed.json();
    let groups = listed["groups"].as_array().unwrap();
    let mut asked = BTreeSet::new();
    let families = groups.iter().filter(own).filter_map(|group| {
        let name = group["name"].as_str()?;
        let (_, number) = name.rsplit_once('_')?;
        number.parse::<usize>().ok().map(|_| name)
    });
    for family in families {
        // The tasks of a group, and those that only have its name.
        let both = format!("{family},{family}_*");
        for line in rendered(&[
            "--include-path",
            arg(&tree),
            "--tasks",
            &both,
            "--limit",
            "1",
        ]) {
            assert!(line["request_type"].is_string(), "{line}");
            asked.insert(line["task"].as_str().unwrap().to_owned());
        }
    }
    for task in [
        "nulls_0_unset",
        "truthy_1_subject_1",
        "registered_2_own_metric",
        "imports_3_subject_0",
        "flags_4_zero",
        "labels_5_spans",
        "writing_6_block",
        "templates_7_form_6",
        "filters_8_letters",
        "metrics_9_rolling",
        "classes_10_derived",
        "data_11_csv",
        "groups_12::made@mcqa",
        "across_13_subject_0",
    ] {
        assert!(asked.contains(task), "{task}: {asked:#?}");
    }
}

#[test]
fn what_is_wrong_in_a_tree_is_told_with_one_line_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let good = "dataset_path: json\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n";
    write(at, "good.yaml", &format!("task: good\n{good}"));
    write(at, "twice/good.yaml", &format!("task: good\n{good}"));
    write(
        at,
        "needs.yaml",
        &format!("task: needs\n{good}process_docs: !function m.x\n"),
    );
    write(at, "m.py", "import a_package_of_nobody\n");
    write(at, "broken.yaml", "task: [\n");
    write(at, "other/broken.yaml", "task: {\n");
    write(
        at,
        "bad.yaml",
        &format!("task: bad\n{good}foo: 1\nnum_fewshot: few\n"),
    );
    write(
        at,
        "g.yaml",
        "group: g\ntask: [good, gone, {x: 1}]\naggregate_metric_list: [{}]\n",
    );
    let done = run(&["validate", "--include-path", arg(at), "*"]);
    done.is_error(&[
        "unknown member `gone`",
        "neither `task` nor `group`",
        "needs a `metric`",
        "unknown key `foo`",
        "`num_fewshot`",
        "1 task needs the package `a_package_of_nobody`",
    ]);
    let last = done.stderr.lines().last().unwrap();
    assert!(
        last.ends_with("7 problems (with files 2, groups 1, settings 1)"),
        "{done}"
    );
    // Others hear a line about names that are there twice, and one about files left out.
    let listed = ok(&["ls", "groups", "--include-path", arg(at)]);
    let warnings = listed
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning"));
    assert_eq!(warnings.count(), 2, "{listed}");
    // What is lacking is an error for those who run it.
    let done = run(&["render", "--include-path", arg(at), "--tasks", "needs"]);
    done.is_error(&["a_package_of_nobody"]);
}
