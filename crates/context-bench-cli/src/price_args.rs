//! Flags of prices, which runs and stored runs share.

use std::path::PathBuf;

use clap::Args;

/// What models cost.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PriceArgs {
    /// File of prices, on top of the list prices that come with the program; repeatable, the last one
    /// decides. `builtin`: those list prices, also for a model that nobody named.
    #[arg(long, value_name = "FILE", help_heading = "Prices")]
    pub(crate) prices: Vec<PathBuf>,
}
