//! What decides the answers of a command: its words, the files they name, its
//! variables and the version that the user gives.
//!
//! A script that was edited is another system, so files on the command line are
//! read. What they import is not known here; that is what the version is for.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::CommandSettings;
use crate::digest;
use crate::mask::Mask;
use crate::model::Identity;

/// Larger files are data, not programs; their size has to do.
const MAX_FILE: u64 = 64 * 1024 * 1024;

pub(super) fn of(settings: &CommandSettings) -> Identity {
    let words = Mask::Digest.words(&settings.command);
    let files: Map<String, Value> = settings
        .command
        .iter()
        .zip(&words)
        .filter_map(|(word, shown)| Some((shown.clone(), content(Path::new(word))?)))
        .collect();
    // Values may be secrets: only their digests go into files.
    let env: Map<String, Value> = settings
        .env
        .iter()
        .map(|(name, value)| (name.clone(), json!(digest::hex(value.as_bytes()))))
        .collect();
    let settings = json!({
        "command": words,
        "files": files,
        "env": env,
        "version": settings.version.as_deref().map(|text| Mask::Digest.setting(text)),
    });
    Identity::new("command", 1, settings)
}

/// The content of a file as a digest; `None` for what is no readable file.
fn content(path: &Path) -> Option<Value> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    if metadata.len() > MAX_FILE {
        return Some(json!({"bytes": metadata.len()}));
    }
    Some(json!(digest::hex(&std::fs::read(path).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_script_is_another_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("my script.py");
        let word = script.to_str().expect("text").to_owned();
        let settings = |version: Option<&str>| CommandSettings {
            version: version.map(str::to_owned),
            ..CommandSettings::new(["python3".to_owned(), word.clone()])
        };
        std::fs::write(&script, "print(1)").expect("written");
        let first = of(&settings(None));
        assert_eq!(of(&settings(None)), first);
        assert_ne!(of(&settings(Some("2"))), first);
        std::fs::write(&script, "print(2)").expect("written");
        assert_ne!(of(&settings(None)), first);
    }

    #[test]
    fn values_of_variables_are_not_written_down() {
        let mut settings = CommandSettings::new(["true", "--key", "pw-77"]);
        settings.env.push(("MY_KEY".into(), "sk-secret".into()));
        let identity = of(&settings).to_json().to_string();
        assert!(
            identity.contains("MY_KEY") && !identity.contains("sk-secret"),
            "{identity}"
        );
        assert!(!identity.contains("pw-77"), "{identity}");
        let other = CommandSettings::new(["true", "--key", "pw-78"]);
        assert_ne!(
            of(&other),
            of(&CommandSettings::new(["true", "--key", "pw-77"]))
        );
    }
}
