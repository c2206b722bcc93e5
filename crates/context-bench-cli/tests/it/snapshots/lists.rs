//! What can be chosen by name, and what is known about one of it.

use super::session::Session;

#[test]
fn what_can_be_chosen() {
    let mut session = Session::new();
    session.run_all(&[
        "ls systems",
        "ls evaluators",
        "ls metrics",
        "ls outputs",
        "ls systems --output json",
    ]);
    session.approve("ls_parts");
    let mut session = Session::new();
    session.run("ls datasets");
    session.approve("ls_datasets");
    let mut session = Session::new();
    session.run_all(&["ls groups", "ls tags", "ls tasks --pattern 'mmlu_h*'"]);
    session.approve("ls_tasks");
}

#[test]
fn one_dataset_and_one_task() {
    let mut session = Session::with_questions();
    session.run_all(&["show questions.jsonl", "show questions.jsonl --output json"]);
    session.approve("show");
}
