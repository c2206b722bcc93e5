//! Formats: one dataset asked as multiple choice, cloze, generation or reasoning.

use context_bench_error::suggest::{did_you_mean, quoted_list};
use context_bench_template::jinja::Template;
use context_bench_template::python;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::filter::Record;
use crate::function::Host;
use crate::prompt::RenderedDocument;
use crate::source::{FieldValue, Source};
use crate::task::OutputType;

/// What choices are called in a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// They are not listed.
    None,
    /// A, B, C and so on.
    Letters,
    /// 1, 2, 3 and so on.
    Numbers,
    /// As given.
    List(Vec<String>),
}

/// A format with all its fields.
#[derive(Debug, Clone)]
pub struct Format {
    /// Its name.
    pub name: String,
    /// What the task becomes.
    pub output_type: OutputType,
    instruction: Option<Template>,
    question_prefix: String,
    labels: Labels,
    choice_delimiter: String,
    section_separator: String,
    answer_instruction: Option<Template>,
    answer_prompt: Option<Template>,
    /// The start of the answer.
    pub gen_prefix: Option<String>,
    /// Between question and answer.
    pub target_delimiter: String,
    /// Between examples.
    pub fewshot_delimiter: String,
    /// How answers are scored, when not by the output type's default.
    pub scorer: Option<String>,
}

const NAMES: &[&str] = &["mcqa", "cloze", "generate", "cot"];
const FIELDS: &[&str] = &[
    "output_type",
    "instruction",
    "question_prefix",
    "choice_labels",
    "choice_delimiter",
    "section_separator",
    "answer_instruction",
    "answer_prompt",
    "gen_prefix",
    "target_delimiter",
    "fewshot_delimiter",
    "scorer",
];

const GENERATE_INSTRUCTION: &str = "Given the following question and {{_num_choices}} candidate answers ({{_choice_list_and}}), choose the best answer.\n";
const GENERATE_PROMPT: &str = "Your response should end with \"The best answer is [answer_letter]\" where the [answer_letter] is one of {{_choice_list_or}}.";
const COT_INSTRUCTION: &str =
    "Given the following problem, reason step by step to find the final answer.\n";
const COT_PROMPT: &str = "Your response should end with \"The final answer is [answer]\" where [answer] is the response to the problem.";

