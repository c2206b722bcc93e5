//! The tap inside a run.
//!
//! ```text
//! client ──> proxy under test ──> tap ──> provider
//! ```
//!
//! `arm_host` is what stands between client and tap, `run_tap` the one tap of a run, `tapped`
//! an endpoint whose calls are seen from both sides. `probe` watches the client's side of one
//! example, `ledger` knows which calls were made and caused, `facts` sums up a row; `check` is an
//! arm that is asked by `check-proxy`. The tap
//! itself is the crate `context-bench-tap`; nothing here relays.

mod arm_host;
mod check;
mod facts;
mod ledger;
mod probe;
mod run_tap;
mod tapped;

pub use crate::model::ArmRole;
pub use arm_host::{ArmAddress, ArmHost, DirectHost, RunningHost};
pub use check::{ArmCheckError, arm_kind, check_address, check_arm};
pub use context_bench_tap::check::{
    ArmKind, ArmReport, OnProbe, ProbeProgress, ProxyApi, ProxyCheckSettings, Verdict,
};
pub use run_tap::{
    CredentialScope, RunTap, RunTapSettings, RunWire, UNATTRIBUTED_LIMIT, UpstreamEncoding,
};
pub use tapped::{MakeClient, TappedSystem};
