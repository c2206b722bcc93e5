//! The records that prompts are made of, split by split, and how many of them are needed.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};

use crate::error::{Error, Result};
use crate::filter::Record;

/// How many records of a split prompts need. More is more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// So many from its start.
    First(usize),
    /// All of them.
    All,
}

/// The records of a split, or its first ones. Copies share them.
#[derive(Debug, Clone)]
pub struct Split {
    records: Arc<Vec<Record>>,
    n_original: Option<usize>,
}

impl Split {
    /// The first records of a split, and how many it has if that is known.
    pub fn first(records: Vec<Record>, n_original: Option<usize>) -> Self {
        Self {
            records: Arc::new(records),
            n_original,
        }
    }

    /// The records that are there.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// How many records the split has, if that is known.
    pub fn n_original(&self) -> Option<usize> {
        self.n_original
    }

    /// Whether all records of the split are there.
    pub fn is_whole(&self) -> bool {
        self.n_original == Some(self.records.len())
    }

    pub(crate) fn shared(&self) -> Arc<Vec<Record>> {
        Arc::clone(&self.records)
    }

    /// A part must never pass for the whole: scores of it would look like scores of all.
    pub(crate) fn check(&self, name: &str, need: Need) -> Result<()> {
        let n = self.records.len();
        let is_enough = match need {
            Need::First(needed) => needed <= n,
            Need::All => false,
        };
        if is_enough || self.is_whole() {
            return Ok(());
        }
        let needed = match need {
            Need::First(needed) => needed.to_string(),
            Need::All => "all".to_owned(),
        };
        Err(Error::new(format!(
            "split `{name}` was read up to record {n}, but {needed} are needed"
        ))
        .with_hint("load the records with the options that the prompts are made with"))
    }
}

/// All records of a split.
impl From<Vec<Record>> for Split {
    fn from(records: Vec<Record>) -> Self {
        let n = records.len();
        Self::first(records, Some(n))
    }
}

/// The records of a dataset by split.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    splits: IndexMap<String, Split>,
}

impl Dataset {
    /// Without splits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a split, in place of one of the same name.
    pub fn insert(&mut self, name: String, split: impl Into<Split>) {
        self.splits.insert(name, split.into());
    }

    /// The split of that name.
    pub fn get(&self, name: &str) -> Option<&Split> {
        self.splits.get(name)
    }

    /// The records of each split in order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &[Record])> {
        let splits = self.splits.iter();
        splits.map(|(name, split)| (name, split.records()))
    }

    /// The names of the splits in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.splits.keys().map(String::as_str)
    }
}

impl<S: Into<Split>> FromIterator<(String, S)> for Dataset {
    fn from_iter<I: IntoIterator<Item = (String, S)>>(splits: I) -> Self {
        let splits = splits.into_iter();
        Self {
            splits: splits.map(|(name, split)| (name, split.into())).collect(),
        }
    }
}

impl<const N: usize> From<[(String, Vec<Record>); N]> for Dataset {
    fn from(splits: [(String, Vec<Record>); N]) -> Self {
        splits.into_iter().collect()
    }
}

/// Lists of records by split.
impl<'de> Deserialize<'de> for Dataset {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let splits = IndexMap::<String, Vec<Record>>::deserialize(from)?;
        Ok(splits.into_iter().collect())
    }
}
