//! How long a large tree takes: `cargo run --release --example tree -- [folder]`.
//!
//! Without a folder a tree of 14,000 files with includes, groups and tags is made in
//! a temporary folder. Prints cold and warm index, `ls groups` and loading one group.

use std::path::{Path, PathBuf};
use std::time::Instant;

use context_bench_tasks::{Error, IndexOptions, Task, TaskFileIndex, TaskResolver, select};

const FAMILIES: usize = 200;
const TASKS: usize = 69;

#[expect(clippy::print_stdout, reason = "a measurement to read")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let scratch = std::env::temp_dir().join(format!("context-bench-tree-{}", std::process::id()));
    let root = match given {
        Some(root) => root,
        None => make(&scratch.join("tasks"))?,
    };
    let options = IndexOptions {
        roots: vec![root],
        cache: Some(scratch.join("index.bin")),
        ..IndexOptions::default()
    };
    let timed = |what: &str, tries: usize| -> Result<TaskFileIndex, Error> {
        let mut index = TaskFileIndex::default();
        let mut ms = f64::INFINITY;
        for _ in 0..tries {
            let start = Instant::now();
            index = TaskFileIndex::build(&options)?;
            ms = ms.min(start.elapsed().as_secs_f64() * 1e3);
        }
        println!(
            "{what}: {ms:.0} ms, {} files, {} read, {} names",
            index.n_files,
            index.n_read,
            index.names().len()
        );
        Ok(index)
    };
    timed("cold index", 1)?;
    let index = timed("warm index, best of 5", 5)?;
    let groups: Vec<String> = index.groups().map(|(name, _)| name.to_owned()).collect();
    let largest = groups.first().cloned().unwrap_or_default();
    let start = Instant::now();
    let resolver = TaskResolver::new(index, None);
    let (tree, _) = select(&resolver, &[largest.as_str()])?;
    let mut built = 0;
    for leaf in tree.leaves() {
        built += usize::from(Task::build(leaf).is_ok());
    }
    let ms = start.elapsed().as_secs_f64() * 1e3;
    println!(
        "load and check group `{largest}`: {ms:.0} ms, {built} of {} tasks",
        tree.leaves().len()
    );
    let mut failed = 0;
    let start = Instant::now();
    let names: Vec<String> = resolver
        .index
        .tasks()
        .map(|(name, _)| name.to_owned())
        .collect();
    for name in &names {
        let loaded = resolver.load(name).and_then(|(nodes, _)| {
            nodes
                .iter()
                .flat_map(|node| node.leaves())
                .try_for_each(|leaf| Task::build(leaf).map(|_| ()))
        });
        failed += usize::from(loaded.is_err());
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "load and check all {} tasks: {seconds:.2} s, {failed} fail",
        names.len()
    );
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch)?;
    }
    Ok(())
}

fn make(root: &Path) -> std::io::Result<PathBuf> {
    for family in 0..FAMILIES {
        let folder = root.join(format!("family_{family:03}"));
        std::fs::create_dir_all(&folder)?;
        let base = "dataset_path: org/data\ntest_split: test\nfewshot_split: dev\noutput_type: multiple_choice\ndoc_to_text: \"Question: {{question.strip()}}\\nA. {{choices[0]}}\\nB. {{choices[1]}}\\nAnswer:\"\ndoc_to_choice: [\"A\", \"B\"]\ndoc_to_target: answer\nmetric_list:\n  - metric: acc\n    aggregation: mean\n    higher_is_better: true\n  - metric: acc_norm\n    aggregation: mean\n    higher_is_better: true\nmetadata:\n  version: 1.0\n";
        std::fs::write(folder.join("_default_template_yaml"), base)?;
        let mut members = String::new();
        for task in 0..TASKS {
            let name = format!("family_{family:03}_task_{task:02}");
            members.push_str(&format!("  - {name}\n"));
            let text = format!(
                "include: _default_template_yaml\ntask: {name}\ntask_alias: task {task}\ntag: [tag_{:02}, family_{family:03}_tasks]\ndataset_name: config_{task}\ndescription: \"The following are questions about topic {task}.\\n\\n\"\n",
                task % 50
            );
            std::fs::write(folder.join(format!("{name}.yaml")), text)?;
        }
        let group = format!(
            "group: family_{family:03}\ntask:\n{members}aggregate_metric_list:\n  - metric: acc\nmetadata:\n  version: 2\n"
        );
        std::fs::write(folder.join("_group.yaml"), group)?;
    }
    Ok(root.to_owned())
}
