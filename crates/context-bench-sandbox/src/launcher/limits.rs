//! Resource limits, and dying with the parent.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{
    Resource, Rlimit, Signal, getpid, getrlimit, getuid, set_child_subreaper,
    set_parent_process_death_signal, setrlimit,
};

use super::super::job::Job;
use super::user::User;
use super::{AtStep as _, FailedStep};

/// At least as many programs run at a time.
const PROGRAMS: u64 = 32;

/// Sets all limits.
pub(super) fn apply(job: &Job, user: User) -> Result<(), FailedStep> {
    rustix::process::umask(rustix::fs::Mode::from_bits_truncate(0o077));
    let processes = if user.is_some() || job.level.has_namespaces() {
        job.processes
    } else {
        // The kernel counts all processes of the user, other programs at this time among
        // them, who must not take this one's share. The parent counts exactly.
        let shared = job.processes.saturating_mul(PROGRAMS);
        shared.saturating_add(threads_of_user())
    };
    for (resource, value) in [
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        (Resource::As, job.memory),
        (Resource::Fsize, job.file),
        (Resource::Nofile, job.open_files),
        (Resource::Nproc, processes),
        (Resource::Cpu, job.cpu_s),
    ] {
        lower(resource, value)?;
    }
    Ok(())
}

/// Sets a limit, but never above the one that is in force.
fn lower(resource: Resource, value: u64) -> Result<(), FailedStep> {
    let now = getrlimit(resource);
    let maximum = now.maximum.map_or(value, |maximum| maximum.min(value));
    let limit = Rlimit {
        current: Some(maximum),
        maximum: Some(maximum),
    };
    setrlimit(resource, limit).at("limits")
}

/// How many threads the user of this process has.
fn threads_of_user() -> u64 {
    let own = getuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_own = |entry: &fs::DirEntry| {
        let is_process = entry
            .file_name()
            .as_encoded_bytes()
            .first()
            .is_some_and(u8::is_ascii_digit);
        is_process && entry.metadata().is_ok_and(|metadata| metadata.uid() == own)
    };
    let threads =
        |entry: fs::DirEntry| fs::read_dir(entry.path().join("task")).map_or(1, Iterator::count);
    processes.filter(is_own).map(threads).sum::<usize>() as u64
}

/// Asks the kernel to kill us with our parent, and to keep orphans below us.
pub(super) fn die_with_parent(job: &Job) -> Result<(), FailedStep> {
    set_parent_process_death_signal(Some(Signal::KILL)).at("end with the parent")?;
    if !job.level.has_namespaces() {
        // The value only has to be there.
        set_child_subreaper(Some(getpid())).at("orphans")?;
    }
    Ok(())
}
