//! LoCoMo: two layouts of conversations with questions about them.
//!
//! A turn keeps its speaker and its time, also inside the text that a system
//! reads, because questions ask for both. The transcript is laid out as the
//! benchmark's authors show it to a model.

use serde_json::{Value, json};

use super::{Row, Rows, Tables, each};
use crate::dataset::DatasetError;
use crate::dataset::catalog::load::OPTION_SEED;
use crate::dataset::catalog::shuffled_options::Options;
use crate::text::stringify::python_str;

/// What a right answer to a question about something never said contains, as
/// the benchmark's own scorer looks for it.
const NOT_SAID: [&str; 2] = ["No information available", "Not mentioned"];

/// The right one of the two options of such a question.
const NOT_MENTIONED: &str = "Not mentioned in the conversation";

/// One record per conversation with `id`, `turns`, `qa_pairs`, `transcript` and `speakers`,
/// and with the options of each question as `choices`.
pub(super) fn prepare(rows: Rows, _: Tables) -> Result<Rows, DatasetError> {
    let mut index = 0_usize;
    Ok(each(rows, move |row| {
        let (id, conversation, questions) = if row.record.get("conversation").is_some() {
            let conversation = original(row.get("conversation"))
                .ok_or_else(|| row.misfit("a conversation without sessions"))?;
            (row.get("sample_id"), conversation, original_questions(&row))
        } else {
            let texts = row.get("turns").as_array();
            let texts = texts.ok_or_else(|| row.misfit("neither `conversation` nor `turns`"))?;
            let texts = texts.iter().filter_map(Value::as_str);
            (row.get("dialogue_id"), preprocessed(texts), questions(&row))
        };
        let id = match id {
            Value::Null => index.into(),
            id => id.clone(),
        };
        index += 1;
        let (questions, choices): (Vec<Value>, Vec<Value>) = questions.into_iter().unzip();
        Ok(row.becomes([
            ("id", id),
            ("transcript", conversation.transcript().into()),
            ("speakers", conversation.speakers().into()),
            ("turns", conversation.turns()),
            ("qa_pairs", questions.into()),
            ("choices", choices.into()),
        ]))
    }))
}

struct Conversation(Vec<Utterance>);

struct Utterance {
    speaker: String,
    content: String,
    /// The words alone, and the picture that came with them.
    words: String,
    shares: Option<String>,
    timestamp: Option<String>,
    session: Option<String>,
}

impl Conversation {
    /// The turns. The first speaker is the user, the other the assistant.
    fn turns(&self) -> Value {
        let mut speakers: Vec<&str> = Vec::new();
        let turns = self.0.iter().map(|said| {
            let known = speakers.iter().position(|name| *name == said.speaker);
            let nth = known.unwrap_or_else(|| {
                speakers.push(&said.speaker);
                speakers.len() - 1
            });
            json!({
                "role": if nth % 2 == 0 { "user" } else { "assistant" },
                "content": said.content,
                "timestamp": said.timestamp,
                "speaker": said.speaker,
                "session_id": said.session,
            })
        });
        turns.collect()
    }

    /// Everyone who says something, in order.
    fn speakers(&self) -> Vec<&str> {
        let mut speakers: Vec<&str> = Vec::new();
        for said in &self.0 {
            if !speakers.contains(&said.speaker.as_str()) {
                speakers.push(&said.speaker);
            }
        }
        speakers
    }

    /// Sessions with their date, and who said what.
    fn transcript(&self) -> String {
        let mut text = String::new();
        let same =
            |a: &Utterance, b: &Utterance| (&a.session, &a.timestamp) == (&b.session, &b.timestamp);
        for session in self.0.chunk_by(same) {
            if !text.is_empty() {
                text.push('\n');
            }
            if let Some(date) = session.first().and_then(|said| said.timestamp.as_ref()) {
                text += &format!("DATE: {date}\n");
            }
            text += "CONVERSATION:\n";
            for said in session {
                text += &format!("{} said, \"{}\"", said.speaker, said.words);
                if let Some(caption) = &said.shares {
                    text += &format!(" [shares {caption}]");
                }
                text.push('\n');
            }
        }
        text
    }

    fn say(
        &mut self,
        speaker: &str,
        (text, shares): (&str, Option<&str>),
        timestamp: Option<&str>,
        session: Option<&str>,
    ) {
        let mut content = String::new();
        if let Some(timestamp) = timestamp {
            content += &format!("[{timestamp}] ");
        }
        if !speaker.starts_with("Speaker_") {
            content += &format!("{speaker}: ");
        }
        content += text;
        if let Some(caption) = shares {
            let space = if text.is_empty() { "" } else { " " };
            content += &format!("{space}[shares {caption}]");
        }
        self.0.push(Utterance {
            speaker: speaker.to_owned(),
            content,
            words: text.to_owned(),
            shares: shares.map(Into::into),
            timestamp: timestamp.map(Into::into),
            session: session.map(Into::into),
        });
    }
}

