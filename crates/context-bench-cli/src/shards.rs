//! The store of a run that is a shard: a scratch folder, and segments in the folder of the store.

use std::path::Path;
use std::time::Duration;

use context_bench::planner::PlannedShard;
use context_bench::shard::ShardFolder;
use context_bench::{Error, EvalResult};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::shard_args::ShardArgs;
use crate::{output, shared_folders};

/// How often segments are published when nobody says.
const PUBLISH_EVERY: f64 = 10.0;

/// Opens the store of a shard and says what it will do.
pub(crate) fn open(
    planned: &PlannedShard,
    dir: Option<&Path>,
    args: Option<&ShardArgs>,
) -> Result<ShardFolder, Failure> {
    let Some(dir) = dir else {
        return Err(
            Failure::bad_input("a shard needs a folder that its results go to")
                .hint("pass `--cache-dir DIR`, the same for all shards; `merge DIR` joins them"),
        );
    };
    let default = ShardArgs::default();
    let args = args.unwrap_or(&default);
    let plan = planned.origin.plan.as_str();
    let scratch = args.scratch.as_deref();
    let base = args.base.as_deref();
    let base = base
        .map(|dir| shared_folders::of(dir, scratch))
        .transpose()?;
    let mut folder = ShardFolder::open(
        &shared_folders::of(dir, scratch)?,
        (plan, planned.shard),
        scratch,
        base.as_deref(),
    )
    .map_err(shared_folders::failure)?;
    for note in &folder.notes {
        output::warning(note);
    }
    let short = plan.get(..12).unwrap_or(plan);
    output::note(&format!(
        "shard {} of plan {short}: {} answers are there already",
        planned.shard, folder.known
    ));
    for limit in &planned.limits {
        output::note(limit);
    }
    let seconds = args.publish_every.unwrap_or(PUBLISH_EVERY);
    folder.publish_every(Duration::from_secs_f64(seconds));
    Ok(folder)
}

/// Publishes what is left; how the program ends if that did not work.
pub(crate) fn finish(
    folder: ShardFolder,
    dir: Option<&Path>,
    done: &mut Result<EvalResult, Error>,
) -> Option<Exit> {
    let finished = folder.finish();
    if let (Ok(result), Some(dir)) = (done, dir)
        && let Some(store) = &mut result.store
    {
        // The scratch folder is gone.
        store.path = dir.join("shards");
    }
    match finished {
        Ok(()) => None,
        Err(error) => {
            let failure = shared_folders::failure(error);
            output::error(&failure);
            Some(match failure.exit {
                Exit::NotNow => Exit::NotNow,
                _ => Exit::RowsFailed,
            })
        }
    }
}
