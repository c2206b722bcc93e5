//! The engine: raw records become examples by the templates of a spec.
//!
//! One engine for all datasets. It does no I/O; rows come in, examples go out.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::choices::{MOST, Options};
use super::row::{Row, Rows};
use super::spec::{Choices, Config};
use super::template::Template;
use crate::dataset::{DatasetError, Misfit};
use crate::error::Location;
use crate::model::Example;
use crate::text::stringify::{is_truthy, kind};

/// Names that templates know besides the columns of a record. A column of the
/// same name is reached as `record.name`.
pub(super) const GIVEN: [&str; 6] = [
    "record",
    "index",
    "config",
    "split",
    "loop_index",
    "options_text",
];

/// Fields that every example begins with when it has them.
const FIRST: [&str; 7] = [
    "id",
    "context",
    "question",
    "answer",
    "answers",
    "choices",
    "correct_letter",
];

/// What a user may ask of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EngineSettings {
    /// How many records to look at; of datasets that make several examples of a
    /// record, how many examples to make.
    pub(super) max_examples: Option<usize>,
    /// Decides the order of shuffled options.
    pub(super) seed: u64,
    /// Leaves options in the order of the source.
    pub(super) keep_order: bool,
}

/// Which record a template is applied to.
struct At {
    place: Location,
    record: usize,
}

/// Makes examples of the records of one config.
pub(super) struct Engine {
    config: Config,
    settings: EngineSettings,
    /// Whether a template reads `record`, which costs a copy of it.
    needs_record: bool,
}

impl Engine {
    pub(super) fn new(config: Config, settings: EngineSettings) -> Self {
        let needs_record = mentioned(&config).contains("record");
        Self {
            config,
            settings,
            needs_record,
        }
    }

    /// The examples of these records.
    pub(super) fn examples(self, rows: Rows) -> Examples {
        Examples {
            engine: self,
            rows,
            index: 0,
            made: 0,
            ready: Vec::new().into_iter(),
        }
    }

    /// The examples of one record: none when it is to be skipped, nothing at
    /// all when it is of another config.
    fn record(&self, row: Row, index: usize) -> Result<Option<Vec<Example>>, DatasetError> {
        let at = At {
            place: row.at.clone(),
            record: index + 1,
        };
        let mut scope = self.scope(row, index);
        let variant = &self.config.variant;
        let holds = |template: &Template| -> Result<bool, DatasetError> {
            Ok(is_truthy(&self.value(template, &scope, &at)?))
        };
        if let Some(belongs) = &variant.belongs_when
            && !holds(belongs)?
        {
            return Ok(None);
        }
        if let Some(skip) = &variant.skip_when
            && holds(skip)?
        {
            return Ok(Some(Vec::new()));
        }
        let Some(each) = &variant.for_each else {
            return Ok(Some(vec![self.example(&mut scope, &at)?]));
        };
        let items = match self.value(&each.items, &scope, &at)? {
            Value::Array(items) => items,
            other => {
                let problem = format!("must be a list, found {}", kind(&other));
                return Err(self.misfit("for", &problem, &at));
            }
        };
        let mut examples = Vec::with_capacity(items.len());
        for (nth, item) in items.into_iter().enumerate() {
            scope.insert(each.name.clone(), item);
            scope.insert("loop_index".into(), nth.into());
            examples.push(self.example(&mut scope, &at)?);
        }
        Ok(Some(examples))
    }

    /// What templates see: the columns of the record and the given names.
    fn scope(&self, row: Row, index: usize) -> Map<String, Value> {
        let mut scope = row.fields;
        if self.needs_record {
            scope.insert("record".into(), Value::Object(scope.clone()));
        }
        scope.insert("index".into(), index.into());
        scope.insert("config".into(), self.config.name.clone().into());
        scope.insert("split".into(), self.config.split.clone().into());
        scope
    }

