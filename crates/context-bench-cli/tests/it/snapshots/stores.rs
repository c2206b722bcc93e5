//! What a store says about the runs in it.

use super::session::Session;

#[test]
fn a_store_and_its_runs() {
    let mut session = Session::with_questions();
    let run = "--system passthrough --system truncate:ratio=0.5 --dataset questions.jsonl --cache-dir store";
    session.run(run);
    session.run(&format!("{run} --dry-run"));
    session.run(run);
    session.run_all(&[
        "runs --cache-dir store",
        "runs show '[RUN1]' --cache-dir store",
        "show last italy --cache-dir store",
        "runs sql 'SELECT system, example_id, response FROM answers ORDER BY 1, 2' --cache-dir store",
        "export '[RUN1]' --cache-dir store --output markdown",
        "rescore last --evaluator summarization_quality --cache-dir store",
        "runs remove '[RUN1]' --cache-dir store",
    ]);
    session.approve("store");
}
