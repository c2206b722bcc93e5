//! What systems cost in money: a table beside the summary, and which prices it rests on.

use serde_json::Value;

use super::cell;
use super::memory::MemoryTable;
use crate::metric::RowCosts;
use crate::model::{Measurement, Summary};
use crate::result::EvalResult;

/// What stands where money is not known.
const UNKNOWN: &str = "?";

/// Whether a metric has its place in the table of money.
pub(super) fn shows(key: &str) -> bool {
    RowCosts::NAMES.contains(&key) || key == "unattributed_cost"
}

/// The table of money; none where no price is known.
pub(super) fn table(result: &EvalResult) -> Option<MemoryTable> {
    let prices = result.provenance.get("prices")?;
    let currency = prices["currency"].as_str().unwrap_or("?");
    let summaries = || result.summary.values();
    let has = |key: &str| summaries().any(|summary| summary.get(key).is_some());
    let mut header = vec![
        "System".to_owned(),
        format!("total {}", cell::shorten(currency, 8)),
        "per row".to_owned(),
    ];
    for (key, heading) in [
        ("cost_per_pass", "per pass"),
        ("unattributed_cost", "nobody's"),
        ("unpriced_rows", "rows without price"),
    ] {
        if has(key) {
            header.push(heading.to_owned());
        }
    }
    let rows = result.summary.iter().map(|(system, summary)| {
        let mut cells = vec![
            cell::shorten(system, 30),
            total(summary),
            mean(summary.get("mean_cost")),
        ];
        for key in ["cost_per_pass", "unattributed_cost"] {
            if has(key) {
                cells.push(amount(summary.get(key).and_then(|one| one.value)));
            }
        }
        if has("unpriced_rows") {
            let count = summary.value("unpriced_rows");
            let is_unknown = summary.get("cost").is_none();
            cells.push(match count {
                Some(count) => cell::thousands(count as i64),
                None if is_unknown => "all".to_owned(),
                None => "0".to_owned(),
            });
        }
        cells
    });
    Some(MemoryTable {
        title: "Cost",
        header,
        rows: rows.collect(),
    })
}

/// The amount, or the least that it is.
fn total(summary: &Summary) -> String {
    match (summary.value("cost"), summary.value("cost_at_least")) {
        (Some(exact), _) => amount(Some(exact)),
        (None, Some(least)) => format!("≥ {}", amount(Some(least))),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// The mean of a row with its error.
fn mean(measurement: Option<&Measurement>) -> String {
    let value = measurement.and_then(|one| one.value);
    match measurement.and_then(|one| one.stderr) {
        Some(stderr) if value.is_some() && stderr > 0.0 => {
            format!("{} ±{}", amount(value), amount(Some(stderr)))
        }
        _ => amount(value),
    }
}

/// An amount of money with three digits that say something, and at least cents.
pub(super) fn amount(value: Option<f64>) -> String {
    let Some(value) = value else {
        return UNKNOWN.to_owned();
    };
    if !value.is_finite() {
        return "inf".to_owned();
    }
    let size = value.abs();
    let digits = match size {
        _ if size == 0.0 || size >= 1.0 => 2,
        // A pico-unit is the least amount that there is.
        _ => (2.0 - size.log10().floor()).clamp(2.0, 12.0) as usize,
    };
    let text = format!("{value:.digits$}");
    let cents = text.find('.').map_or(text.len(), |point| point + 3);
    let shown = text.trim_end_matches('0').len().max(cents);
    text.get(..shown).unwrap_or(&text).to_owned()
}

/// Which prices money rests on: the books with their days, and a digest of the entries.
pub(super) fn basis(result: &EvalResult) -> Option<String> {
    let prices = result.provenance.get("prices")?;
    let books = prices["books"].as_array()?;
    let book = |book: &Value| {
        let name = cell::shorten(book["name"].as_str().unwrap_or("?"), 40);
        match book["as_of"].as_str() {
            Some(day) => format!("{name} as of {}", cell::shorten(day, 10)),
            None => name,
        }
    };
    let books: Vec<String> = books.iter().map(book).collect();
    let digest = prices["digest"]
        .as_str()
        .and_then(|digest| digest.get(..12));
    Some(format!(
        "prices of {} (entries {})",
        books.join(" and "),
        digest.unwrap_or("?")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_show_what_matters() {
        for (value, expected) in [
            (Some(0.0), "0.00"),
            (Some(12.345), "12.35"),
            (Some(0.5), "0.50"),
            (Some(0.0285), "0.0285"),
            (Some(0.000_013_2), "0.0000132"),
            (Some(0.000_000_000_001), "0.000000000001"),
            (Some(f64::INFINITY), "inf"),
            (None, "?"),
        ] {
            assert_eq!(amount(value), expected, "{value:?}");
        }
    }
}
