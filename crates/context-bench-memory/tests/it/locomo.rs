//! What memories recall of LoCoMo's ten conversations.

use std::collections::HashMap;
use std::sync::Arc;

use context_bench_memory::embedding::HashedNgrams;
use context_bench_memory::measure::{ByKind, Retrieval};
use context_bench_memory::{MemoryDataset, MemoryKind, MemorySettings, Query, Tools};
use context_bench_testkit_macros::{needs_shared, shared_path};

/// With marked evidence, better memories recall more: of all questions, and of each kind.
#[needs_shared("data/full/locomo10.json")]
#[test]
fn recall_is_in_a_plausible_order() {
    let dataset = MemoryDataset::read(shared_path!("data/full/locomo10.json")).unwrap();
    let tools = Tools {
        embedder: Some(Arc::new(HashedNgrams)),
        ..Tools::default()
    };
    let mut measured: HashMap<MemoryKind, ByKind> = HashMap::new();
    for kind in MemoryKind::ALL {
        let mut memory = MemorySettings::new(kind).build(&tools).unwrap();
        let by_kind = measured.entry(kind).or_default();
        for (at, example) in (0..).zip(&dataset.examples) {
            let turns: Vec<_> = example.conversation.turns().cloned().collect();
            memory.reset();
            memory.ingest(&turns).unwrap();
            for asked in &example.questions {
                let recalled = memory.recall(&Query::from(asked)).unwrap();
                let served = Retrieval::of(&recalled, &asked.evidence, 10);
                by_kind.add(&asked.kind, at, served);
            }
        }
    }
    let all = |kind| measured[&kind].all();
    let recall = |kind| all(kind).recall_at_k.value.unwrap();
    let order = [
        MemoryKind::Oracle,
        MemoryKind::Hybrid,
        MemoryKind::Bm25,
        MemoryKind::Window,
        MemoryKind::None,
    ];
    for pair in order.windows(2) {
        let (better, worse) = (recall(pair[0]), recall(pair[1]));
        assert!(better >= worse, "{pair:?}: {better} {worse}");
    }
    assert_eq!(recall(MemoryKind::None), 0.0);
    for asked in measured[&MemoryKind::Oracle].kinds() {
        let of = |kind| measured[&kind].of(asked).recall_at_k.value.unwrap();
        assert!(of(MemoryKind::Oracle) > of(MemoryKind::Hybrid), "{asked}");
        assert!(
            of(MemoryKind::Bm25) > 10.0 * of(MemoryKind::Window),
            "{asked}"
        );
    }
    // Everything is everything, and the oracle takes the least tokens of all that finds it.
    assert_eq!(all(MemoryKind::Naive).recall.value, Some(1.0));
    assert_eq!(all(MemoryKind::Oracle).recall.value, Some(1.0));
    let interval = all(MemoryKind::Bm25).recall_at_k.interval.unwrap();
    assert!(interval.high - interval.low < 0.1, "{interval:?}");
    assert_eq!(
        (all(MemoryKind::Bm25).n, all(MemoryKind::Bm25).unmarked),
        (1982, 4)
    );
}
