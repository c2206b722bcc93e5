//! Sweeps, controls and runs that ended early, for people.

use super::markdown::{escape, text};
use super::{cell, footer};
use crate::model::Interval;
use crate::result::EvalResult;
use crate::stopping::SequentialVerdict;
use crate::sweep::{SweepPoint, SweepReport};

/// Columns of the chart.
const CHART: usize = 30;

/// The parts of the table for terminals.
pub(super) fn parts(result: &EvalResult, room: usize) -> Vec<String> {
    let sweeps = result.sweeps.iter().map(|sweep| table(sweep, room));
    let said = [stopping(result), controls(result)];
    let said = said.into_iter().map(|lines| {
        let wrapped = lines.iter().map(|line| footer::wrapped(line, room));
        wrapped.collect::<Vec<_>>().join("\n")
    });
    sweeps.chain(said).collect()
}

/// What a run showed while it went on.
pub(super) fn stopping(result: &EvalResult) -> Vec<String> {
    let Some(stopping) = &result.stopping else {
        return Vec::new();
    };
    let mut lines = stopping.sentences();
    if stopping.ended_early {
        lines.push(
            "the run ended when everything was decided: these intervals hold however often one \
             looks, those of other figures do not know that it ended early, nor do verdicts \
             that rest on them"
                .to_owned(),
        );
    }
    let is_open = |own: &SequentialVerdict| own.problem.is_none() && !own.verdict.is_decided();
    if !result.interrupted && stopping.systems.values().any(is_open) {
        lines.push(
            "what looks after every example leave open, one look at all of them may show: the \
             sentences about systems are that look"
                .to_owned(),
        );
    }
    let plain = lines.iter().map(|line| cell::plain(line).into_owned());
    plain.collect()
}

/// The difference that noise makes, beside real ones.
pub(super) fn controls(result: &EvalResult) -> Vec<String> {
    let line = |one: &crate::noise::ControlReport| {
        let floor = match one.floor {
            // How large noise can be is not known by that: "up to 0" would be a claim.
            Some(0.0) => "it gave the same score for every example, so that noise shows no \
                          difference"
                .to_owned(),
            Some(floor) => format!(
                "noise alone makes up to ±{floor:.3} in 95 of 100 such comparisons (p = {:.2})",
                one.p_value
            ),
            None => "too few examples to say what noise makes".to_owned(),
        };
        let mut line = format!(
            "{} against itself: {} {:+.3} over {} examples; {floor}",
            one.system, one.score, one.difference, one.examples
        );
        for (system, difference) in &one.beside {
            let beyond = match one.floor {
                Some(floor) if difference.abs() > floor => " (beyond noise)",
                Some(_) => " (within noise)",
                None => "",
            };
            line += &format!("; {system} {difference:+.3}{beyond}");
        }
        cell::plain(&line).into_owned()
    };
    result.controls.iter().map(line).collect()
}

/// A curve as a table with a chart of bands: `·` is the interval, `●` the mean.
fn table(sweep: &SweepReport, room: usize) -> String {
    let values: Vec<String> = sweep
        .points
        .iter()
        .map(|point| short(point.value))
        .collect();
    let width = values
        .iter()
        .map(|text| text.chars().count())
        .max()
        .unwrap_or(0);
    let width = width.max(sweep.setting.chars().count());
    let low = least(&sweep.points);
    let high = most(&sweep.points);
    let mut lines = vec![heading(sweep)];
    lines.push(format!(
        "{:>width$}  {:>8}  {:<22}  {}",
        sweep.setting,
        "tokens",
        sweep.score,
        scale(low, high),
    ));
    for (point, value) in sweep.points.iter().zip(&values) {
        let Interval { low: a, high: b } = point.quality_interval;
        let quality = format!("{:.3} [{a:.3}, {b:.3}]", point.quality);
        let mark = match point.is_shown {
            Some(true) if sweep.smallest.as_deref() == Some(&*point.system) => " ← smallest",
            Some(true) => " not worse",
            Some(false) => match point.verdict {
                Some(verdict) if verdict.is_decided() => &format!(" {verdict}"),
                _ => " ?",
            },
            None => "",
        };
        lines.push(format!(
            "{value:>width$}  {:>8}  {quality:<22}  {}{mark}",
            cell::thousands(point.tokens.round() as i64),
            chart(point, low, high),
        ));
    }
    let wrap = |line: String| footer::wrapped(&line, room);
    lines.extend(conclusions(sweep).into_iter().map(wrap));
    lines.join("\n")
}

