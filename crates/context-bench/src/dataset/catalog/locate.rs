//! Which files of a local copy hold a table of a dataset.
//!
//! Copies are laid out as on the hub (`data/test-00000-of-00001.parquet`,
//! `ARC-Easy/test/0000.parquet`, `gpqa_main.csv`), or have the name of the
//! dataset and config in that of the file (`mgsm.de.jsonl`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use context_bench_records::Format;
use globset::{GlobBuilder, GlobMatcher};

use super::error::DatasetCatalogError;
use super::spec::{Config, Table};

/// How deep folders are looked through, and how many files are looked at.
const DEEPEST: usize = 6;
const MOST_FILES: usize = 100_000;

/// Names of splits; those of a line mean the same.
const SPLITS: [&[&str]; 5] = [
    &["train", "training"],
    &["validation", "valid", "val", "dev"],
    &["test", "testing"],
    &["eval", "evaluation"],
    &["prompt"],
];

/// The table whose files are looked for.
pub(super) struct TableQuery<'a> {
    pub(super) config: &'a Config,
    pub(super) table: &'a Table,
    /// The name of the table, unless it is that of the records.
    pub(super) name: Option<&'a str>,
}

impl TableQuery<'_> {
    /// The config that the files of this table are under, on the hub and in
    /// copies of it.
    pub(super) fn hub_config(&self) -> Option<&str> {
        let own = self.config.name.as_deref().filter(|_| self.name.is_none());
        self.table.config.as_deref().or(own)
    }

    pub(super) fn split(&self) -> Option<&str> {
        match self.name {
            Some(_) => self.table.split.as_deref(),
            None => self.config.split.as_deref(),
        }
    }

    /// The patterns of its files, filled in.
    pub(super) fn patterns(&self) -> Vec<String> {
        self.table.files.iter().map(|p| self.fill(p)).collect()
    }

    /// The member of an archive, filled in.
    pub(super) fn member(&self) -> Option<String> {
        self.table.member.as_ref().map(|member| self.fill(member))
    }

    fn fill(&self, pattern: &str) -> String {
        let config = self.config.name.as_deref().unwrap_or_default();
        let split = self.split().unwrap_or_default();
        pattern
            .replace("{config}", config)
            .replace("{split}", split)
    }

    /// All configs that a file may be of.
    fn all_configs(&self) -> BTreeSet<&str> {
        let source = &self.config.spec.source;
        let mut all: BTreeSet<&str> = self.config.spec.config_names().collect();
        all.extend(source.records.config.as_deref());
        all.extend(source.tables.values().filter_map(|t| t.config.as_deref()));
        all
    }

    fn described(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.name.map(|name| format!("table `{name}`")));
        parts.extend(self.hub_config().map(|name| format!("config `{name}`")));
        parts.extend(self.split().map(|name| format!("split `{name}`")));
        match parts.is_empty() {
            true => "the records".into(),
            false => parts.join(", "),
        }
    }

    fn not_in(&self, folder: &Path, files: &[String]) -> DatasetCatalogError {
        DatasetCatalogError::NoFile {
            dataset: self.config.full_name(),
            wanted: self.described(),
            path: folder.into(),
            found: files.iter().take(5).cloned().collect(),
        }
    }
}

