//! [`compare`]: rows of systems into a [`RunComparison`].

use std::collections::HashMap;
use std::num::NonZeroUsize;

use context_bench_scoring::price::RowPrices;
use indexmap::{IndexMap, IndexSet};

use super::estimate::{CONFIDENCE, PairedValues, Question};
use super::flip::{Flip, FlipDirection};
use super::group::{self, GroupShape, TaskValues};
use super::measure::{Measure, costs, score_names};
use super::pairing::{ContentKey, Pairing};
use super::{
    COMPARISON_FORMAT, ComparisonSettings, Difference, MeasureKind, RunComparison, Scope,
    SystemComparison, sentence,
};
use crate::model::EvalRow;
use crate::stats::holm;

/// Up to so many differences of one run, every measure has one for every dataset; beyond, only the
/// score that verdicts are about.
const MOST_DIFFERENCES: usize = 200;
/// From so many rows on, systems are compared one after the other, each on all threads, so that no
/// more is in memory than one comparison takes.
const MANY_ROWS: usize = 200_000;

/// The rows of a system that is compared.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ComparedRows<'a> {
    /// The name of the system.
    pub name: &'a str,
    /// Its stored run, where runs are compared.
    pub run: Option<&'a str>,
    /// Its rows, failed ones too.
    pub rows: &'a [EvalRow],
    /// Per row the content of its example, by which rows of several runs are matched.
    pub examples: Option<&'a [ContentKey]>,
}

impl<'a> ComparedRows<'a> {
    /// The rows of a system in a result.
    pub fn new(name: &'a str, rows: &'a [EvalRow]) -> Self {
        Self {
            name,
            run: None,
            rows,
            examples: None,
        }
    }

    /// The same of a stored run, with the content of their examples.
    #[must_use]
    pub fn of_run(mut self, run: &'a str, examples: &'a [ContentKey]) -> Self {
        self.run = Some(run);
        self.examples = Some(examples);
        self
    }
}

/// Every system beside the baseline. `None` when there is no baseline, or nothing beside it.
pub fn compare(
    systems: &[ComparedRows<'_>],
    settings: &ComparisonSettings,
) -> Option<RunComparison> {
    let baseline = match &settings.baseline {
        Some(name) => systems.iter().position(|one| one.name == name)?,
        None => 0,
    };
    let others = systems
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != baseline)
        .map(|(_, one)| (systems[baseline], *one));
    compare_pairs(&others.collect::<Vec<_>>(), settings)
}

/// Every pair of a baseline and a system. `None` without any.
pub fn compare_pairs(
    pairs: &[(ComparedRows<'_>, ComparedRows<'_>)],
    settings: &ComparisonSettings,
) -> Option<RunComparison> {
    let first = pairs.first()?;
    let rows = || {
        let own = pairs.iter().flat_map(|(_, system)| system.rows);
        first.0.rows.iter().chain(own)
    };
    let names = score_names(rows());
    let main = match &settings.score {
        Some(score) => names.contains(score).then(|| score.clone()),
        None => names.first().cloned(),
    };
    let scores = names.iter().map(|name| {
        let mut values = rows().filter_map(|row| row.score(name));
        let is_share = values.all(|value| !value.is_finite() || (0.0..=1.0).contains(&value));
        (name.clone(), is_share)
    });
    let mut shared = Shared {
        settings: settings.clone(),
        main: main.clone(),
        shares: scores.collect(),
        costs: costs(rows(), settings.prices.as_deref()),
        by_dataset: true,
    };
    let tags: IndexSet<&str> = first.0.rows.iter().map(|row| &*row.dataset).collect();
    let measures = names.len() + shared.costs.len();
    shared.by_dataset = pairs.len() * (tags.len() + 1) * measures <= MOST_DIFFERENCES;
    let mut systems = shared.all(pairs);
    for system in &mut systems {
        system.sentence = sentence::of(system, main.as_deref());
    }
    Some(RunComparison {
        format: COMPARISON_FORMAT,
        baseline: first.0.name.to_owned(),
        score: main,
        margin: settings.margin,
        confidence: CONFIDENCE,
        threshold: settings.threshold,
        seed: settings.seed,
        systems,
        notes: Vec::new(),
    })
}

/// What all comparisons of a run share.
struct Shared {
    settings: ComparisonSettings,
    /// The score that verdicts are about.
    main: Option<String>,
    /// Per score whether all its values lie between 0 and 1.
    shares: IndexMap<String, bool>,
    costs: Vec<Measure>,
    /// Whether every measure is compared for every dataset.
    by_dataset: bool,
}

