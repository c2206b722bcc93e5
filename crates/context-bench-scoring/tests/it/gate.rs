//! Gate rules from outside: texts, figures, outcomes, errors.

use context_bench_error::Hint as _;
use context_bench_scoring::gate::{
    FigureOf, GateFigure, GateFigures, GateOutcome, GateRule, GateState,
};
use context_bench_scoring::model::Interval;
use proptest::prelude::*;

/// f1 is 0.78 [0.75, 0.81] against 0.80 [0.77, 0.83], the difference −0.02 [−0.035, −0.005]. On
/// `longbench-v2` it is 0.5 against 0.8; `mmlu:anatomy` has no scores.
struct Run;

fn figure(value: f64, half: f64) -> GateFigure {
    GateFigure {
        value: Some(value),
        interval: (half > 0.0).then_some(Interval {
            low: value - half,
            high: value + half,
        }),
    }
}

impl GateFigures for Run {
    fn figure(&self, metric: &str, of: FigureOf, benchmark: Option<&str>) -> GateFigure {
        match (metric, of, benchmark) {
            (_, _, Some("mmlu:anatomy")) => GateFigure::default(),
            ("f1", FigureOf::System, Some("longbench-v2")) => figure(0.5, 0.0),
            ("f1", FigureOf::System, _) => figure(0.78, 0.03),
            ("f1", FigureOf::Baseline, _) => figure(0.8, 0.03),
            ("f1", FigureOf::Difference, _) => figure(-0.02, 0.015),
            ("latency_p95", FigureOf::System, _) => figure(2.5, 0.0),
            ("latency_p95", FigureOf::Baseline, _) => figure(2.0, 0.0),
            ("error_rate", FigureOf::System, _) => figure(0.01, 0.0),
            ("acc,none", FigureOf::System, _) => figure(0.6, 0.0),
            // No answer passed.
            ("cost_of_pass", FigureOf::System, _) => figure(f64::INFINITY, 0.0),
            ("prompt_tokens", FigureOf::System, _) => figure(0.0, 0.0),
            ("prompt_tokens", FigureOf::Baseline, _) => figure(0.0, 0.0),
            _ => GateFigure::default(),
        }
    }

    fn metrics(&self) -> Vec<String> {
        let names = [
            "f1",
            "latency_p95",
            "error_rate",
            "acc,none",
            "prompt_tokens",
            "judge_score",
            "cost_of_pass",
        ];
        names.map(String::from).to_vec()
    }

    fn benchmarks(&self) -> Vec<String> {
        ["hotpotqa", "longbench-v2", "mmlu:anatomy"]
            .map(String::from)
            .to_vec()
    }
}

fn outcomes(rule: &str) -> Vec<GateOutcome> {
    let parsed = GateRule::parse(rule).unwrap_or_else(|error| panic!("{rule}: {error}"));
    parsed
        .check(&Run)
        .unwrap_or_else(|error| panic!("{rule}: {error}"))
}

#[test]
fn rules_pass_and_fail() {
    for (rule, is_failed) in [
        // Exactly the margin: rounding does not decide.
        ("f1 < baseline - 0.02", false),
        ("f1 <= baseline - 0.02", true),
        ("f1 ≤ baseline − 0.02", true),
        ("f1 < baseline - 0.01", true),
        ("baseline - 0.01 > f1", true),
        ("f1 < 0.7", false),
        ("f1 < .8", true),
        ("f1 < 98% * baseline", true),
        ("f1 < baseline * 0.97", false),
        ("f1 / baseline < 97%", false),
        ("error_rate > 5%", false),
        ("error_rate >= 1%", true),
        ("latency_p95 > 1.2 * baseline", true),
        ("latency_p95 > 3", false),
        ("cost_of_pass > 3", true),
        ("cost_of_pass >= 3", true),
        ("cost_of_pass < 3", false),
        ("latency_p95 > baseline(latency_p95) + 1e-1", true),
        ("f1 < 0.79 + 0 * latency_p95", true),
        // With uncertainty: surely worse by more than the margin, or perhaps.
        ("upper(f1 - baseline) < -0.02", false),
        ("upper(f1 - baseline) < 0", true),
        ("lower(f1 - baseline(f1)) < -0.02", true),
        ("lower(f1 - baseline) < -0.04", false),
        ("upper(f1) < lower(baseline)", false),
        ("lower(f1) < 0.76", true),
        ("-(f1 - baseline) > 0.015", true),
        ("2 * (f1 - 0.5) < 0.5", false),
        ("1 - 0.5 - 0.25 > f1", false),
        ("`acc,none` < 0.65", true),
        ("\"f1\" < 0.7", false),
    ] {
        let found = outcomes(rule);
        assert_eq!(found.len(), 1, "{rule}");
        assert_eq!(!found[0].is_passed(), is_failed, "{rule}: {found:?}");
        assert_eq!(found[0].missed_by().is_some(), is_failed, "{rule}");
    }
    let missed = outcomes("latency_p95 > 1.2 * baseline")[0]
        .missed_by()
        .unwrap();
    assert!((missed - 0.1).abs() < 1e-12, "{missed}");
}

