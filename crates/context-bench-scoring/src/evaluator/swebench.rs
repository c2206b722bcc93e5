//! SWE-bench: what the authors' harness found out, as scores; and how far a patch overlaps
//! the gold one, which is information and not a score of the benchmark.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::json;

use super::{Evaluator, EvaluatorError};
use crate::digest;
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::official::swebench::{self, Outcome};
use crate::text::overlap::Overlap;

/// What the harness says about one patch for an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwebenchOutcome {
    /// The patch, where it is known.
    pub patch: Option<String>,
    /// What the tests said.
    pub outcome: Outcome,
}

/// `resolved`: whether the tests of an instance pass, as reports of the harness say.
pub struct SwebenchReport {
    /// By instance; several where patches of several systems were run.
    outcomes: BTreeMap<String, Vec<SwebenchOutcome>>,
    names: [ScoreName; 1],
}

impl SwebenchReport {
    /// The score that it gives.
    pub const SCORE: &'static str = "resolved";
    /// Its name.
    pub const NAME: &'static str = "swebench_report";

    /// Scores by what is known of instances.
    pub fn new(outcomes: BTreeMap<String, Vec<SwebenchOutcome>>) -> Self {
        Self {
            outcomes,
            names: [Self::SCORE.into()],
        }
    }

    fn outcome(&self, id: &str, patch: &str) -> Result<&Outcome, String> {
        let Some(known) = self.outcomes.get(id) else {
            return Err(format!(
                "none of the {} instances of the report is `{id}`",
                self.outcomes.len()
            ));
        };
        let is_same = |one: &&SwebenchOutcome| match &one.patch {
            Some(other) => other.trim() == patch.trim(),
            None => true,
        };
        let found = known.iter().find(is_same);
        found
            .map(|one| &one.outcome)
            .ok_or_else(|| format!("the report is of another patch for `{id}`"))
    }
}

#[async_trait]
impl Evaluator for SwebenchReport {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["id"]]
    }

    fn caution(&self) -> Option<String> {
        let mut outcomes = self.outcomes.values().flatten();
        outcomes.any(|one| one.patch.is_none()).then(|| {
            "the report does not hold the patches that it is about, so it is taken to be about \
             those of every system of the run: `swebench_report:file=REPORT,predictions=FILE` \
             checks that"
                .to_owned()
        })
    }

    fn identity(&self) -> Option<Identity> {
        let said = digest::hex(format!("{:?}", self.outcomes).as_bytes());
        // 2: no patch is not resolved, whatever the report says.
        Some(Identity::new(self.name(), 2, json!({ "report": said })))
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let patch = swebench::patch(&output.response());
        // The harness does not run what is empty, and counts it as not resolved.
        let empty = Outcome::Unresolved("the response has no patch".to_owned());
        let outcome = match patch.trim().is_empty() {
            true => &empty,
            false => self.outcome(&example.stringified("id"), &patch)?,
        };
        let score = match outcome {
            Outcome::Resolved => Score::value(1.0),
            Outcome::Unresolved(why) => Score::value(0.0).because(why.as_str()),
            Outcome::NotRun => Score::unscored("the harness did not run this instance"),
        };
        Ok(self.names.iter().cloned().zip([score]).collect())
    }
}

/// `patch_overlap`: F1 over the words of the patch and the gold patch. Another patch may be
/// as right and one with the same words wrong: it says how near a patch is, not how good.
pub struct PatchOverlap;

#[async_trait]
impl Evaluator for PatchOverlap {
    fn name(&self) -> &str {
        "patch_overlap"
    }

    fn score_names(&self) -> &[ScoreName] {
        static NAMES: std::sync::LazyLock<[ScoreName; 1]> =
            std::sync::LazyLock::new(|| ["patch_overlap".into()]);
        &*NAMES
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["answer"]]
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, json!({})))
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let patch = swebench::patch(&output.response());
        let overlap = Overlap::official(&patch, &example.stringified("answer")).f1;
        Ok([("patch_overlap", overlap)].into_iter().collect())
    }
}
