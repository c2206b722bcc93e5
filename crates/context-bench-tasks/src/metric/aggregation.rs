//! From one value per document to one value per task, and its standard error.

use context_bench_error::suggest::{did_you_mean, quoted_list};
use serde_json::Value;

use super::items::{Items, numbers};
use crate::error::{Error, Result};
use crate::random::Random;

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
            Aggregation::Mean => Ok(sample_error(&numbers(items)?)),
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
/// The standard error of a mean; `None` for a single value.
pub fn sample_error(values: &[f64]) -> Option<f64> {
    let n = values.len();
    (n > 1).then(|| deviation(values) / (n as f64).sqrt())
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (squares / (n - 1.0)).sqrt()
}
