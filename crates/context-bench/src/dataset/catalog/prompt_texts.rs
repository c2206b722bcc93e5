//! Texts that the prompts of a dataset's configs see, kept beside its description.
//!
//! The worked examples of 27 tasks would hide what a description says. The file names
//! the configs, and for each the texts that join those of `prompt.with`.

use std::path::Path;

use context_bench_error::Hint as _;
use context_bench_template::yaml;

use super::error::DatasetCatalogError;
use super::reader::{Read, Reader};
use super::spec::{Spec, config_hint};

/// Reads a file of texts into a spec.
///
/// # Errors
///
/// When it is not such a file, or names a config that the dataset does not have.
pub(super) fn add(spec: &mut Spec, text: &str, file: &Path) -> Read<()> {
    let name = file.display().to_string();
    let document =
        yaml::parse(text.as_bytes(), &name).map_err(|error| DatasetCatalogError::BadSpec {
            problem: error.message().to_owned(),
            at: error.place().clone(),
            hint: error.hint(),
        })?;
    let reader = Reader { file };
    for (config, texts) in reader.entries(&document.root, "prompts")? {
        let known: Vec<String> = spec.config_names().map(str::to_owned).collect();
        let Some(variant) = spec.configs.get_mut(&config) else {
            let problem = format!("dataset `{}` has no config `{config}`", spec.name);
            let hint = config_hint(&spec.name, &config, &known);
            return Err(reader.wrong(texts, problem).hinted(hint));
        };
        let with = &mut variant.prompt.get_or_insert_default().with;
        for (name, node) in reader.entries(texts, &config)? {
            with.insert(name.clone(), reader.text_of(node, &name)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::catalog::read;

    const SPEC: &str = "name: ferry\ncategory: qa\nconfigs: {north: {}, south: {}}\nfields: {id: index}\nprompt: {user: '{{ about }}{{ sign }}', with: {sign: '.'}}\n";

    #[test]
    fn texts_join_those_of_the_description() {
        let file = Path::new("ferry.yaml");
        let mut spec = read::spec(SPEC, file, true).unwrap();
        add(&mut spec, "north:\n  about: The ferry\n", file).unwrap();
        let with = |config: &str| {
            let prompt = spec.configs[config].prompt.as_ref();
            prompt.and_then(|prompt| prompt.with.get("about")).cloned()
        };
        assert_eq!(with("north").as_deref(), Some("The ferry"));
        assert_eq!(with("south"), None);
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let file = Path::new("ferry.yaml");
        for (text, expected) in [
            ("nroth:\n  about: x\n", "has no config `nroth`"),
            ("north: x\n", "must be a mapping"),
            ("north:\n  about: [x]\n", "`about` must be text"),
            ("north: {\n", "ferry.yaml"),
        ] {
            let mut spec = read::spec(SPEC, file, true).unwrap();
            let error = add(&mut spec, text, file).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
