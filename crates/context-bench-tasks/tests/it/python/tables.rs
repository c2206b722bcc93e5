//! Functions over whole tables: `process_docs` and `custom_dataset`.

use context_bench_tasks::Host;
use serde_json::{Map, Value, json};

use super::Fixture;

const UTILS: &str = r#"
import datasets
from datasets import Dataset

def several(dataset: datasets.Dataset) -> datasets.Dataset:
    assert len(dataset) == dataset.num_rows == 6, len(dataset)
    assert dataset[0] == {"q": 0, "old": "x"} and dataset[-1]["q"] == 5
    assert dataset["q"] == list(range(6)) and dataset[:2] == {"q": [0, 1], "old": ["x", "x"]}
    assert dataset.column_names == ["q", "old"], dataset.column_names
    assert [row["q"] for row in dataset] == list(range(6))
    dataset = dataset.filter(lambda row: row["q"] != 3)
    dataset = dataset.map(lambda row, i: {"i": i, "pair": (row["q"], i)}, with_indices=True)
    dataset = dataset.rename_column("q", "question").remove_columns(["old"])
    return dataset.select(range(1, 5))

def batched(dataset):
    return dataset.map(lambda b: {"q": [q for q in b["q"] for _ in "ab"]}, batched=True,
                       batch_size=4, remove_columns=dataset.column_names)

def shuffled(dataset):
    return dataset.shuffle(seed=42)

def split(dataset):
    parts = dataset.train_test_split(test_size=0.3, seed=1)
    return [{"train": parts["train"]["q"], "test": parts["test"]["q"]}]

def same(dataset):
    return dataset

def plain_list(dataset):
    return [{"n": len(dataset)}]

def generator(dataset):
    for row in dataset:
        yield {"q": row["q"] + 1}

def nothing(dataset):
    dataset.map(lambda row: row)

def missing_column(dataset):
    return dataset.rename_column("question", "q")

def no_such_method(dataset):
    return dataset.to_tf_dataset()

def custom(n=2, name="x", **kwargs):
    return {
        "train": Dataset.from_list([{"name": name, "i": i} for i in range(n)]),
        "test": ({"i": i} for i in range(n)),
        "columns": {"a": [1, 2], "b": [3, 4]},
        "empty": [],
        "rest": [kwargs],
    }

def not_splits():
    return [1]

def loads():
    return datasets.load_dataset("somewhere/something")
"#;

fn rows(n: usize) -> Vec<Value> {
    (0..n).map(|q| json!({ "q": q, "old": "x" })).collect()
}

fn processed(fixture: &Fixture, name: &str, rows: &[Value]) -> Result<Value, String> {
    let rows = fixture.pool.rows(&fixture.function(name), rows);
    rows.map(Value::Array).map_err(|error| error.to_string())
}

#[test]
fn tables_answer_to_the_usual_methods() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let given = rows(6);
    let row = |q: u32, i: u32| json!({ "question": q, "i": i, "pair": [q, i] });
    assert_eq!(
        processed(&fixture, "utils.several", &given),
        Ok(json!([row(1, 1), row(2, 2), row(4, 3), row(5, 4)]))
    );
    let doubled = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5].map(|q| json!({ "q": q }));
    assert_eq!(
        processed(&fixture, "utils.batched", &given),
        Ok(json!(doubled))
    );
    assert_eq!(
        processed(&fixture, "utils.plain_list", &given),
        Ok(json!([{ "n": 6 }]))
    );
    assert_eq!(
        processed(&fixture, "utils.plain_list", &[]),
        Ok(json!([{ "n": 0 }]))
    );
    assert_eq!(
        processed(&fixture, "utils.generator", &given[..2]),
        Ok(json!([{ "q": 1 }, { "q": 2 }]))
    );
}

#[test]
fn shuffles_give_the_order_of_numpy() {
    // numpy 2.4.6: `default_rng(42).permutation(10)`, and `datasets` 5.2.0 for the split.
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let shuffled = fixture
        .pool
        .rows(&fixture.function("utils.shuffled"), &rows(10))
        .unwrap();
    let order: Vec<&Value> = shuffled.iter().map(|row| &row["q"]).collect();
    assert_eq!(json!(order), json!([5, 6, 0, 7, 3, 2, 4, 9, 1, 8]));
    let split = fixture
        .pool
        .rows(&fixture.function("utils.split"), &rows(10))
        .unwrap();
    assert_eq!(
        split[0],
        json!({ "train": [0, 1, 2, 5, 9, 6, 3], "test": [8, 4, 7] })
    );
}

#[test]
fn large_tables_go_over_in_portions() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let given = rows(50_000);
    let back = fixture
        .pool
        .rows(&fixture.function("utils.same"), &given)
        .unwrap();
    assert_eq!(back, given);
}

#[test]
fn mistakes_with_tables() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let cases = [
        ("utils.nothing", "is a `return` missing?"),
        (
            "utils.missing_column",
            "no column ['question']; there are ['q', 'old']",
        ),
        (
            "utils.no_such_method",
            "stand-in for `datasets.Dataset` has no `to_tf_dataset`",
        ),
        ("missing.f", "no file `missing.py`"),
    ];
    for (name, expected) in cases {
        let error = processed(&fixture, name, &rows(2)).unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
    }
    // Rows of a call that failed do not show up in the next.
    assert_eq!(
        processed(&fixture, "utils.plain_list", &rows(3)),
        Ok(json!([{ "n": 3 }]))
    );
}

#[test]
fn a_function_can_be_the_dataset() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let function = fixture.function("utils.custom");
    let keywords = json!({ "n": 600, "name": "ü", "seed": 3 });
    let splits = fixture
        .pool
        .splits(&function, keywords.as_object().unwrap())
        .unwrap();
    let names: Vec<&str> = splits.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["train", "test", "columns", "empty", "rest"]);
    assert_eq!(splits[0].1.len(), 600);
    assert_eq!(splits[0].1[599], json!({ "name": "ü", "i": 599 }));
    assert_eq!(splits[1].1.len(), 600);
    assert_eq!(
        json!(splits[2].1),
        json!([{ "a": 1, "b": 3 }, { "a": 2, "b": 4 }])
    );
    assert!(splits[3].1.is_empty());
    assert_eq!(json!(splits[4].1), json!([{ "seed": 3 }]));
    let fail = |name: &str| {
        let splits = Host::splits(&fixture.pool, &fixture.function(name), &Map::new());
        splits.unwrap_err().to_string()
    };
    assert!(fail("utils.not_splits").contains("a mapping from split to rows was expected"));
    assert!(
        fail("utils.loads").contains("needs the package `datasets`"),
        "{}",
        fail("utils.loads")
    );
}
