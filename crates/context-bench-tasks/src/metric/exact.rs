//! `exact_match` of texts with its options.

use context_bench_error::suggest::did_you_mean;
use context_bench_template::python::regex::Regex;
use serde_json::{Map, Value};

use super::repeats::Reduction;
use crate::error::{Error, Result, Warning};
use crate::filter::choice::patterns;
use crate::truth;

const KEYS: &[&str] = &[
    "regexes_to_ignore",
    "ignore_case",
    "ignore_punctuation",
    "ignore_numbers",
    "reduction",
    "k",
];

/// What is removed before texts are compared.
#[derive(Debug, Default)]
pub struct ExactMatch {
    ignored: Vec<Regex>,
    case: bool,
    punctuation: bool,
    numbers: bool,
    /// What becomes of several tries.
    pub reduction: Reduction,
}

impl ExactMatch {
    /// Reads the arguments of the metric.
    pub fn parse(arguments: &Map<String, Value>, warnings: &mut Vec<Warning>) -> Result<Self> {
        if let Some(unknown) = arguments.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(
                Error::new(format!("`exact_match` has no argument `{unknown}`"))
                    .with_some_hint(did_you_mean(unknown, KEYS.iter().copied())),
            );
        }
        let mut truth = |key: &str| {
            let value = arguments.get(key);
            value.is_some_and(|value| truth::read(key, value, warnings))
        };
        Ok(Self {
            ignored: match arguments.get("regexes_to_ignore") {
                None | Some(Value::Null) => Vec::new(),
                Some(value) => patterns(value)?,
            },
            case: truth("ignore_case"),
            punctuation: truth("ignore_punctuation"),
            numbers: truth("ignore_numbers"),
            reduction: Reduction::parse(arguments.get("reduction"), arguments.get("k"))?,
        })
    }

    /// Whether two texts are the same after what is ignored.
    pub fn matches(&self, prediction: &str, reference: &str) -> Result<bool> {
        Ok(self.normal(prediction)? == self.normal(reference)?)
    }

    fn normal(&self, text: &str) -> Result<String> {
        let mut text = text.to_owned();
        for regex in &self.ignored {
            text = regex
                .sub("", &text, 0)
                .map_err(|error| Error::new(error.to_string()))?;
        }
        if self.case {
            text = text.to_lowercase();
        }
        if self.punctuation {
            text.retain(|c| !c.is_ascii_punctuation());
        }
        if self.numbers {
            text.retain(|c| !c.is_ascii_digit());
        }
        Ok(text)
    }
}
