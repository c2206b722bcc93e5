//! Statistics beside SciPy, statsmodels and confseq on generated data (`golden/statistics`).

use std::path::Path;

use context_bench_scoring::model::Interval;
use context_bench_scoring::stats::{
    ConfidenceSequence, Discordance, PairedDifferences, RandomStream, Resampling, SampleSize,
    equivalence, holm, variance_components,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The worked cases of the repo, or those that `make test-statistics` has just let the other
/// implementations make.
fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/statistics");
    let file = format!("{name}.jsonl");
    let fresh = std::env::var_os("CONTEXT_BENCH_STATISTICS").map(|dir| Path::new(&dir).join(&file));
    let fresh = fresh.filter(|path| path.exists());
    let text = std::fs::read_to_string(fresh.unwrap_or_else(|| stored.join(&file))).unwrap();
    let cases: Vec<T> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(cases.len() >= 50, "{name}: {}", cases.len());
    cases
}

fn resampling(seed: usize) -> Resampling {
    Resampling::seeded(seed as u64)
}

#[test]
fn bca_intervals_equal_scipy_within_monte_carlo_error() {
    #[derive(Deserialize)]
    struct Case {
        values: Vec<f64>,
        clusters: Option<Vec<u32>>,
        confidence: f64,
        low: f64,
        high: f64,
        stderr: f64,
    }
    for (at, case) in cases::<Case>("bootstrap").into_iter().enumerate() {
        let n = case.values.len() as f64;
        let is_binary = case.values.iter().all(|value| value.fract() == 0.0);
        let mut differences = PairedDifferences::new(case.values).unwrap();
        if let Some(clusters) = &case.clusters {
            differences = differences.clustered_by(clusters).unwrap();
        }
        let found = differences.bootstrap(case.confidence, &resampling(at));
        let found = found.unwrap().unwrap();
        let ratio = found.stderr / case.stderr;
        assert!((0.95..1.05).contains(&ratio), "{at}: {ratio}");
        // Five standard deviations of a quantile of 10,000 resamples, the bias included, and
        // a step of the lattice that means of whole numbers lie on.
        let step = if is_binary { 1.0 / n } else { 0.0 };
        let tolerance = 0.2 * case.stderr + step;
        assert!(
            (found.interval.low - case.low).abs() < tolerance,
            "{at}: {found:?} {}",
            case.low
        );
        assert!(
            (found.interval.high - case.high).abs() < tolerance,
            "{at}: {found:?} {}",
            case.high
        );
    }
}

#[test]
fn sign_flips_equal_scipy() {
    #[derive(Deserialize)]
    struct Case {
        values: Vec<f64>,
        exact: bool,
        p: f64,
    }
    for (at, case) in cases::<Case>("sign_flip").into_iter().enumerate() {
        let found = PairedDifferences::new(case.values)
            .unwrap()
            .sign_flip(&resampling(at));
        let tolerance = match case.exact {
            true => 1e-12,
            // Five standard deviations of our 10,000 flips and of their 100,000, of which theirs
            // counts one tail and doubles it.
            false => {
                let ours = case.p * (1.0 - case.p) / 10_000.0;
                let tail = case.p / 2.0;
                let theirs = 4.0 * tail * (1.0 - tail) / 100_000.0;
                5.0 * (ours + theirs).sqrt() + 2e-4
            }
        };
        assert!(
            (found.p_value - case.p).abs() < tolerance,
            "{at}: {found:?} {}",
            case.p
        );
        assert!(found.is_exact || !case.exact);
    }
}

#[test]
fn mcnemar_equals_statsmodels() {
    #[derive(Deserialize)]
    struct Case {
        gained: u64,
        lost: u64,
        p: f64,
        mid_p: f64,
    }
    for case in cases::<Case>("mcnemar") {
        let counts = Discordance {
            gained: case.gained,
            lost: case.lost,
            same: 20,
        };
        let found = counts.mcnemar();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.max(1e-12);
        assert!(
            close(found.p_value, case.p),
            "{counts:?} {found:?} {}",
            case.p
        );
        assert!(
            close(found.mid_p, case.mid_p),
            "{counts:?} {found:?} {}",
            case.mid_p
        );
    }
}

#[test]
fn holm_equals_statsmodels() {
    #[derive(Deserialize)]
    struct Case {
        p: Vec<f64>,
        adjusted: Vec<f64>,
    }
    for case in cases::<Case>("holm") {
        for (found, expected) in holm(&case.p).iter().zip(&case.adjusted) {
            assert!((found - expected).abs() < 1e-12, "{:?}", case.p);
        }
    }
}

