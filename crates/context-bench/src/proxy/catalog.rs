//! [`ProxyCatalog`]: profiles by name: those that come with the program, and the user's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench_error::suggest;
use context_bench_template::yaml;
use indexmap::IndexMap;

use super::ProxyProfile;
use crate::embedded::embedded;
use crate::plan::SpecError;

const EMBEDDED: &[(&str, &str)] = embedded!["proxies": "headroom", "kompact", "litellm", "llmtrim"];

/// How deep folders of the user are searched.
const MAX_DEPTH: usize = 8;

/// Profiles by name.
#[derive(Debug, Clone, Default)]
pub struct ProxyCatalog {
    profiles: IndexMap<String, Arc<ProxyProfile>>,
}

impl ProxyCatalog {
    /// The profiles that come with the program, and those of the user in these files and
    /// folders, which take the place of others with the same name.
    ///
    /// # Errors
    ///
    /// When a profile is not right, or there is no such file or folder.
    pub fn new(include: &[PathBuf]) -> Result<Self, SpecError> {
        let mut catalog = Self::default();
        for (name, text) in EMBEDDED {
            catalog.add(ProxyProfile::parse(text.as_bytes(), name)?);
        }
        for path in include {
            for file in profile_files(path) {
                catalog.add(ProxyProfile::read(&file)?);
            }
        }
        catalog.profiles.sort_keys();
        Ok(catalog)
    }

    fn add(&mut self, profile: ProxyProfile) {
        let name = profile.proxy.clone();
        self.profiles.insert(name, Arc::new(profile));
    }

    /// All profiles, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ProxyProfile>> {
        self.profiles.values()
    }

    /// The profile that a name or the path of a file means; `None` for anything else, such as
    /// an address.
    ///
    /// # Errors
    ///
    /// When the file is not right.
    pub fn find(&self, named: &str) -> Result<Option<Arc<ProxyProfile>>, SpecError> {
        if is_profile_file(Path::new(named)) {
            return ProxyProfile::read(Path::new(named)).map(|one| Some(Arc::new(one)));
        }
        Ok(self.profiles.get(named).cloned())
    }

    /// What to say about a name that is none.
    pub fn near(&self, named: &str) -> String {
        let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        suggest::did_you_mean(named, names.iter().copied()).unwrap_or_else(|| {
            format!(
                "the proxies are {}; your own is the path of its profile, `./NAME.yaml`",
                suggest::quoted_list(&names, "and")
            )
        })
    }
}

/// Whether a text can only be the path of a profile, and not an address.
fn is_profile_file(path: &Path) -> bool {
    let is_yaml = path
        .extension()
        .is_some_and(|end| end == "yaml" || end == "yml");
    is_yaml && !path.to_string_lossy().contains("://")
}

/// The files below a path that are profiles: those that have the keys `proxy` and `command`.
/// What else is there are tasks and datasets.
fn profile_files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(path, 0, &mut found);
    found
}

fn collect(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if path.is_dir() && depth <= MAX_DEPTH {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        entries.sort();
        for entry in entries {
            // A link to a folder could lead round in circles.
            if !(entry.is_symlink() && entry.is_dir()) {
                collect(&entry, depth + 1, found);
            }
        }
    } else if ProxyProfile::is_file(path) {
        found.push(path.to_owned());
    }
}

impl ProxyProfile {
    /// Whether a path leads to a file that is meant to be a profile.
    pub fn is_file(path: &Path) -> bool {
        is_profile_file(path) && is_profile(path)
    }
}

fn is_profile(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else {
        return false;
    };
    // Most files are tasks: they need not be parsed to see that.
    let has = |key: &[u8]| {
        bytes.starts_with(key)
            || bytes
                .windows(key.len() + 1)
                .any(|w| w[0] == b'\n' && &w[1..] == key)
    };
    if !has(b"proxy:") {
        return false;
    }
    let name = path.display().to_string();
    match yaml::parse(&bytes, &name) {
        Ok(document) => document.root.get("task").is_none() && document.root.get("group").is_none(),
        // Its mistakes are told when it is read.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_program_is_right() {
        let catalog = ProxyCatalog::new(&[]).expect("all are right");
        let names: Vec<&str> = catalog.iter().map(|one| one.proxy.as_str()).collect();
        assert_eq!(names, ["headroom", "kompact", "litellm", "llmtrim"]);
        for profile in catalog.iter() {
            assert!(!profile.about.is_empty() && profile.install.is_some());
            assert!(!profile.tried.is_empty(), "{}", profile.proxy);
        }
        assert!(catalog.find("http://localhost:1").expect("none").is_none());
        assert_eq!(catalog.near("kompct"), "did you mean `kompact`?");
        assert!(catalog.near("xyz").contains("`headroom`"));
    }

    #[test]
    fn folders_of_the_user_are_searched_and_take_precedence() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, text).expect("written");
            path
        };
        let text = "proxy: kompact\nabout: mine\ncommand: [p, '{port}', '{tap}']\n\
                    ready: {url: 'http://127.0.0.1:{port}/'}\n";
        write("deep er/mine.yaml", text);
        write("task.yaml", "task: t\ndoc_to_text: 'proxy: x'\n");
        write("dataset.yaml", "name: d\n");
        write("notes.txt", "proxy: x\n");
        let include = [folder.path().to_owned()];
        let catalog = ProxyCatalog::new(&include).expect("right");
        let found = catalog.find("kompact").expect("found").expect("there");
        assert_eq!(found.about, "mine");
        assert_eq!(catalog.iter().count(), 4);
        let path = write("other.yml", &text.replace("kompact", "other"));
        let found = catalog.find(path.to_str().expect("text")).expect("right");
        assert_eq!(found.expect("there").proxy, "other");
        assert!(catalog.find("./nothing.yaml").is_err());
        write("bad.yaml", "proxy: bad\ncomand: []\n");
        let error = ProxyCatalog::new(&include).expect_err("wrong");
        assert!(error.to_string().contains("bad.yaml:2:1"), "{error}");
    }
}
