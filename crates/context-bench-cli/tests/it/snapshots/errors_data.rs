//! Files of examples that cannot be read, with the place.

use super::session::Session;

#[test]
fn files_that_cannot_be_read() {
    let mut session = Session::new();
    session.write(
        "broken line.jsonl",
        "{\"id\": 1, \"question\": \"a?\", \"answer\": \"a\"}\n{\"id\": 2, \"question\": \"oops\n",
    );
    session.write("not a map.jsonl", "[1, 2]\n");
    session.write("empty.jsonl", "");
    session.write("cut.json", "[{\"question\": \"a?\"},");
    session.write("ragged.csv", "id,question,answer\n1,a?,a\n2,b?,b,c\n");
    session.write("latin1.csv", b"id,question,answer\n1,caf\xe9?,a\n");
    session.write("no.parquet", "PAR1 but not really");
    session.write("no.jsonl.gz", "not gzip");
    session.write("no.zip", "PK not zip");
    session.write("words.txt", "some words\n");
    session.write(
        "other keys.jsonl",
        "{\"prompt\": \"a?\", \"expected\": \"a\"}\n",
    );
    session.write(
        "twice.jsonl",
        "{\"id\": \"a\", \"question\": \"a?\", \"answer\": \"a\"}\n{\"id\": \"a\", \"question\": \"b?\", \"answer\": \"b\"}\n",
    );
    for file in [
        "broken line.jsonl",
        "not a map.jsonl",
        "empty.jsonl",
        "cut.json",
        "ragged.csv",
        "latin1.csv",
        "no.parquet",
        "no.jsonl.gz",
        "no.zip",
        "words.txt",
        "other keys.jsonl",
        "twice.jsonl",
        ".",
        "-",
    ] {
        session.run(&format!("--system passthrough --dataset '{file}'"));
    }
    session.run("--system passthrough --dataset 'broken line.jsonl' --skip-bad-lines");
    session.run("--system passthrough --dataset 'gsm8k=other keys.jsonl'");
    session.run("--system passthrough --dataset gsm8k=nowhere.jsonl");
    session.approve("errors_data");
}

#[test]
fn a_hub_that_nobody_reaches() {
    let mut session = Session::new();
    session.run("--system passthrough --dataset gsm8k");
    session.run("fetch gsm8k");
    session.run_in(
        "--system passthrough --dataset gsm8k",
        &[("HF_HUB_OFFLINE", "1")],
    );
    session.approve("errors_hub");
}