#[test]
fn rules_are_about_benchmarks_and_systems() {
    let found =
        outcomes("f1 < baseline - 0.1 on hotpotqa, longbench-v2 for kompact, my-layer:ratio=0.5");
    let shown: Vec<(Option<&str>, bool)> = found
        .iter()
        .map(|one| (one.benchmark.as_deref(), one.is_passed()))
        .collect();
    assert_eq!(
        shown,
        [(Some("hotpotqa"), true), (Some("longbench-v2"), false)]
    );
    let rule = GateRule::parse("f1 < 0.1 for kompact, my-layer:ratio=0.5 on *").unwrap();
    for (system, applies) in [
        ("kompact", true),
        ("my-layer:ratio=0.5", true),
        ("other", false),
    ] {
        assert_eq!(rule.applies_to(system), applies, "{system}");
    }
    assert_eq!(rule.benchmarks(), ["*"]);
    assert_eq!(rule.check(&Run).unwrap().len(), 3);
    assert!(GateRule::parse("f1 < 0.1").unwrap().applies_to("anything"));
    let rule = GateRule::parse(" f1 < 0.1 + 0 * latency_p95 * baseline(f1) ").unwrap();
    assert_eq!(rule.metrics(), ["f1", "latency_p95"]);
    assert_eq!(
        rule.to_string(),
        "f1 < 0.1 + 0 * latency_p95 * baseline(f1)"
    );
}

#[test]
fn what_was_not_measured_does_not_pass() {
    for (rule, figure) in [
        ("judge_score < 0.5", "judge_score"),
        ("judge_score < baseline", "judge_score"),
        ("f1 < 0.5 on mmlu:anatomy", "f1"),
        ("lower(latency_p95) > 3", "lower(latency_p95)"),
        (
            "upper(latency_p95 - baseline) > 3",
            "upper(latency_p95 - baseline)",
        ),
        ("error_rate > baseline", "baseline(error_rate)"),
        // Nothing over nothing.
        (
            "prompt_tokens / baseline > 1",
            "prompt_tokens / baseline > 1",
        ),
    ] {
        let found = outcomes(rule);
        assert_eq!(
            found[0].state,
            GateState::NotMeasured {
                figure: figure.into()
            },
            "{rule}"
        );
        assert!(!found[0].is_passed() && found[0].missed_by().is_none());
    }
}

