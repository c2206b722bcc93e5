//! What is said about differences, failures and clusters.

use context_bench::comparison::{FlipDirection, PairedTest, Scope};
use context_bench::{EvalResult, EvalRow, RowText, RunComparison};
use context_bench_scoring::stats::{RandomStream, Verdict};
use serde_json::json;

use super::{compared, result, row, scores, settings};

/// Pass or fail of two systems: lost, gained and the same.
fn outcomes(lost: usize, gained: usize, same: usize) -> EvalResult {
    let pairs = [(lost, (1.0, 0.0)), (gained, (0.0, 1.0)), (same, (1.0, 1.0))];
    let pairs: Vec<(f64, f64)> = pairs.iter().flat_map(|(n, pair)| vec![*pair; *n]).collect();
    let old = pairs.iter().map(|pair| pair.0);
    let new = pairs.iter().map(|pair| pair.1);
    result(&[("direct", scores(old)), ("kompact", scores(new))])
}

#[test]
fn verdicts_and_sentences_of_worked_cases() {
    let cases = [
        ((5, 60, 935), Some(0.02), Verdict::Better, ": better."),
        (
            (10, 10, 980),
            Some(0.02),
            Verdict::NotWorse,
            "f1 0.0 points [−0.9, +0.9]: the same within 2 points.",
        ),
        // Without a single difference there is no spread, and still an interval.
        (
            (0, 0, 1000),
            Some(0.02),
            Verdict::NotWorse,
            ": the same within 2 points.",
        ),
        (
            (150, 20, 830),
            Some(0.02),
            Verdict::Worse,
            ": worse by more than 2 points.",
        ),
        (
            (20, 15, 65),
            Some(0.02),
            Verdict::Inconclusive,
            ": not worse by more than 2 points is not shown; about ",
        ),
        ((150, 20, 830), None, Verdict::Worse, ": worse."),
        (
            (20, 15, 65),
            None,
            Verdict::Inconclusive,
            ": no difference shown.",
        ),
    ];
    for ((lost, gained, same), margin, verdict, words) in cases {
        let found = compared(&outcomes(lost, gained, same), margin);
        let system = &found.systems[0];
        assert_eq!(system.verdict, Some(verdict), "{}", system.sentence);
        assert!(
            system.sentence.starts_with("kompact against direct: f1 "),
            "{}",
            system.sentence
        );
        assert!(system.sentence.contains(words), "{}", system.sentence);
        let open = margin.is_some() && verdict == Verdict::Inconclusive;
        let main = found.main(system).unwrap();
        assert_eq!(main.further_examples.is_some(), open);
        assert_eq!(system.sentence.contains("more examples would decide"), open);
        assert_eq!(main.test, PairedTest::Mcnemar);
        let flips = main.flips.unwrap();
        assert_eq!(
            (flips.lost, flips.gained, flips.same),
            (lost as u64, gained as u64, same as u64)
        );
        let expected = (gained as f64 - lost as f64) / main.n as f64;
        assert!((main.difference - expected).abs() < 1e-12);
    }
}

#[test]
fn mcnemar_is_exact_and_other_scores_are_flipped() {
    let found = compared(&outcomes(2, 8, 90), None);
    // scipy.stats.binomtest(2, 10).pvalue
    let main = found.main(&found.systems[0]).unwrap();
    assert!((main.p_value - 0.109_375).abs() < 1e-12, "{main:?}");
    let values = (0..12).map(|i| 0.5 + f64::from(i) / 100.0);
    let old = scores(values.clone());
    let new = scores(values.map(|value| value - 0.25));
    let found = compared(&result(&[("a", old), ("b", new)]), None);
    let main = found.main(&found.systems[0]).unwrap();
    assert_eq!(main.test, PairedTest::SignFlip);
    // All signs but two are nearer to 0.
    assert!((main.p_value - 2.0 / 4096.0).abs() < 1e-12, "{main:?}");
    assert_eq!(main.verdict, Verdict::Inconclusive, "no spread: {main:?}");
}

#[test]
fn few_examples_show_nothing_that_the_test_does_not_find() {
    // Four of twelve lose the same: Student's t is sure of it, the signs are not.
    let old = scores(vec![0.364; 12]);
    let new = scores((0..12).map(|at| if at % 3 == 0 { 0.0 } else { 0.364 }));
    let found = compared(&result(&[("a", old), ("b", new)]), None);
    let main = found.main(&found.systems[0]).unwrap();
    assert!(main.interval.unwrap().high < 0.0 && (main.p_value - 0.125).abs() < 1e-12);
    assert_eq!(main.verdict, Verdict::Inconclusive);
    // The interval beside it would look like a contradiction.
    let why = "no difference shown, because chance alone makes one as large too often (p 0.125).";
    let sentence = &found.systems[0].sentence;
    assert!(sentence.ends_with(why), "{sentence}");
    // With a margin it is *worse* that is not shown.
    let old = scores(vec![0.864; 12]);
    let new = scores((0..12).map(|at| if at % 3 == 0 { 0.0 } else { 0.864 }));
    let found = compared(&result(&[("a", old), ("b", new)]), Some(0.001));
    let why = ": worse by more than 0.1 points is not shown, because chance alone makes a \
               difference as large too often (p 0.125)";
    let sentence = &found.systems[0].sentence;
    assert!(sentence.contains(why), "{sentence}");
}

