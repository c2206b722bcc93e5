//! Values of documents in the form their aggregation needs.

use serde_json::Value;

use super::aggregation::Aggregation;
use super::bleu::BleuStats;
use super::chrf::ChrfStats;
use super::score::NO_GOLD;
use super::ter::TerStats;
use crate::error::{Error, Result};

/// Values in the form their aggregation needs, so that resampling is cheap.
pub(super) enum Items {
    Numbers(Vec<f64>),
    Weighted(Vec<(f64, f64)>),
    Labels(Vec<(i64, i64)>),
    Bleu(Vec<BleuStats>),
    Chrf(Vec<ChrfStats>),
    Ter(Vec<TerStats>),
}

impl Items {
    pub(super) fn read(aggregation: Aggregation, items: &[Value]) -> Result<Self> {
        Ok(match aggregation {
            Aggregation::Mean | Aggregation::Median | Aggregation::Perplexity => {
                Items::Numbers(numbers(items)?)
            }
            Aggregation::NanMean => {
                let number = |item: &Value| number(item).unwrap_or(f64::NAN);
                Items::Numbers(items.iter().map(number).collect())
            }
            Aggregation::WeightedPerplexity | Aggregation::BitsPerByte => {
                Items::Weighted(items.iter().map(pair).collect::<Result<_>>()?)
            }
            Aggregation::F1 | Aggregation::Mcc => {
                let label =
                    |item: &Value| pair(item).map(|(gold, found)| (gold as i64, found as i64));
                let labels: Vec<(i64, i64)> = items.iter().map(label).collect::<Result<_>>()?;
                if aggregation == Aggregation::F1
                    && labels.iter().any(|(gold, found)| {
                        // A right answer that is not among the choices is of neither class.
                        let known = (0..=1).contains(gold) || *gold == NO_GOLD;
                        !known || !(0..=1).contains(found)
                    })
                {
                    return Err(Error::new("`f1` is for two classes, 0 and 1")
                        .with_hint("use `acc` or a metric of your own for more classes"));
                }
                Items::Labels(labels)
            }
            Aggregation::Bleu => Items::Bleu(corpus(items, BleuStats::of)?),
            Aggregation::Chrf => Items::Chrf(corpus(items, ChrfStats::of)?),
            Aggregation::Ter => Items::Ter(corpus(items, TerStats::of)?),
            Aggregation::Brier => Items::Numbers(items.iter().map(brier).collect::<Result<_>>()?),
            Aggregation::Bypass => Items::Numbers(vec![0.0; items.len()]),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Items::Numbers(items) => items.len(),
            Items::Weighted(items) => items.len(),
            Items::Labels(items) => items.len(),
            Items::Bleu(items) => items.len(),
            Items::Chrf(items) => items.len(),
            Items::Ter(items) => items.len(),
        }
    }

    /// The aggregate of the items at some indices.
    pub(super) fn score(&self, aggregation: Aggregation, at: &[usize]) -> Result<f64> {
        let n = at.len() as f64;
        Ok(match self {
            Items::Numbers(items) => {
                let sum = || at.iter().map(|&i| items[i]).sum::<f64>();
                match aggregation {
                    Aggregation::Bypass => 999.0,
                    Aggregation::Perplexity => (-sum() / n).exp(),
                    Aggregation::NanMean => {
                        let known: Vec<f64> = at
                            .iter()
                            .map(|&i| items[i])
                            .filter(|x| !x.is_nan())
                            .collect();
                        known.iter().sum::<f64>() / known.len() as f64
                    }
                    Aggregation::Median => {
                        let mut sorted: Vec<f64> = at.iter().map(|&i| items[i]).collect();
                        sorted.sort_by(f64::total_cmp);
                        sorted[sorted.len() / 2]
                    }
                    _ => sum() / n,
                }
            }
            Items::Weighted(items) => {
                let (ll, weight) = at.iter().fold((0.0, 0.0), |(ll, weight), &i| {
                    (ll + items[i].0, weight + items[i].1)
                });
                match aggregation {
                    Aggregation::BitsPerByte => -ll / weight / std::f64::consts::LN_2,
                    _ => (-ll / weight).exp(),
                }
            }
            Items::Labels(items) => {
                let labels = at.iter().map(|&i| items[i]);
                if aggregation == Aggregation::F1 {
                    f1(labels)
                } else {
                    mcc(labels)
                }
            }
            Items::Bleu(items) => at
                .iter()
                .fold(BleuStats::default(), |sum, &i| sum.plus(&items[i]))
                .score(),
            Items::Chrf(items) => at
                .iter()
                .fold(ChrfStats::default(), |sum, &i| sum.plus(&items[i]))
                .score(),
            Items::Ter(items) => at
                .iter()
                .fold(TerStats::default(), |sum, &i| sum.plus(&items[i]))
                .score(),
        })
    }
}

/// Also what Python says and JSON cannot, such as NaN.
fn number(item: &Value) -> Option<f64> {
    crate::python::value::float(item)
}

pub(super) fn numbers(items: &[Value]) -> Result<Vec<f64>> {
    let number = |item: &Value| {
        number(item).ok_or_else(|| {
            Error::new(format!("a number was expected, found `{item}`"))
                .with_hint("name an `aggregation` that fits what the metric gives")
        })
    };
    items.iter().map(number).collect()
}

fn pair(item: &Value) -> Result<(f64, f64)> {
    match item.as_array().map(Vec::as_slice) {
        Some([a, b]) => match (number(a), number(b)) {
            (Some(a), Some(b)) => Ok((a, b)),
            _ => Err(Error::new(format!(
                "two numbers were expected, found `{item}`"
            ))),
        },
        _ => Err(Error::new(format!("a pair was expected, found `{item}`"))
            .with_hint("name an `aggregation` that fits what the metric gives")),
    }
}

/// Σ (p − truth)² of one document. A right answer that is not among the choices is one
/// more class, which got no probability at all.
fn brier(item: &Value) -> Result<f64> {
    let wrong = || {
        Error::new(format!(
            "a class and its probabilities were expected, found `{item}`"
        ))
    };
    let [gold, probabilities] = item.as_array().map(Vec::as_slice).ok_or_else(wrong)? else {
        return Err(wrong());
    };
    let gold = gold.as_i64().ok_or_else(wrong)?;
    let probabilities = numbers(probabilities.as_array().ok_or_else(wrong)?)?;
    let at = usize::try_from(gold)
        .ok()
        .filter(|at| *at < probabilities.len());
    let square = |(i, p): (usize, &f64)| {
        let truth = f64::from(u8::from(Some(i) == at));
        (p - truth) * (p - truth)
    };
    let missed = f64::from(u8::from(at.is_none()));
    Ok(probabilities.iter().enumerate().map(square).sum::<f64>() + missed)
}

fn corpus<S>(items: &[Value], of: impl Fn(&str, &[&str]) -> S) -> Result<Vec<S>> {
    let n_references = |item: &Value| match item.get(0) {
        Some(Value::Array(references)) => references.len(),
        _ => 1,
    };
    let constant = items.first().map(n_references);
    if items
        .iter()
        .any(|item| Some(n_references(item)) != constant)
    {
        return Err(
            Error::new("documents have different numbers of references").with_hint(
                "scores over a corpus need the same number for each: take one of them in \
                 `doc_to_target`, or use `exact_match`",
            ),
        );
    }
    let score = |item: &Value| {
        let wrong = || {
            Error::new(format!(
                "a reference and a prediction were expected, found `{item}`"
            ))
        };
        let text = |value: &'_ Value| value.as_str().map(str::to_owned);
        let [reference, prediction] = item.as_array().map(Vec::as_slice).ok_or_else(wrong)? else {
            return Err(wrong());
        };
        let references: Option<Vec<String>> = match reference {
            Value::Array(references) => references.iter().map(text).collect(),
            other => text(other).map(|text| vec![text]),
        };
        let prediction = match prediction {
            Value::Array(predictions) => predictions.first().and_then(text),
            other => text(other),
        };
        let (Some(references), Some(prediction)) = (references, prediction) else {
            return Err(wrong());
        };
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        Ok(of(&prediction, &references))
    };
    items.iter().map(score).collect()
}

/// F1 of class 1; 0 when undefined.
fn f1(labels: impl Iterator<Item = (i64, i64)>) -> f64 {
    let (mut hit, mut wrong) = (0.0, 0.0);
    for (gold, found) in labels {
        match (gold == 1, found == 1) {
            (true, true) => hit += 1.0,
            (true, false) | (false, true) => wrong += 1.0,
            (false, false) => {}
        }
    }
    if hit == 0.0 {
        0.0
    } else {
        2.0 * hit / (2.0 * hit + wrong)
    }
}

/// Matthews' correlation for any number of classes; 0 when undefined.
fn mcc(labels: impl Iterator<Item = (i64, i64)>) -> f64 {
    let mut gold_counts = std::collections::HashMap::new();
    let mut found_counts = std::collections::HashMap::new();
    let (mut n, mut hits) = (0.0, 0.0);
    for (gold, found) in labels {
        *gold_counts.entry(gold).or_insert(0.0) += 1.0;
        *found_counts.entry(found).or_insert(0.0) += 1.0;
        n += 1.0;
        hits += f64::from(u8::from(gold == found));
    }
    let square =
        |counts: &std::collections::HashMap<i64, f64>| counts.values().map(|n| n * n).sum::<f64>();
    let both: f64 = gold_counts
        .iter()
        .map(|(class, n)| n * found_counts.get(class).unwrap_or(&0.0))
        .sum();
    let spread = (n * n - square(&gold_counts)) * (n * n - square(&found_counts));
    if spread <= 0.0 {
        0.0
    } else {
        (hits * n - both) / spread.sqrt()
    }
}
