//! Jobs whose results go to a bucket.

use crate::program::{Done, run};

fn emit(engine: &[&str], run_args: &[&str]) -> Done {
    let own = ["--", "--system", "passthrough", "--dataset", "q.jsonl"];
    run(&[&["emit"], engine, &["--shards", "4"], &own, run_args].concat())
}

const BUCKET: [&str; 2] = ["--cache-dir", "s3://bench/a b"];

#[test]
fn a_manifest_with_a_bucket_needs_no_claim() {
    let engine = ["k8s", "--image", "i", "--secret", "keys"];
    let done = emit(&engine, &BUCKET);
    assert_eq!(done.code, 0, "{done}");
    assert!(!done.stdout.contains("olume"), "{done}");
    assert!(!done.stdout.contains("laim"), "{done}");
    // The merge needs the keys too.
    assert_eq!(
        done.stdout.matches("secretRef: {name: keys}").count(),
        2,
        "{done}"
    );
    let merge = "- \"context-bench\"\n            - \"merge\"\n            - \"s3://bench/a b\"\n";
    assert!(done.stdout.contains(merge), "{done}");

    emit(&[&engine[..], &["--claim", "c"]].concat(), &BUCKET)
        .is_error(&["`--claim` is for a folder"]);
    emit(&engine, &[]).is_error(&["no place for its results", "s3://BUCKET/PREFIX"]);
    emit(&engine, &["--cache-dir", "s3://b"]).is_error(&["`s3://b` is not the address"]);
    let folder = emit(&[&engine[..], &["--claim", "c"]].concat(), &[]);
    assert_eq!(folder.stdout.matches("claimName: c").count(), 2, "{folder}");
    assert_eq!(folder.stdout.matches("secretRef").count(), 1, "{folder}");
}

#[test]
fn a_script_with_a_bucket_merges_there_with_its_keys() {
    let done = emit(&["slurm", "--secret", "keys.env"], &BUCKET);
    assert_eq!(done.code, 0, "{done}");
    let merge =
        r"--wrap 'set -a; . ./keys.env; set +a; context-bench merge '\''s3://bench/a b'\'''";
    assert!(done.stdout.contains(merge), "{done}");
    let plain = emit(&["slurm"], &BUCKET);
    assert!(
        plain
            .stdout
            .contains(r"--wrap 'context-bench merge '\''s3://bench/a b'\'''"),
        "{plain}"
    );
}
