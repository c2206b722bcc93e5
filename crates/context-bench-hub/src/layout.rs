//! Which files are which split when nobody declares it: by names of folders and
//! files, in the order of the datasets library; and the layout of the branch
//! that the hub converts datasets to.

use crate::glob::Glob;

/// Splits with their names as keywords in paths, best known first.
const KEYWORDS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "dev", "val"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];
const SEPARATORS: &str = "-._ 0-9";
const SHARD: &str = "[0-9][0-9][0-9][0-9][0-9]";

/// Extensions by format; a tie between formats goes to the earlier one.
const FORMATS: [&[&str]; 4] = [
    &["parquet"],
    &["jsonl", "ndjson", "json"],
    &["csv", "tsv"],
    &["zip"],
];

/// Splits with the indices of their files.
pub(crate) type Splits = Vec<(String, Vec<usize>)>;

/// The format of a file by any of its extensions, as in `a.jsonl.gz`.
fn format(path: &str) -> Option<usize> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut extensions = name.split('.').skip(1).map(str::to_ascii_lowercase);
    extensions.find_map(|extension| {
        FORMATS
            .iter()
            .position(|format| format.contains(&extension.as_str()))
    })
}

/// Whether a file could be data.
pub(crate) fn is_data(path: &str) -> bool {
    format(path).is_some()
}

/// Keeps the files of the format that most of them have.
pub(crate) fn one_format(splits: &mut Splits, paths: &[&str]) {
    let mut counts = [0_usize; FORMATS.len()];
    for at in splits.iter().flat_map(|(_, files)| files) {
        if let Some(format) = format(paths[*at]) {
            counts[format] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let Some(chosen) = counts.iter().position(|count| *count == most && most > 0) else {
        return;
    };
    for (_, files) in &mut *splits {
        files.retain(|at| format(paths[*at]) == Some(chosen));
    }
    splits.retain(|(_, files)| !files.is_empty());
}

/// The splits of a folder without a declaration; empty if there is no data.
pub(crate) fn by_names(paths: &[&str]) -> Splits {
    let data: Vec<usize> = (0..paths.len()).filter(|at| is_data(paths[*at])).collect();
    let matching = |patterns: &[String]| -> Vec<usize> {
        let globs: Vec<Glob> = patterns.iter().map(|pattern| Glob::new(pattern)).collect();
        let wanted = |at: &usize| globs.iter().any(|glob| glob.matches(paths[*at]));
        data.iter().copied().filter(wanted).collect()
    };
    let mut splits = sharded(paths, &data);
    for patterns in [in_folder as fn(&str) -> Vec<String>, in_name] {
        if !splits.is_empty() {
            break;
        }
        for (split, keywords) in KEYWORDS {
            let all: Vec<String> = keywords.iter().flat_map(|word| patterns(word)).collect();
            let files = matching(&all);
            if !files.is_empty() {
                splits.push((split.to_owned(), files));
            }
        }
    }
    if splits.is_empty() {
        let files = matching(&["**".to_owned()]);
        if !files.is_empty() {
            splits.push(("train".to_owned(), files));
        }
    }
    one_format(&mut splits, paths);
    splits
}

/// `data/{split}-00000-of-00005.parquet`, with any split name.
fn sharded(paths: &[&str], data: &[usize]) -> Splits {
    let glob = Glob::new(&format!("data/*-{SHARD}-of-{SHARD}*.*"));
    let mut splits: Splits = Vec::new();
    for at in data.iter().filter(|at| glob.matches(paths[**at])) {
        let name = paths[*at].trim_start_matches("data/");
        let Some(split) = shard(name).map(|(split, _, _)| split) else {
            continue;
        };
        match splits.iter_mut().find(|(known, _)| known == split) {
            Some((_, files)) => files.push(*at),
            None => splits.push((split.to_owned(), vec![*at])),
        }
    }
    let rank = |split: &str| KEYWORDS.iter().position(|(known, _)| *known == split);
    splits.sort_by_key(|(split, _)| (rank(split).unwrap_or(KEYWORDS.len()), split.clone()));
    splits
}

/// The parts of `train-00001-of-00005.parquet`: name, number, count.
pub(crate) fn shard(name: &str) -> Option<(&str, u32, u32)> {
    let (before, after) = name.rsplit_once("-of-")?;
    let (split, number) = before.rsplit_once('-')?;
    let digits = |text: &str| {
        let digits = text.get(..5)?;
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse().ok())?
    };
    (number.len() == 5).then_some(())?;
    Some((split, digits(number)?, digits(after)?))
}

fn in_folder(word: &str) -> Vec<String> {
    vec![
        format!("**/{word}/**"),
        format!("**/{word}[{SEPARATORS}]*/**"),
        format!("**/*[{SEPARATORS}]{word}/**"),
        format!("**/*[{SEPARATORS}]{word}[{SEPARATORS}]*/**"),
    ]
}

fn in_name(word: &str) -> Vec<String> {
    vec![
        format!("**/{word}[{SEPARATORS}]*"),
        format!("**/*[{SEPARATORS}]{word}[{SEPARATORS}]*"),
    ]
}

/// A file of the converted branch: config, split, and whether the hub has
/// converted only a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConvertedFile<'a> {
    pub(crate) config: &'a str,
    pub(crate) split: &'a str,
    pub(crate) is_partial: bool,
}

