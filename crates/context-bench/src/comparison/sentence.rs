//! What a comparison comes to, in a sentence that a user can act on, and the words and numbers that
//! reports share with it.

use super::estimate::CONFIDENCE;
use super::measure::{COST, UPSTREAM_TOKENS};
use super::{Difference, SystemComparison};
use crate::model::Interval;
use crate::stats::Verdict;
use crate::text::thousands::thousands;
use crate::text::visible::visible_line;

/// The sentence about a system beside its baseline.
pub(super) fn of(system: &SystemComparison, score: Option<&str>) -> String {
    let (label, baseline) = (system.label(), system.baseline_label());
    let head = format!(
        "{} against {}",
        visible_line(&label),
        visible_line(&baseline)
    );
    if system.matched.paired == 0 {
        return format!("{head}: no example in common, so nothing can be compared.");
    }
    let mut parts: Vec<String> = Vec::new();
    let money = system.overall(COST).and_then(money);
    let costs = system.tokens().and_then(tokens).into_iter().chain(money);
    let costs: Vec<String> = costs.collect();
    parts.extend((!costs.is_empty()).then(|| costs.join(", ")));
    let main = score.and_then(|score| system.overall(score));
    match (main, score) {
        (Some(main), _) => {
            let claim = match main.interval {
                Some(_) => verdict_words(main),
                None if main.n > 1 => "no interval, because no example differs by more or \
                                       less than the others"
                    .to_owned(),
                None => "too few examples for an interval".to_owned(),
            };
            let name = visible_line(&main.measure).into_owned();
            parts.push(format!("{name} {}: {claim}", change(main)));
            parts.extend(further(main));
            parts.extend(missing(main));
        }
        (None, Some(score)) => parts.push(format!(
            "no example with a score of both for {}",
            visible_line(score)
        )),
        (None, None) => {}
    }
    let unmatched = system.matched.only_baseline + system.matched.only_system;
    if unmatched > 0 {
        parts.push(format!(
            "{} not in both and left out",
            match unmatched {
                1 => "1 row is".to_owned(),
                n => format!("{} rows are", thousands(n as u64)),
            }
        ));
    }
    if parts.is_empty() {
        parts.push("no score to compare".to_owned());
    }
    format!("{head}: {}.", parts.join("; "))
}

/// `41 % fewer prompt tokens`.
fn tokens(difference: &Difference) -> Option<String> {
    let relative = difference.relative?;
    let what = match difference.measure == UPSTREAM_TOKENS {
        true => "tokens on the wire",
        false => "prompt tokens",
    };
    let percent = (relative.value.abs() * 100.0).round();
    Some(match relative.value {
        _ if percent == 0.0 => format!("as many {what}"),
        value if value < 0.0 => format!("{percent:.0} % fewer {what}"),
        _ => format!("{percent:.0} % more {what}"),
    })
}

/// `38 % less money`; on how many examples where that is not all of them shows beside it.
fn money(difference: &Difference) -> Option<String> {
    let value = difference.relative?.value;
    let percent = (value.abs() * 100.0).round();
    Some(match value {
        _ if percent == 0.0 => "as much money".to_owned(),
        value if value < 0.0 => format!("{percent:.0} % less money"),
        _ => format!("{percent:.0} % more money"),
    })
}

/// `−0.8 points [−2.1, +0.5]`.
pub(crate) fn change(difference: &Difference) -> String {
    with_unit(difference, if difference.is_share { " points" } else { "" })
}

/// `−0.8 [−2.1, +0.5]`, for a column whose heading says that these are points.
pub(crate) fn bare_change(difference: &Difference) -> String {
    with_unit(difference, "")
}

fn with_unit(difference: &Difference, unit: &str) -> String {
    let number = |value: f64| signed(value, difference.is_share);
    let interval = difference
        .interval
        .map_or(String::new(), |found: Interval| {
            format!(" [{}, {}]", number(found.low), number(found.high))
        });
    format!("{}{unit}{interval}", number(difference.difference))
}

/// What is shown, in words: with the margin if there is one.
fn verdict_words(difference: &Difference) -> String {
    let Some(margin) = difference.margin else {
        return match difference.verdict {
            Verdict::Inconclusive => no_difference(difference),
            shown => shown.to_string(),
        };
    };
    let is_beyond = is_beyond(difference, margin);
    let margin = points(margin, difference.is_share);
    let is_equivalent = difference.equivalence.is_some_and(|one| one.is_shown);
    match difference.verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::NotWorse if is_equivalent => format!("the same within {margin}"),
        Verdict::NotWorse => format!("not worse by more than {margin}"),
        Verdict::Worse => format!("worse by more than {margin}"),
        Verdict::Inconclusive if is_beyond => format!(
            "worse by more than {margin} is not shown, because chance alone makes a difference as \
             large too often ({})",
            p_value(difference)
        ),
        Verdict::Inconclusive => format!("not worse by more than {margin} is not shown"),
    }
}

