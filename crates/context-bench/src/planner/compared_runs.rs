//! Stored runs compared: which systems of which runs belong together, which of their rows are about
//! the same examples, and what else differs between them.

use std::collections::{BTreeMap, HashMap};

use context_bench_error::suggest;
use indexmap::IndexSet;
use serde_json::Value;

use super::comparison::{check_margin_of, settings};
use super::{PlanError, ReopenedPlan, Surroundings, gates};
use crate::comparison::{
    ComparedRows, ComparisonSettings, ContentKey, RunComparison, compare_pairs,
};
use crate::example_keys::ExampleKeys;
use crate::gate::{Beside, CheckedGate, PlannedGate};
use crate::plan::ScoringSpec;
use crate::result::EvalResult;
use crate::store::EvaluatorEntry;

/// How stored runs are compared.
#[derive(Debug, Clone, Default)]
pub struct RunsToCompare {
    /// The system of the first run that all others are compared with. When `None`, systems of the
    /// same name are compared, or the only ones.
    pub baseline: Option<String>,
    /// The systems that are compared; all when empty.
    pub systems: Vec<String>,
    /// How much of the score may be lost; as the first run has it when `None`.
    pub margin: Option<f64>,
    /// The score that verdicts are about; that of the first run when `None`.
    pub score: Option<String>,
    /// How many resamples; see [`ComparisonSettings::resamples`].
    pub resamples: Option<usize>,
    /// How many flips are kept of each direction, with both answers.
    pub flips: usize,
    /// Rules that say when the other runs are not good enough beside the first (`fail_if` and `policy`
    /// of it count).
    pub gates: ScoringSpec,
}

/// Stored runs beside each other.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ComparedRuns {
    /// What differs.
    pub comparison: RunComparison,
    /// What became of the gates; none without rules.
    pub gates: Vec<CheckedGate>,
}

/// A stored run that was read.
struct ReadRun {
    id: String,
    result: EvalResult,
    /// Per system and row the example that it is about.
    examples: Vec<Vec<ContentKey>>,
}

impl ReadRun {
    fn names(&self) -> Vec<&str> {
        self.result.summary.keys().map(String::as_str).collect()
    }

    fn rows<'a>(&'a self, system: &'a str, label: Option<&'a str>) -> ComparedRows<'a> {
        let rows = ComparedRows::new(system, self.result.rows_of(system));
        let at = self.result.summary.get_index_of(system);
        let examples = at.and_then(|at| self.examples.get(at));
        match (label, examples) {
            (Some(run), Some(examples)) => rows.of_run(run, examples),
            _ => rows,
        }
    }
}

/// Compares the systems of stored runs with those of the first. With one run alone, its systems are
/// compared with each other. Blocks while it reads.
///
/// # Errors
///
/// When a store cannot be read, nothing belongs together, or a name is unknown.
pub fn compare_runs(
    runs: &[ReopenedPlan],
    how: &RunsToCompare,
    around: &Surroundings,
) -> Result<ComparedRuns, PlanError> {
    if let Some(margin) = how.margin {
        check_margin_of(margin)?;
    }
    let rules = gates::read(&how.gates)?;
    let Some(base) = runs.first() else {
        return Err(PlanError::new("no run to compare"));
    };
    let stored: Vec<_> = runs.iter().map(|run| &run.stored).collect();
    let ExampleKeys {
        runs: keys,
        prompts_differ,
    } = ExampleKeys::read(&stored)?;
    let mut read = Vec::with_capacity(runs.len());
    for (run, examples) in runs.iter().zip(keys) {
        read.push(ReadRun {
            id: run.stored.run.run.id().to_string(),
            result: run.plain_result(around, how.flips > 0)?,
            examples,
        });
    }
    let stored = base.stored.evaluators();
    let suite = base.suite_as_it_was(&stored, around);
    let plan = &base.manifest.plan;
    let mut settings = settings(plan, &suite);
    settings.margin = how.margin.or(settings.margin);
    settings.score = match &how.score {
        Some(score) => Some(known_score(score, &read)?),
        None => settings.score,
    };
    settings.resamples = how.resamples;
    settings.flips = how.flips;
    let plans: Vec<_> = runs.iter().map(|run| &run.manifest.plan).collect();
    settings.prices = super::prices::of_plans(&plans);
    let pairs = pairs(&read, how, &mut settings)?;
    let found = compare_pairs(&pairs, &settings);
    let mut found = found.ok_or_else(|| PlanError::new("there is nothing to compare"))?;
    for system in &mut found.systems {
        let Some(at) = read
            .iter()
            .position(|run| Some(&run.id) == system.run.as_ref())
        else {
            continue;
        };
        system.notes = remarks(&runs[0], &runs[at], prompts_differ[at]);
        system.notes.extend(renamed(&read[0], &read[at], system));
        system.notes.extend(read[at].result.part_of());
    }
    found.notes.extend(read[0].result.part_of());
    let gates = checked(&read, how, &rules)?;
    Ok(ComparedRuns {
        comparison: found,
        gates,
    })
}

