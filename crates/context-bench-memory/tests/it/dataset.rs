//! Files of LoCoMo and LongMemEval, real ones and broken ones.

use std::collections::BTreeMap;

use context_bench_error::Hint as _;
use context_bench_memory::measure::official_f1;
use context_bench_memory::{Benchmark, MemoryDataset};
use context_bench_testkit_macros::{needs_shared, shared_path};

#[needs_shared("data/full/locomo10.json")]
#[test]
fn locomo_is_read_whole() {
    let dataset = MemoryDataset::read(shared_path!("data/full/locomo10.json")).unwrap();
    assert_eq!(dataset.benchmark, Benchmark::Locomo);
    let turns: Vec<usize> = dataset
        .examples
        .iter()
        .map(|one| one.conversation.n_turns())
        .collect();
    assert_eq!(turns, [419, 369, 663, 629, 680, 675, 689, 681, 509, 568]);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unresolved: Vec<&str> = Vec::new();
    for (_, asked) in dataset.questions() {
        *kinds.entry(&asked.kind).or_default() += 1;
        unresolved.extend(asked.unresolved_evidence.iter().map(String::as_str));
        assert_eq!(asked.abstention, asked.kind == "adversarial");
        assert_eq!(asked.misleading.is_some(), asked.abstention, "{}", asked.id);
    }
    let expected = [
        ("adversarial", 446),
        ("multi_hop", 282),
        ("open_domain", 96),
        ("single_hop", 841),
        ("temporal", 321),
    ];
    assert_eq!(kinds, BTreeMap::from(expected));
    // Ids that no turn has; those with slips are understood.
    assert_eq!(unresolved, ["D10:19", "D", "D4:36"]);
    assert!(dataset.skipped.is_empty());
    assert_eq!(dataset.digest(), "13344d64f8a98c5b70fdc5450216cebb");

    // The gold answer has the full official score, and saying so that of what was never said.
    for (_, asked) in dataset.questions() {
        let score = official_f1(asked, asked.answer()).unwrap();
        // A gold answer with `;` is held against its first part only.
        assert!(
            score == 1.0 || asked.kind == "open_domain" && score > 0.0,
            "{asked:?}"
        );
        assert!(!asked.abstention || official_f1(asked, "a ferry") == Some(0.0));
    }
}

#[needs_shared("data/full/locomo10.json", "data/raw/locomo.jsonl")]
#[test]
fn a_list_and_lines_are_the_same_data() {
    let whole = MemoryDataset::read(shared_path!("data/full/locomo10.json")).unwrap();
    let lines = MemoryDataset::read(shared_path!("data/raw/locomo.jsonl")).unwrap();
    assert_eq!(lines.examples, whole.examples[..4]);
    assert_ne!(lines.digest(), whole.digest());
}

#[needs_shared(
    "data/full/longmemeval.oracle_evidence_turns.json",
    "data/raw/longmemeval.jsonl"
)]
#[test]
fn longmemeval_is_read_whole() {
    for (path, records) in [
        (
            shared_path!("data/full/longmemeval.oracle_evidence_turns.json"),
            420,
        ),
        (shared_path!("data/raw/longmemeval.jsonl"), 121),
    ] {
        let dataset = MemoryDataset::read(path).unwrap();
        assert_eq!(dataset.benchmark, Benchmark::Longmemeval);
        assert_eq!(dataset.examples.len(), records);
        assert_eq!(dataset.questions().count(), records);
        for example in &dataset.examples {
            let asked = &example.questions[0];
            assert_eq!(asked.abstention, asked.id.contains("_abs"));
            assert!(asked.asked.is_some());
            let turns: Vec<_> = example.conversation.turns().map(|turn| &turn.id).collect();
            assert!(asked.evidence.iter().all(|id| turns.contains(&id)));
            let times: Vec<_> = example
                .conversation
                .sessions
                .iter()
                .map(|s| &s.time)
                .collect();
            assert!(times.is_sorted(), "{}", asked.id);
        }
    }
}

