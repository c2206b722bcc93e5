//! The rules of authors against their own scripts, number by number.

use std::collections::BTreeMap;

use context_bench::registry::{Registry, SystemRef};
use context_bench::{Example, Output};
use context_bench_scoring::official::locomo::{self, Category};
use context_bench_scoring::official::truthfulqa::Nearness;
use context_bench_scoring::text::overlap::Overlap;
use context_bench_scoring::text::rouge::{Rouge, RougeTokens};
use serde_json::{Value, json};

use crate::data::{Record, official_scores, records};
use crate::harness::Ignored;
use crate::report::{Report, Tally};

/// The main score of a response by the first evaluator that the catalog names for a config.
fn score(config: &str, fields: Value, response: &str) -> f64 {
    let registry = Registry::builtin();
    let (name, config) = config.split_once(':').expect("a config");
    let spec = registry.catalog.get(name).expect("known");
    let config = spec.select(Some(config), None).expect("known").remove(0);
    let reference: SystemRef = config.evaluators()[0].parse().expect("valid");
    let factory = registry.evaluators.get(&reference.name).expect("known");
    let evaluator = factory(reference.params).expect("valid");
    let example = Example::try_from(fields).unwrap();
    let output = Output::reply(&example, response);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let scores = runtime
        .block_on(evaluator.score(&example, &output))
        .unwrap();
    let main = config.score_field().expect("a score");
    scores.value(main).expect("a number")
}

/// Adds the records of a file that have an official score, each to the tally of its part.
fn compare(
    dataset: &'static str,
    file: &str,
    note: &'static str,
    in_sample: bool,
    report: &mut Report,
    ours: impl Fn(&Record) -> Option<(String, f64)>,
) {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let official = official_scores(file);
    let records = records(&format!("responses/{file}.jsonl"));
    assert_eq!(records.len(), official.len(), "{file}");
    for (i, (record, official)) in records.iter().zip(official).enumerate() {
        let (Some(official), Some((part, ours))) = (official, ours(record)) else {
            continue;
        };
        let tally = tallies.entry(part.clone()).or_insert_with(|| {
            let tally = Tally::new(dataset, part).note(note);
            if in_sample {
                tally
            } else {
                tally.out_of_sample()
            }
        });
        tally.add(record, official, ours, || {
            format!("record {i}: ours {ours}, official {official}")
        });
    }
    for tally in tallies.into_values() {
        tally.at_least(1.0, report);
    }
}

pub(crate) fn bbh(report: &mut Report) -> Result<(), Ignored> {
    let note = "the published rule, which gives all 54 published accuracies";
    compare(
        "bbh",
        "bbh.code_davinci_002",
        note,
        true,
        report,
        |record| {
            let config = format!("bbh:{}", record.text("task"));
            let fields = json!({"answer": record.value["target"]});
            let ours = score(&config, fields, record.text("prediction"));
            let mode = record.text("mode");
            Some((format!("code-davinci-002, {mode}"), ours))
        },
    );
    Ok(())
}

pub(crate) fn longbench(report: &mut Report) -> Result<(), Ignored> {
    let note = "LongBench's own metrics.py";
    compare(
        "longbench",
        "longbench.predictions",
        note,
        true,
        report,
        |record| {
            let task = record.text("dataset");
            let fields = json!({
                "answers": record.value["answers"],
                "classes": record.value["all_classes"],
            });
            let ours = score(&format!("longbench:{task}"), fields, record.text("pred"));
            Some((task.to_owned(), ours))
        },
    );
    Ok(())
}

pub(crate) fn infinitebench(report: &mut Report) -> Result<(), Ignored> {
    let note = "InfiniteBench's own compute_scores.py";
    compare(
        "infinitebench",
        "infinitebench.preds",
        note,
        true,
        report,
        |record| {
            let task = record.text("task");
            // No task of the benchmark.
            if task == "code_debug_step_by_step" {
                return None;
            }
            let truth = &record.value["ground_truth"];
            let fields = match task {
                "code_debug" | "longbook_choice_eng" => {
                    json!({"answers": [truth[0]], "correct_letter": truth[1]})
                }
                _ if truth.is_array() => json!({"answers": truth}),
                _ => json!({"answers": [truth]}),
            };
            let ours = score(
                &format!("infinitebench:{task}"),
                fields,
                record.text("prediction"),
            );
            Some((task.to_owned(), ours))
        },
    );
    Ok(())
}

