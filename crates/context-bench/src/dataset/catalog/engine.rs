//! The engine: raw records become examples by the templates of a spec.
//!
//! One engine for all datasets. It does no I/O; rows come in, examples go out.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::ahead::ahead;
use super::fields::{Fields, Known, Layout};
use super::row::{Row, Rows};
use super::scope::{GIVEN, Item, Scope, reads_whole};
use super::shuffled_options::{MOST, Options};
use super::spec::{Choices, Config};
use super::template::Template;
use crate::dataset::{BadField, DatasetError, Examples};
use crate::error::Place;
use crate::model::{Example, OPTIONS_APART, QUESTION_IN_CONTEXT};
use crate::text::stringify::{is_truthy, kind};

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

/// What became of a record.
enum RecordExamples {
    /// It is of another config.
    OtherConfig,
    One(Example),
    /// Several, or none when it is to be skipped.
    Many(Vec<Example>),
}

/// Which record a template is applied to.
struct RecordPlace {
    place: Place,
    record: usize,
}

/// Makes examples of the records of one config.
pub(super) struct Engine {
    config: Config,
    settings: EngineSettings,
    /// The names of config and split, as templates see them.
    config_name: Value,
    split_name: Value,
    layout: Layout,
    /// Per field whether it takes its column out of the record instead of
    /// copying it: the last field that is just that column does.
    takes: Vec<bool>,
    /// Whether a template reads the record as one value.
    reads_whole: bool,
    /// Whether a template reads the options as text.
    reads_options: bool,
}

impl Engine {
    pub(super) fn new(config: Config, settings: EngineSettings) -> Self {
        let reads_whole = templates(&config).any(reads_whole);
        Self {
            config_name: config.name.clone().into(),
            split_name: config.split.clone().into(),
            layout: Layout::of(&config.variant),
            takes: takers(&config),
            reads_whole,
            reads_options: mentioned(&config).contains("options_text"),
            config,
            settings,
        }
    }

