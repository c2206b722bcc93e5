//! What the README of a repo says about its configs.
//!
//! The front matter has a list `configs`; each names its files by patterns, for
//! all splits or for each. What the datasets library accepts is accepted here.

use serde_json::Value;

/// A config as the README declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CardConfig {
    pub(crate) name: String,
    pub(crate) is_default: bool,
    /// The folder that the patterns begin in.
    pub(crate) data_dir: Option<String>,
    /// Splits with their patterns; empty when the layout decides.
    pub(crate) splits: Vec<(String, Vec<String>)>,
}

/// The YAML between the first two lines of `---`, if the text begins with one.
pub(crate) fn front_matter(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let rest = text.strip_prefix("---")?;
    let rest = rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix('\n'))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..at]);
        }
        at += line.len();
    }
    None
}

/// Reads the list `configs`.
pub(crate) fn configs(list: &Value) -> Result<Vec<CardConfig>, String> {
    let Value::Array(items) = list else {
        return Err("`configs` is not a list".to_owned());
    };
    items.iter().map(config).collect()
}

fn config(item: &Value) -> Result<CardConfig, String> {
    let name = item
        .get("config_name")
        .and_then(scalar)
        .ok_or("an entry of `configs` has no `config_name`")?;
    let wrong = |what: &str| format!("`data_files` of config `{name}` {what}");
    let splits = match item.get("data_files") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(map)) => {
            let pairs = map.iter().map(|(split, paths)| {
                let paths = patterns(paths).ok_or_else(|| wrong("has no paths"))?;
                Ok((split.clone(), paths))
            });
            pairs.collect::<Result<Vec<_>, String>>()?
        }
        Some(Value::Array(items)) if items.iter().any(Value::is_object) => {
            let pairs = items.iter().map(|item| {
                let split = item.get("split").and_then(scalar);
                let split = split.ok_or_else(|| wrong("has an entry without `split`"))?;
                let paths = item.get("path").and_then(patterns);
                let paths = paths.ok_or_else(|| wrong("has an entry without `path`"))?;
                Ok((split, paths))
            });
            pairs.collect::<Result<Vec<_>, String>>()?
        }
        Some(other) => {
            let paths = patterns(other).ok_or_else(|| wrong("is neither text nor list"))?;
            vec![("train".to_owned(), paths)]
        }
    };
    let data_dir = item.get("data_dir").and_then(Value::as_str);
    let data_dir = data_dir.map(|folder| folder.trim_matches('/').to_owned());
    Ok(CardConfig {
        is_default: item.get("default").and_then(Value::as_bool) == Some(true),
        data_dir: data_dir.filter(|folder| !folder.is_empty() && folder != "."),
        splits,
        name,
    })
}

fn patterns(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(pattern) => Some(vec![pattern.clone()]),
        Value::Array(items) => {
            let text = |item: &Value| item.as_str().map(str::to_owned);
            items.iter().map(text).collect()
        }
        _ => None,
    }
}

/// A name, also one that YAML reads as something else: `2024`, `no`.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        // The names that Python makes of them.
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_spellings_of_data_files_are_read() {
        for (data_files, expected) in [
            (json!("d.csv"), vec![("train", vec!["d.csv"])]),
            (json!(["a/*", "b/*"]), vec![("train", vec!["a/*", "b/*"])]),
            (
                json!([{"split": "train", "path": "t/*"}, {"split": "test", "path": ["x", "y"]}]),
                vec![("train", vec!["t/*"]), ("test", vec!["x", "y"])],
            ),
            (
                json!({"train": "t", "test": ["x"]}),
                vec![("train", vec!["t"]), ("test", vec!["x"])],
            ),
            (json!(null), vec![]),
        ] {
            let list = json!([{"config_name": "c", "data_files": data_files}]);
            let found = configs(&list).expect("valid");
            let found: Vec<(&str, Vec<&str>)> = found[0]
                .splits
                .iter()
                .map(|(split, paths)| (split.as_str(), paths.iter().map(String::as_str).collect()))
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn names_defaults_and_folders_are_read() {
        let list = json!([
            {"config_name": 2024, "default": true, "data_dir": "sub/"},
            {"config_name": "b", "default": false},
        ]);
        let found = configs(&list).expect("valid");
        assert_eq!(
            (found[0].name.as_str(), found[0].is_default),
            ("2024", true)
        );
        assert_eq!(found[0].data_dir.as_deref(), Some("sub"));
        assert!(!found[1].is_default);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (list, expected) in [
            (json!({}), "`configs` is not a list"),
            (json!([{}]), "an entry of `configs` has no `config_name`"),
            (
                json!([{"config_name": "c", "data_files": 3}]),
                "`data_files` of config `c` is neither text nor list",
            ),
            (
                json!([{"config_name": "c", "data_files": [{"split": "x"}]}]),
                "`data_files` of config `c` has an entry without `path`",
            ),
        ] {
            assert_eq!(configs(&list).expect_err("wrong"), expected);
        }
    }

    #[test]
    fn front_matter_is_found() {
        for (text, expected) in [
            ("---\na: 1\n---\n# Title", Some("a: 1\n")),
            ("\u{feff}---\r\na: 1\r\n---\r\n", Some("a: 1\r\n")),
            ("---\n---\n", Some("")),
            ("---\na: 1\n", None),
            ("# Title\n---\na: 1\n---\n", None),
            ("", None),
        ] {
            assert_eq!(front_matter(text), expected, "{text:?}");
        }
    }
}