/// The outputs of L-Eval by SQuAD's overlap and ROUGE-L, as it scores them.
pub(crate) fn leval(report: &mut Report) -> Result<(), Ignored> {
    let note = "outputs of L-Eval; SQuAD's F1 and rouge-score 0.1.2 of PyPI";
    compare(
        "l-eval",
        "leval.predictions",
        note,
        false,
        report,
        |record| {
            let (pred, gold) = (record.text("pred"), record.text("gt"));
            let ours = match record.text("evaluation") {
                "f1" => Overlap::official(pred, gold).f1,
                "rouge" => {
                    Rouge::compare(pred, gold, RougeTokens::default())
                        .rouge_l
                        .f1
                }
                _ => return None,
            };
            Some((record.text("task").to_owned(), ours))
        },
    );
    Ok(())
}

/// ROUGE against rouge-score 0.1.2 of PyPI, which was run for `tests/oracle/rouge.py`.
pub(crate) fn dialogsum(report: &mut Report) -> Result<(), Ignored> {
    const EXPECTED: &str =
        include_str!("../../../context-bench/tests/fixtures/rouge/dialogsum.jsonl");
    let lines = EXPECTED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let expected: BTreeMap<String, Value> = lines
        .map(|line: Value| (line["id"].as_str().unwrap().to_owned(), line))
        .collect();
    let note = "BART's summaries, three references; rouge-score 0.1.2 of PyPI";
    let records = records("responses/dialogsum.bart.jsonl");
    for (stem, name) in [(false, "plain"), (true, "stemmed")] {
        let mut tallies = ["rouge1", "rouge2", "rougeL"]
            .map(|kind| Tally::new("dialogsum", format!("{kind}, {name}")).note(note));
        for record in &records {
            let references = record.value["references"].as_array().unwrap();
            let references = references.iter().map(|text| text.as_str().unwrap());
            let tokens = RougeTokens::Google { stem };
            let rouge = Rouge::best(record.text("prediction"), references, tokens);
            let official = &expected[record.text("id")][name];
            let found = [rouge.rouge_1, rouge.rouge_2, rouge.rouge_l];
            for ((tally, found), kind) in tallies
                .iter_mut()
                .zip(found)
                .zip(["rouge1", "rouge2", "rougeL"])
            {
                let official = official[kind][2].as_f64().unwrap();
                tally.add(record, official, found.f1, || {
                    format!(
                        "{}: ours {}, official {official}",
                        record.value["id"], found.f1
                    )
                });
            }
        }
        for tally in tallies {
            tally.at_least(1.0, report);
        }
    }
    Ok(())
}

fn parts(text: &str) -> Vec<String> {
    text.split(';').map(|part| part.trim().to_owned()).collect()
}

/// The similarity of TruthfulQA, and what people said about the same answers.
pub(crate) fn truthfulqa(report: &mut Report) -> Result<(), Ignored> {
    let nearer = |record: &Record| {
        let output = record.text("model_answer");
        let output = output.strip_prefix("A:").unwrap_or(output).trim();
        let right = parts(record.text("correct_answers"));
        let wrong = parts(record.text("incorrect_answers"));
        Nearness::of(output, &right, &wrong).accuracy()
    };
    let file = "truthfulqa.human_annotated";
    let note = "the rule as published, over rouge-score 0.1.2 of PyPI";
    compare("truthfulqa", file, note, false, report, |record| {
        Some(("davinci, nearer to true".to_owned(), nearer(record)))
    });
    let mut people = Tally::new("truthfulqa", "davinci, against people")
        .note("labels of people; similarity is known to be a weak stand-in for them")
        .out_of_sample();
    for record in records(&format!("responses/{file}.jsonl")) {
        let label = record.text("Truthfulness").to_lowercase();
        let official = match label.as_str() {
            "" | "unknown" | "mixed true/false" | "subjective" | "no truth value" => continue,
            "false" | "mostly untrue" => 0.0,
            _ => 1.0,
        };
        let ours = nearer(&record);
        // Disagreement is what is measured here, not a list to work off.
        people.judge(&record, (official, ours), official == ours, String::new);
    }
    people.tell(report);
    Ok(())
}

pub(crate) fn locomo(report: &mut Report) -> Result<(), Ignored> {
    let note = "LoCoMo's own evaluation.py";
    compare("locomo", "locomo.judged", note, false, report, |record| {
        let number: u64 = record.text("category").parse().unwrap();
        let gold = match &record.value["golden_answer"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let category = Category::of(number).unwrap();
        let ours = locomo::score(category, record.text("generated_answer"), &gold);
        let system = match record.text("model").starts_with("gpt-4o-mini") {
            true => "gpt-4o-mini",
            false => "vague answers",
        };
        Some((format!("{system}, category {number}"), ours))
    });
    Ok(())
}
