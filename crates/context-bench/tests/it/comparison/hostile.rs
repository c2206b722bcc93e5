//! Names and values that come from outside.

use context_bench::comparison::Scope;
use context_bench::report::{HtmlTable, MarkdownReport, TableReport};
use context_bench::{EvalResult, Score};

use super::{compared, result, row, scores};

const NAMES: [&str; 5] = [
    "a|b\n# heading",
    "\u{1b}[31mred\u{1b}[0m",
    "<script>alert(1)</script>",
    "שלום \u{202e}evil",
    "日本語 ✓ — 𝔘",
];

#[test]
fn names_from_outside_break_no_report() {
    let systems: Vec<(&str, _)> = NAMES
        .iter()
        .enumerate()
        .map(|(at, name)| {
            (
                *name,
                scores((0..40).map(|id| f64::from(u8::from(id > at * 3)))),
            )
        })
        .collect();
    let mut found: EvalResult = result(&systems);
    found.comparison = Some(compared(&found, Some(0.02)));
    let table = TableReport { width: 80 }.render(&found);
    assert!(
        !table.contains('\u{1b}') && !table.contains('\u{202e}'),
        "{table}"
    );
    assert!(
        table.contains("日本語 ✓ — 𝔘 against a|b # heading: f1 "),
        "{table}"
    );
    let markdown = MarkdownReport.render(&found);
    assert!(
        !markdown.contains("\n# heading") && markdown.contains("a\\|b"),
        "{markdown}"
    );
    let html = HtmlTable.render(&found);
    assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"));
    let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    assert_eq!(json["comparison"]["systems"][3]["system"], NAMES[4]);
}

#[test]
fn numbers_that_are_none_count_as_missing() {
    let values = [f64::NAN, f64::INFINITY, 1.0, 0.5, 0.25, -0.0];
    let found = result(&[("a", scores([1.0; 6])), ("b", scores(values))]);
    let comparison = compared(&found, Some(0.1));
    let main = comparison.main(&comparison.systems[0]).unwrap();
    assert_eq!(main.n, 4);
    assert_eq!(main.missing.as_ref().unwrap().system, 2);
    assert!(main.difference.is_finite());
    // Scores that are no shares have no points, no range and no margin that was not meant for them.
    let found = result(&[
        ("a", scores([1.0, 9.0, 4.0])),
        ("b", scores([2.0, 7.0, 5.5])),
    ]);
    let comparison = compared(&found, None);
    let sentence = &comparison.systems[0].sentence;
    assert!(sentence.contains("f1 +0.167 ["), "{sentence}");
}

#[test]
fn scores_that_do_not_apply_are_neither_missing_nor_zero() {
    let mut found = EvalResult::default();
    for system in ["a", "b"] {
        found.summary.insert(system.to_owned(), Default::default());
        for id in 0..10 {
            let mut row = row(system, "d", id, Some(1.0));
            if id < 3 {
                row.scores = [("judge", Score::value(0.5))].into_iter().collect();
            }
            found.rows.push(row);
        }
    }
    let comparison = compared(&found, None);
    let system = &comparison.systems[0];
    let judged = system.difference("judge", Scope::All, "").unwrap();
    assert_eq!((judged.n, judged.missing.is_some()), (3, false));
    let main = system.difference("f1", Scope::All, "").unwrap();
    assert_eq!((main.n, main.missing.is_some()), (7, false));
}
