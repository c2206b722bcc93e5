//! The program of a profile: whether it is installed, and which version it is, without
//! starting it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{ProxyError, ProxyProfile};
use crate::digest;

/// Larger programs are told apart by their size.
const MAX_PROGRAM: u64 = 256 * 1024 * 1024;

impl ProxyProfile {
    /// Whether its program is in the folders of a search path, with the version of its Python
    /// package where it has one.
    pub fn installed(&self, search_path: &str) -> Option<Option<String>> {
        let found = InstalledProgram::find(self, search_path);
        found.ok().map(|program| program.version)
    }
}

/// A program that is there.
#[derive(Debug, Clone)]
pub(super) struct InstalledProgram {
    pub(super) path: PathBuf,
    /// The version of its Python package.
    pub(super) version: Option<String>,
}

impl InstalledProgram {
    /// Looks for the program of a profile in the folders of a search path.
    pub(super) fn find(profile: &ProxyProfile, search_path: &str) -> Result<Self, ProxyError> {
        let program = profile.command.first().map_or("", String::as_str);
        let path = match program.contains('/') {
            true => Some(PathBuf::from(program)),
            false => std::env::split_paths(search_path)
                .map(|folder| folder.join(program))
                .find(|path| path.is_file()),
        };
        let path = path.filter(|path| path.is_file());
        let path = path.ok_or_else(|| ProxyError::NotInstalled {
            proxy: profile.proxy.clone(),
            program: program.to_owned(),
            install: profile.install.clone(),
        })?;
        // It may be started in another folder.
        let path = std::path::absolute(&path).unwrap_or(path);
        let package = profile.package.as_deref();
        let version = package.and_then(|package| installed_version(&path, package));
        Ok(Self { path, version })
    }

    /// What tells it apart from other versions: that of its package, else its content.
    pub(super) fn identity(&self) -> Map<String, Value> {
        let mut identity = Map::new();
        match &self.version {
            Some(version) => identity.insert("version".into(), json!(version)),
            None => identity.insert("program".into(), content(&self.path)),
        };
        identity
    }
}

fn content(path: &Path) -> Value {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > MAX_PROGRAM => json!({"bytes": metadata.len()}),
        _ => json!(std::fs::read(path).map(|bytes| digest::hex(&bytes)).ok()),
    }
}

/// The version of a Python package that was installed beside a program: the folder
/// `NAME-VERSION.dist-info` says it, so that no interpreter has to be started.
fn installed_version(program: &Path, package: &str) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let beside = [program, &real].into_iter();
    beside
        .filter_map(|path| path.parent()?.parent())
        .find_map(|root| {
            let libraries = std::fs::read_dir(root.join("lib")).ok()?.flatten();
            libraries
                .map(|library| library.path().join("site-packages"))
                .find_map(|folder| version_in(&folder, package))
        })
}

fn version_in(folder: &Path, package: &str) -> Option<String> {
    let wanted = plain_name(package);
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .find_map(|name| {
            let (package, version) = name.strip_suffix(".dist-info")?.rsplit_once('-')?;
            (plain_name(package) == wanted).then(|| version.to_owned())
        })
}

/// A name of a package as it is compared: `Headroom_AI` is `headroom-ai`.
fn plain_name(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hint as _;

    #[test]
    fn programs_are_found_with_the_version_of_their_package() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let site = at("v env/lib/python3.11/site-packages");
        std::fs::create_dir_all(site.join("My_Proxy-1.2.3.dist-info")).expect("made");
        std::fs::create_dir_all(site.join("my_proxy_extra-9.dist-info")).expect("made");
        std::fs::create_dir_all(at("v env/bin")).expect("made");
        std::fs::create_dir_all(at("bin")).expect("made");
        std::fs::write(at("v env/bin/run"), "1").expect("written");
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("v env/bin/run"), at("bin/run")).expect("linked");
        let mut profile = ProxyProfile {
            proxy: "mine".into(),
            command: vec!["run".into()],
            package: Some("my.proxy".into()),
            install: Some("pip install my-proxy".into()),
            ..ProxyProfile::default()
        };
        let path = |folders: &[&str]| {
            let folders = folders.iter().map(|name| at(name));
            let joined = std::env::join_paths(folders).expect("a path");
            joined.into_string().expect("text")
        };
        for search in [vec!["v env/bin"], vec!["nothing", "bin"]] {
            let found = InstalledProgram::find(&profile, &path(&search)).expect("found");
            assert_eq!(found.version.as_deref(), Some("1.2.3"), "{search:?}");
        }
        let error = InstalledProgram::find(&profile, &path(&["nothing"])).expect_err("none");
        assert_eq!(
            error.to_string(),
            "the program `run` of the proxy `mine` is not installed"
        );
        assert_eq!(error.hint().as_deref(), Some("pip install my-proxy"));
        profile.package = None;
        let identity = |content: &str| {
            std::fs::write(at("v env/bin/run"), content).expect("written");
            InstalledProgram::find(&profile, &path(&["bin"]))
                .expect("found")
                .identity()
        };
        assert_eq!(identity("1"), identity("1"));
        assert_ne!(identity("1"), identity("2"));
    }
}
