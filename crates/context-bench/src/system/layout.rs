//! `Layout`: where in the messages the context of an example stands.
//!
//! What lies between a program and its model treats messages by their role: some
//! compress system prompts, some only results of tools, and most leave the last message
//! of the user alone. So the same example can be sent in several ways.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Hint;
use crate::model::{Example, OPTIONS_APART, QUESTION_IN_CONTEXT};
use crate::text::stringify;

/// The call whose result the context is.
const CALL: &str = "call_context";
/// The tool that was called.
const TOOL: &str = "read_context";

/// Where the context of an example with a question stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// In a system message, before the question of the user.
    #[default]
    System,
    /// In the message of the user, above the question.
    User,
    /// In the result of a tool that was called to answer the question.
    Tool,
}

impl Layout {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::System, Self::User, Self::Tool];

    /// The name, as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Tool => "tool",
        }
    }

    /// The messages of an example that has no turns and no messages of its own.
    pub(super) fn messages(self, example: &Example) -> Vec<Value> {
        let context = example.get("context").cloned().unwrap_or_else(|| json!(""));
        let question = example.get("question").filter(|value| !value.is_null());
        let is_in_context = example.get(QUESTION_IN_CONTEXT) == Some(&Value::Bool(true));
        let Some(question) = question.filter(|_| !is_in_context) else {
            return vec![message("user", context)];
        };
        let question = with_options(question, example);
        let is_empty = matches!(&context, Value::Null) || context == "";
        match self {
            Self::System => vec![message("system", context), message("user", question)],
            Self::User | Self::Tool if is_empty => vec![message("user", question)],
            Self::User => {
                let (context, question) = (
                    stringify::python_str(&context),
                    stringify::python_str(&question),
                );
                vec![message("user", format!("{context}\n\n{question}"))]
            }
            // In the order that every chat template takes: asked, looked up, found. The
            // next word is the assistant's.
            Self::Tool => vec![
                message("user", question),
                json!({
                    "role": "assistant",
                    "content": null,
                    "tool_calls": [{
                        "id": CALL,
                        "type": "function",
                        "function": {"name": TOOL, "arguments": "{}"},
                    }],
                }),
                json!({"role": "tool", "tool_call_id": CALL, "content": context}),
            ],
        }
    }
}

/// The question, with the options below it that nothing else shows.
fn with_options(question: &Value, example: &Example) -> Value {
    let is_apart = example.get(OPTIONS_APART) == Some(&Value::Bool(true));
    match example.get("choices") {
        Some(Value::Array(choices)) if is_apart => {
            let mut asked = stringify::python_str(question).into_owned();
            asked.push('\n');
            for (letter, choice) in ('A'..='Z').zip(choices) {
                let choice = stringify::python_str(choice);
                asked.push_str(&format!("\n{letter}) {choice}"));
            }
            asked.into()
        }
        _ => question.clone(),
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No layout has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no layout `{0}`: expected system, user or tool")]
pub struct UnknownLayout(String);

impl Hint for UnknownLayout {
    fn hint(&self) -> Option<String> {
        Some(
            "`system` puts the context into a system message, `user` above the question, `tool` \
             into the result of a tool"
                .into(),
        )
    }
}

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(text: &str) -> Result<Self, UnknownLayout> {
        let named = Self::ALL.into_iter().find(|one| one.as_str() == text);
        named.ok_or_else(|| UnknownLayout(text.to_owned()))
    }
}

/// A message of that role.
pub(super) fn message(role: &str, content: impl Into<Value>) -> Value {
    json!({"role": role, "content": content.into()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(value: Value) -> Example {
        Example::try_from(value).expect("a map")
    }

    #[test]
    fn the_context_stands_where_the_layout_says() {
        let both = example(json!({"context": "C", "question": "Q"}));
        let roles = |layout: Layout, example: &Example| -> Vec<(String, Value)> {
            let messages = layout.messages(example).into_iter();
            messages
                .map(|one| {
                    let role = one["role"].as_str().unwrap_or_default().to_owned();
                    (role, one["content"].clone())
                })
                .collect()
        };
        let of = |list: &[(&str, Value)]| -> Vec<(String, Value)> {
            let list = list.iter();
            list.map(|(role, content)| ((*role).to_owned(), content.clone()))
                .collect()
        };
        assert_eq!(
            roles(Layout::System, &both),
            of(&[("system", json!("C")), ("user", json!("Q"))])
        );
        assert_eq!(roles(Layout::User, &both), of(&[("user", json!("C\n\nQ"))]));
        assert_eq!(
            roles(Layout::Tool, &both),
            of(&[
                ("user", json!("Q")),
                ("assistant", Value::Null),
                ("tool", json!("C"))
            ])
        );
        let called = Layout::Tool.messages(&both);
        assert_eq!(
            called[1]["tool_calls"][0]["id"], called[2]["tool_call_id"],
            "{called:?}"
        );
        // Options that stand nowhere else stand below the question.
        let apart = example(json!({
            "context": "C", "question": "Q", "choices": ["x", 2], OPTIONS_APART: true,
        }));
        assert_eq!(
            roles(Layout::System, &apart),
            of(&[("system", json!("C")), ("user", json!("Q\n\nA) x\nB) 2"))])
        );
        // Nothing is said twice, and nothing is looked up that is not there.
        let once =
            example(json!({"context": "Q A) x", "question": "Q", QUESTION_IN_CONTEXT: true}));
        let bare = example(json!({"context": "C"}));
        let empty = example(json!({"context": "", "question": "Q"}));
        for layout in Layout::ALL {
            assert_eq!(roles(layout, &once), of(&[("user", json!("Q A) x"))]));
            assert_eq!(roles(layout, &bare), of(&[("user", json!("C"))]));
            if layout != Layout::System {
                assert_eq!(roles(layout, &empty), of(&[("user", json!("Q"))]));
            }
        }
    }

    #[test]
    fn layouts_are_read_by_name() {
        for layout in Layout::ALL {
            assert_eq!(layout.to_string().parse(), Ok(layout));
            assert_eq!(json!(layout), json!(layout.as_str()));
        }
        assert!("sytem".parse::<Layout>().is_err());
    }
}
