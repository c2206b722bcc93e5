//! `emit`: prints a job that runs the shards of a run on an engine that is there already, and
//! merges them. Nothing is submitted and nobody is asked.

use std::path::PathBuf;

use clap::Parser as _;
use context_bench::bucket::BucketAddress;
use context_bench::mask::Mask;

use super::{emit_k8s, emit_slurm};
use crate::args::{Cli, Command, RunCommand};
use crate::emit_args::{EmitArgs, EmitEngine, EmitJobArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{command_line, output, spec_args};

pub(crate) fn main(args: &EmitArgs) -> Result<Exit, Failure> {
    let (job, default_dir) = match &args.engine {
        EmitEngine::Slurm(slurm) => (&slurm.job, emit_slurm::RESULTS),
        EmitEngine::K8s(k8s) => (&k8s.job, emit_k8s::RESULTS),
    };
    let run = match ShardedRun::check(job, default_dir)? {
        Ok(run) => run,
        Err(error) => {
            // As `run` itself would say it.
            let exit = match error.use_stderr() {
                true => Exit::BadInput,
                false => Exit::Done,
            };
            output::clap_error(error);
            return Ok(exit);
        }
    };
    let text = match &args.engine {
        EmitEngine::Slurm(slurm) => emit_slurm::script(slurm, &run)?,
        EmitEngine::K8s(k8s) => emit_k8s::manifest(k8s, &run)?,
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

/// A run that is split into shards, as its job starts it.
pub(super) struct ShardedRun {
    pub(super) shards: u32,
    pub(super) at_once: u32,
    /// The words after `context-bench` that run one shard.
    pub(super) shard: Vec<String>,
    /// The folder of the results.
    pub(super) folder: String,
    /// Whether that is a bucket.
    pub(super) in_bucket: bool,
}

impl ShardedRun {
    /// Reads the run arguments as `run` would. The inner error is what the parser says of them.
    fn check(job: &EmitJobArgs, default_dir: &str) -> Result<Result<Self, clap::Error>, Failure> {
        let at_once = job.shards_at_once.unwrap_or(job.shards);
        if at_once > job.shards {
            return Err(Failure::bad_input(format!(
                "`--shards-at-once {at_once}` is more than `--shards {}`",
                job.shards
            ))
            .hint("at most all shards run at the same time"));
        }
        let mut words = Vec::with_capacity(job.run.len());
        for word in &job.run {
            let Some(word) = word.to_str() else {
                return Err(Failure::bad_input(format!(
                    "the run argument `{}` is not valid UTF-8",
                    word.to_string_lossy()
                ))
                .hint("a job is a text file: rename the file, or put the name into a run file"));
            };
            words.push(word.to_owned());
        }
        // The command that is run is ours to write.
        if words.first().is_some_and(|word| word == "run") {
            words.remove(0);
        }
        refuse_secrets(&words)?;
        let (shards, first) = (job.shards, format!("0/{}", job.shards));
        let ours = [
            "context-bench",
            "run",
            "--shard",
            &first,
            "--shards-at-once",
            &at_once.to_string(),
        ];
        let line = ours.map(str::to_owned).into_iter().chain(words.clone());
        let parsed = match Cli::try_parse_from(line) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(Err(error)),
        };
        let Some(Command::Run(run)) = parsed.command else {
            return Err(
                Failure::bad_input("the run arguments are not those of `run`")
                    .hint("write what follows `context-bench run`"),
            );
        };
        let folder = folder(&run)?;
        refuse_reports(&run)?;
        let mut shard: Vec<String> = ["run", "--shard", "auto", "--shards-at-once"]
            .map(str::to_owned)
            .into();
        shard.push(at_once.to_string());
        if run.run.cache_dir.is_none() {
            let dir = folder.clone().unwrap_or_else(|| default_dir.into());
            shard.extend(["--cache-dir".to_owned(), path_text(dir)?]);
        }
        shard.extend(words);
        let folder = folder.unwrap_or_else(|| default_dir.into());
        Ok(Ok(Self {
            shards,
            at_once,
            shard,
            in_bucket: BucketAddress::of_setting(&folder)?.is_some(),
            folder: path_text(folder)?,
        }))
    }
}

/// The folder of the store that the flags or the run file name.
fn folder(run: &RunCommand) -> Result<Option<PathBuf>, Failure> {
    // What the environment of this machine says does not go into a job.
    let flags = spec_args::flags(&run.run)?;
    let given = flags.cache_dir.clone();
    Ok(match &run.file {
        None => given,
        Some(file) => given.or(spec_args::over_file(flags, Some(file))?.cache_dir),
    })
}

fn path_text(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string().into_string().map_err(|path| {
        let path = path.to_string_lossy();
        Failure::bad_input(format!("the folder `{path}` is not valid UTF-8"))
            .hint("a job is a text file: choose another `--cache-dir`")
    })
}

/// A key would be readable in the job, in the engine's state and in the list of processes.
fn refuse_secrets(words: &[String]) -> Result<(), Failure> {
    let args: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
    if command_line::secrets(&args).is_empty() {
        return Ok(());
    }
    let masked = Mask::Dots.words(words);
    let mut changed = words
        .iter()
        .zip(&masked)
        .filter(|(word, masked)| word != masked);
    let place = changed.next().map(|(_, masked)| masked.as_str());
    let place = match place {
        Some("…") | None => String::new(),
        Some(masked) => format!(" in `{masked}`"),
    };
    Err(
        Failure::bad_input(format!("the run arguments hold a key or a password{place}")).hint(
            "put it into an environment variable and name that one with `--api-key-env NAME` or \
             `key-env=NAME`; `--secret` says where the job finds it",
        ),
    )
}

/// What a shard alone must not write: every shard would write the same file.
fn refuse_reports(run: &RunCommand) -> Result<(), Failure> {
    let args = &run.run;
    for (given, name, instead) in [
        (
            !args.output_file.is_empty(),
            "--output-file",
            "`context-bench export` or `report` writes it from the merged store",
        ),
        (
            args.task.output_path.is_some(),
            "--output_path",
            "`context-bench export` writes results from the merged store",
        ),
        (
            args.dry_run,
            "--dry-run",
            "try it without `emit` first: `context-bench run … --dry-run`",
        ),
        (
            args.print_config,
            "--print-config",
            "`context-bench run … --print-config` writes a run file, which a job may name",
        ),
    ] {
        if given {
            return Err(
                Failure::bad_input(format!("`{name}` is not for the shards of a job"))
                    .hint(instead),
            );
        }
    }
    Ok(())
}
