//! `Prompt`: how a model is asked about an example, as the authors of a benchmark do.
//!
//! A prompt is templates over the fields of an example, so whatever changed the context
//! before has changed it in the text as well. An example carries its prompt beside its
//! fields (`docs/adr/0015`); whoever asks a model renders it. Nothing is sent here.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use context_bench_error::Hint as _;
use context_bench_template::jinja::{self, Template};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Example;
use crate::digest;
use crate::text::stringify;

/// What templates call the worked examples.
const SHOTS: &str = "shots";
/// What templates call the config of the dataset.
const CONFIG: &str = "config";

/// What a prompt is made of: plain data, as plans keep it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptParts {
    /// The template of a system message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The template of the message of the user; without it examples are laid out as usual
    /// and only the rest holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Texts that templates see by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub with: IndexMap<String, String>,
    /// The config of the dataset, which templates see as `config`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The fields of worked examples, of which templates see those that an example gets as
    /// `shots`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shots: Vec<Map<String, Value>>,
    /// How many of them an example gets.
    #[serde(skip_serializing_if = "is_zero")]
    pub count: usize,
    /// It gets only those whose field of this name equals its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The most tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What ends an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The template of the temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// How long the message of the user may be; longer ones are cut in the middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<PromptLimit>,
}

/// How long a prompt may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptLimit {
    /// So many tokens.
    pub tokens: u64,
    /// As this counts them.
    pub tokenizer: String,
}

/// Shortens a text that is too long; `None` for one that is not.
pub type Shorten = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl PromptParts {
    /// What distinguishes them from all others: templates, texts, worked examples and settings.
    pub fn digest(&self) -> String {
        digest::hex(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// How many worked examples a prompt shows.
    pub fn n_shots(&self) -> usize {
        self.count.min(self.shots.len())
    }
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// How a model is asked about examples; compiled once, shared by all of them.
pub struct Prompt {
    parts: PromptParts,
    system: Option<Template>,
    user: Option<Template>,
    temperature: Option<Template>,
    with: Map<String, Value>,
    config: Value,
    /// The worked examples by the value of the field that they are chosen by.
    shots: HashMap<String, Value>,
    shorten: Option<Shorten>,
    digest: String,
}

/// What a prompt makes of an example.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RenderedPrompt {
    /// The system message, where there is one.
    pub system: Option<String>,
    /// The message of the user; `None` when the example is laid out as usual.
    pub user: Option<String>,
    /// How the answer is generated, in the words of tasks: `max_gen_toks`, `until`,
    /// `temperature`.
    pub generation: Map<String, Value>,
    /// Whether the message of the user was too long, and was cut.
    pub is_cut: bool,
}

impl RenderedPrompt {
    /// The messages, where the prompt makes any.
    pub fn messages(&self) -> Option<Vec<Value>> {
        let user = self.user.as_deref()?;
        let system = self.system.as_deref().map(|text| ("system", text));
        let all = system.into_iter().chain([("user", user)]);
        let message = |(role, text)| json!({"role": role, "content": text});
        Some(all.map(message).collect())
    }
}

impl Prompt {
    /// Compiles the templates.
    ///
    /// # Errors
    ///
    /// When one of them is not a template.
    pub fn new(parts: PromptParts) -> Result<Self, PromptError> {
        let compile = |key: &'static str, source: &Option<String>| {
            let source = source.as_deref();
            let compiled = source.map(|source| Template::compile(key, source));
            compiled
                .transpose()
                .map_err(|error| PromptError::new(key, &error))
        };
        let with = parts.with.iter();
        Ok(Self {
            system: compile("system", &parts.system)?,
            user: compile("user", &parts.user)?,
            temperature: compile("temperature", &parts.temperature)?,
            with: with
                .map(|(name, text)| (name.clone(), text.as_str().into()))
                .collect(),
            config: parts.config.clone().into(),
            shots: chosen(&parts),
            shorten: None,
            digest: parts.digest(),
            parts,
        })
    }

    /// Cuts what is too long with this, which does what the limit of its parts says.
    #[must_use]
    pub fn with_shorten(mut self, shorten: Shorten) -> Self {
        self.shorten = Some(shorten);
        self
    }

    /// What it is made of.
    pub fn parts(&self) -> &PromptParts {
        &self.parts
    }

    /// What distinguishes it from every other prompt; see [`PromptParts::digest`].
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether it shows a field of the example; what it leaves to the usual layout, it
    /// shows.
    pub fn reads(&self, field: &str) -> bool {
        let Some(user) = &self.user else {
            return true;
        };
        let templates = [Some(user), self.system.as_ref()];
        let mut names = templates.into_iter().flatten().flat_map(Template::fields);
        names.any(|name| name == field)
    }

    /// What it makes of an example.
    ///
    /// # Errors
    ///
    /// When a template asks for a field that the example does not have, or fails.
    pub fn render(&self, example: &Example) -> Result<RenderedPrompt, PromptError> {
        let scope = Scope {
            prompt: self,
            fields: example.fields(),
            shots: self.shots_of(example),
        };
        let text = |template: &Option<Template>| {
            let value = template.as_ref().map(|one| evaluate(one, &scope));
            let text = |value| match value {
                Value::Null => String::new(),
                other => stringify::python_str(&other).into_owned(),
            };
            value.transpose().map(|value| value.map(text))
        };
        let mut rendered = RenderedPrompt {
            system: text(&self.system)?.filter(|text| !text.is_empty()),
            user: text(&self.user)?,
            generation: self.generation(&scope)?,
            is_cut: false,
        };
        if let (Some(user), Some(shorten)) = (&mut rendered.user, &self.shorten)
            && let Some(shorter) = shorten(user)
        {
            *user = shorter;
            rendered.is_cut = true;
        }
        Ok(rendered)
    }

    fn generation(&self, scope: &Scope<'_>) -> Result<Map<String, Value>, PromptError> {
        let mut settings = Map::new();
        if let Some(most) = self.parts.max_tokens {
            settings.insert("max_gen_toks".into(), most.into());
        }
        if !self.parts.stop.is_empty() {
            settings.insert("until".into(), json!(self.parts.stop));
        }
        if let Some(template) = &self.temperature {
            let heat = match evaluate(template, scope)? {
                Value::String(text) => text.trim().parse().ok(),
                other => other.as_f64(),
            };
            let heat = heat.filter(|heat: &f64| heat.is_finite() && *heat >= 0.0);
            let heat = heat.ok_or_else(|| PromptError {
                template: "temperature".to_owned(),
                problem: "must be a number that is not negative".to_owned(),
            })?;
            settings.insert("temperature".into(), heat.into());
        }
        Ok(settings)
    }

    fn shots_of(&self, example: &Example) -> &Value {
        const NONE: &Value = &Value::Array(Vec::new());
        let key = key_of(self.parts.by.as_deref(), example.fields());
        self.shots.get(&key).unwrap_or(NONE)
    }
}

fn evaluate(template: &Template, scope: &Scope<'_>) -> Result<Value, PromptError> {
    let value = template.evaluate(scope);
    value.map_err(|error| PromptError::new(template.name(), &error))
}

/// The worked examples that belong together, at most as many as are wanted of each sort.
fn chosen(parts: &PromptParts) -> HashMap<String, Value> {
    let mut chosen: HashMap<String, Vec<Value>> = HashMap::new();
    for shot in &parts.shots {
        let own = chosen.entry(key_of(parts.by.as_deref(), shot)).or_default();
        if own.len() < parts.count {
            own.push(Value::Object(shot.clone()));
        }
    }
    let lists = chosen.into_iter();
    lists
        .map(|(key, shots)| (key, Value::Array(shots)))
        .collect()
}

fn key_of(by: Option<&str>, fields: &Map<String, Value>) -> String {
    let value = by.and_then(|by| fields.get(by));
    value.map(Value::to_string).unwrap_or_default()
}

/// What templates see: worked examples, texts of the prompt, fields of the example, and the
/// config.
struct Scope<'a> {
    prompt: &'a Prompt,
    fields: &'a Map<String, Value>,
    shots: &'a Value,
}

