//! Filters: from raw responses to what is scored.
//!
//! A pipeline sees, per request, the list of its responses; steps run in order over
//! all requests of a task.

pub(crate) mod choice;
mod regex;
mod span;

use choice::ChoiceRegex;
use context_bench_error::suggest::{did_you_mean, quoted_list};
use context_bench_template::python;
use regex::RegexFilter;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::function::{Function, Host};
use crate::registered::{Kind, Modules};

/// A record of a dataset.
pub type Record = Map<String, Value>;

/// A named sequence of steps.
#[derive(Debug)]
pub struct Pipeline {
    /// Part of the metric's key: `exact_match,<name>`.
    pub name: String,
    /// The steps in order.
    pub steps: Vec<Filter>,
}

/// Whether a filter of this name is built in.
pub fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// One step.
#[derive(Debug)]
pub enum Filter {
    /// The first response alone, instead of a list.
    TakeFirst,
    /// The first `k` responses.
    TakeFirstK(usize),
    /// The most frequent response.
    MajorityVote,
    /// What a pattern finds.
    Regex(RegexFilter),
    /// The tags of `('token', 'TAG')` pairs.
    RegexPos(Value),
    /// The choice a response names.
    MultiChoiceRegex(ChoiceRegex),
    /// Without white space around.
    RemoveWhitespace,
    /// In lower case.
    Lowercase,
    /// In upper case.
    Uppercase,
    /// Looked up in a table.
    Map {
        /// From response to value.
        table: Map<String, Value>,
        /// What is not in the table.
        default: Value,
    },
    /// Named entities in one spelling.
    FormatSpan,
    /// As it is.
    Noop,
    /// A function over all responses and records.
    Custom(Function),
    /// A filter class of the task's own, by reference or by the name it registered.
    Class(Function, Map<String, Value>),
}

const NAMES: &[&str] = &[
    "take_first",
    "take_first_k",
    "majority_vote",
    "regex",
    "regex_pos",
    "multi_choice_regex",
    "remove_whitespace",
    "lowercase",
    "uppercase",
    "map",
    "format_span",
    "custom",
    "noop",
    "decontaminate",
];

impl Pipeline {
    /// The pipeline of tasks that name none: the first response.
    pub fn default_list() -> Vec<Self> {
        vec![Self {
            name: "none".into(),
            steps: vec![Filter::TakeFirst],
        }]
    }

    /// Reads a `filter_list`; names that are not built in may be registered by the
    /// modules of the task.
    pub fn list(value: &Value, modules: &Modules) -> Result<Vec<Self>> {
        let Some(entries) = value.as_array() else {
            return Err(Error::new("`filter_list` must be a list"));
        };
        entries
            .iter()
            .map(|entry| Self::parse(entry, modules))
            .collect()
    }

    fn parse(entry: &Value, modules: &Modules) -> Result<Self> {
        let wrong = || Error::new("an entry of `filter_list` needs `name` and `filter`");
        let name = entry
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(wrong)?;
        let steps = entry
            .get("filter")
            .and_then(Value::as_array)
            .ok_or_else(wrong)?;
        if let Some(unknown) = entry.as_object().and_then(|map| {
            map.keys()
                .find(|key| !matches!(key.as_str(), "name" | "filter" | "metric_list"))
        }) {
            let keys = ["name", "filter", "metric_list"];
            let hint = did_you_mean(unknown, keys);
            return Err(
                Error::new(format!("filter `{name}` has an unknown key `{unknown}`"))
                    .with_some_hint(hint),
            );
        }
        let step = |step: &Value| {
            let step = Filter::parse(step, modules);
            step.map_err(|error| error.prefixed(format!("filter `{name}`")))
        };
        Ok(Self {
            name: name.to_owned(),
            steps: steps.iter().map(step).collect::<Result<_>>()?,
        })
    }

    /// Whether a step looks at the records.
    pub(crate) fn needs_records(&self) -> bool {
        self.steps.iter().any(|step| {
            matches!(
                step,
                Filter::MultiChoiceRegex(_) | Filter::Custom(_) | Filter::Class(..)
            )
        })
    }

    /// Runs all steps. Responses of one request come as a list; each result is a list, or
    /// one value after `take_first`.
    pub fn apply(
        &self,
        responses: Vec<Vec<Value>>,
        records: &[Record],
        host: &dyn Host,
    ) -> Result<Vec<Value>> {
        let mut state: Vec<Value> = responses.into_iter().map(Value::Array).collect();
        for step in &self.steps {
            state = step
                .apply(state, records, host)
                .map_err(|error| error.prefixed(format!("filter `{}`", self.name)))?;
        }
        Ok(state)
    }
}

