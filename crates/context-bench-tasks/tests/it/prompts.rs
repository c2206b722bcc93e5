//! Prompts and formats against the reference's worked cases.

use context_bench_error::Hint as _;
use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::options::Chat;
use context_bench_tasks::request::Ask;
use context_bench_tasks::{Dataset, Error, Function, Host, NoHost, Options, OutputType, Task};
use context_bench_testkit::worked;
use serde_json::{Map, Value, json};

use crate::vectors::check;

fn dataset(value: &Value) -> Dataset {
    serde_json::from_value(value.clone()).unwrap()
}

fn task(config: &Value, format: Option<&str>) -> Result<Task, Error> {
    let mut config = Config::from_json(config.as_object().unwrap(), &Origin::other("case"));
    config.remove("tag");
    let name = config.text("task").unwrap_or("demo").to_owned();
    Task::from_config(&name, &config, format)
}

fn options(variant: &Value) -> Options {
    Options {
        num_fewshot: variant["num_fewshot"].as_u64().map(|n| n as usize),
        seed: variant["fewshot_seed"].as_i64().unwrap(),
        chat: match variant["chat_template"].as_str() {
            Some("multiturn") => Some(Chat::MultiTurn),
            Some("singleturn") => Some(Chat::SingleTurn),
            Some(other) => panic!("{other}"),
            None => None,
        },
        system_instruction: variant["system_instruction"].as_str().map(str::to_owned),
        ..Options::default()
    }
}

/// Our requests with the keys the case shows.
fn requests(task: &Task, data: &Dataset, variant: &Value) -> Value {
    let requests = task
        .requests(data, &options(variant), &NoHost)
        .unwrap()
        .requests;
    let wanted = variant["requests"].as_array().unwrap();
    assert_eq!(requests.len(), wanted.len());
    let shown = |(request, wanted): (&context_bench_tasks::Request, &Value)| {
        let mut request = request.to_json();
        let map = request.as_object_mut().unwrap();
        map.retain(|key, _| wanted.get(key).is_some());
        request
    };
    requests.iter().zip(wanted).map(shown).collect()
}

