//! Which shard a process is, from what engines say in its environment. Never a guess: what does not
//! fit together is an error.

use super::{Shard, ShardError};

/// An engine that numbers the processes of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engine {
    /// What it is called.
    pub name: &'static str,
    index: &'static str,
    count: &'static str,
}

const SLURM: Engine = Engine {
    name: "Slurm",
    index: "SLURM_ARRAY_TASK_ID",
    count: "SLURM_ARRAY_TASK_COUNT",
};

/// Kubernetes says which process this is, and not of how many: whoever writes the job does.
const KUBERNETES: Engine = Engine {
    name: "Kubernetes",
    index: "JOB_COMPLETION_INDEX",
    count: "CONTEXT_BENCH_SHARDS",
};

const ENGINES: [Engine; 5] = [
    SLURM,
    KUBERNETES,
    Engine {
        name: "AWS Batch",
        index: "AWS_BATCH_JOB_ARRAY_INDEX",
        count: "AWS_BATCH_JOB_ARRAY_SIZE",
    },
    Engine {
        name: "Cloud Run",
        index: "CLOUD_RUN_TASK_INDEX",
        count: "CLOUD_RUN_TASK_COUNT",
    },
    Engine {
        name: "GCP Batch",
        index: "BATCH_TASK_INDEX",
        count: "BATCH_TASK_COUNT",
    },
];

/// Ours, which wins over all.
const OWN: &str = "CONTEXT_BENCH_SHARD";

/// The shard that the environment says, and which engine says so; `None` for our own variable.
///
/// # Errors
///
/// When nothing says it, or what is said does not fit together.
pub fn detect(get: &dyn Fn(&str) -> Option<String>) -> Result<(Shard, Option<Engine>), ShardError> {
    if let Some(own) = get(OWN) {
        return own
            .parse()
            .map(|shard| (shard, None))
            .map_err(|error: ShardError| {
                let problem = format!("the variable `{OWN}` is wrong: {error}");
                ShardError::Environment {
                    problem,
                    hint: "set it to the shard of this process, such as `3/8`".into(),
                }
            });
    }
    let present: Vec<Engine> = ENGINES
        .into_iter()
        .filter(|engine| get(engine.index).is_some())
        .collect();
    let engine = match present[..] {
        [engine] => engine,
        [] => {
            return Err(environment(
                "no engine says which shard this is",
                "name it, as `--shard 3/8`; Slurm arrays, Kubernetes Indexed Jobs, AWS Batch, Cloud \
                 Run and GCP Batch are known, or set `CONTEXT_BENCH_SHARD`",
            ));
        }
        [first, second, ..] => {
            let problem = format!(
                "{} (`{}`) and {} (`{}`) both say which shard this is",
                first.name, first.index, second.name, second.index
            );
            let hint = format!("say which one counts: `--shard ${}/N`", first.index);
            return Err(ShardError::Environment { problem, hint });
        }
    };
    let index = number(get, engine.index)?;
    let Some(_) = get(engine.count) else {
        let problem = format!(
            "{} says `{}`, but `{}` is not set",
            engine.name, engine.index, engine.count
        );
        let hint = match engine == KUBERNETES {
            true => "set `CONTEXT_BENCH_SHARDS` to the `completions` of the job".to_owned(),
            false => format!("say how many there are: `--shard ${}/N`", engine.index),
        };
        return Err(ShardError::Environment { problem, hint });
    };
    let count = number(get, engine.count)?;
    if engine == SLURM {
        check_slurm(get, count)?;
    }
    let shard = Shard::new(index, count).map_err(|error| {
        let problem = format!("`{}` and `{}`: {error}", engine.index, engine.count);
        environment(&problem, "arrays of shards count from 0")
    })?;
    Ok((shard, Some(engine)))
}

/// Ids of an array with gaps, steps or another beginning are not shards: its size is then not how
/// many there are, as when only failed tasks are submitted again.
fn check_slurm(get: &dyn Fn(&str) -> Option<String>, count: u64) -> Result<(), ShardError> {
    let bound = |name: &str| number(get, name);
    let (min, max) = (
        bound("SLURM_ARRAY_TASK_MIN")?,
        bound("SLURM_ARRAY_TASK_MAX")?,
    );
    let step = match get("SLURM_ARRAY_TASK_STEP") {
        Some(_) => bound("SLURM_ARRAY_TASK_STEP")?,
        // With one task there is none.
        None => 1,
    };
    if min == 0 && step == 1 && max.checked_add(1) == Some(count) {
        return Ok(());
    }
    let problem = format!(
        "the ids of the Slurm array go from {min} to {max} in steps of {step} and are {count}, so \
         their number is not how many shards there are"
    );
    Err(environment(
        &problem,
        "say how many there are: `--shard $SLURM_ARRAY_TASK_ID/8`",
    ))
}