impl Filter {
    /// Reads a step: `function` and its arguments beside it or in `kwargs`.
    pub fn parse(step: &Value, modules: &Modules) -> Result<Self> {
        let Some(map) = step.as_object() else {
            return Err(Error::new(format!(
                "a step must be a mapping, found `{step}`"
            )));
        };
        let mut arguments = map.clone();
        let function = arguments.shift_remove("function");
        if let Some(Value::Object(more)) = arguments.shift_remove("kwargs") {
            arguments.extend(more);
        }
        match function {
            Some(Value::String(name)) => match modules.find(Kind::Filter, &name) {
                Some(class) if !is_known(&name) => Ok(Filter::Class(class, arguments)),
                _ => Self::named(&name, &arguments),
            },
            Some(value) => match Function::from_json(&value) {
                Some(function) => Ok(Filter::Class(function, arguments)),
                None => Err(Error::new(format!(
                    "`function` must be a name, found `{value}`"
                ))),
            },
            None => {
                Err(Error::new("a step needs `function`")
                    .with_hint("write `- function: take_first`"))
            }
        }
    }

    /// A built-in filter.
    pub fn named(name: &str, arguments: &Map<String, Value>) -> Result<Self> {
        let allow = |keys: &[&str]| match arguments.keys().find(|key| !keys.contains(&key.as_str()))
        {
            None => Ok(()),
            Some(unknown) => Err(Error::new(format!("`{name}` has no argument `{unknown}`"))
                .with_some_hint(did_you_mean(unknown, keys.iter().copied()))),
        };
        const REGEX: &[&str] = &["regex_pattern", "group_select", "fallback"];
        Ok(match name {
            "take_first" => allow(&[]).map(|()| Filter::TakeFirst)?,
            "majority_vote" => allow(&[]).map(|()| Filter::MajorityVote)?,
            "remove_whitespace" => allow(&[]).map(|()| Filter::RemoveWhitespace)?,
            "lowercase" => allow(&[]).map(|()| Filter::Lowercase)?,
            "uppercase" => allow(&[]).map(|()| Filter::Uppercase)?,
            "format_span" => allow(&[]).map(|()| Filter::FormatSpan)?,
            "noop" => Filter::Noop,
            "decontaminate" => Filter::Noop,
            "take_first_k" => {
                allow(&["k"])?;
                let k = arguments.get("k").and_then(Value::as_u64);
                let k = k.ok_or_else(|| Error::new("`take_first_k` needs a whole number `k`"))?;
                Filter::TakeFirstK(usize::try_from(k).unwrap_or(usize::MAX))
            }
            "regex" => {
                allow(REGEX)?;
                Filter::Regex(RegexFilter::parse(arguments)?)
            }
            "regex_pos" => {
                allow(REGEX)?;
                let fallback = arguments.get("fallback").cloned();
                Filter::RegexPos(fallback.unwrap_or_else(|| serde_json::json!(["invalid"])))
            }
            "multi_choice_regex" => {
                let more = ["ignore_case", "ignore_punctuation", "regexes_to_ignore"];
                allow(&[REGEX, &more].concat())?;
                Filter::MultiChoiceRegex(ChoiceRegex::parse(arguments)?)
            }
            "map" => {
                allow(&["mapping_dict", "default_value"])?;
                let table = match arguments.get("mapping_dict") {
                    None => Map::new(),
                    Some(Value::Object(table)) => table.clone(),
                    Some(other) => {
                        return Err(Error::new(format!(
                            "`mapping_dict` must be a mapping, found `{other}`"
                        )));
                    }
                };
                let default = arguments
                    .get("default_value")
                    .cloned()
                    .unwrap_or(Value::Null);
                Filter::Map { table, default }
            }
            "custom" => match arguments.get("filter_fn").and_then(Function::from_json) {
                Some(function) => Filter::Custom(function),
                None => {
                    return Err(Error::new(
                        "`custom` needs `filter_fn: !function module.name`",
                    ));
                }
            },
            other => {
                let hint = did_you_mean(other, NAMES.iter().copied())
                    .unwrap_or_else(|| format!("there are {}", quoted_list(NAMES, "and")));
                return Err(Error::new(format!("unknown filter `{other}`")).with_hint(hint));
            }
        })
    }

