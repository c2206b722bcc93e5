//! A run that was stopped and is started again: no finished question is asked twice, and no
//! conversation is taken in twice that could be kept.

use context_bench::Stop;
use context_bench::memory::Instances;

use super::{Act, Data, Witness, sorted, timeless};

/// Runs until a question is asked, and again to the end.
async fn stopped_at(data: &Data, memory: &Witness, question: &'static str) -> [Witness; 2] {
    let stop = Stop::new();
    let stopping = stop.clone();
    let first = memory.clone().on_query(move |asked| {
        if asked == question {
            stopping.drain();
        }
        Act::Nothing
    });
    let result = data.run_stored(&first, 1, stop).await;
    assert!(result.interrupted);
    let second = memory.reborn();
    let result = data.run_stored(&second, 1, Stop::new()).await;
    assert!(!result.interrupted);
    let counts = &result.counts["witness"];
    assert_eq!((counts.scored, counts.failed), (9, 0));
    // The whole run is that of one that was never stopped.
    let fresh = Data::named(&["a", "b", "c"], 3);
    let whole = fresh.run(&memory.reborn(), 1).await;
    let without_reuse = |result| {
        let mut rows = timeless(result);
        for row in &mut rows {
            row.as_object_mut().unwrap().remove("cached");
            row["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("ingest_kept");
        }
        rows
    };
    assert_eq!(without_reuse(&result), without_reuse(&whole));
    [first, second]
}

#[tokio::test]
async fn no_question_is_repeated_and_no_ingest_that_could_be_kept() {
    for instances in [Instances::Many, Instances::One] {
        let data = Data::named(&["a", "b", "c"], 3);
        let memory = Witness {
            saves: true,
            instances,
            ..Witness::new()
        };
        let [first, second] = stopped_at(&data, &memory, "b1?").await;
        assert_eq!(first.diary.ingested(), ["a", "b"]);
        assert_eq!(second.diary.loaded(), ["b"]);
        assert_eq!(second.diary.ingested(), ["c"]);
        let asked = [first.diary.asked(), second.diary.asked()].concat();
        let expected = [
            "a0?", "a1?", "a2?", "b0?", "b1?", "b2?", "c0?", "c1?", "c2?",
        ];
        assert_eq!(asked, expected);
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_taken_in_again_only_where_questions_are_left() {
    let data = Data::named(&["a", "b", "c"], 3);
    let [first, second] = stopped_at(&data, &Witness::new(), "b1?").await;
    assert_eq!(first.diary.ingested(), ["a", "b"]);
    assert_eq!(second.diary.ingested(), ["b", "c"]);
    let asked = [first.diary.asked(), second.diary.asked()].concat();
    assert_eq!(asked.len(), 9, "{asked:?}");
    assert_eq!(second.diary.asked()[0], "b2?");
}

#[tokio::test]
async fn a_conversation_that_is_done_is_not_taken_in_again() {
    let data = Data::named(&["a", "b", "c"], 3);
    // The last question of `a`: nothing of it is left.
    let [first, second] = stopped_at(&data, &Witness::new(), "a2?").await;
    assert_eq!(first.diary.ingested(), ["a"]);
    assert_eq!(second.diary.ingested(), ["b", "c"]);
}

#[tokio::test]
async fn a_finished_run_asks_nobody_again() {
    let data = Data::named(&["a", "b"], 2);
    let memory = Witness::new();
    data.run_stored(&memory, 8, Stop::new()).await;
    let again = Witness::new();
    let result = data.run_stored(&again, 8, Stop::new()).await;
    assert_eq!(again.diary.events(), []);
    assert_eq!(result.counts["witness"].cached, 4);
}

#[tokio::test]
async fn what_was_kept_says_so_and_what_it_had_cost() {
    let data = Data::named(&["a"], 2);
    let memory = Witness {
        saves: true,
        ..Witness::new()
    };
    let slow = memory
        .clone()
        .on_ingest(|_| Act::Sleep(std::time::Duration::from_millis(100)))
        .on_query(|_| Act::Fail("not now"));
    data.run_stored(&slow, 1, Stop::new()).await;
    let result = data.run_stored(&memory.reborn(), 1, Stop::new()).await;
    for row in &result.rows {
        let metadata = row.metadata();
        assert_eq!(metadata["ingest_kept"], true);
        // The time that it took then, not that of loading.
        assert!(metadata["ingest_latency"].as_f64().unwrap() >= 0.1);
    }
}

#[tokio::test]
async fn a_damaged_state_is_taken_in_again() {
    let data = Data::named(&["a", "b"], 2);
    let memory = Witness {
        saves: true,
        ..Witness::new()
    };
    let failing = memory.clone().on_query(|_| Act::Fail("not now"));
    data.run_stored(&failing, 1, Stop::new()).await;
    let mut states: Vec<_> = std::fs::read_dir(data.cache().join("ingests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    states.sort();
    assert_eq!(states.len(), 2);
    let bytes = std::fs::read(&states[0]).unwrap();
    std::fs::write(&states[0], &bytes[..bytes.len() - 2]).unwrap();
    let again = memory.reborn();
    let result = data.run_stored(&again, 1, Stop::new()).await;
    assert_eq!(result.counts["witness"].scored, 4);
    assert_eq!(
        (again.diary.ingested().len(), again.diary.loaded().len()),
        (1, 1)
    );
    let both = [again.diary.ingested(), again.diary.loaded()].concat();
    assert_eq!(sorted(both), ["a", "b"]);
}

/// Settings that choose among what was taken in do not change what is saved.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memories_that_save_the_same_at_the_same_time_keep_it_whole() {
    let names: Vec<String> = (0..12).map(|n| format!("n{n}-")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let data = Data::named(&names, 1);
    let memory = Witness {
        saves: true,
        ..Witness::new().on_query(|_| Act::Fail("not now"))
    };
    let other = Witness {
        name: "other",
        ..memory.reborn()
    };
    let (mut spec, around) = data.given(&[memory.clone(), other], 8);
    spec.cache_dir = Some(data.cache());
    let run = super::planned(&spec, &around).evaluate();
    run.run().await.unwrap();
    let kept: Vec<String> = std::fs::read_dir(data.cache().join("ingests"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(kept.len(), names.len(), "{kept:?}");
    assert!(kept.iter().all(|name| name.ends_with(".state")), "{kept:?}");
    let again = memory.reborn();
    data.run_stored(&again, 8, Stop::new()).await;
    assert_eq!(again.diary.loaded().len(), names.len());
    assert_eq!(again.diary.ingested(), [""; 0]);
}