/// The files of a table in a folder.
///
/// # Errors
///
/// When there is none, or the folder cannot be listed.
pub(super) fn in_folder(
    folder: &Path,
    wanted: &TableQuery<'_>,
) -> Result<Vec<PathBuf>, DatasetCatalogError> {
    let all = list(folder)?;
    let patterns = wanted.patterns();
    // As on the hub; else also files that were taken out of their folder.
    let loose = patterns.iter().map(|pattern| format!("**/{pattern}"));
    for pattern in patterns.iter().cloned().chain(loose) {
        let Some(glob) = matcher(&pattern) else {
            continue;
        };
        let found: Vec<&String> = all.iter().filter(|file| glob.is_match(file)).collect();
        if !found.is_empty() {
            return Ok(joined(folder, found));
        }
    }
    let data: Vec<String> = all
        .iter()
        .filter(|file| Format::of(Path::new(file)).is_some())
        .cloned()
        .collect();
    let own = of_dataset(&data, &wanted.config.spec.name);
    let not_in = || {
        let own: Vec<String> = own.iter().map(|file| (*file).clone()).collect();
        wanted.not_in(folder, &own)
    };
    let found = of_config(own.clone(), wanted).ok_or_else(not_in)?;
    let found = of_split(found, wanted.split()).ok_or_else(not_in)?;
    if found.is_empty() {
        return Err(wanted.not_in(folder, &all));
    }
    Ok(joined(folder, found))
}

fn joined<'a>(folder: &Path, files: impl IntoIterator<Item = &'a String>) -> Vec<PathBuf> {
    files.into_iter().map(|file| folder.join(file)).collect()
}

/// The files of a split in a folder without a known description; those that are
/// there when none fits. Files whose names show no split count as `train`, as on the hub.
pub(crate) fn split_files(
    folder: &Path,
    config: Option<&str>,
    split: &str,
) -> Result<Vec<PathBuf>, Vec<String>> {
    let all = list(folder).unwrap_or_default();
    let is_data = |file: &&String| Format::of(Path::new(file)).is_some();
    let data: Vec<&String> = all.iter().filter(is_data).collect();
    let shown = || data.iter().take(5).map(|file| (*file).clone()).collect();
    let of_config = data.iter().copied();
    let of_config = of_config.filter(|file| config.is_none_or(|config| is_part(file, config)));
    let of_config: Vec<&String> = of_config.collect();
    let tells = |file: &&String| {
        SPLITS
            .iter()
            .flat_map(|s| s.iter())
            .any(|s| is_part(file, s))
    };
    let found = match of_config.iter().any(tells) || split != "train" {
        true => {
            let told = of_config
                .iter()
                .copied()
                .filter(|f| tells(f) || is_part(f, split));
            of_split(told.collect(), Some(split)).unwrap_or_default()
        }
        false => of_config,
    };
    match found.is_empty() {
        true => Err(shown()),
        false => Ok(joined(folder, found)),
    }
}

/// A matcher of relative paths.
fn matcher(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    Some(glob.ok()?.compile_matcher())
}

/// The files named after the dataset, when some are: a folder may hold several.
fn of_dataset<'a>(files: &'a [String], dataset: &str) -> Vec<&'a String> {
    let is_own = |file: &&String| {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.strip_prefix(dataset)
            .is_some_and(|rest| rest.starts_with(['.', '_']))
    };
    let own: Vec<&String> = files.iter().filter(is_own).collect();
    if own.is_empty() {
        files.iter().collect()
    } else {
        own
    }
}

/// The files of a config; all when no file name shows a config, `None` when
/// those that show one are of others.
fn of_config<'a>(files: Vec<&'a String>, wanted: &TableQuery<'_>) -> Option<Vec<&'a String>> {
    let Some(config) = wanted.hub_config() else {
        return Some(files);
    };
    let configs = wanted.all_configs();
    // `rc` is also in `triviaqa.rc.web.jsonl`: the longest name is meant.
    let config_of = |file: &str| {
        let named = configs.iter().filter(|name| is_part(file, name));
        named.max_by_key(|name| name.len()).copied()
    };
    let told: Vec<Option<&str>> = files.iter().map(|file| config_of(file)).collect();
    if told.iter().all(Option::is_none) {
        return Some(files);
    }
    let of = |wanted: &dyn Fn(&str) -> bool| -> Vec<&'a String> {
        let told = files.iter().zip(&told);
        told.filter(|(_, told)| told.is_some_and(wanted))
            .map(|(file, _)| *file)
            .collect()
    };
    let found = of(&|told| told == config);
    if !found.is_empty() {
        return Some(found);
    }
    // A file that joins all configs serves each, if its records name theirs.
    let spec = &wanted.config.spec;
    let is_joined = |told: &str| spec.configs.get(told).is_some_and(|variant| variant.joined);
    let joined = match spec.base.belongs_when {
        Some(_) => of(&is_joined),
        None => Vec::new(),
    };
    (!joined.is_empty()).then_some(joined)
}

