//! Prompts one by one, and how much of a split they need.

use std::sync::Arc;

use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::options::Limit;
use context_bench_tasks::{Dataset, Host, Need, NoHost, Options, Prompts, Split, Task};
use serde_json::{Map, Value, json};

fn task(more: Value) -> Arc<Task> {
    let mut config = json!({
        "test_split": "test",
        "doc_to_text": "{{q}}?",
        "doc_to_target": "{{a}}",
        "output_type": "generate_until",
    });
    let Value::Object(more) = more else { panic!() };
    config.as_object_mut().unwrap().extend(more);
    let config = Config::from_json(config.as_object().unwrap(), &Origin::other("case"));
    Arc::new(Task::from_config("t", &config, None).unwrap())
}

fn rows(prefix: &str, n: usize) -> Vec<Map<String, Value>> {
    let row = |i: usize| json!({"q": format!("{prefix}{i}"), "a": i});
    let rows = (0..n).map(row).map(|row| row.as_object().unwrap().clone());
    rows.collect()
}

fn options(more: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    more(&mut options);
    options
}

fn process() -> Value {
    json!({"!function": "m.f", "directory": "."})
}

#[test]
fn how_much_of_a_split_is_needed() {
    use Need::{All, First};
    let count = |n| options(|o| o.limit = Some(Limit::Count(n)));
    let shots = |n| options(|o| (o.limit, o.num_fewshot) = (Some(Limit::Count(50)), Some(n)));
    let first = |split: &str| json!({"sampler": "first_n", "split": split});
    for (config, options, expected) in [
        (json!({}), Options::default(), vec![("test", All)]),
        (json!({}), count(50), vec![("test", First(50))]),
        (
            json!({}),
            options(|o| o.limit = Some(Limit::Share(0.1))),
            vec![("test", All)],
        ),
        (
            json!({}),
            options(|o| o.documents = Some(vec![7, 3])),
            vec![("test", First(8))],
        ),
        (
            json!({}),
            options(|o| o.documents = Some(vec![])),
            vec![("test", First(0))],
        ),
        (
            json!({"process_docs": process()}),
            count(50),
            vec![("test", All)],
        ),
        // Which examples are drawn at random depends on how many there are.
        (
            json!({"fewshot_split": "train"}),
            shots(5),
            vec![("test", First(50)), ("train", All)],
        ),
        (
            json!({"fewshot_config": first("train")}),
            shots(5),
            vec![("test", First(50)), ("train", First(5))],
        ),
        (
            json!({"fewshot_config": first("train")}),
            shots(0),
            vec![("test", First(50))],
        ),
        (
            json!({"fewshot_config":
                {"sampler": "first_n", "split": "train", "process_docs": process()}}),
            shots(5),
            vec![("test", First(50)), ("train", All)],
        ),
        (
            json!({"fewshot_config": {"split": "train", "fewshot_indices": [4, 9, 2]}}),
            shots(2),
            vec![("test", First(50)), ("train", First(10))],
        ),
        // One split for both: the larger need, and one more than the examples.
        (
            json!({"fewshot_config": first("test")}),
            shots(5),
            vec![("test", First(50))],
        ),
        (
            json!({"fewshot_config": first("test")}),
            shots(80),
            vec![("test", First(81))],
        ),
        (
            json!({"fewshot_split": "test"}),
            shots(5),
            vec![("test", All)],
        ),
    ] {
        let task = task(config.clone());
        let needed = task.needed_splits(&options).unwrap();
        assert_eq!(needed, expected, "{config}");
    }
}

