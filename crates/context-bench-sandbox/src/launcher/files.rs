//! Landlock: which files may be read and where may be written.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::super::job::Job;
use super::{AtStep as _, FailedStep, is_there};

/// What the rules are written for; older kernels enforce what they know of it.
const ABI_WRITTEN_FOR: ABI = ABI::V6;

/// Devices that may be read and written, and those that may be read.
pub(super) const DEVICES: [(&str, bool); 4] = [
    ("/dev/null", true),
    ("/dev/zero", true),
    ("/dev/random", false),
    ("/dev/urandom", false),
];

/// Denies all but what the job names. TCP ports, abstract sockets and signals to
/// others are denied too where the kernel knows how.
pub(super) fn guard(job: &Job, folder: &Path) -> Result<(), FailedStep> {
    let step = "landlock";
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI_WRITTEN_FOR))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI_WRITTEN_FOR)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI_WRITTEN_FOR)))
        .and_then(Ruleset::create);
    let mut ruleset = ruleset.at(step)?;
    let read = AccessFs::from_read(ABI_WRITTEN_FOR);
    for path in job.readable.iter().filter(|path| is_there(path)) {
        ruleset = allow(ruleset, path, read)?;
    }
    for (path, writable) in DEVICES {
        let access = if writable {
            AccessFs::ReadFile | AccessFs::WriteFile
        } else {
            AccessFs::ReadFile.into()
        };
        ruleset = allow(ruleset, Path::new(path), access)?;
    }
    let special = AccessFs::Execute
        | AccessFs::MakeChar
        | AccessFs::MakeBlock
        | AccessFs::MakeSock
        | AccessFs::IoctlDev;
    ruleset = allow(
        ruleset,
        folder,
        AccessFs::from_all(ABI_WRITTEN_FOR) & !special,
    )?;
    match ruleset.restrict_self().at(step)?.ruleset {
        RulesetStatus::NotEnforced => Err(FailedStep {
            step,
            reason: "the kernel does not have it".into(),
        }),
        _ => Ok(()),
    }
}

/// Allows access to a file, or to a folder and all below it.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, FailedStep> {
    // What is not there needs no rule.
    let Ok(opened) = PathFd::new(path) else {
        return Ok(ruleset);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ABI_WRITTEN_FOR)
    };
    ruleset
        .add_rule(PathBeneath::new(opened, access))
        .at("landlock")
}
