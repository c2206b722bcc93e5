//! The arguments of `emit`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

/// Flags of `emit`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EmitArgs {
    #[command(subcommand)]
    pub(crate) engine: EmitEngine,
}

const EXAMPLES: &str = "\
Examples:
  context-bench emit slurm --shards 64 --shards-at-once 16 -- \\
                --proxy http://gateway:8000 --dataset questions.jsonl --rps 200 > job.sbatch
  bash job.sbatch                        # submits the shards, and the merge after them
  context-bench emit k8s --shards 64 --image registry.local/bench:1 --claim results \\
                --secret endpoint-key -- run bench.yaml > job.yaml

Keys never go into a job: name the variable (--api-key-env) in the run arguments, and with
--secret where its value is.";

/// Engines that jobs are written for.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum EmitEngine {
    /// Print a Slurm job: an array of shards, and their merge.
    Slurm(EmitSlurmArgs),
    /// Print a Kubernetes manifest: an Indexed Job of shards, and their merge.
    K8s(EmitK8sArgs),
}

/// Flags of every job.
#[derive(Debug, Clone, Args)]
pub(crate) struct EmitJobArgs {
    /// Number of shards that the run is split into.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_SHARDS))]
    pub(crate) shards: u32,
    /// Shards that run at the same time; limits such as --rps are divided by it. Default: all.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=MOST_SHARDS))]
    pub(crate) shards_at_once: Option<u32>,
    /// Name of the job.
    #[arg(long, value_name = "NAME", default_value = "context-bench")]
    pub(crate) name: String,
    /// Arguments of `run`, after `--`: flags, or a run file.
    #[arg(last = true, required = true, value_name = "RUN ARGUMENTS")]
    pub(crate) run: Vec<OsString>,
}

/// Kubernetes allows no more completions of an Indexed Job.
const MOST_SHARDS: i64 = 100_000;

/// Flags of `emit slurm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EmitSlurmArgs {
    #[command(flatten)]
    pub(crate) job: EmitJobArgs,
    /// Time limit of a shard, as Slurm writes it. Two minutes before it, a shard stores what it
    /// has and is queued again.
    #[arg(long, value_name = "TIME", default_value = "04:00:00")]
    pub(crate) time: String,
    /// File with lines NAME=VALUE that every shard reads on its node, for keys. Without it, shards
    /// get the variables of the shell that submits, which Slurm keeps in its state.
    #[arg(long, value_name = "FILE")]
    pub(crate) secret: Option<String>,
    /// Further option of sbatch, such as --sbatch=--partition=cpu; repeatable.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
}

/// Flags of `emit k8s`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EmitK8sArgs {
    #[command(flatten)]
    pub(crate) job: EmitJobArgs,
    /// Container image that has the program `context-bench`, and the files of the run.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// Secret whose members become variables of the pods, for keys; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,
    /// Persistent volume claim for the results, which all pods can write (ReadWriteMany); it is
    /// mounted at --cache-dir. Not needed where that is s3://BUCKET/PREFIX.
    #[arg(long, value_name = "CLAIM")]
    pub(crate) claim: Option<String>,
}
