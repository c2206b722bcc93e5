//! Files of users that are laid out in their own way: read, or refused before anything is
//! sent.

use std::fs;
use std::path::PathBuf;

use context_bench_testkit::{ChatServer, Reply, handlers};

use crate::program::{Done, arg, questions, run};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// Runs a file against an endpoint; what was said, and the contents of all messages.
fn asked(name: &str, text: &str, more: &[&str]) -> (Done, Vec<String>) {
    let server = ChatServer::start(handlers::constant("Paris"));
    let folder = Folder::new();
    let path = folder.write(name, text);
    let url = server.url();
    let args = [
        "--proxy",
        &url,
        "--dataset",
        arg(&path),
        "--output",
        "json",
        "-q",
    ];
    let done = run(&[&args[..], more].concat());
    let sent = server.requests().into_iter().flat_map(|request| {
        let messages = request.body["messages"].as_array().unwrap().clone();
        messages
            .into_iter()
            .map(|message| message["content"].to_string())
    });
    (done, sent.collect())
}

const OTHER_KEYS: &str = "{\"prompt\": \"Capital of France?\", \"expected\": \"Paris\"}\n\
                          {\"prompt\": \"Capital of Italy?\", \"expected\": \"Rome\"}\n";

#[test]
fn a_file_without_a_question_is_refused_with_its_keys() {
    let (done, sent) = asked("q.jsonl", OTHER_KEYS, &[]);
    assert_eq!(sent.len(), 0, "{done}");
    done.is_error(&[
        "has nothing to ask",
        "the keys `prompt` and `expected`",
        "q.jsonl",
        "`--map question=prompt,answer=expected`",
        "load_file(PATH, map={\"question\": \"prompt\", \"answer\": \"expected\"})",
    ]);
    // Neither does the baseline reader answer nothing.
    let folder = Folder::new();
    let path = folder.write("q.jsonl", OTHER_KEYS);
    run(&["--system", "passthrough", "--dataset", arg(&path)]).is_error(&["has nothing to ask"]);
    // Programs may know any key.
    let done = run(&[
        "--command",
        "cat",
        "--dataset",
        arg(&path),
        "--output",
        "json",
        "-q",
    ]);
    assert!(!done.stderr.contains("nothing to ask"), "{done}");
    // A system prompt is nothing of the example.
    let (done, _) = asked("q.jsonl", OTHER_KEYS, &["--system-prompt", "Be brief."]);
    done.is_error(&["has nothing to ask"]);
}

#[test]
fn keys_are_mapped_to_the_names_that_are_known() {
    let map = ["--map", "question=prompt,answer=expected"];
    let (done, sent) = asked("q.jsonl", OTHER_KEYS, &map);
    assert_eq!(done.code, 0, "{done}");
    assert!(
        sent.contains(&"\"Capital of France?\"".to_owned()),
        "{sent:?}"
    );
    let result = done.json();
    assert_eq!(result["rows"][0]["scores"]["exact_match"], 1.0);
    assert_eq!(result["rows"][1]["scores"]["exact_match"], 0.0);

    let folder = Folder::new();
    let path = folder.write("q.jsonl", OTHER_KEYS);
    let file = folder.write(
        "bench.yaml",
        &format!(
            "systems: [{{system: passthrough}}]\nbenchmarks: [{{dataset: '{}'}}]\n\
             data: {{map: {{question: prompt, answer: expected}}}}\n",
            arg(&path)
        ),
    );
    let done = run(&["run", arg(&file), "--output", "json", "-q"]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(
        done.json()["rows"][0]["scores"].as_object().unwrap().len(),
        4
    );

    let (done, sent) = asked("q.jsonl", OTHER_KEYS, &["--map", "question=promt"]);
    assert_eq!(sent.len(), 0);
    done.is_error(&["no record has `promt`", "q.jsonl", "did you mean `prompt`?"]);
    let done = run(&[
        "--map",
        "question",
        "--system",
        "passthrough",
        "--dataset",
        "x.jsonl",
    ]);
    assert_eq!(done.code, 2, "{done}");
    assert!(done.stderr.contains("such as question=prompt"), "{done}");
    let done = run(&[
        "--system",
        "passthrough",
        "--dataset",
        "demo",
        "--map",
        "question=prompt",
    ]);
    assert!(done.stderr.contains("`--map` has no effect"), "{done}");
}

#[test]
fn a_key_that_nothing_reads_is_told() {
    let text = "{\"context\": \"Paris is large.\", \"query\": \"What?\", \"answer\": \"Paris\"}\n";
    let (done, _) = asked("q.jsonl", text, &[]);
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr.contains("`q` has no `question`, but `query`"),
        "{done}"
    );
    assert!(done.stderr.contains("--map question=query"), "{done}");
}

