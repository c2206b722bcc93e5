//! From a record to a request: what a model is sent for one document.

use context_bench_template::python;
use serde_json::{Value, json};

use crate::error::{Error, Result, Warning};
use crate::example::{Example, has_space, seam};
use crate::filter::Record;
use crate::function::Host;
use crate::options::{Chat, Options};
use crate::request::{Ask, Context, Message, Request};
use crate::task::{OutputType, Prompting, Task};

pub use crate::split::{Dataset, Need, Split};

/// Question, answer and choices of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedDocument {
    /// The question; a number when choices are the contexts.
    pub text: Value,
    /// The right answer: text, the place of a choice, or a list of either.
    pub target: Value,
    /// The choices, if the task has any.
    pub choices: Option<Vec<String>>,
}

/// The requests of a task and what they were made of.
#[derive(Debug)]
pub struct Requests {
    /// One per document, in order.
    pub requests: Vec<Request>,
    /// The evaluated records, after `process_docs`.
    pub records: Vec<Record>,
    /// How many records the split has, if that is known.
    pub n_original: Option<usize>,
    /// Examples per prompt.
    pub num_fewshot: usize,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

impl Task {
    /// How many examples a prompt has: an option replaces what the task says, but not a 0.
    pub fn shots(&self, options: &Options) -> usize {
        match (self.num_fewshot, options.num_fewshot) {
            (Some(0), _) => 0,
            (_, Some(n)) => n,
            (own, None) => own.unwrap_or(0),
        }
    }

    /// Question, answer and choices of a record.
    pub fn render(
        &self,
        prompting: &Prompting,
        record: &Record,
        host: &dyn Host,
    ) -> Result<RenderedDocument> {
        if let Some(format) = &self.format {
            let choice = prompting.choice.as_ref();
            let rendered = format.render(&prompting.text, &prompting.target, choice, record, host);
            return rendered.map_err(|error| self.placed(error, "doc_to_text"));
        }
        let choices = prompting.choice.as_ref();
        let choices = choices
            .map(|choice| choice.choices(record, host))
            .transpose()
            .map_err(|error| self.placed(error, "doc_to_choice"))?;
        let text = prompting.text.get(record, host);
        let text = match text.map_err(|error| self.placed(error, "doc_to_text"))? {
            crate::source::FieldValue::Rendered(text) if choices.is_some() && is_digits(&text) => {
                parse(&text)
            }
            given => given.value(),
        };
        let target = prompting.target.get(record, host);
        let target = match target.map_err(|error| self.placed(error, "doc_to_target"))? {
            crate::source::FieldValue::Rendered(text) => coerced(text, choices.is_some()),
            crate::source::FieldValue::Raw(value) => value,
        };
        Ok(RenderedDocument {
            text,
            target,
            choices,
        })
    }

