//! Whole runs with scripted systems: order, failures, counts, memory of rows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use context_bench::error::Hint as _;
use context_bench::evaluator::{self, AnswerQuality, EvaluatorError, MathEquivalence};
use context_bench::metric::{
    CompressionRatio, CostOfPass, MeanScore, Metric, ParetoRank, PassRate, PerDatasetBreakdown,
};
use context_bench::store::{RunStatus, Store};
use context_bench::system::{self, Conversation, Replies, SystemError};
use context_bench::{
    Dataset, Error, EvalResult, Evaluator, Example, ExampleId, FailureKind, Output, RunEvent,
    ScoreName, Scores, Stop, System, Turn, evaluate,
};
use context_bench_testkit::worked;
use serde_json::{Value, json};
use sha2::Digest as _;

/// A system that answers from a script, as the worked cases describe it.
struct Scripted {
    script: Value,
}

#[async_trait]
impl System for Scripted {
    fn name(&self) -> &str {
        self.script["name"].as_str().unwrap()
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let id = example.text("id").unwrap_or_default();
        let scripted = self.script["responses"].get(id);
        let response = scripted.or(self.script.get("default")).unwrap().clone();
        let mut output = Output::reply(example, response);
        if let Some(length) = self.script["truncate_context"].as_u64() {
            let cut: String = example.context().chars().take(length as usize).collect();
            output = output.with("context", cut);
        }
        if let Some(usage) = self.script.get("usage") {
            output = output.with("api_usage", usage.clone());
        }
        Ok(output)
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.script.get("conversation_replies").map(|_| self as _)
    }
}

#[async_trait]
impl Conversation for Scripted {
    async fn process_conversation(&self, _: &[Turn]) -> Result<Replies, SystemError> {
        let replies = self.script["conversation_replies"].as_array().unwrap();
        let turns = replies
            .iter()
            .map(|reply| Turn::assistant(reply.as_str().unwrap()));
        Ok(Replies {
            turns: turns.collect(),
            ..Replies::default()
        })
    }
}

fn examples(n: usize) -> Vec<Example> {
    let example = |i: usize| {
        Example::new()
            .with("id", i)
            .with("context", format!("word{i}"))
            .with("answer", format!("word{i}"))
    };
    (0..n).map(example).collect()
}

fn echo(name: &str) -> impl System + use<> {
    system::from_fn(name, |example| {
        Ok(Output::reply(example, example.context()))
    })
}

fn metric(case: &Value) -> Arc<dyn Metric> {
    let field = case["params"]["score_field"].as_str().unwrap_or("score");
    let threshold = case["params"]["threshold"].as_f64().unwrap_or(0.7);
    match case["name"].as_str().unwrap() {
        "MeanScore" => Arc::new(MeanScore::of(field)),
        "PassRate" => Arc::new(PassRate::new(threshold, field)),
        "CompressionRatio" => Arc::new(CompressionRatio),
        "CostOfPass" => Arc::new(CostOfPass::new(threshold, field)),
        "PerDatasetBreakdown" => Arc::new(PerDatasetBreakdown::of(field)),
        other => panic!("unknown metric {other}"),
    }
}

