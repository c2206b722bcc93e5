//! The smallest context that is not worse by more than a margin.

use super::SweepExamples;
use crate::model::Interval;
use crate::stats::{NonInferiority, NonInferiorityTest, PairedDifferences, StatsError, Verdict};

/// An arm beside the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmVerdict {
    /// Which arm, in the order in which they were given.
    pub arm: usize,
    /// Its mean tokens.
    pub tokens: f64,
    /// Its own verdict.
    pub result: NonInferiority,
    /// Whether it and every arm with more tokens are not worse: then it holds for all of them
    /// together.
    pub is_shown: bool,
}

/// Tests arms from the largest context to the smallest, and stops to believe at the first that is not
/// shown to be "not worse". Each is tested with the full confidence; because the order is known
/// beforehand and nothing behind the first failure counts, the chance of a single wrong "shown" is
/// that of one test (Westfall & Krishen 2001). Returned in that order; the last with `is_shown` is the
/// smallest context.
///
/// `arms` are tokens and quality for each example, `scores` the range of the quality if it has one:
/// without it an arm that never differs from the baseline shows nothing.
///
/// # Errors
///
/// If an arm or the baseline lacks a value or has one that is out of range, or a setting of the
/// test means nothing.
pub fn smallest_context(
    examples: &SweepExamples,
    baseline: &[f64],
    arms: &[(Vec<f64>, Vec<f64>)],
    scores: Option<Interval>,
    test: &NonInferiorityTest,
) -> Result<Vec<ArmVerdict>, StatsError> {
    examples.check("the quality of the baseline", baseline)?;
    let marks = examples.marks();
    let mut verdicts = Vec::with_capacity(arms.len());
    for (arm, (tokens, quality)) in arms.iter().enumerate() {
        examples.check("the tokens of an arm", tokens)?;
        examples.check("the quality of an arm", quality)?;
        let mut differences =
            PairedDifferences::between(baseline, quality)?.clustered_by(&marks)?;
        if let Some(Interval { low, high }) = scores {
            differences = differences.within(low - high, high - low)?;
        }
        verdicts.push(ArmVerdict {
            arm,
            tokens: tokens.iter().sum::<f64>() / tokens.len() as f64,
            result: test.judge(&differences)?,
            is_shown: false,
        });
    }
    verdicts.sort_by(|a, b| b.tokens.total_cmp(&a.tokens));
    let mut so_far = true;
    for one in &mut verdicts {
        so_far &= matches!(one.result.verdict, Verdict::Better | Verdict::NotWorse);
        one.is_shown = so_far;
    }
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Resampling;

    const SHARE: Option<Interval> = Some(Interval {
        low: 0.0,
        high: 1.0,
    });

    #[test]
    fn nothing_behind_the_first_failure_counts() {
        let n = 400;
        let right = |share: usize| -> Vec<f64> {
            (0..n)
                .map(|at| f64::from(u8::from(at * 100 < share * n)))
                .collect()
        };
        let baseline = right(80);
        // The smallest arm is as good as the baseline, and still does not count.
        // The largest never differs from the baseline, which shows that it is not worse.
        let arms = [(50.0, 80), (100.0, 60), (200.0, 79), (400.0, 80)];
        let arms: Vec<_> = arms.iter().map(|(t, q)| (vec![*t; n], right(*q))).collect();
        let test = NonInferiorityTest {
            resampling: Resampling {
                resamples: 500,
                ..Resampling::seeded(1)
            },
            ..NonInferiorityTest::new(0.05)
        };
        let examples = SweepExamples::independent(n).unwrap();
        let found = smallest_context(&examples, &baseline, &arms, SHARE, &test).unwrap();
        let shown: Vec<(usize, bool)> = found.iter().map(|one| (one.arm, one.is_shown)).collect();
        assert_eq!(shown, [(3, true), (2, true), (1, false), (0, false)]);
        assert_eq!(found[2].result.verdict, Verdict::Worse);
        // Without a range nothing can be said of what never differs, nor of all behind it.
        let unbounded = smallest_context(&examples, &baseline, &arms, None, &test).unwrap();
        assert!(unbounded.iter().all(|one| !one.is_shown));
        assert!(smallest_context(&examples, &baseline[1..], &arms, SHARE, &test).is_err());
    }
}
