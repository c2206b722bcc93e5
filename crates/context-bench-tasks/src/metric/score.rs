//! What one document scores under each metric.

use context_bench_template::python;
use serde_json::{Map, Value, json};

use super::repeats::Reduction;
use super::{Metric, MetricKind};
use crate::error::{Error, Result};
use crate::python::value as python_value;

/// Values by metric name, in the order of the metrics.
pub type Scores = Map<String, Value>;

/// Stands for a right answer that is not among the choices.
pub(super) const NO_GOLD: i64 = -100;

/// What a model said about the choices of a document.
#[derive(Debug, Clone, Copy)]
pub struct Likelihoods<'l> {
    /// Log-likelihood of each choice.
    pub lls: &'l [f64],
    /// Whether each choice was the most likely continuation.
    pub greedy: &'l [bool],
    /// The same after an empty context, for `acc_mutual_info`.
    pub unconditional: Option<&'l [f64]>,
}

/// Which choices are right: indices, `None` for one that is not there.
pub fn gold(target: &Value, choices: &[String]) -> Vec<Option<usize>> {
    let one = |target: &Value| match target {
        Value::Number(number) => number
            .as_i64()
            .and_then(|at| {
                // Python counts negative indices from the end.
                let n = i64::try_from(choices.len()).ok()?;
                usize::try_from(if at < 0 { at + n } else { at }).ok()
            })
            .filter(|&at| at < choices.len()),
        Value::Bool(truth) => Some(usize::from(*truth)).filter(|&at| at < choices.len()),
        other => {
            let text = python::str(other);
            choices.iter().position(|choice| *choice == text)
        }
    };
    match target {
        Value::Array(targets) => targets.iter().map(one).collect(),
        target => vec![one(target)],
    }
}

/// Scores a document of a multiple-choice task.
pub fn multiple_choice(
    metrics: &[Metric],
    choices: &[String],
    target: &Value,
    found: Likelihoods<'_>,
) -> Result<Scores> {
    let golds = gold(target, choices);
    let n = choices.len();
    if n == 0 {
        return Err(Error::new("the document has no choices"));
    }
    if found.lls.len() != n || found.greedy.len() != n {
        return Err(Error::new(format!(
            "{n} choices, but {} likelihoods",
            found.lls.len()
        )));
    }
    let hit = |best: usize| f64::from(u8::from(golds.contains(&Some(best))));
    let per = |size: &dyn Fn(&str) -> usize| -> Vec<f64> {
        let weight = |text: &String| (size(text) as f64).max(f64::MIN_POSITIVE);
        found
            .lls
            .iter()
            .zip(choices)
            .map(|(ll, text)| ll / weight(text))
            .collect()
    };
    let characters = |text: &str| text.chars().count();
    let bytes = |text: &str| text.len();
    let first = golds.first().copied().flatten();
    let gold_id = first.map_or(NO_GOLD, |at| i64::try_from(at).unwrap_or(NO_GOLD));
    let at_gold = |values: &[f64]| first.map_or(Value::Null, |at| json!(values[at]));
    let mut scores = Scores::new();
    for metric in metrics {
        let value = match metric.name.as_str() {
            "acc" => json!(hit(argmax(found.lls))),
            "acc_norm" => json!(hit(argmax(&per(&characters)))),
            "acc_bytes" => json!(hit(argmax(&per(&bytes)))),
            "acc_mutual_info" => {
                let Some(other) = found.unconditional.filter(|other| other.len() == n) else {
                    return Err(Error::new(
                        "`acc_mutual_info` needs likelihoods without context",
                    ));
                };
                let gain: Vec<f64> = found.lls.iter().zip(other).map(|(a, b)| a - b).collect();
                json!(hit(argmax(&gain)))
            }
            "exact_match" => {
                let greedy = golds.iter().flatten().any(|&at| found.greedy[at]);
                json!(f64::from(u8::from(greedy)))
            }
            "f1" | "mcc" => json!([gold_id, argmax(found.lls)]),
            "brier_score" => json!([gold_id, softmax(found.lls)]),
            "likelihood" | "logprob" => at_gold(found.lls),
            "bpb" => first.map_or(Value::Null, |at| {
                json!(-found.lls[at] / choices[at].len() as f64 / std::f64::consts::LN_2)
            }),
            "choice_logprob" => {
                let total = log_sum(found.lls);
                at_gold(&found.lls.iter().map(|ll| ll - total).collect::<Vec<_>>())
            }
            "choice_prob_norm" => at_gold(&softmax(&per(&bytes))),
            "choice_logprob_norm" => at_gold(
                &softmax(&per(&bytes))
                    .iter()
                    .map(|p| p.ln())
                    .collect::<Vec<_>>(),
            ),
            "bypass" => json!(999),
            _ => continue,
        };
        scores.insert(metric.name.clone(), value);
    }
    Ok(scores)
}

/// The first of the largest values.
fn argmax(values: &[f64]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}

fn log_sum(lls: &[f64]) -> f64 {
    let most = lls.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + lls.iter().map(|ll| (ll - most).exp()).sum::<f64>().ln()
}

fn softmax(lls: &[f64]) -> Vec<f64> {
    let most = lls.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = lls.iter().map(|ll| (ll - most).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|power| power / total).collect()
}

/// Scores a document whose one continuation has a likelihood.
pub fn loglikelihood(metrics: &[Metric], ll: f64, greedy: bool) -> Scores {
    let mut scores = Scores::new();
    for metric in metrics {
        let value = match metric.name.as_str() {
            "perplexity" => json!(ll),
            "acc" => json!(u8::from(greedy)),
            "bypass" => json!(999),
            _ => continue,
        };
        scores.insert(metric.name.clone(), value);
    }
    scores
}