#[test]
fn what_the_test_finds_is_not_shown_while_the_interval_holds_0() {
    // All lose the same, so that nothing says how much others would.
    let values = (0..12).map(|i| 0.5 + f64::from(i) / 100.0);
    let new = scores(values.clone().map(|value| value - 0.125));
    let old = scores(values);
    let found = compared(&result(&[("a", old), ("b", new)]), None);
    let main = found.main(&found.systems[0]).unwrap();
    let interval = main.interval.unwrap();
    assert!(interval.low < 0.0 && interval.high > 0.0, "{main:?}");
    assert!(main.p_value < 0.05, "{main:?}");
    assert_eq!(main.verdict, Verdict::Inconclusive);
    let why = ": no difference shown, because the interval holds 0, although chance alone rarely \
               makes one as large (p < 0.001).";
    let sentence = &found.systems[0].sentence;
    assert!(sentence.ends_with(why), "{sentence}");
}

#[test]
fn flips_come_with_both_answers_and_all_are_counted() {
    let mut found = outcomes(30, 3, 20);
    for row in &mut found.rows {
        let text = RowText {
            response: Some(json!(format!("{} says é{}", row.system, row.example_id))),
            answer: Some(json!(["right"])),
            ..RowText::default()
        };
        row.text = Some(Box::new(text));
    }
    let mut how = settings(None);
    how.flips = 4;
    let comparison = found.compare(&how).unwrap();
    let flips = &comparison.systems[0].flips;
    let lost = flips
        .iter()
        .filter(|one| one.direction == FlipDirection::Lost);
    assert_eq!((lost.count(), flips.len()), (4, 7));
    assert_eq!(flips[0].baseline_answer.as_deref(), Some("direct says é0"));
    assert_eq!(flips[0].system_answer.as_deref(), Some("kompact says é0"));
    let counts = comparison
        .main(&comparison.systems[0])
        .unwrap()
        .flips
        .unwrap();
    assert_eq!((counts.lost, counts.gained), (30, 3));
}

#[test]
fn failures_are_bounded_and_said() {
    // 100 examples that both pass, and ten calls of the system that failed.
    let mut new = scores(vec![1.0; 110]);
    for score in &mut new[..10] {
        *score = None;
    }
    let found = result(&[("direct", scores(vec![1.0; 110])), ("kompact", new)]);
    let comparison = compared(&found, Some(0.05));
    let system = &comparison.systems[0];
    let main = comparison.main(system).unwrap();
    assert_eq!((main.n, main.difference), (100, 0.0));
    let missing = main.missing.as_ref().unwrap();
    assert_eq!(
        (missing.baseline, missing.system, missing.either),
        (0, 10, 10)
    );
    let as_wrong = missing.as_wrong.unwrap();
    assert!((as_wrong.difference + 10.0 / 110.0).abs() < 1e-12);
    let (worst, best) = (missing.worst.unwrap(), missing.best.unwrap());
    assert!((worst.difference + 10.0 / 110.0).abs() < 1e-12);
    assert_eq!(best.difference, 0.0);
    assert_eq!(main.verdict, Verdict::NotWorse);
    assert!(missing.decides, "{missing:?}");
    assert!(
        system.sentence.ends_with(
            "10 examples lack a score, and this depends on them: between −9.1 and 0.0 points \
             with them."
        ),
        "{}",
        system.sentence
    );
    // One that is missing among many that are surely worse changes nothing.
    let mut new = scores(vec![0.0; 110]);
    new[0] = None;
    let found = result(&[("direct", scores(vec![1.0; 110])), ("kompact", new)]);
    let comparison = compared(&found, Some(0.05));
    let sentence = &comparison.systems[0].sentence;
    assert!(
        sentence.contains("1 example lacks a score, which cannot change this"),
        "{sentence}"
    );
}