/// That no difference is shown, and why where interval and test beside it disagree: a difference
/// counts as one only if both find it.
pub(crate) fn no_difference(difference: &Difference) -> String {
    let interval = difference.interval;
    let leaves_out_0 = interval.is_some_and(|found| found.low > 0.0 || found.high < 0.0);
    let is_found = difference.p_value < 1.0 - CONFIDENCE;
    let why = match (leaves_out_0, is_found) {
        (true, false) => "because chance alone makes one as large too often",
        (false, true) => {
            "because the interval holds 0, although chance alone rarely makes one as large"
        }
        _ => return "no difference shown".to_owned(),
    };
    format!("no difference shown, {why} ({})", p_value(difference))
}

/// Whether the whole interval lies beyond the margin, so that readers would expect *worse*.
fn is_beyond(difference: &Difference, margin: f64) -> bool {
    let beyond = |found: Interval| match difference.less_is_better {
        true => found.low > margin,
        false => found.high < -margin,
    };
    difference.interval.is_some_and(beyond)
}

/// `p 0.125`, `p < 0.001`.
fn p_value(difference: &Difference) -> String {
    match difference.p_value {
        small if small < 0.001 => "p < 0.001".to_owned(),
        p => format!("p {p:.3}"),
    }
}

/// `about 1,200 more examples would decide`, if that is what is missing.
fn further(difference: &Difference) -> Option<String> {
    let further = rounded(difference.further_examples?);
    Some(match further {
        1 => "1 more example would probably decide".to_owned(),
        n => format!("about {} more examples would decide", thousands(n)),
    })
}

/// That the verdict depends on scores that are missing, or how many are.
fn missing(difference: &Difference) -> Option<String> {
    let missing = difference.missing.as_ref()?;
    let lack = match missing.either {
        1 => "1 example lacks a score".to_owned(),
        n => format!("{} examples lack a score", thousands(n as u64)),
    };
    if !missing.decides {
        return Some(format!("{lack}, which cannot change this"));
    }
    let ends = missing.worst.zip(missing.best);
    let between = ends.map_or(String::new(), |(worst, best)| {
        let (a, b) = (worst.difference, best.difference);
        let number = |value: f64| signed(value, difference.is_share);
        let (low, high) = (number(a.min(b)), number(a.max(b)));
        format!(": between {low} and {high} points with them")
    });
    Some(format!("{lack}, and this depends on them{between}"))
}

/// A size without a sign: `2 points`, `1 point`, `0.5 points`; other scores as they are.
fn points(value: f64, is_share: bool) -> String {
    if !is_share {
        return format!("{value}");
    }
    // Four digits, without those that are zero.
    let text = format!("{:.4}", value * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "1" => "1 point".to_owned(),
        text => format!("{text} points"),
    }
}

/// A number with its sign and a real minus: `+0.5`, `−2.1`, `0.0`.
fn signed(value: f64, is_share: bool) -> String {
    let text = match is_share {
        true => format!("{:+.1}", value * 100.0),
        false => format!("{value:+.3}"),
    };
    match text.trim_start_matches(['+', '-']).parse::<f64>() {
        Ok(0.0) => text.trim_start_matches(['+', '-']).to_owned(),
        _ => text.replace('-', "−"),
    }
}

/// Two digits that count: more would promise a precision that nobody has.
fn rounded(n: u64) -> u64 {
    let digits = n.checked_ilog10().unwrap_or(0);
    let step = 10_u64.pow(digits.saturating_sub(1));
    n.div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, is_share, expected) in [
            (-0.008, true, "−0.8"),
            (0.005, true, "+0.5"),
            (-0.0001, true, "0.0"),
            (0.25, false, "+0.250"),
            (-1.5, false, "−1.500"),
        ] {
            assert_eq!(signed(value, is_share), expected);
        }
        for (value, expected) in [
            (0.02, "2 points"),
            (0.01, "1 point"),
            (0.005, "0.5 points"),
            (0.1, "10 points"),
        ] {
            assert_eq!(points(value, true), expected);
        }
        assert_eq!(points(0.5, false), "0.5");
        for (n, expected) in [
            (1, 1),
            (99, 99),
            (1184, 1200),
            (1201, 1300),
            (123_456, 130_000),
        ] {
            assert_eq!(rounded(n), expected);
        }
    }
}
