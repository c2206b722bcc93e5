//! Many stored runs at a glance: who was asked, about what, with which score.
//!
//! Rows are counted, not read: a run is summed up in whole by [`ReopenedPlan`] alone.

use super::reopened_plan::ReopenedPlan;
use super::scoring::USUAL_SCORE;
use super::systems::who_answers;
use super::{PlanError, earlier_versions};
use crate::plan::{PLAN_VERSION, RunManifest, RunPlan};
use crate::reopened_run::ReopenedRun;
use crate::store::{RunStatus, Store, StoredRun};

/// A run at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Datasets, tasks and groups as they were named.
    pub benchmarks: Vec<String>,
    /// What the score is called; `None` when rows have none.
    pub score_field: Option<String>,
    /// Per system.
    pub systems: Vec<SystemOverview>,
}

/// What happened to one system in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemOverview {
    /// The system.
    pub name: String,
    /// The model that answered, when there is one.
    pub model: Option<String>,
    /// Answers that were planned; `None` while that is not known.
    pub planned: Option<usize>,
    /// Rows that are there.
    pub rows: usize,
    /// Rows that have the score.
    pub scored: usize,
    /// Rows that failed.
    pub failed: usize,
    /// The mean of the score over the rows that have it.
    pub mean: Option<f64>,
}

/// A stored run at a glance. Costs a look at each of its rows and at no answer.
///
/// # Errors
///
/// When the store cannot be read, or a later version planned the run.
pub fn overview(store: &Store, run: &StoredRun) -> Result<Overview, PlanError> {
    let manifest = match RunManifest::of(&run.config) {
        Some(manifest) if manifest.plan.version > PLAN_VERSION => {
            return Err(ReopenedPlan::later(run, manifest.plan.version));
        }
        Some(manifest) => manifest,
        None => earlier_versions::manifest(&ReopenedRun::of(store, run.clone()))?,
    };
    let plan = &manifest.plan;
    let tallies = store.tally(run, &|tag| field(plan, tag))?;
    let mut benchmarks: Vec<String> = Vec::new();
    for node in &plan.tree.nodes {
        if !benchmarks.iter().any(|known| known == node.id()) {
            benchmarks.push(node.id().to_owned());
        }
    }
    if benchmarks.is_empty() {
        let tags = tallies.iter().flat_map(|tally| &tally.datasets);
        for tag in tags {
            if !benchmarks.contains(tag) {
                benchmarks.push(tag.clone());
            }
        }
    }
    let planned = run.origin().planned.or_else(|| plan.rows());
    let most = tallies.iter().map(|tally| tally.rows).max();
    let planned = planned.or(match run.status {
        RunStatus::Finished => most,
        _ => None,
    });
    let systems = run.systems.iter().zip(tallies).enumerate();
    let systems = systems.map(|(at, (system, tally))| {
        let decided = plan.systems.get(at);
        let model = decided.and_then(who_answers);
        let asked = system.settings.pointer("/settings/model");
        let asked = asked.and_then(serde_json::Value::as_str);
        SystemOverview {
            name: system.name.clone(),
            model: model
                .or_else(|| asked.map(str::to_owned))
                .filter(|model| !model.is_empty()),
            planned: planned.map(|n| n.max(tally.rows)),
            rows: tally.rows,
            scored: tally.scored,
            failed: tally.failed,
            mean: (tally.scored > 0).then(|| tally.sum / tally.scored as f64),
        }
    });
    Ok(Overview {
        systems: systems.collect(),
        score_field: plan.scoring.score_field.clone(),
        benchmarks,
    })
}

/// The score that stands for a row of that tag.
pub(super) fn field(plan: &RunPlan, tag: &str) -> Option<String> {
    if !plan.scoring.is_common {
        return plan.scoring.score_field.clone();
    }
    let named = plan.benchmarks.iter().find(|one| one.tag == tag);
    let open = || plan.benchmarks.iter().find(|one| one.is_open);
    let own = named.or_else(open).and_then(|one| one.score_field.clone());
    Some(own.unwrap_or_else(|| USUAL_SCORE.to_owned()))
}
