//! Looking after what no limit of the kernel covers: the memory of all processes
//! together, their number where the kernel counts those of others too, and the size of
//! the private folder; and removing that folder.

use std::collections::HashMap;
#[cfg(unix)]
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::tree::{Process, Tree};
use super::{Limits, SandboxLevel};

/// What there was too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    Memory,
    Output,
    Processes,
}

/// More entries than any honest program makes.
const MAX_ENTRIES: usize = 4096;

/// What is looked after.
pub(super) struct Watch<'a> {
    pub(super) folder: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) level: SandboxLevel,
}

impl Watch<'_> {
    /// Whether these processes together take too much.
    pub(super) fn excess(&self, tree: &Tree) -> Option<Excess> {
        // The launcher may be one of them.
        let threads: usize = tree.processes.iter().map(|one| one.threads.len()).sum();
        if self.level.is_contained() && threads as u64 > self.limits.processes.saturating_add(1) {
            return Some(Excess::Processes);
        }
        if memory(tree) > self.limits.memory.saturating_mul(2) {
            return Some(Excess::Memory);
        }
        let mut size = Size::default();
        size.add(self.folder);
        // Elsewhere the folder is a file system that has this size.
        if !self.level.has_namespaces() {
            size.add_removed(tree);
        }
        let is_large = size.bytes > self.limits.folder || size.entries > MAX_ENTRIES;
        is_large.then_some(Excess::Output)
    }
}

/// Memory in bytes that processes do not share with files, each page counted once;
/// 0 where the system does not report it.
fn memory(tree: &Tree) -> u64 {
    let mut shared = Shared::default();
    let own: u64 = tree.processes.iter().map(own_memory).sum();
    let unnamed: u64 = tree
        .processes
        .iter()
        .map(|process| match process.file("maps") {
            Some(maps) => {
                shared.add(&maps);
                0
            }
            // Somebody else's, as for a root without all privileges.
            None => status(process, "RssShmem:"),
        })
        .sum();
    own + unnamed + shared.bytes()
}

/// Memory of one process that it shares with nobody, whether it is in RAM or not.
fn own_memory(process: &Process) -> u64 {
    #[cfg(target_os = "linux")]
    let page = rustix::param::page_size() as u64;
    #[cfg(not(target_os = "linux"))]
    let page = 4096;
    let statm = process.file("statm").unwrap_or_default();
    let mut numbers = statm.split(' ').skip(1).map(|n| n.parse::<u64>());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(resident)), Some(Ok(shared))) => {
            resident.saturating_sub(shared) * page + status(process, "VmSwap:")
        }
        _ => 0,
    }
}

