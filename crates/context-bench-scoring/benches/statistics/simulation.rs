//! How often intervals and verdicts are right, on data whose truth is known: the tables of
//! `docs/reference/statistics.md`.

use context_bench_scoring::model::Interval;
use context_bench_scoring::stats::{
    DifferenceMonitor, Discordance, PairedDifferences, RandomStream, Resampling, SampleSize,
};

/// What differences are drawn from.
#[derive(Clone, Copy)]
enum Law {
    /// Shares that are lost and gained.
    PassOrFail(f64, f64),
    /// Exponential with mean 1: skewed.
    Exponential,
}

impl Law {
    /// The difference at a place between 0 and 1.
    fn at(self, u: f64) -> f64 {
        match self {
            Self::PassOrFail(lost, _) if u < lost => -1.0,
            Self::PassOrFail(lost, gained) if u < lost + gained => 1.0,
            Self::PassOrFail(..) => 0.0,
            Self::Exponential => -u.ln(),
        }
    }

    fn mean(self) -> f64 {
        match self {
            Self::PassOrFail(lost, gained) => gained - lost,
            Self::Exponential => 1.0,
        }
    }
}

/// How many of the intervals hold the truth: n, law, size of clusters, share of a cluster that goes
/// the same way.
const COVERAGE: [(usize, Law, usize, f64); 14] = [
    (40, Law::PassOrFail(0.1, 0.1), 1, 0.0),
    (100, Law::PassOrFail(0.1, 0.1), 1, 0.0),
    (100, Law::PassOrFail(0.05, 0.05), 1, 0.0),
    (100, Law::PassOrFail(0.03, 0.02), 1, 0.0),
    (1000, Law::PassOrFail(0.05, 0.05), 1, 0.0),
    (1000, Law::PassOrFail(0.02, 0.01), 1, 0.0),
    (1000, Law::PassOrFail(0.06, 0.04), 10, 0.0),
    (500, Law::PassOrFail(0.06, 0.04), 10, 0.3),
    (1000, Law::PassOrFail(0.06, 0.04), 10, 0.35),
    (1000, Law::PassOrFail(0.06, 0.04), 10, 0.5),
    (3000, Law::PassOrFail(0.06, 0.04), 10, 0.5),
    (50, Law::Exponential, 1, 0.0),
    (200, Law::Exponential, 1, 0.0),
    // From 20,000 on neighbours are put into cells.
    (25_000, Law::Exponential, 1, 0.0),
];

pub(super) fn coverage() {
    const SETS: u64 = 4000;
    println!(
        "| n | Law | Clusters | `bootstrap` | `t_interval` | `interval` | `Discordance::interval` | Wider |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (case, (n, law, size, alike)) in COVERAGE.into_iter().enumerate() {
        let mut held = [0_u32; 4];
        let mut widths = [0.0; 4];
        for set in 0..SETS {
            let mut stream = RandomStream::new(case as u64, set);
            let differences = drawn(&mut stream, n, law, size, alike);
            let settings = Resampling {
                resamples: 2000,
                ..Resampling::seeded(set)
            };
            let t = differences.t_interval(0.95).expect("a share");
            let values = differences.values().iter();
            let counts = Discordance::count(values.map(|value| (*value < 0.0, *value > 0.0)));
            let bootstrap = differences.bootstrap(0.95, &settings).expect("a share");
            let found = [
                bootstrap.map(|found| found.interval).or(t),
                t,
                differences.interval(0.95, &settings).expect("a share"),
                counts.interval(0.95).ok(),
            ];
            for (at, interval) in found.into_iter().enumerate() {
                let Some(Interval { low, high }) = interval else {
                    continue;
                };
                let truth = law.mean();
                held[at] += u32::from(low <= truth + 1e-12 && truth <= high + 1e-12);
                widths[at] += high - low;
            }
        }
        let [bootstrap, t, shown, counted] = held.map(|n| 100.0 * f64::from(n) / SETS as f64);
        let (law, counted) = match law {
            Law::PassOrFail(lost, gained) => {
                let law = format!("{:.0} %, {:.0} %", 100.0 * lost, 100.0 * gained);
                (law, (size == 1).then(|| format!("{counted:.1}")))
            }
            Law::Exponential => ("exponential".to_owned(), None),
        };
        println!(
            "| {n} | {law} | of {size}, {:.0} % alike | {bootstrap:.1} | {t:.1} | {shown:.1} | {} | {:.0} % |",
            100.0 * alike,
            counted.unwrap_or_default(),
            100.0 * (widths[2] / widths[1] - 1.0),
        );
    }
}

fn drawn(
    stream: &mut RandomStream,
    n: usize,
    law: Law,
    size: usize,
    alike: f64,
) -> PairedDifferences {
    let (mut values, mut marks) = (Vec::new(), Vec::new());
    for cluster in 0..n / size {
        let shared = stream.unit();
        for _ in 0..size {
            let own = stream.unit();
            let goes_along = alike > 0.0 && stream.unit() < alike;
            values.push(law.at(if goes_along { shared } else { own }));
            marks.push(cluster);
        }
    }
    let differences = PairedDifferences::new(values).expect("finite numbers");
    let differences = differences.clustered_by(&marks).expect("as many marks");
    match law {
        Law::PassOrFail(..) => differences.within(-1.0, 1.0).expect("in range"),
        Law::Exponential => differences,
    }
}

/// Runs that stop when decided, with a look after every example: lost, gained, margin, most examples.
const MONITORED: [(f64, f64, f64, u64); 7] = [
    (0.05, 0.05, 0.05, 20_000),
    (0.05, 0.05, 0.02, 40_000),
    (0.075, 0.025, 0.05, 5_000),
    (0.06, 0.04, 0.02, 20_000),
    (0.2, 0.05, 0.05, 20_000),
    (0.15, 0.05, 0.02, 20_000),
    (0.02, 0.08, 0.02, 20_000),
];

pub(super) fn monitored() {
    const RUNS: u64 = 2000;
    println!(
        "| Lost, gained | Margin | better, not worse, worse, none | Interval misses | Examples, mean | Fixed number |"
    );
    println!("|---|---|---|---|---|---|");
    for (lost, gained, margin, most) in MONITORED {
        let law = Law::PassOrFail(lost, gained);
        let range = Interval {
            low: -1.0,
            high: 1.0,
        };
        let (mut verdicts, mut seen, mut misses) = ([0_u32; 4], 0, 0);
        for run in 0..RUNS {
            let mut stream = RandomStream::new(5, run);
            let mut monitor = DifferenceMonitor::new(range, margin, 0.05).expect("a range");
            while !monitor.verdict().is_decided() && monitor.seen() < most {
                monitor.observe(law.at(stream.unit())).expect("in range");
            }
            verdicts[monitor.verdict() as usize] += 1;
            seen += monitor.seen();
            let Interval { low, high } = monitor.interval();
            misses += u32::from(!(low..=high).contains(&law.mean()));
        }
        let plan = SampleSize {
            expected: law.mean(),
            ..SampleSize::new(margin)
        };
        let fixed = plan.for_discordance(lost + gained).expect("shares");
        println!(
            "| {:.1} %, {:.1} % | {margin} | {verdicts:?} | {misses} of {RUNS} | {:.0} | {} |",
            100.0 * lost,
            100.0 * gained,
            seen as f64 / RUNS as f64,
            fixed.map_or_else(String::new, |n| n.to_string()),
        );
    }
}
