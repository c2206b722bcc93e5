//! Jinja templates over records, with Python's semantics.
//!
//! Undefined names are errors, values print as Python prints them, trailing line
//! breaks stay, nothing is escaped. A template is compiled once and may be rendered
//! from many threads; what it may compute is bounded.

mod args;
pub(crate) mod bounds;
mod choices;
mod constants;
mod depth;
mod direct;
mod error;
mod filters;
mod guard;
mod json;
mod methods;
mod percent;
mod program;
mod text;
mod value;

pub use error::Error;

use std::sync::{Arc, OnceLock};

use minijinja::machinery;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde_json::{Map, Value as Json};

use direct::Direct;

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
        if let Some(syntax) = syntax() {
            environment.set_syntax(syntax);
        }
        environment.remove_global("debug");
        filters::add(&mut environment);
        bounds::add(&mut environment);
        guard::add(&mut environment);
        environment
    })
}

/// How templates are written. The builder fails for empty delimiters only, and
/// these are the default ones.
fn syntax() -> Option<SyntaxConfig> {
    SyntaxConfig::builder()
        .keep_trailing_newline(true)
        .build()
        .ok()
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
    /// Whether the whole of it is one `{{ expression }}`.
    expression: bool,
    /// Whether anything in it can grow.
    grows: bool,
    /// The way around the engine, when it is simple enough.
    direct: Option<Direct>,
}

