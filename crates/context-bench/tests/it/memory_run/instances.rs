//! Who serves which conversation: one instance each, or the only one for all.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use context_bench::memory::Instances;

use super::{Act, Data, Event, Witness, ids, sorted, timeless};

/// So long that no machine needs it.
const PATIENCE: Duration = Duration::from_secs(120);

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What happened to each instance, in the order of their numbers.
fn by_instance(memory: &Witness) -> Vec<Vec<Event>> {
    let mut found: HashMap<usize, Vec<Event>> = HashMap::new();
    for (number, event) in memory.diary.events() {
        found.entry(number).or_default().push(event);
    }
    (0..found.len())
        .map(|n| found.remove(&n).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_conversation_has_an_instance_that_takes_it_in_once_before_any_question() {
    let data = Data::named(&NAMES, 4);
    for workers in [1, 8] {
        let memory = Witness::new();
        let result = data.run(&memory, workers).await;
        assert_eq!(result.counts["witness"].scored, 20);
        let instances = by_instance(&memory);
        assert_eq!(instances.len(), NAMES.len(), "{instances:?}");
        for events in instances {
            let Event::Ingested(name) = events[2].clone() else {
                panic!("{events:?}");
            };
            let begin = [Event::Opened, Event::Reset, Event::Ingested(name.clone())];
            assert_eq!(events[..3], begin);
            // Each question ends before the next begins: four pairs, and nothing else.
            let asked = &events[3..events.len() - 1];
            assert_eq!(asked.len(), 8, "{asked:?}");
            for pair in asked.chunks(2) {
                let Event::Asked(question) = &pair[0] else {
                    panic!("{asked:?}");
                };
                assert_eq!(pair[1], Event::Answered(question.clone()));
                assert!(question.starts_with(&name), "{question} of {name}");
            }
            // Nothing is left of it when the run is over.
            assert_eq!(events.last(), Some(&Event::Dropped));
        }
    }
}

#[tokio::test]
async fn conversations_are_taken_in_side_by_side() {
    // Nobody gets past this before all conversations are being taken in.
    let all = Arc::new(tokio::sync::Barrier::new(NAMES.len()));
    let memory = Witness::new().on_ingest(move |_| Act::Wait(Arc::clone(&all)));
    let data = Data::named(&NAMES, 4);
    let run = tokio::time::timeout(PATIENCE, data.run(&memory, 8));
    let result = run.await.expect("they wait for each other");
    assert_eq!(result.counts["witness"].scored, 20);
    assert_eq!(sorted(memory.diary.ingested()), strings(&NAMES));
}

#[tokio::test]
async fn questions_about_one_conversation_overlap_where_the_memory_allows_it() {
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let mut memory = Witness::new().on_query(move |_| Act::Wait(Arc::clone(&both)));
    memory.queries_overlap = true;
    let data = Data::named(&["a"], 2);
    let run = tokio::time::timeout(PATIENCE, data.run(&memory, 8));
    let result = run.await.expect("they wait for each other");
    assert_eq!(result.counts["witness"].scored, 2);
    assert_eq!(memory.diary.ingested(), ["a"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_only_instance_serves_conversations_one_after_the_other() {
    let data = Data::named(&NAMES, 4);
    for workers in [1, 8] {
        let mut memory = Witness::new();
        memory.instances = Instances::One;
        let result = data.run(&memory, workers).await;
        assert_eq!(result.counts["witness"].scored, 20);
        assert_eq!(memory.diary.ingested(), NAMES);
        let [events] = &by_instance(&memory)[..] else {
            panic!("more than one instance");
        };
        // Opened, then per conversation a reset, an ingest, and four questions that end before
        // the next begins.
        let mut events = events[1..].chunks(2);
        for name in NAMES {
            let begin = [Event::Reset, Event::Ingested(name.into())];
            assert_eq!(events.next(), Some(&begin[..]));
            for pair in events.by_ref().take(4) {
                let Event::Asked(question) = &pair[0] else {
                    panic!("{pair:?}");
                };
                assert_eq!(pair[1], Event::Answered(question.clone()));
                assert!(question.starts_with(name), "{question} of {name}");
            }
        }
    }
}

#[tokio::test]
async fn an_only_instance_that_failed_at_a_conversation_takes_the_next_in_afresh() {
    let data = Data::named(&["a", "b", "c"], 3);
    for (act, workers) in [("fail", 1), ("fail", 8), ("panic", 1), ("panic", 8)] {
        let memory = Witness::new().on_ingest(move |name| match (name, act) {
            ("b", "fail") => Act::Fail("disk full"),
            ("b", _) => Act::Panic("disk full"),
            _ => Act::Nothing,
        });
        let memory = Witness {
            instances: Instances::One,
            ..memory
        };
        let result = data.run(&memory, workers).await;
        assert_eq!(memory.diary.ingested(), ["a", "b", "c"], "{act}");
        let counts = &result.counts["witness"];
        assert_eq!((counts.scored, counts.failed), (6, 3), "{act}");
        for row in result.rows.iter().filter(|row| row.failure.is_none()) {
            assert_eq!(row.scores.value("f1"), Some(1.0), "{act}: {row:?}");
        }
    }
}

#[tokio::test]
async fn an_instance_goes_when_its_conversation_is_over() {
    let names: Vec<String> = (0..60).map(|n| format!("n{n}-")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let data = Data::named(&names, 2);
    // Rows hold their conversations until they are scored, which has time to happen here.
    let memory = Witness::new().on_query(|_| Act::Sleep(Duration::from_millis(5)));
    data.run(&memory, 1).await;
    let (mut alive, mut most) = (0_usize, 0);
    for (_, event) in memory.diary.events() {
        match event {
            Event::Opened => alive += 1,
            Event::Dropped => alive -= 1,
            _ => {}
        }
        most = most.max(alive);
    }
    assert_eq!(alive, 0);
    assert!(most < names.len() / 2, "{most} at the same time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_are_the_same_however_many_work() {
    let data = Data::named(&NAMES, 3);
    let mut found = Vec::new();
    for (instances, workers) in [
        (Instances::Many, 1),
        (Instances::Many, 8),
        (Instances::One, 1),
        (Instances::One, 8),
    ] {
        let mut memory = Witness::new();
        memory.instances = instances;
        let result = data.run(&memory, workers).await;
        let expected: Vec<String> = NAMES
            .iter()
            .flat_map(|name| (0..3).map(move |n| format!("conversation-{name}_{n}")))
            .collect();
        assert_eq!(ids(&result), expected);
        found.push(timeless(&result));
    }
    for other in &found[1..] {
        assert_eq!(*other, found[0]);
    }
    assert_eq!(found[0][4]["response"], "b1? end of b");
}

/// What two memories take in, each in its own way, does not disturb the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_memories_are_asked_the_same() {
    let data = Data::named(&NAMES, 3);
    let one = Witness {
        name: "one",
        instances: Instances::One,
        ..Witness::new()
    };
    let many = Witness {
        name: "many",
        ..Witness::new()
    };
    let (spec, around) = data.given(&[one.clone(), many.clone()], 8);
    let run = super::planned(&spec, &around).evaluate();
    let result = run.run().await.unwrap();
    for memory in [one, many] {
        assert_eq!(sorted(memory.diary.ingested()), strings(&NAMES));
        assert_eq!(memory.diary.asked().len(), 15);
    }
    assert_eq!(
        result.summary["one"].value("mean_score"),
        result.summary["many"].value("mean_score")
    );
}
