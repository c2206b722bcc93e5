//! System calls by their number on x86-64, past everything that Python checks.

use super::attempts::{ASSERTION, Attempt, VIOLATION, attempt};

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn by_number() -> Vec<Attempt> {
    Vec::new()
}

/// Those that come back with an error fail an assertion; the others kill.
#[cfg(target_arch = "x86_64")]
pub(super) fn by_number() -> Vec<Attempt> {
    let call = |name: &'static str, arguments: &str, verdicts: &'static [&'static str]| {
        let code = format!("import ctypes\nassert ctypes.CDLL(None).syscall({arguments}) >= 0");
        attempt(name, &code, verdicts)
    };
    vec![
        call("socket", "41, 2, 1, 0", ASSERTION),
        call("socket in x32 mode", "0x40000000 + 41, 2, 1, 0", ASSERTION),
        call("setsid", "112", ASSERTION),
        call("unshare", "272, 0x10000000", ASSERTION),
        call(
            "clone into a user namespace",
            "56, 0x10000011, 0, 0, 0, 0",
            ASSERTION,
        ),
        call(
            "clone a child of the parent",
            "56, 0x8011, 0, 0, 0, 0",
            ASSERTION,
        ),
        call(
            "prctl, to outlive the parent",
            "157, 1, 0, 0, 0, 0",
            ASSERTION,
        ),
        call("prctl, to hide its memory", "157, 4, 0, 0, 0, 0", ASSERTION),
        call("memfd_secret", "447, 0", ASSERTION),
        call("memfd_create", "319, b'x', 0", ASSERTION),
        call("shmget", "29, 0, 4096, 0o1600", ASSERTION),
        call("openat2", "437, -100, b'/etc/passwd', 0, 0", ASSERTION),
        call("another filter", "317, 0, 0, 0", ASSERTION),
        call("ptrace", "101, 0, 0, 0, 0", VIOLATION),
        call("process_vm_readv", "310, 1, 0, 0, 0, 0, 0", VIOLATION),
        call("mount", "165, b'none', b'.', b'tmpfs', 0, 0", VIOLATION),
        call("open_by_handle_at", "304, 0, 0, 0", VIOLATION),
        call("bpf", "321, 0, 0, 0", VIOLATION),
        call("keyctl", "250, 0, 0, 0, 0, 0", VIOLATION),
        call("io_uring_setup", "425, 8, 0", VIOLATION),
        call("userfaultfd", "323, 0", VIOLATION),
        call("perf_event_open", "298, 0, 0, 0, 0, 0", VIOLATION),
    ]
}
