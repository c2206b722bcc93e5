//! Flags of gates, which runs and stored runs share.

use std::path::PathBuf;

use clap::Args;
use context_bench::plan::ScoringSpec;

/// Rules that say when a run is not good enough.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RuleArgs {
    /// Fail (exit code 4) if this holds, such as "f1 < baseline - 0.02", "error_rate > 5%" or
    /// "latency_p95 > 1.2 * baseline on hotpotqa"; repeatable.
    #[arg(long, value_name = "RULE", help_heading = "Gates")]
    pub(crate) fail_if: Vec<String>,
    /// File of such rules, one on each line.
    #[arg(long, value_name = "FILE", help_heading = "Gates")]
    pub(crate) policy: Option<PathBuf>,
}

/// Such rules, and the stored run that they may compare with.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GateArgs {
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Stored run that `baseline` means in rules: its id, the first characters of it, or `last`.
    /// Default: the --baseline system of this run.
    #[arg(long, value_name = "RUN", help_heading = "Gates")]
    pub(crate) baseline_run: Option<String>,
}

impl RuleArgs {
    /// The part of a spec about rules.
    pub(crate) fn spec(&self) -> ScoringSpec {
        ScoringSpec {
            fail_if: self.fail_if.clone(),
            policy: self.policy.clone(),
            ..ScoringSpec::default()
        }
    }
}

impl GateArgs {
    /// The part of a spec about gates.
    pub(crate) fn spec(&self) -> ScoringSpec {
        ScoringSpec {
            baseline_run: self.baseline_run.clone(),
            ..self.rules.spec()
        }
    }
}
