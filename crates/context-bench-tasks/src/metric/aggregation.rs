//! From one value per document to one value per task, and its standard error.

use serde_json::Value;

use super::bleu::BleuStats;
use super::chrf::ChrfStats;
use super::ter::TerStats;
use crate::error::{Error, Result};
use crate::random::Random;
use crate::suggest::{did_you_mean, quoted_list};

/// How values of documents become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// The mean.
    Mean,
    /// The upper median.
    Median,
    /// The mean of what is a number.
    NanMean,
    /// exp(−mean log-likelihood).
    Perplexity,
    /// exp(−Σ log-likelihood / Σ weight).
    WeightedPerplexity,
    /// −Σ log-likelihood / Σ bytes / ln 2.
    BitsPerByte,
    /// F1 of class 1, of (gold, predicted).
    F1,
    /// Matthews' correlation, of (gold, predicted).
    Mcc,
    /// BLEU over the corpus, of (reference, prediction).
    Bleu,
    /// chrF over the corpus.
    Chrf,
    /// Translation edit rate over the corpus.
    Ter,
    /// Mean squared distance of probabilities from the truth.
    Brier,
    /// The constant 999: predictions only.
    Bypass,
}

/// Names of aggregations, as files write them.
pub const AGGREGATIONS: &[(&str, Aggregation)] = &[
    ("mean", Aggregation::Mean),
    ("median", Aggregation::Median),
    ("nanmean", Aggregation::NanMean),
    ("perplexity", Aggregation::Perplexity),
    ("weighted_perplexity", Aggregation::WeightedPerplexity),
    ("bits_per_byte", Aggregation::BitsPerByte),
    ("f1", Aggregation::F1),
    ("matthews_corrcoef", Aggregation::Mcc),
    ("bleu", Aggregation::Bleu),
    ("chrf", Aggregation::Chrf),
    ("ter", Aggregation::Ter),
    ("brier_score", Aggregation::Brier),
    ("bypass", Aggregation::Bypass),
];

/// Resamples of corpus scores are slow; the reference takes no more of them either.
const MAX_CORPUS_ITERATIONS: usize = 100;
const CHUNK: usize = 1000;

impl Aggregation {
    /// An aggregation by its name.
    pub fn named(name: &str) -> Result<Self> {
        let found = AGGREGATIONS.iter().find(|(known, _)| *known == name);
        found.map(|(_, aggregation)| *aggregation).ok_or_else(|| {
            let names: Vec<&str> = AGGREGATIONS.iter().map(|(name, _)| *name).collect();
            let hint = did_you_mean(name, names.iter().copied())
                .unwrap_or_else(|| format!("there are {}", quoted_list(&names, "and")));
            Error::new(format!("unknown aggregation `{name}`")).with_hint(hint)
        })
    }

    /// One value of all.
    pub fn apply(self, items: &[Value]) -> Result<f64> {
        if items.is_empty() {
            return Err(Error::new("nothing to aggregate: no document has a value"));
        }
        let items = Items::read(self, items)?;
        let all: Vec<usize> = (0..items.len()).collect();
        items.score(self, &all)
    }

    /// The standard error; `None` where none is known: one document, no resampling, or
    /// an aggregation without one.
    pub fn stderr(self, items: &[Value], iterations: usize, threads: usize) -> Result<Option<f64>> {
        if items.len() < 2 {
            return Ok(None);
        }
        match self {
            Aggregation::Mean => {
                let values = numbers(items)?;
                Ok(Some(deviation(&values) / (values.len() as f64).sqrt()))
            }
            Aggregation::WeightedPerplexity
            | Aggregation::BitsPerByte
            | Aggregation::Brier
            | Aggregation::Bypass => Ok(None),
            _ if iterations == 0 => Ok(None),
            _ => {
                let corpus = matches!(
                    self,
                    Aggregation::Bleu | Aggregation::Chrf | Aggregation::Ter
                );
                let iterations = if corpus {
                    iterations.min(MAX_CORPUS_ITERATIONS)
                } else {
                    iterations
                };
                let items = Items::read(self, items)?;
                bootstrap(self, &items, iterations, threads).map(Some)
            }
        }
    }
}

/// The sample standard deviation of values drawn again: chunk `i` has its own generator,
/// seeded with `i`, so the number of threads does not matter.
fn bootstrap(
    aggregation: Aggregation,
    items: &Items,
    iterations: usize,
    threads: usize,
) -> Result<f64> {
    let chunk = CHUNK.min(iterations);
    let chunks = iterations / chunk;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Vec<f64>)>> {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if i >= chunks {
                return Ok(done);
            }
            let mut random = Random::new(i64::try_from(i).unwrap_or(0));
            let mut values = Vec::with_capacity(chunk);
            let mut drawn = vec![0; items.len()];
            for _ in 0..chunk {
                for index in &mut drawn {
                    *index = random.choice_index(items.len());
                }
                values.push(items.score(aggregation, &drawn)?);
            }
            done.push((i, values));
        }
    };
    let mut all = if threads <= 1 || chunks == 1 {
        work()?
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads.min(chunks))
                .map(|_| scope.spawn(work))
                .collect();
            let mut all = Vec::new();
            for handle in handles {
                let part = handle
                    .join()
                    .map_err(|_| Error::new("resampling stopped"))?;
                all.extend(part?);
            }
            Ok::<_, Error>(all)
        })?
    };
    all.sort_by_key(|(i, _)| *i);
    let values: Vec<f64> = all.into_iter().flat_map(|(_, values)| values).collect();
    Ok(deviation(&values))
}

/// Sample standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (squares / (n - 1.0)).sqrt()
}

/// Values in the form their aggregation needs, so that resampling is cheap.
enum Items {
    Numbers(Vec<f64>),
    Weighted(Vec<(f64, f64)>),
    Labels(Vec<(i64, i64)>),
    Bleu(Vec<BleuStats>),
    Chrf(Vec<ChrfStats>),
    Ter(Vec<TerStats>),
}

impl Items {
    fn read(aggregation: Aggregation, items: &[Value]) -> Result<Self> {
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
                    && labels
                        .iter()
                        .any(|(gold, found)| !(0..=1).contains(gold) || !(0..=1).contains(found))
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

    fn len(&self) -> usize {
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
    fn score(&self, aggregation: Aggregation, at: &[usize]) -> Result<f64> {
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

fn number(item: &Value) -> Option<f64> {
    match item {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        other => other.as_f64(),
    }
}

fn numbers(items: &[Value]) -> Result<Vec<f64>> {
    let number = |item: &Value| {
        number(item).ok_or_else(|| Error::new(format!("a number was expected, found `{item}`")))
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
        _ => Err(Error::new(format!("a pair was expected, found `{item}`"))),
    }
}

/// Σ (p − truth)² of one document.
fn brier(item: &Value) -> Result<f64> {
    let wrong = || {
        Error::new(format!(
            "a class and its probabilities were expected, found `{item}`"
        ))
    };
    let [gold, probabilities] = item.as_array().map(Vec::as_slice).ok_or_else(wrong)? else {
        return Err(wrong());
    };
    let gold = gold.as_u64().ok_or_else(wrong)?;
    let probabilities = numbers(probabilities.as_array().ok_or_else(wrong)?)?;
    let square = |(i, p): (usize, &f64)| {
        let truth = if i as u64 == gold { 1.0 } else { 0.0 };
        (p - truth) * (p - truth)
    };
    Ok(probabilities.iter().enumerate().map(square).sum())
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
        return Err(Error::new("documents have different numbers of references"));
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