    /// The examples of these records. Of many, they are made ahead.
    pub(super) fn examples(self, rows: Rows, many: bool) -> Examples {
        let most = self.settings.max_examples.unwrap_or(usize::MAX);
        let makes_several = self.config.variant.for_each.is_some();
        // A record's place among those of its config is known in advance only
        // when all records are of that config.
        let mut examples: Examples = if many && self.config.variant.belongs_when.is_none() {
            let most = if makes_several { usize::MAX } else { most };
            let make = move |row: Result<Row, DatasetError>, index, out: &mut Vec<_>| match row
                .and_then(|row| self.record(row, index))
            {
                Ok(RecordExamples::OtherConfig) => {}
                Ok(RecordExamples::One(example)) => out.push(Ok(example)),
                Ok(RecordExamples::Many(examples)) => out.extend(examples.into_iter().map(Ok)),
                Err(error) => out.push(Err(error)),
            };
            ahead(rows, most, Arc::new(make))
        } else {
            Box::new(OneByOne {
                engine: self,
                rows,
                index: 0,
                ready: Vec::new().into_iter(),
            })
        };
        if !makes_several {
            return examples;
        }
        let mut left = most;
        // Nothing is read for examples beyond the last that is wanted.
        Box::new(std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let example = examples.next()?;
            left -= usize::from(example.is_ok());
            Some(example)
        }))
    }

    fn record(&self, row: Row, index: usize) -> Result<RecordExamples, DatasetError> {
        let at = RecordPlace {
            place: row.at,
            record: index + 1,
        };
        let mut scope = Scope {
            whole: self.reads_whole.then(|| row.record.clone().into()),
            record: row.record,
            index: index.into(),
            config: &self.config_name,
            split: &self.split_name,
            item: None,
            options_text: None,
        };
        let variant = &self.config.variant;
        let holds = |template: &Template| -> Result<bool, DatasetError> {
            Ok(is_truthy(&self.value(template, &scope, &at)?))
        };
        if let Some(belongs) = &variant.belongs_when
            && !holds(belongs)?
        {
            return Ok(RecordExamples::OtherConfig);
        }
        if let Some(skip) = &variant.skip_when
            && holds(skip)?
        {
            return Ok(RecordExamples::Many(Vec::new()));
        }
        let Some(each) = &variant.for_each else {
            return self.example(&mut scope, &at).map(RecordExamples::One);
        };
        let items = match self.value(&each.items, &scope, &at)? {
            Value::Array(items) => items,
            other => {
                let problem = format!("must be a list, found {}", kind(&other));
                return Err(self.misfit("for", &problem, &at));
            }
        };
        let mut examples = Vec::with_capacity(items.len());
        for (nth, value) in items.into_iter().enumerate() {
            scope.item = Some(Item {
                name: &each.name,
                value,
                index: nth.into(),
            });
            examples.push(self.example(&mut scope, &at)?);
        }
        Ok(RecordExamples::Many(examples))
    }

    fn example(&self, scope: &mut Scope<'_>, at: &RecordPlace) -> Result<Example, DatasetError> {
        let variant = &self.config.variant;
        let options = match &variant.choices {
            Some(choices) => {
                let options = self.options(choices, scope, at)?;
                if self.reads_options {
                    scope.options_text = Some(options.listed().into());
                }
                Some(options)
            }
            None => None,
        };
        let mut fields = self.layout.fields();
        // Those that take something away come last.
        for taking in [false, true] {
            let templates = variant.fields.values().zip(&self.takes).enumerate();
            for (i, (template, _)) in templates.filter(|(_, (_, takes))| **takes == taking) {
                let taken = template.column().filter(|_| taking);
                let value = match taken.and_then(|column| scope.take(column)) {
                    Some(value) => value,
                    None => self.value(template, scope, at)?,
                };
                fields.put(i, value);
            }
        }
        let (mut is_once, mut is_apart) = (false, false);
        if let Some(options) = options {
            is_once = fields.get(Known::Context).is_none();
            is_apart = !is_once && !self.reads_options;
            self.choose(&mut fields, options, at)?;
        }
        self.complete_answers(&mut fields, at)?;
        // A question that is its own context, or stands there with its options, is asked
        // once.
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let context = fields.get(Known::Context).filter(|value| is_text(value));
        is_once |= context.is_some() && context == fields.get(Known::Question);
        let mut example: Example = fields.into();
        if is_once {
            example = example.with(QUESTION_IN_CONTEXT, true);
        }
        if is_apart {
            example = example.with(OPTIONS_APART, true);
        }
        Ok(example)
    }

    fn options(
        &self,
        choices: &Choices,
        scope: &Scope<'_>,
        at: &RecordPlace,
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
        fields: &mut Fields<'_>,
        options: Options,
        at: &RecordPlace,
    ) -> Result<(), DatasetError> {
        if fields.get(Known::Context).is_none() {
            let Some(question) = fields.get(Known::Question).and_then(Value::as_str) else {
                return Err(self.misfit("question", "must be text", at));
            };
            let context = [question, "\n\n", &options.listed()].concat();
            fields.set(Known::Context, context.into());
        }
        if fields.get(Known::Answer).is_none() {
            let right = options
                .correct
                .and_then(|at| options.texts.get(at))
                .cloned();
            fields.set(Known::Answer, right.unwrap_or_else(|| "".into()));
        }
        fields.set(Known::CorrectLetter, options.letter().into());
        fields.set(Known::Choices, options.texts.into());
        Ok(())
    }

    /// `answer` is the first of `answers`, and no answer is there twice.
    fn complete_answers(
        &self,
        fields: &mut Fields<'_>,
        at: &RecordPlace,
    ) -> Result<(), DatasetError> {
        let answers = match fields.take(Known::Answers) {
            None => return Ok(()),
            Some(Value::Array(answers)) => answers,
            Some(other) => {
                let problem = format!("must be a list, found {}", kind(&other));
                return Err(self.misfit("answers", &problem, at));
            }
        };
        let first = fields.take(Known::Answer).filter(|answer| *answer != "");
        let mut distinct: Vec<Value> = Vec::with_capacity(answers.len() + 1);
        for answer in first.into_iter().chain(answers) {
            if !answer.is_null() && !distinct.contains(&answer) {
                distinct.push(answer);
            }
        }
        let answer = distinct.first().cloned().unwrap_or_else(|| "".into());
        fields.set(Known::Answer, answer);
        fields.set(Known::Answers, distinct.into());
        Ok(())
    }

    fn value(
        &self,
        template: &Template,
        scope: &Scope<'_>,
        at: &RecordPlace,
    ) -> Result<Value, DatasetError> {
        let value = template.value(scope);
        value.map_err(|problem| self.misfit(template.key(), &problem, at))
    }

    fn misfit(&self, field: &str, problem: &str, at: &RecordPlace) -> DatasetError {
        DatasetError::BadField(Box::new(BadField {
            dataset: self.config.full_name(),
            field: field.to_owned(),
            problem: problem.to_owned(),
            record: at.record,
            at: at.place.clone(),
        }))
    }
}