impl Shared {
    /// All pairs in order, on as many threads as there are; the outcome is the same on one.
    fn all(&self, pairs: &[(ComparedRows<'_>, ComparedRows<'_>)]) -> Vec<SystemComparison> {
        let threads = self.settings.threads;
        let threads = threads.or_else(|| std::thread::available_parallelism().ok());
        let threads = threads.map_or(1, NonZeroUsize::get);
        let most_rows = pairs.iter().map(|pair| pair.0.rows.len()).max();
        if threads == 1 || pairs.len() == 1 || most_rows.unwrap_or(0) >= MANY_ROWS {
            let each = pairs.iter().map(|pair| self.one(pair, threads));
            return each.collect();
        }
        let share = pairs.len().div_ceil(threads);
        let mut found: Vec<Option<SystemComparison>> = vec![None; pairs.len()];
        std::thread::scope(|scope| {
            for (pairs, found) in pairs.chunks(share).zip(found.chunks_mut(share)) {
                scope.spawn(move || {
                    for (pair, found) in pairs.iter().zip(found) {
                        *found = Some(self.one(pair, 1));
                    }
                });
            }
        });
        found.into_iter().flatten().collect()
    }

    fn one(
        &self,
        (baseline, system): &(ComparedRows<'_>, ComparedRows<'_>),
        threads: usize,
    ) -> SystemComparison {
        let pairing = Pairing::of(baseline, system);
        let view = View {
            shared: self,
            baseline: baseline.rows,
            system: system.rows,
            pairing: &pairing,
            threads: NonZeroUsize::new(threads),
        };
        let mut differences = view.differences();
        adjust(&mut differences);
        let main = self.main.as_deref();
        let overall = differences
            .iter()
            .find(|one| one.scope == Scope::All && Some(one.measure.as_str()) == main);
        SystemComparison {
            system: system.name.to_owned(),
            run: system.run.map(str::to_owned),
            baseline: baseline.name.to_owned(),
            baseline_run: baseline.run.map(str::to_owned),
            verdict: overall.map(|one| one.verdict),
            sentence: String::new(),
            matched: pairing.matched,
            flips: view.flips(),
            notes: Vec::new(),
            differences,
        }
    }
}

/// Holm's correction over the datasets and tasks of each measure.
pub(super) fn adjust(differences: &mut [Difference]) {
    let is_one = |one: &Difference| matches!(one.scope, Scope::Dataset | Scope::Task);
    let measures: IndexSet<String> = differences.iter().map(|one| one.measure.clone()).collect();
    for measure in measures {
        let mut family: Vec<&mut Difference> = differences
            .iter_mut()
            .filter(|one| is_one(one) && one.measure == measure)
            .collect();
        let p_values: Vec<f64> = family.iter().map(|one| one.p_value).collect();
        for (one, adjusted) in family.iter_mut().zip(holm(&p_values)) {
            one.p_adjusted = Some(adjusted);
        }
    }
}

/// One system beside its baseline.
struct View<'a> {
    shared: &'a Shared,
    baseline: &'a [EvalRow],
    system: &'a [EvalRow],
    pairing: &'a Pairing,
    threads: Option<NonZeroUsize>,
}

impl<'a> View<'a> {
    /// The rows of a pair.
    fn rows(&self, at: u32) -> (&'a EvalRow, &'a EvalRow) {
        let (old, new) = self.pairing.pairs[at as usize];
        (&self.baseline[old as usize], &self.system[new as usize])
    }

    fn differences(&self) -> Vec<Difference> {
        let n = u32::try_from(self.pairing.pairs.len()).unwrap_or(u32::MAX);
        let all: Vec<u32> = (0..n).collect();
        let mut by_tag: IndexMap<&str, Vec<u32>> = IndexMap::new();
        for at in &all {
            by_tag
                .entry(&*self.rows(*at).0.dataset)
                .or_default()
                .push(*at);
        }
        let scores = self.shared.shares.keys().cloned().map(Measure::Score);
        let costs = self.shared.costs.iter().cloned();
        let mut measures: Vec<Measure> = scores.chain(costs).collect();
        // What verdicts are about comes first.
        measures.sort_by_key(|measure| !self.is_main(measure));
        let mut found = Vec::new();
        for measure in &measures {
            let overall = self.difference(measure, Scope::All, "", &all);
            let only = match (&overall, by_tag.len()) {
                (Some(overall), 1) => Some(overall.clone()),
                _ => None,
            };
            found.extend(overall);
            if !self.shared.by_dataset && !self.is_main(measure) {
                continue;
            }
            for (tag, places) in &by_tag {
                let (scope, name) = self.scope(tag);
                found.extend(match &only {
                    // The one dataset is everything that there is.
                    Some(only) => Some(Difference {
                        scope,
                        name: name.to_owned(),
                        ..only.clone()
                    }),
                    None => self.difference(measure, scope, name, places),
                });
            }
        }
        for group in &self.shared.settings.groups {
            found.extend(self.group(group, &by_tag));
        }
        found
    }

