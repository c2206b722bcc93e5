//! How long a thread works on a record, by kind of template:
//! `cargo run --release --package context-bench-template --example speed`.
//!
//! The best of many short rounds, because other programs run beside it.

use std::time::Instant;

use context_bench_template::jinja::{Error, Template};
use serde_json::json;

const ROUNDS: usize = 500;
const RENDERS: u32 = 200;

/// From a plain field to a prompt with a loop.
const TEMPLATES: [(&str, &str); 8] = [
    ("a field", "{{ question }}"),
    ("a part of a field", "{{ answers.text[0] }}"),
    ("a field with a default", "{{ hint | default('') }}"),
    (
        "fields in a text",
        "Context: {{ context }}\n\nQuestion: {{ question }}\nAnswer:",
    ),
    ("a method", "{{ question.strip() }}"),
    ("joined texts", "{{ context + '\\n\\n' + question }}"),
    (
        "a loop",
        "{% for p in passages %}{{ p.title }}: {{ p.text }}\n{% endfor %}",
    ),
    (
        "multiple choice",
        "{{question.strip()}}\n{% for c in choices %}{{ 'ABCD'[loop.index0] }}. {{ c }}\n{% endfor %}Answer:",
    ),
];

#[expect(clippy::print_stdout, reason = "a measurement to read")]
fn main() -> Result<(), Error> {
    let record = json!({
        "question": " Which of these is a tree? ", "choices": ["oak", "dog", "car", "sea"],
        "context": "A text of some lines.\n".repeat(100),
        "answers": {"text": ["oak"], "start": [3]},
        "passages": (0..10).map(|n| json!({"title": format!("Title {n}"), "text": "words ".repeat(50)})).collect::<Vec<_>>(),
        "unused": "x".repeat(10_000),
    });
    let Some(record) = record.as_object() else {
        return Ok(());
    };
    for (what, source) in TEMPLATES {
        let template = Template::compile("doc_to_text", source)?;
        let (mut text, mut value) = (f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..RENDERS {
                std::hint::black_box(template.render(record)?);
            }
            text = text.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            for _ in 0..RENDERS {
                std::hint::black_box(template.evaluate(record)?);
            }
            value = value.min(start.elapsed().as_secs_f64());
        }
        let micros = |seconds: f64| seconds * 1e6 / f64::from(RENDERS);
        println!(
            "{what:<24} text {:5.2} µs   value {:5.2} µs",
            micros(text),
            micros(value)
        );
    }
    Ok(())
}
