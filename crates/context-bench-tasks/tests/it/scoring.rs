//! Filters, metrics, aggregations and helpers against the reference's worked cases.

use context_bench_error::Hint as _;
use context_bench_scoring::model::generation;
use context_bench_scoring::stats::pass_at_k;
use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::filter::{Filter, Pipeline, Record};
use context_bench_tasks::metric::score::{self, Likelihoods};
use context_bench_tasks::metric::{Aggregation, Metric};
use context_bench_tasks::outcome::Resampling;
use context_bench_tasks::registered::Modules;
use context_bench_tasks::{
    Dataset, NoHost, Options, OutputType, Response, Task, arguments, likelihood,
};
use context_bench_testkit::worked;
use serde_json::{Map, Value, json};

use crate::vectors::check;

fn lists(value: &Value) -> Vec<Vec<Value>> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|list| list.as_array().unwrap().clone())
        .collect()
}

fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn floats(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect()
}

fn metrics(names: &Value, output: OutputType) -> Vec<Metric> {
    let entry = |name: &Value| match name {
        Value::String(_) => json!({"metric": name}),
        map => map.clone(),
    };
    let list = names.as_array().unwrap().iter().map(entry).collect();
    Metric::list(&list, output, false, &Modules::default(), &mut Vec::new()).unwrap()
}

/// `None` for an error.
fn ours(case: &Value) -> Option<Value> {
    let records: Vec<Record> = case["docs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|doc| doc.as_object().unwrap().clone())
        .collect();
    let pipeline = |steps: Vec<Filter>| {
        let pipeline = Pipeline {
            name: "x".into(),
            steps,
        };
        pipeline
            .apply(lists(&case["resps"]), &records, &NoHost)
            .ok()
            .map(Value::Array)
    };
    Some(match case["kind"].as_str().unwrap() {
        "filter" => {
            let arguments = case["kwargs"].as_object().unwrap();
            let filter = Filter::named(case["filter"].as_str().unwrap(), arguments).unwrap();
            return pipeline(vec![filter]);
        }
        "pipeline" => {
            let steps = case["steps"].as_array().unwrap();
            return pipeline(
                steps
                    .iter()
                    .map(|step| Filter::parse(step, &Modules::default()).unwrap())
                    .collect(),
            );
        }
        "metric" => {
            let mut entry = case["kwargs"].as_object().unwrap().clone();
            entry.insert("metric".into(), case["metric"].clone());
            let metrics = metrics(&json!([entry]), OutputType::GenerateUntil);
            let pairs = case["predictions"]
                .as_array()
                .unwrap()
                .iter()
                .zip(case["references"].as_array().unwrap());
            let values: Vec<Value> = pairs
                .map(|(prediction, reference)| {
                    score::generation(&metrics, reference, None, prediction).unwrap()["exact_match"]
                        .clone()
                })
                .collect();
            json!(Aggregation::Mean.apply(&values).unwrap())
        }
        "aggregation" => {
            let aggregation = Aggregation::named(case["aggregation"].as_str().unwrap()).unwrap();
            json!(
                aggregation
                    .apply(case["items"].as_array().unwrap())
                    .unwrap()
            )
        }
        "stderr" => {
            let aggregation = Aggregation::named(case["aggregation"].as_str().unwrap()).unwrap();
            let iterations = case["bootstrap_iters"].as_u64().unwrap_or(0) as usize;
            let items = case["items"].as_array().unwrap();
            let one = aggregation.stderr(items, iterations, 1).unwrap();
            // The number of threads changes nothing.
            assert_eq!(one, aggregation.stderr(items, iterations, 3).unwrap());
            json!(one)
        }
        "multiple_choice_scoring" => {
            let unconditional = case.get("lls_unconditional").map(floats);
            let greedy: Vec<bool> = case["is_greedy"]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_bool().unwrap())
                .collect();
            let found = Likelihoods {
                lls: &floats(&case["lls"]),
                greedy: &greedy,
                unconditional: unconditional.as_deref(),
            };
            let metrics = metrics(&case["metrics"], OutputType::MultipleChoice);
            Value::Object(
                score::multiple_choice(&metrics, &texts(&case["choices"]), &case["gold"], found)
                    .unwrap(),
            )
        }
        "generate_scoring" => {
            let metrics = metrics(&case["metric_list"], OutputType::GenerateUntil);
            Value::Object(
                score::generation(&metrics, &case["target"], None, &case["prediction"]).unwrap(),
            )
        }
        "loglikelihood_scoring" => {
            let metrics = metrics(&case["metrics"], OutputType::Loglikelihood);
            Value::Object(score::loglikelihood(
                &metrics,
                case["ll"].as_f64().unwrap(),
                case["is_greedy"].as_bool().unwrap(),
            ))
        }
        "rolling_scoring" => {
            let metrics = Metric::default_list(OutputType::LoglikelihoodRolling).unwrap();
            Value::Object(score::rolling(
                &metrics,
                case["text"].as_str().unwrap(),
                case["ll"].as_f64().unwrap(),
            ))
        }
        "reduction" => {
            let predictions = case["predictions"].as_array().unwrap();
            let right = predictions
                .iter()
                .filter(|x| x.as_f64() != Some(0.0))
                .count();
            let mut out = Map::new();
            for k in case["k"].as_array().unwrap() {
                let value = pass_at_k(predictions.len() as u64, right as u64, k.as_u64().unwrap());
                out.insert(format!("pass@{k}"), json!(value));
            }
            Value::Object(out)
        }
        "pooled_stderr" => {
            let sizes: Vec<u64> = case["sizes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap())
                .collect();
            json!(context_bench_tasks::aggregate::pooled_stderr(
                &floats(&case["stderrs"]),
                &sizes
            ))
        }
        "helper" => helper(case["helper"].as_str().unwrap(), &case["args"]),
        other => panic!("unknown kind {other}"),
    })
}

fn helper(name: &str, args: &Value) -> Value {
    let text = |key: &str| args[key].as_str().unwrap();
    match name {
        "rolling_windows" => {
            let tokens: Vec<u32> = args["tokens"]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_u64().unwrap() as u32)
                .collect();
            let number = |key: &str| args[key].as_u64().unwrap() as usize;
            let windows = likelihood::rolling_windows(
                &tokens,
                number("prefix") as u32,
                number("max_seq_len"),
                number("context_len"),
            );
            let disjoint: Vec<_> = windows.iter().cloned().map(likelihood::disjoint).collect();
            json!({"windows": windows, "disjoint": disjoint})
        }
        "parse_args_string" => Value::Object(arguments::parse(text("s")).unwrap()),
        "cli_value" => arguments::value(text("s")),
        "stop_sequences" => json!(generation::stops(&texts(&args["until"]), Some(text("eos")))),
        "postprocess" => json!(generation::trimmed(
            text("generation"),
            &texts(&args["stop"]),
            Some(text("think_end_token"))
        )),
        other => panic!("unknown helper {other}"),
    }
}

