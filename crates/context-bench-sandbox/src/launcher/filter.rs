//! The system call filter, made of the lists in `syscalls.rs` and a few rules on
//! arguments. It is inherited by everything that the program starts.

use std::collections::BTreeMap;

use rustix::process::getpid;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::super::SandboxLevel;
use super::syscalls::{ALLOWED, ALLOWED_OLD, FATAL, REFUSED, REFUSED_OLD};
use super::{AtStep as _, FailedStep};

/// The rules of a filter by system call; no rule means always.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Flags that make namespaces, or a child of our parent, where nobody looks for it.
const NOT_FOR_CHILDREN: u64 = (libc::CLONE_PARENT
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// What programs may ask `prctl` for: names, and what is the case. Above all they may
/// not outlive us (PR_SET_PDEATHSIG) or hide what memory they have (PR_SET_DUMPABLE).
const OPTIONS: [libc::c_int; 11] = [
    libc::PR_GET_PDEATHSIG,
    libc::PR_GET_DUMPABLE,
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_GET_SECCOMP,
    libc::PR_CAPBSET_READ,
    libc::PR_GET_TIMERSLACK,
    libc::PR_SET_NO_NEW_PRIVS,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_THP_DISABLE,
    libc::PR_SET_VMA,
];

/// Commands of `fcntl` and requests of `ioctl` that make the kernel send signals
/// to another process: F_SETOWN, F_SETSIG, F_SETOWN_EX; FIOSETOWN, SIOCSPGRP.
const OWNER_COMMANDS: [u64; 3] = [8, 10, 15];
const OWNER_REQUESTS: [u64; 2] = [0x8901, 0x8902];

/// Installs the filter, for good.
pub(super) fn install(level: SandboxLevel) -> Result<(), FailedStep> {
    let step = "system call filter";
    let pid = u64::from(getpid().as_raw_nonzero().get().unsigned_abs());
    let refused = rules(
        refused(pid, level.has_namespaces()),
        &[REFUSED, REFUSED_OLD],
    );
    let fatal = rules(Ok(Rules::new()), &[FATAL]);
    let mut allowed = rules(
        allowed(),
        &[ALLOWED, ALLOWED_OLD, REFUSED, REFUSED_OLD, FATAL],
    )
    .at(step)?;
    let refused = refused.at(step)?;
    for number in refused.keys() {
        allowed.entry(*number).or_default();
    }
    let permission = SeccompAction::Errno(libc::EPERM as u32);
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let kill = SeccompAction::KillProcess;
    // The kernel takes the strictest answer of all three. The last one counts on
    // the other two for the calls that they answer.
    for (rules, otherwise, then) in [
        (refused, SeccompAction::Allow, permission),
        (fatal.at(step)?, SeccompAction::Allow, kill),
        (allowed, missing, SeccompAction::Allow),
    ] {
        let program = compile(rules, otherwise, then).at(step)?;
        apply_filter(&program).at(step)?;
    }
    Ok(())
}

fn compile(
    rules: Rules,
    otherwise: SeccompAction,
    then: SeccompAction,
) -> Result<BpfProgram, Error> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, otherwise, then, architecture)?;
    Ok(filter.try_into()?)
}

/// Adds whole lists to rules on arguments.
fn rules(
    rules: Result<Rules, seccompiler::BackendError>,
    lists: &[&[libc::c_long]],
) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = rules?;
    for number in lists.iter().copied().flatten() {
        rules.entry(*number).or_default();
    }
    Ok(rules)
}

/// A rule that holds when all of its conditions do.
fn all(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.iter().map(|(index, operator, value)| {
        // Arguments of these calls are 32 bits wide for the kernel; what stands
        // above them is ignored there and must not matter here.
        SeccompCondition::new(*index, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// Calls that are refused with some arguments.
fn refused(pid: u64, own_processes: bool) -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};

    let mut rules = Rules::new();
    if !own_processes {
        // Signals to ourselves and to our group only. Elsewhere nobody else is
        // there to get one.
        rules.insert(libc::SYS_kill, vec![all(&[(0, Ne, pid), (0, Ne, 0)])?]);
        rules.insert(libc::SYS_tgkill, vec![all(&[(0, Ne, pid)])?]);
    }
    // Not the limits of other processes.
    rules.insert(libc::SYS_prlimit64, vec![all(&[(0, Ne, pid), (0, Ne, 0)])?]);
    let others = OPTIONS.map(|option| (0, Ne, option as u64));
    rules.insert(libc::SYS_prctl, vec![all(&others)?]);
    // Not the detour of having input signal another process.
    let owners = OWNER_COMMANDS
        .iter()
        .map(|command| all(&[(1, Eq, *command)]));
    rules.insert(libc::SYS_fcntl, owners.collect::<Result<_, _>>()?);
    let owners = OWNER_REQUESTS
        .iter()
        .map(|request| all(&[(1, Eq, *request)]));
    rules.insert(libc::SYS_ioctl, owners.collect::<Result<_, _>>()?);
    // Opening for reading only can still cut a file off.
    let cut = (libc::O_ACCMODE | libc::O_TRUNC) as u64;
    let cut = |index: u8| all(&[(index, MaskedEq(cut), libc::O_TRUNC as u64)]);
    rules.insert(libc::SYS_openat, vec![cut(2)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![cut(1)?]);
    // Only streams: a pair of datagram sockets can send elsewhere.
    let kind = |kind: libc::c_int| (1, MaskedEq(0xf), kind as u64);
    let mut pairs = vec![all(&[(0, Ne, libc::AF_UNIX as u64)])?];
    for other in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
        pairs.push(all(&[kind(other)])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    // No address to send to; a pointer counts in full.
    let addressed = SeccompCondition::new(4, SeccompCmpArgLen::Qword, Ne, 0)?;
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![addressed])?]);
    Ok(rules)
}

/// Calls that are allowed with some arguments only; the others are missing.
fn allowed() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let plain = all(&[(0, SeccompCmpOp::MaskedEq(NOT_FOR_CHILDREN), 0)])?;
    rules.insert(libc::SYS_clone, vec![plain]);
    Ok(rules)
}
