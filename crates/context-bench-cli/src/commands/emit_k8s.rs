//! `emit k8s`: the manifest of an Indexed Job, and of the Job that merges its shards.

use context_bench_scoring::text::visible::visible;

use super::emit::ShardedRun;
use crate::emit_args::EmitK8sArgs;
use crate::failure::Failure;

/// Where the claim is mounted unless the run names another folder.
pub(super) const RESULTS: &str = "/results";

/// Names of pods are that of the job, an index and five letters, and 63 characters at most.
const LONGEST_NAME: usize = 45;

pub(super) fn manifest(args: &EmitK8sArgs, run: &ShardedRun) -> Result<String, Failure> {
    let name = &args.job.name;
    check_name("--name", name)?;
    if name.len() > LONGEST_NAME || name.contains('.') {
        return Err(
            Failure::bad_input(format!("`--name {name}` is not a name for a Job"))
                .hint("use at most 45 lower-case letters, digits and `-`"),
        );
    }
    let mount = mount(args, run)?;
    for secret in &args.secret {
        check_name("--secret", secret)?;
    }
    if args.image.is_empty()
        || args
            .image
            .contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return Err(Failure::bad_input("`--image` is not the name of an image")
            .hint("for example `--image registry.local/bench:1`"));
    }
    let (shards, at_once) = (run.shards, run.at_once);
    let failures = (shards / 8).max(1);
    let image = text(&args.image);
    let program = ["context-bench".to_owned()];
    let shard = list(program.iter().chain(&run.shard));
    let merge = [
        "context-bench".to_owned(),
        "merge".to_owned(),
        run.folder.clone(),
    ];
    let merge = list(merge.iter());
    let keys = match args.secret.is_empty() {
        true => String::new(),
        false => {
            let secrets = args.secret.iter();
            let secrets =
                secrets.map(|name| format!("            - secretRef: {{name: {name}}}\n"));
            format!("          envFrom:\n{}", secrets.collect::<String>())
        }
    };
    let needed = needed(args);
    // Only a bucket asks the merge for keys.
    let merge_keys = if run.in_bucket { keys.as_str() } else { "" };
    let (mounts, volumes) = match mount {
        None => (String::new(), String::new()),
        Some((claim, path)) => (
            format!(
                "          volumeMounts:\n            - {{name: results, mountPath: {path}}}\n"
            ),
            format!(
                "      volumes:\n        - name: results\n          \
                 persistentVolumeClaim: {{claimName: {claim}}}\n"
            ),
        ),
    };
    Ok(format!(
        r#"# Written by `context-bench emit k8s`.{needed}
#     kubectl apply -f FILE
#     kubectl wait --for=condition=Complete --timeout=-1s job/{name}
#     kubectl patch job {name}-merge --type=merge --patch '{{"spec": {{"suspend": false}}}}'
# Merge also where shards failed for good: it says what is missing.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {shards}
  parallelism: {at_once}
  backoffLimitPerIndex: 3
  maxFailedIndexes: {failures}
  podReplacementPolicy: Failed  # no second pod while the first still ends
  podFailurePolicy:  # the first match counts
    rules:
      - action: Ignore  # preemption is free
        onPodConditions:
          - {{type: DisruptionTarget, status: "True"}}
      - action: FailJob  # wrong input: a retry would be wrong again
        onExitCodes: {{containerName: shard, operator: In, values: [2]}}
  template:
    spec:
      restartPolicy: Never  # both policies need it
      terminationGracePeriodSeconds: 120
      containers:
        - name: shard
          image: {image}
          command:{shard}
          env:
            - {{name: CONTEXT_BENCH_SHARDS, value: "{shards}"}}
{keys}{mounts}{volumes}---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-merge
spec:
  suspend: true  # until the shards have ended
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: merge
          image: {image}
          command:{merge}
{merge_keys}{mounts}{volumes}"#,
    ))
}

/// The claim, and where it is mounted as YAML has it; none where results go to a bucket.
fn mount<'a>(
    args: &'a EmitK8sArgs,
    run: &ShardedRun,
) -> Result<Option<(&'a str, String)>, Failure> {
    let claim = match (&args.claim, run.in_bucket) {
        (None, true) => return Ok(None),
        (Some(_), true) => {
            return Err(Failure::bad_input(format!(
                "`--claim` is for a folder, and `{}` is a bucket",
                run.folder
            ))
            .hint("leave `--claim` out"));
        }
        (None, false) => {
            return Err(
                Failure::bad_input("the job has no place for its results").hint(
                    "name a volume with `--claim CLAIM`, or a bucket in the run arguments: \
                 `--cache-dir s3://BUCKET/PREFIX`",
                ),
            );
        }
        (Some(claim), false) => claim,
    };
    check_name("--claim", claim)?;
    if !run.folder.starts_with('/') {
        return Err(Failure::bad_input(format!(
            "the folder `{}` has no place in a pod",
            run.folder
        ))
        .hint(
            "`--cache-dir` is where the claim is mounted: an absolute path, by default /results",
        ));
    }
    if run.folder.contains(':') {
        return Err(
            Failure::bad_input(format!("`{}` cannot be a mount", run.folder))
                .hint("Kubernetes allows no `:` in the path of a mount"),
        );
    }
    Ok(Some((claim, text(&run.folder))))
}

/// What must be there before the job, as a comment.
fn needed(args: &EmitK8sArgs) -> String {
    let secrets = match args.secret.as_slice() {
        [] => None,
        [one] => Some(format!("the secret `{one}`")),
        several => Some(format!("the secrets `{}`", several.join("`, `"))),
    };
    match (&args.claim, secrets) {
        (Some(claim), None) => {
            format!(" The claim `{claim}` must exist, with access mode\n# ReadWriteMany.")
        }
        (Some(claim), Some(secrets)) => format!(
            " The claim `{claim}` must exist, with access mode\n# ReadWriteMany, and so must {secrets}."
        ),
        (None, Some(secrets)) => {
            format!(" There must be {secrets},\n# with the keys of the bucket among its members.")
        }
        (None, None) => " Pods need the keys of the bucket as variables:\n\
                         # `emit k8s --secret NAME` takes them from a secret."
            .to_owned(),
    }
}

/// Words of a command. Kubernetes replaces `$(NAME)` in them, and reads `$$` as `$`.
fn list<'a>(words: impl Iterator<Item = &'a String>) -> String {
    let words = words.map(|word| format!("\n            - {}", text(&word.replace('$', "$$"))));
    words.collect()
}

/// A text as YAML reads it back, whatever is in it.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Not allowed in YAML as they are, line breaks in some of its versions, or not shown by
            // terminals.
            c if c.is_control() || is_hidden(c) => {
                out.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn is_hidden(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    matches!(
        c,
        '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    ) || visible(text) != text
}

/// Names of objects: lower-case letters, digits, `-` and `.`, as in host names.
fn check_name(flag: &str, name: &str) -> Result<(), Failure> {
    let is_part = |part: &str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty()
            && part.chars().all(plain)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    if name.len() <= 253 && name.split('.').all(is_part) {
        return Ok(());
    }
    // A key given in place of the name is not repeated.
    Err(Failure::bad_input(format!(
        "the value of `{flag}` is not a name of Kubernetes"
    ))
    .hint("use lower-case letters, digits and `-`; a secret is named, its value stays in the cluster"))
}
