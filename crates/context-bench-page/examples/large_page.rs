//! Writes a page with many rows, to try how it opens: `large_page FILE [EXAMPLES]`. Two systems answer
//! each example; every third answer of the second is wrong.

#![allow(clippy::print_stdout)] // It says what it wrote.

use std::fs::File;
use std::io::{self, BufWriter};

use context_bench_page::{Figure, Metric, PageData, PageLimits, PageRow, PageWriter, System};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| "large.html".to_owned());
    let examples = arguments.next().and_then(|n| n.parse().ok());
    let examples: usize = examples.unwrap_or(50_000);
    let data = data(examples);
    let out = BufWriter::new(File::create(file)?);
    let mut page = PageWriter::begin(out, &data, PageLimits::default())?;
    for system in 0..data.systems.len() {
        for example in 0..examples {
            page.row(&row(system, example))?;
        }
    }
    let written = page.end()?;
    println!("{} rows, {} left out", written.rows, written.rows_left_out);
    Ok(())
}

fn is_right(system: usize, example: usize) -> bool {
    system == 0 || !example.is_multiple_of(3)
}

fn row(system: usize, example: usize) -> PageRow<'static> {
    let right = is_right(system, example);
    let value = if right { 1.0 } else { 0.0 };
    let answer = (example * example).to_string();
    let response = match right {
        true => answer.clone(),
        false => format!("not {example}"),
    };
    PageRow {
        system,
        dataset: "squares".into(),
        example_id: format!("e{example}").into(),
        quality: Some(value),
        scores: vec![Some(value)],
        input_tokens: 12,
        output_tokens: 12,
        latency: 0.001 + (example * 7919 % 1000) as f64 * 1e-6,
        question: Some(format!("What is the square of {example}?").into()),
        answer: Some(answer.into()),
        response: Some(response.into()),
        ..PageRow::default()
    }
}

fn data(examples: usize) -> PageData {
    let system = |number: usize, name: &str| {
        let scored = (0..examples).filter(|n| is_right(number, *n)).count();
        let figure = Figure {
            value: Some(scored as f64 / examples.max(1) as f64),
            n: Some(examples),
            ..Figure::default()
        };
        let counts = [("planned", examples), ("scored", examples), ("failed", 0)];
        System {
            name: name.to_owned(),
            counts: counts
                .map(|(key, n)| (key.to_owned(), n.into()))
                .into_iter()
                .collect(),
            figures: vec![("mean_score".to_owned(), figure)],
            ..System::default()
        }
    };
    PageData {
        title: "Two systems on squares".to_owned(),
        systems: vec![system(0, "first"), system(1, "second")],
        baseline: Some(0),
        metrics: vec![Metric {
            key: "mean_score".to_owned(),
            label: "Quality".to_owned(),
            unit: "number",
            is_main: true,
            ..Metric::default()
        }],
        quality: Some("mean_score".to_owned()),
        threshold: Some(0.7),
        scores: vec!["right".to_owned()],
        made_by: "large_page".to_owned(),
        ..PageData::default()
    }
}
