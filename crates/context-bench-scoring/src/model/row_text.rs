//! `RowText`: what was asked and answered in a row, for those who read results.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Example, Output};

/// What was asked, what would be right, and what came back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowText {
    /// The question, or the last thing that the user says in messages.
    pub question: Option<Value>,
    /// What would be right, as the example has it.
    pub answer: Option<Value>,
    /// What came back, without reasoning; `None` when the system gave no answer.
    pub response: Option<Value>,
    /// What the model thought before it answered.
    pub reasoning: Option<String>,
    /// What it was asked about, where the run keeps contexts. Files of rows leave it out.
    pub contexts: Option<Box<RowContexts>>,
}

/// The context of an example, and what a system left of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RowContexts {
    /// The example, shared by all rows about it.
    pub example: Arc<Example>,
    /// The context as the system left it; `None` when it does not say.
    pub sent: Option<SentContext>,
}

/// A context as a system left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentContext {
    /// Nothing was changed.
    Unchanged,
    /// Something was.
    Changed(Box<str>),
}

impl RowContexts {
    /// The contexts of an example and of the output that was made of it; `None` when the
    /// example has no context.
    pub fn of(example: &Arc<Example>, output: Option<&Output>) -> Option<Self> {
        let before = example.get(CONTEXT)?.as_str()?;
        let after = output.and_then(|output| output.get(CONTEXT)?.as_str());
        let sent = after.map(|after| match after == before {
            true => SentContext::Unchanged,
            false => SentContext::Changed(after.into()),
        });
        Some(Self {
            example: Arc::clone(example),
            sent,
        })
    }

    /// The context of the example.
    pub fn given(&self) -> &str {
        let given = self.example.get(CONTEXT).and_then(Value::as_str);
        given.unwrap_or_default()
    }

    /// Bytes of both.
    pub fn size(&self) -> usize {
        let sent = match &self.sent {
            Some(SentContext::Changed(text)) => text.len(),
            Some(SentContext::Unchanged) | None => 0,
        };
        self.given().len() + sent
    }
}

/// The field of examples and outputs that holds the context.
const CONTEXT: &str = "context";

/// Which texts rows keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextsKept {
    /// None.
    #[default]
    None,
    /// What was asked and answered.
    Answers,
    /// That, and contexts before and after the system, as far as there is room for them.
    Contexts,
}

impl From<bool> for TextsKept {
    fn from(kept: bool) -> Self {
        match kept {
            true => Self::Answers,
            false => Self::None,
        }
    }
}

/// Fields of examples that hold what would be right; the first that is there counts.
const ANSWERS: [&str; 5] = ["answer", "answers", "reference", "target", "label"];

impl RowText {
    /// The texts of an example and, if there is one, of the answer to it.
    pub fn of(example: &Example, output: Option<&Output>) -> Self {
        let mut text = Self {
            question: question(example),
            answer: answer(example),
            ..Self::default()
        };
        let Some(output) = output else {
            return text;
        };
        text.response = output.get("response").cloned();
        if let Some((thought, answer)) = output.thought() {
            text.reasoning = Some(thought.to_owned());
            text.response = Some(answer.into());
        } else if let Some(said) = output.api_reply() {
            let thought = said.get("reasoning").and_then(Value::as_str);
            text.reasoning = thought.map(str::to_owned);
        }
        text
    }

    /// Adds the members of a row.
    pub(super) fn put(&self, row: &mut Map<String, Value>) {
        let members = [
            ("question", &self.question),
            ("answer", &self.answer),
            ("response", &self.response),
        ];
        for (key, value) in members {
            row.insert(key.into(), value.clone().unwrap_or(Value::Null));
        }
        if let Some(thought) = &self.reasoning {
            row.insert("reasoning".into(), thought.as_str().into());
        }
    }
}

fn question(example: &Example) -> Option<Value> {
    let present = |key: &str| example.get(key).filter(|value| !value.is_null());
    if let Some(question) = present("question") {
        return Some(question.clone());
    }
    let list = present("turns").or_else(|| present("messages"))?;
    let messages = list.as_array()?.iter().rev();
    let mut from_user =
        messages.filter(|message| message.get("role").is_some_and(|role| role == "user"));
    from_user.next()?.get("content").cloned()
}

fn answer(example: &Example) -> Option<Value> {
    let of = |fields: &Map<String, Value>| {
        let found = ANSWERS.iter().find_map(|key| fields.get(*key));
        found.filter(|value| !value.is_null()).cloned()
    };
    // A task keeps the record that it was made from.
    let record = || example.get("record").and_then(Value::as_object);
    of(example.fields()).or_else(|| of(record()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn questions_and_answers_are_found_in_every_shape() {
        let user = json!([{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]);
        for (example, question, answer) in [
            (
                json!({"question": "Q", "answer": "A"}),
                json!("Q"),
                json!("A"),
            ),
            (
                json!({"messages": user, "answers": ["A"]}),
                json!("Q"),
                json!(["A"]),
            ),
            (
                json!({"turns": user, "answer": null}),
                json!("Q"),
                json!(null),
            ),
            (
                json!({"context": "P", "record": {"label": 1}}),
                json!(null),
                json!(1),
            ),
        ] {
            let example = Example::try_from(example).expect("a map");
            let text = RowText::of(&example, None);
            assert_eq!(text.question.unwrap_or_default(), question);
            assert_eq!(text.answer.unwrap_or_default(), answer);
            assert_eq!(text.response, None);
        }
    }

    #[test]
    fn contexts_say_whether_a_system_changed_them() {
        let example = Example::try_from(json!({"context": "a b c"})).expect("a map");
        let example = Arc::new(example);
        let sent = |output: Output| RowContexts::of(&example, Some(&output)).expect("one").sent;
        let changed = Output::from(Map::new()).with("context", "a c");
        let same = Output::from(Map::new()).with("context", "a b c");
        assert_eq!(sent(changed), Some(SentContext::Changed("a c".into())));
        assert_eq!(sent(same), Some(SentContext::Unchanged));
        assert_eq!(sent(Output::from(Map::new())), None);
        assert_eq!(RowContexts::of(&Arc::new(Example::new()), None), None);
    }

    #[test]
    fn reasoning_is_apart_from_the_response() {
        let output = Output::from(Map::new()).with("response", "<think>hm</think> A");
        let text = RowText::of(&Example::new(), Some(&output));
        assert_eq!(text.response, Some(json!("A")));
        assert_eq!(text.reasoning.as_deref(), Some("hm"));
    }
}
