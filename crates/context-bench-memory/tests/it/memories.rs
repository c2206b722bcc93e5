//! Every kind of memory: what it recalls, budgets, isolation, saved states.

use std::sync::Arc;

use context_bench_error::Hint as _;
use context_bench_memory::embedding::HashedNgrams;
use context_bench_memory::{
    Memory, MemoryError, MemoryKind, MemorySettings, Query, Recalled, Tools, Turn, TurnId,
};
use proptest::prelude::*;

fn tools() -> Tools {
    Tools {
        embedder: Some(Arc::new(HashedNgrams)),
        ..Tools::default()
    }
}

fn build(settings: &str) -> Box<dyn Memory> {
    let settings: MemorySettings = settings.parse().unwrap();
    settings.build(&tools()).unwrap()
}

fn turns() -> Vec<Turn> {
    let texts = [
        ("Ann", "I adopted a dog called Rex last week."),
        ("Ben", "How lovely! My sister paints landscapes."),
        ("Ann", "Painting is fun. I tried pottery."),
        ("Ben", "The pottery class is on Monday."),
        ("Ann", "See you there."),
    ];
    let turns = texts
        .into_iter()
        .enumerate()
        .map(|(at, (speaker, text))| Turn {
            speaker: Some(speaker.into()),
            ..Turn::new(format!("t{at}"), "user", text)
        });
    turns.collect()
}

fn ids(recalled: &Recalled) -> Vec<&str> {
    recalled.turns.iter().map(|turn| turn.id.as_str()).collect()
}

#[test]
fn each_kind_recalls_its_turns() {
    let evidence: [TurnId; 3] = ["t3".into(), "gone".into(), "t0".into()];
    for (settings, question, expected) in [
        ("naive", "dog?", vec!["t4", "t3", "t2", "t1", "t0"]),
        ("window:turns=2", "dog?", vec!["t4", "t3"]),
        ("bm25", "When is the pottery class?", vec!["t3", "t2"]),
        ("bm25:top_k=1", "When is the pottery class?", vec!["t3"]),
        ("bm25", "the of", vec![]),
        ("keyword:top_k=2", "pottery class monday", vec!["t3", "t2"]),
        ("embedding:top_k=1", "Ann's dogs?", vec!["t0"]),
        (
            "embedding:top_k=1,recency_weight=1",
            "Ann's dogs?",
            vec!["t4"],
        ),
        ("hybrid:top_k=2", "pottery classes", vec!["t3", "t2"]),
        ("oracle", "?", vec!["t3", "t0"]),
        ("none", "dog?", vec![]),
    ] {
        let mut memory = build(settings);
        assert_eq!(memory.ingest(&turns()).unwrap().turns, 5);
        let query = Query {
            evidence: Some(&evidence),
            ..Query::new(question)
        };
        let recalled = memory.recall(&query).unwrap();
        assert_eq!(ids(&recalled), expected, "{settings}");
        assert_eq!(memory.name(), settings);
        // The text is in the order of the conversation, whatever the ranks.
        let mut lines: Vec<&str> = expected.clone();
        lines.sort_unstable();
        let lines: Vec<String> = lines
            .iter()
            .filter_map(|id| {
                turns()
                    .iter()
                    .find(|turn| turn.id.as_str() == *id)
                    .map(Turn::line)
            })
            .collect();
        assert_eq!(recalled.text, lines.join("\n"), "{settings}");
        let words = recalled.text.split_whitespace().count() as u64;
        assert_eq!(recalled.tokens, words, "{settings}");
    }
}

#[test]
fn the_oracle_needs_marks() {
    let error = build("oracle").recall(&Query::new("?")).unwrap_err();
    assert_eq!(error, MemoryError::NoEvidence);
    assert!(error.hint().is_some());
}

#[test]
fn budgets_leave_no_gap_in_a_history_and_pass_over_long_turns_in_a_ranking() {
    let turns = [
        Turn::new("short", "user", "pottery"),
        Turn::new("long", "user", "pottery pottery is what I like most of all"),
        Turn::new("last", "user", "bye"),
    ];
    // The less of the settings and the question counts.
    for (settings, budget_tokens, expected) in [
        ("naive:budget_tokens=4", None, vec!["last"]),
        ("naive", Some(4), vec!["last"]),
        ("window:budget_tokens=4", Some(100), vec!["last"]),
        ("bm25:budget_tokens=4", None, vec!["short"]),
        ("bm25:budget_tokens=4", Some(1), vec![]),
        ("bm25:budget_tokens=1", None, vec![]),
    ] {
        let mut memory = build(settings);
        memory.ingest(&turns).unwrap();
        let query = Query {
            budget_tokens,
            ..Query::new("pottery")
        };
        let recalled = memory.recall(&query).unwrap();
        assert_eq!(ids(&recalled), expected, "{settings} {budget_tokens:?}");
    }
}

