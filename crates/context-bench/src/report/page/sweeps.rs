//! Curves of sweeps, as the member `sweeps` of the JSON export has them.

use context_bench_page::{Sweep, SweepPoint};
use serde_json::json;

use crate::report::sweep::conclusions;
use crate::result::EvalResult;
use crate::sweep::SweepReport;
use crate::text::visible::visible_line;

pub(super) fn of(result: &EvalResult, systems: &[&str]) -> Vec<Sweep> {
    let sweeps = result.sweeps.iter().enumerate();
    sweeps
        .map(|(place, sweep)| curve(place, sweep, systems))
        .collect()
}

fn curve(place: usize, sweep: &SweepReport, systems: &[&str]) -> Sweep {
    let points = sweep.points.iter().enumerate();
    let points = points.map(|(number, point)| SweepPoint {
        system: systems.iter().position(|name| *name == point.system),
        value: point.value,
        tokens: point.tokens,
        quality: point.quality,
        interval: [point.quality_interval.low, point.quality_interval.high],
        verdict: point.verdict.map(|v| v.to_string()).unwrap_or_default(),
        is_smallest: sweep.smallest.as_deref() == Some(&*point.system),
        path: vec![
            json!("sweeps"),
            json!(place),
            json!("points"),
            json!(number),
        ],
    });
    let said = conclusions(sweep).into_iter();
    Sweep {
        name: sweep.name.clone(),
        setting: sweep.setting.clone(),
        score: sweep.score.clone(),
        examples: sweep.examples,
        points: points.collect(),
        conclusions: said.map(|line| visible_line(&line).into_owned()).collect(),
    }
}