/// Scores a text by its own likelihood.
pub fn rolling(metrics: &[Metric], text: &str, ll: f64) -> Scores {
    let mut scores = Scores::new();
    for metric in metrics {
        let value = match metric.name.as_str() {
            "word_perplexity" => json!([ll, pieces(text)]),
            "byte_perplexity" | "bits_per_byte" => json!([ll, text.len()]),
            "bypass" => json!(999),
            _ => continue,
        };
        scores.insert(metric.name.clone(), value);
    }
    scores
}

/// Pieces between runs of white space; white space at an end adds an empty piece.
fn pieces(text: &str) -> usize {
    let mut n = 1;
    let mut inside = false;
    for c in text.chars() {
        let space = python::is_space(c);
        n += usize::from(space && !inside);
        inside = space;
    }
    n
}

/// Scores a generated answer. `choices` are those of the document, if it has any.
pub fn generation(
    metrics: &[Metric],
    target: &Value,
    choices: Option<&[String]>,
    prediction: &Value,
) -> Result<Scores> {
    // A pipeline that does not reduce leaves a list: exact matches become pass@k, of
    // all else the first response counts.
    let several_tries = match prediction {
        Value::Array(items) => &items[..],
        one => std::slice::from_ref(one),
    };
    let text = first_text(prediction);
    let (references, several) = references(target, choices);
    let mut scores = Scores::new();
    for metric in metrics {
        match &metric.kind {
            MetricKind::Exact(exact) => {
                let tries = match exact.reduction {
                    Reduction::First => &several_tries[..several_tries.len().min(1)],
                    _ => several_tries,
                };
                let mut right = 0;
                for prediction in tries {
                    let text = python::str(prediction);
                    let mut hit = false;
                    for reference in &references {
                        hit |= exact.matches(&text, reference)?;
                    }
                    right += usize::from(hit);
                }
                if tries.len() == 1 {
                    scores.insert(metric.name.clone(), json!(right as f64));
                } else {
                    for (name, value) in exact.reduction.scores(&metric.name, tries.len(), right)? {
                        scores.insert(name, json!(value));
                    }
                }
            }
            MetricKind::Builtin if metric.name == "bypass" => {
                scores.insert(metric.name.clone(), json!(999));
            }
            MetricKind::Builtin => {
                let reference = match (several, references.first()) {
                    (false, Some(only)) => json!(only),
                    _ => json!(references),
                };
                scores.insert(metric.name.clone(), json!([reference, text]));
            }
            MetricKind::Pair => {
                let reference = match (several, references.first()) {
                    (false, Some(only)) => json!(only),
                    _ => json!(references),
                };
                scores.insert(metric.name.clone(), json!([reference, prediction]));
            }
            MetricKind::External(external) => {
                let value = external.score(&references, prediction)?;
                scores.insert(metric.name.clone(), json!(value));
            }
            // Asked for all documents at once, by `asked` and `given`.
            MetricKind::Function(..) | MetricKind::Named => {}
        }
    }
    Ok(scores)
}

/// What is compared with the references: of several tries the first.
fn first_text(prediction: &Value) -> String {
    match prediction {
        Value::Array(items) => python::str(items.first().unwrap_or(&Value::Null)),
        one => python::str(one),
    }
}

/// The right answers as text, and whether they came as a list.
fn references(target: &Value, choices: Option<&[String]>) -> (Vec<String>, bool) {
    let named = |target: &Value| match (target, choices) {
        (Value::Number(_) | Value::Bool(_), Some(choices)) => gold(target, choices)
            .first()
            .copied()
            .flatten()
            .map_or_else(|| python::str(target), |at| choices[at].clone()),
        (other, _) => python::str(other),
    };
    match target {
        Value::Array(targets) => (targets.iter().map(named).collect(), true),
        target => (vec![named(target)], false),
    }
}

/// The calls of a metric in Python about one document: one per right answer.
pub(crate) fn asked(
    arguments: &Map<String, Value>,
    target: &Value,
    choices: Option<&[String]>,
    prediction: &Value,
) -> Vec<Map<String, Value>> {
    let text = first_text(prediction);
    let call = |reference: String| {
        let mut keywords = arguments.clone();
        keywords.insert("references".into(), json!([reference]));
        keywords.insert("predictions".into(), json!([text]));
        keywords
    };
    references(target, choices)
        .0
        .into_iter()
        .map(call)
        .collect()
}

/// What those calls gave, as scores: of several right answers any may be met. Returns
/// the keys that a mapping added.
pub(crate) fn given(
    metric: &str,
    values: Vec<Value>,
    several: bool,
    scores: &mut Scores,
) -> Vec<String> {
    let mut best = Value::Null;
    for value in values {
        if !truthy(&best) {
            best = value;
        }
    }
    let best = match python_value::tagged(&best) {
        Some(("dict", _)) => python_value::plain(best),
        _ => best,
    };
    match best {
        Value::Object(map) if !map.contains_key(python_value::TAG) => {
            let keys = map.keys().cloned().collect();
            scores.extend(map);
            return keys;
        }
        value if several => {
            let met = f64::from(u8::from(truthy(&value)));
            scores.insert(metric.to_owned(), json!(met));
        }
        value => {
            scores.insert(metric.to_owned(), value);
        }
    }
    Vec::new()
}

/// As Python sees it, also what JSON cannot say.
fn truthy(value: &Value) -> bool {
    if let Some(number) = python_value::float(value) {
        return number != 0.0;
    }
    if let Some(items) = python_value::items(value) {
        return !items.is_empty();
    }
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    }
}
