//! Gates of a run: rules read from flags and files, and their names checked before anything is
//! sent.

use std::path::Path;

use context_bench_error::{Hint as _, suggest};

use super::{PlanError, ReopenedPlan, Surroundings};
use crate::evaluate::Evaluate;
use crate::gate::{
    BaselineRun, ERROR_RATE, GateError, GatePolicy, GateRule, PlannedGate, counterpart,
};
use crate::metric::RowCosts;
use crate::plan::{BenchmarkKind, RunPlan, ScoringSpec};
use crate::result::EvalResult;
use crate::store::Store;

/// The longest policy that is read; nobody writes so many rules.
const MAX_POLICY: u64 = 1 << 20;

/// Reads the rules of a spec.
pub(super) fn read(scoring: &ScoringSpec) -> Result<Vec<PlannedGate>, PlanError> {
    let mut gates = Vec::new();
    if let Some(path) = &scoring.policy {
        gates.extend(policy(path)?);
    }
    for text in &scoring.fail_if {
        let rule = GateRule::parse(text).map_err(|error| wrong(&error, text, None))?;
        gates.push(PlannedGate {
            rule: rule.text().to_owned(),
            place: None,
        });
    }
    Ok(gates)
}

fn policy(path: &Path) -> Result<Vec<PlannedGate>, PlanError> {
    let shown = path.display();
    let unreadable = |why: String| {
        PlanError::new(format!("cannot read the policy `{shown}`: {why}")).with_hint(
            "a policy is a text file with a rule such as `f1 < baseline - 0.02` on each line",
        )
    };
    let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if size.len() > MAX_POLICY {
        return Err(unreadable("it is larger than 1 MB".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    // Line by line, so that each rule knows where it stands.
    let mut gates = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let place = format!("{shown}:{}", at + 1);
        let found = GatePolicy::parse(line).map_err(|error| wrong(&error, line, Some(&place)))?;
        gates.extend(found.rules.iter().map(|rule| PlannedGate {
            rule: rule.text().to_owned(),
            place: Some(place.clone()),
        }));
    }
    match gates.is_empty() {
        true => Err(unreadable("there is no rule in it".into())),
        false => Ok(gates),
    }
}

/// The error for a rule that cannot be understood, with its place.
fn wrong(error: &GateError, text: &str, place: Option<&str>) -> PlanError {
    let column = error.position.column;
    let what = match place {
        Some(place) => format!("{}\n  at {place}:{column}", error.problem),
        None => format!(
            "gate `{}`: {}\n  at column {column}",
            text.trim(),
            error.problem
        ),
    };
    let made = PlanError::new(what);
    match error.hint() {
        Some(hint) => made.with_hint(hint),
        None => made,
    }
}

/// Checks the names in the rules of a plan before its run.
pub(super) fn check(run: &Evaluate, plan: &RunPlan) -> Result<(), PlanError> {
    let gates = &plan.scoring.gates;
    if gates.is_empty() {
        return match &plan.scoring.baseline_run {
            None => Ok(()),
            Some(_) => Err(
                PlanError::new("`--baseline-run` is for gates, and there is none")
                    .with_hint("add a rule, such as `--fail-if \"f1 < baseline - 0.02\"`"),
            ),
        };
    }
    let systems: Vec<String> = plan.systems.iter().map(|one| one.name.clone()).collect();
    let metrics = metrics(run, plan, &systems);
    let benchmarks: Vec<String> = plan.tags().into_keys().collect();
    // Examples of open files may say themselves which dataset they are of; what is nearly the
    // name of a known one is a mistake even there.
    let is_open = plan.benchmarks.iter().any(|one| one.is_open);
    for gate in gates {
        let rule = parsed(gate)?;
        let mut known = benchmarks.clone();
        for name in rule.benchmarks().into_iter().filter(|_| is_open) {
            let near = suggest::did_you_mean(name, benchmarks.iter().map(String::as_str));
            if near.is_none() {
                known.push(name.to_owned());
            }
        }
        let checked = rule.check_names(metrics.as_deref(), &known, &systems);
        checked.map_err(|error| wrong(&error, &gate.rule, gate.place.as_deref()))?;
        needs_two(&rule, gate, &systems, plan.scoring.baseline_run.is_some())?;
    }
    Ok(())
}

/// Checks the names in the rules of a plan against its result.
pub(super) fn check_result(result: &EvalResult, plan: &RunPlan) -> Result<(), PlanError> {
    check_names(
        result,
        &plan.scoring.gates,
        plan.scoring.baseline_run.is_some(),
    )
}

/// Checks the names in rules about a result that is there; `has_run` when it is compared with another
/// run.
pub(super) fn check_names(
    result: &EvalResult,
    gates: &[PlannedGate],
    has_run: bool,
) -> Result<(), PlanError> {
    let systems: Vec<String> = result.summary.keys().cloned().collect();
    for gate in gates {
        let rule = parsed(gate)?;
        let checked = result.check_rule_names(&rule);
        checked.map_err(|error| wrong(&error, &gate.rule, gate.place.as_deref()))?;
        needs_two(&rule, gate, &systems, has_run)?;
    }
    Ok(())
}

fn parsed(gate: &PlannedGate) -> Result<GateRule, PlanError> {
    GateRule::parse(&gate.rule).map_err(|error| wrong(&error, &gate.rule, gate.place.as_deref()))
}

/// A rule about a baseline needs one.
fn needs_two(
    rule: &GateRule,
    gate: &PlannedGate,
    systems: &[String],
    has_run: bool,
) -> Result<(), PlanError> {
    match rule.needs_baseline() && systems.len() < 2 && !has_run {
        false => Ok(()),
        true => Err(PlanError::new(format!(
            "gate `{}` compares with a baseline, and `{}` is the only system",
            gate.rule,
            systems.first().map_or("?", String::as_str)
        ))
        .with_hint("add a system to compare with, or name a stored run: `--baseline-run RUN`")),
    }
}

/// The metrics that a run will have; `None` when that shows only at the end.
fn metrics(run: &Evaluate, plan: &RunPlan, systems: &[String]) -> Option<Vec<String>> {
    // A program that brings its own metrics has not named them yet.
    if plan.scoring.metrics.is_some() {
        return None;
    }
    let measures = run.measures();
    let mut known = measures.metric_names(systems);
    known.push(ERROR_RATE.to_owned());
    known.extend(RowCosts::NAMES.map(str::to_owned));
    if plan.benchmarks.iter().all(|one| one.kind.is_dataset()) {
        return run.declares_scores().then_some(known);
    }
    for leaf in plan.tree.leaves() {
        let is_task = plan
            .benchmarks
            .iter()
            .any(|one| one.kind == BenchmarkKind::Task && one.tag == leaf.id);
        if leaf.python || !is_task {
            return None;
        }
        let config = leaf.config.to_json();
        // Functions and defaults of tasks name their metrics themselves.
        let listed = config.get("metric_list")?.as_array()?;
        for metric in listed {
            known.push(metric.get("metric")?.as_str()?.to_owned());
        }
    }
    Some(known)
}

/// The result of the stored run that gates compare with, if they do. The plan then has its id, so
/// that `last` means the same run for ever.
pub(super) fn baseline_run(
    plan: &mut RunPlan,
    store: &Store,
    around: &Surroundings,
) -> Result<Option<BaselineRun>, PlanError> {
    let Some(id) = &mut plan.scoring.baseline_run else {
        return Ok(None);
    };
    let reopened = ReopenedPlan::open(store, id)?;
    *id = reopened.stored.run.run.id().to_string();
    let result = reopened.plain_result(around, false)?;
    for system in &plan.systems {
        if counterpart(&result, &system.name).is_none() {
            let names: Vec<&str> = result.summary.keys().map(String::as_str).collect();
            let what = format!(
                "the baseline run {} has no system `{}`",
                reopened.stored.run.run.id(),
                system.name
            );
            let hint = format!(
                "it has {}; name the system alike, or compare with a run of one system",
                suggest::quoted_list(&names, "and")
            );
            return Err(PlanError::new(what).with_hint(hint));
        }
    }
    Ok(Some(BaselineRun::stored(result, reopened.stored)))
}