#[test]
fn nothing_leaks_across_a_reset() {
    for kind in MemoryKind::ALL {
        let mut used = MemorySettings::new(kind).build(&tools()).unwrap();
        used.ingest(&[Turn::new("x", "user", "My dog is called Fido, pottery")])
            .unwrap();
        used.reset();
        used.ingest(&turns()).unwrap();
        let mut fresh = MemorySettings::new(kind).build(&tools()).unwrap();
        fresh.ingest(&turns()).unwrap();
        let query = Query {
            evidence: Some(&[]),
            ..Query::new("What is the dog called?")
        };
        assert_eq!(used.recall(&query), fresh.recall(&query), "{kind}");
        assert_eq!(used.save(), fresh.save(), "{kind}");
    }
}

#[test]
fn turns_come_in_parts_and_never_twice() {
    for kind in MemoryKind::ALL {
        let build = || MemorySettings::new(kind).build(&tools()).unwrap();
        let (mut whole, mut parts, turns) = (build(), build(), turns());
        whole.ingest(&turns).unwrap();
        parts.ingest(&turns[..2]).unwrap();
        parts.ingest(&[]).unwrap();
        parts.ingest(&turns[2..]).unwrap();
        assert_eq!(whole.save(), parts.save(), "{kind}");
        let again = [Turn::new("new", "user", "x"), turns[0].clone()];
        let error = parts.ingest(&again).unwrap_err();
        assert_eq!(error, MemoryError::DuplicateTurn { id: "t0".into() });
        assert_eq!(whole.save(), parts.save(), "{kind}");
        parts.ingest(&again[..1]).unwrap();
    }
}

#[test]
fn saved_states_answer_as_before() {
    for kind in MemoryKind::ALL {
        let build = || MemorySettings::new(kind).build(&tools()).unwrap();
        let mut memory = build();
        memory.ingest(&turns()).unwrap();
        let state = memory.save();
        let mut loaded = build();
        loaded
            .ingest(&[Turn::new("old", "user", "pottery")])
            .unwrap();
        loaded.load(&state).unwrap();
        let query = Query {
            evidence: Some(&["t3".into()]),
            ..Query::new("When is Ann's pottery class?")
        };
        assert_eq!(memory.recall(&query), loaded.recall(&query), "{kind}");
        assert_eq!(loaded.save(), state);
        // What follows is taken in behind it.
        for memory in [&mut memory, &mut loaded] {
            memory
                .ingest(&[Turn::new("t5", "user", "pottery again")])
                .unwrap();
        }
        assert_eq!(memory.recall(&query), loaded.recall(&query), "{kind}");
    }
}

#[test]
fn states_of_others_are_refused_and_change_nothing() {
    let mut memory = build("bm25");
    memory.ingest(&turns()).unwrap();
    let before = memory.save();
    let error = memory.load(&build("naive").save()).unwrap_err();
    let expected = "the saved state is of `naive`, not of `bm25`";
    assert_eq!(error.to_string(), expected);
    assert!(memory.load(&before[..before.len() - 1]).is_err());
    assert!(memory.load(b"").is_err());
    assert_eq!(memory.save(), before);
    // How much is recalled is not part of what was taken in.
    let mut other = build("bm25:top_k=1");
    other.load(&before).unwrap();
    let recalled = other.recall(&Query::new("pottery")).unwrap();
    assert_eq!(recalled.turns.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any text, any limits: no panic, no more than the budget, and the same answer after
    /// saving and loading.
    #[test]
    fn any_conversation(
        texts in prop::collection::vec(".{0,40}", 0..12),
        question in ".{0,40}",
        top_k in 1_usize..14,
        budget in prop::option::of(1_u64..30),
    ) {
        let turns: Vec<Turn> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| Turn::new(at.to_string(), "user", text.as_str()))
            .collect();
        for kind in MemoryKind::ALL {
            let settings = MemorySettings { top_k, budget_tokens: budget, ..MemorySettings::new(kind) };
            let mut memory = settings.build(&tools()).unwrap();
            memory.ingest(&turns).unwrap();
            let query = Query { evidence: Some(&[]), ..Query::new(&question) };
            let recalled = memory.recall(&query).unwrap();
            prop_assert!(recalled.tokens <= budget.unwrap_or(u64::MAX));
            let positions: std::collections::HashSet<usize> =
                recalled.turns.iter().map(|turn| turn.position).collect();
            prop_assert_eq!(positions.len(), recalled.turns.len());
            let mut loaded = settings.build(&tools()).unwrap();
            loaded.load(&memory.save()).unwrap();
            prop_assert_eq!(loaded.recall(&query).unwrap(), recalled);
        }
    }
}
