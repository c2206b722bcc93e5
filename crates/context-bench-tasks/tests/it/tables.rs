//! Results and tables: the reference's worked cases, and a run from files to table.

use std::collections::BTreeMap;

use context_bench_tasks::aggregate::{AggregateMetric, MacroError, aggregate};
use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::metric::score::{self, Likelihoods};
use context_bench_tasks::outcome::Resampling;
use context_bench_tasks::scoring::{ScoredDocument, TaskScores};
use context_bench_tasks::{
    Group, Leaf, NoHost, Node, Options, Results, Task, TaskResult, Tree, select,
};
use context_bench_testkit::worked;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::vectors::{check, close, resolver, write_tree};

fn node(member: &Value) -> Node {
    match member {
        Value::String(name) => Node::Task(Leaf {
            path: name.clone(),
            name: name.clone(),
            id: name.clone(),
            config: Config::new(),
            format: None,
            python: false,
        }),
        map => {
            let name = map["group"].as_str().unwrap().to_owned();
            let config = Config::from_json(map.as_object().unwrap(), &Origin::other("case"));
            Node::Group(Group {
                alias: config.text("group_alias").map(str::to_owned),
                aggregate: aggregates(&config, &name),
                metadata: map["metadata"].as_object().cloned().unwrap_or_default(),
                children: map["task"].as_array().unwrap().iter().map(node).collect(),
                id: name.clone(),
                name,
            })
        }
    }
}

fn aggregates(config: &Config, group: &str) -> Vec<AggregateMetric> {
    let entries = AggregateMetric::list(config, group, &mut Vec::new());
    entries.into_iter().map(Result::unwrap).collect()
}

