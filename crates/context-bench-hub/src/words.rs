//! Numbers and names as messages say them.

use std::time::Duration;

use context_bench_error::suggest::near_matches;

/// A number of bytes as people say it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

pub(crate) fn free_text(free: Option<u64>) -> String {
    free.map_or_else(String::new, |free| format!(", {} free", size(free)))
}

pub(crate) fn after(wait: Option<Duration>) -> String {
    match wait {
        Some(wait) => format!(" and asks to wait {} s", wait.as_secs_f64().ceil()),
        None => String::new(),
    }
}

/// The known names closest to the one asked for, best first, at most three.
pub(crate) fn near<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = near_matches(asked, known);
    names.dedup();
    names.into_iter().map(str::to_owned).collect()
}

pub(crate) fn did_you_mean(near: &[String]) -> Option<String> {
    (!near.is_empty()).then(|| format!("did you mean {}?", alternatives(near)))
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

fn alternatives(names: &[String]) -> String {
    quoted(names).join(" or ")
}

/// Names with commas, the first twenty of them.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown = quoted(&names[..names.len().min(MOST)]).join(", ");
    match names.len().checked_sub(MOST) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ if names.is_empty() => "none".to_owned(),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_people_say_them() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_999, "1.0 MB"),
            (2_500_000_000, "2.5 GB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..22).map(|n| n.to_string()).collect();
        assert!(listed(&names).ends_with("`19` and 2 more"));
        assert_eq!(listed(&names[..2]), "`0`, `1`");
        assert_eq!(listed(&[]), "none");
    }
}