/// Whether a name is that of a built-in format.
pub fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The fields of a built-in format.
fn builtin(name: &str) -> Result<Map<String, Value>> {
    let fields = match name {
        "mcqa" => {
            json!({"output_type": "multiple_choice", "choice_labels": "letters", "answer_prompt": "Answer:"})
        }
        "cloze" => json!({"output_type": "multiple_choice", "answer_prompt": "Answer:"}),
        "generate" => json!({
            "output_type": "generate_until", "choice_labels": "letters",
            "instruction": GENERATE_INSTRUCTION, "answer_prompt": GENERATE_PROMPT,
            "gen_prefix": "The best answer is", "target_delimiter": "\n", "scorer": "first_token",
        }),
        "cot" => json!({
            "output_type": "generate_until", "question_prefix": "Problem: ",
            "instruction": COT_INSTRUCTION, "answer_prompt": COT_PROMPT,
            "target_delimiter": "\n", "scorer": "final_answer",
        }),
        other => {
            let hint = did_you_mean(other, NAMES.iter().copied()).unwrap_or_else(|| {
                format!(
                    "there are {}",
                    quoted_list(&["cloze", "cot", "generate", "mcqa"], "and")
                )
            });
            return Err(Error::new(format!("unknown format `{other}`")).with_hint(hint));
        }
    };
    match fields {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

impl Format {
    /// The format a task asks for: by suffix, by `task: name@format` or by `formats`.
    pub fn choose(config: &Config, suffix: Option<&str>) -> Result<Option<Self>> {
        let written = config
            .text("task")
            .and_then(|task| task.rsplit_once('@'))
            .map(|(_, format)| format);
        let selected = suffix.or(written);
        let chosen = match (config.get("formats"), selected) {
            (None, None) => return Ok(None),
            (None, Some(name)) => Self::new(name, &Map::new()),
            // What is asked for now beats what the file says.
            (Some(Value::String(_)), Some(name)) if suffix.is_some() => {
                Self::new(name, &Map::new())
            }
            (Some(Value::String(name)), _) => Self::new(name, &Map::new()),
            (Some(Value::Object(map)), _) if map.contains_key("type") => {
                let name = map.get("type").and_then(Value::as_str).unwrap_or_default();
                match suffix {
                    Some(other) if other != name => Self::new(other, &Map::new()),
                    _ => Self::typed(name, map),
                }
            }
            (Some(Value::Object(table)), selected) => Self::from_table(table, selected),
            (Some(other), _) => Err(Error::new(format!(
                "`formats` must be a name or a mapping, found `{other}`"
            ))),
        };
        chosen
            .map(Some)
            .map_err(|error| match config.place("formats") {
                Some(place) => error.at(place),
                None => error,
            })
    }

    fn from_table(table: &Map<String, Value>, selected: Option<&str>) -> Result<Self> {
        let names: Vec<&str> = table.keys().map(String::as_str).collect();
        let Some(name) = selected.or(names.first().copied()) else {
            return Err(Error::new("`formats` is an empty mapping"));
        };
        match table.get(name) {
            None => Err(Error::new(format!("the task has no format `{name}`"))
                .with_hint(format!("it has {}", quoted_list(&names, "and")))),
            Some(Value::Null) => Self::new(name, &Map::new()),
            Some(Value::String(other)) => Self::new(other, &Map::new()),
            Some(Value::Object(fields)) => match fields.get("type").and_then(Value::as_str) {
                Some(base) => Self::typed(base, fields),
                None => Self::new(name, fields),
            },
            Some(other) => Err(Error::new(format!(
                "format `{name}` must be a mapping, found `{other}`"
            ))),
        }
    }

    fn typed(name: &str, fields: &Map<String, Value>) -> Result<Self> {
        let mut fields = fields.clone();
        fields.shift_remove("type");
        Self::new(name, &fields)
    }

    /// A built-in format with some fields changed.
    pub fn new(name: &str, changes: &Map<String, Value>) -> Result<Self> {
        let mut fields = builtin(name)?;
        if let Some(unknown) = changes.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            let hint = did_you_mean(unknown, FIELDS.iter().copied())
                .unwrap_or_else(|| format!("the fields are {}", quoted_list(FIELDS, "and")));
            return Err(
                Error::new(format!("format `{name}` has no field `{unknown}`")).with_hint(hint),
            );
        }
        fields.extend(changes.clone());
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let or = |key: &str, default: &str| text(key).unwrap_or_else(|| default.to_owned());
        let template = |key: &str| -> Result<Option<Template>> {
            let title = format!("{key}` of format `{name}");
            text(key)
                .map(|source| Template::compile(&title, &source).map_err(Error::from))
                .transpose()
        };
        let labels = match fields.get("choice_labels") {
            None | Some(Value::Null) => Labels::None,
            Some(Value::String(kind)) if kind == "letters" => Labels::Letters,
            Some(Value::String(kind)) if kind == "numbers" => Labels::Numbers,
            Some(Value::Array(labels)) => Labels::List(labels.iter().map(python::str).collect()),
            Some(other) => {
                return Err(Error::new(format!(
                    "`choice_labels` of format `{name}` are `{other}`"
                ))
                .with_hint("write `letters`, `numbers` or a list"));
            }
        };
        let scorer = match fields.get("scorer") {
            Some(Value::String(name)) => Some(name.clone()),
            Some(Value::Object(map)) => map.get("type").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        Ok(Self {
            name: name.to_owned(),
            output_type: OutputType::named(&or("output_type", "generate_until"))?,
            instruction: template("instruction")?,
            // Null says that there is none.
            question_prefix: match fields.get("question_prefix") {
                Some(Value::Null) => String::new(),
                _ => or("question_prefix", "Question: "),
            },
            labels,
            choice_delimiter: or("choice_delimiter", "\n"),
            section_separator: or("section_separator", "\n"),
            answer_instruction: template("answer_instruction")?,
            answer_prompt: template("answer_prompt")?,
            gen_prefix: text("gen_prefix"),
            target_delimiter: or("target_delimiter", " "),
            fewshot_delimiter: or("fewshot_delimiter", "\n\n"),
            scorer,
        })
    }

    /// Question, choices and target of a record in this format.
    pub fn render(
        &self,
        text: &Source,
        target: &Source,
        choice: Option<&Source>,
        record: &Record,
        host: &dyn Host,
    ) -> Result<RenderedDocument> {
        let question = text.text(record, host)?;
        let choices = choice
            .map(|choice| choice.choices(record, host))
            .transpose()?;
        let labels = match &choices {
            Some(choices) => self.label(choices.len())?,
            None => None,
        };
        let mut names = Record::new();
        if let Some(labels) = &labels {
            names.insert("_num_choices".into(), json!(labels.len()));
            names.insert("_choice_labels".into(), json!(labels));
            names.insert("_choice_list_and".into(), json!(enumeration(labels, "and")));
            names.insert("_choice_list_or".into(), json!(enumeration(labels, "or")));
        }
        let part = |template: &Option<Template>| match template {
            Some(template) => template.render(&names).map_err(|error| {
                Error::new(error.to_string())
                    .with_hint("this format needs choices: set `doc_to_choice`")
            }),
            None => Ok(String::new()),
        };
        let mut prompt = part(&self.instruction)?;
        prompt.push_str(&self.question_prefix);
        prompt.push_str(&question);
        if let (Some(labels), Some(choices)) = (&labels, &choices) {
            prompt.push_str(&self.section_separator);
            for (i, (label, choice)) in labels.iter().zip(choices).enumerate() {
                prompt.push_str(if i > 0 { &self.choice_delimiter } else { "" });
                prompt.push_str(&format!("{label}. {choice}"));
            }
        }
        prompt.push_str(&self.section_separator);
        prompt.push_str(&part(&self.answer_instruction)?);
        prompt.push_str(&part(&self.answer_prompt)?);
        let given = target.get(record, host)?;
        Ok(RenderedDocument {
            text: Value::String(prompt),
            target: self.target(given, choices.as_deref(), labels.as_deref())?,
            choices: labels.or(choices),
        })
    }

    fn label(&self, n: usize) -> Result<Option<Vec<String>>> {
        Ok(match &self.labels {
            Labels::None => None,
            Labels::Numbers => Some((1..=n).map(|i| i.to_string()).collect()),
            Labels::Letters if n <= 26 => Some(('A'..='Z').take(n).map(String::from).collect()),
            Labels::Letters => {
                return Err(Error::new(format!(
                    "{n} choices are more than there are letters"
                )));
            }
            Labels::List(labels) if labels.len() >= n => Some(labels[..n].to_vec()),
            Labels::List(labels) => {
                return Err(Error::new(format!(
                    "{n} choices, but {} labels",
                    labels.len()
                )));
            }
        })
    }

    fn target(
        &self,
        given: FieldValue,
        choices: Option<&[String]>,
        labels: Option<&[String]>,
    ) -> Result<Value> {
        let value = given.value();
        let index = choices.and_then(|choices| index(&value, choices));
        if self.output_type == OutputType::MultipleChoice {
            if choices.is_none() {
                return Err(Error::new(format!("format `{}` needs choices", self.name))
                    .with_hint("set `doc_to_choice`"));
            }
            return Ok(index.map_or(value, |at| json!(at)));
        }
        let name = |names: &[String]| {
            let at = number(&value, names.len(), choices)?;
            names.get(at).map(|name| json!(name))
        };
        Ok(match (labels, choices) {
            (Some(labels), _) => name(labels),
            (None, Some(choices)) => name(choices),
            (None, None) => None,
        }
        .unwrap_or(value))
    }
}

/// An index as a number, or as digits that are not a choice themselves.
fn number(value: &Value, n: usize, choices: Option<&[String]>) -> Option<usize> {
    let at = match value {
        Value::Number(number) => usize::try_from(number.as_u64()?).ok()?,
        Value::String(text) => {
            let is_choice = choices.is_some_and(|choices| choices.contains(text));
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            (digits && !is_choice).then(|| text.parse().ok())??
        }
        _ => return None,
    };
    (at < n).then_some(at)
}

/// The place of a target among the choices.
fn index(value: &Value, choices: &[String]) -> Option<usize> {
    let text = python::str(value);
    number(value, choices.len(), Some(choices))
        .or_else(|| choices.iter().position(|choice| *choice == text))
}

/// "A, B and C".
fn enumeration(labels: &[String], last: &str) -> String {
    match labels.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, others)) => format!("{} {last} {end}", others.join(", ")),
    }
}
