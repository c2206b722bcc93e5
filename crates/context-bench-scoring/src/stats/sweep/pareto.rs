//! Who is on the Pareto front of quality, cost and latency, and how sure that is.

use super::SweepExamples;
use crate::stats::resampling::JointResamples;
use crate::stats::{Resampling, StatsError};

/// A system with its measures for each example.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// Of which more is better.
    pub quality: Vec<f64>,
    /// Of which less is better: tokens or money, seconds. Every contender has the same, in the
    /// same order.
    pub costs: Vec<Vec<f64>>,
}

/// The probability that each system is on the front: that no other is at least as good in every
/// measure and better in one. Over resamples of the examples, drawn once for all systems, so
/// that what is hard for one is hard for all. Two systems that are equal do not push each other down.
///
/// # Errors
///
/// If a contender lacks a value or has one that is not finite, or the numbers of costs differ.
pub fn front_probabilities(
    examples: &SweepExamples,
    contenders: &[Contender],
    resampling: &Resampling,
) -> Result<Vec<f64>, StatsError> {
    let Some(first) = contenders.first() else {
        return Ok(Vec::new());
    };
    let measures = 1 + first.costs.len();
    let mut columns: Vec<&[f64]> = Vec::new();
    for one in contenders {
        examples.check("quality", &one.quality)?;
        crate::stats::error::same_length("the costs of a system", one.costs.len(), measures - 1)?;
        columns.push(&one.quality);
        for cost in &one.costs {
            examples.check("a cost", cost)?;
            columns.push(cost);
        }
    }
    let resamples = JointResamples::draw(&columns, examples.clusters(), resampling);
    let mut on_front = vec![0_usize; contenders.len()];
    for means in &resamples.means {
        let systems: Vec<&[f64]> = means.chunks_exact(measures).collect();
        for (one, count) in systems.iter().zip(&mut on_front) {
            *count += usize::from(!systems.iter().any(|other| dominates(other, one)));
        }
    }
    let total = resamples.means.len().max(1) as f64;
    Ok(on_front.into_iter().map(|n| n as f64 / total).collect())
}

/// At least as good in everything, and better in something; the first measure is quality.
fn dominates(a: &[f64], b: &[f64]) -> bool {
    let gain = |at: usize| match at {
        0 => a[0] - b[0],
        _ => b[at] - a[at],
    };
    (0..a.len()).all(|at| gain(at) >= 0.0) && (0..a.len()).any(|at| gain(at) > 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings() -> Resampling {
        Resampling {
            resamples: 1000,
            ..Resampling::seeded(9)
        }
    }

    #[test]
    fn fronts_are_certain_where_nothing_is_close() {
        let flat = |quality: f64, cost: f64, seconds: f64| Contender {
            quality: vec![quality; 10],
            costs: vec![vec![cost; 10], vec![seconds; 10]],
        };
        let contenders = [
            flat(0.9, 10.0, 3.0),
            flat(0.8, 5.0, 3.0),
            // Beaten by the first in everything.
            flat(0.7, 11.0, 4.0),
            // The same as the second.
            flat(0.8, 5.0, 3.0),
            // Bad, but the fastest.
            flat(0.1, 50.0, 1.0),
        ];
        let examples = SweepExamples::independent(10).unwrap();
        let found = front_probabilities(&examples, &contenders, &settings()).unwrap();
        assert_eq!(found, [1.0, 1.0, 0.0, 1.0, 1.0]);
        let mut uneven = contenders.to_vec();
        uneven[1].costs.pop();
        assert!(front_probabilities(&examples, &uneven, &settings()).is_err());
    }

    #[test]
    fn what_is_close_is_uncertain() {
        // The second costs more, and is better in 11 of 100 examples and worse in 9.
        let base = Contender {
            quality: vec![0.5; 100],
            costs: vec![vec![1.0; 100]],
        };
        let quality = (0..100).map(|at| match at {
            0..11 => 1.0,
            11..20 => 0.0,
            _ => 0.5,
        });
        let close = Contender {
            quality: quality.collect(),
            costs: vec![vec![2.0; 100]],
        };
        let examples = SweepExamples::independent(100).unwrap();
        let found = front_probabilities(&examples, &[base, close], &settings()).unwrap();
        assert_eq!(found[0], 1.0);
        assert!((0.5..0.8).contains(&found[1]), "{found:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        /// Somebody is always on the front.
        #[test]
        fn fronts_are_never_empty(values in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 3..30)) {
            let contenders: Vec<Contender> = (0..3).map(|system| Contender {
                quality: values.iter().map(|pair| (pair.0 * (system + 1) as f64).fract()).collect(),
                costs: vec![values.iter().map(|pair| pair.1 * system as f64).collect()],
            }).collect();
            let examples = SweepExamples::independent(values.len()).unwrap();
            let settings = Resampling { resamples: 50, ..Resampling::default() };
            let found = front_probabilities(&examples, &contenders, &settings).unwrap();
            prop_assert!(found.iter().sum::<f64>() >= 1.0 - 1e-9, "{:?}", found);
        }
    }
}
