//! What rows of a memory run say beside their scores.

use std::time::Duration;

use context_bench::memory::Turn;
use context_bench::tokens::Tokenizer;
use serde_json::json;

use super::{Act, Data, Witness};

#[tokio::test]
async fn latency_is_that_of_the_question() {
    let nap = Duration::from_millis(300);
    let memory = Witness::new().on_ingest(move |_| Act::Sleep(nap));
    let data = Data::named(&["a", "b"], 2);
    for workers in [1, 8] {
        let result = data.run(&memory, workers).await;
        for row in &result.rows {
            let metadata = row.metadata();
            let ingest = metadata["ingest_latency"].as_f64().unwrap();
            assert!(ingest >= nap.as_secs_f64());
            assert!(row.latency < ingest, "{row:?}");
            assert_eq!(metadata["query_latency"].as_f64(), Some(row.latency));
        }
    }
}

#[tokio::test]
async fn rows_say_the_kind_of_question_its_conversation_and_the_tokens() {
    let data = Data::named(&["a", "b"], 2);
    let result = data.run(&Witness::new(), 1).await;
    let counter = Tokenizer::default().counter();
    let count = |text: &str| counter.try_count(text).unwrap();
    let row = &result.rows[3];
    let metadata = row.metadata();
    assert_eq!(row.example_id.to_string(), "conversation-b_1");
    assert_eq!(metadata["qa_type"], "odd");
    assert_eq!(metadata["conversation_id"], "conversation-b");
    assert_eq!(metadata["turn_count"], 2);
    let turns = [("user", "b"), ("assistant", "end of b")];
    let turns = turns.map(|(role, text)| Turn::new("t", role, text));
    let history: u64 = turns.iter().map(|turn| count(&turn.line())).sum();
    let context = count("end of b");
    assert_eq!(metadata["history_tokens"], history);
    assert_eq!(metadata["ingest_tokens"], history);
    assert_eq!(metadata["context_tokens"], context);
    assert_eq!(row.input_tokens, context);
    assert_eq!(row.output_tokens, count("b1? end of b"));
    let question = count("b1?");
    let tokens = &row.reply.as_deref().unwrap().tokens;
    assert_eq!(tokens.given, Some(history + question));
    assert_eq!(tokens.prompt, Some(context + question));
    assert!(!tokens.reported);
    assert_eq!(result.rows[0].metadata()["qa_type"], "even");
}

#[tokio::test]
async fn only_questions_of_the_kinds_that_were_named_are_asked() {
    let data = Data::named(&["a", "b"], 3);
    let memory = Witness::new();
    let (mut spec, around) = data.given(std::slice::from_ref(&memory), 1);
    spec.memory.as_mut().unwrap().kinds = vec!["odd".into()];
    let run = super::planned(&spec, &around).evaluate();
    let result = run.run().await.unwrap();
    // Ids are those of a run that asks everything.
    assert_eq!(
        super::ids(&result),
        ["conversation-a_1", "conversation-b_1"]
    );
    assert_eq!(memory.diary.asked(), ["a1?", "b1?"]);
    let provenance = serde_json::Value::Object(result.provenance);
    assert_eq!(
        provenance["memory"]["kinds"],
        json!(["odd"]),
        "{provenance}"
    );
}
