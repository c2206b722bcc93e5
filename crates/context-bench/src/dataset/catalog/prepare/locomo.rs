//! LoCoMo: two layouts of conversations with questions about them.
//!
//! The authors' own file is read by `context-bench-memory`; the copy on the hub, of which only
//! texts are left, here. The transcript is laid out as the authors show it to a model.

use std::sync::Arc;

use context_bench_memory::{
    Conversation, MemoryExample, MemoryQuestion, Session, Turn, locomo_question,
};
use serde_json::{Value, json};

use super::{Row, Rows, Tables, each, memory_example};
use crate::dataset::DatasetError;
use crate::dataset::catalog::load::OPTION_SEED;
use crate::dataset::catalog::shuffled_options::Options;

/// The right one of the two options of a question about something that was never said.
const NOT_MENTIONED: &str = "Not mentioned in the conversation";

/// One record per conversation with `id`, `turns`, `qa_pairs`, `transcript` and `speakers`,
/// and with the options of each question as `choices`.
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    let mut index = 0_usize;
    Ok(each(rows, move |mut row| {
        let (id, example) = if row.record.get("conversation").is_some() {
            let id = row.get("sample_id").clone();
            (id, memory_example(&mut row, index)?)
        } else {
            let texts = row.get("turns").as_array();
            let texts = texts.ok_or_else(|| row.misfit("neither `conversation` nor `turns`"))?;
            let texts = texts.iter().filter_map(Value::as_str);
            let example = MemoryExample {
                conversation: preprocessed(texts),
                questions: questions(&row),
            };
            (row.get("dialogue_id").clone(), example)
        };
        let id = match id {
            Value::Null => index.into(),
            id => id,
        };
        index += 1;
        let choices: Vec<Value> = example.questions.iter().map(options).collect();
        let (turns, questions) = example.turns_and_questions();
        Ok(row.becomes([
            ("id", id),
            ("transcript", transcript(&example.conversation).into()),
            ("speakers", speakers(&example.conversation).into()),
            ("turns", turns),
            ("qa_pairs", questions),
            ("choices", choices.into()),
        ]))
    }))
}

/// Everyone who says something, in order.
fn speakers(conversation: &Conversation) -> Vec<&str> {
    let mut speakers: Vec<&str> = Vec::new();
    for turn in conversation.turns() {
        let speaker = turn.speaker.as_deref().unwrap_or(&turn.role);
        if !speakers.contains(&speaker) {
            speakers.push(speaker);
        }
    }
    speakers
}

/// Sessions with their date, and who said what.
fn transcript(conversation: &Conversation) -> String {
    let mut text = String::new();
    let held = conversation.sessions.iter();
    for session in held.filter(|session| !session.turns.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some(date) = &session.time {
            text += &format!("DATE: {date}\n");
        }
        text += "CONVERSATION:\n";
        for turn in &session.turns {
            let speaker = turn.speaker.as_deref().unwrap_or(&turn.role);
            text += &format!("{speaker} said, \"{}\"", turn.text);
            if let Some(caption) = &turn.picture {
                text += &format!(" [shares {caption}]");
            }
            text.push('\n');
        }
    }
    text
}

/// The options of a question about something that was never said: so much, and the answer
/// that is to mislead. They stand in an order that follows from the question. Other
/// questions have none.
fn options(asked: &MemoryQuestion) -> Value {
    let Some(misleading) = asked.misleading.as_deref().filter(|_| asked.abstention) else {
        return json!([]);
    };
    let mut options = Options {
        texts: vec![NOT_MENTIONED.into(), misleading.into()],
        correct: Some(0),
    };
    options.shuffle(OPTION_SEED, &format!("locomo {}", asked.question));
    options.texts.into()
}

/// The copy on the hub: texts of lines `Name: words`, a time before them. Each text is a
/// session.
fn preprocessed<'a>(texts: impl Iterator<Item = &'a str>) -> Conversation {
    let mut sessions: Vec<Session> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let mut n_turns = 0_usize;
    for text in texts {
        let id: Arc<str> = format!("session_{}", sessions.len() + 1).into();
        let mut turns: Vec<Turn> = Vec::new();
        let mut time: Option<&str> = None;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        for (n, line) in lines.enumerate() {
            let last = match turns.last_mut() {
                Some(last) => Some(last),
                None => sessions
                    .last_mut()
                    .and_then(|before| before.turns.last_mut()),
            };
            match (speaker(line), n, last) {
                (Some((name, words)), ..) => {
                    let known = names.iter().position(|known| *known == name);
                    // The first to speak is the user, the other one the assistant.
                    let nth = known.unwrap_or_else(|| {
                        names.push(name);
                        names.len() - 1
                    });
                    let role = if nth % 2 == 0 { "user" } else { "assistant" };
                    let mut turn = Turn::new(n_turns.to_string(), role, words);
                    turn.speaker = Some(name.into());
                    turn.time = time.map(Into::into);
                    turn.session = Some(Arc::clone(&id));
                    turns.push(turn);
                    n_turns += 1;
                }
                (None, 0, _) => time = Some(line),
                // Text that is not a turn of its own continues the one before.
                (None, _, Some(last)) => last.text += &format!("\n{line}"),
                (None, _, None) => {}
            }
        }
        sessions.push(Session {
            id,
            time: time.map(Into::into),
            turns,
        });
    }
    Conversation {
        id: String::new(),
        sessions,
    }
}

/// `Name: words` apart. A name has no digit, except in `Speaker_1`; a time has.
fn speaker(line: &str) -> Option<(&str, &str)> {
    let (name, words) = line.split_once(':')?;
    let name = name.trim();
    let is_name = name.starts_with("Speaker_") || !name.contains(|c: char| c.is_ascii_digit());
    (is_name && !name.is_empty()).then(|| (name, words.trim()))
}

fn questions(row: &Row) -> Vec<MemoryQuestion> {
    let list = |column: &str| row.get(column).as_array().map_or(&[][..], |list| list);
    let (answers, categories) = (list("answers"), list("category"));
    let none = Value::Null;
    let asked = list("questions").iter().enumerate();
    let questions = asked.filter_map(|(n, question)| {
        let answer = answers.get(n).unwrap_or(&none);
        locomo_question(question, answer, categories.get(n).unwrap_or(&none))
    });
    questions.collect()
}
