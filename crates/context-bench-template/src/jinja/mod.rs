//! Jinja templates over records, with Python's semantics.
//!
//! Undefined names are errors, values print as Python prints them, trailing line
//! breaks stay, nothing is escaped. A template is compiled once and may be rendered
//! from many threads; what it may compute is bounded.

mod args;
pub(crate) mod bounds;
mod choices;
mod depth;
mod error;
mod filters;
mod guard;
mod json;
mod measure;
mod methods;
mod text;
mod tokens;
mod value;

pub use error::Error;

use std::sync::{Arc, OnceLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, ErrorKind, Expression, UndefinedBehavior, Value};
use serde_json::{Map, Value as Json};

/// Instructions one rendering may take, those that measure included; a loop over a
/// book needs a hundredth of it.
const FUEL: u64 = 20_000_000;
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
            let spelled;
            let text = match value.as_str() {
                Some(text) => text,
                None => {
                    spelled = value::str(value);
                    &spelled
                }
            };
            bounds::written(text.len())?;
            out.write_str(text).map_err(minijinja::Error::from)
        });
        // The builder fails for empty delimiters only, and these are the default ones.
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        if let Ok(syntax) = syntax {
            environment.set_syntax(syntax);
        }
        environment.remove_global("debug");
        filters::add(&mut environment);
        bounds::add(&mut environment);
        guard::add(&mut environment);
        environment
    })
}

/// What templates take their values from.
pub trait Record {
    /// The value of a field.
    fn get(&self, name: &str) -> Option<&Json>;

    /// The names of all fields, for messages.
    fn names(&self) -> Vec<&str>;
}

impl Record for Map<String, Json> {
    fn get(&self, name: &str) -> Option<&Json> {
        self.get(name)
    }

    fn names(&self) -> Vec<&str> {
        self.keys().map(String::as_str).collect()
    }
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
    Jinja(Arc<CompiledTemplate>),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Body::Text => "Text",
            Body::Jinja(_) => "Jinja",
        })
    }
}

struct CompiledTemplate {
    /// Holds the one template, named "".
    environment: Environment<'static>,
    /// The same as a value, when the whole of it is one `{{ expression }}`.
    expression: Option<Expression<'static, 'static>>,
    /// The names it takes from the record, as far as the parser can tell.
    fields: Vec<String>,
    /// All names in it; what it takes is among them.
    names: Vec<String>,
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
    pub fn render(&self, record: &(impl Record + ?Sized)) -> Result<String, Error> {
        let Body::Jinja(compiled) = &self.body else {
            return Ok(self.source.to_string());
        };
        let rendered = compiled.environment.get_template("").and_then(|template| {
            bounds::begin();
            template.render(context(&compiled.names, record))
        });
        rendered.map_err(|error| self.error(&error, &record.names()))
    }

    /// The value for a record: when the template is one `{{ expression }}`, what the
    /// expression gives (a list stays a list); the rendered text otherwise.
    pub fn evaluate(&self, record: &(impl Record + ?Sized)) -> Result<Json, Error> {
        let expression = match &self.body {
            Body::Text => None,
            Body::Jinja(compiled) => compiled.expression.as_ref().zip(Some(compiled)),
        };
        let Some((expression, compiled)) = expression else {
            return self.render(record).map(Json::String);
        };
        bounds::begin();
        let wrong = |error: &minijinja::Error| self.error(error, &record.names());
        let found = expression
            .eval(context(&compiled.names, record))
            .map_err(|error| wrong(&error))?;
        if found.is_undefined() {
            // Rendering says what of it is undefined.
            return self.render(record).map(Json::String);
        }
        value::to_json(&found).ok_or_else(|| {
            let message = format!("{} has no JSON form", found.kind());
            wrong(&minijinja::Error::new(ErrorKind::InvalidOperation, message))
        })
    }

    #[cold]
    fn error(&self, error: &minijinja::Error, fields: &[&str]) -> Error {
        let converted = Error::new(&self.name, error);
        if !converted.is_undefined() {
            return converted;
        }
        let shown = fields.iter().take(SHOWN_FIELDS);
        let mut names: Vec<String> = shown.map(|name| format!("`{name}`")).collect();
        if fields.len() > SHOWN_FIELDS {
            names.push(format!("{} more", fields.len() - SHOWN_FIELDS));
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
fn context(names: &[String], record: &(impl Record + ?Sized)) -> Value {
    Value::from_pairs(
        names
            .iter()
            .filter_map(|name| Some((name.as_str(), value::from_json(record.get(name)?)))),
    )
}

fn compile(name: &str, source: &str) -> Result<CompiledTemplate, Error> {
    let wrong = |error: &minijinja::Error| Error::new(name, error);
    let pieces = tokens::pieces(source);
    depth::check(name, source, &pieces)?;
    let text = measure::template(source, &pieces);
    let expression = match &pieces[..] {
        [tokens::Piece::Code(code)] if !code.statement => inner(&text),
        _ => None,
    };
    let mut own = environment().clone();
    own.add_template_owned("", text.clone())
        .map_err(|error| wrong(&error))?;
    let template = own.get_template("").map_err(|error| wrong(&error))?;
    let mut fields: Vec<String> = template.undeclared_variables(false).into_iter().collect();
    fields.sort();
    let expression = match expression {
        Some(expression) => {
            let compiled = environment().compile_expression_owned(expression.to_owned());
            Some(compiled.map_err(|error| wrong(&error))?)
        }
        None => None,
    };
    Ok(CompiledTemplate {
        expression,
        fields,
        names: names(source),
        environment: own,
    })
}

/// What stands between `{{` and `}}`.
fn inner(code: &str) -> Option<&str> {
    let inner = code.strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    Some(inner.strip_suffix(['-', '+']).unwrap_or(inner).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked cases of the tests, and what becomes of them by chance.
    fn sources(cases: &[Json]) -> Vec<String> {
        let marks = [
            "{{ x }}", "{%", "%}", "}}", "-", "+", " ~ ", " * 2", "|upper", "[1:]", "(", ")", ", ",
            "[", "]", "'", " if ", " else ", " is ", " in ", "not ", " and ", ".", "{#", "%",
        ];
        let golden = cases.iter().filter_map(|case| case["template"].as_str());
        let mut sources: Vec<String> = golden.map(str::to_owned).collect();
        let count = sources.len();
        let mut state = 1_u64;
        let mut below = |n: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for _ in 0..20_000 {
            let mut source = sources[below(count)].clone();
            for _ in 0..1 + below(2) {
                let places: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
                let at = places.get(below(places.len().max(1))).copied().unwrap_or(0);
                match below(3) {
                    0 if !places.is_empty() => drop(source.remove(at)),
                    _ => source.insert_str(at, marks[below(marks.len())]),
                }
            }
            sources.push(source);
        }
        sources
    }

    #[test]
    fn measuring_changes_nothing() {
        let golden = include_str!("../../tests/golden/jinja.json");
        let golden: Json = serde_json::from_str(golden).expect("cases");
        let record = golden["record"].as_object().expect("a record");
        let cases = golden["cases"].as_array().expect("cases");
        let mut same = 0;
        for source in sources(cases) {
            bounds::begin();
            let values = context(&names(&source), record);
            let Ok(expected) = environment().render_str(&source, values) else {
                continue;
            };
            let template = Template::compile("t", &source).expect(&source);
            assert_eq!(template.render(record), Ok(expected), "{source}");
            same += 1;
        }
        assert!(same > 3000, "hardly any template renders: {same}");
    }
}
