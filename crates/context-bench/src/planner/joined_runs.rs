//! Stored runs as one result, to be shown on one page: the systems of all of them side by side, on the
//! examples that they share.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::{PlanError, ReopenedPlan, Surroundings};
use crate::comparison::ContentKey;
use crate::example_keys::ExampleKeys;
use crate::model::{ExampleId, Summary, TextsKept};
use crate::result::EvalResult;

/// Numbers that rest on the other systems of a run, and mean nothing beside those of another.
const OF_ONE_RUN: [&str; 3] = ["pareto_rank", "front_probability", "tokens_saved"];

/// The results of stored runs as one. Systems that several runs have are told apart by the run. Rows are
/// matched as [`compare_runs`](super::compare_runs) matches them: by the content of their examples.
/// Blocks while it reads.
///
/// # Errors
///
/// When a store cannot be read, or there is no run.
pub fn join_runs(
    runs: &[ReopenedPlan],
    around: &Surroundings,
    keep_text: TextsKept,
) -> Result<EvalResult, PlanError> {
    let mut joined: Option<EvalResult> = None;
    let mut ids = Vec::new();
    let names = shared_names(runs);
    let stored: Vec<_> = runs.iter().map(|run| &run.stored).collect();
    let keys = match runs.len() {
        1 => vec![Vec::new()],
        _ => ExampleKeys::read(&stored)?.runs,
    };
    let mut examples = JoinedExamples::default();
    for (run, keys) in runs.iter().zip(&keys) {
        let id = run.stored.run.run.id().to_string();
        let mut result = run.result(around, keep_text)?;
        if runs.len() > 1 {
            examples.place(keys, &id, &mut result);
            rename_systems(&mut result, &names, &id);
        }
        ids.push(id);
        match &mut joined {
            None => joined = Some(result),
            Some(joined) => append(joined, result),
        }
    }
    let mut joined = joined.ok_or_else(|| PlanError::new("no run to show"))?;
    if ids.len() > 1 {
        joined.stopping = None;
        joined.provenance.insert("runs".into(), json!(ids));
        if let Some(store) = &mut joined.store {
            store.run = Some(ids.join(", "));
        }
        // Prices know systems by the names that they had in their runs.
        joined.compared.prices = None;
        joined.comparison = joined.compare(&joined.compared);
    }
    Ok(joined)
}

/// Names of systems that more than one of the runs has.
fn shared_names(runs: &[ReopenedPlan]) -> HashSet<String> {
    let mut seen = HashSet::new();
    let mut shared = HashSet::new();
    for run in runs {
        for system in &run.stored.run.systems {
            if !seen.insert(system.name.clone()) {
                shared.insert(system.name.clone());
            }
        }
    }
    shared
}

/// Where an example stands in a result: its dataset and its id.
type Place = (Arc<str>, ExampleId);
/// What an example is about, whichever attempt at it: the part of its key that no attempt changes.
type Content = [u8; 12];

/// The examples of the runs that were joined so far.
#[derive(Default)]
struct JoinedExamples {
    /// Several, where a dataset has the same example more than once.
    by_content: HashMap<Content, Vec<Place>>,
    taken: HashSet<Place>,
}

impl JoinedExamples {
    /// Puts the rows of a further run where earlier runs have the same examples. What another run has
    /// under the same id but with other content gets an id of its own.
    fn place(&mut self, keys: &[Vec<ContentKey>], run: &str, result: &mut EvalResult) {
        let mut moved: HashMap<Place, Place> = HashMap::new();
        let mut shared: HashSet<Arc<str>> = HashSet::new();
        let mut fresh: Vec<(Content, Place)> = Vec::new();
        for (content, places) in own_examples(keys, result) {
            let known = self.by_content.entry(content).or_default();
            // The same place stays; what is left is matched in order.
            let others = known.iter().filter(|place| !places.contains(place));
            let mut others: VecDeque<Place> = others.cloned().collect();
            for place in places {
                let partner = match known.contains(&place) {
                    true => Some(place.clone()),
                    false => others.pop_front(),
                };
                match partner {
                    Some(partner) => {
                        shared.insert(Arc::clone(&place.0));
                        moved.insert(place, partner);
                    }
                    None => fresh.push((content, place)),
                }
            }
        }
        let is_taken = |place: &Place| self.taken.contains(place);
        let clashes = fresh.iter().filter(|(_, place)| is_taken(place));
        let clashes: HashSet<Arc<str>> = clashes.map(|(_, place)| Arc::clone(&place.0)).collect();
        for (content, place) in fresh {
            let (dataset, id) = &place;
            let target = match () {
                // A dataset that shares a name and nothing else is another one.
                () if !shared.contains(dataset) && clashes.contains(dataset) => {
                    (format!("{dataset} of {run}").into(), id.clone())
                }
                () if self.taken.contains(&place) => (Arc::clone(dataset), of_run(id, run)),
                () => place.clone(),
            };
            let known = self.by_content.entry(content).or_default();
            known.push(target.clone());
            moved.insert(place, target);
        }
        for places in self.by_content.values() {
            self.taken.extend(places.iter().cloned());
        }
        for (dataset, other) in renamed_datasets(result, &moved) {
            rename_dataset(result, &dataset, &other);
        }
        for row in &mut result.rows {
            let place = (Arc::clone(&row.dataset), row.example_id.clone());
            if let Some((dataset, id)) = moved.get(&place) {
                row.dataset = Arc::clone(dataset);
                row.example_id = id.clone();
            }
        }
    }
}

fn of_run(id: &ExampleId, run: &str) -> ExampleId {
    ExampleId::Text(format!("{id} of {run}").into())
}

