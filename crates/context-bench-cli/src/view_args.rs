//! The flags of `view`.

use std::path::PathBuf;

use clap::Args;

/// `view`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewArgs {
    /// Folder of the run store.
    #[arg(value_name = "STORE", env = "CONTEXT_BENCH_CACHE_DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Port on loopback; default: any that is free.
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,
    /// Open the page in the browser of this desktop.
    #[arg(long)]
    pub(crate) open: bool,
}