/// What became of the rules: every other run beside the first, or the systems of the only run beside
/// each other.
fn checked(
    read: &[ReadRun],
    how: &RunsToCompare,
    rules: &[PlannedGate],
) -> Result<Vec<CheckedGate>, PlanError> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let (base, others) = (&read[0], &read[1..]);
    let is_wanted =
        |gate: &CheckedGate| how.systems.is_empty() || how.systems.contains(&gate.system);
    let mut found = Vec::new();
    if others.is_empty() {
        let mut result = base.result.clone();
        if let Some(baseline) = &how.baseline {
            result.compare_with(baseline);
        }
        gates::check_names(&result, rules, false)?;
        found = result.check_gates(rules, None);
    }
    for run in others {
        gates::check_names(&run.result, rules, true)?;
        let beside = Beside {
            run: &base.result,
            keys: Some((&base.examples, &run.examples)),
            system: how.baseline.as_deref(),
        };
        let own = run.result.check_gates(rules, Some(beside));
        found.extend(own.into_iter().map(|gate| CheckedGate {
            run: Some(run.id.clone()),
            ..gate
        }));
    }
    found.retain(is_wanted);
    Ok(found)
}

fn known_score(score: &str, read: &[ReadRun]) -> Result<String, PlanError> {
    let names: IndexSet<String> = read
        .iter()
        .flat_map(|run| run.result.score_names())
        .map(|name| name.to_string())
        .collect();
    let names: Vec<String> = names.into_iter().collect();
    if names.iter().any(|name| name == score) {
        return Ok(score.to_owned());
    }
    let hint = suggest::did_you_mean(score, names.iter().map(String::as_str))
        .unwrap_or_else(|| format!("there is {}", suggest::quoted_list(&names, "and")));
    Err(PlanError::new(format!("no row has a score `{score}`")).with_hint(hint))
}

