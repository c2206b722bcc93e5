//! What a prompt field takes its value from: a column, a template, a literal, a function.

use context_bench_template::jinja::Template;
use context_bench_template::python;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::filter::Record;
use crate::function::{Function, Host};

/// The value of `doc_to_text`, `doc_to_target`, `doc_to_choice` and the like.
#[derive(Debug, Clone)]
pub enum Source {
    /// A number as it is.
    Number(Value),
    /// A column of this name, or else a template.
    Text(Template),
    /// Literal values; texts with Jinja in them are templates.
    List(Vec<Source>),
    /// A Python function of the record.
    Function(Function),
}

/// The value of a field. Whether it was in the record or was rendered decides what it may become.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// As the record or the file has it.
    Raw(Value),
    /// As a template made it.
    Rendered(String),
}

impl Source {
    /// Reads a field; `name` is what errors call it.
    pub fn parse(name: &str, value: &Value) -> Result<Self> {
        Ok(match value {
            Value::Number(_) | Value::Bool(_) => Source::Number(value.clone()),
            Value::String(text) => Source::Text(Template::compile(name, text)?),
            Value::Array(items) => {
                let item = |item: &Value| match item {
                    Value::String(_) | Value::Number(_) | Value::Bool(_) => Self::parse(name, item),
                    other => Ok(Source::Number(other.clone())),
                };
                Source::List(items.iter().map(item).collect::<Result<_>>()?)
            }
            Value::Object(map) => match Function::from_json(value) {
                Some(function) => Source::Function(function),
                // A mapping of choices: its values in order.
                None => Source::List(
                    map.values()
                        .map(|item| Self::parse(name, item))
                        .collect::<Result<_>>()?,
                ),
            },
            Value::Null => return Err(Error::new(format!("`{name}` is empty"))),
        })
    }

    /// The value for a record.
    pub fn get(&self, record: &Record, host: &dyn Host) -> Result<FieldValue> {
        Ok(match self {
            Source::Number(value) => FieldValue::Raw(value.clone()),
            Source::Text(template) => match record.get(template.source()) {
                Some(value) => FieldValue::Raw(value.clone()),
                None => FieldValue::Rendered(template.render(record)?),
            },
            Source::List(items) => {
                let item = |item: &Source| match item {
                    // Literals of a list are not columns.
                    Source::Text(template) => template
                        .render(record)
                        .map(Value::from)
                        .map_err(Error::from),
                    other => other.get(record, host).map(FieldValue::value),
                };
                FieldValue::Raw(Value::Array(items.iter().map(item).collect::<Result<_>>()?))
            }
            Source::Function(function) => {
                FieldValue::Raw(host.call(function, &[Value::Object(record.clone())])?)
            }
        })
    }

    /// The text for a record.
    pub fn text(&self, record: &Record, host: &dyn Host) -> Result<String> {
        Ok(match self.get(record, host)? {
            FieldValue::Rendered(text) => text,
            FieldValue::Raw(value) => python::str(&value),
        })
    }

    /// The choices for a record.
    pub fn choices(&self, record: &Record, host: &dyn Host) -> Result<Vec<String>> {
        let value = match self.get(record, host)? {
            FieldValue::Raw(value) => value,
            FieldValue::Rendered(text) => python::literal_eval(&text).map_err(|error| {
                Error::new(format!(
                    "the choices `{}` are not a list: {error}",
                    shortened(&text)
                ))
                .with_hint("a template for choices must print a list, for example `{{[a, b]}}`")
            })?,
        };
        match value {
            Value::Array(items) => Ok(items.iter().map(python::str).collect()),
            other => Err(Error::new(format!(
                "choices must be a list, found `{}`",
                shortened(&other.to_string())
            ))
            .with_hint(
                "`doc_to_choice` names a column that holds a list, or is a list of choices",
            )),
        }
    }
}

impl FieldValue {
    /// The value, text for what was rendered.
    pub fn value(self) -> Value {
        match self {
            FieldValue::Raw(value) => value,
            FieldValue::Rendered(text) => Value::String(text),
        }
    }
}

/// The beginning of a long text.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