fn number(get: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<u64, ShardError> {
    let text = get(name).unwrap_or_default();
    text.trim().parse().map_err(|_| {
        let problem = match text.is_empty() {
            true => format!("the variable `{name}` is not set"),
            false => format!("the variable `{name}` is not a number: `{text}`"),
        };
        environment(&problem, "name the shard, as `--shard 3/8`")
    })
}

fn environment(problem: &str, hint: &str) -> ShardError {
    ShardError::Environment {
        problem: problem.to_owned(),
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hint as _;

    #[test]
    fn the_environment_is_never_guessed_at() {
        let slurm = |id: &str, min: &str, max: &str, step: &str, count: &str| {
            format!(
                "SLURM_ARRAY_TASK_ID={id} SLURM_ARRAY_TASK_MIN={min} SLURM_ARRAY_TASK_MAX={max} \
                 SLURM_ARRAY_TASK_STEP={step} SLURM_ARRAY_TASK_COUNT={count}"
            )
        };
        let cases: [(String, Result<&str, &str>); 22] = [
            (slurm("3", "0", "7", "1", "8"), Ok("3/8")),
            (slurm("0", "0", "0", "1", "1"), Ok("0/1")),
            // `--array=1-7:3,9` and `--array=3,5`, and arrays that count from 1.
            (slurm("4", "1", "9", "3", "4"), Err("from 1 to 9")),
            (slurm("3", "3", "5", "1", "2"), Err("from 3 to 5")),
            (slurm("0", "0", "5", "1", "2"), Err("from 0 to 5")),
            (slurm("2", "1", "8", "1", "8"), Err("from 1 to 8")),
            (slurm("2", "0", "6", "2", "4"), Err("steps of 2")),
            (
                "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2".into(),
                Err("TASK_MIN"),
            ),
            (
                "SLURM_ARRAY_TASK_ID=1".into(),
                Err("SLURM_ARRAY_TASK_COUNT"),
            ),
            (
                "JOB_COMPLETION_INDEX=5 CONTEXT_BENCH_SHARDS=64".into(),
                Ok("5/64"),
            ),
            ("JOB_COMPLETION_INDEX=5".into(), Err("CONTEXT_BENCH_SHARDS")),
            (
                "JOB_COMPLETION_INDEX=64 CONTEXT_BENCH_SHARDS=64".into(),
                Err("no shard 64 of 64"),
            ),
            (
                "JOB_COMPLETION_INDEX=x CONTEXT_BENCH_SHARDS=64".into(),
                Err("not a number"),
            ),
            ("CONTEXT_BENCH_SHARDS=64".into(), Err("no engine")),
            (
                "AWS_BATCH_JOB_ARRAY_INDEX=2 AWS_BATCH_JOB_ARRAY_SIZE=3".into(),
                Ok("2/3"),
            ),
            (
                "AWS_BATCH_JOB_ARRAY_INDEX=2".into(),
                Err("AWS_BATCH_JOB_ARRAY_SIZE"),
            ),
            (
                "CLOUD_RUN_TASK_INDEX=0 CLOUD_RUN_TASK_COUNT=4".into(),
                Ok("0/4"),
            ),
            ("BATCH_TASK_INDEX=1 BATCH_TASK_COUNT=4".into(), Ok("1/4")),
            (
                slurm("3", "0", "7", "1", "8") + " JOB_COMPLETION_INDEX=5 CONTEXT_BENCH_SHARDS=64",
                Err("Slurm (`SLURM_ARRAY_TASK_ID`) and Kubernetes (`JOB_COMPLETION_INDEX`)"),
            ),
            (
                slurm("3", "0", "7", "1", "8") + " CONTEXT_BENCH_SHARD=1/2",
                Ok("1/2"),
            ),
            ("CONTEXT_BENCH_SHARD=2/2".into(), Err("CONTEXT_BENCH_SHARD")),
            (String::new(), Err("no engine says")),
        ];
        for (variables, expected) in cases {
            let get = |name: &str| {
                let mut pairs = variables.split_whitespace();
                let found = pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
                found.map(str::to_owned)
            };
            match (detect(&get), expected) {
                (Ok((shard, _)), Ok(expected)) => {
                    assert_eq!(shard.to_string(), expected, "{variables}");
                }
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{variables}: {error}");
                    assert!(error.hint().is_some_and(|hint| !hint.is_empty()));
                }
                (found, _) => panic!("{variables}: {found:?}"),
            }
        }
    }
}
