//! The demo's own questions, answered by its reader: what is called *worse*, and how often noise
//! alone is called anything.

use std::sync::Arc;

use context_bench::evaluator::AnswerQuality;
use context_bench::metric::MeanScore;
use context_bench::system::{self, Reader};
use context_bench::{EvalResult, EvalRow, Output, System, evaluate};
use context_bench_scoring::stats::{RandomStream, Verdict};

use super::settings;

/// How often the noisy layer answers every question.
const ATTEMPTS: u64 = 4;

/// A layer that keeps each sentence of a context with this probability, and the reader behind it. Its
/// noise is that of a model that is asked twice: another draw for each attempt and example.
fn layer(name: &str, kept: f64, attempt: u64) -> Arc<dyn System> {
    let reader = Reader;
    let made = system::from_fn(name, move |example| {
        let context = example.context();
        let id = example.id(0).unwrap().to_string();
        let add = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(u64::from(byte));
        let seed = id.bytes().fold(7, add);
        let mut stream = RandomStream::new(attempt, seed);
        let sentences = context.split_inclusive(". ");
        let sentences: String = sentences.filter(|_| stream.unit() < kept).collect();
        let question = example.question().unwrap_or_default();
        Ok(Output::reply(example, reader.answer(&sentences, question)))
    });
    Arc::new(made)
}

fn answered(systems: Vec<Arc<dyn System>>) -> EvalResult {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let run = evaluate()
        .systems(systems)
        .dataset(context_bench::dataset::demo())
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .run();
    runtime.block_on(run).unwrap()
}

/// Two arms of the one system: for every question two of the answers that it gave, in the order that
/// the seed says. Nothing but noise can make them differ.
fn itself(attempts: &EvalResult, seed: u64) -> EvalResult {
    let names: Vec<String> = attempts.summary.keys().cloned().collect();
    let rows: Vec<&[EvalRow]> = names.iter().map(|name| attempts.rows_of(name)).collect();
    let mut arms: [Vec<EvalRow>; 2] = [Vec::new(), Vec::new()];
    for example in 0..rows[0].len() {
        let mut drawn: Vec<usize> = (0..rows.len()).collect();
        RandomStream::new(seed, example as u64).shuffle(&mut drawn);
        for (arm, (rows_of_arm, name)) in arms.iter_mut().zip(["layer", "again"]).enumerate() {
            let mut row = rows[drawn[arm]][example].clone();
            row.system = name.into();
            rows_of_arm.push(row);
        }
    }
    let mut result = EvalResult::default();
    for (name, rows) in ["layer", "again"].into_iter().zip(arms) {
        result.summary.insert(name.to_owned(), Default::default());
        result.rows.extend(rows);
    }
    result
}

#[test]
fn a_layer_that_loses_what_matters_is_worse_and_one_against_itself_is_not() {
    let attempts = (0..ATTEMPTS).map(|at| layer(&format!("attempt {at}"), 0.6, at));
    let mut systems: Vec<Arc<dyn System>> = attempts.collect();
    systems.push(layer("whole", 1.0, 0));
    let mut found = answered(systems);
    assert_eq!(found.rows.len(), 110 * (ATTEMPTS as usize + 1));
    let mut how = settings(Some(0.02));
    how.baseline = Some("whole".to_owned());
    for system in &found.compare(&how).unwrap().systems {
        // Four sentences of ten are gone, and the answers in them.
        assert_eq!(system.verdict, Some(Verdict::Worse), "{}", system.sentence);
        assert!(system.sentence.ends_with("worse by more than 2 points."));
    }
    found.summary.shift_remove("whole");
    let mut differ = 0;
    for (margin, most) in [(None, 5), (Some(0.02), 5)] {
        let mut wrong = Vec::new();
        for seed in 0..100 {
            let arms = itself(&found, seed);
            let mut how = settings(margin);
            how.seed = seed;
            let comparison = arms.compare(&how).unwrap();
            let system = &comparison.systems[0];
            let verdict = system.verdict.unwrap();
            differ += usize::from(comparison.main(system).unwrap().difference != 0.0);
            if matches!(verdict, Verdict::Better | Verdict::Worse) {
                wrong.push(seed);
            }
        }
        assert!(wrong.len() <= most, "with {margin:?}: seeds {wrong:?}");
    }
    // Arms that never differ would show nothing about noise.
    assert!(differ > 180, "{differ} of 200");
}