/// Reads `{config}/{split}/0000.parquet`, also `{config}/partial-{split}/…`.
pub(crate) fn converted(path: &str) -> Option<ConvertedFile<'_>> {
    let mut parts = path.rsplitn(3, '/');
    let (name, split, config) = (parts.next()?, parts.next()?, parts.next()?);
    let number = name.strip_suffix(".parquet")?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole = split.strip_prefix("partial-");
    Some(ConvertedFile {
        config,
        split: whole.unwrap_or(split),
        is_partial: whole.is_some(),
    })
}

/// The place of a split in a list: by its name, or by another name for it.
pub(crate) fn find_split<'a>(
    known: impl Iterator<Item = &'a str> + Clone,
    asked: &str,
) -> Option<usize> {
    let exact = known.clone().position(|split| split == asked);
    let group = |name: &str| {
        let lower = name.to_ascii_lowercase();
        KEYWORDS
            .iter()
            .position(|(_, words)| words.contains(&lower.as_str()))
    };
    exact.or_else(|| {
        let wanted = group(asked)?;
        let mut alike = known
            .enumerate()
            .filter(|(_, name)| group(name) == Some(wanted));
        let (at, _) = alike.next()?;
        // Two candidates: `dev` beside `validation` are different data.
        alike.next().is_none().then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(paths: &[&str], expected: &[(&str, &[&str])]) {
        let found: Vec<(String, Vec<&str>)> = by_names(paths)
            .into_iter()
            .map(|(split, files)| (split, files.into_iter().map(|at| paths[at]).collect()))
            .collect();
        let expected: Vec<(String, Vec<&str>)> = expected
            .iter()
            .map(|(split, files)| ((*split).to_owned(), files.to_vec()))
            .collect();
        assert_eq!(found, expected, "{paths:?}");
    }

    #[test]
    fn layouts_are_read_as_the_datasets_library_documents_them() {
        check(&["README.md", "data.csv"], &[("train", &["data.csv"])]);
        check(
            &["train.jsonl", "dev.jsonl", "test.jsonl", "LICENSE"],
            &[
                ("train", &["train.jsonl"]),
                ("validation", &["dev.jsonl"]),
                ("test", &["test.jsonl"]),
            ],
        );
        check(
            &[
                "data/my-split-00000-of-00002.parquet",
                "data/my-split-00001-of-00002.parquet",
                "data/test-00000-of-00001-ab12.parquet",
            ],
            &[
                ("test", &["data/test-00000-of-00001-ab12.parquet"]),
                (
                    "my-split",
                    &[
                        "data/my-split-00000-of-00002.parquet",
                        "data/my-split-00001-of-00002.parquet",
                    ],
                ),
            ],
        );
        check(
            &["x/train/a.json", "x/val/b.json", "x/val/test.json"],
            &[
                ("train", &["x/train/a.json"]),
                ("validation", &["x/val/b.json", "x/val/test.json"]),
            ],
        );
        check(
            &[
                "main/train-00000-of-00001.parquet",
                "main/test-00000-of-00001.parquet",
            ],
            &[
                ("train", &["main/train-00000-of-00001.parquet"]),
                ("test", &["main/test-00000-of-00001.parquet"]),
            ],
        );
        // The format of most files wins; what is not data is left out.
        check(
            &["a.parquet", "b.parquet", "c.csv", "d.py", "e.txt"],
            &[("train", &["a.parquet", "b.parquet"])],
        );
        check(&["my_train.csv.gz"], &[("train", &["my_train.csv.gz"])]);
        check(&["README.md", "script.py"], &[]);
    }

    #[test]
    fn the_converted_branch_is_read() {
        for (path, expected) in [
            ("main/train/0000.parquet", Some(("main", "train", false))),
            ("a b/partial-test/0012.parquet", Some(("a b", "test", true))),
            ("main/train/x.parquet", None),
            ("train/0000.parquet", None),
            (".gitattributes", None),
        ] {
            let found = converted(path).map(|at| (at.config, at.split, at.is_partial));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn splits_are_found_by_other_names() {
        for (known, asked, expected) in [
            (&["train", "dev"][..], "validation", Some(1)),
            (&["train", "validation"], "dev", Some(1)),
            (&["dev", "validation"], "validation", Some(1)),
            (&["dev", "validation"], "val", None),
            (&["train"], "test", None),
            (&["auxiliary_train"], "train", None),
        ] {
            let found = find_split(known.iter().copied(), asked);
            assert_eq!(found, expected, "{known:?} {asked}");
        }
    }

    #[test]
    fn shards_are_read() {
        assert_eq!(shard("a-b-00001-of-00005.parquet"), Some(("a-b", 1, 5)));
        assert_eq!(shard("train-1-of-5.parquet"), None);
        assert_eq!(shard("train.parquet"), None);
    }
}
