//! [`SweepReport`]: what the arms of a sweep show together: quality against tokens, the smallest
//! context that is good enough, and two layers at equal compression.

use serde::{Deserialize, Serialize};

use crate::aligned::{mark, prompt_tokens, resampling, rows_of_all};
use crate::model::{EvalRow, Interval};
use crate::result::EvalResult;
use crate::stats::{
    NonInferiorityTest, SweepCurve, SweepExamples, Verdict, at_equal_compression, smallest_context,
};

/// A sweep of a plan: one setting of one system, and an arm for each value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedSweep {
    /// What reports call it: `extractive:ratio`.
    pub name: String,
    /// The setting.
    pub setting: String,
    /// Its arms, from the smallest value to the largest.
    pub arms: Vec<PlannedSweepArm>,
}

/// An arm of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedSweepArm {
    /// The system.
    pub system: String,
    /// The value of its setting.
    pub value: f64,
}

/// What a sweep shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SweepReport {
    /// What reports call it.
    pub name: String,
    /// The setting.
    pub setting: String,
    /// The score that stands for quality.
    pub score: String,
    /// What arms are compared with, when that is no arm of the sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How much may be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Examples that every arm has a score and tokens for.
    pub examples: usize,
    /// The arms in order of their tokens.
    pub points: Vec<SweepPoint>,
    /// The quality that a budget chosen at random from the range would give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<AreaUnderCurve>,
    /// The arm with the smallest context that is shown to be not worse by more than the margin, and
    /// so is every larger one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest: Option<String>,
    /// Other sweeps of the run beside this one, at the same numbers of tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<EqualTokens>,
}

/// An arm as a point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SweepPoint {
    /// The system.
    pub system: String,
    /// The value of the setting.
    pub value: f64,
    /// Mean prompt tokens.
    pub tokens: f64,
    /// Their 95 % interval.
    pub tokens_interval: Interval,
    /// Mean quality.
    pub quality: f64,
    /// Its 95 % interval.
    pub quality_interval: Interval,
    /// The mean difference to the baseline, if there is a margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_interval: Option<Interval>,
    /// What is shown about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Whether it and every arm with more tokens are not worse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_shown: Option<bool>,
}

/// The area under a curve, divided by the width of its range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AreaUnderCurve {
    /// The mean height of the curve.
    pub area: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// The range of tokens.
    pub tokens: Interval,
}

/// This sweep beside another, at the same numbers of tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EqualTokens {
    /// The other sweep.
    pub sweep: String,
    /// The tokens that both reach.
    pub tokens: Interval,
    /// How much higher this one is, on average over them.
    pub difference: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// The same at single numbers of tokens: tokens, difference, its interval.
    pub at: Vec<(f64, f64, Interval)>,
}

/// Single numbers of tokens at which two sweeps are compared.
const STEPS: usize = 5;

impl EvalResult {
    /// Draws the curves of sweeps.
    pub(crate) fn sum_up_sweeps(&mut self, sweeps: &[PlannedSweep], margin: Option<f64>) {
        let curves = sweeps.iter().filter_map(|sweep| curve(self, sweep, margin));
        let mut found: Vec<SweepReport> = curves.collect();
        for (at, sweep) in sweeps.iter().enumerate() {
            for other in &sweeps[..at] {
                let compared = beside(self, other, sweep);
                let report = found.iter_mut().find(|one| one.name == sweep.name);
                if let (Some(compared), Some(report)) = (compared, report) {
                    report.beside.push(compared);
                }
            }
        }
        self.sweeps = found;
    }
}

/// Tokens and quality of arms over the examples that all rows lists have.
type Columns = Vec<(Vec<f64>, Vec<f64>)>;

/// The columns of systems over the examples that every one has a score and tokens for.
fn columns(result: &EvalResult, systems: &[&str], score: &str) -> Option<(SweepExamples, Columns)> {
    let rows: Vec<&[EvalRow]> = systems.iter().map(|name| result.rows_of(name)).collect();
    let fits = |row: &EvalRow| row.score(score).is_some() && prompt_tokens(row).is_some();
    let all = rows_of_all(&rows, fits);
    let marks: Vec<_> = all
        .iter()
        .filter_map(|rows| Some(mark(rows.first()?)))
        .collect();
    let examples = SweepExamples::clustered_by(&marks).ok()?;
    let column = |at: usize| {
        let of = |value: &dyn Fn(&EvalRow) -> Option<f64>| -> Vec<f64> {
            all.iter()
                .map(|rows| value(rows[at]).unwrap_or(f64::NAN))
                .collect()
        };
        (of(&prompt_tokens), of(&|row| row.score(score)))
    };
    Some((examples, (0..systems.len()).map(column).collect()))
}