/// The examples of a run with the places that it has them at, each once, in order.
fn own_examples(keys: &[Vec<ContentKey>], result: &EvalResult) -> IndexMap<Content, Vec<Place>> {
    let mut own: IndexMap<Content, Vec<Place>> = IndexMap::new();
    for (system, keys) in result.summary.keys().zip(keys) {
        for (row, key) in result.rows_of(system).iter().zip(keys) {
            let [_, _, _, _, content @ ..] = *key;
            let place = (Arc::clone(&row.dataset), row.example_id.clone());
            let places = own.entry(content).or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    own
}

/// Datasets of which earlier runs have examples under another name, and under no other: what is said
/// about the dataset as a whole belongs to that name.
fn renamed_datasets(
    result: &EvalResult,
    moved: &HashMap<Place, Place>,
) -> Vec<(Arc<str>, Arc<str>)> {
    let own: HashSet<&str> = result.rows.iter().map(|row| &*row.dataset).collect();
    let mut targets: IndexMap<Arc<str>, HashSet<Arc<str>>> = IndexMap::new();
    for row in &result.rows {
        let place = (Arc::clone(&row.dataset), row.example_id.clone());
        let target = moved.get(&place).map_or(&place.0, |target| &target.0);
        targets
            .entry(Arc::clone(&row.dataset))
            .or_default()
            .insert(Arc::clone(target));
    }
    let only = targets.into_iter().filter_map(|(dataset, names)| {
        let mut names = names.into_iter();
        let (first, second) = (names.next()?, names.next());
        let is_other = second.is_none() && first != dataset && !own.contains(&*first);
        is_other.then_some((dataset, first))
    });
    only.collect()
}

/// Calls a dataset otherwise in what is said about it as a whole.
fn rename_dataset(result: &mut EvalResult, dataset: &str, other: &str) {
    for used in result.datasets.iter_mut().filter(|one| one.name == dataset) {
        used.name = other.to_owned();
    }
    for report in result.tasks.values_mut() {
        for part in ["headlines", "results", "counts"] {
            let Some(Value::Object(members)) = report.results.get_mut(part) else {
                continue;
            };
            if let Some(value) = members.shift_remove(dataset) {
                members.insert(other.to_owned(), value);
            }
        }
    }
}

/// Calls systems that other runs have too by their run, wherever they are named.
fn rename_systems(result: &mut EvalResult, shared: &HashSet<String>, run: &str) {
    let renamed = |name: &str| match shared.contains(name) {
        true => format!("{name} of {run}"),
        false => name.to_owned(),
    };
    let names: HashMap<String, Arc<str>> = result
        .summary
        .keys()
        .map(|name| (name.clone(), renamed(name).into()))
        .collect();
    for row in &mut result.rows {
        if let Some(name) = names.get(&*row.system) {
            row.system = Arc::clone(name);
        }
    }
    let summary = std::mem::take(&mut result.summary).into_iter();
    result.summary = summary
        .map(|(name, summary)| (renamed(&name), of_itself(&summary)))
        .collect();
    macro_rules! rename_keys {
        ($($map:ident),*) => {$(
            let map = std::mem::take(&mut result.$map).into_iter();
            result.$map = map.map(|(name, value)| (renamed(&name), value)).collect();
        )*};
    }
    rename_keys!(timing, counts, tasks, wire, gave_up);
    for sweep in &mut result.sweeps {
        for name in sweep
            .points
            .iter_mut()
            .map(|point| &mut point.system)
            .chain(&mut sweep.smallest)
            .chain(&mut sweep.baseline)
        {
            *name = renamed(name);
        }
    }
    for gate in &mut result.gates {
        gate.system = renamed(&gate.system);
    }
    if let Some(baseline) = &mut result.compared.baseline {
        *baseline = renamed(baseline);
    }
    if let Some(Value::Object(answered)) = result.provenance.get_mut("answered_by") {
        let all = std::mem::take(answered).into_iter();
        *answered = all.map(|(name, who)| (renamed(&name), who)).collect();
    }
}

/// A summary without what rests on other systems.
fn of_itself(summary: &Summary) -> Summary {
    let kept = summary.iter().filter(|(key, _)| !OF_ONE_RUN.contains(key));
    kept.fold(Summary::new(), |all, (key, one)| all.with(key, *one))
}

fn append(joined: &mut EvalResult, other: EvalResult) {
    joined.rows.extend(other.rows);
    joined.summary.extend(other.summary);
    joined.timing.extend(other.timing);
    joined.counts.extend(other.counts);
    joined.tasks.extend(other.tasks);
    joined.wire.extend(other.wire);
    joined.gave_up.extend(other.gave_up);
    joined.sweeps.extend(other.sweeps);
    joined.controls.extend(other.controls);
    joined.gates.extend(other.gates);
    joined.interrupted |= other.interrupted;
    joined.unfinished = joined.unfinished.take().or(other.unfinished);
    for used in other.datasets {
        let known = joined.datasets.iter();
        if !known
            .clone()
            .any(|one| one.name == used.name && one.sha256 == used.sha256)
        {
            joined.datasets.push(used);
        }
    }
    for (tag, scope) in other.compared.scopes {
        joined.compared.scopes.entry(tag).or_insert(scope);
    }
    let answered = other
        .provenance
        .get("answered_by")
        .and_then(Value::as_object);
    if let Some(Value::Object(all)) = joined.provenance.get_mut("answered_by") {
        all.extend(
            answered
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
    }
    if let (Some(Value::Array(all)), Some(Value::Array(more))) = (
        joined.config.get_mut("systems"),
        other.config.get("systems"),
    ) {
        all.extend(more.iter().cloned());
    }
}