    fn example(&self, scope: &mut Map<String, Value>, at: &At) -> Result<Example, DatasetError> {
        let mut made = Map::new();
        let options = match &self.config.variant.choices {
            Some(choices) => {
                let options = self.options(choices, scope, at)?;
                scope.insert("options_text".into(), options.listed().into());
                Some(options)
            }
            None => None,
        };
        for (name, template) in &self.config.variant.fields {
            made.insert(name.clone(), self.value(template, scope, at)?);
        }
        if let Some(options) = options {
            self.choose(&mut made, options, at)?;
        }
        self.complete_answers(&mut made, at)?;
        Ok(Example::from(in_order(made)))
    }

    fn options(
        &self,
        choices: &Choices,
        scope: &Map<String, Value>,
        at: &At,
    ) -> Result<Options, DatasetError> {
        let texts = match self.value(&choices.options, scope, at)? {
            Value::Array(texts) if texts.len() <= MOST => texts,
            Value::Array(texts) => {
                let problem = format!("{} options are more than letters", texts.len());
                return Err(self.misfit("options", &problem, at));
            }
            other => {
                let problem = format!("must be a list, found {}", kind(&other));
                return Err(self.misfit("options", &problem, at));
            }
        };
        let correct = match self.value(&choices.correct, scope, at)? {
            Value::Null => None,
            Value::Number(n) if n.as_u64().is_some_and(|n| n < texts.len() as u64) => {
                n.as_u64().and_then(|n| usize::try_from(n).ok())
            }
            // Tables without types have numbers as text.
            Value::String(n) if n.trim().parse().is_ok_and(|n: usize| n < texts.len()) => {
                n.trim().parse().ok()
            }
            other => {
                let problem = format!(
                    "must be a place among {} options, found {other}",
                    texts.len()
                );
                return Err(self.misfit("correct", &problem, at));
            }
        };
        let mut options = Options { texts, correct };
        if choices.shuffle && !self.settings.keep_order {
            options.shuffle(self.settings.seed, &self.config.spec.name);
        }
        Ok(options)
    }

    /// The fields that options give: themselves, the right one, its letter, and
    /// the question with the options as context.
    fn choose(
        &self,
        made: &mut Map<String, Value>,
        options: Options,
        at: &At,
    ) -> Result<(), DatasetError> {
        if !made.contains_key("context") {
            let Some(question) = made.get("question").and_then(Value::as_str) else {
                return Err(self.misfit("question", "must be text", at));
            };
            let context = format!("{question}\n\n{}", options.listed());
            made.insert("context".into(), context.into());
        }
        if !made.contains_key("answer") {
            let right = options
                .correct
                .and_then(|at| options.texts.get(at))
                .cloned();
            made.insert("answer".into(), right.unwrap_or_else(|| "".into()));
        }
        made.insert("correct_letter".into(), options.letter().into());
        made.insert("choices".into(), options.texts.into());
        Ok(())
    }

    /// `answer` is the first of `answers`, and no answer is there twice.
    fn complete_answers(&self, made: &mut Map<String, Value>, at: &At) -> Result<(), DatasetError> {
        let answers = match made.shift_remove("answers") {
            None => return Ok(()),
            Some(Value::Array(answers)) => answers,
            Some(other) => {
                let problem = format!("must be a list, found {}", kind(&other));
                return Err(self.misfit("answers", &problem, at));
            }
        };
        let first = made.get("answer").filter(|answer| **answer != "").cloned();
        let mut distinct: Vec<Value> = Vec::new();
        for answer in first.into_iter().chain(answers) {
            if !answer.is_null() && !distinct.contains(&answer) {
                distinct.push(answer);
            }
        }
        let answer = distinct.first().cloned().unwrap_or_else(|| "".into());
        made.insert("answer".into(), answer);
        made.insert("answers".into(), distinct.into());
        Ok(())
    }