/// Which systems are compared with which.
fn pairs<'a>(
    read: &'a [ReadRun],
    how: &'a RunsToCompare,
    settings: &mut ComparisonSettings,
) -> Result<Vec<(ComparedRows<'a>, ComparedRows<'a>)>, PlanError> {
    let (base, others) = (&read[0], &read[1..]);
    let everywhere: IndexSet<&str> = read.iter().flat_map(ReadRun::names).collect();
    let everywhere: Vec<&str> = everywhere.into_iter().collect();
    let is_known = |name: &String| everywhere.contains(&name.as_str());
    if let Some(unknown) = how.systems.iter().find(|name| !is_known(name)) {
        return Err(unknown_system(unknown, &everywhere, "no run has a system"));
    }
    if let Some(name) = &how.baseline
        && !base.names().contains(&name.as_str())
    {
        return Err(unknown_system(
            name,
            &base.names(),
            "the first run has no system",
        ));
    }
    let is_wanted =
        |name: &str| how.systems.is_empty() || how.systems.iter().any(|one| one == name);
    if others.is_empty() {
        let default = settings
            .baseline
            .as_deref()
            .or_else(|| base.names().first().copied());
        let default = default.map(str::to_owned);
        let baseline = how.baseline.clone().or(default).unwrap_or_default();
        let Some(baseline) = base.names().into_iter().find(|name| **name == baseline) else {
            return Err(PlanError::new(format!("run {} has no systems", base.id)));
        };
        let own = base.names().into_iter();
        let own = own.filter(|name| *name != baseline && is_wanted(name));
        let found: Vec<_> = own
            .map(|name| (base.rows(baseline, None), base.rows(name, None)))
            .collect();
        return match found.is_empty() {
            true => Err(PlanError::new(format!("run {} has one system", base.id))
                .with_hint("name a second run: `context-bench compare BASE NEW`")),
            false => Ok(found),
        };
    }
    let mut found = Vec::new();
    for run in others {
        let own: Vec<&str> = run
            .names()
            .into_iter()
            .filter(|name| is_wanted(name))
            .collect();
        let only = match (base.names().as_slice(), own.as_slice()) {
            ([old], [_]) => Some(*old),
            _ => None,
        };
        for name in own {
            let same = base.names().into_iter().find(|old| *old == name);
            let baseline = how.baseline.as_deref().or(same).or(only);
            if let Some(baseline) = baseline {
                let old = base.rows(baseline, Some(&base.id));
                found.push((old, run.rows(name, Some(&run.id))));
            }
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => {
            let what = format!("no system of the other runs has a name of run {}", base.id);
            let names = suggest::quoted_list(&base.names(), "or");
            Err(PlanError::new(what).with_hint(format!(
                "say which one they are compared with: `--baseline` with {names}"
            )))
        }
    }
}

fn unknown_system(name: &str, known: &[&str], what: &str) -> PlanError {
    let hint = suggest::did_you_mean(name, known.iter().copied())
        .unwrap_or_else(|| format!("use {}", suggest::quoted_list(known, "or")));
    PlanError::new(format!("{what} `{name}`")).with_hint(hint)
}

/// What differs between two runs beside their systems.
pub(super) fn remarks(
    base: &ReopenedPlan,
    other: &ReopenedPlan,
    prompts_differ: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let evaluators = |run: &ReopenedPlan| -> BTreeMap<String, EvaluatorEntry> {
        let all = run.stored.run.scorers.iter();
        all.map(|one| (one.name.clone(), one.clone())).collect()
    };
    let (old, new) = (evaluators(base), evaluators(other));
    for (name, was) in &old {
        let Some(is) = new.get(name) else {
            notes.push(format!("`{name}` scored only the first run"));
            continue;
        };
        if was.version != is.version {
            notes.push(format!(
                "`{name}` is version {} in the first run and {} here: `context-bench rescore` \
                 scores both alike",
                was.version, is.version
            ));
        } else if was.settings != is.settings {
            notes.push(format!("`{name}` has other settings in the first run"));
        }
    }
    let only_new = new.keys().filter(|name| !old.contains_key(*name));
    notes.extend(only_new.map(|name| format!("`{name}` did not score the first run")));
    let prompts = |run: &ReopenedPlan| run.manifest.provenance().get("prompts").cloned();
    if prompts_differ || prompts(base) != prompts(other) {
        notes.push("models were asked with other prompts in the first run".to_owned());
    }
    let models = |run: &ReopenedPlan| -> HashMap<String, String> {
        let models = run.manifest.plan.harness.models.iter();
        models
            .map(|(system, model)| (system.clone(), model.clone()))
            .collect()
    };
    let (old, new) = (models(base), models(other));
    let mut changed: Vec<String> = old
        .iter()
        .filter_map(|(system, was)| {
            let is = new.get(system).filter(|is| *is != was)?;
            Some(format!(
                "{system} was answered by {was} in the first run and by {is} here"
            ))
        })
        .collect();
    changed.sort_unstable();
    notes.extend(changed);
    let version = |run: &ReopenedPlan| -> Option<String> {
        let provenance = run.stored.run.config.get("provenance")?;
        Some(
            provenance
                .get("version")
                .and_then(Value::as_str)?
                .to_owned(),
        )
    };
    if let (Some(old), Some(new)) = (version(base), version(other))
        && old != new
    {
        notes.push(format!(
            "context-bench {old} made the first run, {new} this one"
        ));
    }
    notes
}

/// That ids are the same and contents are not, so that nobody wonders why rows have no partner.
fn renamed(
    base: &ReadRun,
    other: &ReadRun,
    system: &crate::comparison::SystemComparison,
) -> Option<String> {
    if system.matched.only_baseline == 0 || system.matched.only_system == 0 {
        return None;
    }
    let ids = |run: &ReadRun, name: &str| {
        let at = run.result.summary.get_index_of(name)?;
        let keys = run.examples.get(at)?;
        let rows = run.result.rows_of(name).iter().zip(keys);
        let ids = rows.map(|(row, key)| ((row.dataset.clone(), row.example_id.clone()), *key));
        Some(ids.collect::<HashMap<_, _>>())
    };
    let (old, new) = (ids(base, &system.baseline)?, ids(other, &system.system)?);
    let moved = old
        .iter()
        .filter(|(id, key)| new.get(*id).is_some_and(|other| other != *key))
        .count();
    (moved > 0).then(|| {
        format!("{moved} examples have an id that the first run has too, and another content")
    })
}
