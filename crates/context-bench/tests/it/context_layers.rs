//! What context layers cost on the demo set, read by the built-in reader.
//!
//! These are floors and orders, not exact figures: they fail when the reader or
//! a transform breaks, and stay quiet when it gets a little better.
//! `cargo test --test it context_layers -- --nocapture` prints the figures.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use context_bench::evaluator::AnswerQuality;
use context_bench::system::transform::{
    Budget, Dedup, Extractive, Keep, Passthrough, Transform, Truncate,
};
use context_bench::system::{ContextLayer, Reader};
use context_bench::tokens::Tokenizer;
use context_bench::{Example, System};
use serde_json::Value;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A question with the context that holds the answer.
struct Case {
    example: Example,
    answers: Vec<String>,
    document: String,
}

/// Whether the documents without the answer are part of the context.
#[derive(Clone, Copy, PartialEq)]
enum Distractors {
    Without,
    With,
}

fn demo(distractors: Distractors) -> Outcome<Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let mut documents: HashMap<String, String> = HashMap::new();
    for entry in std::fs::read_dir(folder.join("documents"))? {
        let path = entry?.path();
        let slug = path.file_stem().unwrap_or_default().to_string_lossy();
        documents.insert(slug.into_owned(), std::fs::read_to_string(&path)?);
    }
    let questions = std::fs::read_to_string(folder.join("questions.jsonl"))?;
    let mut cases = Vec::new();
    for (position, line) in questions.lines().enumerate() {
        let record: Value = serde_json::from_str(line)?;
        let texts = |key: &str| -> Vec<String> {
            let list = record[key].as_array().cloned().unwrap_or_default();
            list.iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect()
        };
        let mut slugs = match distractors {
            Distractors::With => texts("distractors"),
            Distractors::Without => Vec::new(),
        };
        // The answer's document comes first, in the middle and last in turn.
        let place = position % (slugs.len() + 1);
        let document = record["document"].as_str().unwrap_or_default().to_owned();
        slugs.insert(place, document.clone());
        let parts: Vec<&str> = slugs.iter().map(|slug| documents[slug].trim()).collect();
        cases.push(Case {
            example: Example::new()
                .with("context", parts.join("\n\n"))
                .with("question", record["question"].clone()),
            answers: texts("answers"),
            document,
        });
    }
    Ok(cases)
}

/// The mean F1 over all questions, each against its best accepted answer.
async fn mean_f1(transform: Arc<dyn Transform>, cases: &[Case]) -> Outcome<f64> {
    let layer = ContextLayer::new("layer", transform, Arc::new(Reader));
    let mut sum = 0.0;
    for case in cases {
        let output = layer.process(&case.example).await?;
        sum += case
            .answers
            .iter()
            .map(|gold| AnswerQuality::compare(&output.response(), gold)[0])
            .fold(0.0, f64::max);
    }
    Ok(sum / cases.len() as f64)
}

/// The reader's word lists and weights were set on documents up to this one in
/// the order of the alphabet. Of the others only mean scores were looked at.
const LAST_SEEN: &str = "lighthouse";

fn truncate(keep: Keep, ratio: f64) -> Outcome<Arc<dyn Transform>> {
    let counter = Tokenizer::Cl100kBase.counter();
    Ok(Arc::new(Truncate::new(
        keep,
        Budget::ratio(ratio)?,
        counter,
    )?))
}

fn extractive(ratio: f64) -> Outcome<Arc<dyn Transform>> {
    let counter = Tokenizer::Cl100kBase.counter();
    Ok(Arc::new(Extractive::new(Budget::ratio(ratio)?, counter)?))
}

async fn figures(distractors: Distractors) -> Outcome<HashMap<&'static str, f64>> {
    let cases = demo(distractors)?;
    let layers: Vec<(&str, Arc<dyn Transform>)> = vec![
        ("passthrough", Arc::new(Passthrough)),
        ("dedup", Arc::new(Dedup)),
        ("extractive 50 %", extractive(0.5)?),
        ("extractive 10 %", extractive(0.1)?),
        ("extractive 2 %", extractive(0.02)?),
        ("truncate 50 %", truncate(Keep::Head, 0.5)?),
        ("truncate 25 %", truncate(Keep::Head, 0.25)?),
        ("truncate 10 %", truncate(Keep::Head, 0.1)?),
        ("truncate tail 50 %", truncate(Keep::Tail, 0.5)?),
        ("truncate ends 50 %", truncate(Keep::Ends, 0.5)?),
    ];
    let mut figures = HashMap::new();
    for (name, transform) in layers {
        let f1 = mean_f1(transform, &cases).await?;
        println!("{name:20} f1 {f1:.3} over {} questions", cases.len());
        figures.insert(name, f1);
    }
    Ok(figures)
}

/// What must hold for the demo to show anything.
fn check(f1: &HashMap<&'static str, f64>) {
    assert!(f1["passthrough"] >= 0.8, "{f1:?}");
    assert!(f1["dedup"] >= f1["passthrough"] - 0.02, "{f1:?}");
    let slack = 0.01;
    for (better, worse) in [
        ("passthrough", "extractive 50 %"),
        ("extractive 50 %", "extractive 10 %"),
        ("extractive 10 %", "extractive 2 %"),
        ("extractive 50 %", "truncate 50 %"),
        ("passthrough", "truncate tail 50 %"),
        ("passthrough", "truncate ends 50 %"),
    ] {
        assert!(f1[better] >= f1[worse] - slack, "{better}, {worse}: {f1:?}");
    }
    for (better, worse) in [
        ("passthrough", "truncate 50 %"),
        ("truncate 50 %", "truncate 25 %"),
        ("truncate 25 %", "truncate 10 %"),
    ] {
        assert!(f1[better] > f1[worse] + 0.05, "{better}, {worse}: {f1:?}");
    }
}

#[tokio::test]
async fn stronger_compression_costs_quality() -> Outcome<()> {
    check(&figures(Distractors::Without).await?);
    Ok(())
}

#[tokio::test]
async fn distractors_do_not_change_the_picture() -> Outcome<()> {
    check(&figures(Distractors::With).await?);
    Ok(())
}

#[tokio::test]
async fn the_reader_holds_up_on_documents_it_was_not_set_on() -> Outcome<()> {
    for distractors in [Distractors::Without, Distractors::With] {
        let (seen, unseen): (Vec<Case>, Vec<Case>) = demo(distractors)?
            .into_iter()
            .partition(|case| case.document.as_str() <= LAST_SEEN);
        let seen = mean_f1(Arc::new(Passthrough), &seen).await?;
        let unseen = mean_f1(Arc::new(Passthrough), &unseen).await?;
        println!("seen half f1 {seen:.3}, unseen half f1 {unseen:.3}");
        assert!(unseen >= 0.7, "{unseen}");
    }
    Ok(())
}
