//! (i) Tasks: indexing a tree of 14,000 files without and with a cached index, `ls` and `validate`
//! on that tree, and the prompts of all of MMLU.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use context_bench::dataset::catalog::DatasetCatalog;
use context_bench::task::tasks::{NoHost, Options, Task};
use context_bench::task::{DataSettings, TaskData, TaskIndex, TaskIndexSettings};
use context_bench_testkit::shared;
use serde_json::json;

use super::line;

const FAMILIES: usize = 200;
const TASKS: usize = 69;

pub(super) fn tasks() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tasks");
    let n_files = make(&root);
    let cache = folder.path().join("cache");
    let program = |args: &[&str]| {
        let started = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_context-bench"))
            .args(args)
            .arg("--include-path")
            .arg(&root)
            .env("XDG_CACHE_HOME", &cache)
            .output()
            .unwrap();
        let took = started.elapsed();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        took
    };
    let cold = || {
        let _ = std::fs::remove_dir_all(&cache);
        program(&["ls", "tags"])
    };
    let best = |measure: &dyn Fn() -> Duration| (0..5).map(|_| measure()).min().unwrap();
    for (what, took, wanted) in [
        ("index, cold (`ls tags`)", best(&cold), 1000),
        (
            "index, warm (`ls tags`)",
            best(&|| program(&["ls", "tags"])),
            100,
        ),
        ("`ls groups`", best(&|| program(&["ls", "groups"])), 200),
        (
            "`ls groups --output json`",
            best(&|| program(&["ls", "groups", "--output", "json"])),
            200,
        ),
        (
            "`validate` of a group of 69 tasks",
            best(&|| program(&["validate", "family_007"])),
            300,
        ),
    ] {
        line(
            &format!("{n_files} task files, {what}"),
            format!("{:.0} ms", took.as_secs_f64() * 1e3),
            format!("wanted below {wanted} ms"),
            &format!("{:.0} %", took.as_secs_f64() * 1e5 / f64::from(wanted)),
        );
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--index-of")
        .arg(&root)
        .output()
        .unwrap();
    let kilobytes = String::from_utf8_lossy(&output.stdout);
    let megabytes = kilobytes.trim().parse().unwrap_or(f64::NAN) / 1024.0;
    line(
        &format!("{n_files} task files, peak memory, cold"),
        format!("{megabytes:.0} MB"),
        "wanted below 200 MB",
        &format!("{:.0} %", megabytes / 2.0),
    );
    mmlu(folder.path());
}

fn task_index(include: Vec<PathBuf>) -> TaskIndex {
    let settings = TaskIndexSettings {
        include,
        ..TaskIndexSettings::default()
    };
    TaskIndex::build(&DatasetCatalog::builtin(), &settings).unwrap()
}

/// Indexes a tree without a cached index and prints the peak memory.
pub(super) fn memory_child(root: &Path) {
    let task_index = task_index(vec![root.to_owned()]);
    let report = task_index.validate(&["family_007"], None);
    assert_eq!(report.valid.len(), TASKS);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.unwrap_or("NaN").trim().trim_end_matches(" kB"));
}

