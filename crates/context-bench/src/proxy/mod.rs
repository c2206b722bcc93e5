//! Proxies under test that are started for a run: what is known about them
//! ([`ProxyProfile`], [`ProxyCatalog`]), their processes (`process.rs`), and each as an arm of
//! a run ([`LaunchedHost`]).
//!
//! Which arms a run has is decided in `planner/proxies.rs`; what passes between an arm and
//! the provider is seen by `tap/`.

mod catalog;
mod host;
mod log;
mod probe;
mod probe_upstream;
mod process;
mod profile;
mod profile_file;
mod program;
mod template;

pub use catalog::ProxyCatalog;
pub use host::{LaunchSettings, LaunchedHost};
pub use process::ProxyError;
pub use profile::{ArmSettings, Carriers, ProxyArms, ProxyProfile, ReadyCheck, Upstreams};
pub use profile_file::{reference, schema};