#[test]
fn prompts_one_by_one_are_those_made_at_once() {
    fn is_free<T: Iterator + Send + 'static>(_: &T) {}
    let data = Dataset::from([
        ("test".to_owned(), rows("test ", 40)),
        ("train".to_owned(), rows("train ", 30)),
    ]);
    let host: Arc<dyn Host> = Arc::new(NoHost);
    for (config, options) in [
        (json!({}), Options::default()),
        (
            json!({"fewshot_split": "train", "num_fewshot": 3}),
            options(|o| o.seed = 7),
        ),
        (
            json!({"fewshot_split": "test", "num_fewshot": 2}),
            options(|o| o.documents = Some(vec![9, 4, 9])),
        ),
        (
            json!({"num_fewshot": 2}),
            options(|o| o.limit = Some(Limit::Share(0.25))),
        ),
    ] {
        let task = task(config.clone());
        let all = task.requests(&data, &options, &NoHost).unwrap();
        let prompts = task.prompts(&data, &options, &host).unwrap();
        is_free(&prompts);
        let warnings = |found: &[context_bench_tasks::Warning]| {
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(prompts.n_documents(), all.requests.len(), "{config}");
        assert_eq!(prompts.n_original(), all.n_original);
        assert_eq!(prompts.n_original(), Some(40));
        assert_eq!(prompts.num_fewshot(), all.num_fewshot);
        assert_eq!(warnings(prompts.warnings()), warnings(&all.warnings));
        let one_by_one: Vec<_> = prompts.map(Result::unwrap).collect();
        let at_once: Vec<_> = all.requests.into_iter().zip(all.records).collect();
        assert_eq!(one_by_one, at_once, "{config}");
    }
}

#[test]
fn the_first_records_are_as_good_as_all_where_no_more_are_needed() {
    let host: Arc<dyn Host> = Arc::new(NoHost);
    let few_shot = json!({"sampler": "first_n", "split": "train"});
    let task = task(json!({"fewshot_config": few_shot, "num_fewshot": 2}));
    let options = options(|o| o.limit = Some(Limit::Count(3)));
    let all = Dataset::from([
        ("test".to_owned(), rows("test ", 40)),
        ("train".to_owned(), rows("train ", 30)),
    ]);
    let mut part = Dataset::new();
    part.insert("test".into(), Split::first(rows("test ", 3), None));
    part.insert("train".into(), Split::first(rows("train ", 2), Some(30)));
    let made = |data: &Dataset| -> Vec<_> {
        let prompts = task.prompts(data, &options, &host).unwrap();
        prompts.map(Result::unwrap).collect()
    };
    assert_eq!(made(&part), made(&all));
    let of_part = task.requests(&part, &options, &NoHost).unwrap();
    assert_eq!((of_part.n_original, of_part.requests.len()), (None, 3));

    // But a part never passes for the whole.
    let error = task
        .requests(&part, &Options::default(), &NoHost)
        .unwrap_err();
    let expected = "task `t`: split `test` was read up to record 3, but all are needed";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn records_that_are_there_twice_may_need_more_of_a_split() {
    let task = task(json!({"fewshot_config": {"sampler": "first_n", "split": "test"}}));
    let options = options(|o| (o.limit, o.num_fewshot) = (Some(Limit::Count(1)), Some(2)));
    let needed = task.needed_splits(&options).unwrap();
    assert_eq!(needed, [("test", Need::First(3))]);
    let apart = rows("test ", 3);
    let mut twice = apart.clone();
    twice[1] = twice[0].clone();
    let enough = |records: &[_]| task.has_examples_in("test", records, &options).unwrap();
    assert!(enough(&apart));
    assert!(!enough(&twice));
    twice.extend(rows("more ", 1));
    assert!(enough(&twice));
}

#[test]
fn an_error_about_a_document_comes_at_its_turn_and_is_the_last() {
    let mut records = rows("test ", 4);
    records[2].insert("a".into(), json!(0));
    let data = Dataset::from([("test".to_owned(), records)]);
    let task = task(json!({"doc_to_target": "{{1 // a}}", "doc_to_text": "{{q}}"}));
    let options = options(|o| o.documents = Some(vec![1, 2, 3]));
    let host: Arc<dyn Host> = Arc::new(NoHost);
    let mut prompts: Prompts = task.prompts(&data, &options, &host).unwrap();
    assert_eq!(prompts.size_hint().1, Some(3));
    let (request, record) = prompts.next().unwrap().unwrap();
    assert_eq!((request.doc_id, &record["a"]), (1, &json!(1)));
    let error = prompts.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("document 2 of split `test`"), "{error}");
    assert!(prompts.next().is_none());
    let at_once = task.requests(&data, &options, &NoHost).unwrap_err();
    assert_eq!(at_once.to_string(), error);
}