#[tokio::test]
async fn worked_cases() {
    for case in worked::cases_of("evaluate") {
        let (input, expected) = (&case["input"], &case["expected"]);
        let systems = input["systems"].as_array().unwrap().iter();
        let systems = systems.map(|script| {
            Arc::new(Scripted {
                script: script.clone(),
            }) as _
        });
        let dataset = input["dataset"].as_array().unwrap().iter();
        let dataset: Dataset = dataset
            .map(|e| Example::try_from(e.clone()).unwrap())
            .collect();
        let evaluators = input["evaluators"].as_array().unwrap().iter();
        let evaluators = evaluators.map(|name| match name.as_str().unwrap() {
            "AnswerQuality" => Arc::new(AnswerQuality) as Arc<dyn context_bench::Evaluator>,
            "MathEquivalence" => Arc::new(MathEquivalence),
            other => panic!("unknown evaluator {other}"),
        });
        let metrics = input["metrics"].as_array().into_iter().flatten();
        let mut run = evaluate()
            .systems(systems)
            .dataset(dataset)
            .evaluators(evaluators)
            .metrics(metrics.map(metric));
        if let Some(max) = input["max_examples"].as_u64() {
            run = run.max_examples(max as usize);
        }
        if let Some(workers) = input["max_workers"].as_u64() {
            run = run.max_workers(workers as usize);
        }
        if let Some(fields) = input["text_fields"].as_array() {
            run = run.text_fields(fields.iter().map(|field| field.as_str().unwrap()));
        }
        let result = run.run().await.unwrap();
        let mut found: Value = serde_json::from_str(&result.to_json()).unwrap();
        for row in found["rows"].as_array_mut().unwrap() {
            // The members that the cases know: not the time, and none that are ours alone.
            let ours = [
                "given_tokens",
                "prompt_tokens",
                "completion_tokens",
                "tokens_from",
            ];
            for member in ["latency"].into_iter().chain(ours) {
                row.as_object_mut().unwrap().shift_remove(member);
            }
        }
        let text = expected.to_string().replace("\"Infinity\"", "null");
        let expected: Value = serde_json::from_str(&text).unwrap();
        for member in ["rows", "summary", "config"] {
            assert_eq!(found[member], expected[member], "{} {member}", case["id"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_come_back_grouped_and_in_dataset_order() {
    struct Jittery(&'static str);
    #[async_trait]
    impl System for Jittery {
        fn name(&self) -> &str {
            self.0
        }
        async fn process(&self, example: &Example) -> Result<Output, SystemError> {
            let i = example.get("id").unwrap().as_u64().unwrap();
            tokio::time::sleep(Duration::from_millis(i * 7 % 11)).await;
            Ok(Output::reply(example, example.context()))
        }
    }
    let result = evaluate()
        .system(Jittery("b"))
        .system(Jittery("a"))
        .dataset(examples(40))
        .evaluator(AnswerQuality)
        .max_workers(16)
        .run()
        .await
        .unwrap();
    let found: Vec<_> = result
        .rows
        .iter()
        .map(|row| (&*row.system, row.example_id.clone()))
        .collect();
    let expected: Vec<_> = ["b", "a"]
        .into_iter()
        .flat_map(|name| (0..40_usize).map(move |i| (name, ExampleId::from(i))))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(result.rows_of("a").len(), 40);
    assert!(result.rows.iter().all(|row| row.score("f1") == Some(1.0)));
}

#[tokio::test]
async fn systems_take_turns_example_by_example() {
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let logging = |name: &'static str| {
        let log = Arc::clone(&log);
        system::from_fn(name, move |example| {
            log.lock()
                .unwrap()
                .push(format!("{name}{}", example.get("id").unwrap()));
            Ok(Output::reply(example, ""))
        })
    };
    let run = evaluate()
        .system(logging("A"))
        .system(logging("B"))
        .dataset(examples(3));
    run.run().await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["A0", "B0", "A1", "B1", "A2", "B2"]);
}

#[tokio::test]
async fn one_bad_thing_never_ends_a_run() {
    let shaky = system::from_fn("shaky", |example| match example.get("id") {
        Some(Value::Number(n)) if n.as_u64() == Some(1) => Err("out of memory".into()),
        Some(Value::Number(n)) if n.as_u64() == Some(2) => panic!("boom"),
        _ => Ok(Output::reply(example, example.context())),
    });
    let picky = evaluator::from_fn("picky", ["picked"], |example, _| {
        match example.get("id").and_then(Value::as_u64) {
            Some(3) => Err("no opinion".into()),
            Some(4) => panic!("cannot look"),
            Some(5) => Ok([("picked", f64::NAN)].into_iter().collect()),
            Some(6) => Ok([("other", 1.0)].into_iter().collect()),
            _ => Ok([("picked", 1.0)].into_iter().collect()),
        }
    });
    let mut dataset = examples(8);
    dataset[7] = Example::new().with("id", 1.5).with("context", "x");
    let result = evaluate()
        .system(shaky)
        .system(echo("steady"))
        .dataset(dataset)
        .evaluator(AnswerQuality)
        .evaluator(picky)
        .metric(MeanScore::of("picked"))
        .max_workers(4)
        .run()
        .await
        .unwrap();

    let counts = result.counts["shaky"];
    assert_eq!(
        (
            counts.planned,
            counts.scored,
            counts.unscored,
            counts.failed
        ),
        (8, 1, 4, 3)
    );
    assert_eq!(counts.not_run(), 0);
    let steady = result.counts["steady"];
    assert_eq!((steady.scored, steady.unscored, steady.failed), (3, 4, 1));

    let rows = result.rows_of("shaky");
    let failure = |i: usize| rows[i].failure.clone().map(|f| (f.kind, f.message));
    assert_eq!(failure(0), None);
    assert_eq!(
        failure(1),
        Some((FailureKind::Other, "out of memory".into()))
    );
    assert_eq!(
        failure(2),
        Some((FailureKind::Panic, "the system panicked: boom".into()))
    );
    assert_eq!(
        failure(7).map(|(kind, _)| kind),
        Some(FailureKind::BadExample)
    );
    let reason = |i: usize| {
        rows[i]
            .scores
            .get("picked")
            .and_then(|s| s.reason().map(str::to_owned))
    };
    assert_eq!(reason(3).as_deref(), Some("picky: no opinion"));
    assert_eq!(reason(4).as_deref(), Some("picky: panicked: cannot look"));
    assert!(reason(5).unwrap().contains("not a number"));
    assert!(reason(6).unwrap().contains("gave no value"));
    // Other evaluators of the same row are untouched.
    assert_eq!(rows[3].score("f1"), Some(1.0));

    let mean = result.summary["shaky"].get("mean_score").unwrap();
    assert_eq!((mean.value, mean.n), (Some(1.0), Some(1)));
}

#[tokio::test]
async fn a_score_field_that_nobody_yields_is_refused_before_any_call() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = {
        let calls = Arc::clone(&calls);
        system::from_fn("s", move |example| {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(Output::reply(example, ""))
        })
    };
    let run = evaluate()
        .system(counting)
        .dataset(examples(2))
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f2"));
    let error = run.run().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no evaluator of this run yields the score `f2` that `mean_score` reads"
    );
    let hint = context_bench::error::Hint::hint(&error).unwrap();
    assert!(
        hint.contains("did you mean `f1`?") && hint.contains("`recall`"),
        "{hint}"
    );
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn two_systems_of_one_name_are_refused() {
    let error = evaluate()
        .system(echo("s"))
        .system(echo("s"))
        .run()
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "two systems are called `s`");
}

#[tokio::test]
async fn a_dataset_that_breaks_off_keeps_its_rows() {
    let broken = examples(3).into_iter().map(Ok);
    let broken = broken.chain([Err(context_bench::dataset::DatasetError::Custom(
        "gone".into(),
    ))]);
    let run = evaluate()
        .system(echo("s"))
        .dataset(Dataset::from_results(broken).with_len(9))
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"));
    match run.run().await {
        Err(Error::Dataset { source, partial }) => {
            assert_eq!(source.to_string(), "the dataset failed: gone");
            assert_eq!(partial.rows.len(), 3);
            assert_eq!(partial.summary["s"].value("mean_score"), Some(1.0));
            assert_eq!(partial.counts["s"].not_run(), 6);
        }
        other => panic!(
            "expected a dataset error, found {:?}",
            other.map(|r| r.rows.len())
        ),
    }
}

#[tokio::test]
async fn a_score_found_missing_after_the_run_keeps_its_rows() {
    struct Unnamed;

    #[async_trait]
    impl Evaluator for Unnamed {
        fn name(&self) -> &str {
            "unnamed"
        }

        fn score_names(&self) -> &[ScoreName] {
            &[]
        }

        async fn score(&self, _: &Example, _: &Output) -> Result<Scores, EvaluatorError> {
            Ok([("mine", 0.5)].into_iter().collect())
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let run = evaluate()
        .system(echo("s"))
        .dataset(examples(3))
        .evaluator(Unnamed)
        .metric(MeanScore::of("mien"))
        .store(store.clone());
    let mut error = run.run().await.expect_err("no such score");
    assert!(error.to_string().contains("`mien`"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("`mine`")));
    let partial = error.take_partial().expect("rows");
    assert_eq!(partial.rows.len(), 3);
    assert_eq!(partial.rows[0].score("mine"), Some(0.5));
    // Its run is whole in the store as well.
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Finished);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn latency_is_the_time_inside_the_system_only() {
    /// When calls ended.
    struct Slow(Arc<Mutex<Vec<Instant>>>);
    #[async_trait]
    impl System for Slow {
        fn name(&self) -> &str {
            "slow"
        }
        async fn process(&self, example: &Example) -> Result<Output, SystemError> {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.0.lock().unwrap().push(Instant::now());
            Ok(Output::reply(example, ""))
        }
    }
    let n = 8;
    let ended = Arc::new(Mutex::new(Vec::new()));
    // When the scoring of each example began.
    let scored = Arc::new(Mutex::new(vec![None; n]));
    let begun = Arc::clone(&scored);
    let sleepy = evaluator::from_fn("sleepy", ["s"], move |example: &Example, _| {
        let i = example.get("id").and_then(Value::as_u64).unwrap() as usize;
        begun.lock().unwrap()[i] = Some(Instant::now());
        std::thread::sleep(Duration::from_millis(60));
        Ok([("s", 1.0)].into_iter().collect())
    });
    let began = Instant::now();
    let run = evaluate()
        .system(Slow(Arc::clone(&ended)))
        .dataset(examples(n))
        .evaluator(sleepy);
    let result = run.max_workers(1).run().await.unwrap();
    let whole = began.elapsed().as_secs_f64();
    let latencies: Vec<f64> = result.rows.iter().map(|row| row.latency).collect();
    assert!(latencies.iter().all(|l| *l >= 0.019), "{latencies:?}");
    // One worker makes one call after the other. Whoever counts what a call waits for
    // its turn counts the same time more than once.
    assert!(latencies.iter().sum::<f64>() <= whole, "{latencies:?}");
    // A call begins where the one before has ended, and is over before it is scored.
    let (ended, scored) = (ended.lock().unwrap(), scored.lock().unwrap());
    for (i, latency) in latencies.iter().enumerate().skip(1) {
        let most = scored[i].unwrap().duration_since(ended[i - 1]);
        let most = most.as_secs_f64();
        assert!(*latency <= most, "{i}: {latency} {most}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draining_finishes_what_is_in_flight() {
    struct Held(Stop, AtomicUsize);
    #[async_trait]
    impl System for Held {
        fn name(&self) -> &str {
            "held"
        }
        async fn process(&self, example: &Example) -> Result<Output, SystemError> {
            // The fourth, fifth and sixth are in flight when the sixth says stop.
            match self.1.fetch_add(1, Ordering::SeqCst) {
                0..3 => {}
                5 => self.0.drain(),
                _ => {
                    while !self.0.is_stopped() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
            }
            Ok(Output::reply(example, example.context()))
        }
    }
    let stop = Stop::new();
    let result = evaluate()
        .system(Held(stop.clone(), AtomicUsize::new(0)))
        .dataset(examples(1000))
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .max_workers(3)
        .stop(stop)
        .run()
        .await
        .unwrap();
    let counts = result.counts["held"];
    assert!(result.interrupted);
    assert_eq!(counts.planned, 1000);
    assert_eq!(counts.scored, 6, "{counts:?}");
    assert_eq!(counts.scored, result.rows.len());
    assert_eq!(result.summary["held"].value("mean_score"), Some(1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborting_drops_what_is_in_flight() {
    struct Endless(Stop);
    #[async_trait]
    impl System for Endless {
        fn name(&self) -> &str {
            "endless"
        }
        async fn process(&self, _: &Example) -> Result<Output, SystemError> {
            self.0.abort();
            std::future::pending().await
        }
    }
    let stop = Stop::new();
    let run = evaluate()
        .system(Endless(stop.clone()))
        .dataset(examples(9))
        .stop(stop);
    let result = tokio::time::timeout(Duration::from_secs(120), run.run())
        .await
        .unwrap()
        .unwrap();
    assert!(result.interrupted);
    assert!(result.rows.is_empty());
    assert_eq!(result.counts["endless"].not_run(), 9);
}

#[tokio::test]
async fn a_dataset_streams() {
    // The feed may run ahead of the systems by a bounded number of examples only.
    let made = Arc::new(AtomicUsize::new(0));
    let far_ahead = Arc::new(AtomicUsize::new(0));
    let done = Arc::new(AtomicUsize::new(0));
    let (make, seen) = (Arc::clone(&made), Arc::clone(&done));
    let gap = Arc::clone(&far_ahead);
    let endless = (0..5000_usize).map(move |i| {
        let ahead = make.fetch_add(1, Ordering::SeqCst) - seen.load(Ordering::SeqCst).min(i);
        gap.fetch_max(ahead, Ordering::SeqCst);
        Ok(Example::new().with("context", i.to_string()))
    });
    let count = Arc::clone(&done);
    let result = evaluate()
        .system(echo("s"))
        .dataset(Dataset::from_results(endless))
        .evaluator(AnswerQuality)
        .progress(move |event: &RunEvent<'_>| {
            if matches!(event, RunEvent::RowFinished { .. }) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        })
        .run()
        .await
        .unwrap();
    assert_eq!(result.rows.len(), 5000);
    assert_eq!(result.rows[4999].example_id, ExampleId::Int(4999));
    // Read ahead 256, waiting for a score 1,024, and what is on its way between them.
    assert!(far_ahead.load(Ordering::SeqCst) < 2500, "{far_ahead:?}");
}

#[tokio::test]
async fn pareto_ranks_compare_systems() {
    let silent = system::from_fn("silent", |example| Ok(Output::reply(example, "nothing")));
    let result = evaluate()
        .system(echo("good"))
        .system(silent)
        .dataset(examples(3))
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .metric(CostOfPass::new(0.7, "f1"))
        .comparison(ParetoRank::default())
        .run()
        .await
        .unwrap();
    let rank = |name: &str| result.summary[name].value("pareto_rank");
    assert_eq!((rank("good"), rank("silent")), (Some(1.0), Some(2.0)));
    assert_eq!(
        result.config["metrics"],
        json!(["mean_score", "cost_of_pass"])
    );
}

#[tokio::test]
async fn rows_export_as_csv_and_json_lines() {
    let shaky = system::from_fn("shaky, \"quoted\"", |example| match example.context() {
        "word1" => Err("line one\nline two".into()),
        _ => Ok(Output::reply(example, "é")),
    });
    let run = evaluate()
        .system(shaky)
        .dataset(examples(2))
        .evaluator(AnswerQuality);
    let result: EvalResult = run.run().await.unwrap();
    let mut csv = Vec::new();
    result.write_csv(&mut csv).unwrap();
    let mut reader = csv::Reader::from_reader(&*csv);
    let header: Vec<_> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        header[..6],
        [
            "system",
            "example_id",
            "dataset",
            "input_tokens",
            "output_tokens",
            "latency"
        ]
    );
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(&records[0][0], "shaky, \"quoted\"");
    let error = header.iter().position(|name| name == "error").unwrap();
    assert_eq!(&records[1][error], "line one\nline two");
    let mut lines = Vec::new();
    result.write_jsonl(&mut lines).unwrap();
    let lines: Vec<Value> = String::from_utf8(lines)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["error"]["kind"], "other");
}

#[tokio::test]
async fn an_evaluator_that_does_not_apply_gives_no_score() {
    let mut dataset = examples(3);
    dataset[1] = Example::new().with("context", "x").with("answer", "");
    let result = evaluate()
        .system(echo("s"))
        .dataset(dataset)
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .run()
        .await
        .unwrap();
    let mean = result.summary["s"].get("mean_score").unwrap();
    assert_eq!((mean.value, mean.n), (Some(1.0), Some(2)));
    let counts = result.counts["s"];
    assert_eq!((counts.scored, counts.not_applicable), (2, 1));
    assert_eq!((counts.planned, counts.not_run()), (3, 0));
    assert!(!result.rows[1].is_scored() && !result.rows[1].has_error());
    assert!(result.rows[1].scores.is_empty());
}

#[tokio::test]
async fn a_plan_of_which_nothing_was_done_has_no_numbers() {
    let stop = Stop::new();
    stop.drain();
    let result = evaluate()
        .system(echo("s"))
        .dataset(examples(3))
        .evaluator(AnswerQuality)
        .metrics([
            Arc::new(MeanScore::of("f1")) as Arc<dyn Metric>,
            Arc::new(CompressionRatio),
            Arc::new(CostOfPass::new(0.7, "f1")),
        ])
        .stop(stop)
        .run()
        .await
        .unwrap();
    assert!(result.interrupted);
    assert_eq!(result.config["num_examples"], 0, "none was started");
    assert_eq!(result.counts["s"].not_run(), 3);
    let summary = &result.summary["s"];
    assert!(
        summary.iter().all(|(_, m)| m.value.is_none()),
        "{summary:?}"
    );
    assert!(summary.get("num_passing").is_some());
}

/// Counts nothing and remembers when it was loaded.
struct Slow(Arc<AtomicUsize>);

impl context_bench::tokens::TokenCounter for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn count(&self, _: &str) -> u64 {
        0
    }

    fn load(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_counter_is_loaded_before_the_first_call() {
    let loaded = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&loaded);
    let system = system::from_fn("s", move |example: &Example| {
        Ok(Output::reply(example, seen.load(Ordering::SeqCst)))
    });
    let result = evaluate()
        .system(system)
        .dataset(vec![Example::new().with("answer", "1"); 2])
        .evaluator(AnswerQuality)
        .token_counter(Arc::new(Slow(loaded)))
        .metric(MeanScore::of("exact_match"))
        .run()
        .await
        .unwrap();
    assert_eq!(result.summary["s"].value("mean_score"), Some(1.0));
}

#[tokio::test]
async fn each_dataset_is_scored_by_its_own_evaluators_and_its_use_is_recorded() {
    let example = |id: &str, dataset: &str| {
        Example::new()
            .with("id", id)
            .with("answer", "4")
            .with("dataset", dataset)
    };
    let examples = || {
        vec![
            example("a", "sums"),
            example("b", "words"),
            example("c", "other"),
        ]
    };
    let run = || {
        let math: Arc<dyn context_bench::Evaluator> = Arc::new(MathEquivalence);
        let words: Arc<dyn context_bench::Evaluator> = Arc::new(AnswerQuality);
        evaluate()
            .system(system::from_fn("s", |example| {
                Ok(Output::reply(example, "The answer is 4."))
            }))
            .evaluators_for("sums", [math], Some("math_equiv"))
            .evaluators_for("words", [words], Some("exact_match"))
            .common_score("score", "contains")
            .metric(MeanScore::of("score"))
    };
    let result = run().dataset(examples()).run().await.expect("runs");
    let scores: Vec<(Option<f64>, Option<f64>, Option<f64>)> = result
        .rows
        .iter()
        .map(|row| (row.score("math_equiv"), row.score("f1"), row.score("score")))
        .collect();
    assert_eq!(scores[0], (Some(1.0), None, Some(1.0)));
    assert_eq!((scores[1].0, scores[1].2), (None, Some(0.0)));
    assert!(scores[1].1.is_some_and(|f1| f1 > 0.0));
    // A dataset that is not named is scored by all.
    assert_eq!((scores[2].0, scores[2].2), (Some(1.0), Some(1.0)));
    assert_eq!(result.summary["s"].value("mean_score"), Some(2.0 / 3.0));

    let used: Vec<(&str, usize)> = result
        .datasets
        .iter()
        .map(|used| (used.name.as_str(), used.examples))
        .collect();
    assert_eq!(used, [("sums", 1), ("words", 1), ("other", 1)]);
    // The digest is of the content, not of the name.
    let line = "{\"id\":\"a\",\"answer\":\"4\"}\n";
    let digest = sha2::Sha256::digest(line.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(result.datasets[0].sha256, digest);
    let again = run().dataset(examples()).run().await.expect("runs");
    assert_eq!(again.datasets, result.datasets);
}
