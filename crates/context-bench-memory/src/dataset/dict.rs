//! A conversation with its questions as one JSON map: `turns` and `qa_pairs`.
//!
//! The form in which users hold such data, in which the catalog hands it over, and which the
//! original tool documents:
//!
//! ```json
//! {"id": "c1",
//!  "turns": [{"role": "user", "content": "I moved to Oslo.", "id": "t1"}],
//!  "qa_pairs": [{"question": "Where does she live?", "answer": "Oslo", "type": "fact",
//!                "evidence": ["t1"]}]}
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use context_bench_error::Place;
use context_bench_scoring::text::stringify::python_str;
use serde_json::{Map, Value, json};

use super::field::Fields;
use super::{MemoryDataError, MemoryExample};
use crate::{Conversation, MemoryQuestion, Session, Turn, TurnId};

impl MemoryExample {
    /// Reads a map with `turns` and `qa_pairs`; `place` is what errors name, `position` the id
    /// of one that has none.
    ///
    /// A turn has `role` and `content`, and may have `id`, `speaker`, `timestamp`,
    /// `session_id`, `picture` and `text` (what is said, where `content` also says by whom and
    /// when). A question has `question` and `answer` or `answers`, and may have `type`,
    /// `evidence` (ids of turns), `abstention`, `misleading` and `question_date`.
    ///
    /// # Errors
    ///
    /// When a member is missing or is something else, or two turns have one id.
    pub fn from_map(
        map: &Map<String, Value>,
        place: &Place,
        position: usize,
    ) -> Result<Self, MemoryDataError> {
        let fields = Fields::map_at(map, place);
        let id = fields.optional("id")?;
        let id = id.unwrap_or_else(|| position.to_string());
        let turns = turns(&fields)?;
        if turns.is_empty() {
            return Err(fields.wrong("`turns` has no turns with text".into()));
        }
        let known: HashSet<&TurnId> = turns.iter().map(|turn| &turn.id).collect();
        if known.len() < turns.len() {
            return Err(fields.wrong("two turns have the same `id`".into()));
        }
        let asked = fields.maps("qa_pairs")?;
        let questions = asked.iter().enumerate();
        let questions = questions
            .map(|(n, asked)| question(asked, &known, format!("{id}_{n}")))
            .collect::<Result<Vec<_>, _>>()?;
        let conversation = Conversation {
            id,
            sessions: sessions(turns),
        };
        Ok(Self {
            conversation,
            questions,
        })
    }

    /// The same map again: `turns` and `qa_pairs`.
    pub fn turns_and_questions(&self) -> (Value, Value) {
        let turns = self.conversation.turns().map(turn_map);
        let questions = self.questions.iter().map(question_map);
        (turns.collect(), questions.collect())
    }
}

fn turns(fields: &Fields<'_>) -> Result<Vec<Turn>, MemoryDataError> {
    let mut turns = Vec::new();
    for (n, said) in fields.maps("turns")?.iter().enumerate() {
        // A list of texts is not a list of turns; `null` is a turn that says nothing.
        let content = said.text("content")?;
        let text = said.optional("text")?.unwrap_or(content);
        let picture = said.optional("picture")?;
        if text.is_empty() && picture.is_none() {
            continue;
        }
        let shared = |text: Option<String>| text.map(Arc::<str>::from);
        turns.push(Turn {
            id: match said.optional("id")? {
                Some(id) => id.into(),
                None => n.to_string().into(),
            },
            role: said.optional("role")?.unwrap_or_else(|| "user".into()),
            speaker: shared(said.optional("speaker")?),
            text,
            picture,
            time: shared(said.optional("timestamp")?),
            session: shared(said.optional("session_id")?),
        });
    }
    Ok(turns)
}

/// Turns in a row that name the same session.
fn sessions(turns: Vec<Turn>) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut names: HashSet<Arc<str>> = HashSet::new();
    for turn in turns {
        let goes_on = sessions.last().is_some_and(|last| {
            let before = last.turns.last();
            before.is_some_and(|before| before.session == turn.session)
        });
        match sessions.last_mut().filter(|_| goes_on) {
            Some(last) => last.turns.push(turn),
            None => {
                let n = sessions.len();
                let name = turn.session.clone().filter(|name| !names.contains(name));
                let id = name.unwrap_or_else(|| format!("#{n}").into());
                names.insert(Arc::clone(&id));
                sessions.push(Session {
                    id,
                    time: turn.time.clone(),
                    turns: vec![turn],
                });
            }
        }
    }
    sessions
}