fn curve(result: &EvalResult, sweep: &PlannedSweep, margin: Option<f64>) -> Option<SweepReport> {
    let score = result.measures.score_field.clone()?;
    let own = sweep.arms.iter().map(|arm| arm.system.as_str());
    let own: Vec<&str> = own
        .filter(|name| result.summary.contains_key(*name))
        .collect();
    let baseline = result.baseline().filter(|name| !own.contains(name));
    let systems: Vec<&str> = own.iter().copied().chain(baseline).collect();
    let (examples, mut arms) = columns(result, &systems, &score)?;
    let baseline_scores = baseline
        .and_then(|_| arms.pop())
        .map(|(_, quality)| quality);
    let draws = resampling(examples.count(), 2 * arms.len());
    let curve = SweepCurve::new(examples.clone(), arms.clone()).ok()?;
    let area = curve.area(0.95, &draws).ok().flatten();
    let mut points: Vec<SweepPoint> = Vec::new();
    for point in curve.points(0.95, &draws).ok()? {
        let system = own.get(point.arm)?;
        let value = sweep.arms.iter().find(|arm| arm.system == *system);
        points.push(SweepPoint {
            system: (*system).to_owned(),
            value: value.map_or(f64::NAN, |arm| arm.value),
            tokens: point.tokens,
            tokens_interval: point.tokens_interval,
            quality: point.quality,
            quality_interval: point.quality_interval,
            difference: None,
            difference_interval: None,
            verdict: None,
            is_shown: None,
        });
    }
    let mut smallest = None;
    if let (Some(margin), Some(old)) = (margin, &baseline_scores) {
        let test = NonInferiorityTest {
            resampling: draws,
            ..NonInferiorityTest::new(margin)
        };
        let range = result.measures.scores_within();
        let verdicts = smallest_context(&examples, old, &arms, range, &test).unwrap_or_default();
        for one in verdicts {
            let name = own.get(one.arm)?;
            if let Some(point) = points.iter_mut().find(|point| point.system == *name) {
                point.difference = Some(one.result.difference);
                point.difference_interval = one.result.interval;
                point.verdict = Some(one.result.verdict);
                point.is_shown = Some(one.is_shown);
            }
            if one.is_shown {
                smallest = Some((*name).to_owned());
            }
        }
    }
    Some(SweepReport {
        name: sweep.name.clone(),
        setting: sweep.setting.clone(),
        score,
        baseline: baseline.map(str::to_owned),
        margin: margin.filter(|_| baseline.is_some()),
        examples: examples.count(),
        points,
        area: area.map(|area| AreaUnderCurve {
            area: area.area,
            interval: area.interval,
            tokens: area.tokens,
        }),
        smallest,
        beside: Vec::new(),
    })
}

/// A sweep beside an earlier one, over the examples of both.
fn beside(result: &EvalResult, other: &PlannedSweep, own: &PlannedSweep) -> Option<EqualTokens> {
    let score = result.measures.score_field.clone()?;
    let arms = other.arms.iter().chain(&own.arms);
    let systems: Vec<&str> = arms.map(|arm| arm.system.as_str()).collect();
    let (examples, mut first) = columns(result, &systems, &score)?;
    let draws = resampling(examples.count(), 2 * systems.len());
    let second = first.split_off(other.arms.len());
    let first = SweepCurve::new(examples.clone(), first).ok()?;
    let second = SweepCurve::new(examples, second).ok()?;
    let found = at_equal_compression(&first, &second, STEPS, 0.95, &draws).ok()??;
    Some(EqualTokens {
        sweep: other.name.clone(),
        tokens: found.tokens,
        difference: found.mean,
        interval: found.interval,
        at: found.at,
    })
}