    /// Runs the step over all requests.
    pub fn apply(
        &self,
        state: Vec<Value>,
        records: &[Record],
        host: &dyn Host,
    ) -> Result<Vec<Value>> {
        let each = |change: &dyn Fn(&str) -> Value| -> Result<Vec<Value>> {
            Ok(state.iter().map(|list| mapped(list, change)).collect())
        };
        match self {
            Filter::Noop => Ok(state),
            Filter::TakeFirst => {
                let first = |list: Value| match list {
                    Value::Array(items) => items
                        .into_iter()
                        .next()
                        .ok_or_else(|| Error::new("a request has no response")),
                    one => Ok(one),
                };
                state.into_iter().map(first).collect()
            }
            Filter::TakeFirstK(k) => {
                if let Some(first) = state.first().map(items).filter(|first| first.len() < *k) {
                    let n = first.len();
                    return Err(Error::new(format!(
                        "`take_first_k` needs {k} responses, there are {n}"
                    ))
                    .with_hint("set `repeats` to at least `k`"));
                }
                Ok(state
                    .iter()
                    .map(|list| items(list).iter().take(*k).cloned().collect())
                    .collect())
            }
            Filter::MajorityVote => state.iter().map(majority).collect(),
            Filter::RemoveWhitespace => each(&|text| Value::from(python::strip(text))),
            Filter::Lowercase => each(&|text| Value::from(text.to_lowercase())),
            Filter::Uppercase => each(&|text| Value::from(text.to_uppercase())),
            Filter::FormatSpan => each(&|text| Value::from(span::format(text))),
            Filter::Map { table, default } => {
                each(&|text| table.get(text).unwrap_or(default).clone())
            }
            Filter::Regex(filter) => {
                let lists = state.iter().map(|list| {
                    items(list)
                        .iter()
                        .map(|item| filter.find(item))
                        .collect::<Result<Vec<_>>>()
                });
                lists.map(|list| list.map(Value::Array)).collect()
            }
            Filter::RegexPos(fallback) => {
                let tags = |text: &str| {
                    let tags = regex::tags(text);
                    if tags.is_empty() {
                        fallback.clone()
                    } else {
                        Value::from(tags)
                    }
                };
                each(&tags)
            }
            Filter::MultiChoiceRegex(filter) => {
                let lists = state
                    .iter()
                    .zip(records)
                    .map(|(list, record)| filter.apply(items(list), record));
                lists.map(|list| list.map(Value::Array)).collect()
            }
            Filter::Custom(function) => {
                let records = records.iter().cloned().map(Value::Object).collect();
                list_of(host.call(function, &[Value::Array(state), records])?)
            }
            Filter::Class(function, arguments) => {
                let mut keywords = arguments.clone();
                keywords.insert("resps".into(), Value::Array(state));
                let records = records.iter().cloned().map(Value::Object).collect();
                keywords.insert("docs".into(), records);
                list_of(host.call_with(function, &keywords)?)
            }
        }
    }
}

/// A list from Python, which may be a tuple; so may be the responses of a request.
fn list_of(value: Value) -> Result<Vec<Value>> {
    match crate::python::value::plain(value) {
        Value::Array(items) => Ok(items),
        other => Err(Error::new(format!(
            "a list was expected from a function, found `{other}`"
        ))),
    }
}

/// The responses of a request; one alone after `take_first`.
fn items(list: &Value) -> &[Value] {
    match list {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// Changes text; other responses, such as likelihoods, count as empty text only where
/// a filter says so.
fn mapped(list: &Value, change: &dyn Fn(&str) -> Value) -> Value {
    let one = |item: &Value| match item.as_str() {
        Some(text) => change(text),
        None => item.clone(),
    };
    match list {
        Value::Array(items) => items.iter().map(one).collect(),
        item => one(item),
    }
}

/// The most frequent response; of several, the one seen first.
fn majority(list: &Value) -> Result<Value> {
    let items = items(list);
    let mut best: Option<(usize, &Value)> = None;
    for (i, item) in items.iter().enumerate() {
        if items[..i].contains(item) {
            continue;
        }
        let n = items[i..].iter().filter(|other| *other == item).count();
        if best.is_none_or(|(most, _)| n > most) {
            best = Some((n, item));
        }
    }
    match best {
        Some((_, item)) => Ok(Value::Array(vec![item.clone()])),
        None => Err(Error::new("a request has no response to vote on")),
    }
}