fn results(case: &Value) -> Results {
    let task = |(name, metrics): (&String, &Value)| {
        let mut scores = metrics.as_object().unwrap().clone();
        let n = scores.shift_remove("sample_len").unwrap().as_u64().unwrap() as usize;
        let alias = scores.shift_remove("alias");
        let directions = match case["higher_is_better"].get(name) {
            Some(map) => serde_json::from_value(map.clone()).unwrap(),
            None => BTreeMap::from([("acc".to_owned(), true)]),
        };
        TaskResult {
            key: name.clone(),
            alias: alias.map_or(name.clone(), |alias| alias.as_str().unwrap().to_owned()),
            scores,
            sample_len: n,
            sizes: IndexMap::new(),
            version: Some(case["versions"].get(name).cloned().unwrap_or(json!(1.0))),
            num_fewshot: Some(case["n_shot"].get(name).cloned().unwrap_or(json!(0))),
            higher_is_better: directions,
            headline: None,
            unlisted: Default::default(),
            n_samples: (Some(n), n),
            config: Map::from_iter([("task".to_owned(), json!(name))]),
        }
    };
    let tasks: Vec<TaskResult> = case["task_metrics"]
        .as_object()
        .unwrap()
        .iter()
        .map(task)
        .collect();
    let tree = Tree {
        nodes: case["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(node)
            .collect(),
    };
    Results::new(&tree, &tasks, MacroError::Macro)
}

#[test]
fn members_count_the_same_whatever_is_in_them() {
    let metric = |aggregation: &str| {
        let config =
            json!({"aggregate_metric_list": [{"metric": "acc", "aggregation": aggregation}]});
        let config = Config::from_json(config.as_object().unwrap(), &Origin::other("case"));
        aggregates(&config, "g")
    };
    let scores = |acc: f64, n: u64| {
        let scores = json!({"acc,none": acc, "acc_stderr,none": 0.1, "sample_len": n});
        scores.as_object().unwrap().clone()
    };
    // One task, and a group of three tasks with a mean of its own.
    let (one, a, b, c) = (
        scores(1.0, 10),
        scores(0.0, 10),
        scores(0.3, 10),
        scores(0.6, 10),
    );
    let inner = scores(0.3, 30);
    let leaves = [("one", &one), ("a", &a), ("b", &b), ("c", &c)];
    let members = [("one", &one), ("inner", &inner)];
    let value = |aggregation: &str| {
        let metrics = metric(aggregation);
        let how = MacroError::Macro;
        let found = aggregate("g", "g", &metrics, &leaves, &members, how, &mut Vec::new());
        (
            found["acc,none"].as_f64().unwrap(),
            found["sample_len"].clone(),
        )
    };
    assert_eq!(value("mean"), (0.475, json!(40)));
    assert_eq!(value("mean_of_members"), (0.65, json!(40)));
}

#[test]
fn worked_tables() {
    let vectors = worked::lm_evaluation_harness();
    for case in vectors["aggregation"]["tables"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let results = results(case);
        // Whatever the number of examples is, all else is as in the reference.
        let (mut found, mut expected) = (results.to_json(), case["results_json"].clone());
        found.shift_remove("n-shot");
        expected.as_object_mut().unwrap().shift_remove("n-shot");
        assert!(close(&Value::Object(found), &expected), "{id}");
        check(
            &format!("{id}/json"),
            &Value::Object(results.to_json()),
            &case["results_json"],
        );
        let table = &case["results_table"];
        check(
            &format!("{id}/rows"),
            &json!(results.rows()),
            &table["rows"],
        );
        check(
            &format!("{id}/markdown"),
            &json!(results.table()),
            &table["markdown"],
        );
        if let Some(groups) = case.get("groups_table") {
            check(
                &format!("{id}/groups"),
                &json!(results.groups_table()),
                &groups["markdown"],
            );
        }
    }
}

#[test]
fn tables_have_groups_with_their_members_below() {
    let case = json!({
        "groups": [{"group": "world", "group_alias": "World", "metadata": {"version": 1}, "aggregate_metric_list": [{"metric": "acc"}],
            "task": [{"group": "europe", "task": ["fr", "de"]}, "us"]}],
        "task_metrics": {
            "fr": {"sample_len": 30, "acc,none": 0.6333, "acc_stderr,none": 0.0895},
            "de": {"sample_len": 50, "acc,none": 0.42, "acc_stderr,none": "N/A"},
            "us": {"sample_len": 20, "acc,none": 0.35, "acc_stderr,none": 0.1094, "alias": "米国"},
            "alone": {"sample_len": 2, "ppl,none": 12, "alias": "a|b"},
        },
        "versions": {"us": 1.5}, "n_shot": {"us": 2}, "higher_is_better": {"alone": {"ppl": false}},
    });
    let results = results(&case);
    assert_eq!(
        results.table(),
        "\
|  Tasks  |Version|Filter|n-shot|Metric|   |Value |   |Stderr|
|---------|-------|------|-----:|------|---|-----:|---|------|
|World    |      1|none  |      |acc   |↑  |0.4700|±  |N/A   |
| - europe|N/A    |      |      |      |   |      |   |      |
|  - de   |      1|none  |     0|acc   |↑  |0.4200|±  |N/A   |
|  - fr   |      1|none  |     0|acc   |↑  |0.6333|±  |0.0895|
| - 米国  |    1.5|none  |     2|acc   |↑  |0.3500|±  |0.1094|
|a\\|b     |      1|none  |     0|ppl   |↓  |    12|   |      |
"
    );
    assert!(results.groups_table().unwrap().contains("|World"));
}

/// Files, selection, prompts, likelihoods made up by the test, scores, aggregate.
#[test]
fn from_files_to_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let task = |name: &str| {
        format!(
            "task: {name}\ntest_split: test\noutput_type: multiple_choice\ndoc_to_text: '{{{{q}}}}?'\ndoc_to_target: a\ndoc_to_choice: ['yes', 'no']\nmetadata: {{version: 3}}\ndataset_path: d\n"
        )
    };
    write_tree(
        folder.path(),
        &json!({
            "a.yaml": task("a"), "b.yaml": task("b"),
            "g.yaml": "group: g\ntask: [a, b]\naggregate_metric_list:\n  - metric: acc\n    weight_by_size: false\n    higher_is_better: true\n",
        }),
    );
    let resolver = resolver(folder.path());
    let (tree, _) = select(&resolver, &["g"]).unwrap();
    let mut outcomes = Vec::new();
    for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
        let task = Task::build(leaf).unwrap();
        let n = if key == "a" { 4 } else { 10 };
        let rows: Vec<Value> = (0..n)
            .map(|i| json!({"q": format!("q{i}"), "a": i % 2}))
            .collect();
        let data = serde_json::from_value(json!({"test": rows})).unwrap();
        let requests = task.requests(&data, &Options::default(), &NoHost).unwrap();
        let score = |request: &context_bench_tasks::Request| {
            let found = Likelihoods {
                lls: &[-1.0, -2.0],
                greedy: &[true, false],
                unconditional: None,
            };
            score::multiple_choice(
                &task.metrics,
                request.choices.as_deref().unwrap(),
                &request.target,
                found,
            )
            .unwrap()
        };
        let one = |(at, request)| ScoredDocument {
            request: at,
            filtered: Value::Null,
            scores: score(request),
            added_by: BTreeMap::new(),
        };
        let scored = TaskScores {
            filters: IndexMap::from([(
                "none".to_owned(),
                requests.requests.iter().enumerate().map(one).collect(),
            )]),
            ..TaskScores::default()
        };
        let summary = task.sum_up(&scored, Resampling::default(), &NoHost);
        outcomes.push(TaskResult {
            alias: task.alias.clone().unwrap_or_else(|| key.clone()),
            key,
            scores: summary.scores,
            sample_len: requests.records.len(),
            sizes: summary.sizes,
            version: task.version().cloned(),
            num_fewshot: Some(task.shown_shots(requests.num_fewshot)),
            higher_is_better: summary.higher_is_better,
            headline: None,
            unlisted: Default::default(),
            n_samples: (requests.n_original, requests.records.len()),
            config: task.shown_config(requests.num_fewshot),
        });
    }
    let results = Results::new(&tree, &outcomes, MacroError::Macro);
    let json = results.to_json();
    let group = &json["results"]["g"];
    assert_eq!(group["acc,none"], 0.5);
    // Half of n right: s = sqrt(n/4/(n-1)/n); the macro error is sqrt(s1²+s2²)/2.
    let s = |n: f64| (n / 4.0 / (n - 1.0) / n).sqrt();
    let expected = (s(4.0).powi(2) + s(10.0).powi(2)).sqrt() / 2.0;
    assert!((group["acc_stderr,none"].as_f64().unwrap() - expected).abs() < 1e-12);
    assert_eq!(json["group_subtasks"], json!({"g": ["a", "b"]}));
    assert_eq!(
        json["n-samples"]["b"],
        json!({"original": 10, "effective": 10})
    );
    assert!(results.table().contains("|g    |"));
}
