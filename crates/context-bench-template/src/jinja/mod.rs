//! Jinja templates over records, with Python's semantics.
//!
//! Undefined names are errors, values print as Python prints them, trailing line
//! breaks stay, nothing is escaped. A template is compiled once and may be rendered
//! from many threads; what it may compute is bounded.

mod args;
mod choices;
mod error;
mod filters;
mod json;
mod methods;
mod percent;
mod text;
mod value;

pub use error::Error;

use std::sync::{Arc, OnceLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde_json::{Map, Value as Json};

/// Instructions one rendering may take; a loop over a book needs a hundredth of it.
const FUEL: u64 = 10_000_000;
/// How deep macros and includes may call each other.
const MAX_RECURSION: usize = 100;
/// How many fields of a record a hint names.
const SHOWN_FIELDS: usize = 12;

/// What all templates share: never changed once made.
fn environment() -> &'static Environment<'static> {
    static SHARED: OnceLock<Environment<'static>> = OnceLock::new();
    SHARED.get_or_init(|| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_debug(true);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(MAX_RECURSION);
        environment.set_unknown_method_callback(methods::call);
        environment.set_formatter(|out, _, value| {
            let written = match value.as_str() {
                Some(text) => out.write_str(text),
                None => out.write_str(&value::str(value)),
            };
            written.map_err(minijinja::Error::from)
        });
        // The builder fails for empty delimiters only, and these are the default ones.
        if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
            environment.set_syntax(syntax);
        }
        environment.remove_global("debug");
        filters::add(&mut environment);
        environment
    })
}

/// A compiled template.
///
/// ```
/// use context_bench_template::jinja::Template;
/// use serde_json::json;
///
/// let record = json!({"question": "2+2?", "choices": ["3", "4"]});
/// let template = Template::compile("doc_to_text", "Q: {{question}}\n{{choices}}")?;
/// assert_eq!(template.render(record.as_object().unwrap())?, "Q: 2+2?\n['3', '4']");
/// let choices = Template::compile("doc_to_choice", "{{choices}}")?;
/// assert_eq!(choices.evaluate(record.as_object().unwrap())?, json!(["3", "4"]));
/// # Ok::<(), context_bench_template::jinja::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Template {
    name: Arc<str>,
    source: Arc<str>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    /// No Jinja in it: the text itself.
    Text,
    Jinja(Arc<Compiled>),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Body::Text => "Text",
            Body::Jinja(_) => "Jinja",
        })
    }
}

struct Compiled {
    /// Holds the one template, named "".
    environment: Environment<'static>,
    /// The names it takes from the record, as far as the parser can tell.
    fields: Vec<String>,
    /// All names in it; what it takes is among them.
    names: Vec<String>,
    /// When the whole of it is one `{{ expression }}`.
    expression: Option<minijinja::Expression<'static, 'static>>,
}

impl Template {
    /// Compiles a template; `name` is what errors call it.
    pub fn compile(name: &str, source: &str) -> Result<Self, Error> {
        let body = if ["{{", "{%", "{#"].iter().any(|open| source.contains(open)) {
            Body::Jinja(Arc::new(compile(name, source)?))
        } else {
            Body::Text
        };
        Ok(Self {
            name: name.into(),
            source: source.into(),
            body,
        })
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is text without any Jinja.
    pub fn is_text(&self) -> bool {
        matches!(self.body, Body::Text)
    }

    /// The names it takes from the record, sorted, as far as can be told beforehand.
    pub fn fields(&self) -> &[String] {
        match &self.body {
            Body::Text => &[],
            Body::Jinja(compiled) => &compiled.fields,
        }
    }

    /// The text for a record.
    pub fn render(&self, record: &Map<String, Json>) -> Result<String, Error> {
        match &self.body {
            Body::Text => Ok(self.source.to_string()),
            Body::Jinja(compiled) => compiled
                .environment
                .get_template("")
                .and_then(|template| template.render(context(&compiled.names, record)))
                .map_err(|error| self.error(&error, record)),
        }
    }

    /// The value for a record: when the template is one `{{ expression }}`, what the
    /// expression gives (a list stays a list); the rendered text otherwise.
    pub fn evaluate(&self, record: &Map<String, Json>) -> Result<Json, Error> {
        let Body::Jinja(compiled) = &self.body else {
            return Ok(Json::String(self.source.to_string()));
        };
        let Some(expression) = &compiled.expression else {
            return self.render(record).map(Json::String);
        };
        let found = expression
            .eval(context(&compiled.names, record))
            .map_err(|error| self.error(&error, record))?;
        if found.is_undefined() {
            let error = minijinja::Error::from(ErrorKind::UndefinedError);
            return Err(self.error(&error, record));
        }
        value::to_json(&found).ok_or_else(|| {
            let message = format!("{} has no JSON form", found.kind());
            let error = minijinja::Error::new(ErrorKind::InvalidOperation, message);
            self.error(&error, record)
        })
    }

    #[cold]
    fn error(&self, error: &minijinja::Error, record: &Map<String, Json>) -> Error {
        let converted = Error::new(&self.name, error);
        if !converted.is_undefined() {
            return converted;
        }
        let mut names: Vec<String> = record
            .keys()
            .take(SHOWN_FIELDS)
            .map(|name| format!("`{name}`"))
            .collect();
        if record.len() > SHOWN_FIELDS {
            names.push(format!("{} more", record.len() - SHOWN_FIELDS));
        }
        converted.with_hint(match names.len() {
            0 => "the record is empty".to_owned(),
            _ => format!("the record has {}", names.join(", ")),
        })
    }
}

/// All words of a template that could be names. The engine's own list leaves out
/// what stands inside a slice.
fn names(source: &str) -> Vec<String> {
    let mut names: Vec<String> = source
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Only the fields a template may ask for are converted; records can be long.
fn context(names: &[String], record: &Map<String, Json>) -> Value {
    Value::from_pairs(
        names
            .iter()
            .filter_map(|name| Some((name.as_str(), value::from_json(record.get(name)?)))),
    )
}

fn compile(name: &str, source: &str) -> Result<Compiled, Error> {
    let wrong = |error: &minijinja::Error| Error::new(name, error);
    let rewritten = percent::rewrite(source);
    let text = rewritten.as_deref().unwrap_or(source);
    let mut environment = environment().clone();
    environment
        .add_template_owned("", text.to_owned())
        .map_err(|error| wrong(&error))?;
    let mut fields: Vec<String> = environment
        .get_template("")
        .map_err(|error| wrong(&error))?
        .undeclared_variables(false)
        .into_iter()
        .collect();
    fields.sort();
    let expression = sole_expression(text).and_then(|expression| {
        self::environment()
            .compile_expression_owned(expression.to_owned())
            .ok()
    });
    Ok(Compiled {
        environment,
        fields,
        names: names(text),
        expression,
    })
}

/// What stands between `{{` and `}}` when that is the whole template.
fn sole_expression(source: &str) -> Option<&str> {
    let inner = source.strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    Some(inner.strip_suffix(['-', '+']).unwrap_or(inner).trim())
}
