//! Files that the user gives in place of splits (`--data SPLIT=FILE`).

use std::path::Path;

use context_bench_error::suggest::quoted_list;
use context_bench_tasks::{Error, Result, Task};

use super::data::TaskData;

impl TaskData {
    /// The splits of a task by what they are for.
    pub(super) fn roles(task: &Task) -> Vec<(&'static str, &str)> {
        let splits = &task.splits;
        let shots = task.shots.split.as_deref().or(splits.fewshot.as_deref());
        let roles = [
            (
                "test",
                splits.test.as_deref().or(splits.validation.as_deref()),
            ),
            ("validation", splits.validation.as_deref()),
            ("train", splits.training.as_deref()),
            ("fewshot", shots),
        ];
        let named = roles.into_iter();
        named
            .filter_map(|(role, split)| Some((role, split?)))
            .collect()
    }

    /// The file that stands for a split. A name means the split of that name, and only
    /// where there is none, what a split is for.
    pub(super) fn replacement(&self, task: &Task, split: &str) -> Option<&Path> {
        let given = |name: &str| {
            let found = self.settings.replaced.iter().rfind(|(key, _)| key == name);
            found.map(|(_, path)| path.as_path())
        };
        let roles = Self::roles(task);
        let is_split = |name: &str| roles.iter().any(|(_, split)| *split == name);
        given(split).or_else(|| {
            let mut found = roles.iter().filter(|(_, own)| *own == split);
            found.find_map(|(role, _)| given(role).filter(|_| !is_split(role)))
        })
    }

    /// Files that replace no split of a task are mistakes.
    pub(super) fn check_replaced(&self, task: &Task) -> Result<()> {
        let roles = Self::roles(task);
        let fits = |key: &str| {
            roles
                .iter()
                .any(|(role, split)| *role == key || *split == key)
        };
        let replaced = &self.settings.replaced;
        if replaced.is_empty() || replaced.iter().any(|(key, _)| fits(key)) {
            return Ok(());
        }
        let keys: Vec<&str> = replaced.iter().map(|(key, _)| key.as_str()).collect();
        let mut splits: Vec<&str> = Vec::new();
        for (_, split) in roles {
            if !splits.contains(&split) {
                splits.push(split);
            }
        }
        Err(Error::new(format!(
            "task `{}` has no split {}",
            task.name,
            quoted_list(&keys, "or")
        ))
        .with_hint(format!(
            "its splits are {}; write `--data SPLIT=FILE`",
            quoted_list(&splits, "and")
        )))
    }
}
