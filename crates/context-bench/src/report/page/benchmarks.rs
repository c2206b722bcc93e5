//! Datasets, tasks and groups with the headline of each system, as `tasks` of the JSON export
//! has them.

use context_bench_page::{Benchmark, Figure};
use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::result::EvalResult;

pub(super) fn of(result: &EvalResult, systems: &[&str]) -> Vec<Benchmark> {
    let mut found: IndexMap<&str, Benchmark> = IndexMap::new();
    let mut groups: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (number, system) in systems.iter().enumerate() {
        let Some(report) = result.tasks.get(*system) else {
            continue;
        };
        for (name, headline) in object(&report.results, "headlines") {
            let score = headline
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let number_of = |key: &str| headline.get(key).and_then(Value::as_f64);
            let figure = Figure {
                value: number_of("value"),
                stderr: number_of("stderr"),
                interval: None,
                n: headline
                    .get("n")
                    .and_then(Value::as_u64)
                    .map(|n| n as usize),
            };
            put(
                &mut found,
                name,
                score,
                &["headlines", name, "value"],
                systems.len(),
                number,
                figure,
            );
        }
        // Tasks of files quote the first metric of theirs, under the first filter.
        for (name, own) in object(&report.results, "results") {
            if report
                .results
                .get("headlines")
                .and_then(|all| all.get(name))
                .is_some()
                || object(&report.results, "group_subtasks").any(|(group, _)| group == name)
            {
                continue;
            }
            let Some((key, value)) = first_metric(own) else {
                continue;
            };
            let (score, filter) = key.split_once(',').unwrap_or((key, "none"));
            let error = own.get(format!("{score}_stderr,{filter}"));
            let figure = Figure {
                value: Some(value),
                stderr: error.and_then(Value::as_f64),
                interval: None,
                n: own
                    .get("sample_len")
                    .and_then(Value::as_u64)
                    .map(|n| n as usize),
            };
            put(
                &mut found,
                name,
                score,
                &["results", name, key],
                systems.len(),
                number,
                figure,
            );
        }
        for (group, members) in object(&report.results, "group_subtasks") {
            let members: Vec<&str> = members
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            if !members.is_empty() {
                groups.insert(group, members);
            }
        }
    }
    // A group has the score that its members share, where its results have that.
    for (group, members) in groups.iter().rev() {
        let score = members
            .iter()
            .find_map(|member| Some(found.get(member)?.score.clone()));
        let Some(score) = score.filter(|_| !found.contains_key(group)) else {
            continue;
        };
        // The filter is that of the first member, which is `none` for most.
        let filter = members.iter().find_map(|member| {
            let path = &found.get(member)?.path;
            path.last()?
                .split_once(',')
                .map(|(_, filter)| filter.to_owned())
        });
        let filter = filter.unwrap_or_else(|| "none".to_owned());
        let key = format!("{score},{filter}");
        let error_key = format!("{score}_stderr,{filter}");
        for (number, system) in systems.iter().enumerate() {
            let results = result
                .tasks
                .get(*system)
                .and_then(|report| report.results.get("results"));
            let own = results.and_then(|results| results.get(*group));
            let number_of = |key: &str| own.and_then(|own| own.get(key)?.as_f64());
            let figure = Figure {
                value: number_of(&key),
                stderr: number_of(&error_key),
                ..Figure::default()
            };
            put(
                &mut found,
                group,
                &score,
                &["results", group, &key],
                systems.len(),
                number,
                figure,
            );
        }
    }
    let places: Vec<(usize, Vec<usize>)> = groups
        .iter()
        .filter_map(|(group, members)| {
            let place = found.get_index_of(group)?;
            let members = members
                .iter()
                .filter_map(|member| found.get_index_of(member));
            // A group of itself would never end.
            Some((place, members.filter(|member| *member != place).collect()))
        })
        .collect();
    for (place, members) in places {
        found[place].members = members;
    }
    found.into_values().collect()
}

/// The first `metric,filter` of a task's results that is a number.
fn first_metric(results: &Value) -> Option<(&str, f64)> {
    let metrics = results.as_object()?.iter();
    let mut metrics = metrics.filter(|(key, _)| key.contains(',') && !key.contains("_stderr,"));
    metrics.find_map(|(key, value)| Some((key.as_str(), value.as_f64()?)))
}

fn object<'a>(
    map: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let found = map.get(key).and_then(Value::as_object).into_iter();
    found.flat_map(|map| map.iter().map(|(name, value)| (name.as_str(), value)))
}

fn put<'a>(
    found: &mut IndexMap<&'a str, Benchmark>,
    name: &'a str,
    score: &str,
    path: &[&str],
    n_systems: usize,
    number: usize,
    figure: Figure,
) {
    let benchmark = found.entry(name).or_insert_with(|| Benchmark {
        name: name.to_owned(),
        score: score.to_owned(),
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        members: Vec::new(),
        cells: vec![None; n_systems],
    });
    if figure.value.is_some() {
        benchmark.cells[number] = Some(figure);
    }
}
