//! `Template`: how the value of a field is made of a record.
//!
//! Text with `{{ }}` or `{% %}` is a Jinja template and gives text. Any other
//! text is a Jinja expression and gives what it gives: a list stays a list.

use context_bench_template::jinja::{self, Record as _};
use serde_json::Value;

use super::scope::{GIVEN, Scope};

/// A compiled template, named after the field that it makes.
#[derive(Debug, Clone)]
pub(super) struct Template {
    key: String,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Constant(Value),
    /// A template; the expression itself when it is one.
    Jinja(jinja::Template, Option<String>),
}

/// How many columns of a record a message names.
const SHOWN_COLUMNS: usize = 12;

impl Template {
    /// Compiles what stands in a YAML file.
    pub(super) fn of(key: &str, text: &str) -> Result<Self, String> {
        match text.contains("{{") || text.contains("{%") {
            true => Self::compile(key, text, None),
            false => Self::expression(key, text),
        }
    }

    /// Compiles an expression.
    pub(super) fn expression(key: &str, text: &str) -> Result<Self, String> {
        Self::compile(key, &format!("{{{{ {text} }}}}"), Some(text))
    }

    /// A value that is the same for all records.
    pub(super) fn constant(key: &str, value: Value) -> Self {
        Self {
            key: key.to_owned(),
            body: Body::Constant(value),
        }
    }

    fn compile(key: &str, source: &str, expression: Option<&str>) -> Result<Self, String> {
        let compiled = jinja::Template::compile(key, source);
        let compiled = compiled.map_err(|error| error.to_string())?;
        Ok(Self {
            key: key.to_owned(),
            body: Body::Jinja(compiled, expression.map(str::to_owned)),
        })
    }

    /// The field that it makes.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// A Jinja template that gives the same.
    pub(super) fn source(&self) -> String {
        match &self.body {
            Body::Constant(Value::Null) => "{{ none }}".to_owned(),
            Body::Constant(value) => format!("{{{{ {value} }}}}"),
            Body::Jinja(template, _) => template.source().to_owned(),
        }
    }

    /// The names that it reads.
    pub(super) fn names(&self) -> &[String] {
        match &self.body {
            Body::Constant(_) => &[],
            Body::Jinja(template, _) => template.fields(),
        }
    }

    /// The column that it is a plain copy of.
    pub(super) fn column(&self) -> Option<&str> {
        let Body::Jinja(template, Some(expression)) = &self.body else {
            return None;
        };
        let is_column = template.fields() == [expression.as_str()];
        Some(expression.as_str()).filter(|name| is_column && !GIVEN.contains(name))
    }

    /// The value for a record.
    pub(super) fn value(&self, scope: &Scope<'_>) -> Result<Value, String> {
        match &self.body {
            Body::Constant(value) => Ok(value.clone()),
            Body::Jinja(template, expression) => template
                .evaluate(scope)
                .map_err(|error| told(&error, expression.as_deref(), scope)),
        }
    }
}

/// What is wrong, and which columns there are when one is missing.
fn told(error: &jinja::Error, expression: Option<&str>, scope: &Scope<'_>) -> String {
    let text = match (error.message(), expression) {
        ("undefined value", Some(expression)) => format!("`{expression}` is undefined"),
        (message, _) => message.to_owned(),
    };
    if !text.ends_with("is undefined") {
        return text;
    }
    let columns = scope.names().into_iter().map(|name| format!("`{name}`"));
    let columns: Vec<String> = columns.collect();
    match columns.len() {
        0 => format!("{text}; the record has no columns"),
        n if n > SHOWN_COLUMNS => format!(
            "{text}; the record has {} and {} more columns",
            columns[..SHOWN_COLUMNS].join(", "),
            n - SHOWN_COLUMNS
        ),
        _ => format!("{text}; the record has {}", columns.join(", ")),
    }
}
