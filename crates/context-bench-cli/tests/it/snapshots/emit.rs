//! Jobs that `emit` prints, and what it refuses.

use super::session::Session;

const RUN: &str = "--proxy http://gateway:8000 --dataset 'my questions.jsonl' --rps 200 \
                   --system-prompt \"it's \\$(short)\"";

#[test]
fn jobs_for_slurm() {
    let mut session = Session::new();
    session.run(&format!(
        "emit slurm --shards 64 --shards-at-once 16 --sbatch=--partition=cpu --secret keys.env -- {RUN}"
    ));
    session.write(
        "bench.yaml",
        "systems:\n- system: passthrough\nbenchmarks:\n- dataset: demo\ncache_dir: out\n",
    );
    session.run("emit slurm --shards 1 --name small -- run bench.yaml");
    session.approve("emit_slurm");
}

#[test]
fn jobs_for_kubernetes() {
    let mut session = Session::new();
    session.run(&format!(
        "emit k8s --shards 64 --shards-at-once 16 --image registry.local/bench:1 --claim results \
         --secret endpoint-key -- {RUN}"
    ));
    session.approve("emit_k8s");
}

#[test]
fn jobs_that_cannot_be_meant() {
    let mut session = Session::new();
    session.run_all(&[
        "emit",
        "emit slurm --shards 4",
        "emit slurm --shards 0 -- --proxy http://gateway --dataset demo",
        "emit slurm --shards 4 --shards-at-once 5 -- --proxy http://gateway --dataset demo",
        "emit slurm --shards 4 -- --proxy http://gateway --no-such-flag",
        "emit slurm --shards 4 -- nowhere.yaml",
        "emit slurm --shards 4 -- --proxy http://gateway --dataset demo --shard 1/4",
        "emit slurm --shards 4 -- --proxy http://gateway --dataset demo --output-file out.json",
        "emit slurm --shards 4 -- --proxy http://gateway --dataset demo --dry-run",
        "emit slurm --shards 4 -- --proxy http://gateway --header 'Authorization: Bearer sk-planted-01234'",
        "emit slurm --shards 4 -- --proxy http://me:pw-planted@gateway --dataset demo",
        "emit slurm --shards 4 --name 'my job' -- --proxy http://gateway --dataset demo",
        "emit slurm --shards 4 --time soon -- --proxy http://gateway --dataset demo",
        "emit slurm --shards 4 --sbatch partition -- --proxy http://gateway --dataset demo",
        "emit k8s --shards 4 --image i -- --proxy http://gateway --dataset demo",
        "emit k8s --shards 4 --image i --claim results --secret sk-Planted-01234 -- --proxy http://gateway --dataset demo",
        "emit k8s --shards 4 --image i --claim results -- --proxy http://gateway --dataset demo --cache-dir out",
    ]);
    session.approve("errors_emit");
}
