//! Documents of tasks as examples.
//!
//! Everything that can change an answer is a field: the prompt, what is asked about
//! it, how it is to be generated. The record is kept beside it. So a stored answer is
//! found again exactly when the same would be asked, whatever the metrics are.

use context_bench_tasks::filter::Record;
use context_bench_tasks::request::{Ask, Context, Message};
use context_bench_tasks::{Error, Host, OutputType, Request, Result, Task};
use serde_json::{Map, Value, json};

use crate::model::Example;
use crate::system::generation;

/// Texts whose likelihood is asked for, each after the context.
pub const CONTINUATIONS: &str = "continuations";
/// Contexts after each of which the one continuation is asked for.
pub const CONTEXTS: &str = crate::system::CONTEXTS;
/// A whole text whose likelihood is asked for.
pub const TEXT: &str = "text";
/// Whether continuations are asked for after an empty context as well.
pub const UNCONDITIONAL: &str = "unconditional";
/// The raw record.
pub const RECORD: &str = crate::system::RECORD;
/// Which of several answers this is.
pub const REPEAT: &str = crate::model::REPEAT;

/// The most tokens of an answer when neither task nor user says.
const MAX_TOKENS: u64 = 256;

/// The example that asks about one document.
pub(super) fn example(
    task: &str,
    request: &Request,
    record: &Record,
    unconditional: bool,
    repeat: usize,
) -> Example {
    let mut fields = Map::new();
    fields.insert("id".into(), json!(request.doc_id));
    fields.insert("dataset".into(), json!(task));
    match &request.ask {
        Ask::Generation {
            context, settings, ..
        } => {
            put_context(&mut fields, context);
            let settings = generation_settings(settings, repeat);
            fields.insert(generation::FIELD.into(), Value::Object(settings));
        }
        Ask::Choices {
            context,
            continuations,
        } => {
            put_context(&mut fields, context);
            fields.insert(CONTINUATIONS.into(), json!(continuations));
        }
        Ask::Continuation {
            context,
            continuation,
        } => {
            put_context(&mut fields, context);
            fields.insert(CONTINUATIONS.into(), json!([continuation]));
        }
        Ask::Contexts {
            contexts,
            continuation,
            ..
        } => {
            let contexts: Vec<Value> = contexts.iter().map(Context::to_json).collect();
            fields.insert(CONTEXTS.into(), Value::Array(contexts));
            fields.insert(CONTINUATIONS.into(), json!([continuation]));
        }
        Ask::Text(text) => {
            fields.insert(TEXT.into(), json!(text));
        }
    }
    if unconditional {
        fields.insert(UNCONDITIONAL.into(), json!(true));
    }
    fields.insert(RECORD.into(), Value::Object(record.clone()));
    Example::from(fields).repeated(u32::try_from(repeat).unwrap_or(u32::MAX))
}

fn put_context(fields: &mut Map<String, Value>, context: &Context) {
    match (context, context.to_json()) {
        (Context::Text(_), text) => {
            fields.insert("context".into(), text);
        }
        (Context::Chat { .. }, mut chat) => {
            let messages = chat.get_mut("messages").map(Value::take);
            fields.insert("messages".into(), messages.unwrap_or_default());
        }
    }
}

/// The settings of a request, for the answer of that number.
pub(super) fn generation_settings(
    settings: &Map<String, Value>,
    repeat: usize,
) -> Map<String, Value> {
    let mut settings = settings.clone();
    if crate::model::generation::max_tokens(&settings).is_none() {
        settings.insert("max_gen_toks".into(), json!(MAX_TOKENS));
    }
    // The same seed would give the same answer each time.
    let offset = i64::try_from(repeat).unwrap_or(i64::MAX);
    if let Some(seed) = settings.get("seed").and_then(Value::as_i64) {
        settings.insert("seed".into(), json!(seed.wrapping_add(offset)));
    }
    settings
}

