//! Names that nothing has: always with what is near, or where to find the list.

use super::session::Session;

#[test]
fn names_that_nothing_has() {
    let mut session = Session::with_questions();
    session.run_all(&[
        "--system passthrough --dataset dmeo",
        "--system passthrough --dataset demo:small",
        "--system passthrough --dataset hotpotqa:fullwikki",
        "--system passthrough --dataset gsm8k@tset",
        "--system passthrough --dataset question.jsonl",
        "--system passthrough --dataset nothing/like.this",
        "--system trunctate:ratio=0.5 --dataset demo",
        "--system truncate:ratoi=0.5 --dataset demo",
        "--system truncate --dataset demo",
        "--system truncate:ratio=50 --dataset demo",
        "--system truncate:ratio=0.5,keep=haed --dataset demo",
        "--system dedup:ratio=0.5 --dataset demo",
        "--system passthrough --system passthrough --dataset demo",
        "--system =passthrough --dataset demo",
        "--system passthrough --dataset demo --dataset demo",
        "--system passthrough --dataset demo --output jsn",
        "--system passthrough --dataset demo --tokenizer gpt",
        "--system passthrough --dataset demo --baseline pasthrough",
        "--system passthrough --dataset questions.jsonl --map question=prompt",
        "--system passthrough --dataset questions.jsonl --map qestion=question",
        "--system passthrough --dataset questions.jsonl --text-field contxt",
        "render --proxy http://localhost:8000 --dataset questions.jsonl --id itly",
        "show hotpotq",
        "ls evaluator",
        "fetch no-such-dataset",
        "validate mmlu_anatmy",
        "--tasks mmlu::mmlu_anatmy --proxy http://localhost:8000",
        "--tasks 'zz*' --proxy http://localhost:8000",
        "score --task smus --doc questions.jsonl --response 5",
    ]);
    session.approve("errors_names");
}
