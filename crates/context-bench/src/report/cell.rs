//! Numbers as people read them. All reports share these spellings.

use std::borrow::Cow;

use crate::model::{Counts, Measurement, Unit};
pub(super) use crate::text::thousands::thousands;
use crate::text::visible::visible_line;

/// What stands where there is no value.
pub(super) const NONE: &str = "—";

/// Four decimals, `inf` for infinity; counts and ranks as whole numbers.
pub(super) fn exact(measurement: &Measurement) -> String {
    let Some(value) = measurement.value else {
        return NONE.into();
    };
    match measurement.unit {
        _ if value == f64::INFINITY => "inf".into(),
        Unit::Count | Unit::Rank => format!("{value:.0}"),
        _ => format!("{value:.4}"),
    }
}

/// The spelling of its unit. A plain number of which nothing is known but its value is
/// shown with four decimals.
pub(super) fn usual(measurement: &Measurement) -> String {
    match measurement.unit {
        Unit::Share => percent(measurement),
        Unit::Tokens => tokens(measurement),
        Unit::Seconds => seconds(measurement.value),
        Unit::Money => super::cost::amount(measurement.value),
        Unit::Number if measurement.n.is_some() || measurement.stderr.is_some() => {
            score(measurement)
        }
        Unit::Number | Unit::Count | Unit::Rank => exact(measurement),
    }
}

/// `12/0`: rows that are scored and rows that are not, for an error. For a part, also how
/// many there should be: `12/0 of 20`.
pub(super) fn counts(counts: &Counts) -> String {
    let done = format!("{}/{}", counts.scored, counts.errors());
    match counts.not_run() {
        0 => done,
        _ => format!("{done} of {}", counts.planned),
    }
}

/// `0.612 ±0.041`: three decimals and one standard error.
pub(super) fn score(measurement: &Measurement) -> String {
    match (measurement.value, measurement.stderr) {
        (None, _) => NONE.into(),
        (Some(value), Some(stderr)) => format!("{value:.3} ±{stderr:.3}"),
        (Some(value), None) => format!("{value:.3}"),
    }
}

/// `58%`.
pub(super) fn percent(measurement: &Measurement) -> String {
    match measurement.value {
        None => NONE.into(),
        Some(value) => {
            let text = format!("{:.0}%", value * 100.0);
            if text == "-0%" { "0%".into() } else { text }
        }
    }
}

/// `1,234`.
pub(super) fn tokens(measurement: &Measurement) -> String {
    match measurement.value {
        None => NONE.into(),
        Some(value) if value.is_finite() => thousands(value.round() as i64),
        Some(_) => "inf".into(),
    }
}

/// `850µs`, `12ms`, `1.25s`, `2m05s`.
pub(super) fn seconds(value: Option<f64>) -> String {
    let Some(value) = value else {
        return NONE.into();
    };
    if value < 0.001 {
        format!("{:.0}µs", value * 1e6)
    } else if value < 0.1 {
        format!("{:.1}ms", value * 1e3)
    } else if value < 1.0 {
        format!("{:.0}ms", value * 1e3)
    } else if value < 100.0 {
        format!("{value:.2}s")
    } else {
        format!("{:.0}m{:02.0}s", (value / 60.0).floor(), value % 60.0)
    }
}

/// `1 example`, `2,000 examples`.
pub(super) fn counted(n: i64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(n))
}

/// Text from outside on one line: what would break it is blank, what would steer a
/// terminal is written out.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    visible_line(text)
}

/// At most `max` characters on one line, the middle left out, so that ends stay readable.
pub(super) fn shorten(text: &str, max: usize) -> String {
    let text = &*plain(text);
    let n_chars = text.chars().count();
    if n_chars <= max || max < 3 {
        return text.to_owned();
    }
    let tail = (max - 1) / 2;
    let head: String = text.chars().take(max - 1 - tail).collect();
    let tail: String = text.chars().skip(n_chars - tail).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, text) in [
            (0.000_085, "85µs"),
            (0.012_34, "12.3ms"),
            (0.25, "250ms"),
            (1.254, "1.25s"),
            (125.0, "2m05s"),
        ] {
            assert_eq!(seconds(Some(value)), text);
        }
        assert_eq!(shorten("abcdefghij", 7), "abc…hij");
        assert_eq!(shorten("a\u{1b}[2J\nb", 10), "a\\x1b[2J b");
        assert_eq!(percent(&Measurement::new(-0.001, Unit::Share)), "0%");
    }
}
