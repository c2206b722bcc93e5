//! What differs from run to run and from machine to machine, replaced by its name in brackets.
//!
//! Replacements keep the width of a cell of a table where the cell is wider than its content,
//! so that a slow machine has the same table as a fast one.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A filter: what it finds, and what stands there instead.
type Filter = (LazyLock<Regex>, fn(&Captures<'_>) -> String);

macro_rules! pattern {
    ($pattern:literal) => {
        LazyLock::new(|| Regex::new($pattern).unwrap())
    };
}

static RUN_ID: LazyLock<Regex> = pattern!(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b");

static FILTERS: [Filter; 14] = [
    // Lines about progress, which only slow runs write.
    (
        pattern!(r"(?m)^  [^\n]+: \d+(?:/\d+)?, \d[\d.]*/s, \d+:\d\d[^\n]*\n"),
        |_| String::new(),
    ),
    // `786µs`, `1.9ms`, `0.02s`, `0.020 s`; right-aligned in a table.
    (pattern!(r" *\b\d+(?:\.\d+)?(?:µs|ms| ?s)\b"), duration),
    // `"latency": 0.00117`, `"latency_p95": 0.002` in JSON.
    (
        pattern!(r#"("(?:latency|connect|front_prob)\w*": ?)\d[\d.e-]*"#),
        |found| format!("{}\"[TIME]\"", &found[1]),
    ),
    // How sure the front is, which latencies decide too: the last column of a Markdown table.
    (pattern!(r"(?m)(\| \d+ \|) (?:\d+%|—) \|$"), |found| {
        format!("{} [SHARE] |", &found[1])
    }),
    // What a comparison says of latencies, down to its verdict.
    (
        pattern!(r#"(?s)("measure": "latency",).*?"verdict": "\w+""#),
        |found| format!("{} \"[TIMES]\"", &found[1]),
    ),
    (pattern!(r#"("\w+_seconds": ?)"[\d.e-]+""#), |found| {
        format!("{}\"[TIME]\"", &found[1])
    }),
    // Seconds by system: `"timing": {"a": 0.1}`.
    (pattern!(r#"("timing": ?)\{[^}]*\}"#), |found| {
        format!("{}\"[TIMES]\"", &found[1])
    }),
    // The latency of a row in CSV, which comes after two numbers of tokens.
    (
        pattern!(r"(?m)^([^,\n]+,[^,\n]+,[^,\n]+,\d+,\d+,)[\d.e-]+,"),
        |found| format!("{}[TIME],", &found[1]),
    ),
    (
        pattern!(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?Z?\b"),
        |_| "[DATE]".into(),
    ),
    (pattern!(r#"("date": ?)\d[\d.]*"#), |found| {
        format!("{}\"[DATE]\"", &found[1])
    }),
    // The size of a database is a matter of its library.
    (pattern!(r"\b\d+ bytes\b"), |_| "[SIZE]".into()),
    // Numbers of errors differ between systems, their texts do not.
    (pattern!(r" \(os error \d+\)"), |_| String::new()),
    (
        pattern!(r#"(context-bench |version": ?")\d+\.\d+\.\d+\b"#),
        |found| format!("{}[VERSION]", &found[1]),
    ),
    // The last digits of a mean or an interval are a matter of the processor.
    (pattern!(r"(\d\.\d{6})\d{3,}"), |found| {
        format!("{}…", &found[1])
    }),
];

fn duration(found: &Captures<'_>) -> String {
    let width = found[0].chars().count();
    let blanks = found[0].chars().take_while(|c| *c == ' ').count();
    match blanks {
        0 => "[TIME]".into(),
        1 => " [TIME]".into(),
        // A cell of a table.
        _ => format!("{:>width$}", "[TIME]"),
    }
}

/// A text without what differs between two runs of the same command.
pub(super) fn stable(text: &str) -> String {
    FILTERS.iter().fold(text.to_owned(), |text, (regex, with)| {
        regex.replace_all(&text, with).into_owned()
    })
}

/// The ids of stored runs in a text.
pub(super) fn run_ids(text: &str) -> Vec<String> {
    let found = RUN_ID.find_iter(text);
    found.map(|id| id.as_str().to_owned()).collect()
}

#[test]
fn two_machines_say_the_same() {
    for (fast, slow) in [
        (
            "passthrough  1.000    896µs     12/0",
            "passthrough  1.000   12.3ms     12/0",
        ),
        ("| 957µs | 1.1ms |", "| 1.2s | 31ms |"),
        ("- **dedup**: 0.02s", "- **dedup**: 11.70s"),
        ("took 0.000 s, then", "took 1.250 s, then"),
        (
            "so\n  dedup: 1/110, 0.1/s, 0:14, 26 min left\n  all: 3, 2/s, 1:04:02\ntook 1s",
            "so\ntook 2ms",
        ),
        (r#""latency": 0.0011,"#, r#""latency": 1.2e-5,"#),
        (r#""timing":{"a":0.1}"#, r#""timing":{"a":2}"#),
        (
            "\"measure\": \"latency\",\n \"n\": 3,\n \"verdict\": \"better\"",
            "\"measure\": \"latency\",\n \"n\": 2,\n \"verdict\": \"worse\"",
        ),
        ("a,q1,d,24,25,0.00015,1,1", "a,q1,d,24,25,2.1,1,1"),
        ("refused (os error 111)", "refused (os error 61)"),
        ("on 2026-11-17 12:29", "on 2027-01-02 03:04"),
        ("0.6666666666666666", "0.66666666666666674"),
    ] {
        assert_eq!(stable(fast), stable(slow));
        assert_ne!(stable(fast), fast);
    }
}

#[test]
fn what_is_the_same_everywhere_stays() {
    for text in [
        "110 examples",
        "2,932 tokens",
        "0.916 ±0.025   92%",
        "at bench.yaml:2:5",
        "3 systems",
        "a,b,c,1,2,d,3",
    ] {
        assert_eq!(stable(text), text);
    }
}
