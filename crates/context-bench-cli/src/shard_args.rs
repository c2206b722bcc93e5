//! Flags of runs that are divided over machines.

use std::path::PathBuf;

use clap::Args;
use context_bench::shard;

use crate::env;
use crate::failure::Failure;

/// Flags of a shard.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ShardArgs {
    /// Part of the run to do, as I/N counted from 0, such as 3/8; `auto` reads it from Slurm
    /// arrays, Kubernetes Indexed Jobs, AWS Batch and Cloud Run. `merge` joins the parts.
    #[arg(long, value_name = "I/N", help_heading = "Shards")]
    pub(crate) shard: Option<String>,
    /// Shards that run at the same time: each takes its part of --rps and --tpm; default: N.
    #[arg(long, value_name = "N", help_heading = "Shards")]
    pub(crate) shards_at_once: Option<u32>,
    /// Folder of a merged store to look answers up in, which is only read; default: --cache-dir.
    #[arg(long, value_name = "DIR", help_heading = "Shards")]
    pub(crate) base: Option<PathBuf>,
    /// Folder for the store while the shard runs, on a local disk; default: the system's
    /// temporary folder.
    #[arg(long, value_name = "DIR", help_heading = "Shards")]
    pub(crate) scratch: Option<PathBuf>,
    /// How long to wait for endpoints that cannot be reached yet, in seconds; default: not at all.
    /// Exit code 75 if they still cannot.
    #[arg(long, value_name = "SECONDS", value_parser = crate::args::seconds, help_heading = "Requests")]
    pub(crate) wait_ready: Option<f64>,
    /// How often what is new is published in --cache-dir, in seconds; default: 10.
    #[arg(long, value_name = "SECONDS", value_parser = crate::args::seconds, help_heading = "Shards")]
    pub(crate) publish_every: Option<f64>,
}

impl ShardArgs {
    /// The shard as `I/N`; what `auto` stands for is read from the environment.
    pub(crate) fn shard(&self) -> Result<Option<String>, Failure> {
        match self.shard.as_deref() {
            Some("auto") => Ok(Some(shard::detect(&|name| env::get(name))?.0.to_string())),
            shard => Ok(shard.map(str::to_owned)),
        }
    }
}

/// Flags of `merge`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Exit codes: 0 the runs are whole, 2 shards of different plans or data, 3 incomplete or rows failed,
75 a bucket cannot be reached.

Examples:
  context-bench merge bench
  context-bench merge node1 node2 --into bench
  context-bench merge s3://bucket/bench --into bench
  context-bench merge bench --watch 10
  context-bench merge bench --to parquet:rows.parquet")]
pub(crate) struct MergeArgs {
    /// Folders with segments of shards (the --cache-dir of their runs), or with stores; also
    /// s3://BUCKET/PREFIX.
    #[arg(value_name = "DIR", required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Folder of the merged store, or s3://BUCKET/PREFIX; default: the first DIR.
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    /// Merge only the plan whose id begins like this.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// Exit with 0 although shards or rows are missing.
    #[arg(long)]
    pub(crate) allow_partial: bool,
    /// File for answers that differ although nothing that decides them does, as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) conflicts: Option<PathBuf>,
    /// Go on taking up new segments every so many seconds, until the run is whole.
    #[arg(long, value_name = "SECONDS", value_parser = crate::args::seconds)]
    pub(crate) watch: Option<f64>,
    /// Write the merged run to a file as `export` would, such as parquet:rows.parquet; repeatable.
    #[arg(long, value_name = "FORMAT:PATH")]
    pub(crate) to: Vec<String>,
}
