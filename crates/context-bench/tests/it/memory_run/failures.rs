//! What goes wrong stays with the questions that it concerns.

use context_bench::planner::ReopenedPlan;
use context_bench::{EvalResult, EvalRow, FailureKind, Stop};
use serde_json::{Value, json};

use super::{Act, Data, Witness, surroundings};

fn failed(result: &EvalResult) -> Vec<&EvalRow> {
    let rows = result.rows.iter();
    rows.filter(|row| row.failure.is_some()).collect()
}

fn message(row: &EvalRow) -> (FailureKind, &str) {
    let failure = row.failure.as_deref().unwrap();
    (failure.kind, &failure.message)
}

#[tokio::test]
async fn an_ingest_that_fails_fails_the_questions_of_its_conversation() {
    let data = Data::named(&["a", "b", "c"], 3);
    for workers in [1, 8] {
        let memory = Witness::new().on_ingest(|name| match name {
            "b" => Act::Fail("disk full"),
            _ => Act::Nothing,
        });
        let result = data.run(&memory, workers).await;
        let failed = failed(&result);
        assert_eq!(failed.len(), 3);
        for row in failed {
            assert!(row.example_id.to_string().starts_with("conversation-b_"));
            assert_eq!(message(row), (FailureKind::Other, "ingest: disk full"));
        }
        assert_eq!(result.counts["witness"].scored, 6);
        // Nobody tries again what has failed for good, or asks about it.
        let diary = &memory.diary;
        let taken = diary.ingested().into_iter().filter(|name| name == "b");
        assert_eq!(taken.count(), 1);
        assert!(diary.asked().iter().all(|asked| !asked.starts_with('b')));
    }
}

#[tokio::test]
async fn an_ingest_that_panics_does_the_same() {
    let data = Data::named(&["a", "b", "c"], 3);
    for workers in [1, 8] {
        let memory = Witness::new().on_ingest(|name| match name {
            "b" => Act::Panic("out of range"),
            _ => Act::Nothing,
        });
        let result = data.run(&memory, workers).await;
        let failed = failed(&result);
        assert_eq!(failed.len(), 3);
        for row in failed {
            let (kind, what) = message(row);
            assert_eq!(kind, FailureKind::Panic);
            assert!(what.starts_with("ingest: "), "{what}");
            assert!(what.contains("out of range"), "{what}");
        }
        assert_eq!(result.counts["witness"].scored, 6);
        assert_eq!(memory.diary.ingested().len(), 3);
    }
}

#[tokio::test]
async fn a_question_that_fails_fails_alone() {
    let data = Data::named(&["a", "b"], 4);
    for workers in [1, 8] {
        let memory = Witness::new().on_query(|question| match question {
            "a1?" => Act::Fail("lost the thread"),
            "b2?" => Act::Panic("out of range"),
            _ => Act::Nothing,
        });
        let result = data.run(&memory, workers).await;
        let failed = failed(&result);
        let [first, second] = &failed[..] else {
            panic!("{failed:?}");
        };
        assert_eq!(message(first), (FailureKind::Other, "lost the thread"));
        let (kind, what) = message(second);
        assert_eq!(kind, FailureKind::Panic);
        assert!(what.contains("out of range"), "{what}");
        assert_eq!(result.counts["witness"].scored, 6);
        assert_eq!(super::sorted(memory.diary.ingested()), ["a", "b"]);
    }
}

#[tokio::test]
async fn a_failed_row_says_which_question_it_was_also_from_the_store() {
    let data = Data::named(&["a", "b"], 2);
    let memory = Witness::new()
        .on_ingest(|name| match name {
            "b" => Act::Fail("disk full"),
            _ => Act::Nothing,
        })
        .on_query(|question| match question {
            "a1?" => Act::Fail("lost the thread"),
            _ => Act::Nothing,
        });
    let result = data.run_stored(&memory, 1, Stop::new()).await;
    let again = ReopenedPlan::open(&data.store(), "last").unwrap();
    let again = again.result(&surroundings(), true).unwrap();
    for result in [&result, &again] {
        let said: Vec<Value> = failed(result)
            .into_iter()
            .map(|row| {
                let metadata = row.metadata();
                json!([
                    metadata["qa_type"],
                    metadata["conversation_id"],
                    metadata["turn_count"]
                ])
            })
            .collect();
        let expected = json!([
            ["odd", "conversation-a", 2],
            ["even", "conversation-b", 2],
            ["odd", "conversation-b", 2],
        ]);
        assert_eq!(Value::from(said), expected);
    }
    // What failed is asked again, and nothing else.
    let well = Witness::new();
    let result = data.run_stored(&well, 1, Stop::new()).await;
    assert_eq!(result.counts["witness"].failed, 0);
    assert_eq!(well.diary.asked(), ["a1?", "b0?", "b1?"]);
}