#[test]
fn equivalence_equals_statsmodels() {
    #[derive(Deserialize)]
    struct Case {
        values: Vec<f64>,
        margin: f64,
        p: f64,
        p_low: f64,
        p_high: f64,
    }
    for case in cases::<Case>("tost") {
        let differences = PairedDifferences::new(case.values).unwrap();
        let found = equivalence(&differences, case.margin).unwrap().unwrap();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-8 * b.max(1e-6);
        assert!(close(found.p_lower, case.p_low), "{found:?} {}", case.p_low);
        assert!(
            close(found.p_upper, case.p_high),
            "{found:?} {}",
            case.p_high
        );
        assert!(close(found.p_value(), case.p));
    }
}

#[test]
fn sample_sizes_equal_statsmodels() {
    #[derive(Deserialize)]
    struct Case {
        margin: f64,
        deviation: f64,
        difference: f64,
        power: f64,
        n: f64,
        power_at_200: f64,
    }
    for case in cases::<Case>("sample_size") {
        let plan = SampleSize {
            expected: case.difference,
            power: case.power,
            ..SampleSize::new(case.margin)
        };
        let found = plan.for_deviation(case.deviation).unwrap().unwrap() as f64;
        // Theirs solves with the noncentral t distribution, ours expands it.
        let exact = case.n.ceil();
        assert!((found - exact).abs() <= 1.0, "{found} {exact}");
        let power = plan.power_of(200, case.deviation).unwrap();
        assert!(
            (power - case.power_at_200).abs() < 0.01,
            "{power} {}",
            case.power_at_200
        );
    }
}

#[test]
fn confidence_sequences_equal_confseq() {
    #[derive(Deserialize)]
    struct Case {
        values: Vec<f64>,
        alpha: f64,
        steps: Vec<(usize, f64, f64)>,
    }
    let range = Interval {
        low: -1.0,
        high: 1.0,
    };
    for (at, case) in cases::<Case>("confidence_sequence").into_iter().enumerate() {
        let mut sequence = ConfidenceSequence::new(range, case.alpha).unwrap();
        for (seen, value) in case.values.iter().enumerate() {
            sequence.observe(*value).unwrap();
            for (n, low, high) in &case.steps {
                if *n == seen + 1 {
                    // Theirs are the first candidates that are left, ours the last that are out.
                    let found = sequence.interval();
                    let one_step =
                        |inner: f64, outer: f64| (-1e-9..0.002 + 1e-9).contains(&(inner - outer));
                    assert!(one_step(*low, found.low), "{at} {n}: {found:?} {low}");
                    assert!(one_step(found.high, *high), "{at} {n}: {found:?} {high}");
                }
            }
        }
    }
}

#[test]
fn variance_ratios_equal_scipy() {
    #[derive(Deserialize)]
    struct Case {
        groups: Vec<Vec<f64>>,
        f: f64,
    }
    for case in cases::<Case>("one_way") {
        let found = variance_components(&case.groups).unwrap().unwrap();
        assert!(
            (found.f_ratio / case.f - 1.0).abs() < 1e-9,
            "{found:?} {}",
            case.f
        );
    }
}

/// Simulated scores of pass or fail, a few hundred data sets of each sort. Limits are four standard
/// deviations of the share about 95 %, so that only a real fault fails.
#[test]
fn intervals_cover_what_they_promise() {
    const SETS: u64 = 400;
    for (case, (n, lost, gained, size)) in [
        (100, 0.1, 0.1, 1),
        (100, 0.12, 0.08, 1),
        (1000, 0.06, 0.04, 1),
        (1000, 0.1, 0.08, 10),
        (100, 0.2, 0.1, 10),
    ]
    .into_iter()
    .enumerate()
    {
        let mut covered = 0;
        for set in 0..SETS {
            let mut stream = RandomStream::new(case as u64, set);
            let (mut values, mut marks) = (Vec::new(), Vec::new());
            for cluster in 0..n / size {
                let shared = stream.unit();
                for _ in 0..size {
                    // A quarter of a cluster goes the same way.
                    let goes_along = size > 1 && stream.unit() < 0.25;
                    let u = if goes_along { shared } else { stream.unit() };
                    values.push(match u {
                        _ if u < lost => -1.0,
                        _ if u < lost + gained => 1.0,
                        _ => 0.0,
                    });
                    marks.push(cluster);
                }
            }
            let differences = PairedDifferences::new(values).unwrap();
            let differences = differences.clustered_by(&marks).unwrap();
            let settings = Resampling {
                resamples: 1000,
                ..resampling(set as usize)
            };
            let Interval { low, high } = differences.interval(0.95, &settings).unwrap().unwrap();
            let truth: f64 = gained - lost;
            covered += u32::from(low <= truth + 1e-12 && truth <= high + 1e-12);
        }
        let share = f64::from(covered) / SETS as f64;
        assert!((0.906..=0.994).contains(&share), "{case}: {share}");
    }
}
