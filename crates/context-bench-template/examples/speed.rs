//! How many prompts a second a thread renders: `cargo run --release --example speed`.

use std::time::Instant;

use context_bench_template::jinja::Template;

#[expect(clippy::print_stdout, reason = "a measurement to read")]
fn main() -> Result<(), context_bench_template::jinja::Error> {
    let source = "{{question.strip()}}\n{% for c in choices %}{{ 'ABCD'[loop.index0] }}. {{ c }}\n{% endfor %}Answer:";
    let record = serde_json::json!({
        "question": " Which of these is a tree? ", "choices": ["oak", "dog", "car", "sea"],
        "unused": "x".repeat(10_000),
    });
    let Some(record) = record.as_object() else {
        return Ok(());
    };
    let template = Template::compile("doc_to_text", source)?;
    let n = 200_000;
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..n {
        bytes += template.render(record)?.len();
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.0} renders/s, {bytes} bytes", f64::from(n) / seconds);
    Ok(())
}