#[test]
fn tables_with_other_delimiters_are_read_and_told() {
    for (between, told) in [(";", "separated by `;`"), ("\t", "separated by tabs")] {
        let text = "question;answer\n\"Where; exactly?\";Paris\n".replace(';', between);
        let text = text.replace(&format!("Where{between}"), "Where;");
        let (done, sent) = asked("q.csv", &text, &[]);
        assert_eq!(done.code, 0, "{done}");
        assert!(sent.contains(&"\"Where; exactly?\"".to_owned()), "{sent:?}");
        assert!(done.stderr.contains(told), "{done}");
        assert_eq!(done.json()["rows"][0]["scores"]["exact_match"], 1.0);
    }
    let (done, _) = asked("q.csv", "question,answer\nWhere;?,Paris\n", &[]);
    assert!(!done.stderr.contains("separated"), "{done}");
}

#[test]
fn contexts_in_parts_are_sent_as_one_text() {
    for (context, expected) in [
        ("[\"One.\", \"Two.\"]", "\"One.\\n\\nTwo.\""),
        (
            "[{\"text\": \"One.\"}, {\"page_content\": \"Two.\"}]",
            "\"One.\\n\\nTwo.\"",
        ),
        ("{\"content\": \"One.\"}", "\"One.\""),
    ] {
        let text =
            format!("{{\"context\": {context}, \"question\": \"?\", \"answer\": \"Paris\"}}\n");
        let (done, sent) = asked("q.jsonl", &text, &[]);
        assert_eq!(done.code, 0, "{done}");
        assert_eq!(sent[0], expected);
        assert!(done.stderr.contains("their texts are joined"), "{done}");
    }
    let good = "{\"context\": [\"a\"], \"question\": \"?\", \"answer\": \"b\"}\n";
    let bad = "{\"context\": [{\"body\": \"a\"}], \"question\": \"?\", \"answer\": \"b\"}\n";
    let (done, sent) = asked("q.jsonl", &format!("{}{bad}", good.repeat(200)), &[]);
    assert_eq!(sent.len(), 0, "nothing is sent before all is checked");
    done.is_error(&["`context` must be text", "q.jsonl:201"]);
    let (done, _) = asked("q.jsonl", &format!("{good}{bad}"), &["--skip-bad-lines"]);
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("left out 1 bad record"), "{done}");
}

#[test]
fn conversations_need_no_question() {
    let text = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"answer\": \"Paris\"}\n\
                {\"turns\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"answer\": \"Paris\"}\n";
    let (done, sent) = asked("q.jsonl", text, &[]);
    assert_eq!((done.code, sent.len()), (0, 2), "{done}");
}

#[test]
fn a_run_that_scores_nothing_does_not_end_well() {
    let (done, sent) = asked("q.jsonl", "{\"question\": \"Where?\"}\n", &[]);
    assert_eq!((done.code, sent.len()), (3, 2), "{done}");
    assert!(done.stderr.contains("no answer could be scored"), "{done}");
    assert!(done.stderr.contains("--map answer=KEY"), "{done}");
}

#[test]
fn time_outs_show_while_they_happen() {
    let server = ChatServer::start(|_| Reply::hang());
    let (_folder, path) = questions(1);
    let url = server.url();
    // The line is written every two seconds; the second timeout is the last one for longer.
    let args = ["--proxy", &url, "--dataset", arg(&path), "--timeout", "3"];
    let done = run(&[&args[..], &["--max-retries", "2"]].concat());
    assert_eq!(done.code, 3, "{done}");
    // Told after the second attempt, before the row is done.
    let told = |line: &str| line.contains(": 0/1, 0.0/s") && line.contains("timeout");
    assert!(done.stderr.lines().any(told), "{done}");
    assert_eq!(server.request_count(), 3);
}
