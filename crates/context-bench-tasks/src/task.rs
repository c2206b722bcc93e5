//! A task that is ready to render: every field checked, every template compiled.

use context_bench_error::suggest::{did_you_mean, quoted_list};
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::error::{Error, Result, Warning};
use crate::fewshot::ShotSource;
use crate::fields::{Fields, check_keys, refuse, text_of};
use crate::filter::Pipeline;
use crate::format::Format;
use crate::function::Function;
use crate::metric::Metric;
use crate::settings::{filters, generation, metrics};
use crate::source::Source;
use crate::tree::Leaf;
use crate::truth;

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputType {
    /// A text, up to a stop.
    GenerateUntil,
    /// The likelihood of each choice.
    MultipleChoice,
    /// The likelihood of one continuation.
    Loglikelihood,
    /// The likelihood of a whole text.
    LoglikelihoodRolling,
}

const OUTPUT_TYPES: &[(&str, OutputType)] = &[
    ("generate_until", OutputType::GenerateUntil),
    ("multiple_choice", OutputType::MultipleChoice),
    ("loglikelihood", OutputType::Loglikelihood),
    ("loglikelihood_rolling", OutputType::LoglikelihoodRolling),
];

impl OutputType {
    /// An output type by its name.
    pub fn named(name: &str) -> Result<Self> {
        let names: Vec<&str> = OUTPUT_TYPES.iter().map(|(name, _)| *name).collect();
        let found = OUTPUT_TYPES.iter().find(|(known, _)| *known == name);
        found.map(|(_, output)| *output).ok_or_else(|| {
            let hint = did_you_mean(name, names.iter().copied())
                .unwrap_or_else(|| format!("there are {}", quoted_list(&names, "and")));
            Error::new(format!("unknown output type `{name}`")).with_hint(hint)
        })
    }

    /// Its name in files.
    pub fn name(self) -> &'static str {
        OUTPUT_TYPES
            .iter()
            .find(|(_, output)| *output == self)
            .map_or("", |(name, _)| *name)
    }
}

/// Names of splits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Splits {
    /// Where examples come from by default.
    pub training: Option<String>,
    /// Evaluated when there is no test split.
    pub validation: Option<String>,
    /// Evaluated.
    pub test: Option<String>,
    /// Where examples come from when set.
    pub fewshot: Option<String>,
}

/// The fields that make question, choices and answer of a record.
#[derive(Debug, Clone)]
pub struct Prompting {
    /// The question.
    pub text: Source,
    /// The right answer.
    pub target: Source,
    /// The choices.
    pub choice: Option<Source>,
    /// The start of the answer.
    pub gen_prefix: Option<Source>,
    /// Between question and answer.
    pub target_delimiter: String,
    /// After each example.
    pub fewshot_delimiter: String,
}

/// A task that is ready.
#[derive(Debug)]
pub struct Task {
    /// Its name without groups and formats.
    pub name: String,
    /// Shown instead of the name.
    pub alias: Option<String>,
    /// The settings it was made of.
    pub config: Config,
    /// What a model is asked for.
    pub output_type: OutputType,
    /// How a record becomes a question.
    pub prompting: Prompting,
    /// The same for examples, where it differs.
    pub shot_prompting: Prompting,
    /// The start of every prompt.
    pub description: Option<Source>,
    /// How many examples, when not said otherwise.
    pub num_fewshot: Option<usize>,
    /// Where examples come from and how they are chosen.
    pub shots: ShotSource,
    /// The splits by name.
    pub splits: Splits,
    /// Applied to every split.
    pub process_docs: Option<Function>,
    /// Gives scores instead of the built-in metrics.
    pub process_results: Option<Function>,
    /// For generation: stops, temperature and so on.
    pub generation: Map<String, Value>,
    /// Responses per document.
    pub repeats: usize,
    /// What happens to responses before they are scored.
    pub filters: Vec<Pipeline>,
    /// How they are scored.
    pub metrics: Vec<Metric>,
    /// The format, when one applies.
    pub format: Option<Format>,
    /// Whether it runs code that a model wrote.
    pub unsafe_code: bool,
    /// `version`, `num_fewshot` and whatever else.
    pub metadata: Map<String, Value>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

impl Task {
    /// Makes a task of a leaf of a tree.
    pub fn build(leaf: &Leaf) -> Result<Self> {
        Self::from_config(&leaf.name, &leaf.config, leaf.format.as_deref())
            .map_err(|error| error.prefixed(format!("task `{}`", leaf.name)))
    }