    /// An error about a field, at the place of the field.
    fn placed(&self, error: Error, field: &str) -> Error {
        match self.config.place(field) {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// An example: its question and its answer.
    pub(crate) fn example(&self, record: &Record, host: &dyn Host) -> Result<Example> {
        let prompting = &self.shot_prompting;
        let rendered = self.render(prompting, record, host)?;
        let choice = |target: &Value| -> Result<String> {
            match (target, &rendered.choices) {
                // A truth value counts as 0 or 1.
                (Value::Number(_) | Value::Bool(_), Some(choices)) => {
                    let golds = crate::metric::score::gold(target, choices);
                    match golds.first().copied().flatten() {
                        Some(at) => Ok(choices[at].clone()),
                        None => Err(Error::new(format!(
                            "the answer is choice {target}, but there are {}",
                            choices.len()
                        ))),
                    }
                }
                (other, _) => Ok(python::str(other)),
            }
        };
        let answer = match &rendered.target {
            Value::Array(targets) => choice(targets.first().unwrap_or(&Value::Null))?,
            target => choice(target)?,
        };
        // Several contexts: the one that is right is the question.
        let question = match (&rendered.text, &rendered.choices) {
            (Value::Number(_), Some(_)) => choice(&rendered.text)?,
            (text, _) => python::str(text),
        };
        let answer = match (&rendered.text, &rendered.choices) {
            (Value::Number(_), Some(_)) => python::str(&rendered.target),
            _ => answer,
        };
        let prefix = prompting.gen_prefix.as_ref();
        let prefix = prefix.map(|prefix| prefix.text(record, host)).transpose()?;
        Ok(Example {
            question,
            answer,
            prefix: prefix.filter(|prefix| !prefix.is_empty()),
        })
    }

    pub(crate) fn request(
        &self,
        doc_id: usize,
        record: &Record,
        examples: &[&Example],
        options: &Options,
        host: &dyn Host,
    ) -> Result<Request> {
        let rendered = self.render(&self.prompting, record, host)?;
        let prefix = self.prompting.gen_prefix.as_ref();
        let prefix = prefix.map(|prefix| prefix.text(record, host)).transpose()?;
        let prefix = prefix.filter(|prefix| !prefix.is_empty());
        let description = self.description.as_ref();
        let description = description
            .map(|source| source.text(record, host))
            .transpose()
            .map_err(|error| self.placed(error, "description"))?;
        let system = self.system(
            options.system_instruction.as_deref(),
            description.as_deref(),
        );
        let context = |question: &str| {
            self.context(&system, examples, question, prefix.as_deref(), options.chat)
        };
        let delimiter = match (options.chat, &prefix) {
            (None, _) => self.prompting.target_delimiter.as_str(),
            (Some(_), Some(prefix)) if !prefix.ends_with(python::is_space) => {
                self.prompting.target_delimiter.as_str()
            }
            (Some(_), _) => "",
        };
        let question = python::str(&rendered.text);
        let ask = match (self.output_type, &rendered.choices) {
            (OutputType::MultipleChoice, Some(choices)) if rendered.text.is_number() => {
                Ask::Contexts {
                    contexts: choices.iter().map(|choice| context(choice)).collect(),
                    continuation: format!("{delimiter}{}", python::str(&rendered.target)),
                    gold: rendered.text.clone(),
                }
            }
            (OutputType::MultipleChoice, Some(choices)) => Ask::Choices {
                context: context(&question),
                continuations: choices
                    .iter()
                    .map(|choice| format!("{delimiter}{choice}"))
                    .collect(),
            },
            (OutputType::MultipleChoice, None) => {
                return Err(Error::new("a multiple-choice task needs `doc_to_choice`"));
            }
            (OutputType::Loglikelihood, _) => Ask::Continuation {
                context: context(&question),
                continuation: python::str(&rendered.target),
            },
            (OutputType::LoglikelihoodRolling, _) => Ask::Text(python::str(&rendered.target)),
            (OutputType::GenerateUntil, _) => {
                let mut settings = self.generation.clone();
                settings.extend(options.generation.clone());
                Ask::Generation {
                    context: context(&question),
                    settings,
                    repeats: self.repeats,
                }
            }
        };
        Ok(Request {
            doc_id,
            target: rendered.target,
            choices: rendered.choices,
            ask,
        })
    }

    /// Instruction and description, with a delimiter unless one has white space there.
    fn system(&self, instruction: Option<&str>, description: Option<&str>) -> String {
        let (before, after) = (instruction.unwrap_or(""), description.unwrap_or(""));
        let between = if before.is_empty() || after.is_empty() || has_space(before, after) {
            ""
        } else {
            &self.prompting.fewshot_delimiter
        };
        format!("{before}{between}{after}")
    }

    fn context(
        &self,
        system: &str,
        examples: &[&Example],
        question: &str,
        prefix: Option<&str>,
        chat: Option<Chat>,
    ) -> Context {
        let shot = &self.shot_prompting;
        let mut text = String::new();
        for example in examples {
            text.push_str(&example.question);
            let Some(answer) = example.full_answer() else {
                continue;
            };
            text.push_str(match &example.prefix {
                None => &shot.target_delimiter,
                Some(prefix) => seam(&example.question, prefix, &shot.target_delimiter),
            });
            text.push_str(&answer);
            text.push_str(&shot.fewshot_delimiter);
        }
        text.push_str(question);
        let Some(chat) = chat else {
            if let Some(prefix) = prefix {
                text.push_str(seam(question, prefix, &self.prompting.target_delimiter));
                text.push_str(prefix);
            }
            return Context::Text(format!("{system}{text}"));
        };
        let message = |role: &'static str, content: String| Message { role, content };
        let mut messages = Vec::with_capacity(examples.len() * 2 + 3);
        if !system.is_empty() {
            messages.push(message("system", system.to_owned()));
        }
        match chat {
            Chat::SingleTurn => messages.push(message("user", text)),
            Chat::MultiTurn => {
                for example in examples {
                    messages.push(message("user", example.question.clone()));
                    let answer = example.full_answer();
                    messages.extend(answer.map(|answer| message("assistant", answer)));
                }
                messages.push(message("user", question.to_owned()));
            }
        }
        if let Some(prefix) = prefix {
            messages.push(message("assistant", prefix.to_owned()));
        }
        Context::Chat {
            messages,
            add_generation_prompt: prefix.is_none(),
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse(digits: &str) -> Value {
    digits
        .parse::<u64>()
        .map_or_else(|_| json!(digits), |number| json!(number))
}

/// A rendered target: digits are a choice, brackets are a list.
fn coerced(text: String, has_choices: bool) -> Value {
    if has_choices && is_digits(&text) {
        return parse(&text);
    }
    let list = text.starts_with('[') && text.ends_with(']');
    if let Some(list) = list.then(|| python::literal_eval(&text).ok()).flatten() {
        return list;
    }
    Value::String(text)
}