    fn value(
        &self,
        template: &Template,
        scope: &Map<String, Value>,
        at: &At,
    ) -> Result<Value, DatasetError> {
        let value = template.value(scope);
        value.map_err(|problem| self.misfit(template.key(), &problem, at))
    }

    fn misfit(&self, field: &str, problem: &str, at: &At) -> DatasetError {
        DatasetError::Misfit(Box::new(Misfit {
            dataset: self.config.full_name(),
            field: field.to_owned(),
            problem: problem.to_owned(),
            record: at.record,
            at: at.place.clone(),
        }))
    }
}

/// The columns that the templates of a config read; `None` when it cannot be
/// known, because a function prepares the records or a template reads `record`.
pub(super) fn columns(config: &Config) -> Option<Vec<String>> {
    if config.spec.prepare.is_some() {
        return None;
    }
    let mut names = mentioned(config);
    if names.remove("record") {
        return None;
    }
    for given in GIVEN {
        names.remove(given);
    }
    if let Some(each) = &config.variant.for_each {
        names.remove(&each.name);
    }
    Some(names.into_iter().collect())
}

/// All names that the templates of a config mention.
fn mentioned(config: &Config) -> BTreeSet<String> {
    let variant = &config.variant;
    let mut templates: Vec<&Template> = variant.fields.values().collect();
    templates.extend(&variant.belongs_when);
    templates.extend(&variant.skip_when);
    templates.extend(variant.for_each.as_ref().map(|each| &each.items));
    if let Some(choices) = &variant.choices {
        templates.extend([&choices.options, &choices.correct]);
    }
    let names = templates.into_iter().flat_map(Template::names);
    names.cloned().collect()
}

/// The well-known fields first, the others as the spec has them.
fn in_order(mut made: Map<String, Value>) -> Map<String, Value> {
    let mut ordered = Map::new();
    for name in FIRST {
        if let Some(value) = made.shift_remove(name) {
            ordered.insert(name.into(), value);
        }
    }
    ordered.extend(made);
    ordered
}

/// The stream of examples of one config. An error about one record leaves the
/// rest readable.
pub(super) struct Examples {
    engine: Engine,
    rows: Rows,
    /// The place of the next record, from 0.
    index: usize,
    made: usize,
    ready: std::vec::IntoIter<Example>,
}

impl Iterator for Examples {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let most = self.engine.settings.max_examples.unwrap_or(usize::MAX);
        let by_example = self.engine.config.variant.for_each.is_some();
        loop {
            if by_example && self.made >= most {
                return None;
            }
            if let Some(example) = self.ready.next() {
                self.made += 1;
                return Some(Ok(example));
            }
            if !by_example && self.index >= most {
                return None;
            }
            let row = match self.rows.next()? {
                Ok(row) => row,
                Err(error) => {
                    self.index += 1;
                    return Some(Err(error));
                }
            };
            match self.engine.record(row, self.index) {
                Ok(None) => {}
                Ok(Some(examples)) => {
                    self.index += 1;
                    self.ready = examples.into_iter();
                }
                Err(error) => {
                    self.index += 1;
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::catalogue::Catalogue;

    #[test]
    fn only_the_columns_that_templates_read_are_asked_for() {
        for (name, expected) in [
            ("gsm8k", Some(vec!["answer", "question"])),
            (
                "hotpotqa",
                Some(vec!["answer", "context", "id", "question", "type"]),
            ),
            (
                "mmlu",
                Some(vec!["answer", "choices", "question", "subject"]),
            ),
            (
                "musique",
                Some(vec![
                    "answer",
                    "answer_aliases",
                    "id",
                    "paragraphs",
                    "question",
                ]),
            ),
            // Reads the whole record by name, and prepares it in code.
            ("gpqa", None),
            ("qasper", None),
        ] {
            let spec = Catalogue::builtin().get(name).expect(name);
            let config = spec.select(None, None).expect(name).remove(0);
            let found = columns(&config);
            let found = found.as_ref();
            let found = found.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found, expected, "{name}");
        }
    }
}
