//! Ids that occur more than once: their examples are kept apart, counted, and reported to the user.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::Examples;
use crate::model::Example;

/// How many examples had an id that another one of their dataset has; clones
/// see the same count, which is complete after the last example.
#[derive(Debug, Clone, Default)]
pub struct RepeatedIds(Vec<Arc<Mutex<Tally>>>);

#[derive(Debug, Default)]
struct Tally {
    total: usize,
    first: Option<String>,
}

impl RepeatedIds {
    /// How many there were so far.
    pub fn total(&self) -> usize {
        self.0.iter().map(|tally| locked(tally).total).sum()
    }

    /// The first such id.
    pub fn first(&self) -> Option<String> {
        self.0.iter().find_map(|tally| locked(tally).first.clone())
    }

    /// Those of this dataset, and those of another.
    #[must_use]
    pub(super) fn chain(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

fn locked(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the second example of an id the id `ID#2`, and so on.
pub(super) fn distinct(examples: Examples) -> (Examples, RepeatedIds) {
    let tally = Arc::new(Mutex::new(Tally::default()));
    let repeated = RepeatedIds(vec![Arc::clone(&tally)]);
    // A digest of dataset and id is enough: of a million ids, two digests are
    // equal by chance once in ten million runs.
    let state = RandomState::new();
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let distinct = examples.map(move |example| {
        let mut example = example?;
        if example.get("id").is_none_or(serde_json::Value::is_null) {
            return Ok(example);
        }
        // An id that cannot be used is for the runner to report.
        let Ok(id) = example.id(0) else {
            return Ok(example);
        };
        let times = seen
            .entry(state.hash_one((example.dataset(), &id)))
            .or_insert(0);
        *times += 1;
        if *times > 1 {
            let mut tally = locked(&tally);
            tally.total += 1;
            tally.first.get_or_insert_with(|| id.to_string());
            rename(&mut example, &format!("{id}#{times}"));
        }
        Ok(example)
    });
    (Box::new(distinct), repeated)
}

fn rename(example: &mut Example, id: &str) {
    example.fields_mut().insert("id".into(), id.into());
}

#[cfg(test)]
mod tests {
    use crate::dataset::Dataset;
    use crate::model::Example;

    #[test]
    fn examples_with_one_id_are_kept_apart_and_counted() {
        let example = |id: &str, tag: &str| Example::new().with("id", id).with("dataset", tag);
        let dataset = Dataset::from(vec![
            example("a", "x"),
            example("a", "y"),
            example("a", "x"),
            Example::new().with("context", "no id"),
            Example::new().with("context", "no id either"),
            example("a", "x"),
        ]);
        let dataset = dataset.with_distinct_ids();
        let repeated = dataset.repeated_ids().clone();
        let ids: Vec<Option<String>> = dataset
            .into_iter()
            .map(|example| example.expect("valid").text("id").map(Into::into))
            .collect();
        let expected = [Some("a"), Some("a"), Some("a#2"), None, None, Some("a#3")];
        assert_eq!(ids, expected.map(|id| id.map(str::to_owned)));
        assert_eq!(
            (repeated.total(), repeated.first().as_deref()),
            (2, Some("a"))
        );
    }
}