fn question(
    asked: &Fields<'_>,
    known: &HashSet<&TurnId>,
    id: String,
) -> Result<MemoryQuestion, MemoryDataError> {
    let values = match asked.get("answers").or(asked.get("answer")) {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let answers = values
        .iter()
        .map(|value| python_str(value).trim().to_owned());
    let marks: Vec<TurnId> = asked
        .list("evidence")?
        .iter()
        .map(|mark| TurnId::from(python_str(mark).into_owned()))
        .collect();
    let (evidence, unresolved): (Vec<TurnId>, Vec<TurnId>) =
        marks.into_iter().partition(|mark| known.contains(mark));
    Ok(MemoryQuestion {
        id,
        question: asked.required("question")?,
        answers: answers.filter(|text| !text.is_empty()).collect(),
        kind: asked.text("type")?,
        evidence,
        unresolved_evidence: unresolved.iter().map(ToString::to_string).collect(),
        abstention: match asked.get("abstention") {
            None => false,
            Some(Value::Bool(abstention)) => *abstention,
            Some(other) => return Err(asked.misfit("abstention", other, "true or false")),
        },
        misleading: asked.optional("misleading")?,
        asked: asked.optional("question_date")?,
    })
}

impl Turn {
    /// The `content` of the turn in a map: with time and name where the data names speakers. A
    /// chat of a user with an assistant has nothing to say about who speaks.
    pub fn dict_content(&self) -> String {
        let Some(speaker) = self.speaker.as_deref() else {
            return self.text.clone();
        };
        let mut content = String::new();
        if let Some(time) = &self.time {
            content += &format!("[{time}] ");
        }
        if !speaker.starts_with("Speaker_") {
            content += &format!("{speaker}: ");
        }
        content + &self.content()
    }
}

fn turn_map(turn: &Turn) -> Value {
    let content = turn.dict_content();
    let mut map = json!({
        "role": turn.role,
        "content": content,
        "timestamp": turn.time,
        "speaker": turn.speaker,
        "session_id": turn.session,
        "id": turn.id,
    });
    if content != turn.text {
        map["text"] = json!(turn.text);
    }
    if let Some(picture) = &turn.picture {
        map["picture"] = json!(picture);
    }
    map
}

fn question_map(asked: &MemoryQuestion) -> Value {
    let mut map = json!({
        "question": asked.question,
        "answer": asked.answer(),
        "type": asked.kind,
    });
    if asked.answers.len() > 1 {
        map["answers"] = json!(asked.answers);
    }
    let marks = asked.evidence.iter().map(ToString::to_string);
    let marks: Vec<String> = marks.chain(asked.unresolved_evidence.clone()).collect();
    if !marks.is_empty() {
        map["evidence"] = json!(marks);
    }
    if asked.abstention {
        map["abstention"] = json!(true);
    }
    for (key, text) in [
        ("misleading", &asked.misleading),
        ("question_date", &asked.asked),
    ] {
        if let Some(text) = text {
            map[key] = json!(text);
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<MemoryExample, String> {
        let Value::Object(map) = value else {
            unreachable!("a map")
        };
        MemoryExample::from_map(&map, &Place::file("f").line(3), 7).map_err(|e| e.to_string())
    }

    #[test]
    fn a_plain_map_is_enough() {
        let example = read(json!({
            "turns": [{"role": "user", "content": " hi "}, {"role": "assistant", "content": ""},
                      {"content": "yes"}],
            "qa_pairs": [{"question": "?", "answer": 3}],
        }));
        let example = example.unwrap();
        let conversation = &example.conversation;
        assert_eq!((conversation.id.as_str(), conversation.n_turns()), ("7", 2));
        let ids: Vec<&str> = conversation.turns().map(|turn| turn.id.as_str()).collect();
        assert_eq!(ids, ["0", "2"]);
        let asked = &example.questions[0];
        assert_eq!((asked.id.as_str(), asked.answer()), ("7_0", "3"));
        assert!(asked.evidence.is_empty() && asked.kind.is_empty());
    }

    #[test]
    fn a_map_reads_back_as_the_same() {
        let mut turn = Turn::new("t1", "user", "Look!");
        turn.speaker = Some("Ann".into());
        turn.time = Some("8 May".into());
        turn.picture = Some("a cat".into());
        turn.session = Some("s1".into());
        let mut other = turn.clone();
        other.id = "t2".into();
        other.session = Some("s2".into());
        let session = |id: &str, turn: &Turn| Session {
            id: id.into(),
            time: turn.time.clone(),
            turns: vec![turn.clone()],
        };
        let example = MemoryExample {
            conversation: Conversation {
                id: "c".into(),
                sessions: vec![session("s1", &turn), session("s2", &other)],
            },
            questions: vec![MemoryQuestion {
                id: "c_0".into(),
                question: "What?".into(),
                answers: vec!["a cat".into(), "cat".into()],
                kind: "single_hop".into(),
                evidence: vec!["t1".into()],
                unresolved_evidence: vec!["t9".into()],
                abstention: true,
                misleading: Some("a dog".into()),
                asked: Some("9 May".into()),
            }],
        };
        let (turns, pairs) = example.turns_and_questions();
        assert_eq!(turns[0]["content"], "[8 May] Ann: Look! [shares a cat]");
        let again = read(json!({"id": "c", "turns": turns, "qa_pairs": pairs}));
        assert_eq!(again, Ok(example));
    }

    #[test]
    fn errors_say_which_member() {
        let turn = json!({"role": "user", "content": "x", "id": "a"});
        for (value, expected) in [
            (json!({}), "`turns` has no turns with text"),
            (json!({"turns": ["x"]}), "`turns[0]` is text, not a map"),
            (
                json!({"turns": [turn, turn]}),
                "two turns have the same `id`",
            ),
            (
                json!({"turns": [turn], "qa_pairs": [{}]}),
                "`qa_pairs[0].question` is missing or empty",
            ),
            (
                json!({"turns": [turn], "qa_pairs": [{"question": "?", "abstention": 1}]}),
                "`qa_pairs[0].abstention` is a number, not true or false",
            ),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
