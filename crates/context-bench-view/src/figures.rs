//! What a page says above its rows, from the numbers of the index: for a run that is still going,
//! and for one that is too large to be summed up in memory. Its definitions are those of the metrics
//! of the same name; what needs pairs of rows is left out, and the page says so.

use context_bench::Unit;
use context_bench::report::{page_cost, page_metric};
use context_bench::store::StoredRun;
use context_bench_page::{Benchmark, Curve, FailureCount, Figure, Histogram, PageData, System};
use context_bench_scoring::metric::DEFAULT_THRESHOLD;
use context_bench_scoring::stats;

use crate::row_index::RowIndex;

/// Points of a curve; more cannot be told apart on a screen.
const MAX_POINTS: usize = 200;
/// Parts of a histogram.
const PARTS: usize = 20;

/// From which score on a row of that run counts as passed.
pub(crate) fn threshold(run: &StoredRun) -> f64 {
    let provenance = run.config.get("provenance");
    let said = provenance.and_then(|one| one.get("threshold")?.as_f64());
    said.unwrap_or(DEFAULT_THRESHOLD)
}

/// What the page says, as far as rows are there.
pub(crate) fn page_data(
    index: &RowIndex,
    run: &StoredRun,
    baseline: usize,
    planned: Option<usize>,
) -> PageData {
    let threshold = threshold(run);
    let mut systems = Vec::new();
    let mut latency = Vec::new();
    let mut spreads = Vec::new();
    let mut measured: Vec<(&'static str, Unit)> = Vec::new();
    for (number, entry) in run.systems.iter().enumerate() {
        let rows = SystemRows::of(index, number);
        let figures = rows.figures(index, threshold);
        for (key, unit, figure) in &figures {
            if figure.value.is_some() && !measured.iter().any(|(known, _)| known == key) {
                measured.push((key, *unit));
            }
        }
        let mut counts = index.counts.get(number).cloned().unwrap_or_default();
        counts.planned = planned.unwrap_or(0).max(rows.rows.len());
        systems.push(System {
            name: entry.name.clone(),
            answered_by: None,
            counts: counts.to_json(),
            figures: figures
                .into_iter()
                .map(|(key, _, figure)| (key.to_owned(), figure))
                .collect(),
        });
        latency.extend(rows.curve(number));
        spreads.push(rows.quality);
    }
    let is_measured = |key: &str| measured.iter().any(|(known, _)| *known == key);
    let first_of = |keys: &[&str]| {
        let found = keys.iter().find(|key| is_measured(key));
        found.map(|key| (*key).to_owned())
    };
    let values = |key: &str| -> Vec<f64> {
        let all = systems.iter().flat_map(|system| &system.figures);
        let own = all.filter(|(known, _)| known == key);
        own.filter_map(|(_, figure)| figure.value).collect()
    };
    let cost = page_cost(values);
    let metrics = ORDER
        .iter()
        .filter(|(key, _)| is_measured(key))
        .filter_map(|(key, unit)| page_metric(key, *unit, cost));
    PageData {
        title: title(index, run),
        facts: vec![("Run".to_owned(), run.run.id().to_string())],
        baseline: (!run.systems.is_empty()).then_some(baseline),
        metrics: metrics.collect(),
        quality: first_of(&["mean_score", "pass_rate"]),
        cost: cost.map(str::to_owned),
        compression: first_of(&["compression_ratio"]),
        threshold: Some(threshold),
        scores: index.score_names(),
        benchmarks: benchmarks(index, run.systems.len()),
        latency,
        spread: histograms(&spreads),
        failures: failures(index),
        reproduce: vec![run.command.clone()],
        made_by: format!("context-bench {}", env!("CARGO_PKG_VERSION")),
        systems,
        ..PageData::default()
    }
}

/// In the order of the table.
const ORDER: [(&str, Unit); 10] = [
    ("mean_score", Unit::Number),
    ("pass_rate", Unit::Share),
    ("mean_prompt_tokens", Unit::Tokens),
    ("compression_ratio", Unit::Share),
    ("latency_median", Unit::Seconds),
    ("latency_p95", Unit::Seconds),
    ("latency_p99", Unit::Seconds),
    ("latency_mean", Unit::Seconds),
    ("mean_input_tokens", Unit::Tokens),
    ("mean_output_tokens", Unit::Tokens),
];

fn title(index: &RowIndex, run: &StoredRun) -> String {
    let names: Vec<&str> = run.systems.iter().map(|one| one.name.as_str()).collect();
    let who = match names[..] {
        [] => "No system".to_owned(),
        [only] => only.to_owned(),
        [one, other] => format!("{one} and {other}"),
        _ => format!("{} systems", names.len()),
    };
    let datasets: Vec<&String> = index
        .datasets
        .names
        .iter()
        .filter(|name| !name.is_empty())
        .collect();
    match datasets[..] {
        [] => who,
        [only] => format!("{who} on {only}"),
        [one, other] => format!("{who} on {one} and {other}"),
        _ => format!("{who} on {} datasets", datasets.len()),
    }
}

/// The rows of one system.
struct SystemRows {
    rows: Vec<u32>,
    quality: Vec<f64>,
    /// Sorted; failed and cached rows are left out.
    latency: Vec<f64>,
    latency_mean: Option<f64>,
}

impl SystemRows {
    fn of(index: &RowIndex, system: usize) -> Self {
        // Lists that grow by doubling would hold half as much again for nothing.
        let own = || (0..index.len()).filter(|row| usize::from(index.system[*row]) == system);
        let n = own().count();
        let mut rows: Vec<u32> = Vec::with_capacity(n);
        let mut quality: Vec<f64> = Vec::with_capacity(n);
        let mut latency: Vec<f64> = Vec::with_capacity(n);
        for row in own() {
            rows.extend(u32::try_from(row).ok());
            quality.extend(Some(index.quality[row]).filter(|value| !value.is_nan()));
            if index.outcome[row] != 2 && !index.cached[row] {
                latency.push(index.latency[row]);
            }
        }
        let latency_mean = stats::mean(&latency).map(|mean| mean.value);
        latency.sort_unstable_by(f64::total_cmp);
        Self {
            quality,
            latency_mean,
            latency,
            rows,
        }
    }

    fn figures(&self, index: &RowIndex, threshold: f64) -> Vec<(&'static str, Unit, Figure)> {
        let plain = |value: Option<f64>, n: usize| Figure {
            value,
            n: Some(n),
            ..Figure::default()
        };
        let mean = stats::mean(&self.quality);
        let n = self.quality.len();
        let score = Figure {
            value: mean.as_ref().map(|mean| mean.value),
            stderr: mean.as_ref().and_then(|mean| mean.stderr),
            ..plain(None, n)
        };
        let passing = self.quality.iter().filter(|value| **value >= threshold);
        let share = (n > 0).then(|| passing.count() as f64 / n as f64);
        let done = || {
            let all = self.rows.iter().map(|row| *row as usize);
            all.filter(|row| index.outcome[*row] != 2)
        };
        let n_done = done().count();
        let sum = |column: &[u32]| done().map(|row| u64::from(column[row])).sum::<u64>();
        let (input, output) = (sum(&index.input_tokens), sum(&index.output_tokens));
        let per_row = |sum: u64| (n_done > 0).then(|| sum as f64 / n_done as f64);
        let ratio = match input {
            0 => 0.0,
            input => 1.0 - output as f64 / input as f64,
        };
        let (mut n_sent, mut sent) = (0, 0);
        for tokens in done().filter_map(|row| index.prompt_tokens(row)) {
            n_sent += 1;
            sent += u64::from(tokens);
        }
        let timed = self.latency.len();
        let values = [
            score,
            plain(share, n),
            plain((n_sent > 0).then(|| sent as f64 / n_sent as f64), n_sent),
            plain((n_done > 0).then_some(ratio), n_done),
            plain(stats::median(&self.latency), timed),
            plain(stats::percentile(&self.latency, 0.95), timed),
            plain(stats::percentile(&self.latency, 0.99), timed),
            plain(self.latency_mean, timed),
            plain(per_row(input), n_done),
            plain(per_row(output), n_done),
        ];
        let known = ORDER.into_iter().zip(values);
        known
            .map(|((key, unit), figure)| (key, unit, figure))
            .collect()
    }

    fn curve(&self, system: usize) -> Option<Curve> {
        let n = self.latency.len();
        if n == 0 || self.latency.iter().all(|value| *value == 0.0) {
            return None;
        }
        let steps = n.min(MAX_POINTS);
        let points = (1..=steps).map(|step| {
            let place = (step * n).div_ceil(steps);
            [self.latency[place - 1], place as f64 / n as f64]
        });
        let marks = [
            ("p50", "latency_median", stats::median(&self.latency)),
            ("p95", "latency_p95", stats::percentile(&self.latency, 0.95)),
            ("p99", "latency_p99", stats::percentile(&self.latency, 0.99)),
        ];
        let marks = marks
            .into_iter()
            .filter_map(|(name, key, value)| Some((name.to_owned(), Some(key.to_owned()), value?)));
        Some(Curve {
            system,
            n,
            points: points.collect(),
            marks: marks.collect(),
        })
    }
}

/// How the scores that count are spread, on one scale for all systems.
fn histograms(systems: &[Vec<f64>]) -> Vec<Histogram> {
    let all = || systems.iter().flatten().copied();
    let (low, high) = (all().fold(0.0, f64::min), all().fold(1.0, f64::max));
    let mut histograms = Vec::new();
    for (system, values) in systems
        .iter()
        .enumerate()
        .filter(|(_, own)| !own.is_empty())
    {
        let mut counts = vec![0; PARTS];
        for value in values {
            let part = (value - low) / (high - low) * PARTS as f64;
            counts[(part as usize).min(PARTS - 1)] += 1;
        }
        histograms.push(Histogram {
            system,
            low,
            high,
            counts,
        });
    }
    histograms
}

/// The mean score of each dataset and system.
fn benchmarks(index: &RowIndex, n_systems: usize) -> Vec<Benchmark> {
    let n = index.datasets.names.len();
    // Sums and numbers of rows, dataset by dataset.
    let mut sums = vec![(0.0, 0_usize); n * n_systems];
    for row in (0..index.len()).filter(|row| !index.quality[*row].is_nan()) {
        let at = usize::from(index.dataset[row]) * n_systems + usize::from(index.system[row]);
        if let Some((sum, n)) = sums.get_mut(at) {
            *sum += index.quality[row];
            *n += 1;
        }
    }
    let names = index.datasets.names.iter().enumerate();
    let found = names.map(|(at, name)| Benchmark {
        name: name.clone(),
        score: "score".to_owned(),
        path: Vec::new(),
        members: Vec::new(),
        cells: sums[at * n_systems..(at + 1) * n_systems]
            .iter()
            .map(|(sum, n)| {
                (*n > 0).then(|| Figure {
                    value: Some(sum / *n as f64),
                    n: Some(*n),
                    ..Figure::default()
                })
            })
            .collect(),
    });
    found.collect()
}

fn failures(index: &RowIndex) -> Vec<FailureCount> {
    let systems = index.failures.iter().enumerate();
    let mut found: Vec<FailureCount> = systems
        .flat_map(|(system, kinds)| kinds.iter().map(move |kind| (system, kind)))
        .map(|(system, (kind, failure))| FailureCount {
            system,
            kind: kind.clone(),
            n: failure.n,
            message: failure.first.clone(),
        })
        .collect();
    found.sort_by(|a, b| (b.n, a.system, &a.kind).cmp(&(a.n, b.system, &b.kind)));
    found
}