/// A line of `/proc/PID/status` that is in kilobytes.
fn status(process: &Process, name: &str) -> u64 {
    let status = process.file("status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Memory that processes share: by what it is, how far it reaches. How much of it is
/// used cannot be distinguished for any process, so all of it counts.
#[derive(Default)]
struct Shared(HashMap<(String, String), u64>);

impl Shared {
    /// Adds the shared areas of `/proc/PID/maps` whose file has no name: those made
    /// without one, and those of removed files.
    fn add(&mut self, maps: &str) {
        for line in maps.lines() {
            let mut fields = line.split_whitespace();
            let (range, flags) = (fields.next(), fields.next());
            let (offset, device, file) = (fields.next(), fields.next(), fields.next());
            let (Some(range), Some(flags), Some(offset), Some(device), Some(file)) =
                (range, flags, offset, device, file)
            else {
                continue;
            };
            if !flags.ends_with('s') || !line.ends_with("(deleted)") {
                continue;
            }
            let hex = |text: &str| u64::from_str_radix(text, 16).ok();
            let Some((Some(start), Some(end))) = range
                .split_once('-')
                .map(|(start, end)| (hex(start), hex(end)))
            else {
                continue;
            };
            let reach = hex(offset).unwrap_or(0) + end.saturating_sub(start);
            let known = self.0.entry((device.to_owned(), file.to_owned()));
            let known = known.or_default();
            *known = reach.max(*known);
        }
    }

    fn bytes(&self) -> u64 {
        self.0.values().sum()
    }
}

#[derive(Default)]
struct Size {
    bytes: u64,
    entries: usize,
}

impl Size {
    /// Adds what lies in a folder; links are counted, not followed.
    fn add(&mut self, folder: &Path) {
        let mut queue = vec![folder.to_owned()];
        while let Some(folder) = queue.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                self.entries += 1;
                if self.entries > MAX_ENTRIES {
                    return;
                }
                let Ok(metadata) = entry.metadata() else {
                    continue;
                };
                self.bytes += metadata.len();
                if metadata.is_dir() {
                    queue.push(entry.path());
                }
            }
        }
    }

    /// Adds the files that processes still have open and that have no name any more.
    fn add_removed(&mut self, tree: &Tree) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let mut seen = HashSet::new();
            for process in &tree.processes {
                let open = fs::read_dir(format!("/proc/{}/fd", process.pid));
                for entry in open.into_iter().flatten().flatten() {
                    // What it leads to, not the link.
                    let Ok(metadata) = fs::metadata(entry.path()) else {
                        continue;
                    };
                    let is_removed = metadata.is_file() && metadata.nlink() == 0;
                    if is_removed && seen.insert((metadata.dev(), metadata.ino())) {
                        self.bytes += metadata.len();
                    }
                }
            }
        }
        #[cfg(not(unix))]
        let _ = tree;
    }
}

/// Removes a private folder, also when the program closed folders in it.
pub(super) fn remove(folder: TempDir) {
    let path = folder.keep();
    if is_gone(fs::remove_dir_all(&path)) {
        return;
    }
    open_up(&path);
    // What cannot be removed is left to the system's own clean-up.
    let _ = fs::remove_dir_all(&path);
}

fn is_gone(removed: io::Result<()>) -> bool {
    match removed {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Makes all folders below writable for their owner; links are not followed.
fn open_up(folder: &Path) {
    let mut queue = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = queue.pop() {
        seen += 1;
        if seen > MAX_ENTRIES {
            return;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                queue.push(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_links_and_do_not_follow_them() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("inner")).expect("a folder");
        fs::write(folder.path().join("inner/file"), [0; 1000]).expect("a file");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/", folder.path().join("link")).expect("a link");
        let mut size = Size::default();
        size.add(folder.path());
        assert!(size.bytes >= 1000 && size.bytes < 100_000, "{}", size.bytes);
        assert_eq!(size.entries, if cfg!(unix) { 3 } else { 2 });
    }

    #[cfg(unix)]
    #[test]
    fn closed_folders_are_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_owned();
        fs::create_dir_all(path.join("a/b")).expect("folders");
        fs::set_permissions(path.join("a"), fs::Permissions::from_mode(0o000))
            .expect("permissions");
        remove(folder);
        assert!(!path.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_of_this_process_is_not_nothing() {
        assert!(memory(&Tree::below(std::process::id())) > 100_000);
    }

    #[test]
    fn shared_memory_counts_once_and_in_full() {
        let mut shared = Shared::default();
        let maps = "\
7f0000000000-7f0000100000 rw-s 00000000 00:01 77 /dev/zero (deleted)
7f0000200000-7f0000300000 rw-s 00100000 00:01 77 /dev/zero (deleted)
7f0000400000-7f0000500000 rw-s 00000000 00:01 78 /dev/zero (deleted)
7f0000600000-7f0000700000 r--s 00000000 08:01 79 /usr/lib/locale/locale-archive
7f0000800000-7f0000900000 rw-p 00000000 00:00 0 [heap]
";
        shared.add(maps);
        shared.add(maps);
        assert_eq!(shared.bytes(), 3 << 20);
    }
}
