//! The filter `regex`: the text a pattern finds.

use context_bench_template::python::regex::Regex;
use context_bench_template::python::strip;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

const PATTERN: &str = r"#### (\-?[0-9\.\,]+)";

/// A pattern, which of its matches counts, and what stands for none.
#[derive(Debug)]
pub struct RegexFilter {
    pub(super) regex: Regex,
    pub(super) select: i64,
    pub(super) fallback: Value,
}

impl RegexFilter {
    pub(super) fn parse(arguments: &Map<String, Value>) -> Result<Self> {
        let pattern = match arguments.get("regex_pattern") {
            None => PATTERN,
            Some(Value::String(pattern)) => pattern,
            Some(other) => {
                return Err(Error::new(format!(
                    "`regex_pattern` must be text, found `{other}`"
                )));
            }
        };
        let select = match arguments.get("group_select") {
            None => 0,
            Some(value) => value.as_i64().ok_or_else(|| {
                Error::new(format!(
                    "`group_select` must be a whole number, found `{value}`"
                ))
            })?,
        };
        let fallback = arguments.get("fallback").cloned();
        Ok(Self {
            regex: Regex::new(pattern).map_err(|error| wrong(&error))?,
            select,
            fallback: fallback.unwrap_or_else(|| Value::from("[invalid]")),
        })
    }

    /// What is found in a response, or the fallback.
    pub(super) fn find(&self, response: &Value) -> Result<Value> {
        Ok(match self.search(response.as_str().unwrap_or(""))? {
            None => self.fallback.clone(),
            Some(RegexMatch::Text(text)) => Value::from(strip(&text)),
            Some(RegexMatch::AllEmpty) => self.fallback.clone(),
        })
    }

    pub(super) fn search(&self, text: &str) -> Result<Option<RegexMatch>> {
        let failed = |error: context_bench_template::python::regex::RegexError| {
            Error::new(error.to_string())
        };
        let found = self.regex.find_all(text).map_err(failed)?;
        if found.is_empty() {
            return Ok(None);
        }
        let n = i64::try_from(found.len()).unwrap_or(i64::MAX);
        let at = if self.select < 0 {
            n + self.select
        } else {
            self.select
        };
        let Some(found) = usize::try_from(at).ok().and_then(|at| found.get(at)) else {
            let message = format!(
                "`group_select` is {}, but there are {n} matches",
                self.select
            );
            return Err(
                Error::new(message).with_hint("use 0 for the first match or -1 for the last")
            );
        };
        let group =
            |span: &Option<(usize, usize)>| span.map_or("", |(start, end)| &text[start..end]);
        Ok(Some(match &found.groups[..] {
            [] => RegexMatch::Text(text[found.start..found.end].to_owned()),
            [only] => RegexMatch::Text(group(only).to_owned()),
            several => match several.iter().map(group).find(|text| !text.is_empty()) {
                Some(text) => RegexMatch::Text(text.to_owned()),
                None => RegexMatch::AllEmpty,
            },
        }))
    }
}

/// What a match gave.
pub(super) enum RegexMatch {
    Text(String),
    /// Several groups, none of which took part.
    AllEmpty,
}

/// The second member of every `('token', 'TAG')` in a text.
pub(super) fn tags(text: &str) -> Vec<String> {
    let Ok(regex) = Regex::new(r"\('[^']*',\s*'([^']*)'\)") else {
        return Vec::new();
    };
    let found = regex.find_all(text).unwrap_or_default();
    found
        .iter()
        .filter_map(|found| found.groups.first().copied().flatten())
        .map(|(start, end)| text[start..end].to_owned())
        .collect()
}

/// What is wrong with a pattern that a user wrote.
pub(super) fn wrong(error: &impl std::fmt::Display) -> Error {
    Error::new(error.to_string())
        .with_hint("patterns are those of Python's `re`; `\\(` is a parenthesis itself")
}