/// What an example asks, with its raw record: [`example`] backwards. Choices and the
/// right answer are rendered again, as the task says now.
pub(super) fn request(
    task: &Task,
    example: &Example,
    host: &dyn Host,
) -> Result<(Request, Record)> {
    let foreign = |field: &str| Error::new(format!("the example has no `{field}` of this task"));
    let record = example.get(RECORD).and_then(Value::as_object);
    let record = record.ok_or_else(|| foreign(RECORD))?;
    let doc_id = example.get("id").and_then(Value::as_u64);
    let doc_id = doc_id.and_then(|id| usize::try_from(id).ok());
    let rendered = task.render(&task.prompting, record, host)?;
    let list = |field: &str| example.get(field).and_then(Value::as_array);
    let texts = |field: &str| -> Vec<String> {
        let texts = list(field).into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let context = || context(example);
    let ask = match task.output_type {
        OutputType::GenerateUntil => Ask::Generation {
            context: context(),
            settings: match example.get(generation::FIELD) {
                Some(Value::Object(settings)) => settings.clone(),
                _ => Map::new(),
            },
            repeats: task.repeats,
        },
        OutputType::MultipleChoice => match list(CONTEXTS) {
            Some(contexts) => Ask::Contexts {
                contexts: contexts.iter().map(given_context).collect(),
                continuation: texts(CONTINUATIONS).into_iter().next().unwrap_or_default(),
                gold: rendered.text.clone(),
            },
            None => Ask::Choices {
                context: context(),
                continuations: texts(CONTINUATIONS),
            },
        },
        OutputType::Loglikelihood => Ask::Continuation {
            context: context(),
            continuation: texts(CONTINUATIONS).into_iter().next().unwrap_or_default(),
        },
        OutputType::LoglikelihoodRolling => {
            let text = example.text(TEXT).ok_or_else(|| foreign(TEXT))?;
            Ask::Text(text.to_owned())
        }
    };
    let request = Request {
        doc_id: doc_id.ok_or_else(|| foreign("id"))?,
        target: rendered.target,
        choices: rendered.choices,
        ask,
    };
    Ok((request, record.clone()))
}

fn context(example: &Example) -> Context {
    match example.get("messages") {
        Some(messages) => given_context(&json!({ "messages": messages })),
        None => Context::Text(example.context().to_owned()),
    }
}

fn given_context(given: &Value) -> Context {
    let Some(messages) = given.get("messages").and_then(Value::as_array) else {
        return Context::Text(given.as_str().unwrap_or_default().to_owned());
    };
    let message = |message: &Value| Message {
        role: match message.get("role").and_then(Value::as_str) {
            Some("system") => "system",
            Some("assistant") => "assistant",
            _ => "user",
        },
        content: message
            .get("content")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
    };
    let messages: Vec<Message> = messages.iter().map(message).collect();
    Context::Chat {
        add_generation_prompt: messages.last().is_none_or(|last| last.role != "assistant"),
        messages,
    }
}

/// Whether an example asks for likelihoods and not for an answer.
pub fn asks_for_likelihoods(example: &Example) -> bool {
    let has = |field: &str| example.get(field).is_some_and(|value| !value.is_null());
    has(CONTINUATIONS) || (has(TEXT) && !has("context") && !has("messages") && !has("turns"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use context_bench_tasks::request::Message;

    fn asked(ask: Ask, repeat: usize) -> Value {
        let request = Request {
            doc_id: 7,
            target: json!("t"),
            choices: None,
            ask,
        };
        let record = Record::from_iter([("q".to_owned(), json!(1))]);
        let example = example("t", &request, &record, false, repeat);
        Value::Object(example.into_fields())
    }

    #[test]
    fn what_is_asked_is_in_the_fields() {
        let text = |text: &str| Context::Text(text.into());
        let settings = Map::from_iter([("seed".to_owned(), json!(5))]);
        let chat = Context::Chat {
            messages: vec![Message {
                role: "user",
                content: "Q".into(),
            }],
            add_generation_prompt: true,
        };
        for (ask, repeat, expected) in [
            (
                Ask::Generation {
                    context: chat,
                    settings,
                    repeats: 2,
                },
                1,
                json!({"id": 7, "dataset": "t", "messages": [{"role": "user", "content": "Q"}],
                       "generation_kwargs": {"seed": 6, "max_gen_toks": 256}, "repeat": 1,
                       "record": {"q": 1}}),
            ),
            (
                Ask::Choices {
                    context: text("C"),
                    continuations: vec![" a".into(), " b".into()],
                },
                0,
                json!({"id": 7, "dataset": "t", "context": "C", "continuations": [" a", " b"],
                       "record": {"q": 1}}),
            ),
            (
                Ask::Contexts {
                    contexts: vec![text("x"), text("y")],
                    continuation: "z".into(),
                    gold: json!(0),
                },
                0,
                json!({"id": 7, "dataset": "t", "contexts": ["x", "y"], "continuations": ["z"],
                       "record": {"q": 1}}),
            ),
            (
                Ask::Text("all".into()),
                0,
                json!({"id": 7, "dataset": "t", "text": "all", "record": {"q": 1}}),
            ),
        ] {
            assert_eq!(asked(ask, repeat), expected);
        }
    }
}
