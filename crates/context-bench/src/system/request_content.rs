//! `RequestContent`: the messages about an example, and how its answer is generated.
//!
//! The prompt of an example says both, if it has one; settings of the run for every answer
//! override it. Nothing is sent here.

use crate::model::generation::{max_tokens, trimmed};
use serde_json::{Map, Value};

use super::layout::message;
use super::openai::instructions;
use super::{Layout, SystemError, generation, messages};
use crate::chat::Endpoint;
use crate::model::{Example, FailureKind, PROMPT_CUT, PromptError, RenderedPrompt};

/// What an example asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RequestContent {
    /// What its prompt makes of it.
    prompt: Option<RenderedPrompt>,
    /// What its fields say about generation.
    own: Map<String, Value>,
}

impl RequestContent {
    /// What an example asks for with its prompt, if it has one.
    ///
    /// # Errors
    ///
    /// When the prompt cannot be made of the example.
    pub(crate) fn of(example: &Example) -> Result<Self, PromptError> {
        let prompt = example.prompt().map(|prompt| prompt.render(example));
        Ok(Self {
            prompt: prompt.transpose()?,
            ..Self::plain(example)
        })
    }

    /// The same for a conversation, which is held turn by turn.
    pub(super) fn of_conversation(example: &Example) -> Result<Self, PromptError> {
        match example.prompt() {
            Some(_) => Self::of(example),
            None => Ok(Self::default()),
        }
    }

    /// What an example asks for by its fields alone.
    pub(super) fn plain(example: &Example) -> Self {
        let own = match example.get(generation::FIELD) {
            Some(Value::Object(own)) => own.clone(),
            _ => Map::new(),
        };
        Self { prompt: None, own }
    }

    /// The system message of the prompt.
    pub(super) fn system(&self) -> Option<&str> {
        self.prompt.as_ref()?.system.as_deref()
    }

    /// The messages: those of the prompt, else the fields, arranged by `layout`.
    pub(crate) fn messages(
        &self,
        example: &Example,
        system_prompt: Option<&str>,
        layout: Layout,
    ) -> Vec<Value> {
        let Some(prompt) = &self.prompt else {
            return messages(example, system_prompt, layout);
        };
        let Some(of_prompt) = prompt.messages() else {
            let mut messages = messages(example, system_prompt, layout);
            let at = instructions(example, system_prompt).len();
            let own = prompt.system.as_deref();
            messages.splice(at..at, own.map(|text| message("system", text)));
            return messages;
        };
        let mut messages = instructions(example, system_prompt);
        messages.extend(of_prompt);
        messages
    }

    /// How the answer is generated, in the words of tasks: as the prompt says, where the
    /// run does not say it otherwise.
    pub(crate) fn generation(&self) -> Map<String, Value> {
        let prompt = self.prompt.as_ref();
        let mut settings = prompt.map_or_else(Map::new, |prompt| prompt.generation.clone());
        // A length has several names.
        if max_tokens(&self.own).is_some() {
            settings.shift_remove("max_gen_toks");
        }
        settings.extend(self.own.clone());
        settings
    }

    /// The members of a request that it asks for.
    pub(super) fn members(&self, endpoint: &Endpoint, model: &str) -> Map<String, Value> {
        let settings = self.generation();
        if settings.is_empty() {
            return settings;
        }
        let mut members = generation::members(&settings, endpoint, model);
        // A prompt without a temperature leaves it to the endpoint's settings.
        if self.own.is_empty() && !settings.contains_key("temperature") {
            members.shift_remove("temperature");
        }
        members
    }

    /// What is to be known of the prompt beside the reply.
    pub(super) fn remarks(&self) -> Map<String, Value> {
        let is_cut = self.prompt.as_ref().is_some_and(|prompt| prompt.is_cut);
        let cut = is_cut.then(|| (PROMPT_CUT.to_owned(), Value::Bool(true)));
        cut.into_iter().collect()
    }

