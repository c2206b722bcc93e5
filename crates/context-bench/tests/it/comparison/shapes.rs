//! Datasets, groups, and runs of other sizes than two systems over one dataset.

use context_bench::comparison::{
    ComparedRows, ContentKey, GroupMember, GroupShape, Scope, compare_pairs,
};
use context_bench::{EvalResult, WireFacts};

use context_bench_scoring::stats::Verdict;

use super::{compared, result, row, scores, settings};

#[test]
fn one_system_is_compared_with_nobody() {
    let one = result(&[("only", scores([1.0, 0.0]))]);
    assert_eq!(one.compare(&settings(None)), None);
    assert_eq!(EvalResult::default().compare(&settings(None)), None);
    let two = result(&[("a", scores([1.0])), ("b", scores([1.0]))]);
    let mut how = settings(None);
    how.baseline = Some("nobody".into());
    assert_eq!(two.compare(&how), None);
    how.baseline = Some("b".into());
    let found = two.compare(&how).unwrap();
    assert_eq!((&*found.baseline, &*found.systems[0].system), ("b", "a"));
}

#[test]
fn examples_of_runs_are_matched_by_content() {
    let (old, new) = (
        result(&[("s", scores([1.0, 1.0, 0.0]))]),
        result(&[("s", scores([0.0, 1.0, 1.0]))]),
    );
    let key = |n: u8| -> ContentKey { [n; 16] };
    let (a, b) = ([key(1), key(2), key(3)], [key(3), key(1), key(9)]);
    let pair = (
        ComparedRows::new("s", &old.rows).of_run("one", &a),
        ComparedRows::new("s", &new.rows).of_run("two", &b),
    );
    let found = compare_pairs(&[pair], &settings(None)).unwrap();
    let system = &found.systems[0];
    let matched = system.matched;
    assert_eq!(
        (matched.paired, matched.only_baseline, matched.only_system),
        (2, 1, 1)
    );
    let main = found.main(system).unwrap();
    assert_eq!(
        (main.n, main.baseline_mean, main.system_mean),
        (2, 0.5, 0.5)
    );
    assert!(
        system
            .sentence
            .starts_with("s of run two against s of run one: f1 0.0 points"),
        "{}",
        system.sentence
    );
    assert!(
        system
            .sentence
            .ends_with("2 rows are not in both and left out."),
        "{}",
        system.sentence
    );
    let other = [key(7), key(8), key(9)];
    let pair = (
        ComparedRows::new("s", &old.rows).of_run("one", &a),
        ComparedRows::new("s", &new.rows).of_run("two", &other),
    );
    let found = compare_pairs(&[pair], &settings(Some(0.02))).unwrap();
    assert_eq!(found.systems[0].verdict, None);
    assert_eq!(
        found.systems[0].sentence,
        "s of run two against s of run one: no example in common, so nothing can be compared."
    );
}

/// Systems over datasets `d0`, `d1`, …, of which each loses more than the one before.
fn many(systems: usize, datasets: usize, examples: usize) -> EvalResult {
    let mut result = EvalResult::default();
    for system in 0..systems {
        let name = format!("system {system}");
        result.summary.insert(name.clone(), Default::default());
        for dataset in 0..datasets {
            for id in 0..examples {
                let is_lost = (id + dataset) % examples < system;
                let value = f64::from(u8::from(!is_lost));
                let tag = format!("d{dataset}");
                result.rows.push(row(&name, &tag, id, Some(value)));
            }
        }
    }
    result
}