#[test]
fn filters_and_metrics() {
    let vectors = worked::lm_evaluation_harness();
    for case in vectors["filters_metrics"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        match (ours(case), case.get("error")) {
            (None, error) => assert!(error.is_some(), "{id}"),
            (Some(found), Some(error)) => panic!("{id}: {found} instead of {error}"),
            (Some(found), None) => check(id, &found, &case["expected"]),
        }
    }
}

/// Made by `oracle/corpus_cases.py` with sacrebleu 2.6.0 and scikit-learn's formulas.
#[test]
fn corpus_scores_equal_sacrebleu() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../golden/corpus.json")).unwrap();
    for case in &cases {
        for (name, expected) in case["scores"].as_object().unwrap() {
            let aggregation = Aggregation::named(name).unwrap();
            let found = aggregation
                .apply(case["items"].as_array().unwrap())
                .unwrap();
            let expected = expected.as_f64().unwrap();
            assert!(
                (found - expected).abs() < 1e-9,
                "{name} of {}: {found}, {expected}",
                case["items"]
            );
        }
    }
}

#[test]
fn wrong_filters_and_metrics_are_explained() {
    let metric = |entry: Value| {
        Metric::list(
            &json!([entry]),
            OutputType::MultipleChoice,
            false,
            &Modules::default(),
            &mut Vec::new(),
        )
        .unwrap_err()
    };
    let filter = |step: Value| {
        Pipeline::list(
            &json!([{"name": "f", "filter": [step]}]),
            &Modules::default(),
        )
        .unwrap_err()
    };
    for (error, message, hint) in [
        (
            metric(json!({"metric": "acc_nrom"})),
            "unknown metric `acc_nrom`",
            "`acc_norm`",
        ),
        (
            metric(json!({"metric": "bleu"})),
            "metric `bleu` is not for `multiple_choice`",
            "`generate_until`",
        ),
        (
            metric(json!({"metric": "acc", "aggregation": "maen"})),
            "unknown aggregation `maen`",
            "`mean`",
        ),
        (
            filter(json!({"function": "take_frist"})),
            "unknown filter `take_frist`",
            "`take_first`",
        ),
        (
            filter(json!({"function": "regex", "regex_patern": "x"})),
            "has no argument `regex_patern`",
            "`regex_pattern`",
        ),
        (
            filter(json!({"function": "regex", "regex_pattern": "("})),
            "not closed",
            "",
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

fn built(config: &Value) -> Task {
    let config = Config::from_json(config.as_object().unwrap(), &Origin::other("case"));
    Task::from_config("t", &config, None).unwrap()
}

#[test]
fn responses_become_scores_and_failures_are_left_out() {
    let task = built(&json!({
        "task": "t", "test_split": "test", "doc_to_text": "q", "doc_to_target": "a",
        "filter_list": [
            {"name": "number", "filter": [{"function": "regex", "regex_pattern": "(\\d+)"}, {"function": "take_first"}]},
            {"name": "raw", "filter": [{"function": "take_first"}]},
        ],
    }));
    let data: Dataset = serde_json::from_value(
        json!({"test": [{"q": "x", "a": "4"}, {"q": "y", "a": "5"}, {"q": "z", "a": "6"}]}),
    )
    .unwrap();
    let requests = task.requests(&data, &Options::default(), &NoHost).unwrap();
    let said = |text: &str| Some(Response::Texts(vec![text.to_owned()]));
    let scores = task
        .score(&requests, &[said("it is 4"), None, said("7")], &NoHost)
        .unwrap();
    let scored: Vec<usize> = scores.filters["raw"]
        .iter()
        .map(|one| one.request)
        .collect();
    assert_eq!(scored, [0, 2]);
    let sums = task.sum_up(&scores, Resampling::default(), &NoHost).scores;
    assert_eq!(sums["exact_match,number"], 0.5);
    assert_eq!(sums["exact_match,raw"], 0.0);
    assert!(task.score(&requests, &[None], &NoHost).is_err());
    let wrong = [Some(Response::Rolling(-1.0)), None, None];
    let scores = task.score(&requests, &wrong, &NoHost).unwrap();
    assert!(scores.failed[&0].message().contains("another kind"));
    assert!(scores.filters.values().all(Vec::is_empty));
}

#[test]
fn pass_at_k_is_given_for_the_k_asked_for() {
    let data: Dataset = serde_json::from_value(json!({"test": [{"q": "x", "a": "4"}]})).unwrap();
    let texts = Response::Texts(["4", "5", "4", "6"].map(str::to_owned).to_vec());
    let scored = |options: &str| {
        let list = format!("[{{metric: exact_match, aggregation: mean, {options}}}]");
        let list: Value = match context_bench_template::yaml::parse(list.as_bytes(), "list") {
            Ok(document) => context_bench_template::yaml::to_json(&document.root, "list").unwrap(),
            Err(error) => panic!("{error}"),
        };
        let task = built(&json!({
            "task": "t", "test_split": "test", "doc_to_text": "q", "doc_to_target": "a",
            "repeats": 4, "metric_list": list,
        }));
        let requests = task.requests(&data, &Options::default(), &NoHost).unwrap();
        let answers = [Some(texts.clone())];
        let scores = task.score(&requests, &answers, &NoHost).unwrap();
        match scores.failed.into_values().next() {
            Some(error) => Err(error.to_string()),
            None => Ok(Value::Object(scores.filters["none"][0].scores.clone())),
        }
    };
    for (options, expected) in [
        ("k: 2", json!({"pass@2(exact_match)": 1.0 - 1.0 / 6.0})),
        (
            "k: [1, 3]",
            json!({"pass@1(exact_match)": 0.5, "pass@3(exact_match)": 1.0}),
        ),
        ("reduction: pass@1", json!({"pass@1(exact_match)": 0.5})),
        (
            "reduction: {type: pass@k, k: [4]}",
            json!({"pass@4(exact_match)": 1.0}),
        ),
        ("reduction: take_first", json!({"exact_match": 1.0})),
    ] {
        check(options, &scored(options).unwrap(), &expected);
    }
    let error = scored("k: 5").unwrap_err();
    assert!(
        error.contains("`pass@5` needs 5 answers, there are 4"),
        "{error}"
    );
}

#[test]
fn several_answers_give_pass_at_k() {
    let task = built(
        &json!({"task": "t", "test_split": "test", "doc_to_text": "q", "doc_to_target": "a", "repeats": 4}),
    );
    let data: Dataset = serde_json::from_value(json!({"test": [{"q": "x", "a": "4"}]})).unwrap();
    let requests = task.requests(&data, &Options::default(), &NoHost).unwrap();
    let texts = ["4", "5", "4", "6"].map(str::to_owned).to_vec();
    let scores = task
        .score(&requests, &[Some(Response::Texts(texts))], &NoHost)
        .unwrap();
    let found = Value::Object(scores.filters["none"][0].scores.clone());
    assert_eq!(
        found,
        json!({"pass@1(exact_match)": 0.5, "pass@3(exact_match)": 1.0, "pass@4(exact_match)": 1.0})
    );
    let summary = task.sum_up(&scores, Resampling::default(), &NoHost);
    assert!(summary.higher_is_better["pass@3(exact_match)"]);
}

#[test]
fn answers_outside_the_choices_are_counted() {
    let task = built(
        &json!({"task": "t", "test_split": "test", "doc_to_text": "q", "doc_to_target": "a", "doc_to_choice": ["x", "y"], "output_type": "multiple_choice"}),
    );
    let data: Dataset =
        serde_json::from_value(json!({"test": [{"q": "1", "a": "y"}, {"q": "2", "a": 7}]}))
            .unwrap();
    let requests = task.requests(&data, &Options::default(), &NoHost).unwrap();
    let response = Some(Response::Choices {
        likelihoods: vec![(-2.0, false), (-1.0, true)],
        unconditional: None,
    });
    let scores = task
        .score(&requests, &[response.clone(), response], &NoHost)
        .unwrap();
    assert!(
        scores.warnings[0].message.contains("1 of 2 documents"),
        "{:?}",
        scores.warnings
    );
    let found: Vec<Option<f64>> = scores.filters["none"]
        .iter()
        .map(|one| one.scores["acc"].as_f64())
        .collect();
    assert_eq!(found, [Some(1.0), Some(0.0)]);
}