#[test]
fn prompts() {
    let vectors = worked::lm_evaluation_harness();
    let mut n = 0;
    for case in vectors["prompts"].as_array().unwrap() {
        let name = case["task"].as_str().unwrap();
        // What needs Python here is metrics, not prompts; those functions are text.
        let mut config = case["config"].clone();
        config.as_object_mut().unwrap().shift_remove("metric_list");
        let task = task(&config, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        let data = dataset(&case["dataset"]);
        for (i, variant) in case["variants"].as_array().unwrap().iter().enumerate() {
            let found = requests(&task, &data, variant);
            check(&format!("{name}#{i}"), &found, &variant["requests"]);
            n += found.as_array().unwrap().len();
        }
    }
    assert!(n > 100, "{n} requests compared");
}

#[test]
fn formats() {
    let vectors = worked::lm_evaluation_harness();
    for case in vectors["formats"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let format = case["task_spec"]
            .as_str()
            .unwrap()
            .split_once('@')
            .map(|(_, format)| format);
        let built = task(&case["config"], format);
        if id == "vec-missing" {
            let error = built.unwrap_err();
            assert!(error.message().contains("no format `cot`"), "{error}");
            assert_eq!(error.hint().as_deref(), Some("it has `cloze`"));
            continue;
        }
        let task = built.unwrap();
        let data = dataset(&case["dataset"]);
        if id == "vec-numbers" {
            let found = task.requests(&data, &Options::default(), &NoHost).unwrap();
            let Ask::Choices { continuations, .. } = &found.requests[0].ask else {
                panic!()
            };
            assert_eq!(continuations, &[" 1", " 2", " 3", " 4"]);
            continue;
        }
        let resolved = &case["resolved"];
        let generation =
            (task.output_type == OutputType::GenerateUntil).then_some(&task.generation);
        let found = json!({
            "output_type": task.output_type.name(),
            "target_delimiter": task.prompting.target_delimiter,
            "fewshot_delimiter": task.prompting.fewshot_delimiter,
            "gen_prefix": task.format.as_ref().unwrap().gen_prefix,
            "generation_kwargs": generation,
            "metrics": [task.metrics.iter().map(|metric| &metric.name).collect::<Vec<_>>()],
        });
        let mut wanted = resolved.clone();
        wanted
            .as_object_mut()
            .unwrap()
            .retain(|key, _| found.get(key).is_some());
        check(id, &found, &wanted);
        for (i, variant) in case["variants"].as_array().unwrap().iter().enumerate() {
            let found = requests(&task, &data, variant);
            check(&format!("{id}#{i}"), &found, &variant["requests"]);
        }
    }
}

/// Functions by name, as a Python host would run them.
struct FakeHost;

impl Host for FakeHost {
    fn call(&self, function: &Function, args: &[Value]) -> Result<Value, Error> {
        match function.name.as_str() {
            "utils.shout" => Ok(json!(args[0]["q"].as_str().unwrap().to_uppercase())),
            "utils.double" => {
                let rows = args[0].as_array().unwrap();
                Ok(rows.iter().chain(rows).cloned().collect())
            }
            other => Err(Error::new(format!("no function {other}"))),
        }
    }

    fn call_with(
        &self,
        function: &Function,
        keywords: &Map<String, Value>,
    ) -> Result<Value, Error> {
        self.call(function, &keywords.values().cloned().collect::<Vec<_>>())
    }
}

fn function(name: &str) -> Value {
    Function {
        directory: "/tasks".into(),
        name: name.into(),
    }
    .to_json()
}

#[test]
fn functions_go_through_the_host() {
    let config = json!({"task": "t", "test_split": "test", "doc_to_text": function("utils.shout"), "doc_to_target": "a", "process_docs": function("utils.double")});
    let task = task(&config, None).unwrap();
    assert!(task.needs_python());
    let data = dataset(&json!({"test": [{"q": "why", "a": "x"}]}));
    let found = task
        .requests(&data, &Options::default(), &FakeHost)
        .unwrap();
    assert_eq!(found.requests.len(), 2);
    assert_eq!(found.requests[1].to_json()["context"], "WHY");
    let error = task
        .requests(&data, &Options::default(), &NoHost)
        .unwrap_err();
    assert!(error.message().contains("needs Python"), "{error}");
}

#[test]
fn prefixes_meet_with_one_delimiter() {
    let config = |prefix: &str| json!({"task": "t", "test_split": "test", "training_split": "train", "doc_to_text": "q", "doc_to_target": "a", "gen_prefix": prefix, "num_fewshot": 1, "fewshot_config": {"sampler": "first_n"}});
    let data =
        dataset(&json!({"test": [{"q": "two?", "a": "2"}], "train": [{"q": "one?", "a": "1"}]}));
    for (prefix, expected) in [
        ("It is", "one? It is 1\n\ntwo? It is"),
        (" It is ", "one? It is 1\n\ntwo? It is "),
        ("", "one? 1\n\ntwo?"),
    ] {
        let task = task(&config(prefix), None).unwrap();
        let found = task.requests(&data, &Options::default(), &NoHost).unwrap();
        assert_eq!(
            found.requests[0].to_json()["context"],
            expected,
            "{prefix:?}"
        );
    }
    let task = task(&config("It is"), None).unwrap();
    let options = Options {
        chat: Some(Chat::MultiTurn),
        ..Options::default()
    };
    let found = task.requests(&data, &options, &NoHost).unwrap().requests[0].to_json();
    assert_eq!(found["context"]["messages"][1]["content"], "It is 1");
    assert_eq!(
        found["context"]["messages"][3],
        json!({"role": "assistant", "content": "It is"})
    );
    assert_eq!(found["context"]["add_generation_prompt"], false);
}

#[test]
fn no_document_is_its_own_example() {
    let rows: Vec<Value> = (0..6)
        .map(|i| json!({"q": format!("q{i}"), "a": "x"}))
        .collect();
    let data = dataset(&json!({"test": rows}));
    let config = json!({"task": "t", "test_split": "test", "doc_to_text": "q", "doc_to_target": "a", "num_fewshot": 4});
    let found = task(&config, None)
        .unwrap()
        .requests(&data, &Options::default(), &NoHost)
        .unwrap();
    assert!(found.warnings[0].message.contains("its own example"));
    for (i, request) in found.requests.iter().enumerate() {
        let context = request.to_json()["context"].as_str().unwrap().to_owned();
        assert_eq!(context.matches(&format!("q{i}")).count(), 1, "{context}");
        assert_eq!(context.matches('q').count(), 5);
    }
    // Chosen rows only, in their order.
    let mut config = config;
    config["fewshot_config"] = json!({"sampler": "first_n", "fewshot_indices": [5, 3]});
    config["num_fewshot"] = json!(1);
    let found = task(&config, None)
        .unwrap()
        .requests(&data, &Options::default(), &NoHost)
        .unwrap();
    assert!(
        found.requests[0].to_json()["context"]
            .as_str()
            .unwrap()
            .starts_with("q5")
    );
}

#[test]
fn wrong_tasks_are_explained() {
    let base =
        json!({"task": "t", "test_split": "test", "doc_to_text": "{{q}}", "doc_to_target": "a"});
    let with = |key: &str, value: Value| {
        let mut config = base.clone();
        config[key] = value;
        config
    };
    for (config, message, hint) in [
        (
            with("doc_to_txt", json!("x")),
            "unknown key `doc_to_txt`",
            "`doc_to_text`",
        ),
        (
            with("output_type", json!("multiple_choise")),
            "unknown output type",
            "`multiple_choice`",
        ),
        (
            with("doc_to_text", json!("{{ q")),
            "`doc_to_text`: syntax error",
            "",
        ),
        (
            with("num_fewshot", json!("five")),
            "`num_fewshot`: a whole number was expected",
            "",
        ),
        (
            with("fewshot_config", json!({"smapler": "first_n"})),
            "unknown key `smapler`",
            "`sampler`",
        ),
        (
            with(
                "filter_list",
                json!([{"name": "x", "filter": [{"function": "rgex"}]}]),
            ),
            "unknown filter `rgex`",
            "`regex`",
        ),
        (
            with("formats", json!("mqca")),
            "unknown format `mqca`",
            "`mcqa`",
        ),
        (
            with("formats", json!({"type": "mcqa", "answer_promt": "x"})),
            "has no field `answer_promt`",
            "`answer_prompt`",
        ),
    ] {
        let error = task(&config, None).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(
            error.hint().unwrap_or_default().contains(hint),
            "{:?}",
            error.hint()
        );
    }
    let run = |config: &Value, data: Value| {
        let task = task(config, None).unwrap();
        task.requests(
            &dataset(&data),
            &Options {
                num_fewshot: Some(2),
                ..Options::default()
            },
            &NoHost,
        )
        .unwrap_err()
    };
    for (error, message, hint) in [
        (
            run(&base, json!({"test": [{"a": 1}, {"a": 2}, {"a": 3}]})),
            "`q` is undefined in template `doc_to_text`",
            "`a`",
        ),
        (
            run(&base, json!({"dev": []})),
            "needs split `test`",
            "`dev`",
        ),
        (
            run(&base, json!({"test": [{"q": 1, "a": 1}]})),
            "examples are asked for",
            "`num_fewshot`",
        ),
    ] {
        assert!(error.message().contains(message), "{error}");
        assert!(
            error.hint().unwrap_or_default().contains(hint),
            "{:?}",
            error.hint()
        );
    }
}