#[test]
fn many_systems_and_datasets_stay_readable() {
    let found = many(12, 40, 12);
    let mut with_section = found.clone();
    let comparison = compared(&found, Some(0.02));
    assert_eq!(comparison.systems.len(), 11);
    for system in &comparison.systems {
        let datasets: Vec<_> = system
            .differences
            .iter()
            .filter(|one| one.scope == Scope::Dataset)
            .collect();
        // Beyond a number, only the score that verdicts are about is there for each dataset.
        assert_eq!(datasets.len(), 40);
        for one in datasets {
            assert_eq!(one.measure, "f1");
            assert!(one.p_adjusted.unwrap() >= one.p_value);
        }
    }
    with_section.comparison = Some(comparison);
    for width in [40, 80, 200] {
        let report = context_bench::report::TableReport { width }.render(&with_section);
        let section = report.split("Against system 0").nth(1).unwrap();
        let rows = section.lines().filter(|line| line.starts_with("system "));
        assert!(rows.count() >= 11, "{section}");
        assert!(
            report.trim_end().ends_with('.'),
            "the last line is a sentence"
        );
        if width >= 80 {
            let widest = section.lines().map(|line| line.chars().count()).max();
            assert!(widest.unwrap() <= usize::from(width), "{section}");
        }
    }
}

#[test]
fn groups_are_compared_as_they_are_scored() {
    let mut found = many(2, 2, 20);
    // The first dataset has twice as many examples.
    let extra: Vec<_> = found
        .rows
        .iter()
        .filter(|row| &*row.dataset == "d0")
        .map(|row| {
            let mut row = row.clone();
            row.example_id = format!("more {}", row.example_id).as_str().into();
            row
        })
        .collect();
    found.rows.extend(extra);
    found.rows.sort_by(|a, b| a.system.cmp(&b.system));
    let tag = |name: &str| GroupMember::Tag(name.to_owned());
    let members = || vec![tag("d0"), tag("d1"), tag("not run")];
    let mut how = settings(None);
    how.groups = vec![
        GroupShape::new("macro", Some("f1".into()), false, members()),
        GroupShape::new("micro", None, true, members()),
    ];
    let comparison = found.compare(&how).unwrap();
    let system = &comparison.systems[0];
    let of = |scope, name: &str| system.difference("f1", scope, name).unwrap().clone();
    let (first, second) = (of(Scope::Dataset, "d0"), of(Scope::Dataset, "d1"));
    let by_tasks = of(Scope::Group, "macro");
    let expected = (first.difference + second.difference) / 2.0;
    assert!((by_tasks.difference - expected).abs() < 1e-12);
    let stderr = (first.stderr.unwrap().powi(2) + second.stderr.unwrap().powi(2)).sqrt() / 2.0;
    // The divisor of a sample of both is another one than that of each.
    let ratio = by_tasks.stderr.unwrap() / stderr;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    let by_size = of(Scope::Group, "micro");
    let all = of(Scope::All, "");
    assert!((by_size.difference - all.difference).abs() < 1e-12);
    assert!((by_size.baseline_mean - all.baseline_mean).abs() < 1e-12);
    assert_eq!(by_size.n, 60);
}

#[test]
fn tokens_on_the_wire_count_where_a_tap_saw_them() {
    let mut found = result(&[
        ("direct", scores(vec![1.0; 40])),
        ("proxy", scores(vec![1.0; 40])),
    ]);
    let wire = |result: &mut EvalResult, of_proxy: fn(usize) -> u64| {
        for (at, row) in result.rows.iter_mut().enumerate() {
            let mut facts = WireFacts::default();
            let full = 1000 + (at % 40) as u64;
            facts.upstream_tokens = Some(if at < 40 { full } else { of_proxy(at % 40) });
            row.wire = Some(Box::new(facts));
        }
    };
    let plain = compared(&found, None);
    assert!(plain.systems[0].overall("upstream_tokens").is_none());
    wire(&mut found, |at| 500 + at as u64 / 2);
    let comparison = compared(&found, None);
    let system = &comparison.systems[0];
    let tokens = system.overall("upstream_tokens").unwrap();
    assert_eq!((tokens.n, tokens.less_is_better), (40, true));
    assert!(
        (tokens.relative.unwrap().value + 0.5).abs() < 0.01,
        "{tokens:?}"
    );
    assert_eq!(tokens.verdict, Verdict::Better);
    assert_eq!(system.tokens(), Some(tokens));
    let words = "proxy against direct: 50 % fewer tokens on the wire; f1 ";
    assert!(system.sentence.starts_with(words), "{}", system.sentence);
}
