//! A chart of quality against compression for terminals: a point per system, its name beside it.

use std::io::{self, Write};

use super::{Reporter, TableReport, cell};
use crate::model::Measurement;
use crate::result::EvalResult;
use crate::text::visible::visible_line;

/// Lines of the chart, without its axes.
const HEIGHT: usize = 9;
/// Columns left of the chart.
const MARGIN: usize = 6;
/// Columns below which a chart says nothing.
const LEAST: usize = 52;
/// Columns above which it says no more.
const MOST: usize = 96;
/// Names are cut after so many characters.
const NAME: usize = 22;

/// The table with a chart below it.
#[derive(Debug, Clone, Copy)]
pub struct ChartedTable {
    /// How many columns the terminal has.
    pub width: u16,
}

impl Reporter for ChartedTable {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        let table = TableReport { width: self.width };
        out.write_all(table.render(result).as_bytes())?;
        match chart(result, usize::from(self.width)) {
            Some(chart) => write!(out, "\n{chart}"),
            None => Ok(()),
        }
    }
}

/// A system as a point: how much it removed, how good it is.
struct Point<'a> {
    name: &'a str,
    removed: f64,
    quality: f64,
}

/// The chart; `None` where there are not two points, or no room.
fn chart(result: &EvalResult, width: usize) -> Option<String> {
    let value = |system: &str, keys: &[&str]| {
        let summary = result.summary.get(system)?;
        let found = keys.iter().find_map(|key| summary.value(key));
        found.filter(|value| value.is_finite())
    };
    let points: Vec<Point<'_>> = result
        .summary
        .keys()
        .filter_map(|name| {
            Some(Point {
                name,
                removed: value(name, &["wire_saved", "compression_ratio", "tokens_saved"])?,
                quality: value(name, &["mean_score"])?,
            })
        })
        .collect();
    if points.len() < 2 || width < LEAST {
        return None;
    }
    Some(draw(&points, width.min(MOST) - MARGIN - 1))
}

fn draw(points: &[Point<'_>], width: usize) -> String {
    let removed = || points.iter().map(|point| point.removed);
    let quality = || points.iter().map(|point| point.quality);
    // What is removed begins at 0; quality where it must.
    let (left, right) = (removed().fold(0.0, f64::min), removed().fold(0.0, f64::max));
    let (low, high) = (
        quality().fold(f64::INFINITY, f64::min),
        quality().fold(f64::NEG_INFINITY, f64::max),
    );
    let place = |value: f64, from: f64, to: f64, cells: usize| match to - from {
        range if range > 0.0 => ((value - from) / range * (cells - 1) as f64).round() as usize,
        _ => (cells - 1) / 2,
    };
    let mut grid = vec![vec![' '; width]; HEIGHT];
    let at: Vec<(usize, usize)> = points
        .iter()
        .map(|point| {
            let row = HEIGHT - 1 - place(point.quality, low, high, HEIGHT);
            (row, place(point.removed, left, right, width))
        })
        .collect();
    for (point, (row, column)) in points.iter().zip(&at) {
        grid[*row][*column] = match is_beaten(point, points) {
            true => '○',
            false => '●',
        };
    }
    for (point, (row, column)) in points.iter().zip(&at) {
        label(&mut grid, *row, *column, point.name);
    }
    let score = |value: f64| format!("{value:>5.2}");
    let mut text = String::from("quality against what was removed; ● is on the front\n");
    for (number, line) in grid.iter().enumerate() {
        let tick = match number {
            0 => score(high),
            last if last == HEIGHT - 1 && high > low => score(low),
            _ => " ".repeat(5),
        };
        let line: String = line.iter().collect();
        text += format!("{tick} │{}", line.trim_end()).trim_end();
        text.push('\n');
    }
    let (left, right) = (percent(left), percent(right));
    let gap = width.saturating_sub(left.chars().count() + right.chars().count());
    text += &format!("{}└{}\n", " ".repeat(MARGIN), "─".repeat(width));
    text += &format!("{} {left}{}{right}\n", " ".repeat(MARGIN), " ".repeat(gap));
    text
}

/// Whether another system is at least as good in both ways and better in one.
fn is_beaten(point: &Point<'_>, points: &[Point<'_>]) -> bool {
    points.iter().any(|other| {
        other.quality >= point.quality
            && other.removed >= point.removed
            && (other.quality > point.quality || other.removed > point.removed)
    })
}

/// Writes a name beside its point, or on a line near it, where nothing stands yet.
fn label(grid: &mut [Vec<char>], row: usize, column: usize, name: &str) {
    let name: Vec<char> = visible_line(&cell::shorten(name, NAME)).chars().collect();
    let width = grid[row].len();
    let rows = [0_isize, 1, -1, 2, -2];
    for (distance, row) in rows.iter().map(|by| (*by, row.checked_add_signed(*by))) {
        let Some(line) = row.and_then(|row| grid.get_mut(row)) else {
            continue;
        };
        // A blank stands on both sides, so that names do not run into each other.
        let right = column + if distance == 0 { 2 } else { 1 };
        let left = column.checked_sub(name.len() + 1);
        for start in [Some(right), left].into_iter().flatten() {
            let end = start + name.len();
            let around = start.saturating_sub(1)..(end + 1).min(width);
            let own = |n: usize| distance == 0 && n == column;
            if end <= width && around.clone().all(|n| line[n] == ' ' || own(n)) {
                line[start..end].copy_from_slice(&name);
                return;
            }
        }
    }
}

fn percent(share: f64) -> String {
    cell::percent(&Measurement {
        value: Some(share),
        unit: crate::model::Unit::Share,
        ..Measurement::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Summary;

    fn result(points: &[(&str, f64, f64)]) -> EvalResult {
        let mut result = EvalResult::default();
        for (name, removed, quality) in points {
            let summary = Summary::new()
                .with("mean_score", *quality)
                .with("compression_ratio", *removed);
            result.summary.insert((*name).to_owned(), summary);
        }
        result
    }

    #[test]
    fn points_stand_where_their_numbers_are_and_names_do_not_overlap() {
        let points = [
            ("passthrough", 0.0, 0.9),
            ("extractive", 0.9, 0.9),
            ("dedup", 0.03, 0.9),
            ("truncate", 0.5, 0.1),
        ];
        let chart = chart(&result(&points), 60).expect("a chart");
        let lines: Vec<&str> = chart.lines().collect();
        assert!(lines[1].starts_with(" 0.90 │○"), "{chart}");
        assert!(lines[1].trim_end().ends_with('●'), "{chart}");
        assert!(lines[HEIGHT].starts_with(" 0.10 │"), "{chart}");
        assert!(lines[HEIGHT].contains("○ truncate"), "{chart}");
        for (name, ..) in points {
            assert!(chart.contains(name), "{name} is missing in\n{chart}");
        }
        assert!(
            lines.iter().all(|line| line.chars().count() <= 60),
            "{chart}"
        );
    }

    #[test]
    fn there_is_no_chart_of_one_point_or_without_room() {
        assert_eq!(chart(&result(&[("a", 0.1, 0.2)]), 80), None);
        assert_eq!(
            chart(&result(&[("a", 0.1, 0.2), ("b", 0.1, 0.2)]), 30),
            None
        );
        let same = chart(&result(&[("a", 0.1, 0.2), ("b", 0.1, 0.2)]), 52);
        assert!(same.expect("a chart").contains('●'));
        let nan = [("a", f64::NAN, 0.2), ("b", 0.1, 0.2)];
        assert_eq!(chart(&result(&nan), 80), None);
    }
}