    /// The answer up to the first stop of the prompt: endpoints take a few stops only, and
    /// some ignore them.
    pub(super) fn cut(&self, answer: Value) -> Value {
        let Some(prompt) = &self.prompt else {
            return answer;
        };
        let stops = generation::until(&prompt.generation);
        match answer {
            Value::String(text) if stops.iter().any(|stop| text.contains(stop.as_str())) => {
                trimmed(&text, &stops, None).into()
            }
            other => other,
        }
    }
}

/// What an endpoint is asked about an example: the messages, as its prompt makes them if it
/// has one, and how the answer is generated, in the words of tasks.
///
/// # Errors
///
/// When the prompt cannot be made of the example.
pub fn asked(
    example: &Example,
    system_prompt: Option<&str>,
    layout: Layout,
) -> Result<(Vec<Value>, Map<String, Value>), SystemError> {
    let asked = RequestContent::of(example)?;
    let messages = asked.messages(example, system_prompt, layout);
    Ok((messages, asked.generation()))
}

impl From<PromptError> for SystemError {
    fn from(error: PromptError) -> Self {
        Self::new(FailureKind::BadExample, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::Prompt;

    fn asked(parts: Value, fields: Value) -> (Example, RequestContent) {
        let parts = serde_json::from_value(parts).expect("parts");
        let prompt = Prompt::new(parts).expect("templates");
        let example = Example::try_from(fields).expect("a map");
        let example = example.with_prompt(Some(Arc::new(prompt)));
        let asked = RequestContent::of(&example).expect("rendered");
        (example, asked)
    }

    #[test]
    fn the_prompt_stands_after_what_the_run_says() {
        let run = json!({"role": "system", "content": "R"});
        let fields = json!({"context": "C", "question": "Q"});
        for (parts, expected) in [
            (
                json!({"user": "{{ context }}: {{ question }}"}),
                json!([run, {"role": "user", "content": "C: Q"}]),
            ),
            (
                json!({"system": "S", "user": "{{ question }}"}),
                json!([run, {"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]),
            ),
            (
                json!({"system": "S"}),
                json!([run, {"role": "system", "content": "S"},
                       {"role": "system", "content": "C"}, {"role": "user", "content": "Q"}]),
            ),
        ] {
            let (example, asked) = asked(parts.clone(), fields.clone());
            let messages = asked.messages(&example, Some("R"), Layout::System);
            assert_eq!(Value::Array(messages), expected, "{parts}");
        }
    }

    #[test]
    fn the_run_is_asked_before_the_prompt_how_answers_are_generated() {
        let parts = json!({"user": "x", "max_tokens": 32, "stop": ["\n"]});
        for (own, expected) in [
            (json!({}), json!({"max_tokens": 32, "stop": ["\n"]})),
            (
                json!({"max_new_tokens": 8}),
                json!({"max_tokens": 8, "stop": ["\n"], "temperature": 0.0}),
            ),
            (
                json!({"temperature": 0.5, "until": ["."]}),
                json!({"max_tokens": 32, "stop": ["."], "temperature": 0.5}),
            ),
        ] {
            let (_, asked) = asked(parts.clone(), json!({"generation_kwargs": own}));
            let endpoint = Endpoint::parse("http://h").expect("an address");
            let members = asked.members(&endpoint, "m");
            assert_eq!(Value::Object(members), expected, "{own}");
        }
    }

    #[test]
    fn answers_end_at_the_stops_of_the_prompt() {
        let (_, asked) = asked(
            json!({"user": "x", "stop": ["1", "2", "3", "4", "Question:"]}),
            json!({}),
        );
        for (answer, expected) in [
            (json!("A. Question: B"), json!("A. ")),
            (json!("A"), json!("A")),
            (json!(null), json!(null)),
        ] {
            assert_eq!(asked.cut(answer), expected);
        }
        assert_eq!(RequestContent::default().cut(json!("a1")), json!("a1"));
    }
}
