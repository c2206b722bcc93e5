//! The limit on open files, and so on connections, of the process.

/// File descriptors needed besides those of connections.
const OTHERS: u64 = 64;

/// Raises the soft limit as far as the system allows. Returns a warning when that is too low for
/// `connections`.
#[cfg(unix)]
pub(crate) fn allow_connections(connections: usize) -> Option<String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let needed = connections as u64 + OTHERS;
    if limit.current.is_none_or(|current| current >= needed) {
        return None;
    }
    let wanted = limit
        .maximum
        .map_or(needed, |maximum| maximum.min(needed.max(4096)));
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => limit.current.unwrap_or(wanted),
    };
    (allowed < needed).then(|| {
        format!(
            "the limit of {allowed} open files is too low for {connections} connections; raise \
             it with `ulimit -n {needed}`, or lower `--max-workers`"
        )
    })
}

#[cfg(not(unix))]
pub(crate) fn allow_connections(_connections: usize) -> Option<String> {
    None
}
