//! `emit slurm`: the script of a Slurm array, which also submits itself with the merge behind it.

use context_bench::mask;
use context_bench_scoring::text::visible::visible;

use super::emit::ShardedRun;
use crate::emit_args::EmitSlurmArgs;
use crate::failure::Failure;

/// Where results go unless the run says so: beside the folder that jobs are submitted from.
pub(super) const RESULTS: &str = "context-bench-results";

/// How often a shard whose endpoint is away is queued again.
const MOST_RESTARTS: u32 = 20;

pub(super) fn script(args: &EmitSlurmArgs, run: &ShardedRun) -> Result<String, Failure> {
    let name = &args.job.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return Err(
            Failure::bad_input(format!("`--name {name}` is not a name for a job"))
                .hint("use letters, digits, `-`, `_` and `.`"),
        );
    }
    let is_time = |c: char| c.is_ascii_digit() || ":-".contains(c);
    if args.time.is_empty() || !args.time.chars().all(is_time) {
        return Err(
            Failure::bad_input(format!("`--time {}` is not a time limit", args.time))
                .hint("write it as Slurm does: `HH:MM:SS`, `DAYS-HH`, or minutes"),
        );
    }
    let mut options = String::new();
    for option in &args.sbatch {
        if !option.starts_with('-') || option.contains(char::is_control) {
            return Err(Failure::bad_input(format!(
                "`--sbatch {option}` is not an option of sbatch"
            ))
            .hint("write it as `--sbatch=--partition=cpu`"));
        }
        options += &format!("#SBATCH {option}\n");
    }
    let secret = args.secret.as_deref().map_or_else(String::new, |file| {
        format!(
            "set -a\n. {}    # keys: lines NAME=VALUE, read on the node\nset +a\n",
            quoted(&sourced(file))
        )
    });
    let (last, at_once) = (run.shards - 1, run.at_once);
    let time = &args.time;
    let shard: Vec<String> = run.shard.iter().map(|word| quoted(word)).collect();
    let shard = shard.join(" ");
    let mut merge = format!("context-bench merge {}", quoted(&run.folder));
    if let (true, Some(file)) = (run.in_bucket, args.secret.as_deref()) {
        // The merge needs the keys of the bucket too.
        merge = format!("set -a; . {}; set +a; {merge}", quoted(&sourced(file)));
    }
    // The wrapped command is a word of the script, and read by a shell again.
    let merge = format!("'{}'", merge.replace('\'', r"'\''"));
    Ok(format!(
        r#"#!/usr/bin/env bash
#SBATCH --job-name={name}
#SBATCH --array=0-{last}%{at_once}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={name}-%A_%a.log
#SBATCH --time={time}
#SBATCH --signal=B:USR1@120
{options}#
# Written by `context-bench emit slurm`. On a login node, in a folder that all nodes see:
#     bash FILE      submits the shards, and their merge when all have ended
#     sbatch FILE    submits the shards alone

if [ -z "${{SLURM_ARRAY_TASK_ID:-}}" ]; then
    shards=$(sbatch --parsable "$0") || exit
    shards=${{shards%%;*}}
    # afterany: a shard with failed rows must not keep the merge from judging the rest.
    merge=$(sbatch --parsable --dependency="afterany:$shards" --job-name={name}-merge \
        --output={name}-%j.log --wrap {merge}) || exit
    echo "shards: job $shards; merge: job ${{merge%%;*}}"
    exit
fi

{secret}# Slurm speaks to this shell; the run drains on SIGTERM and stores what it has.
signals=0
again=
pid=
trap 'signals=$((signals + 1)); [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null' TERM
trap 'again=1; signals=$((signals + 1)); [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null' USR1

context-bench {shard} &
pid=$!
code=
while :; do
    seen=$signals
    wait "$pid"
    ended=$?
    # A signal ends `wait` before the run has ended; 127: it had ended already.
    [ -n "$code" ] && [ "$ended" = 127 ] || code=$ended
    [ "$seen" = "$signals" ] && break
done

# Slurm itself queues again what it preempts or loses. Here: the time limit is near, or the
# endpoint is away for now (75). What is stored is not asked for again.
if [ "$code" = 75 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {MOST_RESTARTS} ]; then
    again=1
fi
if [ -n "$again" ] && [ "$code" != 0 ] && [ "$code" != 2 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
"#
    ))
}

/// A file as `.` finds it: without a slash it would be looked for on the `PATH`.
fn sourced(file: &str) -> String {
    match file.contains('/') {
        true => file.to_owned(),
        false => format!("./{file}"),
    }
}

/// A word as bash reads it back. What a terminal does not show is written out byte by byte.
fn quoted(word: &str) -> String {
    if visible(word) == word {
        return mask::quoted(word);
    }
    let mut out = String::from("$'");
    for byte in word.bytes() {
        match byte {
            b'\'' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('\'');
    out
}