    /// Makes a task of a configuration; `format` is the one asked for with `@`.
    pub fn from_config(name: &str, config: &Config, format: Option<&str>) -> Result<Self> {
        if config.get("class").is_some() {
            return Err(
                Error::new("the task is a Python class, which makes its own prompts")
                    .with_hint("`render --tasks` shows what it asks"),
            );
        }
        check_keys(config)?;
        refuse(config)?;
        if let Some(config) = crate::use_prompt::applied(config)? {
            return Self::from_config(name, &config, format);
        }
        let mut warnings = Vec::new();
        let fields = Fields { config };
        let format = Format::choose(config, format)?;
        let declared = match config.get("output_type") {
            None => OutputType::GenerateUntil,
            Some(_) => fields.with("output_type", |value| OutputType::named(text_of(value)?))?,
        };
        let output_type = format
            .as_ref()
            .map_or(declared, |format| format.output_type);
        check_choices(&fields)?;
        let prompting = prompting(&fields, format.as_ref(), &mut warnings)?;
        let shots = fields.shots()?;
        let shot_prompting = shots.prompting(&prompting)?;
        if output_type == OutputType::MultipleChoice && prompting.choice.is_none() {
            let error = Error::new("a `multiple_choice` task needs `doc_to_choice`").with_hint(
                "name the column with the choices, or list them: `doc_to_choice: [\"no\", \"yes\"]`",
            );
            return Err(match config.place("output_type") {
                Some(place) => error.at(place),
                None => error,
            });
        }
        let metrics = metrics(&fields, format.as_ref(), output_type, &mut warnings)?;
        let filters = filters(&fields, format.as_ref(), output_type)?;
        let generation = generation(
            &fields,
            format.as_ref(),
            output_type,
            &prompting,
            &mut warnings,
        )?;
        Ok(Self {
            name: name.to_owned(),
            alias: config.text("task_alias").map(str::to_owned),
            output_type,
            shot_prompting,
            description: fields.source("description")?,
            num_fewshot: fields.whole("num_fewshot")?,
            shots,
            splits: Splits {
                training: fields.text("training_split")?,
                validation: fields.text("validation_split")?,
                test: fields.text("test_split")?,
                fewshot: fields.text("fewshot_split")?,
            },
            process_docs: fields.function("process_docs")?,
            process_results: fields.function("process_results")?,
            generation,
            repeats: fields.whole("repeats")?.unwrap_or(1).max(1),
            filters,
            metrics,
            format,
            unsafe_code: config.get("unsafe_code").is_some_and(truth::truthy),
            metadata: match config.get("metadata") {
                Some(Value::Object(map)) => map.clone(),
                Some(other) => Map::from_iter([("_metadata".to_owned(), other.clone())]),
                None => Map::new(),
            },
            config: config.clone(),
            prompting,
            warnings,
        })
    }

    /// The name of the split that is evaluated.
    pub fn evaluated_split(&self) -> Result<&str> {
        let split = self
            .splits
            .test
            .as_deref()
            .or(self.splits.validation.as_deref());
        split.ok_or_else(|| {
            Error::new(format!(
                "task `{}` names neither `test_split` nor `validation_split`",
                self.name
            ))
            .with_hint("say which records are asked about: `test_split: test`")
        })
    }

    /// The version in tables.
    pub fn version(&self) -> Option<&Value> {
        self.metadata.get("version")
    }

    /// Whether a value of the configuration is a Python function.
    pub fn needs_python(&self) -> bool {
        self.config
            .iter()
            .any(|(_, setting)| Function::is_inside(&setting.value))
    }
}

fn prompting(
    fields: &Fields<'_>,
    format: Option<&Format>,
    warnings: &mut Vec<Warning>,
) -> Result<Prompting> {
    let or = |key: &str, default: &str| -> Result<Source> {
        match fields.source(key)? {
            Some(source) => Ok(source),
            None => Source::parse(key, &json!(default)),
        }
    };
    if let (Some(format), Some(Source::Text(template))) = (format, fields.source("doc_to_text")?) {
        let literal = outside_braces(template.source());
        if !template.is_text() && literal.chars().any(char::is_alphabetic) {
            warnings.push(Warning::new(format!(
                "`doc_to_text` has text of its own, which format `{}` puts inside its own prompt",
                format.name
            )));
        }
    }
    let delimiter = |key: &str, default: &str| -> Result<String> {
        Ok(fields.text(key)?.unwrap_or_else(|| default.to_owned()))
    };
    Ok(match format {
        Some(format) => Prompting {
            text: or("doc_to_text", "question")?,
            target: or("doc_to_target", "answer")?,
            choice: fields.source("doc_to_choice")?,
            gen_prefix: match &format.gen_prefix {
                Some(prefix) => Some(Source::parse("gen_prefix", &json!(prefix))?),
                None => fields.source("gen_prefix")?,
            },
            target_delimiter: format.target_delimiter.clone(),
            fewshot_delimiter: format.fewshot_delimiter.clone(),
        },
        None => Prompting {
            text: or("doc_to_text", "")?,
            target: or("doc_to_target", "")?,
            choice: fields.source("doc_to_choice")?,
            gen_prefix: fields.source("gen_prefix")?,
            target_delimiter: delimiter("target_delimiter", " ")?,
            fewshot_delimiter: delimiter("fewshot_delimiter", "\n\n")?,
        },
    })
}

/// `[no, yes]` without quotes is a list of truth values, which cannot be choices.
fn check_choices(fields: &Fields<'_>) -> Result<()> {
    let checked = fields.optional("doc_to_choice", |value| match value {
        Value::Array(items) if items.iter().any(Value::is_boolean) => Err(Error::new(format!(
            "choices are texts, and `{value}` has truth values"
        ))
        .with_hint("put quotes around words such as \"no\" and \"yes\"")),
        _ => Ok(()),
    });
    checked.map(drop)
}

/// A template's text without what stands in braces.
fn outside_braces(source: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    for c in source.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}