/// Prompts with five worked examples for every question, from a copy with both splits.
fn mmlu(folder: &Path) {
    let copy = folder.join("mmlu");
    std::fs::create_dir_all(&copy).unwrap();
    let real = shared::find("data/full/mmlu.all.test.jsonl.gz");
    match &real {
        Some(file) => {
            std::fs::copy(file, copy.join("mmlu.all.test.jsonl.gz")).unwrap();
        }
        None => std::fs::write(copy.join("mmlu.all.test.jsonl"), rows(14_042, 250)).unwrap(),
    }
    std::fs::write(copy.join("mmlu.all.dev.jsonl"), rows(57 * 5, 250)).unwrap();
    let task_index = task_index(Vec::new());
    let settings = DataSettings {
        copies: vec![("mmlu".into(), copy)],
        ..DataSettings::default()
    };
    let options = Options {
        num_fewshot: Some(5),
        ..Options::default()
    };
    let mut best = (f64::INFINITY, 0, 0);
    for _ in 0..3 {
        let before = cpu_seconds();
        let data = TaskData::new(task_index.datasets.clone(), settings.clone());
        let (tree, _) = task_index.select(&["mmlu"]).unwrap();
        let (mut prompts, mut bytes) = (0, 0);
        for leaf in tree.leaves() {
            let task = Task::build(leaf).unwrap();
            let splits = data.load(&task, &options, &NoHost).unwrap();
            let requests = task.requests(&splits, &options, &NoHost).unwrap();
            prompts += requests.requests.len();
            bytes += requests
                .requests
                .iter()
                .map(|request| format!("{:?}", request.ask).len())
                .sum::<usize>();
        }
        let took = cpu_seconds() - before;
        if took < best.0 {
            best = (took, prompts, bytes);
        }
    }
    let (took, prompts, bytes) = best;
    let source = match real {
        Some(_) => "the real questions",
        None => "questions of our own",
    };
    line(
        &format!(
            "{prompts} prompts of `mmlu` with 5 examples ({source}, {} MB)",
            bytes / 1_000_000
        ),
        format!("{took:.2} s of CPU, reading included"),
        "wanted below 2 s",
        &format!("{:.0} %", took * 50.0),
    );
}

/// Questions of all subjects, in the layout of the hub.
fn rows(n: usize, words: usize) -> String {
    let spec = DatasetCatalog::builtin().get("mmlu").unwrap();
    let subjects: Vec<&str> = spec.config_names().filter(|name| *name != "all").collect();
    let text = "word ".repeat(words / 5);
    let row = |i: usize| {
        let row = json!({
            "question": format!("{text}{i}?"), "subject": subjects[i % subjects.len()],
            "choices": ["one", "two", "three", "four"], "answer": i % 4,
        });
        format!("{row}\n")
    };
    (0..n).map(row).collect()
}

/// The CPU time of this process over all threads, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<&str> = after.split(' ').collect();
    let ticks = |at: usize| -> f64 { fields.get(at).and_then(|t| t.parse().ok()).unwrap_or(0.0) };
    // utime and stime, in hundredths of a second on Linux.
    (ticks(11) + ticks(12)) / 100.0
}

/// Writes a tree with includes, groups and tags; returns the number of `*.yaml` files.
fn make(root: &Path) -> usize {
    let base = "dataset_path: org/data\ntest_split: test\nfewshot_split: dev\noutput_type: multiple_choice\n\
        doc_to_text: \"Question: {{question.strip()}}\\nA. {{choices[0]}}\\nB. {{choices[1]}}\\nAnswer:\"\n\
        doc_to_choice: [\"A\", \"B\"]\ndoc_to_target: answer\nmetric_list:\n  - metric: acc\n    \
        aggregation: mean\n    higher_is_better: true\n  - metric: acc_norm\n    aggregation: mean\n    \
        higher_is_better: true\nmetadata:\n  version: 1.0\n";
    for family in 0..FAMILIES {
        let folder = root.join(format!("family_{family:03}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("_default_template_yaml"), base).unwrap();
        let mut members = String::new();
        for task in 0..TASKS {
            let name = format!("family_{family:03}_task_{task:02}");
            members.push_str(&format!("  - {name}\n"));
            let text = format!(
                "include: _default_template_yaml\ntask: {name}\ntask_alias: task {task}\n\
                 tag: [tag_{:02}, family_{family:03}_tasks]\ndataset_name: config_{task}\n\
                 description: \"The following are questions about topic {task}.\\n\\n\"\n",
                task % 50
            );
            std::fs::write(folder.join(format!("{name}.yaml")), text).unwrap();
        }
        let group = format!(
            "group: family_{family:03}\ntask:\n{members}aggregate_metric_list:\n  - metric: acc\n\
             metadata:\n  version: 2\n"
        );
        std::fs::write(folder.join("_group.yaml"), group).unwrap();
    }
    FAMILIES * (TASKS + 1)
}