impl Compiled {
    /// Runs the engine, for what it writes to `text`, or for the value of the one
    /// expression when there is no `text`.
    fn run(
        &self,
        record: &(impl Record + ?Sized),
        text: Option<&mut String>,
    ) -> Result<Value, minijinja::Error> {
        let template = self.environment.get_template("")?;
        let values = context(&self.names, record);
        bounds::begin();
        let mut unused = String::new();
        let evaluates = text.is_none();
        let text = text.unwrap_or(&mut unused);
        if !self.grows && !evaluates {
            *text = template.render(values)?;
            return Ok(Value::UNDEFINED);
        }
        let compiled = machinery::get_compiled_template(&template);
        let program = program::measured(&compiled.instructions, evaluates);
        let blocks = program::blocks(&compiled.blocks);
        // The shared environment: a template that includes itself finds nothing there.
        let (value, _) = machinery::eval(
            environment(),
            &program,
            values,
            &blocks,
            &mut machinery::make_string_output(text),
            AutoEscape::None,
        )?;
        Ok(value.unwrap_or_default())
    }
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
        let direct = compiled.direct.as_ref();
        match direct.and_then(|direct| direct.render(record)) {
            Some(text) => Ok(text),
            None => self.engine_render(compiled, record),
        }
    }

    /// The value for a record: when the template is one `{{ expression }}`, what the
    /// expression gives (a list stays a list); the rendered text otherwise.
    pub fn evaluate(&self, record: &(impl Record + ?Sized)) -> Result<Json, Error> {
        let Body::Jinja(compiled) = &self.body else {
            return Ok(Json::String(self.source.to_string()));
        };
        if !compiled.expression {
            return self.render(record).map(Json::String);
        }
        let direct = compiled.direct.as_ref();
        match direct.and_then(|direct| direct.evaluate(record)) {
            Some(value) => Ok(value),
            None => self.engine_evaluate(compiled, record),
        }
    }

    fn engine_render(
        &self,
        compiled: &Compiled,
        record: &(impl Record + ?Sized),
    ) -> Result<String, Error> {
        let mut text = String::new();
        compiled
            .run(record, Some(&mut text))
            .map_err(|error| self.error(&error, &record.names()))?;
        Ok(text)
    }

    fn engine_evaluate(
        &self,
        compiled: &Compiled,
        record: &(impl Record + ?Sized),
    ) -> Result<Json, Error> {
        let wrong = |error: &minijinja::Error| self.error(error, &record.names());
        let found = compiled.run(record, None).map_err(|error| wrong(&error))?;
        if found.is_undefined() {
            return Err(wrong(&ErrorKind::UndefinedError.into()));
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

fn compile(name: &str, source: &str) -> Result<Compiled, Error> {
    let wrong = |error: &minijinja::Error| Error::new(name, error);
    depth::check(name, source, syntax())?;
    let rewritten = percent::rewrite(source);
    if let Some(rewritten) = &rewritten {
        depth::check(name, rewritten, syntax())?;
    }
    let text = rewritten.as_deref().unwrap_or(source);
    if let Ok(tree) = machinery::parse(text, "", syntax().unwrap_or_default()) {
        constants::check(name, &tree)?;
    }
    let mut environment = environment().clone();
    environment
        .add_template_owned("", text.to_owned())
        .map_err(|error| wrong(&error))?;
    let template = environment
        .get_template("")
        .map_err(|error| wrong(&error))?;
    let mut fields: Vec<String> = template.undeclared_variables(false).into_iter().collect();
    fields.sort();
    let instructions = &machinery::get_compiled_template(&template).instructions;
    let grows = program::grows(instructions);
    let alone = sole_expression(text).filter(|expression| {
        program::writes_one_value(instructions) && machinery::parse_expr(expression).is_ok()
    });
    let (expression, direct) = (alone.is_some(), Direct::of(text, alone));
    Ok(Compiled {
        fields,
        names: names(text),
        expression,
        grows,
        direct,
        environment,
    })
}

/// What stands between `{{` and `}}` when that is the whole template.
fn sole_expression(source: &str) -> Option<&str> {
    let inner = source.strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    Some(inner.strip_suffix(['-', '+']).unwrap_or(inner).trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Templates such as datasets and tasks have, and the odd ones that are near them.
    const TEMPLATES: [&str; 46] = [
        "{{ x }}",
        "{{ x.a }}",
        "{{ x['a'] }}",
        "{{ x[0] }}",
        "{{ x[-1] }}",
        "{{ x[y] }}",
        "{{ [x, y] }}",
        "{{ x | default('none') }}",
        "{{ x | d(y) | default('') }}",
        "{{ x.a | default('') }}",
        "{{ x | length }}",
        "{{ x | join }}",
        "{{ x | join(', ') }}",
        "{{ x | join(y) }}",
        "{{ x | trim }}",
        "{{ x | string }}",
        "{{ x.strip() }}",
        "{{ x.lstrip() + y.rstrip() }}",
        "{{ x.split('b') }}",
        "{{ x.split('b', 1)[0].strip() }}",
        "{{ x.split('#')[-1].strip() if '#' in x else x }}",
        "{{ x.replace('a', 'bc') }}",
        "{{ x | int }}",
        "{{ (x | int) - 1 if x | string | trim else none }}",
        "{{ x + y }}",
        "{{ x - 1 }}",
        "{{ x.index(y) }}",
        "{{ x | select | join }}",
        "{{ x == y }}",
        "{{ x != 'a' }}",
        "{{ x == 1 }}",
        "{{ x in y }}",
        "{{ 'a' not in x }}",
        "{{ not x }}",
        "{{ x and y }}",
        "{{ x or y }}",
        "{{ x is defined }}",
        "{{ x is undefined or y is none }}",
        "{{ x.a if x is mapping else x }}",
        "{{ x if x is string else y }}",
        "{{ -1 }} {{ 'text' }} {{ true }} {{ none }}",
        "a {{ x }}\n{{ y }} b\n",
        "{% for item in x %}{{ loop.index0 }}{{ item }}{% if not loop.last %}, {% endif %}{% endfor %}",
        "{% for a in x %}{% for x in y %}{{ a }}{{ x }}{{ loop.first }}{{ loop.length }}{% endfor %}{{ loop.index }}{% endfor %}{{ x }}",
        "{%- if x %} {{ x }} {%- elif y %}{{ y }}{% else %} neither {% endif -%} ",
        "{% for p in x %}{{ p.title | default('') }}: {{ p.text }}{% endfor %}",
    ];

    fn values() -> Vec<Json> {
        vec![
            json!("a text # b b"),
            json!("  b\u{a0}\n"),
            json!("12"),
            json!("0012"),
            json!(" 3"),
            json!(i64::MIN),
            json!(""),
            json!("a"),
            json!("ẞ'\"b"),
            json!(0),
            json!(1),
            json!(-1),
            json!(1.0),
            json!(2.5e20),
            json!(u64::MAX),
            json!(true),
            json!(null),
            json!([]),
            json!(["a", "b"]),
            json!([1, "a", null]),
            json!([["a"], ["b", "c"]]),
            json!({}),
            json!({"a": "b", "title": "t"}),
            json!([{"title": "t", "text": "x"}, {"text": "y"}]),
        ]
    }

    #[test]
    fn the_way_around_the_engine_arrives_where_the_engine_does() {
        let mut taken = 0;
        for source in TEMPLATES {
            let template = Template::compile("t", source).expect(source);
            let Body::Jinja(compiled) = &template.body else {
                panic!("no Jinja in {source}");
            };
            let direct = compiled.direct.as_ref().expect(source);
            let mut records = vec![json!({}), json!({"x": "a"})];
            for x in values() {
                for y in values() {
                    records.push(json!({"x": x, "y": y}));
                }
            }
            for record in records {
                let record = record.as_object().expect("a map");
                if let Some(text) = direct.render(record) {
                    let expected = template.engine_render(compiled, record);
                    assert_eq!(expected.as_ref(), Ok(&text), "{source} of {record:?}");
                    taken += 1;
                }
                if compiled.expression
                    && let Some(value) = direct.evaluate(record)
                {
                    let expected = template.engine_evaluate(compiled, record);
                    assert_eq!(expected.as_ref(), Ok(&value), "{source} of {record:?}");
                }
            }
        }
        assert!(taken > 3000, "hardly ever taken: {taken}");
    }

    #[test]
    fn what_is_not_simple_is_left_to_the_engine() {
        for source in [
            "{{ range(3) }}",
            "{{ x | upper }}",
            "{% set y = x %}{{ y }}",
            "{{ x[1:] }}",
            "{% for a, b in x %}{{ a }}{% endfor %}",
            "{{ loop.index }}{% for a in x %}{{ loop }}{% endfor %}",
        ] {
            let template = Template::compile("t", source).expect(source);
            let Body::Jinja(compiled) = &template.body else {
                panic!("no Jinja in {source}");
            };
            assert!(compiled.direct.is_none(), "{source}");
        }
    }
}
