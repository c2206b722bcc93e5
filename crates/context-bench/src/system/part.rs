//! The context part of a prompt: the text that a context layer may change.
//!
//! The prompt of a task is one text, or messages, made of instructions, examples and the
//! question. What it is asked about is found by its record: the first of its fields with a
//! name for such texts whose text stands in the prompt as it is in the record.

use serde_json::Value;

use crate::model::Example;

/// The field of an example that holds the raw record of a task.
pub(crate) const RECORD: &str = "record";
/// The field of an example with several prompts.
pub(crate) const CONTEXTS: &str = "contexts";

/// What records call the text that a question is about, the plainest names first.
pub(crate) const CONTEXT_FIELDS: [&str; 13] = [
    "context",
    "passage",
    "document",
    "article",
    "paragraph",
    "background",
    "support",
    "evidence",
    "story",
    "dialogue",
    "transcript",
    "abstract",
    "report",
];

/// Fields of records with the question, for layers that choose by it.
const QUESTIONS: [&str; 4] = ["question", "query", "input", "instruction"];

/// The context part of a task's prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContextPart<'a> {
    /// The field of the record.
    pub field: &'static str,
    /// Its text.
    pub text: &'a str,
}

impl<'a> ContextPart<'a> {
    /// The context part of an example that asks about a document of a task; `None` when it
    /// has none.
    pub(crate) fn of(example: &'a Example) -> Option<Self> {
        let record = example.get(RECORD)?.as_object()?;
        let prompts = prompts(example);
        let mut parts = CONTEXT_FIELDS.iter().filter_map(|field| {
            let text = record.get(*field)?.as_str()?.trim();
            Some(Self { field, text })
        });
        parts.find(|part| {
            let is_in = |prompt: &&str| prompt.contains(part.text);
            !part.text.is_empty() && !prompts.is_empty() && prompts.iter().all(is_in)
        })
    }

    /// What is asked about it: what the record calls the question, else what stands behind
    /// it in the prompt.
    pub(crate) fn question(&self, example: &'a Example) -> &'a str {
        let record = example.get(RECORD);
        let own = record.and_then(|record| {
            let mut named = QUESTIONS.iter().filter_map(|field| record.get(*field));
            named.find_map(Value::as_str)
        });
        let prompts = prompts(example);
        let behind = prompts
            .first()
            .and_then(|prompt| Some(prompt.rsplit_once(self.text)?.1.trim()));
        own.or(behind).unwrap_or_default()
    }

    /// The example with another text in that place. Where a prompt has the text twice, the
    /// later one is meant: examples stand before the question.
    pub(crate) fn replaced(&self, example: &Example, new: &str) -> Example {
        let put = |prompt: &str| match prompt.rfind(self.text) {
            Some(at) => {
                let behind = &prompt[at + self.text.len()..];
                [&prompt[..at], new, behind].concat()
            }
            None => prompt.to_owned(),
        };
        let mut fields = Vec::with_capacity(example.fields().len());
        let asked = asked_message(example);
        for (key, value) in example.fields() {
            let value = match (key.as_str(), value) {
                ("context", Value::String(prompt)) => put(prompt).into(),
                (CONTEXTS, Value::Array(prompts)) => prompts
                    .iter()
                    .map(|prompt| match prompt {
                        Value::String(prompt) => put(prompt).into(),
                        other => other.clone(),
                    })
                    .collect(),
                ("messages", Value::Array(messages)) => {
                    let mut messages = messages.clone();
                    if let Some((at, content)) = asked
                        && let Some(message) = messages.get_mut(at)
                    {
                        message["content"] = put(content).into();
                    }
                    Value::Array(messages)
                }
                (_, other) => other.clone(),
            };
            fields.push((key.clone(), value));
        }
        example.with_fields(fields.into_iter().collect())
    }
}

/// Whether an example asks about a document of a task, whose prompt is more than a context.
pub(super) fn is_of_task(example: &Example) -> bool {
    example.get(RECORD).is_some_and(Value::is_object) && example.get("question").is_none()
}

/// The prompts that an example asks with.
fn prompts(example: &Example) -> Vec<&str> {
    if let Some((_, content)) = asked_message(example) {
        return vec![content];
    }
    match example.get(CONTEXTS) {
        Some(Value::Array(prompts)) => prompts.iter().filter_map(Value::as_str).collect(),
        _ => example.text("context").into_iter().collect(),
    }
}

/// The last message of the user, with its number.
fn asked_message(example: &Example) -> Option<(usize, &str)> {
    let messages = example.get("messages")?.as_array()?;
    let mut messages = messages.iter().enumerate().rev();
    messages.find_map(|(at, message)| {
        let is_user = message.get("role").and_then(Value::as_str) == Some("user");
        let content = message.get("content")?.as_str()?;
        is_user.then_some((at, content))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example(value: Value) -> Example {
        Example::try_from(value).expect("a map")
    }

    #[test]
    fn the_part_is_what_the_record_says_and_the_prompt_has() {
        let record = json!({"passage": " Old mill. ", "question": "What?", "article": "-"});
        for (fields, expected) in [
            (
                json!({"context": "Old mill.\nQ: A\n\nOld mill.\nQ: What?"}),
                Some(json!({"context": "Old mill.\nQ: A\n\nNEW\nQ: What?"})),
            ),
            (
                json!({"contexts": ["Old mill. a", "Old mill. b"]}),
                Some(json!({"contexts": ["NEW a", "NEW b"]})),
            ),
            (
                json!({"messages": [{"role": "user", "content": "Old mill."},
                                    {"role": "assistant", "content": "A"},
                                    {"role": "user", "content": "Old mill. Q"},
                                    {"role": "assistant", "content": "Well"}]}),
                Some(
                    json!({"messages": [{"role": "user", "content": "Old mill."},
                                         {"role": "assistant", "content": "A"},
                                         {"role": "user", "content": "NEW Q"},
                                         {"role": "assistant", "content": "Well"}]}),
                ),
            ),
            (json!({"context": "Another mill."}), None),
            (json!({"contexts": ["Old mill. a", "b"]}), None),
            (json!({"text": "Old mill."}), None),
        ] {
            let asked = example(fields).with(RECORD, record.clone());
            let found = ContextPart::of(&asked);
            assert_eq!(found.is_some(), expected.is_some(), "{asked:?}");
            if let (Some(part), Some(expected)) = (found, expected) {
                assert_eq!((part.field, part.text), ("passage", "Old mill."));
                assert_eq!(part.question(&asked), "What?");
                let expected = example(expected).with(RECORD, record.clone());
                assert_eq!(part.replaced(&asked, "NEW"), expected);
            }
        }
        let asked = example(json!({"context": "S. Who?", "record": {"story": "S."}}));
        let part = ContextPart::of(&asked).expect("a story");
        assert_eq!(part.question(&asked), "Who?");
        assert!(is_of_task(&asked) && !is_of_task(&asked.clone().with("question", "?")));
    }
}
