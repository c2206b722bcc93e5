//! [`Stopping`]: what a run showed while it went on, and how many examples that saved.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::Interval;
use crate::result::EvalResult;
use crate::runner::{Decision, StopWhenDecided};
use crate::stats::Verdict;

/// What a run showed while it went on (`--stop-when-decided`).
///
/// Its intervals are anytime-valid: they hold however often one looks, and when one stops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stopping {
    /// What systems were compared with.
    pub baseline: String,
    /// The score that decided.
    pub score: String,
    /// How much of it may be lost.
    pub margin: f64,
    /// The confidence of all looks at one system together.
    pub confidence: f64,
    /// What decided the order of examples.
    pub seed: u64,
    /// Examples that there were; `None` when the dataset did not end.
    pub examples: Option<usize>,
    /// Those that nobody was asked about.
    pub saved: Option<usize>,
    /// Whether everything was decided before the last example.
    pub ended_early: bool,
    /// What was shown about each system.
    pub systems: IndexMap<String, SequentialVerdict>,
}

/// What was shown about a system while the run went on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SequentialVerdict {
    /// What is shown.
    pub verdict: Verdict,
    /// Examples with a score of both that it rests on.
    pub examples: usize,
    /// What was drawn as one: fewer where examples belong together.
    pub clusters: u64,
    /// Examples among them of which a score is missing.
    pub missing: usize,
    /// Examples that the system was not asked about.
    pub saved: Option<usize>,
    /// The mean difference "system − baseline".
    pub difference: Option<f64>,
    /// Its anytime-valid interval.
    pub interval: Interval,
    /// Why nothing could be decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl EvalResult {
    /// What a system that is decided about was not asked is not missing.
    pub(crate) fn leave_out_what_was_saved(&mut self) {
        let Some(stopping) = &self.stopping else {
            return;
        };
        for (system, counts) in &mut self.counts {
            if stopping.is_done(system) {
                counts.planned -= counts.not_run();
            }
        }
    }
}

impl Stopping {
    /// The member of a stored run's settings.
    pub(crate) const MEMBER: &str = "stopping";

    /// What a stored run keeps of it.
    pub(crate) fn note(&self) -> Option<(&'static str, Value)> {
        Some((Self::MEMBER, serde_json::to_value(self).ok()?))
    }

    /// What a run showed, from the decisions of its runner; `rows` are how many each system has.
    pub(crate) fn of(
        settings: &StopWhenDecided,
        names: &[String],
        rows: &[usize],
        decisions: &[Decision],
        examples: Option<usize>,
        asked: usize,
    ) -> Self {
        let saved = |done: usize| examples.map(|all| all.saturating_sub(done));
        let systems = decisions.iter().filter_map(|one| {
            let verdict = SequentialVerdict {
                verdict: one.verdict,
                examples: one.examples,
                clusters: one.clusters,
                missing: one.missing,
                saved: saved(*rows.get(one.system)?),
                difference: one.difference,
                interval: one.interval,
                problem: one.problem.clone(),
            };
            Some((names.get(one.system)?.clone(), verdict))
        });
        let mut stopping = Self {
            baseline: settings.baseline.clone(),
            score: settings.score_field.clone(),
            margin: settings.margin,
            confidence: 0.95,
            seed: settings.seed,
            examples,
            saved: saved(asked),
            ended_early: false,
            systems: systems.collect(),
        };
        let all_done = stopping.systems.keys().all(|name| stopping.is_done(name));
        stopping.ended_early =
            all_done && !stopping.systems.is_empty() && stopping.saved.unwrap_or(0) > 0;
        stopping
    }

    /// Whether the system is decided about, so that what it was not asked about is not missing.
    pub(crate) fn is_done(&self, system: &str) -> bool {
        let own = self.systems.get(system);
        match own {
            Some(own) => own.problem.is_none() && own.verdict.is_decided(),
            None => system == self.baseline && self.ended_early,
        }
    }

    /// A sentence for each system.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |(system, own): (&String, &SequentialVerdict)| {
            let (margin, score) = (self.margin, &self.score);
            let what = match own.verdict {
                Verdict::Better => "better".to_owned(),
                Verdict::NotWorse => format!("not worse by more than {margin}"),
                Verdict::Worse => format!("worse by more than {margin}"),
                Verdict::Inconclusive => format!("nothing decided about a margin of {margin}"),
            };
            let Interval { low, high } = own.interval;
            let found = own.difference.map(|difference| {
                format!(": {score} {difference:+.3} [{low:+.3}, {high:+.3}] at any time")
            });
            let saved = match (own.saved, self.examples) {
                (Some(saved), Some(all)) if saved > 0 => {
                    format!("; {saved} of {all} examples saved")
                }
                _ => String::new(),
            };
            let problem = own.problem.as_ref().map(|why| format!(" ({why})"));
            format!(
                "{system} against {}: {what} after {} examples{}{saved}{}",
                self.baseline,
                own.examples + own.missing,
                found.unwrap_or_default(),
                problem.unwrap_or_default(),
            )
        };
        self.systems.iter().map(sentence).collect()
    }
}
