//! Every mistake in a task, not only the first: each one is reported and replaced by
//! something plain that is right, and the task is checked again.

use serde_json::{Value, json};

use crate::config::Config;
use crate::error::{Error, Warning};
use crate::task::Task;
use crate::tree::Leaf;

/// More than anybody fixes at once.
const MOST: usize = 50;
/// Lists whose items are right or wrong independently of each other.
const LISTS: [&str; 2] = ["metric_list", "filter_list"];
/// What depends on the output type.
const DEPENDENT: [&str; 4] = [
    "metric_list",
    "filter_list",
    "generation_kwargs",
    "doc_to_choice",
];

/// What is wrong with a task in YAML, or what a user should know of one that is right.
pub(crate) fn problems(leaf: &Leaf) -> Result<Vec<Warning>, Vec<Error>> {
    let mut errors: Vec<Error> = Vec::new();
    let mut leaf = leaf.clone();
    while errors.len() < MOST {
        let error = match Task::build(&leaf) {
            Ok(task) if errors.is_empty() => return Ok(task.warnings),
            Ok(_) => break,
            Err(error) => error,
        };
        let key = culprit(&leaf.config, &error);
        if !errors.contains(&error) {
            errors.push(error);
        }
        let Some(key) = key else {
            break;
        };
        if LISTS.contains(&&*key) {
            keep_good_items(&mut leaf, &key, &mut errors);
        } else if key == "output_type" {
            // What it was meant to be is not known, so neither is what fits it.
            leaf.config.remove(&key);
            for key in DEPENDENT {
                leaf.config.remove(key);
            }
        } else {
            put_right(&mut leaf.config, &key);
        }
    }
    Err(errors)
}

/// The key that an error is about: the one whose place it has and that it names.
fn culprit(config: &Config, error: &Error) -> Option<String> {
    let place = error.place()?;
    let there = config
        .iter()
        .filter(|(_, setting)| setting.origin.place == *place);
    let there: Vec<&str> = there.map(|(key, _)| key).collect();
    let is_named = |key: &&&str| error.message().contains(&format!("`{key}`"));
    let found = there.iter().find(is_named).or(there.first());
    found.map(|key| (*key).to_owned())
}

/// Replaces a value by one with which all others keep their meaning.
fn put_right(config: &mut Config, key: &str) {
    let Some(setting) = config.remove(key) else {
        return;
    };
    let plain = match key {
        "doc_to_text" | "doc_to_target" => json!(""),
        "doc_to_choice" => json!(["a", "b"]),
        _ => return,
    };
    config.set(key, plain, setting.origin);
}

/// Reports what is wrong with each item of a list, and keeps those that are right.
fn keep_good_items(leaf: &mut Leaf, key: &str, errors: &mut Vec<Error>) {
    let Some(setting) = leaf.config.remove(key) else {
        return;
    };
    let Value::Array(items) = setting.value else {
        return;
    };
    let mut good = Vec::new();
    for item in items {
        let mut alone = leaf.clone();
        let origin = setting.origin.clone();
        alone.config.set(key, json!([item.clone()]), origin);
        match Task::build(&alone) {
            Err(error) if culprit(&alone.config, &error).as_deref() == Some(key) => {
                if !errors.contains(&error) {
                    errors.push(error);
                }
            }
            _ => good.push(item),
        }
    }
    if !good.is_empty() {
        leaf.config.set(key, Value::Array(good), setting.origin);
    }
}
