//! Stores that are not there, damaged, or without what is asked for.

use super::session::Session;

#[test]
fn stores_that_do_not_help() {
    let mut session = Session::with_questions();
    session.write("file", "not a folder");
    session.write("notes/today.txt", "no store is made beside it");
    session.write(
        "damaged/store.sqlite",
        "this is not a database, but long enough to be read as one page of it",
    );
    let run = "--system passthrough --dataset questions.jsonl --quiet";
    session.run_all(&[
        "runs",
        "runs --cache-dir nowhere",
        "runs --cache-dir damaged",
        "runs --cache-dir file",
        "view notes",
    ]);
    session.run(&format!("{run} --cache-dir file"));
    session.run(&format!("{run} --cache-dir damaged"));
    session.run(&format!("{run} --cache-dir store --output-file result.txt"));
    session.run_all(&[
        "runs show 1999 --cache-dir store",
        "runs remove 1999 --cache-dir store",
        "export 1999 --cache-dir store",
        "export last --cache-dir store --output jsn",
        "export last --cache-dir store --output-file no/such/folder/x.json",
        "show last itly --cache-dir store",
        "rescore last --cache-dir store --evaluator anwser_quality",
        "rescore last --cache-dir store --dataset nowhere.jsonl",
        "runs sql 'SELEC 1' --cache-dir store",
        "runs sql 'SELECT nonsense FROM answers' --cache-dir store",
        "runs sql 'DELETE FROM runs' --cache-dir store",
    ]);
    session.approve("errors_store");
}
