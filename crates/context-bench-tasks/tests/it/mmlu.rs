//! All 14,042 questions of MMLU as 57 tasks in four areas, five shots each.

use context_bench_tasks::{Dataset, NoHost, Options, Task, select};
use context_bench_testkit::{needs_shared, shared};
use serde_json::{Value, json};

use crate::vectors::{resolver, write_tree};

#[needs_shared("data/full/mmlu.all.test.jsonl.gz")]
#[test]
fn prompts_of_all_subjects() {
    let path = shared::path("data/full/mmlu.all.test.jsonl.gz");
    let output = std::process::Command::new("gzip")
        .arg("-dc")
        .arg(path)
        .output()
        .unwrap();
    let mut subjects: std::collections::BTreeMap<String, Vec<Value>> = Default::default();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        subjects
            .entry(row["subject"].as_str().unwrap().to_owned())
            .or_default()
            .push(row);
    }
    assert_eq!(subjects.len(), 57);
    let mut files = json!({
        "_template_yaml": "dataset_path: cais/mmlu\ntest_split: test\nfewshot_split: dev\nfewshot_config: {sampler: first_n}\noutput_type: multiple_choice\ndoc_to_text: \"{{question.strip()}}\\nA. {{choices[0]}}\\nB. {{choices[1]}}\\nC. {{choices[2]}}\\nD. {{choices[3]}}\\nAnswer:\"\ndoc_to_choice: ['A', 'B', 'C', 'D']\ndoc_to_target: answer\n",
    });
    let mut areas = vec![String::new(); 4];
    for (i, subject) in subjects.keys().enumerate() {
        files[format!("{subject}.yaml")] =
            json!(format!("include: _template_yaml\ntask: mmlu_{subject}\n"));
        areas[i % 4].push_str(&format!("  - mmlu_{subject}\n"));
    }
    for (i, members) in areas.iter().enumerate() {
        files[format!("area{i}.yaml")] = json!(format!("group: mmlu_area{i}\ntask:\n{members}"));
    }
    files["mmlu.yaml"] = json!(
        "group: mmlu\nnum_fewshot: 5\ntask: [mmlu_area0, mmlu_area1, mmlu_area2, mmlu_area3]\n"
    );
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path(), &files);
    let resolver = resolver(folder.path());
    let (tree, warnings) = select(&resolver, &["mmlu"]).unwrap();
    assert!(warnings.is_empty());
    assert_eq!(tree.leaves().len(), 57);
    let mut n = 0;
    for leaf in tree.leaves() {
        let task = Task::build(leaf).unwrap();
        let rows = &subjects[leaf.name.strip_prefix("mmlu_").unwrap()];
        let rows: Vec<_> = rows
            .iter()
            .map(|row| row.as_object().unwrap().clone())
            .collect();
        let dev = rows[..5].to_vec();
        let data = Dataset::from([("dev".to_owned(), dev), ("test".to_owned(), rows)]);
        let requests = task.requests(&data, &Options::default(), &NoHost).unwrap();
        let context = requests.requests[0].to_json()["context"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(context.matches("\nAnswer:").count(), 6, "{context}");
        n += requests.requests.len();
    }
    assert_eq!(n, 14_042);
}
