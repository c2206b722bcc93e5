//! Finding the interpreter, and the files that it needs to run.
//!
//! The interpreter is asked itself, once and outside the sandbox, so that shims
//! and virtual environments lead to the real one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::SandboxError;

/// Folders with shared libraries, and what the loader and time zones need.
const SYSTEM: [&str; 8] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
];

/// Stores of distributions that keep every library in a place of its own.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// Prints the version, what else decides how programs end, the executable and the
/// folders it needs, one per line.
const QUESTION: &str = r#"
import os, sys, sysconfig
packages = sys.argv[1] == "packages"
executable = sys.executable if packages else getattr(sys, "_base_executable", sys.executable)
print("%d.%d" % sys.version_info[:2])
version = [sys.implementation.name, sys.version.split()[0]]
if version[0] != "cpython":
    version.append(".".join(map(str, sys.implementation.version)))
if packages:
    found = set()
    for name in ("purelib", "platlib"):
        try:
            found.update(os.listdir(sysconfig.get_path(name)))
        except OSError:
            pass
    version += sorted(n for n in found if n.endswith((".dist-info", ".egg-info", ".pth")))
print(" ".join(version))
print(executable if packages else os.path.realpath(executable))
print(os.path.realpath(executable))
for prefix in {sys.base_prefix, sys.base_exec_prefix}:
    print(os.path.join(prefix, "lib"))
    print(os.path.join(prefix, "lib64"))
for name in ("stdlib", "platstdlib"):
    print(sysconfig.get_path(name))
if packages:
    print(sys.prefix)
    for name in ("purelib", "platlib"):
        print(sysconfig.get_path(name))
"#;

/// An interpreter that starts.
#[derive(Debug, Clone)]
pub(super) struct Interpreter {
    /// Which one it is: its kind, its version and its packages where they are importable.
    pub(super) version: String,
    /// The real executable.
    pub(super) path: PathBuf,
    /// Files and folders it reads; all exist, none is a part of another.
    pub(super) readable: Vec<PathBuf>,
    /// Whether installed packages are importable.
    pub(super) site_packages: bool,
}

impl Interpreter {
    /// Finds the interpreter of that name or path; `python3` unless given.
    pub(super) fn find(python: Option<&Path>, site_packages: bool) -> Result<Self, SandboxError> {
        let python = python.unwrap_or(Path::new("python3"));
        let no_python = |reason: String| SandboxError::NoPython {
            python: python.display().to_string(),
            reason,
        };
        let packages = if site_packages { "packages" } else { "plain" };
        let mut command = Command::new(python);
        command.args(["-I", "-S", "-c", QUESTION, packages]);
        command.stdin(Stdio::null());
        let answer = command
            .output()
            .map_err(|error| no_python(format!("does not start: {error}")))?;
        if !answer.status.success() {
            let stderr = String::from_utf8_lossy(&answer.stderr);
            let last = stderr.lines().next_back().unwrap_or_default();
            return Err(no_python(format!("failed ({}): {last}", answer.status)));
        }
        let answer = String::from_utf8_lossy(&answer.stdout);
        let mut lines = answer.lines();
        let (version, whole, path) = (lines.next(), lines.next(), lines.next());
        let (Some(version), Some(whole), Some(path)) = (version, whole, path) else {
            return Err(no_python("is not Python".into()));
        };
        if !is_recent(version) {
            return Err(no_python(format!("is Python {version}")));
        }
        let path = PathBuf::from(path);
        let own = lines.map(PathBuf::from).chain([path.clone()]);
        let system = SYSTEM.iter().map(PathBuf::from);
        let stores = STORES.iter().map(PathBuf::from);
        let stores = stores.filter(|store| path.starts_with(store));
        let wanted = own.chain(system).chain(stores);
        Ok(Self {
            version: whole.to_owned(),
            readable: outermost(wanted.filter(|path| is_narrow(path) && path.exists())),
            path,
            site_packages,
        })
    }

    /// The arguments before the driver. The environment is ours entirely, so
    /// isolated mode would add nothing but random hashes.
    pub(super) fn arguments(&self) -> Vec<String> {
        let site: &[&str] = if self.site_packages { &[] } else { &["-S"] };
        let all = ["-s", "-B"].iter().chain(site);
        all.map(|argument| (*argument).to_owned()).collect()
    }
}

fn is_recent(version: &str) -> bool {
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    major == "3" && minor.parse::<u32>().is_ok_and(|minor| minor >= 8)
}

/// Whether a folder is not the root or a folder of the root, unless it is one
/// that holds libraries.
fn is_narrow(path: &Path) -> bool {
    path.is_absolute()
        && (path.components().count() > 2 || SYSTEM.iter().any(|known| path == Path::new(known)))
}

/// Leaves out what lies below another entry.
fn outermost(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    // Sorted, a folder comes before what it contains.
    for path in paths.collect::<BTreeSet<_>>() {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outermost_and_narrow_folders_are_readable() {
        let paths = ["/usr/lib", "/usr/lib/python3.11", "/usr/libexec/x", "/lib"];
        let kept = outermost(paths.iter().map(PathBuf::from));
        assert_eq!(
            kept,
            ["/lib", "/usr/lib", "/usr/libexec/x"].map(PathBuf::from)
        );
        for (path, expected) in [
            ("/", false),
            ("/home", false),
            ("/lib", true),
            ("/opt/py", true),
            ("lib", false),
        ] {
            assert_eq!(is_narrow(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn versions_from_3_8_on_are_used() {
        for (version, expected) in [
            ("2.7", false),
            ("3.7", false),
            ("3.8", true),
            ("3.14", true),
        ] {
            assert_eq!(is_recent(version), expected, "{version}");
        }
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let error = Interpreter::find(Some(Path::new("no-such-python")), false).unwrap_err();
        assert!(error.to_string().contains("no-such-python"), "{error}");
    }
}