/// `locomo10.json`: sessions `session_1`, `session_2`… with a time each.
fn original(conversation: &Value) -> Option<Conversation> {
    let sessions = conversation.as_object()?;
    let mut said = Conversation(Vec::new());
    for n in 1.. {
        let name = format!("session_{n}");
        let time = sessions.get(&format!("{name}_date_time"));
        let turns = sessions.get(&name).and_then(Value::as_array);
        // Conversations have times of sessions that were never held.
        if time.is_none() && turns.is_none() {
            break;
        }
        for turn in turns.into_iter().flatten() {
            let text = turn["text"].as_str().unwrap_or_default().trim();
            let words = (text, turn["blip_caption"].as_str().map(str::trim));
            let speaker = turn["speaker"].as_str().unwrap_or_default();
            let time = time.and_then(Value::as_str);
            said.say(speaker, words, time, Some(&name));
        }
    }
    (!said.0.is_empty()).then_some(said)
}

fn original_questions(row: &Row) -> Vec<(Value, Value)> {
    let asked = row.get("qa").as_array().into_iter().flatten();
    let pairs = asked.filter_map(|qa| {
        let pair = pair(&qa["question"], &qa["answer"], &qa["category"])?;
        let options = options(&pair, &qa["adversarial_answer"]);
        Some((pair, options))
    });
    pairs.collect()
}

/// The options of a question about something that was never said: so much, and the answer
/// that is to mislead. They stand in an order that follows from the question. Other
/// questions have none.
fn options(pair: &Value, misleading: &Value) -> Value {
    let text = match misleading {
        Value::Null => String::new(),
        text => python_str(text).trim().to_owned(),
    };
    if pair["type"] != "adversarial" || text.is_empty() {
        return json!([]);
    }
    let mut options = Options {
        texts: vec![NOT_MENTIONED.into(), text.into()],
        correct: Some(0),
    };
    let question = pair["question"].as_str().unwrap_or_default();
    options.shuffle(OPTION_SEED, &format!("locomo {question}"));
    options.texts.into()
}

/// The copy on the hub: texts of lines `Name: words`, a time before them.
fn preprocessed<'a>(texts: impl Iterator<Item = &'a str>) -> Conversation {
    let mut said = Conversation(Vec::new());
    for text in texts {
        let mut time: Option<&str> = None;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        for (n, line) in lines.enumerate() {
            match (speaker(line), n, said.0.last_mut()) {
                (Some((name, words)), ..) => said.say(name, (words, None), time, None),
                (None, 0, _) => time = Some(line),
                // Text that is not a turn of its own continues the one before.
                (None, _, Some(last)) => {
                    last.content += &format!("\n{line}");
                    last.words += &format!("\n{line}");
                }
                (None, _, None) => {}
            }
        }
    }
    said
}

/// `Name: words` apart. A name has no digit, except in `Speaker_1`; a time has.
fn speaker(line: &str) -> Option<(&str, &str)> {
    let (name, words) = line.split_once(':')?;
    let name = name.trim();
    let is_name = name.starts_with("Speaker_") || !name.contains(|c: char| c.is_ascii_digit());
    (is_name && !name.is_empty()).then(|| (name, words.trim()))
}

fn questions(row: &Row) -> Vec<(Value, Value)> {
    let list = |column: &str| row.get(column).as_array().map_or(&[][..], |list| list);
    let (answers, categories) = (list("answers"), list("category"));
    let of = |values: &[Value], n: usize| values.get(n).cloned().unwrap_or_default();
    let asked = list("questions").iter().enumerate();
    let pairs = asked.filter_map(|(n, question)| {
        let answer = of(answers, n);
        let pair = pair(question, &answer, &of(categories, n))?;
        // The answer of such a question, if it has one here, is the one that misleads.
        let options = options(&pair, &answer);
        Some((pair, options))
    });
    pairs.collect()
}

/// A question with its answer. One without an answer is left out, unless it
/// asks for something that was never said: saying so is the answer then.
fn pair(question: &Value, answer: &Value, category: &Value) -> Option<Value> {
    let question = question.as_str()?.trim();
    let kind = kind(category);
    let text = match answer {
        Value::Null => String::new(),
        answer => python_str(answer).trim().to_owned(),
    };
    if question.is_empty() {
        return None;
    }
    let mut pair = json!({"question": question, "answer": text, "type": kind});
    // Whatever stands there as its answer is the one that misleads.
    if kind == "adversarial" {
        pair["answer"] = NOT_SAID[0].into();
        pair["answers"] = json!(NOT_SAID);
    } else if text.is_empty() {
        return None;
    }
    Some(pair)
}

/// The kinds as the benchmark's paper counts them; the order of the codes is
/// not that of the paper's list.
fn kind(category: &Value) -> String {
    match category.as_i64() {
        Some(1) => "multi_hop".into(),
        Some(2) => "temporal".into(),
        Some(3) => "open_domain".into(),
        Some(4) => "single_hop".into(),
        Some(5) => "adversarial".into(),
        _ => python_str(category).into_owned(),
    }
}
