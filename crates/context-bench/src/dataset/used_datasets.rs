//! `UsedDatasets`: which datasets a run read, and a digest of the examples it read.
//!
//! Two results can be compared when their digests are equal, whatever the
//! datasets were called and wherever they came from.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Dataset;
use crate::model::Example;

/// Where the examples of a dataset come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The file, folder, URL or repository; empty when it is not known.
    pub source: String,
    /// The commit of a repository.
    pub revision: Option<String>,
}

/// One dataset of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct UsedDataset {
    /// The tag of its examples.
    pub name: String,
    /// Where they come from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The commit of the repository they come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How many were read.
    pub examples: usize,
    /// SHA-256 of the examples as compact JSON in the order of their fields,
    /// each followed by a line feed, in the order they were read; without their
    /// `dataset`, which is only how the user called it.
    pub sha256: String,
}

/// The datasets of a run, while it reads them; clones see the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsedDatasets(Arc<Mutex<IndexMap<String, Tally>>>);

#[derive(Debug, Default)]
struct Tally {
    origin: Origin,
    examples: usize,
    hasher: Sha256,
}

impl UsedDatasets {
    /// Nothing read so far of this dataset.
    pub(crate) fn of(dataset: &Dataset) -> Self {
        let tallies = dataset.origins.iter().map(|(name, origin)| {
            let tally = Tally {
                origin: origin.clone(),
                ..Tally::default()
            };
            (name.clone().unwrap_or_default(), tally)
        });
        Self(Arc::new(Mutex::new(tallies.collect())))
    }

    /// Notes that an example was read.
    pub(crate) fn note(&self, example: &Example) {
        let mut line = Vec::new();
        let tag = example.dataset();
        // Written field by field, so that no example is copied.
        let mut comma: &[u8] = b"{";
        for (key, value) in example.fields().iter().filter(|(key, _)| *key != "dataset") {
            line.extend_from_slice(comma);
            // Writing JSON values to memory cannot fail.
            let _ = serde_json::to_writer(&mut line, key);
            line.push(b':');
            let _ = serde_json::to_writer(&mut line, value);
            comma = b",";
        }
        line.extend_from_slice(if comma == b"{" { b"{}" } else { b"}" });
        line.push(b'\n');
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = match tallies.get_mut(tag) {
            Some(tally) => tally,
            None => tallies.entry(tag.to_owned()).or_default(),
        };
        tally.examples += 1;
        tally.hasher.update(&line);
    }

    /// What was read so far, in the order of the datasets.
    pub(crate) fn list(&self) -> Vec<UsedDataset> {
        let tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = tallies.iter().map(|(name, tally)| UsedDataset {
            name: name.clone(),
            source: tally.origin.source.clone(),
            revision: tally.origin.revision.clone(),
            examples: tally.examples,
            sha256: hex(&tally.hasher.clone().finalize()),
        });
        used.collect()
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
