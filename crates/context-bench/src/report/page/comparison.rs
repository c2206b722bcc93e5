//! Paired differences to the baseline, as the member `comparison` of the JSON export has them.

use context_bench_page::{Comparison, Difference};
use serde_json::json;

use crate::comparison::{self, RunComparison, Scope, SystemComparison, change};
use crate::result::EvalResult;
use crate::stats::Verdict;
use crate::text::visible::visible_line;

/// The number of the baseline among the systems.
pub(super) fn baseline(result: &EvalResult, systems: &[&str]) -> Option<usize> {
    let baseline = &result.comparison.as_ref()?.baseline;
    systems.iter().position(|name| name == baseline)
}

/// The differences in the score that verdicts are about.
pub(super) fn of(result: &EvalResult, systems: &[&str]) -> Option<Comparison> {
    page_comparison(result.comparison.as_ref()?, systems)
}

/// The same of any comparison; `systems` are the names in the order of the page.
pub fn page_comparison(found: &RunComparison, systems: &[&str]) -> Option<Comparison> {
    let score = found.score.as_deref()?;
    let mut differences = Vec::new();
    for (place, one) in found.systems.iter().enumerate() {
        let Some(system) = systems.iter().position(|name| *name == one.system) else {
            continue;
        };
        for (number, difference) in one.differences.iter().enumerate() {
            if difference.measure != score {
                continue;
            }
            differences.push(Difference {
                system,
                benchmark: (difference.scope != Scope::All).then(|| difference.name.clone()),
                path: vec![
                    json!("comparison"),
                    json!("systems"),
                    json!(place),
                    json!("differences"),
                    json!(number),
                    json!("difference"),
                ],
                difference: Some(difference.difference),
                interval: difference.interval.map(|found| [found.low, found.high]),
                n: difference.n,
                verdict: word(difference.verdict).to_owned(),
                sentence: sentence(one, difference),
            });
        }
    }
    let confidence = found.confidence * 100.0;
    Some(Comparison {
        method: format!(
            "System minus baseline in {}, on the examples that both have; bars are {confidence:.0} % \
             intervals{}",
            visible_line(score),
            match found.margin {
                Some(margin) => format!(", the dashed line is the margin of {margin}"),
                None => String::new(),
            }
        ),
        margin: found.margin,
        differences,
    })
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::NotWorse => "not_worse",
        Verdict::Worse => "worse",
        Verdict::Inconclusive => "undecided",
    }
}

/// `−9.1 points [−14.5, −3.6] beside passthrough: worse`.
fn sentence(system: &SystemComparison, difference: &comparison::Difference) -> String {
    let baseline = system.baseline_label();
    let claim = match (difference.verdict, difference.margin) {
        (Verdict::Inconclusive, None) => comparison::no_difference(difference),
        (Verdict::Inconclusive, Some(_)) => "not decided".to_owned(),
        (shown, _) => shown.to_string(),
    };
    format!(
        "{} beside {}: {claim}",
        change(difference),
        visible_line(&baseline)
    )
}