/// Which fields may take their column: each column once, and none when several
/// examples are made of a record.
fn takers(config: &Config) -> Vec<bool> {
    let variant = &config.variant;
    let mut taken = BTreeSet::new();
    let last_first = variant.fields.values().rev().map(|template| {
        let column = template.column().filter(|_| variant.for_each.is_none());
        column.is_some_and(|column| taken.insert(column))
    });
    let mut takes: Vec<bool> = last_first.collect();
    takes.reverse();
    takes
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
    templates(config)
        .flat_map(Template::names)
        .cloned()
        .collect()
}

fn templates(config: &Config) -> impl Iterator<Item = &Template> {
    let variant = &config.variant;
    let options = variant.choices.iter();
    let fields = variant.fields.values();
    fields
        .chain(&variant.belongs_when)
        .chain(&variant.skip_when)
        .chain(variant.for_each.as_ref().map(|each| &each.items))
        .chain(options.flat_map(|choices| [&choices.options, &choices.correct]))
}

/// The examples of one config, made when they are wanted. An error about one
/// record leaves the rest readable.
struct OneByOne {
    engine: Engine,
    rows: Rows,
    /// The place of the next record, from 0.
    index: usize,
    ready: std::vec::IntoIter<Example>,
}

impl Iterator for OneByOne {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let most = self.engine.settings.max_examples.unwrap_or(usize::MAX);
        let makes_several = self.engine.config.variant.for_each.is_some();
        loop {
            if let Some(example) = self.ready.next() {
                return Some(Ok(example));
            }
            if !makes_several && self.index >= most {
                return None;
            }
            let row = self.rows.next()?;
            match row.and_then(|row| self.engine.record(row, self.index)) {
                Ok(RecordExamples::OtherConfig) => continue,
                Ok(RecordExamples::One(example)) => {
                    self.index += 1;
                    return Some(Ok(example));
                }
                Ok(RecordExamples::Many(examples)) => self.ready = examples.into_iter(),
                Err(error) => {
                    self.index += 1;
                    return Some(Err(error));
                }
            }
            self.index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::catalog::DatasetCatalog;

    #[test]
    fn only_the_columns_that_templates_read_are_asked_for() {
        for (name, expected) in [
            ("gsm8k", Some(vec!["answer", "question"])),
            (
                "hotpotqa",
                Some(vec!["answer", "context", "id", "level", "question", "type"]),
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
                    "answerable",
                    "id",
                    "paragraphs",
                    "question",
                ]),
            ),
            // Reads the whole record by name, and prepares it in code.
            ("gpqa", None),
            ("qasper", None),
        ] {
            let spec = DatasetCatalog::builtin().get(name).expect(name);
            let config = spec.select(None, None).expect(name).remove(0);
            let found = columns(&config);
            let found = found.as_ref();
            let found = found.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found, expected, "{name}");
        }
    }
}
