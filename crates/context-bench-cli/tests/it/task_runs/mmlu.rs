//! MMLU from end to end: 14,042 questions, 57 subjects, four areas.

use std::collections::BTreeMap;
use std::io::Read as _;

use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood};
use context_bench_testkit::{ChatServer, Reply, needs_shared, shared};
use serde_json::{Value, json};

use super::{Tasks, only};
use crate::program::arg;

/// How likely a letter is after a prompt: by chance, but always the same.
fn logprob(prompt: &str, letter: &str) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in prompt.bytes().chain(letter.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    -(((hash >> 20) % 10_000) as f64) / 1000.0
}

/// The prompt of a question, as its authors write it.
fn prompt(row: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let subject = text(&row["subject"]).replace('_', " ");
    let mut prompt = format!(
        "The following are multiple choice questions (with answers) about {subject}.\n\n{}\n",
        text(&row["question"])
    );
    for (letter, choice) in "ABCD".chars().zip(row["choices"].as_array().unwrap()) {
        prompt += &format!("{letter}. {}\n", text(choice));
    }
    prompt + "Answer:"
}

struct Subject {
    n: f64,
    right: f64,
}

impl Subject {
    fn mean(&self) -> f64 {
        self.right / self.n
    }

    /// Of zeros and ones.
    fn variance_of_mean(&self) -> f64 {
        self.mean() * (1.0 - self.mean()) / (self.n - 1.0)
    }
}

/// Mean and pooled error of some subjects, every question counting the same.
fn pooled(subjects: &[&Subject]) -> (f64, f64) {
    let n: f64 = subjects.iter().map(|s| s.n).sum();
    let right: f64 = subjects.iter().map(|s| s.right).sum();
    let spread: f64 = subjects
        .iter()
        .map(|s| s.n * (s.n - 1.0) * s.variance_of_mean())
        .sum();
    let error = (spread / (n - subjects.len() as f64) / n).sqrt();
    (right / n, error)
}

#[needs_shared("data/full/mmlu.all.test.jsonl.gz")]
#[test]
fn all_of_mmlu_over_the_mock_endpoint() {
    let path = shared::path("data/full/mmlu.all.test.jsonl.gz");
    let mut text = String::new();
    let file = std::fs::File::open(&path).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    let mut subjects: BTreeMap<String, Subject> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let prompt = prompt(&row);
        let lls = ["A", "B", "C", "D"].map(|letter| logprob(&prompt, letter));
        let best = (0..4)
            .rev()
            .max_by(|a, b| lls[*a].total_cmp(&lls[*b]))
            .unwrap();
        let subject = subjects
            .entry(format!("mmlu_{}", row["subject"].as_str().unwrap()))
            .or_insert(Subject { n: 0.0, right: 0.0 });
        subject.n += 1.0;
        subject.right += f64::from(u8::from(row["answer"] == json!(best)));
    }
    assert_eq!(subjects.len(), 57);

    let score = |before: &str, token: &str| {
        // Only answers count, and hashing takes its time.
        let logprob = match before.ends_with("Answer:") {
            true => logprob(before, token.trim()),
            false => -1.0,
        };
        TokenScore { logprob, best: 0.0 }
    };
    let script = likelihood(EchoStyle::default(), score, |_| Reply::text("no"));
    let server = ChatServer::builder().counts_only().start(script);
    let tasks = Tasks::new(&[]);
    let (proxy, copy) = (server.base_url_v1(), format!("mmlu={}", arg(&path)));
    let done = tasks.run(
        "mmlu",
        &[
            "--proxy",
            &proxy,
            "--data-from",
            &copy,
            "--batch-size",
            "4",
            "--max-workers",
            "16",
            "--tokenizer",
            "whitespace",
            "--timeout",
            "300",
            "--output",
            "json",
        ],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(server.request_count(), 14_042);
    let found = only(&done);
    let close = |key: &str, expected: (f64, f64)| {
        let entry = &found["results"][key];
        let value = entry["acc,none"].as_f64().unwrap();
        let error = entry["acc_stderr,none"].as_f64().unwrap();
        assert!(
            (value - expected.0).abs() < 1e-12,
            "{key}: {value} {expected:?}"
        );
        assert!(
            (error - expected.1).abs() < 1e-12,
            "{key}: {error} {expected:?}"
        );
    };
    for (key, subject) in &subjects {
        close(key, (subject.mean(), subject.variance_of_mean().sqrt()));
        assert_eq!(
            found["counts"][key]["scored"].as_f64(),
            Some(subject.n),
            "{key}"
        );
    }
    let members = |group: &str| -> Vec<String> {
        let list = found["group_subtasks"][group].as_array().unwrap();
        list.iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    let areas = members("mmlu");
    assert_eq!(areas.len(), 4);
    let mut n = 0;
    for area in &areas {
        let members = members(area);
        n += members.len();
        let of_area: Vec<&Subject> = members.iter().map(|key| &subjects[key]).collect();
        close(area, pooled(&of_area));
    }
    assert_eq!(n, 57);
    let all: Vec<&Subject> = subjects.values().collect();
    close("mmlu", pooled(&all));
    assert_eq!(found["results"]["mmlu"]["sample_len"], json!(14_042));
}