fn heading(sweep: &SweepReport) -> String {
    format!(
        "Sweep {}: {} against prompt tokens, {} examples",
        sweep.name, sweep.score, sweep.examples
    )
}

/// What a curve shows, in sentences.
pub(super) fn conclusions(sweep: &SweepReport) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(baseline), Some(margin)) = (&sweep.baseline, sweep.margin) {
        lines.push(match &sweep.smallest {
            Some(smallest) => format!(
                "smallest context that is not worse than {baseline} by more than {margin}: \
                 {smallest}"
            ),
            None => {
                format!("no context is shown to be not worse than {baseline} by more than {margin}")
            }
        });
    }
    if let Some(area) = &sweep.area {
        let Interval { low, high } = area.interval;
        lines.push(format!(
            "area under the curve, {} to {} tokens: {:.3} [{low:.3}, {high:.3}]",
            cell::thousands(area.tokens.low.round() as i64),
            cell::thousands(area.tokens.high.round() as i64),
            area.area
        ));
    }
    for other in &sweep.beside {
        let Interval { low, high } = other.interval;
        lines.push(format!(
            "at equal compression ({} to {} tokens) {:+.3} [{low:+.3}, {high:+.3}] beside {}",
            cell::thousands(other.tokens.low.round() as i64),
            cell::thousands(other.tokens.high.round() as i64),
            other.difference,
            other.sweep
        ));
    }
    lines
}

fn least(points: &[SweepPoint]) -> f64 {
    let ends = points.iter().map(|point| point.quality_interval.low);
    ends.fold(f64::INFINITY, f64::min)
}

fn most(points: &[SweepPoint]) -> f64 {
    let ends = points.iter().map(|point| point.quality_interval.high);
    ends.fold(f64::NEG_INFINITY, f64::max)
}

fn scale(low: f64, high: f64) -> String {
    let (left, right) = (format!("{low:.2}"), format!("{high:.2}"));
    let gap = CHART.saturating_sub(left.len() + right.len());
    format!("{left}{}{right}", " ".repeat(gap))
}

fn chart(point: &SweepPoint, low: f64, high: f64) -> String {
    let width = (high - low).max(f64::MIN_POSITIVE);
    let column = |value: f64| {
        let part = ((value - low) / width).clamp(0.0, 1.0);
        (part * (CHART - 1) as f64).round() as usize
    };
    let Interval { low: a, high: b } = point.quality_interval;
    let (first, middle, last) = (column(a), column(point.quality), column(b));
    let cells = (0..CHART).map(|at| match at {
        at if at == middle => '●',
        at if (first..=last).contains(&at) => '·',
        _ => ' ',
    });
    cells.collect()
}

fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Sections of a Markdown document.
pub(super) fn markdown(result: &EvalResult) -> Vec<String> {
    let mut lines = Vec::new();
    for sweep in &result.sweeps {
        let heading = text(&heading(sweep));
        lines.extend([format!("## {heading}"), String::new()]);
        lines.push(format!(
            "| {} | Prompt tokens | {} | Difference | Verdict |",
            escape(&sweep.setting),
            escape(&sweep.score)
        ));
        lines.push("|---|---|---|---|---|".to_owned());
        for point in &sweep.points {
            let band = |interval: Interval| format!("[{:.3}, {:.3}]", interval.low, interval.high);
            let difference = point.difference.map_or_else(
                || cell::NONE.to_owned(),
                |difference| {
                    let interval = point.difference_interval.map(band).unwrap_or_default();
                    format!("{difference:+.3} {interval}")
                },
            );
            let verdict = point
                .verdict
                .map_or_else(|| cell::NONE.to_owned(), |v| v.to_string());
            lines.push(format!(
                "| {} | {} | {:.3} {} | {difference} | {verdict} |",
                short(point.value),
                cell::thousands(point.tokens.round() as i64),
                point.quality,
                band(point.quality_interval),
            ));
        }
        lines.push(String::new());
        let said = conclusions(sweep).into_iter();
        lines.extend(said.map(|line| format!("- {}", text(&line))));
        lines.push(String::new());
    }
    for (title, said) in [
        ("Stopped when decided", stopping(result)),
        ("Noise", controls(result)),
    ] {
        if !said.is_empty() {
            lines.extend([format!("## {title}"), String::new()]);
            lines.extend(said.iter().map(|line| format!("- {}", text(line))));
            lines.push(String::new());
        }
    }
    lines
}