#[test]
fn errors_say_where_and_what_to_do() {
    let shown = |rule: &str| {
        let error = GateRule::parse(rule)
            .and_then(|rule| rule.check(&Run))
            .unwrap_err();
        let hint = error
            .hint()
            .map(|hint| format!("\nhint: {hint}"))
            .unwrap_or_default();
        format!("{}: {}{hint}", error.position.column, error.problem)
    };
    for (rule, expected) in [
        (
            "",
            "1: there is no rule\nhint: write a rule such as `f1 < baseline - 0.02`",
        ),
        ("f1", "3: expected `<`, `<=`, `>` or `>=`, found the end"),
        ("f1 <", "5: expected a number or a metric, found the end"),
        ("f1 < (0.5", "10: expected `)`, found the end"),
        ("f1 < 0.5)", "9: expected `on`, `for` or the end, found `)`"),
        (
            "f1 < 0.5 0.6",
            "10: expected `on`, `for` or the end, found `0.6`",
        ),
        (
            "f1 < 0.5 on",
            "12: expected the name of a dataset, task or group, found the end",
        ),
        (
            "f1 < 0.5 on a,",
            "15: expected the name of a dataset, task or group, found the end",
        ),
        (
            "f1 < 0.5 for ,",
            "14: expected the name of a system, found `,`",
        ),
        ("f1 < on", "6: expected a number or a metric, found `on`"),
        (
            "f1 < baseline()",
            "15: expected the name of a metric, found `)`",
        ),
        (
            "f1 < baseline(",
            "15: expected the name of a metric, found the end",
        ),
        (
            "f1 == 0.5",
            "4: `==` does not compare sizes\nhint: compare with `<`, `<=`, `>` or `>=`: the rule says when to fail",
        ),
        (
            "f1 < baseline - 2%",
            "17: a percentage cannot be added or taken away: points or a part of the baseline?\nhint: two points are `baseline - 0.02`, two percent of the baseline `baseline * 98%`",
        ),
        ("f1 < 1.2.3", "6: `1.2.3` is not a number"),
        ("f1 < 1e999", "6: `1e999` is not a number"),
        (
            "f1 < 0.5 & f1 > 2",
            "10: `&` has no meaning here\nhint: names with other characters than letters, digits, `_` and `.` stand in backticks",
        ),
        (
            "ä < `f1",
            "5: the quotation that begins here does not end\nhint: names with other characters than letters, digits, `_` and `.` stand in backticks",
        ),
        (
            "uper(f1) < 2",
            "1: there is no function `uper`\nhint: did you mean `upper`?",
        ),
        (
            "p95(latency) < 2",
            "1: there is no function `p95`\nhint: there are `lower`, `upper` and `baseline`",
        ),
        (
            "upper(f1 + 1) < 2",
            "6: `upper` takes a metric, `baseline`, or a metric minus `baseline`\nhint: write `upper(f1)`, or `upper(f1 - baseline)` for the paired difference",
        ),
        (
            "lower(upper(f1)) < 2",
            "6: `lower` takes a metric, `baseline`, or a metric minus `baseline`\nhint: write `lower(f1)`, or `lower(f1 - baseline)` for the paired difference",
        ),
        (
            "f1 + latency_p95 < baseline",
            "20: `baseline` of which metric?\nhint: name it: `baseline(f1)`",
        ),
        (
            "1 < 2",
            "1: the rule names no metric\nhint: write a rule such as `f1 < baseline - 0.02`",
        ),
        (
            "baseline < 2",
            "1: the rule names no metric\nhint: write a rule such as `f1 < baseline - 0.02`",
        ),
        (
            "  latency_p96 > 2",
            "1: there is no metric `latency_p96`\nhint: did you mean `latency_p95`?",
        ),
        (
            "f1 < 0.5 on hotpotqa, hotpot",
            "23: there is no dataset, task or group `hotpot`\nhint: did you mean `hotpotqa`?",
        ),
    ] {
        assert_eq!(shown(rule), expected, "{rule}");
    }
    let deep = format!("f1 < {}1", "(".repeat(100_000));
    assert!(shown(&deep).contains("nested too deeply"));
    let negative = format!("f1 < {}1", "-".repeat(100_000));
    assert!(shown(&negative).contains("nested too deeply"));
}

proptest! {
    /// No text makes the reader panic, and what is read is what was written.
    #[test]
    fn any_text_is_a_rule_or_an_error(text in "[a-z0-9 <>=()%.,`*/+-]{0,40}|\\PC{0,20}") {
        if let Ok(rule) = GateRule::parse(&text) {
            prop_assert_eq!(rule.text(), text.trim());
            let again = GateRule::parse(rule.text()).unwrap();
            prop_assert_eq!(&again, &rule);
            let _ = rule.check(&Run);
        }
    }

    /// A rule with numbers says what arithmetic says.
    #[test]
    fn numbers_are_compared(limit in -2.0..2.0_f64, times in 0.1..3.0_f64) {
        let rule = format!("f1 * {times} < {limit} + baseline");
        let expected = 0.78 * times < limit + 0.8;
        prop_assert_eq!(!outcomes(&rule)[0].is_passed(), expected);
    }
}
