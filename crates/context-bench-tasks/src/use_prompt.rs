//! `use_prompt: category:name`: a prompt of a collection, in place of the task's own.

use std::path::Path;

use context_bench_error::suggest::{did_you_mean, quoted_list};
use context_bench_template::yaml;
use serde_json::{Value, json};

use crate::config::Config;
use crate::error::{Error, Result};

/// Prompts that are known without a file: `qa-basic`.
const BUILTIN: &str = "qa-basic";
const QA_BASIC: &[(&str, &str)] = &[
    ("question-newline-answer", "Question: {{question}}\nAnswer:"),
    ("q-newline-a", "Q: {{question}}\nA:"),
];

/// The configuration with the prompt that `use_prompt` names.
pub(crate) fn applied(config: &Config) -> Result<Option<Config>> {
    let Some(setting) = config
        .setting("use_prompt")
        .filter(|set| !set.value.is_null())
    else {
        return Ok(None);
    };
    let placed = |error: Error| error.prefixed("`use_prompt`").at(&setting.origin.place);
    let wrong = || {
        placed(Error::new(
            "a prompt is named by its collection, `:` and its name",
        ))
        .with_hint("write `qa-basic:question-newline-answer`, or `FILE.yaml:NAME`")
    };
    let written = setting.value.as_str().ok_or_else(wrong)?;
    let (category, name) = written.rsplit_once(':').ok_or_else(wrong)?;
    let mut out = config.clone();
    out.remove("use_prompt");
    if category == BUILTIN {
        let names: Vec<&str> = QA_BASIC.iter().map(|(name, _)| *name).collect();
        let found = QA_BASIC.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| placed(unknown(name, &names)))?;
        out.set("doc_to_text", json!(text), setting.origin.clone());
        return Ok(Some(out));
    }
    if !category.ends_with(".yaml") && !category.ends_with(".yml") {
        return Err(placed(
            Error::new(format!("there is no collection of prompts `{category}`"))
                .with_hint("there are `qa-basic` and files, `FILE.yaml:NAME`"),
        ));
    }
    let folder = Path::new(&*setting.origin.place.file).parent();
    let path = folder.unwrap_or(Path::new("")).join(category);
    let shown = path.to_string_lossy();
    let bytes = std::fs::read(&path)
        .map_err(|error| placed(Error::new(format!("cannot read `{shown}`: {error}"))))?;
    let document = yaml::parse(&bytes, &shown)?;
    let json = yaml::to_json(&document.root, &shown)?;
    let prompts = json.get("prompts").and_then(Value::as_object);
    let prompts =
        prompts.ok_or_else(|| placed(Error::new(format!("`{shown}` has no mapping `prompts`"))))?;
    let names: Vec<&str> = prompts.keys().map(String::as_str).collect();
    let prompt = prompts.get(name).and_then(Value::as_object);
    let prompt = prompt.ok_or_else(|| placed(unknown(name, &names)))?;
    for key in ["doc_to_text", "doc_to_target", "doc_to_choice"] {
        if let Some(value) = prompt.get(key) {
            out.set(key, value.clone(), setting.origin.clone());
        }
    }
    Ok(Some(out))
}

fn unknown(name: &str, names: &[&str]) -> Error {
    let hint = did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("there are {}", quoted_list(names, "and")));
    Error::new(format!("there is no prompt `{name}`")).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Origin;
    use crate::task::Task;

    fn config(prompt: &str, file: &Path) -> Config {
        let mut config = Config::new();
        let origin = Origin::other(&file.to_string_lossy());
        for (key, value) in [
            ("dataset_path", json!("x")),
            ("test_split", json!("test")),
            ("doc_to_text", json!("own")),
            ("doc_to_target", json!("answer")),
            ("use_prompt", json!(prompt)),
        ] {
            config.set(key, value, origin.clone());
        }
        config
    }

    #[test]
    fn prompts_come_from_collections_and_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("task.yaml");
        let prompts =
            "prompts:\n  short:\n    doc_to_text: \"{{question}}?\"\n    doc_to_target: reply\n";
        std::fs::write(folder.path().join("prompts.yaml"), prompts).unwrap();
        for (prompt, text, target) in [
            ("qa-basic:q-newline-a", "Q: {{question}}\nA:", "answer"),
            ("prompts.yaml:short", "{{question}}?", "reply"),
        ] {
            let found = applied(&config(prompt, &file)).unwrap().unwrap();
            assert_eq!(found.text("doc_to_text"), Some(text));
            assert_eq!(found.text("doc_to_target"), Some(target));
            assert!(Task::from_config("t", &config(prompt, &file), None).is_ok());
        }
        for (prompt, expected) in [
            ("qa-basic:q-newline", "no prompt `q-newline`"),
            ("promptsource:x", "no collection of prompts `promptsource`"),
            ("prompts.yaml:long", "no prompt `long`"),
            ("nothing.yaml:x", "cannot read"),
            ("short", "named by its collection"),
        ] {
            let error = applied(&config(prompt, &file)).unwrap_err();
            assert!(error.message().contains(expected), "{prompt}: {error}");
            assert!(error.place().is_some());
        }
    }
}
