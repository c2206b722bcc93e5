//! The processes of a program as the system shows them, where it has `/proc`.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// More processes than can be there, even when each has many threads.
const MAX_PROCESSES: usize = 4096;

/// What is below a process at one moment.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// That process first.
    pub(super) processes: Vec<Process>,
    /// Whether the system reports which process is whose child; some kernels do not.
    pub(super) is_whole: bool,
}

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Its first thread: `R` runs or wants to, `D` waits for a device.
    pub(super) state: char,
    /// Processor time of all its threads and of the children that it waited for.
    pub(super) cpu: Duration,
    /// Whether it had children that are gone.
    pub(super) had_children: bool,
    pub(super) threads: Vec<u32>,
}

impl Tree {
    /// The process of that number and its descendants.
    pub(super) fn below(root: u32) -> Self {
        let mut processes = Vec::new();
        let mut queue = vec![root];
        while let Some(pid) = queue.pop() {
            if processes.len() >= MAX_PROCESSES {
                break;
            }
            let Some(mut process) = Process::read(pid) else {
                continue;
            };
            let tasks = fs::read_dir(format!("/proc/{pid}/task"));
            for task in tasks.into_iter().flatten().flatten() {
                let name = task.file_name();
                let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
                process.threads.extend(number);
                let children = fs::read_to_string(task.path().join("children"));
                let children = children.unwrap_or_default();
                queue.extend(
                    children
                        .split_whitespace()
                        .filter_map(|n| n.parse::<u32>().ok()),
                );
            }
            processes.push(process);
        }
        Self {
            processes,
            is_whole: Path::new("/proc/thread-self/children").exists(),
        }
    }
}

impl Process {
    /// What `/proc/PID/stat` says.
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in brackets and may hold anything, brackets too.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let ticks = (11..=14).map(number).sum::<Option<u64>>()?;
        Some(Self {
            pid,
            state: fields.first()?.chars().next()?,
            cpu: Duration::from_millis(ticks.saturating_mul(1000) / ticks_per_second()),
            // Page faults of children that were waited for: nothing runs without one.
            had_children: number(8)? > 0,
            threads: Vec::new(),
        })
    }

    /// The text of one of its files in `/proc`.
    pub(super) fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(format!("/proc/{}/{name}", self.pid)).ok()
    }

    /// How long each of its threads was ready to run and had no processor; `None`
    /// where the kernel does not count that.
    pub(super) fn kept_waiting(&self, thread: u32) -> Option<Duration> {
        let text = self.file(&format!("task/{thread}/schedstat"))?;
        let nanos = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
    }
}

fn ticks_per_second() -> u64 {
    #[cfg(target_os = "linux")]
    return rustix::param::clock_ticks_per_second().max(1);
    #[cfg(not(target_os = "linux"))]
    100
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_child_are_seen() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .expect("a child");
        let tree = Tree::below(std::process::id());
        let _ = child.kill();
        let _ = child.wait();
        let first = &tree.processes[0];
        assert_eq!(first.pid, std::process::id());
        assert!(tree.is_whole);
        assert!(first.threads.contains(&first.pid), "{first:?}");
        assert!(tree.processes.iter().any(|other| other.pid == child.id()));
    }
}