#[test]
fn what_cannot_be_used_is_counted() {
    let text = r#"
        {"sample_id": "c", "conversation": {
            "session_1_date_time": "8 May", "session_2_date_time": "9 May",
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hi", "blip_caption": "a cat"}]},
         "qa": [{"question": "Who?", "answer": 7, "category": 9, "evidence": ["D1:01, D9:9", "D1:1"]},
                {"question": "Why?", "category": 4}, {"answer": "x", "category": 4}]}"#;
    let dataset = MemoryDataset::parse("f.json", text).unwrap();
    let example = &dataset.examples[0];
    assert_eq!(example.conversation.n_turns(), 1);
    let turn = example.conversation.turns().next().unwrap();
    assert_eq!(turn.line(), "[8 May] Ann: Hi [shares a cat]");
    let [asked] = example.questions.as_slice() else {
        panic!("one question is usable");
    };
    assert_eq!((asked.kind.as_str(), asked.answer()), ("9", "7"));
    assert_eq!(asked.evidence.len(), 1);
    assert_eq!(asked.unresolved_evidence, ["D9:9"]);
    assert_eq!(official_f1(asked, "7"), None);
    let reasons: Vec<&str> = dataset
        .skipped
        .iter()
        .map(|one| one.reason.as_str())
        .collect();
    assert_eq!(
        reasons,
        ["`qa[1]` has no answer", "`qa[2]` has no question"]
    );
    assert_eq!(dataset.skipped[0].place.to_string(), "f.json:2");
}

#[test]
fn errors_say_what_and_where() {
    let conversation =
        r#""conversation": {"session_1": [{"speaker": "A", "dia_id": "1", "text": "x"}]}"#;
    for (text, expected) in [
        ("", "no conversations in `f`"),
        ("[]", "no conversations in `f`"),
        ("[1]", "the record is a number, not a map\n  at f:1"),
        (
            "\n{\"a\": 1}",
            "not a record of LoCoMo or LongMemEval\n  at f:2",
        ),
        (
            "{\"qa\": ",
            "not JSON: EOF while parsing a value\n  at f:1:7",
        ),
        (
            r#"{"conversation": {}, "qa": []}"#,
            "`conversation` has no turns\n  at f:1",
        ),
        (
            r#"{"conversation": [], "qa": []}"#,
            "`conversation` is a list, not a map\n  at f:1",
        ),
        (
            r#"{"conversation": {"session_1": [{"text": "x"}]}, "qa": []}"#,
            "`conversation.session_1[0].speaker` is missing or empty\n  at f:1",
        ),
        (
            r#"{"conversation": {"session_1": [{"speaker": "A", "dia_id": "1"}, {"speaker": "A", "dia_id": "1"}]}, "qa": []}"#,
            "two turns of `conversation` have the same `dia_id`\n  at f:1",
        ),
        (
            &format!(r#"{{{conversation}, "qa": [{{"question": {{}}, "category": 4}}]}}"#),
            "`qa[0].question` is a map, not text\n  at f:1",
        ),
        (
            &format!(
                r#"{{{conversation}, "qa": [{{"question": "q", "answer": "a", "category": 4, "evidence": [1]}}]}}"#
            ),
            "`qa[0].evidence` is a number, not a list of texts\n  at f:1",
        ),
        (
            &format!(
                "{{\"sample_id\": \"c\", {conversation}, \"qa\": []}}\n{{\"sample_id\": \"c\", {conversation}, \"qa\": []}}"
            ),
            "a second conversation has the id `c`\n  at f:2",
        ),
        (
            &format!("{{{conversation}, \"qa\": []}}\n{{\"haystack_sessions\": []}}"),
            "a record that is not of locomo, as those before it are\n  at f:2",
        ),
        (
            r#"{"haystack_sessions": [["x"]]}"#,
            "`haystack_sessions[0][0]` is text, not a map\n  at f:1",
        ),
        (
            r#"{"haystack_sessions": [[{"content": "x", "has_answer": "yes"}]]}"#,
            "`haystack_sessions[0][0].has_answer` is text, not true or false\n  at f:1",
        ),
    ] {
        let error = MemoryDataset::parse("f", text).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let missing = MemoryDataset::read("no/such/file.json").unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("cannot read `no/such/file.json`")
    );
    let other = MemoryDataset::parse("f", r#"{"turns": []}"#).unwrap_err();
    assert!(other.hint().unwrap().ends_with("this one has `turns`"));
}

#[test]
fn records_without_messages_are_left_out_and_named() {
    let text =
        r#"{"question_id": "q", "question": "?", "answer": "a", "haystack_sessions": [[], "x"]}"#;
    let dataset = MemoryDataset::parse("f", text).unwrap();
    assert!(dataset.examples[0].questions.is_empty());
    let reason = &dataset.skipped[0].reason;
    assert_eq!(reason, "the record `q` has no messages with text");
}

#[test]
fn a_session_that_comes_twice_has_ids_of_its_own() {
    let text = r#"{"question_id": "q", "question": "?", "answer": ["a", "b"],
        "haystack_session_ids": ["s", "s"], "haystack_dates": ["2023/02/01", "2023/01/01"],
        "haystack_sessions": [[{"content": "later"}], [{"role": "assistant", "content": "earlier", "has_answer": true}]]}"#;
    let dataset = MemoryDataset::parse("f", text).unwrap();
    let example = &dataset.examples[0];
    let turns: Vec<String> = example
        .conversation
        .turns()
        .map(|turn| format!("{} {}", turn.id, turn.line()))
        .collect();
    assert_eq!(
        turns,
        [
            "s#1:0 [2023/01/01] assistant: earlier",
            "s:0 [2023/02/01] user: later"
        ]
    );
    assert_eq!(example.questions[0].answers, ["a", "b"]);
    assert_eq!(example.questions[0].evidence, ["s#1:0".into()]);
}
