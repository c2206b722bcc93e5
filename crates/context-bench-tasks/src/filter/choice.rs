//! The filter `multi_choice_regex`: the letter of the choice a response names.

use context_bench_template::python;
use context_bench_template::python::regex::Regex;
use serde_json::{Map, Value};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::Record;
use super::regex::{RegexFilter, RegexMatch, wrong};
use crate::error::{Error, Result};

/// A pattern, then the texts of the choices, then their letters.
#[derive(Debug)]
pub struct ChoiceRegex {
    regex: RegexFilter,
    ignore_case: bool,
    ignore_punctuation: bool,
    ignored: Vec<Regex>,
}

impl ChoiceRegex {
    pub(super) fn parse(arguments: &Map<String, Value>) -> Result<Self> {
        let truth = |key: &str| arguments.get(key).is_some_and(crate::truth::truthy);
        let ignored = match arguments.get("regexes_to_ignore") {
            None | Some(Value::Null) => Vec::new(),
            Some(value) => patterns(value)?,
        };
        Ok(Self {
            regex: RegexFilter::parse(arguments)?,
            ignore_case: truth("ignore_case"),
            ignore_punctuation: truth("ignore_punctuation"),
            ignored,
        })
    }

    pub(super) fn apply(&self, responses: &[Value], record: &Record) -> Result<Vec<Value>> {
        let Some(choices) = record.get("choices").and_then(Value::as_array) else {
            return Err(Error::new(
                "`multi_choice_regex` needs a list `choices` in every record",
            ));
        };
        let letter = |i: usize| char::from_u32(u32::from(b'A') + i as u32).unwrap_or('?');
        let texts: Vec<String> = choices
            .iter()
            .map(|choice| self.normal(python::strip(&python::str(choice))))
            .collect::<Result<_>>()?;
        let by_text = pick(&texts)?;
        let letters: Vec<String> = (0..choices.len()).map(|i| letter(i).to_string()).collect();
        let by_letter = Regex::new(&format!(r":[\s]*({})", letters.join("|")));
        let by_letter = by_letter.map_err(|error| Error::new(error.to_string()))?;
        let find = |response: &Value| -> Result<Value> {
            let text = response.as_str().unwrap_or("");
            let written = match self.regex.search(text)? {
                Some(RegexMatch::Text(found)) => python::strip(&found).to_owned(),
                Some(RegexMatch::AllEmpty) | None => String::new(),
            };
            if !written.is_empty() {
                return Ok(Value::from(written));
            }
            if let Some(regex) = &by_text {
                let normal = self.normal(text)?;
                if let Some(found) = self.selected(regex, &normal)? {
                    let i = texts.iter().position(|text| *text == found);
                    return Ok(Value::from(format!("({})", letter(i.unwrap_or(0)))));
                }
            }
            Ok(match self.selected(&by_letter, text)? {
                Some(found) => Value::from(format!("({found})")),
                None => self.regex.fallback.clone(),
            })
        };
        responses.iter().map(find).collect()
    }

    /// The match that `group_select` asks for, its group when it has one.
    fn selected(&self, regex: &Regex, text: &str) -> Result<Option<String>> {
        let found = regex
            .find_all(text)
            .map_err(|error| Error::new(error.to_string()))?;
        let n = i64::try_from(found.len()).unwrap_or(i64::MAX);
        let at = if self.regex.select < 0 {
            n + self.regex.select
        } else {
            self.regex.select
        };
        let found = usize::try_from(at).ok().and_then(|at| found.get(at));
        Ok(found.map(|found| {
            let group = found.groups.first().copied().flatten();
            let (start, end) = group.unwrap_or((found.start, found.end));
            text[start..end].to_owned()
        }))
    }

    fn normal(&self, text: &str) -> Result<String> {
        let mut text = text.to_owned();
        for regex in &self.ignored {
            text = regex
                .sub("", &text, 0)
                .map_err(|error| Error::new(error.to_string()))?;
        }
        if self.ignore_case {
            text = text.to_lowercase();
        }
        if self.ignore_punctuation {
            text.retain(|c| c.general_category_group() != GeneralCategoryGroup::Punctuation);
        }
        Ok(text)
    }
}

/// The texts as alternatives, in order; nothing when there are none.
fn pick(texts: &[String]) -> Result<Option<Regex>> {
    let escaped: Vec<String> = texts
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| escape(text))
        .collect();
    if escaped.is_empty() {
        return Ok(None);
    }
    let regex = Regex::new(&escaped.join("|")).map_err(|error| Error::new(error.to_string()))?;
    Ok(Some(regex))
}

/// The text as a pattern that matches only itself.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Patterns of a list.
pub(crate) fn patterns(value: &Value) -> Result<Vec<Regex>> {
    let Some(items) = value.as_array() else {
        return Err(Error::new(format!(
            "a list of patterns was expected, found `{value}`"
        )));
    };
    let compile = |item: &Value| {
        let pattern = item
            .as_str()
            .ok_or_else(|| Error::new(format!("a pattern must be text, found `{item}`")))?;
        Regex::new(pattern).map_err(|error| wrong(&error))
    };
    items.iter().map(compile).collect()
}
