//! The warden: kills the groups of programs when whoever started them is gone.

use std::collections::HashSet;
use std::io::{self, BufRead as _};
use std::process::ExitCode;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, setsid};

use super::{AtStep as _, FailedStep};

/// Keeps the list of groups until the input ends, then kills what is in it.
pub(super) fn run() -> Result<ExitCode, FailedStep> {
    // Neither Ctrl-C nor the end of the terminal is meant for us.
    setsid().at("session")?;
    let mut groups = HashSet::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let number = |text: &str| text.parse().ok().and_then(Pid::from_raw);
        if let Some(group) = line.strip_prefix('+').and_then(number) {
            groups.insert(group);
        } else if let Some(group) = line.strip_prefix('-').and_then(number) {
            groups.remove(&group);
        }
    }
    for group in groups {
        // The launcher may not lead its group yet. An error means that it is gone.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = kill_process(group, Signal::KILL);
    }
    Ok(ExitCode::SUCCESS)
}