/// The files of a split; all when no file name shows a split.
fn of_split<'a>(files: Vec<&'a String>, split: Option<&str>) -> Option<Vec<&'a String>> {
    let Some(split) = split else {
        return Some(files);
    };
    let alike = SPLITS.iter().find(|names| names.contains(&split));
    let is_of = |file: &&&String, names: &[&str]| names.iter().any(|name| is_part(file, name));
    // Where `dev` and `validation` are two splits, each is itself.
    let exact: Vec<&String> = files
        .iter()
        .filter(|f| is_of(f, &[split]))
        .copied()
        .collect();
    if !exact.is_empty() {
        return Some(exact);
    }
    let own: &[&str] = match alike {
        Some(names) => names,
        None => &[split],
    };
    let found: Vec<&String> = files.iter().filter(|f| is_of(f, own)).copied().collect();
    if !found.is_empty() {
        return Some(found);
    }
    let tells = files
        .iter()
        .any(|file| SPLITS.iter().any(|names| is_of(&file, names)));
    (!tells).then_some(files)
}

/// Whether a name stands in a path as a part of its own.
pub(crate) fn is_part(path: &str, name: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    path.match_indices(name).any(|(at, _)| {
        let before = path[..at].chars().next_back();
        let after = path[at + name.len()..].chars().next();
        !is_inside(before) && !is_inside(after)
    })
}

/// All files of a folder and its folders, relative to it, with `/` between
/// parts, in natural enough order. Hidden ones are left out.
fn list(folder: &Path) -> Result<Vec<String>, DatasetCatalogError> {
    let mut files = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((inside, depth)) = folders.pop() {
        let here = folder.join(&inside);
        let unreadable = |source| DatasetCatalogError::Unreadable {
            path: here.clone(),
            source,
        };
        for entry in fs::read_dir(&here).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                continue;
            };
            let path = inside.join(name);
            // Links to folders are not followed: they may lead back.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < DEEPEST {
                    folders.push((path, depth + 1));
                }
            } else if files.len() < MOST_FILES {
                let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
                files.push(parts.join("/"));
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_name_is_a_part_of_its_own() {
        for (path, name, expected) in [
            ("mgsm.en.jsonl", "en", true),
            ("mgsm_en.tsv", "en", true),
            ("data/en/test.parquet", "en", true),
            ("open.jsonl", "en", false),
            ("gpqa_main.csv", "gpqa_main", true),
            ("test-00000-of-00001.parquet", "test", true),
            ("latest.jsonl", "test", false),
        ] {
            assert_eq!(is_part(path, name), expected, "{path} {name}");
        }
    }

    #[test]
    fn splits_are_told_by_any_of_their_names() {
        let all = files(&["dev.jsonl", "train.jsonl"]);
        let found = of_split(all.iter().collect(), Some("validation"));
        assert_eq!(found, Some(vec![&all[0]]));
        assert_eq!(of_split(all.iter().collect(), Some("test")), None);
        let untold = files(&["a.jsonl"]);
        assert!(of_split(untold.iter().collect(), Some("test")).is_some());
    }

    #[test]
    fn files_of_the_dataset_come_before_others() {
        let all = files(&["mmlu-pro.jsonl", "mmlu.all.jsonl", "x.jsonl"]);
        assert_eq!(of_dataset(&all, "mmlu"), [&all[1]]);
        assert_eq!(of_dataset(&all, "drop").len(), 3);
    }
}
