//! `Dataset`: a stream of examples, and the readers that come with the library.
//!
//! A dataset is read once, front to back, on a thread of its own, so memory does
//! not grow with the number of examples. It never talks to systems.

use std::sync::Arc;

use crate::model::{Example, Prompt};

pub mod catalog;
mod demo;
mod distinct;
mod error;
mod local;
mod reference;
mod shuffled;
mod skipped;
mod used_datasets;

pub use demo::demo;
pub use distinct::RepeatedIds;
pub use error::{BadField, DatasetError};
pub use local::{First, LocalFile, LocalSettings, OpenedFile, Shape};
pub(crate) use local::{file_stem, keys};
pub use reference::{DatasetRef, DatasetTarget, NamedDataset};
pub(crate) use skipped::BadRecords;
pub use skipped::{Skipped, SkippedRecord};
pub(crate) use used_datasets::UsedDatasets;
pub use used_datasets::{Origin, UsedDataset};

/// What a dataset yields: examples, or what is wrong with a record.
pub type Examples = Box<dyn Iterator<Item = Result<Example, DatasetError>> + Send>;

/// A stream of examples with what is known about it in advance.
pub struct Dataset {
    examples: Examples,
    len: Option<usize>,
    skipped: Skipped,
    repeated: RepeatedIds,
    /// Where the examples of each tag come from.
    origins: Vec<(Option<String>, Origin)>,
}

impl Dataset {
    /// A dataset of a fallible stream, whose length is unknown.
    pub fn from_results(
        examples: impl Iterator<Item = Result<Example, DatasetError>> + Send + 'static,
    ) -> Self {
        Self {
            examples: Box::new(examples),
            len: None,
            skipped: Skipped::default(),
            repeated: RepeatedIds::default(),
            origins: Vec::new(),
        }
    }

    /// States how many examples will come, for progress displays.
    #[must_use]
    pub fn with_len(mut self, len: usize) -> Self {
        self.len = Some(len);
        self
    }

    /// How many examples will come, when known.
    pub fn known_len(&self) -> Option<usize> {
        self.len
    }

    /// The bad records that were left out because the user asked for that.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// States which bad records are left out.
    #[must_use]
    pub(crate) fn with_skipped(mut self, skipped: impl Into<Skipped>) -> Self {
        self.skipped = skipped.into();
        self
    }

    /// At most the first `max` examples.
    #[must_use]
    pub fn take(self, max: usize) -> Self {
        Self {
            len: self.len.map(|len| len.min(max)),
            examples: Box::new(self.examples.take(max)),
            ..self
        }
    }

