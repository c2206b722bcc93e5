//! Namespaces: a process tree, a network without devices and a file system of
//! the program's own, in which the rest of the machine does not exist.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change,
    mount_remount, unmount,
};
use rustix::process::{Signal, getgid, getuid, pivot_root, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;

use super::super::job::Job;
use super::files::DEVICES;
use super::user::{self, User};
use super::{AtStep as _, FailedStep, is_there};

/// The argument of the launcher that is started inside.
pub(super) const INSIDE: &str = "inside";

/// Where the private folder is inside.
const FOLDER: &str = "/work";

/// Where the old root is until it is let go.
const OLD_ROOT: &str = "/old";

/// Makes the user and process namespaces and runs the launcher in them: it will
/// be the first process there, with whose end everything there ends.
pub(super) fn enter() -> Result<ExitCode, FailedStep> {
    let (uid, gid) = (getuid(), getgid());
    if uid.is_root() {
        unshare(UnshareFlags::NEWPID).at("process namespace")?;
    } else {
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWPID).at("user namespace")?;
        fs::write("/proc/self/setgroups", "deny").at("user namespace")?;
        let map = |id: u32| format!("{id} {id} 1\n");
        fs::write("/proc/self/uid_map", map(uid.as_raw())).at("user namespace")?;
        fs::write("/proc/self/gid_map", map(gid.as_raw())).at("user namespace")?;
        user::keep_mounting().at("user namespace")?;
    }
    set_parent_process_death_signal(Some(Signal::KILL)).at("end with the parent")?;
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(stage) = arguments.last_mut() {
        *stage = INSIDE.into();
    }
    let launcher = std::env::current_exe().at("launcher")?;
    let mut child = Command::new(launcher)
        .args(arguments)
        .spawn()
        .at("launcher")?;
    let status = child.wait().at("launcher")?;
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Leaves the current namespaces. The only unsafe code of the launcher.
#[expect(
    unsafe_code,
    reason = "rustix has no safe function for any set of flags"
)]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    if flags.contains(UnshareFlags::FILES) {
        return Err(rustix::io::Errno::INVAL);
    }
    // SAFETY: only an unshared table of file descriptors can be observed by other
    // code, and that flag was refused above.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Makes a file system with nothing in it but what the job names, moves into it
/// and gives the private folder.
pub(super) fn private_root(job: &Job, user: User) -> Result<PathBuf, FailedStep> {
    unshare(
        UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS,
    )
    .at("namespaces")?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).at("mounts")?;

    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", &job.folder, "tmpfs", safe, c"mode=755,size=1m").at("new root")?;
    let old = inside(&job.folder, OLD_ROOT);
    fs::create_dir(&old).at("new root")?;
    pivot_root(&job.folder, &old).at("new root")?;
    std::env::set_current_dir("/").at("new root")?;

    for path in &job.readable {
        show(path, false)?;
    }
    for (device, writable) in DEVICES {
        show(Path::new(device), writable)?;
    }
    fs::create_dir(FOLDER).at("private folder")?;
    let owner = user.unwrap_or_else(|| getuid().as_raw());
    let group = user.unwrap_or_else(|| getgid().as_raw());
    let options = format!(
        "mode=700,size={},nr_inodes=4096,uid={owner},gid={group}\0",
        job.folder_bytes
    );
    let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).at("private folder")?;
    let flags = safe | MountFlags::NOEXEC;
    mount("tmpfs", FOLDER, "tmpfs", flags, options).at("private folder")?;

    unmount(OLD_ROOT, UnmountFlags::DETACH).at("old root")?;
    fs::remove_dir(OLD_ROOT).at("old root")?;
    mount_remount("/", safe | MountFlags::RDONLY, "").at("new root")?;
    Ok(FOLDER.into())
}

/// Makes a file or folder of the old root visible at its place in the new one.
fn show(path: &Path, writable: bool) -> Result<(), FailedStep> {
    let step = "mounts";
    let old = inside(Path::new(OLD_ROOT), path);
    let Ok(metadata) = old.symlink_metadata() else {
        return Ok(());
    };
    if is_there(path) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).at(step)?;
    }
    if metadata.is_symlink() {
        // `/lib` is a link to `usr/lib` on most systems; that is in the list too.
        let target = fs::read_link(&old).at(step)?;
        return std::os::unix::fs::symlink(target, path).at(step);
    }
    if metadata.is_dir() {
        fs::create_dir(path).at(step)?;
    } else {
        fs::write(path, "").at(step)?;
    }
    mount_bind(&old, path).at(step)?;
    if writable {
        return Ok(());
    }
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    mount_remount(path, flags | flags_of(path), "").at(step)
}

/// The flags of a mount, all of which must stay when it is mounted again.
fn flags_of(path: &Path) -> MountFlags {
    let Ok(found) = statvfs(path) else {
        return MountFlags::empty();
    };
    let pairs = [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = pairs.iter().filter(|(has, _)| found.f_flag.contains(*has));
    kept.fold(MountFlags::empty(), |flags, (_, flag)| flags | *flag)
}

/// The same path below another root.
fn inside(root: &Path, path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    root.join(path.strip_prefix("/").unwrap_or(path))
}
