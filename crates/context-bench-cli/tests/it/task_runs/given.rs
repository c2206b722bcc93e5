//! Files that the user gives for the records of tasks.

use context_bench_testkit::{ChatServer, Reply};
use serde_json::{Value, json};

use super::{Tasks, lines};

fn question(subject: &str, n: usize) -> Value {
    json!({
        "question": format!("{subject} {n}?"),
        "subject": subject,
        "choices": ["1", "2", "3", "4"],
        "answer": 1,
    })
}

/// A task about one subject of a dataset that has many.
fn subject(name: &str) -> String {
    format!(
        "task: own_{name}\ndataset: mmlu:{name}\ntest_split: test\noutput_type: generate_until\n\
         doc_to_text: '{{{{question}}}}'\ndoc_to_target: '{{{{answer}}}}'\n"
    )
}

#[test]
fn one_file_does_not_serve_subjects_that_it_does_not_tell_apart() {
    let both: Vec<Value> = (0..4)
        .flat_map(|n| [question("anatomy", n), question("astronomy", n)])
        .collect();
    let mut alike = both.clone();
    for record in &mut alike {
        record.as_object_mut().unwrap().shift_remove("subject");
    }
    let tasks = Tasks::new(&[
        ("anatomy.yaml", &subject("anatomy")),
        ("astronomy.yaml", &subject("astronomy")),
        ("alike.jsonl", &lines(&alike)),
        ("apart.jsonl", &lines(&both)),
    ]);
    let server = ChatServer::start(|_| Reply::text("B"));
    let url = server.url();
    let args = |data: String, flag: &str| {
        let line = [
            "--proxy",
            &url,
            "--num-fewshot",
            "0",
            flag,
            &data,
            "--output",
            "json",
        ];
        tasks.run("own_anatomy,own_astronomy", &line)
    };
    for (flag, data) in [
        ("--data", format!("test={}", tasks.path("alike.jsonl"))),
        ("--data-from", format!("mmlu={}", tasks.path("alike.jsonl"))),
    ] {
        let done = args(data, flag);
        assert_eq!(server.request_count(), 0, "{done}");
        done.is_error(&[
            "would give the same records to",
            "alike.jsonl",
            "--data-from",
        ]);
    }
    for (flag, data) in [
        ("--data", format!("test={}", tasks.path("apart.jsonl"))),
        ("--data-from", format!("mmlu={}", tasks.path("apart.jsonl"))),
        (
            "--data-from",
            format!("cais/mmlu={}", tasks.path("apart.jsonl")),
        ),
    ] {
        let done = args(data, flag);
        assert_eq!(done.code, 0, "{done}");
        let counts = &super::only(&done)["counts"];
        for subject in ["own_anatomy", "own_astronomy"] {
            assert_eq!(counts[subject]["planned"], 4, "{done}");
        }
    }
}

#[test]
fn two_tasks_about_the_same_records_share_a_file() {
    let one = "dataset_path: org/set\ntest_split: test\noutput_type: generate_until\n\
               doc_to_text: '{{question}}'\ndoc_to_target: '2'\n";
    let tasks = Tasks::new(&[
        ("a.yaml", &format!("task: a\n{one}")),
        ("b.yaml", &format!("task: b\n{one}")),
        ("c.yaml", &format!("task: c\ndataset_name: other\n{one}")),
        ("docs.jsonl", &lines(&[question("x", 1)])),
    ]);
    let server = ChatServer::start(|_| Reply::text("2"));
    let (url, file) = (server.url(), tasks.path("docs.jsonl"));
    for (names, data, is_fine) in [
        ("a,b", ["--data", "test"], true),
        ("a,b", ["--data-from", "org/set"], true),
        ("a,c", ["--data", "test"], false),
        ("a,c", ["--data-from", "org/set"], false),
    ] {
        let given = format!("{}={file}", data[1]);
        let done = tasks.run(names, &["--proxy", &url, data[0], &given]);
        match is_fine {
            true => assert_eq!(done.code, 0, "{names} {data:?} {done}"),
            false => done.is_error(&["would give the same records to `a` and to `c`"]),
        }
    }
}

#[test]
fn a_copy_may_be_called_by_its_repository() {
    let task = "task: mine\ndataset_path: openai/gsm8k\ndataset_name: main\ntest_split: test\n\
                output_type: generate_until\ndoc_to_text: '{{question}}'\ndoc_to_target: '{{answer}}'\n";
    let records = lines(&[json!({"question": "1 + 1?", "answer": "So it is.\n#### 2"})]);
    let tasks = Tasks::new(&[("mine.yaml", task), ("docs.jsonl", &records)]);
    let server = ChatServer::start(|_| Reply::text("2"));
    let copy = format!("openai/gsm8k={}", tasks.path("docs.jsonl"));
    for name in ["gsm8k", "mine"] {
        let asked = server.request_count();
        let done = tasks.run(name, &["--proxy", &server.url(), "--data-from", &copy]);
        assert_eq!(done.code, 0, "{name}: {done}");
        assert!(server.request_count() > asked, "{name}: {done}");
    }
}
