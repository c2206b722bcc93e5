//! `Template`: how the value of a field is made of a record.
//!
//! Text with `{{ }}` or `{% %}` is a Jinja template and gives text. Any other
//! text is a Jinja expression and gives what it gives: a list stays a list.

use std::fmt::Write as _;

use context_bench_template::jinja;
use serde_json::{Map, Value};

/// A compiled template, named after the field that it makes.
#[derive(Debug, Clone)]
pub(super) struct Template {
    key: String,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Constant(Value),
    Jinja(jinja::Template),
}

impl Template {
    /// Compiles what stands in a YAML file.
    pub(super) fn of(key: &str, text: &str) -> Result<Self, String> {
        match text.contains("{{") || text.contains("{%") {
            true => Self::compile(key, text),
            false => Self::expression(key, text),
        }
    }

    /// Compiles an expression.
    pub(super) fn expression(key: &str, text: &str) -> Result<Self, String> {
        Self::compile(key, &format!("{{{{ {text} }}}}"))
    }

    /// A value that is the same for all records.
    pub(super) fn constant(key: &str, value: Value) -> Self {
        Self {
            key: key.to_owned(),
            body: Body::Constant(value),
        }
    }

    fn compile(key: &str, source: &str) -> Result<Self, String> {
        let compiled = jinja::Template::compile(key, source);
        Ok(Self {
            key: key.to_owned(),
            body: Body::Jinja(compiled.map_err(|error| error.to_string())?),
        })
    }

    /// The field that it makes.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The names that it reads.
    pub(super) fn names(&self) -> &[String] {
        match &self.body {
            Body::Constant(_) => &[],
            Body::Jinja(template) => template.fields(),
        }
    }

    /// The value for a record.
    pub(super) fn value(&self, scope: &Map<String, Value>) -> Result<Value, String> {
        match &self.body {
            Body::Constant(value) => Ok(value.clone()),
            Body::Jinja(template) => template.evaluate(scope).map_err(|error| {
                let mut text = error.message().to_owned();
                if let Some(hint) = error.hint() {
                    let _ = write!(text, " ({hint})");
                }
                text
            }),
        }
    }
}
