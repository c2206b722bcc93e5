//! A task that is ready to render: every field checked, every template compiled.

use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::error::{Error, Result, Warning};
use crate::fewshot::{Sampler, ShotSource};
use crate::filter::{Filter, Pipeline};
use crate::format::Format;
use crate::function::Function;
use crate::metric::Metric;
use crate::source::Source;
use crate::suggest::{did_you_mean, quoted_list};
use crate::tree::Leaf;

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

/// All keys of a task file.
pub const FIELDS: &[&str] = &[
    "task",
    "task_alias",
    "tag",
    "class",
    "metadata",
    "dataset_path",
    "dataset_name",
    "dataset_kwargs",
    "custom_dataset",
    "training_split",
    "validation_split",
    "test_split",
    "fewshot_split",
    "process_docs",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "doc_to_image",
    "doc_to_audio",
    "process_results",
    "description",
    "target_delimiter",
    "fewshot_delimiter",
    "gen_prefix",
    "use_prompt",
    "should_decontaminate",
    "doc_to_decontamination_query",
    "unsafe_code",
    "multiple_inputs",
    "multiple_targets",
    "formats",
    "num_fewshot",
    "fewshot_config",
    "output_type",
    "generation_kwargs",
    "repeats",
    "filter_list",
    "metric_list",
    "scorer",
];

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
            return Err(Error::new(
                "the task is a Python class and cannot be read without Python",
            ));
        }
        check_keys(config)?;
        refuse(config)?;
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
        let prompting = prompting(&fields, format.as_ref(), &mut warnings)?;
        let shots = fields.shots()?;
        let shot_prompting = shots.prompting(&prompting)?;
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
            unsafe_code: config
                .get("unsafe_code")
                .and_then(Value::as_bool)
                .unwrap_or(false),
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

/// Unknown keys are errors with their place, so that a typo is not a default.
fn check_keys(config: &Config) -> Result<()> {
    for (key, setting) in config.iter() {
        if FIELDS.contains(&key) || matches!(key, "include" | "task_list" | "group") {
            continue;
        }
        let hint = did_you_mean(key, FIELDS.iter().copied())
            .unwrap_or_else(|| "see docs/reference/tasks.md for the keys of a task".to_owned());
        return Err(Error::new(format!("unknown key `{key}`"))
            .at(&setting.origin.place)
            .with_hint(hint));
    }
    Ok(())
}

/// What is read but cannot be done; a task must not run as if it were not there.
fn refuse(config: &Config) -> Result<()> {
    for (key, reason, hint) in [
        (
            "use_prompt",
            "prompts of other collections are not known",
            "write `doc_to_text` and `doc_to_target`",
        ),
        (
            "doc_to_image",
            "images cannot be sent",
            "choose a task with text only",
        ),
        (
            "doc_to_audio",
            "sound cannot be sent",
            "choose a task with text only",
        ),
    ] {
        if let Some(setting) = config
            .setting(key)
            .filter(|setting| !setting.value.is_null())
        {
            return Err(Error::new(format!("`{key}`: {reason}"))
                .at(&setting.origin.place)
                .with_hint(hint));
        }
    }
    Ok(())
}

fn text_of(value: &Value) -> Result<&str> {
    value
        .as_str()
        .ok_or_else(|| Error::new(format!("text was expected, found `{value}`")))
}

/// Reading fields with errors that name key and place.
pub(crate) struct Fields<'c> {
    pub(crate) config: &'c Config,
}