    fn scope<'s>(&'s self, tag: &'s str) -> (Scope, &'s str) {
        match self.shared.settings.scopes.get(tag) {
            Some((scope, name)) => (*scope, name),
            None => (Scope::Dataset, tag),
        }
    }

    fn is_main(&self, measure: &Measure) -> bool {
        let main = self.shared.main.as_deref();
        measure.kind() == MeasureKind::Score && Some(measure.name()) == main
    }

    fn question<'q>(&self, measure: &'q Measure, scope: Scope, name: &'q str) -> Question<'q> {
        let settings = &self.shared.settings;
        let is_score = measure.kind() == MeasureKind::Score;
        let is_main = self.is_main(measure);
        let is_share = is_score && self.shared.shares.get(measure.name()).copied() == Some(true);
        let mut resampling = settings.resampling(is_main);
        resampling.threads = self.threads;
        Question {
            scope,
            name,
            measure,
            less_is_better: !is_score
                || settings
                    .less_is_better
                    .iter()
                    .any(|one| one == measure.name()),
            is_share,
            // Of scores with another range nobody said how much may be lost.
            margin: settings.margin.filter(|_| is_main || is_share),
            threshold: is_main.then_some(settings.threshold),
            resampling,
        }
    }

    fn difference(
        &self,
        measure: &Measure,
        scope: Scope,
        name: &str,
        places: &[u32],
    ) -> Option<Difference> {
        let mut values = PairedValues::default();
        for at in places {
            let (old, new) = self.rows(*at);
            if let Some(pair) = measure.values(old, new, self.prices()) {
                values.push(pair, self.cluster(*at));
            }
        }
        self.question(measure, scope, name).answer(&values)
    }

    fn prices(&self) -> Option<&RowPrices> {
        self.shared.settings.prices.as_deref()
    }

    fn cluster(&self, at: u32) -> Option<u32> {
        Some(self.pairing.clusters.as_ref()?[at as usize])
    }

    fn group(&self, group: &GroupShape, by_tag: &IndexMap<&str, Vec<u32>>) -> Option<Difference> {
        let score = group.score.clone().or_else(|| self.shared.main.clone())?;
        let measure = Measure::Score(score);
        let mut tasks: HashMap<&str, TaskValues> = HashMap::new();
        for (tag, places) in by_tag {
            let mut task = TaskValues::default();
            for at in places {
                let (old, new) = self.rows(*at);
                if let Some((Some(old), Some(new))) = measure.values(old, new, self.prices()) {
                    task.pairs.push((old, new));
                    task.clusters.extend(self.cluster(*at));
                }
            }
            tasks.insert(tag, task);
        }
        let question = self.question(&measure, Scope::Group, &group.name);
        group::difference(group, &tasks, &question)
    }

    /// The first flips of each direction, lost ones first.
    fn flips(&self) -> Vec<Flip> {
        let settings = &self.shared.settings;
        let Some(main) = &self.shared.main else {
            return Vec::new();
        };
        let (mut lost, mut gained) = (Vec::new(), Vec::new());
        for (old, new) in &self.pairing.pairs {
            let (old, new) = (&self.baseline[*old as usize], &self.system[*new as usize]);
            let (Some(was), Some(is)) = (old.score(main), new.score(main)) else {
                continue;
            };
            let Some(flip) = Flip::of((old, was), (new, is), settings.threshold) else {
                continue;
            };
            let list = match flip.direction {
                FlipDirection::Lost => &mut lost,
                FlipDirection::Gained => &mut gained,
            };
            if list.len() < settings.flips {
                list.push(flip);
            } else if lost.len().min(gained.len()) >= settings.flips {
                break;
            }
        }
        lost.append(&mut gained);
        lost
    }
}
