//! The demo dataset that ships inside the program, so a first run needs no download.
//!
//! The texts live in the `demo` folder of this crate, whose README says what the
//! dataset is built to show. This file only turns them into examples, on request.

use serde::Deserialize;

use super::{Dataset, DatasetError};
use crate::error::Place;
use crate::model::Example;

const QUESTIONS: &str = include_str!("../../demo/questions.jsonl");

macro_rules! documents {
    ($($slug:literal),* $(,)?) => {
        &[$(($slug, include_str!(concat!("../../demo/documents/", $slug, ".txt")))),*]
    };
}

const DOCUMENTS: &[(&str, &str)] = documents![
    "bakery",
    "bridge",
    "chess",
    "composer",
    "council",
    "dig",
    "lighthouse",
    "museum",
    "postmortem",
    "railway",
    "rescue",
    "seabirds",
    "spacecraft",
    "trial",
];

/// One line of `questions.jsonl`.
#[derive(Deserialize)]
struct Question {
    id: String,
    document: String,
    distractors: Vec<String>,
    question: String,
    answer: String,
    answers: Vec<String>,
    r#type: String,
}

/// The demo dataset: 110 questions, each over three invented documents.
pub fn demo() -> Dataset {
    let len = QUESTIONS.lines().count();
    let examples = QUESTIONS.lines().enumerate().map(|(index, line)| {
        example(index, line).map_err(|problem| DatasetError::BadRecord {
            problem,
            at: Place::file("demo/questions.jsonl").line(index + 1),
        })
    });
    Dataset::from_results(examples).with_len(len)
}

fn example(index: usize, line: &str) -> Result<Example, String> {
    let question: Question = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let mut texts = question
        .distractors
        .iter()
        .map(|slug| document(slug))
        .collect::<Result<Vec<_>, _>>()?;
    // The document with the answer takes each place in turn, so that no way of
    // cutting a context short is favoured.
    texts.insert((index % 3).min(texts.len()), document(&question.document)?);
    Ok(Example::new()
        .with("id", question.id)
        .with("context", texts.join("\n\n"))
        .with("question", question.question)
        .with("answer", question.answer)
        .with("answers", question.answers)
        .with("type", question.r#type))
}

fn document(slug: &str) -> Result<&'static str, String> {
    DOCUMENTS
        .iter()
        .find(|(known, _)| *known == slug)
        .map(|(_, text)| text.trim_end())
        .ok_or_else(|| format!("no demo document `{slug}`"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_list_of_documents_is_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/documents");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("readable").file_name())
            .map(|name| name.to_string_lossy().replace(".txt", ""))
            .collect();
        files.sort();
        let slugs: Vec<&str> = DOCUMENTS.iter().map(|(slug, _)| *slug).collect();
        assert_eq!(files, slugs);
    }

    #[test]
    fn every_question_is_an_example_with_its_answer_in_the_context() {
        let dataset = demo();
        let len = dataset.known_len();
        let examples: Vec<Example> = dataset
            .into_iter()
            .collect::<Result<_, _>>()
            .expect("valid");
        assert_eq!((examples.len(), len), (110, Some(110)));
        for example in &examples {
            let keys: Vec<&str> = example.fields().keys().map(String::as_str).collect();
            assert_eq!(
                keys,
                ["id", "context", "question", "answer", "answers", "type"]
            );
            let answer = example.text("answer").expect("text");
            assert!(
                example.text("type") == Some("yes_no") || example.context().contains(answer),
                "{:?}",
                example.id(0)
            );
        }
        let ids: HashSet<_> = examples.iter().map(|example| example.text("id")).collect();
        assert_eq!(ids.len(), examples.len());
    }

    #[test]
    fn the_document_with_the_answer_takes_each_place_in_turn() {
        let questions = QUESTIONS.lines().map(|line| {
            let question: Question = serde_json::from_str(line).expect("valid");
            document(&question.document).expect("known")
        });
        for (index, (example, gold)) in demo().into_iter().zip(questions).enumerate() {
            let example = example.expect("valid");
            let context = example.context();
            match index % 3 {
                0 => assert!(context.starts_with(gold)),
                1 => assert!(context.contains(&format!("\n\n{gold}\n\n"))),
                _ => assert!(context.ends_with(gold)),
            }
        }
    }
}