    /// Every example `n` times in a row, under one id: for systems that answer
    /// differently each time. From the second time on the field `repeat`
    /// distinguishes them, so that each answer is stored by itself.
    #[must_use]
    pub fn times(self, n: usize) -> Self {
        let copies = move |(position, example): (usize, Result<Example, DatasetError>)| {
            let n = if example.is_ok() { n } else { 1 };
            let mut example = Some(example);
            (0..n).filter_map(move |repeat| {
                let last = repeat + 1 == n;
                let copy = match &example {
                    Some(Ok(example)) if !last => Ok(example.clone()),
                    _ => example.take()?,
                };
                Some(copy.map(|copy| {
                    let repeat = u32::try_from(repeat).unwrap_or(u32::MAX);
                    let mut copy = copy.repeated(repeat);
                    let fields = copy.fields_mut();
                    if !fields.contains_key("id") {
                        fields.insert("id".into(), position.into());
                    }
                    let places = copy.displacement();
                    copy.displaced(places.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX)))
                }))
            })
        };
        Self {
            len: self.len.map(|len| len.saturating_mul(n)),
            examples: Box::new(self.examples.enumerate().flat_map(copies)),
            ..self
        }
    }

    /// Sets the `dataset` field of every example that has none.
    #[must_use]
    pub fn tagged(self, tag: impl Into<String>) -> Self {
        let tag = tag.into();
        self.named(&tag.clone(), move |mut example| {
            let tag_of = example.fields_mut().entry("dataset");
            tag_of.or_insert_with(|| tag.as_str().into());
            example
        })
    }

    /// Does the same with the name of a file, which is not content of its examples; see
    /// [`Example::labelled`].
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        let label = label.into();
        self.named(&label.clone(), move |example| example.labelled(&label))
    }

    fn named(self, tag: &str, name: impl Fn(Example) -> Example + Send + 'static) -> Self {
        let mut origins = self.origins;
        if origins.is_empty() {
            origins.push((None, Origin::default()));
        }
        for (name, _) in &mut origins {
            name.get_or_insert_with(|| tag.to_owned());
        }
        Self {
            len: self.len,
            skipped: self.skipped,
            repeated: self.repeated,
            origins,
            examples: Box::new(self.examples.map(move |example| example.map(&name))),
        }
    }

    /// Sets a field of every example, in place of what it has there.
    #[must_use]
    pub fn with_field(self, field: &'static str, value: serde_json::Value) -> Self {
        let set = move |example: Result<Example, DatasetError>| {
            let mut example = example?;
            example.fields_mut().insert(field.into(), value.clone());
            Ok(example)
        };
        Self {
            examples: Box::new(self.examples.map(set)),
            ..self
        }
    }

    /// Has models asked about its examples with this prompt.
    #[must_use]
    pub fn with_prompt(self, prompt: &Arc<Prompt>) -> Self {
        let prompt = Arc::clone(prompt);
        let set = move |example: Result<Example, DatasetError>| {
            example.map(|example| example.with_prompt(Some(Arc::clone(&prompt))))
        };
        Self {
            examples: Box::new(self.examples.map(set)),
            ..self
        }
    }

    /// Other examples in place of these, with what is known about where they come from.
    #[must_use]
    pub(crate) fn with_examples(self, change: impl FnOnce(Examples) -> Examples) -> Self {
        Self {
            len: None,
            examples: change(self.examples),
            ..self
        }
    }

    /// The same dataset, of whose records others are left out later on.
    pub(crate) fn also_skipping(self, skipped: Skipped) -> Self {
        Self {
            skipped: self.skipped.chain(skipped),
            ..self
        }
    }

    /// The same dataset with its examples read, so that their number is known.
    pub(crate) fn read_whole(
        self,
        keep: impl FnOnce(Vec<Example>) -> Vec<Example>,
    ) -> Result<Self, DatasetError> {
        let examples: Result<Vec<_>, _> = self.examples.collect();
        let examples = keep(examples?);
        Ok(Self {
            len: Some(examples.len()),
            examples: Box::new(examples.into_iter().map(Ok)),
            ..self
        })
    }

    /// The same dataset with its examples read as long as `fits` says so of each: all of
    /// them, so that their number is known, or the first of many.
    pub(crate) fn read_while(
        mut self,
        mut fits: impl FnMut(&Example) -> bool,
    ) -> Result<Self, DatasetError> {
        let mut read = Vec::new();
        while let Some(example) = self.examples.next() {
            let example = example?;
            let goes_on = fits(&example);
            read.push(example);
            if !goes_on {
                let read = read.into_iter().map(Ok);
                self.examples = Box::new(read.chain(self.examples));
                return Ok(self);
            }
        }
        Ok(Self {
            len: Some(read.len()),
            examples: Box::new(read.into_iter().map(Ok)),
            ..self
        })
    }

    /// The same dataset, and a look at its first example if that is a good one.
    pub(crate) fn peeked(mut self) -> (Self, Option<Example>) {
        let first = self.examples.next();
        let seen = first.as_ref().and_then(|first| first.as_ref().ok());
        let seen = seen.cloned();
        self.examples = Box::new(first.into_iter().chain(self.examples));
        (self, seen)
    }

    /// The examples of this dataset, then those of another.
    #[must_use]
    pub fn chain(self, other: Self) -> Self {
        Self {
            len: self.len.zip(other.len).map(|(a, b)| a + b),
            examples: Box::new(self.examples.chain(other.examples)),
            skipped: self.skipped.chain(other.skipped),
            repeated: self.repeated.chain(other.repeated),
            origins: self.origins.into_iter().chain(other.origins).collect(),
        }
    }

    /// Where the examples of each tag come from, as far as that is known.
    pub(crate) fn origins(&self) -> impl Iterator<Item = (&str, &Origin)> {
        let origins = self.origins.iter();
        origins.map(|(tag, origin)| (tag.as_deref().unwrap_or_default(), origin))
    }

    /// States where the examples come from.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origins = vec![(None, origin)];
        self
    }

    /// Keeps examples of one dataset apart that have the same id: the second
    /// gets the id `ID#2`, and so on.
    #[must_use]
    pub fn with_distinct_ids(self) -> Self {
        let (examples, repeated) = distinct::distinct(self.examples);
        Self {
            examples,
            repeated: self.repeated.chain(repeated),
            ..self
        }
    }

    /// The ids that were there more than once; see
    /// [`with_distinct_ids`](Self::with_distinct_ids).
    pub fn repeated_ids(&self) -> &RepeatedIds {
        &self.repeated
    }
}

impl IntoIterator for Dataset {
    type Item = Result<Example, DatasetError>;
    type IntoIter = Examples;

    fn into_iter(self) -> Examples {
        self.examples
    }
}

/// Anything that yields examples is a dataset: a vector, a generator, a reader.
impl<E: Into<Example>> FromIterator<E> for Dataset {
    fn from_iter<I: IntoIterator<Item = E>>(iter: I) -> Self {
        let examples: Vec<Example> = iter.into_iter().map(Into::into).collect();
        let len = examples.len();
        Self::from_results(examples.into_iter().map(Ok)).with_len(len)
    }
}

impl From<Vec<Example>> for Dataset {
    fn from(examples: Vec<Example>) -> Self {
        examples.into_iter().collect()
    }
}
