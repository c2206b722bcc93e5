//! [`compare_columns`]: systems beside their baseline in the one score that verdicts are about, from
//! columns of values instead of rows: for runs that are too large to be held.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::compare::adjust;
use super::estimate::{CONFIDENCE, PairedValues, Question};
use super::group::{self, TaskValues};
use super::measure::Measure;
use super::{
    COMPARISON_FORMAT, ComparisonSettings, Difference, Flip, Matched, RunComparison, Scope,
    SystemComparison, sentence,
};

/// The values of a system and its baseline, pair by pair.
#[derive(Debug, Clone, Default)]
pub struct ScoreColumns {
    /// The name of the baseline, and its stored run where runs are compared.
    pub baseline: (String, Option<String>),
    /// The same of the system.
    pub system: (String, Option<String>),
    /// What the baseline and the system got; not a number where there is no score.
    pub values: Vec<(f64, f64)>,
    /// Per pair the number of its dataset.
    pub datasets: Vec<u16>,
    /// Per pair the number of its cluster; empty when each is its own.
    pub clusters: Vec<u32>,
    /// How many rows were paired, and how many not.
    pub matched: Matched,
    /// The first flips.
    pub flips: Vec<Flip>,
}

/// Every system beside its baseline in the score `score`; `tags` are the datasets by number. Columns are
/// asked for one after the other, so that no more than one is in memory. `None` without any.
pub fn compare_columns(
    columns: impl Iterator<Item = ScoreColumns>,
    tags: &[String],
    score: &str,
    settings: &ComparisonSettings,
) -> Option<RunComparison> {
    let mut systems = Vec::new();
    for one in columns {
        systems.push(of_system(one, tags, score, settings));
    }
    for system in &mut systems {
        system.sentence = sentence::of(system, Some(score));
    }
    Some(RunComparison {
        format: COMPARISON_FORMAT,
        baseline: systems.first()?.baseline.clone(),
        score: Some(score.to_owned()),
        margin: settings.margin,
        confidence: CONFIDENCE,
        threshold: settings.threshold,
        seed: settings.seed,
        systems,
        notes: Vec::new(),
    })
}

fn of_system(
    columns: ScoreColumns,
    tags: &[String],
    score: &str,
    settings: &ComparisonSettings,
) -> SystemComparison {
    let measure = Measure::Score(score.to_owned());
    let values = || columns.values.iter().flat_map(|pair| [pair.0, pair.1]);
    let is_share = values().all(|value| !value.is_finite() || (0.0..=1.0).contains(&value));
    let question = |scope: Scope, name: &str| -> Option<Difference> {
        let is_own = |at: usize| match scope {
            Scope::All => true,
            _ => columns.datasets.get(at).is_some_and(|number| {
                let tag = tags.get(usize::from(*number));
                tag.is_some_and(|tag| tag == name)
            }),
        };
        let n = (0..columns.values.len()).filter(|at| is_own(*at)).count();
        let mut paired = PairedValues::with_room(n);
        for (at, (old, new)) in columns.values.iter().enumerate() {
            if is_own(at) {
                let finite = |value: &f64| Some(*value).filter(|value| value.is_finite());
                let cluster = columns.clusters.get(at).copied();
                paired.push((finite(old), finite(new)), cluster);
            }
        }
        let asked = asked(settings, &measure, (scope, name), is_share);
        asked.answer(&paired)
    };
    let overall = question(Scope::All, "");
    let mut used: Vec<u16> = columns.datasets.clone();
    used.sort_unstable();
    used.dedup();
    let mut differences: Vec<Difference> = overall.iter().cloned().collect();
    for number in &used {
        let Some(tag) = tags.get(usize::from(*number)) else {
            continue;
        };
        let (scope, name) = match settings.scopes.get(tag) {
            Some((scope, name)) => (*scope, name.as_str()),
            None => (Scope::Dataset, tag.as_str()),
        };
        let found = match used.len() {
            // The one dataset is everything that there is.
            1 => overall.clone(),
            _ => question(Scope::Dataset, tag),
        };
        differences.extend(found.map(|found| Difference {
            scope,
            name: name.to_owned(),
            ..found
        }));
    }
    differences.extend(groups(&columns, tags, score, settings, is_share));
    adjust(&mut differences);
    SystemComparison {
        system: columns.system.0,
        run: columns.system.1,
        baseline: columns.baseline.0,
        baseline_run: columns.baseline.1,
        verdict: overall.map(|one| one.verdict),
        sentence: String::new(),
        matched: columns.matched,
        flips: columns.flips,
        notes: Vec::new(),
        differences,
    }
}

fn asked<'a>(
    settings: &ComparisonSettings,
    measure: &'a Measure,
    (scope, name): (Scope, &'a str),
    is_share: bool,
) -> Question<'a> {
    Question {
        scope,
        name,
        measure,
        less_is_better: settings
            .less_is_better
            .iter()
            .any(|one| one == measure.name()),
        is_share,
        margin: settings.margin,
        threshold: Some(settings.threshold),
        resampling: settings.resampling(true),
    }
}

/// Groups whose score is the one that is compared.
fn groups(
    columns: &ScoreColumns,
    tags: &[String],
    score: &str,
    settings: &ComparisonSettings,
    is_share: bool,
) -> Vec<Difference> {
    let own = settings.groups.iter();
    let own: Vec<_> = own
        .filter(|one| one.score.as_deref().is_none_or(|own| own == score))
        .collect();
    if own.is_empty() {
        return Vec::new();
    }
    let mut tasks: IndexMap<&str, TaskValues> = IndexMap::new();
    for (at, (old, new)) in columns.values.iter().enumerate() {
        let tag = columns.datasets.get(at);
        let tag = tag.and_then(|number| tags.get(usize::from(*number)));
        let Some(tag) = tag.filter(|_| old.is_finite() && new.is_finite()) else {
            continue;
        };
        let task = tasks.entry(tag).or_default();
        task.pairs.push((*old, *new));
        task.clusters.extend(columns.clusters.get(at));
    }
    let tasks: HashMap<&str, TaskValues> = tasks.into_iter().collect();
    let measure = Measure::Score(score.to_owned());
    own.into_iter()
        .filter_map(|shape| {
            let asked = asked(settings, &measure, (Scope::Group, &shape.name), is_share);
            group::difference(shape, &tasks, &asked)
        })
        .collect()
}
