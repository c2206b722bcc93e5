//! The user that programs run as: when we are root, one that nobody else is.
//!
//! The kernel does not limit the processes of root, and root owns too much.

use std::path::Path;

use rustix::process::{Gid, Uid, getpid, getuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::{AtStep as _, FailedStep};

/// Where private users begin: far above what systems give out.
const BASE: u32 = 1_900_000_000;

/// Where they begin in containers that map 65,536 users only.
const LOW_BASE: u32 = 61_000;

/// A user and group of this number; `None` keeps our own.
pub(super) type User = Option<u32>;

/// Chooses a private user when we are root, another one for each run at a time.
pub(super) fn choose() -> User {
    if !getuid().is_root() {
        return None;
    }
    // Inside a new process namespace the number is always 1, so the folder's
    // owner does not help either; the time does.
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = time.map_or(0, |time| time.subsec_nanos());
    let number = nanos ^ getpid().as_raw_nonzero().get().unsigned_abs();
    if is_mapped(BASE + 1_000_000) {
        Some(BASE + number % 1_000_000)
    } else {
        Some(LOW_BASE + number % 4_000)
    }
}

/// Whether that number exists in our user namespace.
fn is_mapped(number: u32) -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().any(|line| {
        let mut parts = line.split_whitespace().map(|part| part.parse::<u64>());
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) => {
                (first..first.saturating_add(count)).contains(&u64::from(number))
            }
            _ => false,
        }
    })
}

/// Gives a folder to that user.
pub(super) fn give(folder: &Path, user: User) -> Result<(), FailedStep> {
    match user {
        Some(_) => std::os::unix::fs::chown(folder, user, user).at("owner of the folder"),
        None => Ok(()),
    }
}

/// Becomes that user, and gives up all privileges.
pub(super) fn become_other(user: User) -> Result<(), FailedStep> {
    if let Some(number) = user {
        let (uid, gid) = (Uid::from_raw(number), Gid::from_raw(number));
        set_thread_groups(&[]).at("groups")?;
        set_thread_res_gid(gid, gid, gid).at("group")?;
        set_thread_res_uid(uid, uid, uid).at("user")?;
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets).at("privileges")
}

/// Lets the launcher mount in the user namespace that we made, also after it
/// was started again inside. It gives that up in [`become_other`].
pub(super) fn keep_mounting() -> rustix::io::Result<()> {
    let needed = CapabilitySet::SYS_ADMIN;
    let mut sets = capabilities(None)?;
    sets.inheritable |= needed;
    set_capabilities(None, sets)?;
    configure_capability_in_ambient_set(needed, true)
}
