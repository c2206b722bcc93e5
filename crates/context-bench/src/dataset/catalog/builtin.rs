//! The datasets that come with the program, embedded as YAML.

use std::path::Path;
use std::sync::Arc;

use super::error::DatasetCatalogError;
use super::spec::Spec;
use super::{prompt_texts, read};
use crate::embedded::embedded;

const EMBEDDED: &[(&str, &str)] = embedded![
    "datasets":
    "alpaca-eval",
    "apigen",
    "arc-challenge",
    "bbh",
    "bfcl",
    "contract-nli",
    "dialogsum",
    "drop",
    "frames",
    "govreport",
    "gpqa",
    "gsm8k",
    "hellaswag",
    "hotpotqa",
    "humaneval",
    "ifeval",
    "infinitebench",
    "locomo",
    "longbench",
    "longbench-v2",
    "longmemeval",
    "math",
    "mbpp",
    "meetingbank",
    "mgsm",
    "mmlu",
    "mmlu-pro",
    "mt-bench",
    "multi-news",
    "musique",
    "narrativeqa",
    "natural-questions",
    "nolima",
    "qasper",
    "qmsum",
    "quality",
    "scifact",
    "summscreenfd",
    "swebench",
    "swebench-lite",
    "swebench-verified",
    "triviaqa",
    "truthfulqa",
    "winogrande",
];

/// Texts of their prompts that are too long to stand in the description.
const PROMPTS: &[(&str, &str)] = embedded!["prompts": "bbh"];

/// The names of the embedded datasets, in alphabetical order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED
        .iter()
        .map(|(file, _)| file.trim_end_matches(".yaml"))
}

/// Reads an embedded dataset; nothing when there is none of that name.
pub(super) fn spec(name: &str) -> Option<Result<Arc<Spec>, DatasetCatalogError>> {
    let found = EMBEDDED
        .iter()
        .find(|(file, _)| file.strip_suffix(".yaml") == Some(name));
    found.map(|(file, text)| {
        let mut spec = read::spec(text, Path::new(file), true)?;
        if let Some((file, text)) = PROMPTS.iter().find(|(of, _)| of == file) {
            prompt_texts::add(&mut spec, text, &Path::new("prompts").join(file))?;
        }
        Ok(Arc::new(spec))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/catalog/datasets");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("readable").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        files.sort();
        let mut listed: Vec<&str> = EMBEDDED.iter().map(|(file, _)| *file).collect();
        listed.sort_unstable();
        assert_eq!(files, listed);
    }

    #[test]
    fn every_dataset_is_sound_and_called_like_its_file() {
        for name in names() {
            let spec = spec(name)
                .expect("listed")
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(spec.name(), name);
            assert!(
                !spec.about().is_empty() && !spec.licence().is_empty(),
                "{name}"
            );
            for config in spec
                .select(Some("*"), None)
                .or_else(|_| spec.select(None, None))
                .expect(name)
            {
                assert!(!config.evaluators().is_empty(), "{}", config.full_name());
                assert!(config.score_field().is_some(), "{}", config.full_name());
                let has_id = config.fields().iter().any(|field| field == "id");
                assert!(has_id, "{}", config.full_name());
            }
        }
    }
}