impl Fields<'_> {
    fn with<T>(&self, key: &str, read: impl FnOnce(&Value) -> Result<T>) -> Result<T> {
        let value = self.config.get(key).unwrap_or(&Value::Null);
        read(value).map_err(|error| {
            let error = error.prefixed(format!("`{key}`"));
            match self.config.place(key) {
                Some(place) => error.at(place),
                None => error,
            }
        })
    }

    fn optional<T>(&self, key: &str, read: impl FnOnce(&Value) -> Result<T>) -> Result<Option<T>> {
        match self.config.get(key) {
            None => Ok(None),
            Some(_) => self.with(key, read).map(Some),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>> {
        self.optional(key, |value| text_of(value).map(str::to_owned))
    }

    fn whole(&self, key: &str) -> Result<Option<usize>> {
        self.optional(key, |value| {
            let number = value
                .as_u64()
                .and_then(|number| usize::try_from(number).ok());
            number
                .ok_or_else(|| Error::new(format!("a whole number was expected, found `{value}`")))
        })
    }

    fn function(&self, key: &str) -> Result<Option<Function>> {
        self.optional(key, |value| {
            Function::from_json(value).ok_or_else(|| {
                Error::new(format!(
                    "`!function module.name` was expected, found `{value}`"
                ))
            })
        })
    }

    fn source(&self, key: &str) -> Result<Option<Source>> {
        // An empty template is a value, not an absence.
        self.optional(key, |value| Source::parse(key, value))
    }

    fn shots(&self) -> Result<ShotSource> {
        let shots = self.optional("fewshot_config", ShotSource::parse)?;
        let shots = shots.unwrap_or_else(|| ShotSource::new(Sampler::Random));
        Ok(shots)
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

/// Whether what the file says about scoring was meant for another output type.
fn replaced(fields: &Fields<'_>, format: Option<&Format>, output: OutputType) -> bool {
    let declared = fields
        .config
        .text("output_type")
        .unwrap_or("generate_until");
    format.is_some() && declared != output.name()
}

fn scorer<'f>(fields: &'f Fields<'_>, format: Option<&'f Format>) -> Option<&'f str> {
    let own = fields.config.get("scorer").and_then(|scorer| match scorer {
        Value::String(name) => Some(name.as_str()),
        other => other.get("type").and_then(Value::as_str),
    });
    format.and_then(|format| format.scorer.as_deref()).or(own)
}

fn metrics(
    fields: &Fields<'_>,
    format: Option<&Format>,
    output: OutputType,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Metric>> {
    let process = fields.config.get("process_results").is_some();
    let listed = fields.config.get("metric_list").is_some();
    if listed && !replaced(fields, format, output) {
        return fields.with("metric_list", |value| {
            Metric::list(value, output, process, warnings)
        });
    }
    if listed {
        let name = format.map_or("", |format| &format.name);
        warnings.push(Warning::new(format!(
            "format `{name}` changes the output type; metrics, filters and generation settings of the file are not used"
        )));
    }
    if output == OutputType::GenerateUntil && scorer(fields, format).is_some() {
        let list = json!([{"metric": "exact_match", "aggregation": "mean", "higher_is_better": true, "ignore_case": true, "ignore_punctuation": true}]);
        return Metric::list(&list, output, process, warnings);
    }
    Metric::default_list(output)
}

fn filters(
    fields: &Fields<'_>,
    format: Option<&Format>,
    output: OutputType,
) -> Result<Vec<Pipeline>> {
    if fields.config.get("filter_list").is_some() && !replaced(fields, format, output) {
        return fields.with("filter_list", Pipeline::list);
    }
    if output != OutputType::GenerateUntil {
        return Ok(Pipeline::default_list());
    }
    let steps = match scorer(fields, format) {
        None => return Ok(Pipeline::default_list()),
        Some("first_token") => {
            json!([{"function": "remove_whitespace"}, {"function": "take_first"}])
        }
        Some("regex") => json!([{"function": "regex"}, {"function": "take_first"}]),
        Some("choice_match") => json!([{"function": "take_first"}]),
        // The last one counts: the instruction may be repeated in the reasoning.
        Some("final_answer") => json!([
            {"function": "regex", "regex_pattern": r"(?i)the final answer is:?\s*(.*)", "group_select": -1},
            {"function": "take_first"}
        ]),
        Some(other) => {
            let names = ["first_token", "regex", "choice_match", "final_answer"];
            let hint = did_you_mean(other, names)
                .unwrap_or_else(|| format!("there are {}", quoted_list(&names, "and")));
            return Err(Error::new(format!("unknown scorer `{other}`")).with_hint(hint));
        }
    };
    let steps: Vec<Filter> = steps
        .as_array()
        .into_iter()
        .flatten()
        .map(Filter::parse)
        .collect::<Result<_>>()?;
    Ok(vec![Pipeline {
        name: "none".into(),
        steps,
    }])
}

fn generation(
    fields: &Fields<'_>,
    format: Option<&Format>,
    output: OutputType,
    prompting: &Prompting,
    warnings: &mut Vec<Warning>,
) -> Result<Map<String, Value>> {
    let given = fields.config.get("generation_kwargs");
    if output != OutputType::GenerateUntil {
        if given.is_some() {
            warnings.push(Warning::new(format!(
                "`generation_kwargs` has no effect on `{}`",
                output.name()
            )));
        }
        return Ok(Map::new());
    }
    // Reasoning has blank lines in it; cutting there would cut the answer off.
    let reasoning = format.is_some_and(|format| format.name == "cot");
    let stop = if reasoning {
        json!([])
    } else {
        json!([prompting.fewshot_delimiter])
    };
    let given = given.filter(|_| !replaced(fields, format, output));
    let Some(given) = given else {
        return Ok(Map::from_iter([
            ("temperature".to_owned(), json!(0.0)),
            ("do_sample".to_owned(), json!(false)),
            ("max_gen_toks".to_owned(), json!(256)),
            ("until".to_owned(), stop),
        ]));
    };
    let Some(map) = given.as_object() else {
        return fields.with("generation_kwargs", |value| {
            Err(Error::new(format!(
                "a mapping was expected, found `{value}`"
            )))
        });
    };
    let mut map = map.clone();
    match map.get("until") {
        None => {
            warnings.push(Warning::new(
                "`generation_kwargs` names no `until`; generation stops at the example delimiter",
            ));
            map.insert("until".into(), stop);
        }
        Some(Value::String(one)) => {
            let one = json!([one]);
            map.insert("until".into(), one);
        }
        Some(_) => {}
    }
    if let Some(temperature) = map.get("temperature").and_then(Value::as_f64) {
        map.insert("temperature".into(), json!(temperature));
    }
    Ok(map)
}
