//! What decides the answers of a command: its words, the files they name, its
//! variables and the version that the user gives.
//!
//! A script that was edited is another system, so files on the command line are
//! read, also those that stand behind a `=` or in the text of `sh -c`, and the
//! Python files of a folder or module that is run. What these import from elsewhere
//! is not known here; that is what the version is for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{CommandSettings, split_command};
use crate::digest;
use crate::mask::Mask;
use crate::model::Identity;

/// Larger files are data, not programs; their size has to do.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Of a folder that is run, at most so many files, and so many folders deep.
const MAX_FILES: usize = 1000;
const MAX_DEPTH: usize = 8;
/// How deep texts of shells may be nested.
const MAX_SHELLS: usize = 3;

/// The identity of a system that is this command.
pub(super) fn of(settings: &CommandSettings) -> Identity {
    Identity::new("command", 1, describe(settings))
}

/// What decides the answers of a command, whatever it is asked.
pub(crate) fn describe(settings: &CommandSettings) -> Value {
    let words = Mask::Digest.words(&settings.command);
    let files: Map<String, Value> = settings
        .command
        .iter()
        .zip(&words)
        .filter_map(|(word, shown)| Some((shown.clone(), content(Path::new(word))?)))
        .chain(further_files(&settings.command))
        .collect();
    // Values may be secrets: only their digests go into files.
    let env: Map<String, Value> = settings
        .env
        .iter()
        .map(|(name, value)| (name.clone(), json!(digest::hex(value.as_bytes()))))
        .collect();
    json!({
        "command": words,
        "files": files,
        "env": env,
        "version": settings.version.as_deref().map(|text| Mask::Digest.setting(text)),
    })
}

/// The content of a file as a digest; `None` for anything that is not a readable file.
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

/// The files that words name without being their names.
fn further_files(words: &[String]) -> impl Iterator<Item = (String, Value)> {
    let mut found = BTreeSet::new();
    name_files(words, 0, &mut found);
    found
        .into_iter()
        .filter_map(|path| Some((path.to_string_lossy().into_owned(), content(&path)?)))
}

fn name_files(words: &[String], shells: usize, found: &mut BTreeSet<PathBuf>) {
    let mut before = "";
    for word in words {
        if let Some((_, value)) = word.split_once('=') {
            found.insert(value.into());
        }
        run_folder(Path::new(word), found);
        let module = match before {
            "-m" => Some(word.as_str()),
            _ => word.strip_prefix("-m").filter(|name| !name.is_empty()),
        };
        if let Some(module) = module {
            run_module(module, found);
        }
        // `-c`, `-lc`: what follows is a command line of its own. Its operators are
        // taken for spaces: only the files that it names are wanted.
        let is_text = before.starts_with('-') && !before.starts_with("--") && before.ends_with('c');
        if is_text && shells < MAX_SHELLS {
            let plain = word.replace([';', '|', '&', '(', ')', '<', '>', '`'], " ");
            let inner = split_command(&plain)
                .unwrap_or_else(|_| plain.split_whitespace().map(str::to_owned).collect());
            found.extend(inner.iter().map(PathBuf::from));
            name_files(&inner, shells + 1, found);
        }
        before = word;
    }
}

/// A folder that Python runs: all Python files in it.
fn run_folder(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    if folder.join("__main__.py").is_file() {
        python_files(folder, 0, found);
    }
}

/// `python -m a.b`: the file or package of that name in the working directory, with
/// what is beside it in its topmost package.
fn run_module(module: &str, found: &mut BTreeSet<PathBuf>) {
    let is_name =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !module.split('.').all(is_name) {
        return;
    }
    let top = module.split('.').next().unwrap_or(module);
    found.insert(format!("{top}.py").into());
    python_files(Path::new(top), 0, found);
}

fn python_files(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    // Sorted, so that it is always the same files that are left out.
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if found.len() >= MAX_FILES {
            return;
        }
        // A link to a folder could lead round in circles.
        let is_folder = path.is_dir() && !path.is_symlink();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_folder && !hidden && depth < MAX_DEPTH {
            python_files(&path, depth + 1, found);
        } else if path.extension().is_some_and(|end| end == "py") {
            found.insert(path);
        }
    }
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
    fn files_are_found_wherever_a_command_names_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path).to_str().expect("text").to_owned();
        std::fs::create_dir_all(folder.path().join("app/inner")).expect("made");
        let write = |path: &str, text: &str| std::fs::write(at(path), text).expect("written");
        for path in [
            "app/__main__.py",
            "app/inner/help.py",
            "c.json",
            "s.py",
            "t.sh",
        ] {
            write(path, "1");
        }
        let (app, config, script, shell) = (at("app"), at("c.json"), at("s.py"), at("t.sh"));
        for (command, path) in [
            (vec!["python3".to_owned(), app.clone()], "app/__main__.py"),
            (vec!["python3".to_owned(), app], "app/inner/help.py"),
            (
                vec!["true".to_owned(), format!("--config={config}")],
                "c.json",
            ),
            (
                vec![
                    "sh".to_owned(),
                    "-c".to_owned(),
                    format!("cd /;python3 '{script}'|cat"),
                ],
                "s.py",
            ),
            (
                vec![
                    "bash".to_owned(),
                    "-lc".to_owned(),
                    format!("CONFIG={config} x \"{shell}\""),
                ],
                "c.json",
            ),
            (
                vec![
                    "sh".to_owned(),
                    "-c".to_owned(),
                    format!("exec sh -c '. {shell}'"),
                ],
                "t.sh",
            ),
            // A quote that is not closed.
            (
                vec![
                    "sh".to_owned(),
                    "-c".to_owned(),
                    format!("echo it's; {shell}"),
                ],
                "t.sh",
            ),
        ] {
            let settings = CommandSettings::new(command);
            write(path, "1");
            let first = of(&settings);
            assert_eq!(of(&settings), first);
            write(path, "2");
            assert_ne!(of(&settings), first, "{path} of {:?}", settings.command);
        }
        let data = CommandSettings::new(["cat".to_owned(), at("app/inner")]);
        let first = of(&data);
        write("app/inner/help.py", "3");
        assert_eq!(of(&data), first, "a folder that is not run is data");
    }

    #[test]
    fn modules_are_those_of_the_working_directory() {
        let mut found = BTreeSet::new();
        // Tests run in the folder of the crate.
        name_files(
            &["python3".into(), "-m".into(), "tests.it".into()],
            0,
            &mut found,
        );
        assert!(found.contains(Path::new("tests.py")));
        let python = found.iter().filter(|path| path.starts_with("tests"));
        assert!(python.count() > 0, "{found:?}");
        for strange in ["../etc", "a/b", "", "a..b"] {
            let mut found = BTreeSet::new();
            run_module(strange, &mut found);
            assert!(found.is_empty(), "{strange}");
        }
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
