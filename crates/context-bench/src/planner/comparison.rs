//! How the systems of a run are compared with its baseline: by which score, with which margin, and
//! how the scores of groups are made.

use std::collections::{BTreeSet, HashMap};

use context_bench_tasks::aggregate::AggregateMetric;
use context_bench_tasks::{Group, Node};

use super::PlanError;
use crate::benchmark::Suite;
use crate::comparison::{ComparisonSettings, GroupMember, GroupShape, Scope};
use crate::plan::{PlannedBenchmark, RunPlan, RunSpec};

/// How the systems of a planned run are compared.
pub(super) fn settings(plan: &RunPlan, suite: &Suite) -> ComparisonSettings {
    let scoring = &plan.scoring;
    let mut settings = ComparisonSettings::default();
    settings.baseline.clone_from(&scoring.baseline);
    settings.score.clone_from(&scoring.score_field);
    settings.margin = scoring.margin;
    settings.threshold = scoring.threshold;
    let less: BTreeSet<String> = suite
        .benchmarks()
        .flat_map(|one| one.less_is_better())
        .collect();
    settings.less_is_better = less.into_iter().collect();
    for benchmark in &plan.benchmarks {
        let scope = match benchmark.kind.is_dataset() {
            true => Scope::Dataset,
            false => Scope::Task,
        };
        let named = (scope, benchmark.key.clone());
        // The same examples may be there under several keys.
        settings
            .scopes
            .entry(benchmark.tag.clone())
            .or_insert(named);
    }
    settings.groups = groups(plan);
    settings.prices = super::prices::of_plans(&[plan]);
    settings
}

/// The margin of a spec must be a size.
pub(super) fn check_margin(spec: &RunSpec) -> Result<(), PlanError> {
    match spec.scoring.margin {
        Some(margin) => check_margin_of(margin),
        None => Ok(()),
    }
}

/// A margin must be a size.
pub(super) fn check_margin_of(margin: f64) -> Result<(), PlanError> {
    if margin.is_finite() && margin >= 0.0 {
        return Ok(());
    }
    let what = format!("the margin must be a number of 0 or more, not {margin}");
    Err(PlanError::new(what).with_hint(
        "it is how much of the score may be lost, in its own unit: 0.02 is two points of f1",
    ))
}

/// The groups of a plan, once for every score that they have.
fn groups(plan: &RunPlan) -> Vec<GroupShape> {
    let planned = plan.benchmarks.iter();
    let benchmarks: HashMap<&str, &PlannedBenchmark> =
        planned.map(|one| (one.key.as_str(), one)).collect();
    let keys = plan.tree.keys();
    let mut keys = keys.iter();
    let mut shapes = Vec::new();
    for node in &plan.tree.nodes {
        let node = read(node, &mut keys, &benchmarks);
        collect(&node, plan.scoring.is_common, &mut shapes);
    }
    shapes
}

/// A node of the tree with the benchmarks of its leaves.
enum Placed<'a> {
    Task(Option<&'a PlannedBenchmark>),
    Group(&'a Group, Vec<Placed<'a>>),
}

fn read<'a, 'k>(
    node: &'a Node,
    keys: &mut impl Iterator<Item = &'k String>,
    benchmarks: &HashMap<&str, &'a PlannedBenchmark>,
) -> Placed<'a> {
    match node {
        Node::Task(_) => {
            let key = keys.next();
            Placed::Task(key.and_then(|key| benchmarks.get(key.as_str()).copied()))
        }
        Node::Group(group) => {
            let members = group.children.iter();
            let members = members.map(|child| read(child, keys, benchmarks));
            Placed::Group(group, members.collect())
        }
    }
}

fn collect(node: &Placed<'_>, is_common: bool, shapes: &mut Vec<GroupShape>) {
    let Placed::Group(group, members) = node else {
        return;
    };
    for aggregate in &group.aggregate {
        for score in names(aggregate, node) {
            shapes.push(shape(group, members, aggregate, Some(score)));
        }
    }
    // Where tasks are scored differently, verdicts are about the score that all have.
    if let Some(first) = group.aggregate.first().filter(|_| is_common) {
        shapes.push(shape(group, members, first, None));
    }
    for member in members {
        collect(member, is_common, shapes);
    }
}

/// What rows call an aggregated metric: with the name of its filter where tasks have several.
fn names(aggregate: &AggregateMetric, node: &Placed<'_>) -> BTreeSet<String> {
    let plain = aggregate.metric.as_str();
    let named = |filter: &String| match filter.as_str() {
        "none" => plain.to_owned(),
        filter => format!("{plain},{filter}"),
    };
    if let Some(filters) = &aggregate.filters {
        return filters.iter().map(named).collect();
    }
    let mut names = BTreeSet::from([plain.to_owned()]);
    for benchmark in leaves(node) {
        let field = benchmark.score_field.as_deref().unwrap_or_default();
        if field
            .split_once(',')
            .is_some_and(|(metric, _)| metric == plain)
        {
            names.insert(field.to_owned());
        }
    }
    names
}

fn leaves<'a>(node: &Placed<'a>) -> Vec<&'a PlannedBenchmark> {
    match node {
        Placed::Task(benchmark) => benchmark.iter().copied().collect(),
        Placed::Group(_, members) => members.iter().flat_map(leaves).collect(),
    }
}

fn shape(
    group: &Group,
    members: &[Placed<'_>],
    aggregate: &AggregateMetric,
    score: Option<String>,
) -> GroupShape {
    let tag = |one: &PlannedBenchmark| GroupMember::Tag(one.tag.clone());
    let own = match aggregate.over_members {
        false => members.iter().flat_map(leaves).map(tag).collect(),
        true => {
            let one = |member: &Placed<'_>| match member {
                Placed::Task(benchmark) => benchmark.map(tag),
                Placed::Group(group, members) => {
                    let mut own = group.aggregate.iter();
                    let own = own.find(|one| one.metric == aggregate.metric)?;
                    let inner = shape(group, members, own, score.clone());
                    Some(GroupMember::Group(inner))
                }
            };
            members.iter().filter_map(one).collect()
        }
    };
    GroupShape::new(&group.id, score, aggregate.weight_by_size, own)
}