#[test]
fn attempts_and_conversations_are_drawn_as_one() {
    let mut repeated = EvalResult::default();
    let mut talks = EvalResult::default();
    for system in ["a", "b"] {
        for found in [&mut repeated, &mut talks] {
            found.summary.insert(system.to_owned(), Default::default());
        }
        for at in 0..120_usize {
            let is_right = (at / 4 + usize::from(system == "b")) % 3 > 0;
            let value = Some(f64::from(u8::from(is_right)));
            repeated.rows.push(row(system, "d", at / 4, value));
            let mut about = row(system, "d", at, value);
            let name = json!(format!("talk {}", at / 8));
            let added = [("conversation_id".to_owned(), name)];
            about.added = Some(Box::new(added.into_iter().collect()));
            talks.rows.push(about);
        }
    }
    for (found, clusters) in [(repeated, 30), (talks, 15)] {
        let comparison = compared(&found, None);
        let main = comparison.main(&comparison.systems[0]).unwrap();
        assert_eq!((main.n, main.clusters), (120, clusters));
        assert_eq!(
            main.test,
            PairedTest::SignFlip,
            "McNemar needs independent pairs"
        );
    }
}

#[test]
fn costs_are_compared_like_scores() {
    let mut found = outcomes(0, 0, 50);
    for (at, row) in found.rows.iter_mut().enumerate() {
        let is_new = &*row.system == "kompact";
        let prompt = 1000 + (at as u64 % 50) * 10;
        let tokens = context_bench::TokenUse::reported(
            context_bench::UsageShape::default(),
            json!({"prompt_tokens": if is_new { prompt * 59 / 100 } else { prompt }})
                .as_object()
                .unwrap(),
        );
        row.reply = Some(Box::new(context_bench::Reply {
            tokens,
            ..Default::default()
        }));
        row.latency = if is_new { 0.3 } else { 0.2 } + 0.01 * (at % 7) as f64;
    }
    let comparison = compared(&found, Some(0.1));
    let system = &comparison.systems[0];
    let tokens = system.overall("prompt_tokens").unwrap();
    let relative = tokens.relative.unwrap();
    assert!((relative.value + 0.41).abs() < 0.001, "{relative:?}");
    let interval = relative.interval.unwrap();
    assert!(interval.low <= relative.value && relative.value <= interval.high);
    assert_eq!(tokens.verdict, Verdict::Better, "fewer are better");
    assert_eq!(system.overall("latency").unwrap().verdict, Verdict::Worse);
    assert!(
        system
            .sentence
            .contains("41 % fewer prompt tokens; f1 0.0 points"),
        "{}",
        system.sentence
    );
    // Tokens of our own count are other tokens.
    for row in found.rows.iter_mut().filter(|row| &*row.system == "direct") {
        row.reply.as_mut().unwrap().tokens.reported = false;
    }
    assert!(
        compared(&found, None).systems[0]
            .overall("prompt_tokens")
            .is_none()
    );
}

/// A system that answers at random about an example as often right as the other.
fn noisy(seed: u64, n: usize) -> EvalResult {
    let answers = |system: u64| {
        let each = (0..n as u64).map(move |example| {
            // Examples are easy or hard, and both systems find them so.
            let easy = RandomStream::new(7, example).unit();
            let chance = RandomStream::new(seed * 2 + system + 100, example).unit();
            f64::from(u8::from(chance < 0.15 + 0.8 * easy))
        });
        scores(each)
    };
    result(&[("a", answers(0)), ("again", answers(1))])
}

#[test]
fn a_system_against_itself_is_hardly_ever_better_or_worse() {
    let mut wrong = 0;
    for seed in 0..100 {
        let comparison: RunComparison = compared(&noisy(seed, 200), None);
        let verdict = comparison.systems[0].verdict.unwrap();
        wrong += usize::from(verdict != Verdict::Inconclusive);
    }
    assert!(wrong <= 5, "{wrong} of 100");
    // Of answers that do not vary, never.
    for seed in 0..20 {
        let same: Vec<EvalRow> = outcomes(0, 0, 60).rows;
        let mut found = outcomes(0, 0, 60);
        found.rows = same;
        let mut how = settings(None);
        how.seed = seed;
        let comparison = found.compare(&how).unwrap();
        assert_eq!(comparison.systems[0].verdict, Some(Verdict::Inconclusive));
    }
}

#[test]
fn threads_do_not_show() {
    let found = noisy(3, 300);
    let mut how = settings(Some(0.02));
    how.threads = std::num::NonZeroUsize::new(1);
    let one = found.compare(&how).unwrap();
    for threads in [2, 3, 16] {
        how.threads = std::num::NonZeroUsize::new(threads);
        assert_eq!(found.compare(&how).unwrap(), one);
    }
    let written = serde_json::to_string(&one).unwrap();
    assert_eq!(
        serde_json::from_str::<RunComparison>(&written).unwrap(),
        one
    );
    assert!(
        one.systems[0]
            .difference("f1", Scope::Dataset, "d")
            .is_some()
    );
}
