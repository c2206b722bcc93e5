//! Looking after what no limit of the kernel covers: the memory of all processes
//! together and the size of the private folder; and removing that folder.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::Limits;

/// What there was too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    Memory,
    Output,
}

/// More entries than any honest program makes.
const MAX_ENTRIES: usize = 4096;

/// More processes than can be there, even when each has many threads.
const MAX_PROCESSES: usize = 4096;

/// What is looked after.
pub(super) struct Watch<'a> {
    pub(super) folder: &'a Path,
    pub(super) limits: &'a Limits,
}

impl Watch<'_> {
    /// Whether the process of that number and its descendants take too much.
    pub(super) fn excess(&self, process: u32) -> Option<Excess> {
        if memory(process) > self.limits.memory.saturating_mul(2) {
            return Some(Excess::Memory);
        }
        let mut size = Size::default();
        size.add(self.folder);
        let is_large = size.bytes > self.limits.folder || size.entries > MAX_ENTRIES;
        is_large.then_some(Excess::Output)
    }
}

/// Memory in bytes that a process and its descendants do not share with files;
/// 0 where the system does not tell.
fn memory(root: u32) -> u64 {
    #[cfg(target_os = "linux")]
    let page = rustix::param::page_size() as u64;
    #[cfg(not(target_os = "linux"))]
    let page = 4096;
    let mut total = 0_u64;
    let mut queue = vec![root];
    let mut seen = 0;
    while let Some(process) = queue.pop() {
        seen += 1;
        if seen > MAX_PROCESSES {
            break;
        }
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}"));
        if let Ok(statm) = read("statm") {
            let mut numbers = statm.split(' ').skip(1).map(|n| n.parse::<u64>());
            if let (Some(Ok(resident)), Some(Ok(shared))) = (numbers.next(), numbers.next()) {
                total += resident.saturating_sub(shared) * page;
            }
        }
        let tasks = fs::read_dir(format!("/proc/{process}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            queue.extend(
                children
                    .split_whitespace()
                    .filter_map(|n| n.parse::<u32>().ok()),
            );
        }
    }
    total
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
        assert!(memory(std::process::id()) > 100_000);
    }
}
