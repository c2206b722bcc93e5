//! The engine of a run: where its systems are asked, when that is not this process.

use super::PlanError;
use crate::plan::RunSpec;

/// What `engine` may name.
const RAY: &str = "ray";

/// A Ray cluster that asks the systems of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RayCluster {
    /// Where it is; `None` for one on this machine.
    pub address: Option<String>,
}

/// The engine that a spec asks for.
pub(super) fn asked(spec: &RunSpec) -> Result<Option<RayCluster>, PlanError> {
    let Some(typed) = &spec.engine else {
        return Ok(None);
    };
    let (name, address) = match typed.split_once(':') {
        Some((name, address)) => (name, Some(address)),
        None => (typed.as_str(), None),
    };
    if name != RAY || address == Some("") {
        return Err(PlanError::new(format!("unknown engine `{typed}`")).with_hint(
            "write `ray`, or `ray:ADDRESS` such as `ray:10.0.0.1:6379` or `ray:auto`; Slurm and \
             Kubernetes run shards: `context-bench emit`",
        ));
    }
    let unfit = |what: &str, hint: &str| {
        let what = format!("{what} cannot be had with `--engine`");
        Err(PlanError::new(what).with_hint(hint))
    };
    if spec.memory.is_some() {
        return unfit(
            "a run of memories",
            "divide it with `--shard`: a conversation stays in one process",
        );
    }
    if spec.data.shard.is_some() {
        return unfit(
            "a shard",
            "leave one of `--shard` and `--engine` out: both divide a run",
        );
    }
    if spec.tap.upstream.is_some() {
        return unfit(
            "a tap",
            "leave `--upstream` out, or divide the run with `--shard`: each has a tap of its own",
        );
    }
    if spec.limits.stop_when_decided == Some(true) {
        return unfit(
            "`--stop-when-decided`",
            "leave one of them out: workers do not see each other's scores",
        );
    }
    if spec.limits.tpm.is_some() {
        return unfit(
            "`--tpm`",
            "limit requests with `--rps`, or divide the run with `--shard`",
        );
    }
    Ok(Some(RayCluster {
        address: address.map(str::to_owned),
    }))
}