impl jinja::Record for Scope<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        if name == SHOTS {
            return Some(self.shots);
        }
        let own = self.prompt.with.get(name).or_else(|| self.fields.get(name));
        own.or_else(|| (name == CONFIG).then_some(&self.prompt.config))
    }

    fn names(&self) -> Vec<&str> {
        let fields = self.fields.keys().chain(self.prompt.with.keys());
        fields.map(String::as_str).collect()
    }
}

/// Shows what distinguishes it from others, without its texts.
impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

/// The same parts are the same prompt.
impl PartialEq for Prompt {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

/// A prompt that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the `{template}` of the prompt cannot be made: {problem}")]
#[non_exhaustive]
pub struct PromptError {
    /// Which template.
    pub template: String,
    /// What is wrong with it.
    pub problem: String,
}

impl PromptError {
    fn new(template: &str, error: &jinja::Error) -> Self {
        let hint = error.hint().map(|hint| format!("; {hint}"));
        Self {
            template: template.to_owned(),
            problem: format!("{}{}", error.message(), hint.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(value: Value) -> Example {
        Example::try_from(value).expect("a map")
    }

    fn prompt(value: Value) -> Prompt {
        let parts = serde_json::from_value(value).expect("parts");
        Prompt::new(parts).expect("templates")
    }

    #[test]
    fn templates_see_the_fields_the_texts_the_config_and_the_worked_examples() {
        let fields = json!({"context": "A mill.", "question": "What?", "n": 2, "kind": "b"});
        let shots = json!([{"q": "1", "kind": "a"}, {"q": "2", "kind": "b"},
                           {"q": "3", "kind": "b"}, {"q": "4", "kind": "b"}]);
        for (parts, expected) in [
            (
                json!({"user": "{{ context }}\nQ: {{ question }}"}),
                json!({"user": "A mill.\nQ: What?"}),
            ),
            (
                json!({"user": "{{ ask }} {{ config }}", "with": {"ask": "Now."}, "config": "c"}),
                json!({"user": "Now. c"}),
            ),
            // Texts of the prompt come before fields of the same name.
            (
                json!({"user": "{{ question }}", "with": {"question": "Own?"}}),
                json!({"user": "Own?"}),
            ),
            (
                json!({"system": "{{ '' }}", "user": "{{ n }}"}),
                json!({"user": "2"}),
            ),
            (
                json!({"system": "Be brief.", "user": "x", "max_tokens": 32, "stop": ["\n"],
                       "temperature": "{{ 0.7 if n == 2 else 0 }}"}),
                json!({"system": "Be brief.", "user": "x", "generation":
                       {"max_gen_toks": 32, "until": ["\n"], "temperature": 0.7}}),
            ),
            (
                json!({"user": "{% for s in shots %}{{ s.q }}{% endfor %}", "count": 3,
                       "shots": shots}),
                json!({"user": "123"}),
            ),
            (
                json!({"user": "{% for s in shots %}{{ s.q }}{% endfor %}", "count": 2,
                       "shots": shots, "by": "kind"}),
                json!({"user": "23"}),
            ),
            (
                json!({"user": "{{ shots | length }}", "count": 2, "shots": shots, "by": "n"}),
                json!({"user": "0"}),
            ),
            (
                json!({"max_tokens": 5}),
                json!({"generation": {"max_gen_toks": 5}}),
            ),
        ] {
            let rendered = prompt(parts.clone()).render(&example(fields.clone()));
            let rendered = rendered.expect("rendered");
            let text = |key: &str| expected[key].as_str().map(str::to_owned);
            let expected = RenderedPrompt {
                system: text("system"),
                user: text("user"),
                generation: expected["generation"]
                    .as_object()
                    .cloned()
                    .unwrap_or_default(),
                is_cut: false,
            };
            assert_eq!(rendered, expected, "{parts}");
        }
    }

    #[test]
    fn what_cannot_be_made_says_which_template_and_why() {
        let fields = json!({"question": "Q"});
        for (parts, expected) in [
            (json!({"user": "{{ contxt }}"}), "the `user` of the prompt"),
            (json!({"user": "{{ contxt }}"}), "the record has `question`"),
            (
                json!({"user": "x", "temperature": "{{ question }}"}),
                "the `temperature` of the prompt cannot be made: must be a number",
            ),
        ] {
            let error = prompt(parts).render(&example(fields.clone()));
            let error = error.expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
        let parts = PromptParts {
            system: Some("{{ a".to_owned()),
            ..PromptParts::default()
        };
        let error = Prompt::new(parts).expect_err("no template").to_string();
        assert!(error.contains("`system`"), "{error}");
    }

    #[test]
    fn every_part_is_in_the_digest() {
        let digests: Vec<String> = [
            json!({"user": "x"}),
            json!({"user": "x", "system": "x"}),
            json!({"user": "y"}),
            json!({"user": "x", "with": {"a": "b"}}),
            json!({"user": "x", "config": "c"}),
            json!({"user": "x", "shots": [{"q": "1"}]}),
            json!({"user": "x", "shots": [{"q": "1"}], "count": 1}),
            json!({"user": "x", "shots": [{"q": "1"}], "by": "q"}),
            json!({"user": "x", "max_tokens": 1}),
            json!({"user": "x", "stop": ["1"]}),
            json!({"user": "x", "temperature": "1"}),
            json!({"user": "x", "limit": {"tokens": 8, "tokenizer": "whitespace"}}),
        ]
        .into_iter()
        .map(|parts| prompt(parts).digest().to_owned())
        .collect();
        for (i, one) in digests.iter().enumerate() {
            for (j, other) in digests.iter().enumerate() {
                assert_eq!(one == other, i == j, "{i} and {j}");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_cut_after_it_was_made() {
        let shorten: Shorten = Arc::new(|text| (text.len() > 3).then(|| text[..3].to_owned()));
        for (context, expected) in [("a", ("<a>", false)), ("abc", ("<ab", true))] {
            let prompt = prompt(json!({"user": "<{{ context }}>"}));
            let prompt = prompt.with_shorten(Arc::clone(&shorten));
            let rendered = prompt.render(&example(json!({"context": context})));
            let rendered = rendered.expect("rendered");
            assert_eq!(
                (rendered.user.as_deref(), rendered.is_cut),
                (Some(expected.0), expected.1)
            );
        }
    }

    #[test]
    fn it_tells_which_fields_it_shows() {
        for (parts, expected) in [
            (json!({"user": "{{ context }}"}), true),
            (
                json!({"user": "{{ question }}", "system": "{{ context }}"}),
                true,
            ),
            (json!({"user": "{{ question }}"}), false),
            (json!({"max_tokens": 3}), true),
        ] {
            assert_eq!(prompt(parts.clone()).reads("context"), expected, "{parts}");
        }
    }
}
