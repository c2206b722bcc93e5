//! The launcher: the process that restricts itself, then becomes Python.
//!
//! Started with `namespaces`, it makes new user and process namespaces and starts
//! itself again with `inside`; started so, or with `restrict`, it reads its job, applies
//! it and executes Python. Started with `warden` it waits for our end, with `guard` it runs a
//! program that ends with us. It is a fresh process with one thread, so all of this is
//! ordinary safe code. It says `ready` with the key of its job before it becomes
//! Python; without that nothing that follows is believed.

mod files;
mod filter;
mod guard;
mod limits;
mod namespaces;
mod syscalls;
mod user;
mod warden;

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::job::Job;

/// A step that failed.
#[derive(Debug)]
struct FailedStep {
    step: &'static str,
    reason: String,
}

/// Names the step that an error comes from.
trait AtStep<T> {
    fn at(self, step: &'static str) -> Result<T, FailedStep>;
}

impl<T, E: Display> AtStep<T> for Result<T, E> {
    fn at(self, step: &'static str) -> Result<T, FailedStep> {
        self.map_err(|error| FailedStep {
            step,
            reason: error.to_string(),
        })
    }
}

/// Runs the launcher; comes back only when something failed.
pub(super) fn run(stage: Option<&OsStr>, words: impl Iterator<Item = OsString>) -> ExitCode {
    let done = match stage.and_then(OsStr::to_str) {
        Some("namespaces") => own_session().and_then(|()| namespaces::enter()),
        Some("restrict") => own_session().and_then(|()| restrict()),
        Some(namespaces::INSIDE) => restrict(),
        Some(super::warden::STAGE) => warden::run(),
        Some(super::guard::STAGE) => guard::run(words),
        _ => Err(FailedStep {
            step: "arguments",
            reason: "this is for the sandbox only".into(),
        }),
    };
    done.unwrap_or_else(|failed| {
        say("", &format!("{}: {}", failed.step, failed.reason), true);
        ExitCode::FAILURE
    })
}

/// Leads a session: a group that is killed as a whole, without a terminal, and with a
/// share of the processors of its own where the kernel gives one to each session.
fn own_session() -> Result<(), FailedStep> {
    rustix::process::setsid().at("session").map(drop)
}

/// Reads the job and becomes Python.
fn restrict() -> Result<ExitCode, FailedStep> {
    // Not through the buffer of `stdin()`: what follows the job is for Python.
    let input = io::stdin().as_fd().try_clone_to_owned().at("stdin")?;
    let job = Job::read(File::from(input)).at("job")?;
    if let Err(failed) = apply(&job) {
        let text = format!("failed: {}: {}", failed.step, failed.reason);
        say(&job.key, &text, false);
    }
    Ok(ExitCode::FAILURE)
}

fn apply(job: &Job) -> Result<(), FailedStep> {
    let user = user::choose();
    let folder = if job.level.has_namespaces() {
        namespaces::private_root(job, user)?
    } else {
        user::give(&job.folder, user)?;
        job.folder.clone()
    };
    std::env::set_current_dir(&folder).at("private folder")?;
    user::become_other(user)?;
    limits::apply(job, user)?;
    limits::die_with_parent(job)?;
    if job.level.has_landlock() {
        files::guard(job, &folder)?;
    }
    filter::install(job.level)?;
    say(&job.key, "ready", false);
    Err(FailedStep {
        step: "python does not start",
        reason: python(job, folder).exec().to_string(),
    })
}

fn python(job: &Job, folder: PathBuf) -> Command {
    let mut command = Command::new(&job.python);
    command.args(&job.arguments);
    command.env_clear();
    command.envs(job.environment.iter().map(|(name, value)| (name, value)));
    command.env("HOME", &folder).env("TMPDIR", folder);
    command
}

/// Writes one line to the parent: to the report, or to the output.
fn say(key: &str, text: &str, to_output: bool) {
    let line = format!("{key} {text}\n");
    // There is nobody left to report to when this fails.
    let _ = if to_output {
        io::stderr().write_all(line.as_bytes())
    } else {
        io::stdout().write_all(line.as_bytes())
    };
}

/// Whether a path is there, links not followed.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
